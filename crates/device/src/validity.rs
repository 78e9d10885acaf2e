//! Valid page counts by superblock. A device can count an overwritten page as invalid only when it sees the old entry.
//!
//! All schemes with such counts use them in the same way: superblocks without valid pages are erased, and GC collects
//! the one with the fewest.

use units::{Ppa, Superblock};

use crate::engine::core::Core;
use crate::gc::Victim;

/// Valid page counts of all data superblocks.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct ValidCounts {
    counts: Vec<u32>,
    /// Superblocks that have been collected completely and not been erased.
    collected: Vec<bool>,
    /// Number of these superblocks.
    awaiting_erase: u32,
}

impl ValidCounts {
    /// All counts are zero.
    pub fn new(core: &Core) -> ValidCounts {
        let superblocks = core.blocks().count() as usize;
        ValidCounts { counts: vec![0; superblocks], collected: vec![false; superblocks], awaiting_erase: 0 }
    }

    /// The counts that recovery has found. It has read all pieces of the mapping table.
    pub fn restored(core: &mut Core) -> ValidCounts {
        ValidCounts { counts: core.take_counted(), ..ValidCounts::new(core) }
    }

    /// A page of the superblock became valid.
    #[inline]
    pub fn add(&mut self, sb: Superblock) {
        self.counts[sb.index()] += 1;
    }

    /// A page of the superblock became invalid.
    #[inline]
    pub fn remove(&mut self, sb: Superblock) {
        let count = &mut self.counts[sb.index()];
        assert!(*count > 0, "valid page count of {sb} below zero");
        *count -= 1;
    }

    /// A page becomes invalid. If it was the last valid one of a settled superblock, the superblock is erased.
    #[inline]
    pub fn release(&mut self, core: &mut Core, ppa: Ppa) {
        let sb = core.superblock_of(ppa);
        self.remove(sb);
        self.retire_if_empty(core, sb);
    }

    /// Number of valid pages.
    #[inline]
    pub fn get(&self, sb: Superblock) -> u32 {
        self.counts[sb.index()]
    }

    /// Erases a superblock without valid pages, unless it is still being written.
    #[inline]
    pub fn retire_if_empty(&mut self, core: &mut Core, sb: Superblock) {
        if self.get(sb) == 0 && core.blocks().settled(sb) {
            self.retire(core, sb);
        }
    }

    /// Erases all superblocks without valid pages, after recovery.
    pub fn retire_all_empty(&mut self, core: &mut Core) {
        for sb in (0..core.blocks().count()).map(Superblock) {
            self.retire_if_empty(core, sb);
        }
    }

    fn retire(&mut self, core: &mut Core, sb: Superblock) {
        self.awaiting_erase -= u32::from(self.collected[sb.index()]);
        self.collected[sb.index()] = false;
        core.retire(sb);
    }

    /// All valid pages of a superblock have been copied.
    pub fn mark_collected(&mut self, sb: Superblock) {
        self.awaiting_erase += u32::from(!self.collected[sb.index()]);
        self.collected[sb.index()] = true;
    }

    /// True if a collected superblock is not being erased yet.
    pub fn await_erase(&self) -> bool {
        self.awaiting_erase > 0
    }

    /// The victim among the settled superblocks for which `eligible` holds: `named`, for wear levelling, else the one
    /// with the fewest valid pages (greedy GC). A superblock that is valid as a whole is no victim, because nothing
    /// would be gained.
    pub fn victim(
        &self,
        core: &Core,
        named: Option<Superblock>,
        eligible: impl Fn(Superblock) -> bool,
    ) -> Option<Victim> {
        if let Some(victim) = self.named_victim(core, named, &eligible) {
            return Some(victim);
        }
        let mut best: Option<(u32, Superblock)> = None;
        let full = core.layout().superblock_units();
        for (i, &count) in self.counts.iter().enumerate() {
            let sb = Superblock(i as u32);
            let better = count < best.map_or(full, |(n, _)| n);
            if better && self.usable(core, sb) && eligible(sb) {
                best = Some((count, sb));
            }
        }
        best.map(|(count, sb)| Victim::new(sb, false, count))
    }

    /// The superblock that wear levelling has named, if it can be collected now.
    pub fn named_victim(
        &self,
        core: &Core,
        named: Option<Superblock>,
        eligible: impl Fn(Superblock) -> bool,
    ) -> Option<Victim> {
        let sb = named.filter(|&sb| self.usable(core, sb) && eligible(sb))?;
        Some(Victim::new(sb, true, self.get(sb)))
    }

    fn usable(&self, core: &Core, sb: Superblock) -> bool {
        !self.collected[sb.index()] && core.blocks().settled(sb)
    }

    /// Bytes of SRAM for 16-bit counts.
    pub fn table_bytes(&self) -> u64 {
        2 * self.counts.len() as u64
    }
}
