//! The declaration of parameters.

/// Declares a set of parameters: a struct that implements [`Params`](crate::Params).
///
/// Each parameter has documentation, a name that ends with its unit, a kind, and a default with its source:
///
/// | kind | in a file | in the struct |
/// |---|---|---|
/// | `switch` | `true`, `false` | `bool` |
/// | `count(1 to 64)` | an integer, bounds included | `u32` |
/// | `one_of(1 2 4)` | one of the integers | `u32` |
/// | `wide(0 to 1000)` | the same | `u64` |
/// | `count_or("never" 1 to 64)` | the same, or the word | [`CountOr`](crate::CountOr); its default may be `word` |
/// | `choice("a" "b")` | one of the words | `&'static str` |
/// | `choices("a" "b")` | a list of them | `Vec<&'static str>` |
/// | `text` | words for people | `String` |
///
/// After the source `fixed` may follow: the parameter decides where things are on flash
/// ([`Field::fixed`](crate::Field::fixed)). `with name: Set;` before the parameters includes those of another set.
///
/// Either all parameters have defaults, then the struct has [`Default`](std::default::Default) and is [`Copy`] (write
/// `pub (clone) Name` if it can not be), or none, then files have to name each.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $about:literal])* $vis:vis $name:ident {
            $(with $inner:ident: $Inner:ty;)*
            $( $(#[doc = $doc:literal])+ $key:ident: $kind:ident $( ( $($range:tt)* ) )?
                = $default:tt, $source:literal $(, $fixed:ident)?; )*
        }
    ) => {
        $crate::params! {
            $(#[doc = $about])* $vis (clone) $name {
                $(with $inner: $Inner;)*
                $( $(#[doc = $doc])+ $key: $kind $( ( $($range)* ) )? = $default, $source $(, $fixed)?; )*
            }
        }
        impl Copy for $name {}
    };
    (
        $(#[doc = $about:literal])* $vis:vis (clone) $name:ident {
            $(with $inner:ident: $Inner:ty;)*
            $( $(#[doc = $doc:literal])+ $key:ident: $kind:ident $( ( $($range:tt)* ) )?
                = $default:tt, $source:literal $(, $fixed:ident)?; )*
        }
    ) => {
        $crate::params! {
            @items $(#[doc = $about])* $vis $name {
                $($inner: $Inner,)*
                $( $(#[doc = $doc])+ $key: $kind $( ( $($range)* ) )?,
                    Some($crate::__default!($kind $default)), $source, false $(|| $crate::__fixed!($fixed))?; )*
            }
        }
        impl ::std::default::Default for $name {
            fn default() -> $name {
                $name {
                    $($inner: ::std::default::Default::default(),)*
                    $($key: $crate::__initial!($kind $( ( $($range)* ) )? $default),)*
                }
            }
        }
    };
    (
        $(#[doc = $about:literal])* $vis:vis $name:ident {
            $( $(#[doc = $doc:literal])+ $key:ident: $kind:ident $( ( $($range:tt)* ) )? $(, $fixed:ident)?; )*
        }
    ) => {
        $crate::params! {
            @items $(#[doc = $about])* $vis $name {
                $( $(#[doc = $doc])+ $key: $kind $( ( $($range)* ) )?,
                    None, "", false $(|| $crate::__fixed!($fixed))?; )*
            }
        }
    };
    (
        @items $(#[doc = $about:literal])* $vis:vis $name:ident {
            $($inner:ident: $Inner:ty,)*
            $( $(#[doc = $doc:literal])+ $key:ident: $kind:ident $( ( $($range:tt)* ) )?,
                $default:expr, $source:expr, $fixed:expr; )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        $vis struct $name {
            $(
                #[doc = "Parameters that others have, too."]
                pub $inner: $Inner,
            )*
            $( $(#[doc = $doc])+ pub $key: $crate::__type!($kind), )*
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
                        default: $default,
                        source: $source,
                        fixed: $fixed,
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
    (count) => {
        u32
    };
    (one_of) => {
        u32
    };
    (wide) => {
        u64
    };
    (count_or) => {
        $crate::CountOr
    };
    (choice) => {
        &'static str
    };
    (choices) => {
        Vec<&'static str>
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
    (one_of($($number:literal)+)) => {
        $crate::Kind::OneOf { numbers: &[$($number),+] }
    };
    (wide($min:literal to $max:literal)) => {
        $crate::Kind::Wide { min: $min, max: $max }
    };
    (count_or($word:literal $min:literal to $max:literal)) => {
        $crate::Kind::CountOr { min: $min, max: $max, word: $word }
    };
    (choice($($word:literal)+)) => {
        $crate::Kind::Choice { words: &[$($word),+] }
    };
    (choices($($word:literal)+)) => {
        $crate::Kind::Choices { words: &[$($word),+] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    (switch $default:literal) => {
        $crate::Default::Switch($default)
    };
    (count_or [$default:literal]) => {
        $crate::Default::Word($default)
    };
    (choice $default:literal) => {
        $crate::Default::Word($default)
    };
    (choices [$($default:literal),+]) => {
        $crate::Default::Words(&[$($default),+])
    };
    ($count:ident $default:literal) => {
        $crate::Default::Count($default)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __initial {
    (count_or($word:literal $($range:tt)*) [$default:literal]) => {
        $crate::CountOr::Word($word)
    };
    (count_or($($range:tt)*) $default:literal) => {
        $crate::CountOr::Count($default)
    };
    (choices($($range:tt)*) [$($default:literal),+]) => {
        vec![$($default),+]
    };
    ($kind:ident $( ( $($range:tt)* ) )? $default:literal) => {
        $default
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
    (count($($range:tt)*), $value:expr) => {
        $value.as_integer().expect("checked") as u32
    };
    (one_of($($range:tt)*), $value:expr) => {
        $value.as_integer().expect("checked") as u32
    };
    (wide($($range:tt)*), $value:expr) => {
        $value.as_integer().expect("checked") as u64
    };
    (count_or($word:literal $($range:tt)*), $value:expr) => {
        $value.as_integer().map_or($crate::CountOr::Word($word), |n| $crate::CountOr::Count(n as u32))
    };
    (choice($($word:literal)+), $value:expr) => {
        $crate::__word(&[$($word),+], $value)
    };
    (choices($($word:literal)+), $value:expr) => {
        $value.as_array().expect("checked").iter().map(|value| $crate::__word(&[$($word),+], value)).collect()
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
    (choices, $value:expr) => {
        $crate::Value::from($value.clone())
    };
    ($kind:ident, $value:expr) => {
        $crate::Value::from($value)
    };
}

/// The word that a checked value names.
#[doc(hidden)]
pub fn __word(words: &[&'static str], value: &toml::Value) -> &'static str {
    let named = |word: &&&str| value.as_str() == Some(**word);
    words.iter().find(named).expect("checked")
}

#[cfg(test)]
mod tests {
    use crate::{CountOr, Params, Table, read};

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
            every_us: count_or("never" 0 to 9) = ["never"], "s";
            /// Size.
            size_kib: count_or("all" 1 to 9) = 3, "s";
            /// Seed.
            seed: wide(0 to 1_000_000_000_000) = 1_000_000_000_000, "s";
            /// One.
            one: choice("a" "b") = "b", "s";
        }
    }

    crate::params! {
        /// A list.
        (clone) Listed {
            /// Some.
            some: choices("a" "b") = ["b", "a"], "s";
        }
    }

    crate::params! {
        /// Nothing by default.
        Named {
            /// Name.
            name: text;
            /// Size.
            size_mib: count(16 to 64), fixed;
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
        assert_eq!((copied.shared.width, copied.on, copied.seed, copied.one), (4, true, 1_000_000_000_000, "b"));
        let listed: Listed = read("t", &Table::new()).unwrap();
        assert_eq!((&listed, &listed.some), (&Listed::default(), &vec!["b", "a"]));
        assert!(Copied::fields().iter().all(|f| f.kind.admits(&f.default.unwrap().value())));
    }

    #[test]
    fn values_are_read_and_come_back() {
        let text = "width = 8\non = false\nevery_us = 0\nsize_kib = 'all'\nseed = 0\none = 'a'";
        let copied: Copied = read("t", &table(text)).unwrap();
        assert_eq!((copied.shared.width, copied.on, copied.every_us.count()), (8, false, Some(0)));
        assert_eq!((copied.size_kib.count(), copied.seed, copied.one), (None, 0, "a"));
        comes_back(&copied);
        let named: Named = read("t", &table("name = 'x'\nsize_mib = 16")).unwrap();
        assert_eq!((named.name.as_str(), named.size_mib), ("x", 16));
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
        assert!(Named::fields()[1].fixed && Named::fields()[1].default.is_none());
    }

    #[test]
    fn errors_name_table_key_value_and_range() {
        let told = |text: &str| read::<Copied>("t", &table(text)).unwrap_err().to_string();
        assert_eq!(told("width = 9"), "t.width = 9: must be 1..=8");
        assert_eq!(told("one = 'c'"), "t.one = \"c\": must be one of \"a\", \"b\"");
        assert!(told("wide = 9").starts_with("t.wide = 9: unknown key, must be one of width, on, "));
        let missing = read::<Named>("t", &table("name = 'x'")).unwrap_err();
        assert_eq!(missing.to_string(), "t.size_mib is missing: must be 16..=64");
        let none = read::<crate::NoParams>("t", &table("a = 1")).unwrap_err();
        assert_eq!(none.to_string(), "t.a = 1: unknown key, there are none");
    }
}
