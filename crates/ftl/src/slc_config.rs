//! The write cache of superblocks in SLC mode: what a profile says of it. `space/slc.rs` has what it is.

use units::Nanos;

params::params! {
    /// A write cache of superblocks in SLC mode, folded into ordinary ones later. A share is rounded to the nearest
    /// superblock.
    pub SlcParams {
        /// Superblocks that may be in SLC mode at once; each has room for one page where it would have
        /// slc.bits_per_cell. 0: no cache.
        superblocks: amount(0 to 1048576 of "nand.data_superblocks") = 0, "no cache unless a profile has one";
        /// Bits of an ordinary cell.
        bits_per_cell: count(2 to 4) = 3, "TLC";
        /// Host data go to ordinary superblocks while no more than this are free: the cache is shared, and leaves room.
        least_free_superblocks: amount(0 to 1048576 of "nand.data_superblocks") = 0,
            "gc.hurried_superblocks and above are always left";
        /// The cache is folded, beginning with what was filled first, when no request has been under way for this long.
        fold_after_ms: count_or("never" 1 to 600000) = "never", "without it only GC folds, by its policy";
    }
}

impl SlcParams {
    /// What they stand for. At least `least_free` superblocks are left to other uses.
    pub fn config(&self, least_free: u32) -> SlcConfig {
        SlcConfig {
            superblocks: self.superblocks,
            bits_per_cell: self.bits_per_cell,
            least_free: self.least_free_superblocks.max(least_free),
            fold_after: self
                .fold_after_ms
                .count()
                .filter(|_| self.superblocks > 0)
                .map(|ms| Nanos::from_millis(ms.into())),
        }
    }
}

/// A write cache of superblocks in SLC mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlcConfig {
    /// Superblocks that may be in SLC mode at once; 0 = no cache.
    pub superblocks: u32,
    /// Bits of an ordinary cell.
    pub bits_per_cell: u32,
    /// While no more superblocks than this are free, none is opened in SLC mode.
    pub least_free: u32,
    /// It is folded when no request has been under way for this long.
    pub fold_after: Option<Nanos>,
}

impl SlcConfig {
    /// No cache.
    pub const NONE: SlcConfig = SlcConfig { superblocks: 0, bits_per_cell: 3, least_free: 0, fold_after: None };
}
