//! Sets of named counters.

/// Description of a counter, for reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub doc: &'static str,
    /// True for a size or a maximum: the report has its value, not the difference between the end and the start of a
    /// measurement.
    pub gauge: bool,
    /// Whether it is part of a run's digest.
    pub digest: InDigest,
}

/// Whether a counter is part of a run's digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InDigest {
    /// Unless it is 0. So runs that do not use it keep their digests when it is added or removed.
    Counted,
    /// Always, even if it is 0.
    Always,
    /// Never, because it only splits another counter.
    Never,
}

/// A set of counters. Made by [`counters!`](crate::counters!).
pub trait CounterSet: Clone + Copy + Default {
    /// Its counters in order of declaration.
    const COUNTERS: &'static [Counter];

    /// Values of the counters, in the same order.
    fn values(&self) -> Vec<u64>;

    /// Those of two that counted one after the other. A gauge is that of `self`, the later one.
    #[must_use]
    fn with_earlier(&self, earlier: &Self) -> Self;
}

/// Several sets of counters, as a tuple.
pub trait CounterSets {
    /// Every counter of each set, in order.
    fn declared() -> Vec<&'static Counter>;

    /// Every counter of each set with its value, in the same order.
    fn counted(&self) -> Vec<(&'static Counter, u64)>;
}

macro_rules! counter_sets {
    ($($($set:ident)+;)+) => {
        $(
            #[allow(non_snake_case)]
            impl<$($set: CounterSet),+> CounterSets for ($($set,)+) {
                fn declared() -> Vec<&'static Counter> {
                    let sets: &[&'static [Counter]] = &[$($set::COUNTERS),+];
                    sets.iter().copied().flatten().collect()
                }

                fn counted(&self) -> Vec<(&'static Counter, u64)> {
                    let ($($set,)+) = self;
                    let values: &[Vec<u64>] = &[$($set.values()),+];
                    Self::declared().into_iter().zip(values.concat()).collect()
                }
            }
        )+
    };
}

counter_sets! {
    A;
    A B;
    A B C;
}

/// Declares a structure of counters: its documentation and name, then every counter with documentation. The structure
/// lists its counters by name, so a report can not miss one.
///
/// Flags may follow a counter's name: `gauge` ([`Counter::gauge`]), and `always` or `never` ([`InDigest`]). New
/// counters should have neither `always` nor `never`.
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $set:ident $($(#[doc = $doc:literal])* $name:ident $(: $($flag:ident)+)?,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $set {
            $($(#[doc = $doc])* pub $name: u64,)*
        }

        /// Counters only count: nothing that a system does depends on one. So they are no part of its state, and two
        /// states that differ only in them have the same hash.
        impl ::std::hash::Hash for $set {
            fn hash<H: ::std::hash::Hasher>(&self, _: &mut H) {}
        }

        impl $set {
            /// Every counter with its name, in the order of declaration.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                let fields: Vec<(&'static str, u64)> = vec![$((stringify!($name), self.$name)),*];
                fields.into_iter()
            }
        }

        impl $crate::CounterSet for $set {
            const COUNTERS: &'static [$crate::Counter] = &[$(
                $crate::Counter {
                    name: stringify!($name),
                    doc: concat!($($doc),*).trim_ascii(),
                    gauge: false,
                    digest: $crate::InDigest::Counted,
                } $($(.$flag())+)?,
            )*];

            fn values(&self) -> Vec<u64> {
                vec![$(self.$name),*]
            }

            // A set may be empty.
            #[allow(unused_mut, unused_variables)]
            fn with_earlier(&self, earlier: &Self) -> Self {
                let mut sum = *self;
                let mut gauges = Self::COUNTERS.iter().map(|counter| counter.gauge);
                $(if gauges.next() == Some(false) {
                    sum.$name += earlier.$name;
                })*
                sum
            }
        }
    };
}

impl Counter {
    /// The same counter as a size or a maximum.
    pub const fn gauge(self) -> Counter {
        Counter { gauge: true, ..self }
    }

    /// The same counter, always in the digest.
    pub const fn always(self) -> Counter {
        Counter { digest: InDigest::Always, ..self }
    }

    /// The same counter, never in the digest.
    pub const fn never(self) -> Counter {
        Counter { digest: InDigest::Never, ..self }
    }
}

counters! {
    /// No counters.
    NoCounters
}

#[cfg(test)]
mod tests {
    use super::{CounterSet, CounterSets, InDigest};

    counters! {
        /// Three counters.
        Three
        /// The first.
        first,
        /// The second, in two lines.
        second: always,
        /// The third.
        third: gauge never,
    }

    #[test]
    fn fields_carry_their_names() {
        let three = Three { first: 4, second: 5, third: 2 };
        assert_eq!(three.fields().collect::<Vec<_>>(), [("first", 4), ("second", 5), ("third", 2)]);
        assert_eq!(three.values(), [4, 5, 2]);
        assert_eq!(One { fourth: 4 }.fields().collect::<Vec<_>>(), [("fourth", 4)]);
    }

    counters! {
        /// One more.
        One
        /// The fourth.
        fourth,
    }

    #[test]
    fn sets_together_have_the_counters_of_each() {
        let names: Vec<&str> = <(Three, One)>::declared().iter().map(|counter| counter.name).collect();
        assert_eq!(names, ["first", "second", "third", "fourth"]);
        let counted = (Three { first: 1, second: 2, third: 3 }, One { fourth: 4 }).counted();
        let counted: Vec<(&str, u64)> = counted.into_iter().map(|(counter, value)| (counter.name, value)).collect();
        assert_eq!(counted, [("first", 1), ("second", 2), ("third", 3), ("fourth", 4)]);
    }

    #[test]
    fn counters_know_what_was_declared() {
        let [first, second, third] = Three::COUNTERS else { panic!("three are declared") };
        assert_eq!(
            (first.name, first.doc, first.gauge, first.digest),
            ("first", "The first.", false, InDigest::Counted)
        );
        assert_eq!((second.doc, second.digest), ("The second, in two lines.", InDigest::Always));
        assert_eq!((third.gauge, third.digest), (true, InDigest::Never));
    }
}
