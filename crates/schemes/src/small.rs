//! The small device for tests of what a scheme decides.

use ftl::MappingParams;

pub use ftl::testing::small as config;

/// Parameters of the schemes for this device: entries of 8 bytes, and no work in idle time.
pub fn params() -> MappingParams {
    let mut mappings = crate::defaults();
    for (key, value) in
        [("entry_bytes", 8), ("flush_above_entries", 96), ("handover_above_entries", 64), ("gc_pause_at_entries", 64)]
    {
        mappings.set("*", key, value).expect("a parameter of some scheme");
    }
    mappings.set("*", "background_us", "never").expect("a parameter of dftl");
    mappings
}
