//! Enums whose variants are chosen by name.

/// Declares an enum whose variants have names, for users to choose from. `ALL` and `NAMES` are in the order of
/// declaration.
///
/// A line may end with `in module::Type`. This macro ignores that part, so a list that also has the place of each type
/// can be passed as it is.
///
/// ```
/// # use ufsim_units as units;
/// units::kinds! {
///     /// Ways to travel.
///     Way {
///         /// On foot.
///         Foot = "on-foot";
///         /// By train.
///         Train = "train" in railway::Train;
///     }
/// }
/// assert_eq!(Way::from_name("train"), Some(Way::Train));
/// assert_eq!(Way::from_name("plane"), None);
/// assert_eq!(Way::Foot.name(), "on-foot");
/// assert_eq!((Way::ALL, Way::NAMES), ([Way::Foot, Way::Train].as_slice(), ["on-foot", "train"].as_slice()));
/// ```
#[macro_export]
macro_rules! kinds {
    (
        $(#[$doc:meta])*
        $kind:ident { $($(#[$of:meta])* $variant:ident = $name:literal $(in $module:ident::$type:ident)?;)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $kind {
            $($(#[$of])* $variant,)+
        }

        impl $kind {
            /// All kinds, in order of declaration.
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];
            /// The names by which they are chosen, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The one of this name.
            pub fn from_name(name: &str) -> Option<$kind> {
                match name {
                    $($name => Some($kind::$variant),)+
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)+
                }
            }
        }
    };
}
