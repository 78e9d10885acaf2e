//! Sets of named counters.

/// Declares a structure of counters: its documentation and name, then every counter with its own. It can be added to
/// another, and gives its counters with their names, so that a report can not miss one.
#[macro_export]
macro_rules! counters {
    ($(#[$about:meta])* $set:ident $($(#[$doc:meta])* $name:ident,)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $set {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl $set {
            /// Adds the counters of another part.
            pub fn add(&mut self, other: &$set) {
                $(self.$name += other.$name;)+
            }

            /// Every counter with its name, in the order of declaration.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    counters! {
        /// Two counters.
        Two
        /// The first.
        first,
        /// The second.
        second,
    }

    #[test]
    fn fields_carry_their_names() {
        let mut two = Two { first: 3, second: 0 };
        two.add(&Two { first: 1, second: 5 });
        assert_eq!(two.fields().collect::<Vec<_>>(), [("first", 4), ("second", 5)]);
    }
}
