//! Parameters: declared once, beside the code that uses them.
//!
//! [`params!`] makes a struct from one declaration, together with its default, its list of [`Field`]s and its reader.
//! Whoever reads a TOML table with [`read`] gets every value checked, and errors that name table, key, value and range:
//!
//! ```
//! units::kinds! {
//!     /// What leaves a cache first.
//!     pub Order {
//!         /// What was not used for the longest time.
//!         Lru = "lru";
//!         /// What came first.
//!         Fifo = "fifo";
//!     }
//! }
//!
//! ufsim_params::params! {
//!     /// A cache.
//!     pub CacheParams {
//!         /// All of it.
//!         cache_kib: count_or("unlimited" 4 to 4096) = 64, "data sheet, table 3";
//!         /// Entries leave it in this order.
//!         order: choice(Order) = Lru, "an assumption";
//!     }
//! }
//!
//! let table = "cache_kib = 16".parse().unwrap();
//! let cache: CacheParams = ufsim_params::read("cache", &table).unwrap();
//! assert_eq!((cache.cache_kib.count(), cache.order), (Some(16), Order::Lru));
//!
//! let table = "cache_kib = 2".parse().unwrap();
//! let error = ufsim_params::read::<CacheParams>("cache", &table).unwrap_err();
//! assert_eq!(error.to_string(), "cache.cache_kib = 2: must be 4..=4096 or \"unlimited\"");
//! ```
//!
//! Files that are no device profiles (workloads, scenarios) can be read the same way: declare the table with `params!`,
//! [`parse`] the text, call [`read`], and put the name of the file before the error.
//!
//! [`owners!`] collects the parameters of everything that is registered in one place, e.g. of all mapping schemes.

mod declare;
mod kind;
mod owners;
mod read;

pub use declare::__by_default;
pub use kind::{CountOr, Counts, Default, Field, Kind, Share, unit_of};
pub use owners::{Owner, Owners};
pub use read::{ParamError, check, known_keys_only, parse, read};
pub use toml::{Table, Value};

/// A set of parameters. Made by [`params!`].
pub trait Params: Sized + std::fmt::Debug + std::hash::Hash + Send + Sync + 'static {
    /// What the set is about.
    const ABOUT: &'static str;

    /// Its parameters in order of declaration.
    fn fields() -> Vec<Field>;

    /// The set, from a table that [`check`] has returned.
    fn from_checked(table: &Table) -> Self;

    /// Every parameter with its value, in order of declaration.
    fn values(&self) -> Vec<(&'static str, Value)>;
}

params! {
    /// No parameters.
    pub NoParams {}
}
