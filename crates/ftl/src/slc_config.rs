//! The write cache of superblocks in SLC mode: what a profile says of it. `space/slc.rs` has what it is.

use ufs::{BoosterFlags, UserSpace};
use units::{Lpa, Nanos};

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
        /// Of no effect with slc.write_booster.
        fold_after_ms: count_or("never" 1 to 600000) = "never", "without it only GC folds, by its policy";
        /// The cache is WriteBooster (JESD220G clause 13.4.18), a buffer that all logical units share, or that one has
        /// (slc.dedicated_lu): whether data go to it, and when it is folded ("flushed"), say flags of the host; without
        /// a kernel as host, host.wb_on, host.wb_buf_flush and host.wb_buf_flush_during_h8. A flush goes on only while
        /// no command is under way.
        write_booster: switch = false, "unless a profile says so, the cache is the firmware's own";
        /// The logical unit whose data may go to a cache that is WriteBooster, if it is dedicated to one
        /// (bWriteBoosterBufferType 00h); data of others go to ordinary superblocks. Not with gc.hot_region_kib.
        dedicated_lu: count_or("none" 0 to 7) = "none", "all units share it, as in JESD220G's single buffer mode";
        /// Where the room of a cache that is WriteBooster comes from.
        user_space: choice(UserSpace) = Preserved, "of no effect without slc.write_booster", fixed;
    }
}

impl SlcParams {
    /// What they stand for. At least `least_free` superblocks are left to other uses. Of a cache that is WriteBooster,
    /// `host` gives what does not stand here.
    pub fn config(&self, least_free: u32, host: BoosterHost) -> SlcConfig {
        let has_booster = self.superblocks > 0 && self.write_booster;
        SlcConfig {
            superblocks: self.superblocks,
            bits_per_cell: self.bits_per_cell,
            least_free: self.least_free_superblocks.max(least_free),
            fold_after: self
                .fold_after_ms
                .count()
                .filter(|_| self.superblocks > 0 && !has_booster)
                .map(|ms| Nanos::from_millis(ms.into())),
            booster: has_booster.then_some(BoosterConfig { user_space: self.user_space, host }),
        }
    }

    /// Superblocks by which the capacity is smaller.
    pub fn taken_superblocks(&self) -> u32 {
        let takes = self.write_booster && self.user_space == UserSpace::Reduced;
        if takes { self.superblocks } else { 0 }
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
    /// The host's control of it; `None`: it is the firmware's own.
    pub booster: Option<BoosterConfig>,
}

/// A cache that is WriteBooster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BoosterConfig {
    /// Where its room comes from.
    pub user_space: UserSpace,
    /// What the host makes of it.
    pub host: BoosterHost,
}

/// What a host makes of a cache that is WriteBooster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct BoosterHost {
    /// What a driver sets as soon as the device has power.
    pub flags: BoosterFlags,
    /// The link hibernates when no request has been under way for this long; `None`: only if the device is told so. The
    /// device counts from its last answer, a host from the arrival of that.
    pub hibernates_after: Option<Nanos>,
    /// The addresses that it was dedicated to when the device was set up: the first, and how many; `None`: all.
    pub serves: Option<(Lpa, u32)>,
}

impl SlcConfig {
    /// No cache.
    pub const NONE: SlcConfig =
        SlcConfig { superblocks: 0, bits_per_cell: 3, least_free: 0, fold_after: None, booster: None };
}
