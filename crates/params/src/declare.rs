//! The declaration of parameters.

/// Declares a set of parameters: a struct that implements [`Params`](crate::Params).
///
/// Each parameter has documentation, a name that ends with its unit, and a kind. It may have a default with its source;
/// one without has to stand in every file.
///
/// | kind | in a file | in the struct |
/// |---|---|---|
/// | `switch` | `true`, `false` | `bool` |
/// | `count(1 to 64)` | an integer, bounds included | `u32` |
/// | `amount(1 to 64 of "a.b")` | the same, or a share of what `a.b` counts, such as `"5 %"` | `u32` |
/// | `one_of(1 2 4)` | one of the integers | `u32` |
/// | `wide(0 to 1000)` | an integer, bounds included | `u64` |
/// | `count_or("never" 1 to 64)` | an integer, bounds included, or the word | [`CountOr`](crate::CountOr) |
/// | `counts(1 to 64)` | such an integer, or a list of up to four | [`Counts`](crate::Counts) |
/// | `counts(1 to 64 upto 7)` | the same, with a list of up to so many | [`Counts`](crate::Counts) |
/// | `choice(Order)` | one of the words of an enum that `units::kinds!` has made | `Order` |
/// | `choices(Order)` | a list of them | `Vec<Order>` |
/// | `text` | words for people | `String` |
///
/// A default is a value as in a file, or a variant: `= 8, "its source"`, `= "never", "..."`, `= ByName, "..."`. After
/// that `fixed` may follow: the parameter decides where things are on flash ([`Field::fixed`](crate::Field::fixed)).
/// `with name: Set;` before the parameters includes those of another set.
///
/// The struct is [`Copy`]; write `pub (clone) Name` if it can not be. If all of its parameters have defaults, it has
/// [`Default`](std::default::Default).
#[macro_export]
macro_rules! params {
    (
        @items $(#[doc = $about:literal])* $vis:vis $name:ident {
            $(with $inner:ident: $Inner:ty;)*
            $( $(#[doc = $doc:literal])+ $key:ident: $kind:ident $( ( $($range:tt)* ) )?
                $(= $default:tt, $source:literal)? $(, $fixed:ident)?; )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        $vis struct $name {
            $(
                #[doc = "Parameters that others have, too."]
                pub $inner: $Inner,
            )*
            $( $(#[doc = $doc])+ pub $key: $crate::__type!($kind $( ( $($range)* ) )?), )*
        }

        /// Parameters are fixed for the life of a system, so they are no part of its state.
        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, _: &mut H) {}
        }

        impl $crate::Params for $name {
            const ABOUT: &'static str = concat!($($about),*);

            fn fields() -> Vec<$crate::Field> {
                let fields: Vec<Vec<$crate::Field>> = vec![
                    $(<$Inner as $crate::Params>::fields(),)*
                    vec![$( $crate::Field {
                        key: stringify!($key),
                        doc: concat!($($doc),+).trim_ascii(),
                        kind: $crate::__kind!($kind $( ( $($range)* ) )?),
                        default: $crate::__default!($kind $( ( $($range)* ) )? $($default)?),
                        source: concat!($($source)?),
                        fixed: false $(|| $crate::__fixed!($fixed))?,
                    }, )*],
                ];
                fields.concat()
            }

            #[allow(unused_variables)]
            fn from_checked(table: &$crate::Table) -> $name {
                $name {
                    $($inner: <$Inner as $crate::Params>::from_checked(table),)*
                    $($key: $crate::__read!($kind $( ( $($range)* ) )?, &table[stringify!($key)]),)*
                }
            }

            fn values(&self) -> Vec<(&'static str, $crate::Value)> {
                let values: Vec<Vec<(&'static str, $crate::Value)>> = vec![
                    $($crate::Params::values(&self.$inner),)*
                    vec![$( (stringify!($key), $crate::__value!($kind, self.$key)), )*],
                ];
                values.concat()
            }
        }
    };
    ($(#[doc = $about:literal])* $vis:vis $name:ident { $($body:tt)* }) => {
        $crate::params! { $(#[doc = $about])* $vis (clone) $name { $($body)* } }
        impl Copy for $name {}
    };
    ($(#[doc = $about:literal])* $vis:vis (clone) $name:ident { $($body:tt)* }) => {
        $crate::params! { @items $(#[doc = $about])* $vis $name { $($body)* } }
        $crate::__all_defaults! { $name { $($body)* } }
    };
}

/// The default of a set, if it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! __all_defaults {
    ($name:ident {
        $(with $inner:ident: $Inner:ty;)*
        $( $(#[doc = $doc:literal])+ $key:ident: $kind:ident $( ( $($range:tt)* ) )?
            = $default:tt, $source:literal $(, $fixed:ident)?; )*
    }) => {
        impl ::std::default::Default for $name {
            fn default() -> $name {
                $crate::__by_default()
            }
        }
    };
    ($($other:tt)*) => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fixed {
    (fixed) => {
        true
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __type {
    (text) => {
        String
    };
    (switch) => {
        bool
    };
    (wide($($range:tt)*)) => {
        u64
    };
    (count_or($($range:tt)*)) => {
        $crate::CountOr
    };
    (counts($($range:tt)*)) => {
        $crate::Counts
    };
    (choice($Choice:ty)) => {
        $Choice
    };
    (choices($Choice:ty)) => {
        Vec<$Choice>
    };
    ($count:ident($($range:tt)*)) => {
        u32
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __kind {
    (text) => {
        $crate::Kind::Text
    };
    (switch) => {
        $crate::Kind::Switch
    };
    (count($min:literal to $max:literal)) => {
        $crate::Kind::Count { min: $min, max: $max }
    };
    (amount($min:literal to $max:literal of $whole:literal)) => {
        $crate::Kind::Amount { min: $min, max: $max, whole: $whole }
    };
    (one_of($($number:literal)+)) => {
        $crate::Kind::OneOf { numbers: &[$($number),+] }
    };
    (wide($min:literal to $max:literal)) => {
        $crate::Kind::Wide { min: $min, max: $max }
    };
    (count_or($word:literal $min:literal to $max:literal)) => {
        $crate::Kind::CountOr { min: $min, max: $max, word: $word }
    };
    (counts($min:literal to $max:literal)) => {
        $crate::Kind::Counts { min: $min, max: $max, most: 4 }
    };
    (counts($min:literal to $max:literal upto $most:literal)) => {
        $crate::Kind::Counts { min: $min, max: $max, most: $most }
    };
    (choice($Choice:ty)) => {
        $crate::Kind::Choice { words: <$Choice>::NAMES, docs: <$Choice>::DOCS }
    };
    (choices($Choice:ty)) => {
        $crate::Kind::Choices { words: <$Choice>::NAMES, docs: <$Choice>::DOCS }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    (choice($Choice:ty) $default:ident) => {
        Some($crate::Default::Word(<$Choice>::$default.name()))
    };
    (choices($Choice:ty) [$($default:ident),+]) => {
        Some($crate::Default::Words(const { &[$(<$Choice>::$default.name()),+] }))
    };
    ($kind:ident $( ( $($range:tt)* ) )? $default:literal) => {
        Some($crate::Default::from($default))
    };
    ($kind:ident $( ( $($range:tt)* ) )?) => {
        None
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __read {
    (text, $value:expr) => {
        $value.as_str().expect("checked").to_owned()
    };
    (switch, $value:expr) => {
        $value.as_bool().expect("checked")
    };
    (wide($($range:tt)*), $value:expr) => {
        $value.as_integer().expect("checked") as u64
    };
    (count_or($word:literal $($range:tt)*), $value:expr) => {
        $value.as_integer().map_or($crate::CountOr::Word($word), |n| $crate::CountOr::Count(n as u32))
    };
    (counts($($range:tt)*), $value:expr) => {
        $crate::Counts::of($value).expect("checked")
    };
    (choice($Choice:ty), $value:expr) => {
        <$Choice>::from_name($value.as_str().expect("checked")).expect("checked")
    };
    (choices($Choice:ty), $value:expr) => {{
        let words = $value.as_array().expect("checked").iter();
        words.map(|word| <$Choice>::from_name(word.as_str().expect("checked")).expect("checked")).collect()
    }};
    ($count:ident($($range:tt)*), $value:expr) => {
        $value.as_integer().expect("checked") as u32
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __value {
    (text, $value:expr) => {
        $crate::Value::from($value.clone())
    };
    (wide, $value:expr) => {
        $crate::Value::Integer($value as i64)
    };
    (count_or, $value:expr) => {
        match $value {
            $crate::CountOr::Count(n) => $crate::Value::from(n),
            $crate::CountOr::Word(word) => $crate::Value::from(word),
        }
    };
    (choice, $value:expr) => {
        $crate::Value::from($value.name())
    };
    (choices, $value:expr) => {
        $crate::Value::from($value.iter().map(|chosen| chosen.name()).collect::<Vec<_>>())
    };
    ($kind:ident, $value:expr) => {
        $crate::Value::from($value)
    };
}

/// The set in which every parameter has its default.
#[doc(hidden)]
pub fn __by_default<P: crate::Params>() -> P {
    let given = |field: &crate::Field| Some((field.key.to_owned(), field.default?.value()));
    P::from_checked(&P::fields().iter().filter_map(given).collect())
}

#[cfg(test)]
mod tests {
    use crate::{CountOr, Params, Table, read};

    units::kinds! {
        /// One of two.
        Letter {
            /// The first.
            A = "a";
            /// The second.
            B = "b";
        }
    }

    crate::params! {
        /// Shared.
        Shared {
            /// Width.
            width: count(1 to 8) = 4, "a book", fixed;
        }
    }

    crate::params! {
        /// All kinds
        /// that can be copied.
        Copied {
            with shared: Shared;
            /// On?
            on: switch = true, "s";
            /// Now and then.
            every_us: count_or("never" 0 to 9) = "never", "s";
            /// Size.
            size_kib: count_or("all" 1 to 9) = 3, "s";
            /// Seed.
            seed: wide(0 to 1_000_000_000_000) = 1_000_000_000_000, "s";
            /// One.
            one: choice(Letter) = B, "s";
        }
    }

    crate::params! {
        /// A list.
        (clone) Listed {
            /// Some.
            some: choices(Letter) = [B, A], "s";
        }
    }

    crate::params! {
        /// One with a default, others without.
        (clone) Named {
            /// Name.
            name: text;
            /// Size.
            size_mib: amount(16 to 64 of "a.b"), fixed;
            /// Width.
            width: count(1 to 8) = 3, "s";
        }
    }

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    /// Reading what a set says of itself gives the set.
    fn comes_back<P: Params + PartialEq + std::fmt::Debug>(set: &P) {
        let table = set.values().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        assert_eq!(&read::<P>("t", &table).unwrap(), set);
    }

    #[test]
    fn an_empty_table_gives_the_defaults() {
        let copied: Copied = read("t", &Table::new()).unwrap();
        assert_eq!(copied, Copied::default());
        assert_eq!((copied.every_us, copied.size_kib), (CountOr::Word("never"), CountOr::Count(3)));
        assert_eq!((copied.shared.width, copied.on, copied.seed, copied.one), (4, true, 1_000_000_000_000, Letter::B));
        let listed: Listed = read("t", &Table::new()).unwrap();
        assert_eq!((&listed, &listed.some), (&Listed::default(), &vec![Letter::B, Letter::A]));
        assert!(Copied::fields().iter().all(|f| f.kind.admits(&f.default.unwrap().value())));
    }

    #[test]
    fn values_are_read_and_come_back() {
        let text = "width = 8\non = false\nevery_us = 0\nsize_kib = 'all'\nseed = 0\none = 'a'";
        let copied: Copied = read("t", &table(text)).unwrap();
        assert_eq!((copied.shared.width, copied.on, copied.every_us.count()), (8, false, Some(0)));
        assert_eq!((copied.size_kib.count(), copied.seed, copied.one), (None, 0, Letter::A));
        comes_back(&copied);
        let named: Named = read("t", &table("name = 'x'\nsize_mib = 16")).unwrap();
        assert_eq!((named.name.as_str(), named.size_mib, named.width), ("x", 16, 3));
        comes_back(&named);
        comes_back(&Listed::default());
    }

    #[test]
    fn fields_know_what_was_declared() {
        assert_eq!(Copied::ABOUT.trim(), "All kinds that can be copied.");
        let fields = Copied::fields();
        assert_eq!(
            fields.iter().map(|f| f.key).collect::<Vec<_>>(),
            ["width", "on", "every_us", "size_kib", "seed", "one"]
        );
        assert_eq!(
            (fields[0].doc, fields[0].source, fields[0].fixed, fields[1].fixed),
            ("Width.", "a book", true, false)
        );
        let named = Named::fields();
        assert!(named[1].fixed && named[1].default.is_none() && named[2].default.is_some());
        assert_eq!(fields[5].meaning(), "One. \"a\": the first. \"b\": the second.");
    }

    #[test]
    fn errors_name_table_key_value_and_range() {
        let told = |text: &str| read::<Copied>("t", &table(text)).unwrap_err().to_string();
        assert_eq!(told("width = 9"), "t.width = 9: must be 1..=8");
        assert_eq!(told("one = 'c'"), "t.one = \"c\": must be one of \"a\", \"b\"");
        assert!(told("wide = 9").starts_with("t.wide = 9: unknown key, must be one of width, on, "));
        let missing = read::<Named>("t", &table("name = 'x'")).unwrap_err();
        let amount = "16..=64, or a share of a.b such as \"5 %\"";
        assert_eq!(missing.to_string(), format!("t.size_mib is missing: must be {amount}"));
        let share = read::<Named>("t", &table("name = 'x'\nsize_mib = '5 %'")).unwrap_err();
        assert_eq!(share.to_string(), "t.size_mib = \"5 %\": must be 16..=64, without a share");
        let none = read::<crate::NoParams>("t", &table("a = 1")).unwrap_err();
        assert_eq!(none.to_string(), "t.a = 1: unknown key, there are none");
    }
}
