//! Read disturb: each read of a block shifts the charge of its other cells a little, until the block is erased.
//! Firmware counts the reads of a block and copies what is in it elsewhere before they are too many (*refresh*).

use std::collections::VecDeque;

use nand::{Layout, Work};
use units::Superblock;

/// Reads of the blocks of each die, since their superblock was erased or its refresh began.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct ReadCounts {
    /// More are too many.
    limit: u32,
    dies: u32,
    /// By superblock and die of its group.
    counts: Vec<u32>,
    /// Superblocks with a block that was read more often, in the order in which that happened.
    due: VecDeque<Superblock>,
}

impl ReadCounts {
    /// No block has been read.
    pub fn new(layout: &Layout, limit: u32) -> ReadCounts {
        let (superblocks, dies) = (layout.geometry().data_superblocks, layout.geometry().superblock_dies);
        ReadCounts { limit, dies, counts: vec![0; (superblocks * dies) as usize], due: VecDeque::new() }
    }

    /// A page of a block is read, if the operation is a read. Blocks of metadata do not count: their superblocks are
    /// collected all the time.
    pub fn read(&mut self, layout: &Layout, work: Work) {
        let Work::Read { ppa, .. } = work else { return };
        let sb = layout.superblock_of(ppa);
        let die = layout.die_of(ppa) - layout.geometry().dies_of(sb).start;
        let Some(count) = self.counts.get_mut((sb.0 * self.dies + die) as usize) else { return };
        *count = count.saturating_add(1);
        if *count > self.limit && !self.due.contains(&sb) {
            self.due.push_back(sb);
        }
    }

    /// The superblock has been erased, or its refresh begins.
    pub fn reset(&mut self, sb: Superblock) {
        let first = (sb.0 * self.dies) as usize;
        self.counts[first..first + self.dies as usize].fill(0);
        self.due.retain(|&due| due != sb);
    }

    /// The first superblock that is to be refreshed of those for which `may` holds.
    pub fn due(&self, may: impl Fn(Superblock) -> bool) -> Option<Superblock> {
        self.due.iter().copied().find(|&sb| may(sb))
    }

    /// Bytes of SRAM.
    pub fn table_bytes(&self) -> u64 {
        size_of_val(self.counts.as_slice()) as u64
    }
}

#[cfg(test)]
mod tests {
    use nand::Geometry;
    use units::Ppa;

    use super::*;
    use crate::testing::small;

    fn read(ppa: Ppa) -> Work {
        Work::Read { ppa, units: 1 }
    }

    #[test]
    fn a_block_is_due_after_one_read_more_than_the_limit_and_once() {
        let layout = Geometry { channels: 2, superblock_dies: 2, ..small().geometry }.layout();
        let mut counts = ReadCounts::new(&layout, 3);
        let first = layout.first_ppa(Superblock(2));
        let other = first.offset(layout.row_units());
        assert_ne!(layout.die_of(first), layout.die_of(other), "a block of another die");
        let [first, other] = [first, other].map(read);
        let due = |counts: &ReadCounts| counts.due(|_| true);
        (0..3).for_each(|_| counts.read(&layout, first));
        (0..3).for_each(|_| counts.read(&layout, other));
        assert_eq!(due(&counts), None, "each block counts for itself");
        (0..2).for_each(|_| counts.read(&layout, first));
        assert_eq!((due(&counts), counts.due.len()), (Some(Superblock(2)), 1));
        assert_eq!(counts.due(|sb| sb != Superblock(2)), None);
        counts.reset(Superblock(2));
        counts.read(&layout, other);
        assert_eq!(due(&counts), None, "all of its blocks begin again");
    }

    #[test]
    fn blocks_of_metadata_do_not_count() {
        let layout = small().geometry.layout();
        let mut counts = ReadCounts::new(&layout, 0);
        counts.read(&layout, read(layout.first_ppa(Superblock(layout.geometry().data_superblocks))));
        assert_eq!(counts.due(|_| true), None);
    }
}
