//! Sight of the device's mapping cache, lent to the driver for schedulers with full knowledge of it (MAP+ Sec. V-D: "we
//! assume the full mapping cache awareness"). No phone has that, and it is charged nothing.

use ftl::Device;
use host::CacheView;
use units::Lpa;

/// What the mapping cache of a device holds.
pub struct CacheOf<'a>(pub &'a Device);

impl CacheView for CacheOf<'_> {
    fn cached(&self, lpa: Lpa, len: u32) -> bool {
        self.0.cached(lpa, len)
    }
}
