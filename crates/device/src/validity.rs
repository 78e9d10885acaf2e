//! Valid pages per superblock, as a device can count them: it learns of an overwritten page when it sees the old entry.

use units::{Lpa, Superblock};

use crate::blocks::Blocks;
use crate::engine::core::Core;

/// Valid page counts of all data superblocks.
#[derive(Debug)]
pub struct ValidCounts {
    counts: Vec<u32>,
    /// Collected completely; pages only leave it from now on.
    collected: Vec<bool>,
    /// How many are collected and not erased.
    pub awaiting_erase: u32,
}

impl ValidCounts {
    /// All zero.
    pub fn new(superblocks: u32) -> ValidCounts {
        ValidCounts {
            counts: vec![0; superblocks as usize],
            collected: vec![false; superblocks as usize],
            awaiting_erase: 0,
        }
    }

    /// What the pieces of the mapping table on flash say, all of which recovery has read.
    pub fn restored(core: &Core) -> ValidCounts {
        let mut valid = ValidCounts::new(core.blocks().count());
        for ppa in (0..core.capacity_units()).filter_map(|lpa| core.meta().pages.entry(Lpa(lpa))) {
            valid.add(core.superblock_of(ppa));
        }
        valid
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

    /// Valid pages.
    #[inline]
    pub fn get(&self, sb: Superblock) -> u32 {
        self.counts[sb.index()]
    }

    /// All valid pages have been copied.
    pub fn mark_collected(&mut self, sb: Superblock) {
        self.awaiting_erase += u32::from(!self.collected[sb.index()]);
        self.collected[sb.index()] = true;
    }

    /// It is being erased.
    pub fn forget(&mut self, sb: Superblock) {
        self.awaiting_erase -= u32::from(self.collected[sb.index()]);
        self.collected[sb.index()] = false;
    }

    /// Was it collected already?
    pub fn is_collected(&self, sb: Superblock) -> bool {
        self.collected[sb.index()]
    }

    /// The settled superblock with the fewest valid pages for which `eligible` holds: greedy GC. A full one is no
    /// victim: nothing would be gained.
    pub fn fewest(&self, blocks: &Blocks, full: u32, eligible: impl Fn(Superblock) -> bool) -> Option<Superblock> {
        let mut best: Option<(u32, Superblock)> = None;
        for (i, &count) in self.counts.iter().enumerate() {
            let sb = Superblock(i as u32);
            let better = count < best.map_or(full, |(n, _)| n);
            if better && !self.collected[i] && blocks.settled(sb) && eligible(sb) {
                best = Some((count, sb));
            }
        }
        best.map(|(_, sb)| sb)
    }

    /// Bytes of SRAM for 16-bit counts.
    pub fn table_bytes(&self) -> u64 {
        2 * self.counts.len() as u64
    }
}
