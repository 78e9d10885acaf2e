//! The order in which superblocks are scanned.

use std::collections::VecDeque;

use units::{Ppa, Superblock};

use crate::core::Core;

/// A scan row by row through superblocks, on each die up to its first blank page.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Scanner {
    blocks: VecDeque<Superblock>,
    offset: u32,
    /// Dies of the first block, in order, on which a blank page was found.
    ended: Vec<bool>,
}

impl Scanner {
    /// A scan of `blocks`, in this order.
    pub fn new(blocks: impl IntoIterator<Item = Superblock>) -> Scanner {
        Scanner { blocks: blocks.into_iter().collect(), ..Scanner::default() }
    }

    /// First unit of the next row to read; `None` at the end.
    pub fn next_row(&mut self, core: &Core) -> Option<Ppa> {
        let (row, total) = (core.layout.row_units(), core.layout.superblock_units());
        let dies = core.layout.geometry().superblock_dies;
        loop {
            let &sb = self.blocks.front()?;
            self.ended.resize(dies as usize, false);
            if self.offset == total || self.ended.iter().all(|&ended| ended) {
                self.blocks.pop_front();
                self.ended.fill(false);
                self.offset = 0;
                continue;
            }
            let die = (self.offset / row % dies) as usize;
            self.offset += row;
            if !self.ended[die] {
                return Some(core.layout.first_ppa(sb).offset(self.offset - row));
            }
        }
    }

    /// A blank unit was read, so its die has no further pages in this block.
    pub fn saw_blank(&mut self, core: &Core, ppa: Ppa) {
        let sb = core.superblock_of(ppa);
        if self.blocks.front() == Some(&sb) {
            let in_group = core.layout.die_of(ppa) - core.layout.dies_of(sb).start;
            self.ended[in_group as usize] = true;
        }
    }
}
