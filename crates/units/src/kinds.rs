//! Lists of named things: the one grammar in which something is registered.

/// Declares an enum whose variants have names, for users to choose from. What is chosen by name is declared with it:
/// schedulers, boosters, trace formats, words that a parameter may have.
///
/// A line is documentation, variant and name. More may follow, in this order:
///
/// - `in module` or `in module::Type`: where it is implemented. The enum ignores this; the macro that `list` names in
///   the head gives it to whoever needs it.
/// - `if test`, or another condition of `cfg`: the variant is there only then.
/// - `, value`: its answer to the question that the head names, as `, question: Type`.
///
/// `ALL`, `NAMES` and `DOCS` are in the order of declaration.
///
/// ```
/// # use ufsim_units as units;
/// units::kinds! {
///     /// Ways to travel.
///     pub Way, pub wheels: u32 {
///         /// On foot.
///         Foot = "on-foot", 0;
///         /// By train.
///         Train = "train" in railway::Train, 32;
///     }
/// }
/// assert_eq!(Way::from_name("train"), Some(Way::Train));
/// assert_eq!(Way::from_name("plane"), None);
/// assert_eq!((Way::Foot.name(), Way::Foot.doc(), Way::Foot.wheels()), ("on-foot", "On foot.", 0));
/// assert_eq!((Way::ALL, Way::NAMES), ([Way::Foot, Way::Train].as_slice(), ["on-foot", "train"].as_slice()));
///
/// units::kinds! {
///     /// Ways to wait.
///     pub Wait, list waits {
///         /// On a bench.
///         Sitting = "sitting" in bench;
///     }
/// }
/// macro_rules! places {
///     ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $module:ident;)+) => {
///         [$((Wait::$variant, stringify!($module))),+]
///     };
/// }
/// assert_eq!(waits!(places), [(Wait::Sitting, "bench")]);
/// ```
#[macro_export]
macro_rules! kinds {
    (
        $(#[doc = $about:literal])+
        $vis:vis $kind:ident, list $list:ident {
            $($(#[doc = $doc:literal])+ $variant:ident = $name:literal $(in $module:ident $(::$type:ident)?)?;)+
        }
    ) => {
        $crate::kinds! {
            $(#[doc = $about])+
            $vis $kind { $($(#[doc = $doc])+ $variant = $name $(in $module $(::$type)?)?;)+ }
        }

        /// Hands the list to the macro `$then`.
        macro_rules! $list {
            ($then:ident) => {
                $then! { $($(#[doc = $doc])+ $variant = $name $(in $module $(::$type)?)?;)+ }
            };
        }
    };
    (
        $(#[doc = $about:literal])+
        $vis:vis $kind:ident, $answers:vis $answer:ident: $Answer:ty {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident = $name:literal $(in $module:ident $(::$type:ident)?)? $(if $cfg:meta)?, $value:expr;
            )+
        }
    ) => {
        $crate::kinds! {
            $(#[doc = $about])+
            $vis $kind { $($(#[doc = $doc])+ $variant = $name $(if $cfg)?;)+ }
        }

        impl $kind {
            /// What its line says.
            $answers const fn $answer(self) -> $Answer {
                match self {
                    $($(#[cfg($cfg)])? $kind::$variant => $value,)+
                }
            }
        }
    };
    (
        $(#[doc = $about:literal])+
        $vis:vis $kind:ident {
            $(
                $(#[doc = $doc:literal])+
                $variant:ident = $name:literal $(in $module:ident $(::$type:ident)?)? $(if $cfg:meta)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $vis enum $kind {
            $($(#[doc = $doc])+ $(#[cfg($cfg)])? $variant,)+
        }

        #[allow(dead_code)]
        impl $kind {
            /// All kinds, in order of declaration.
            pub const ALL: &'static [$kind] = &[$($(#[cfg($cfg)])? $kind::$variant),+];
            /// The names by which they are chosen, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($(#[cfg($cfg)])? $name),+];
            /// What they are, in the same order.
            pub const DOCS: &'static [&'static str] = &[$($(#[cfg($cfg)])? concat!($($doc),+).trim_ascii()),+];

            /// The one of this name.
            pub fn from_name(name: &str) -> Option<$kind> {
                match name {
                    $($(#[cfg($cfg)])? $name => Some($kind::$variant),)+
                    _ => None,
                }
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(#[cfg($cfg)])? $kind::$variant => $name,)+
                }
            }

            /// What it is.
            pub const fn doc(self) -> &'static str {
                $kind::DOCS[self as usize]
            }
        }
    };
}
