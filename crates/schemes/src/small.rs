//! The small device for tests of what a scheme decides. They do not look schemes up: whoever does compiles the engine
//! under each of them.

use ftl::seat::Mapping;
use params::{Params, Value};

pub use ftl::testing::small as config;

/// Parameters of a scheme for this device: entries of 8 bytes, and no work in idle time.
pub fn params<M: Mapping>() -> M::Params {
    with::<M>(&[])
}

/// The same with other values of those that the scheme has.
pub fn with<M: Mapping>(others: &[(&str, i64)]) -> M::Params {
    let counts =
        [("entry_bytes", 8), ("flush_above_entries", 96), ("handover_above_entries", 64), ("gc_pause_at_entries", 64)];
    let counts = counts.iter().chain(others).map(|&(key, value)| (key.to_owned(), Value::from(value)));
    let table = counts.chain([("background_us".to_owned(), Value::from("never"))]).collect();
    M::Params::from_checked(&params::check(M::NAME, &table, &M::Params::fields()).expect("values within their ranges"))
}
