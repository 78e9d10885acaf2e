//! The question that schedulers ask of a mapping cache.

use units::Lpa;

/// Tells which translations need no flash read in the device.
pub trait CacheView {
    /// Would none of these units need one now?
    fn cached(&self, lpa: Lpa, len: u32) -> bool;
}

/// Nothing is cached, as far as anyone knows.
#[derive(Clone, Copy, Debug)]
pub struct Blind;

impl CacheView for Blind {
    fn cached(&self, _lpa: Lpa, _len: u32) -> bool {
        false
    }
}
