//! Blocks without valid pages, until a command has named them to the device.

use std::collections::VecDeque;

use lists::Bits;
use units::Superblock;

use super::validity::Validity;

/// Freed blocks in the order in which they became free, each once.
#[derive(Clone, Hash)]
pub(crate) struct Freed {
    queue: VecDeque<Superblock>,
    queued: Bits,
}

impl Freed {
    /// No block is free.
    pub fn new(blocks: u32) -> Freed {
        Freed { queue: VecDeque::new(), queued: Bits::new(blocks) }
    }

    /// A block has just lost its last valid page, or got a page that was invalid from the start.
    pub fn push(&mut self, block: Superblock) {
        if self.queued.insert(block.0) {
            self.queue.push_back(block);
        }
    }

    /// The next block to name. Skips blocks that have been filled again.
    #[inline]
    pub fn pop(&mut self, validity: &Validity) -> Option<Superblock> {
        while let Some(block) = self.queue.pop_front() {
            self.queued.remove(block.0);
            if validity.count(block) == 0 {
                return Some(block);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ufs::DeviceInfo;
    use units::Ppa;

    #[test]
    fn a_block_is_told_once_and_only_while_it_is_free() {
        let info = DeviceInfo { capacity_units: 64, superblocks: 3, superblock_units: 64, ..DeviceInfo::USUAL };
        let mut validity = Validity::new(&info);
        let mut freed = Freed::new(3);
        for block in [2, 1, 2, 0] {
            freed.push(Superblock(block));
        }
        validity.set(Ppa(64));
        assert_eq!(freed.pop(&validity), Some(Superblock(2)));
        assert_eq!(freed.pop(&validity), Some(Superblock(0)), "block 1 holds a page again");
        assert_eq!(freed.pop(&validity), None);
        freed.push(Superblock(2));
        assert_eq!(freed.pop(&validity), Some(Superblock(2)), "it may become free again");
    }
}
