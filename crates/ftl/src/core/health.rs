//! How worn the device is, and whether it still takes writes.

use ufs::{Health, life_time, pre_eol};
use units::Superblock;

use crate::core::Core;

impl Core {
    /// Data superblocks take turns in SLC mode, so the cache is as worn as all of them.
    pub(super) fn life_time_data(&self) -> u8 {
        life_time(self.blocks.erases(), self.blocks.count(), self.cfg.endurance.data)
    }

    /// How worn the device is.
    pub(crate) fn health(&self) -> Health {
        let (first, n) = (self.blocks.count(), self.cfg.geometry.meta_superblocks);
        let metadata = (first..first + n).map(|sb| u64::from(self.nand.erase_count(Superblock(sb)))).sum();
        Health {
            pre_eol: pre_eol(self.blocks.lost(), self.blocks.count().saturating_sub(self.least_superblocks())),
            life_time_slc: life_time(metadata, n, self.cfg.endurance.metadata),
            life_time_data: self.life_time_data(),
        }
    }

    /// True if so few superblocks are left that writes could stop for ever; then nothing more is written. Superblocks
    /// that will not be erased again do not count as left, because GC gains nothing from them. After a power cut the
    /// device has forgotten which these are, and superblocks that were open are full: then none may be left at all.
    pub(crate) fn is_read_only(&self) -> bool {
        let few = || self.blocks.count() - self.blocks.lost() < self.least_superblocks();
        self.blocks.lost() > 0 && (few() || self.blocks.none_left())
    }

    /// With fewer data superblocks nothing more is written.
    #[inline(never)]
    fn least_superblocks(&self) -> u32 {
        self.cfg.capacity_units.div_ceil(self.layout.superblock_units()) + self.cfg.gc.reserve + 8
    }
}
