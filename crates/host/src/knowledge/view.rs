//! A view of a mapping cache, for schedulers.

use units::Lpa;

/// Tells which translations need no flash read in the device.
pub trait CacheView {
    /// True if translating these units needs no flash read.
    fn cached(&self, lpa: Lpa, len: u32) -> bool;
}

/// A view in which nothing is cached.
#[derive(Clone, Copy, Debug)]
pub struct Blind;

impl CacheView for Blind {
    fn cached(&self, _lpa: Lpa, _len: u32) -> bool {
        false
    }
}
