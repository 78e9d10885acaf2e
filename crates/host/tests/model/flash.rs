//! Flash of the model: blocks filled in order, and the true map.

use std::collections::VecDeque;

use ufs::{Content, DataIn, DeviceInfo, L2pEntry};
use units::{Lpa, Ppa, Superblock};

pub struct Flash {
    block_units: u32,
    pages: Vec<Option<Content>>,
    /// The true map, packed.
    pub map: Vec<u32>,
    free: VecDeque<Superblock>,
    closed: Vec<bool>,
    open: Option<Superblock>,
    filled: u32,
}

impl Flash {
    pub fn new(info: &DeviceInfo) -> Flash {
        Flash {
            block_units: info.superblock_units,
            pages: vec![None; (info.superblocks * info.superblock_units) as usize],
            map: vec![0; info.segments() as usize * 1024],
            free: (0..info.superblocks).map(Superblock).collect(),
            closed: vec![false; info.superblocks as usize],
            open: None,
            filled: 0,
        }
    }

    pub fn block_of(&self, ppa: Ppa) -> Superblock {
        Superblock(ppa.0 / self.block_units)
    }

    pub fn first_ppa(&self, block: Superblock) -> Ppa {
        Ppa(block.0 * self.block_units)
    }

    pub fn is_closed(&self, block: Superblock) -> bool {
        self.closed[block.index()]
    }

    pub fn content(&self, ppa: Ppa) -> Option<Content> {
        self.pages[ppa.index()]
    }

    pub fn left_in_open(&self) -> u32 {
        if self.open.is_some() { self.block_units - self.filled } else { self.block_units }
    }

    pub fn allocate(&mut self, content: Content) -> Ppa {
        let block = match self.open {
            Some(block) => block,
            None => {
                self.filled = 0;
                let block = self.free.pop_front().expect("the model is out of free blocks");
                self.open = Some(block);
                block
            }
        };
        let ppa = self.first_ppa(block).offset(self.filled);
        self.pages[ppa.index()] = Some(content);
        self.filled += 1;
        if self.filled == self.block_units {
            self.open = None;
            self.closed[block.index()] = true;
        }
        ppa
    }

    pub fn erase(&mut self, block: Superblock) {
        let first = self.first_ppa(block).index();
        self.pages[first..first + self.block_units as usize].fill(None);
        self.closed[block.index()] = false;
        self.free.push_back(block);
    }

    /// Applies an entry to a whole map.
    pub fn apply(&self, map: &mut [u32], entry: &L2pEntry) {
        for i in 0..u32::from(entry.len) {
            let lpa = entry.lpa.offset(i);
            self.apply_at(&mut map[lpa.index()..=lpa.index()], lpa, entry);
        }
    }

    /// Applies an entry to the mapping of one address.
    pub fn apply_at(&self, mapping: &mut [u32], lpa: Lpa, entry: &L2pEntry) {
        let end = entry.lpa.0 + u32::from(entry.len);
        if lpa < entry.lpa || lpa.0 >= end {
            return;
        }
        let old = Ppa::unpack(mapping[0]).map(|ppa| self.block_of(ppa));
        if entry.source.is_none() || entry.source == old {
            mapping[0] = Ppa::pack(entry.ppa.map(|ppa| ppa.offset(lpa.0 - entry.lpa.0)));
        }
    }

    pub fn contents(&self, lpa: Lpa, len: u32) -> DataIn {
        let one = |i: u32| {
            let ppa = Ppa::unpack(self.map[lpa.offset(i).index()])?;
            let content = self.pages[ppa.index()].expect("a mapped page has content");
            assert_eq!(content.lpa, lpa.offset(i), "the true map is wrong");
            Some(content)
        };
        if len == 1 { DataIn::One(one(0)) } else { DataIn::Many((0..len).map(one).collect()) }
    }

    pub fn valid_in(&self, map: &[u32], block: Superblock) -> u32 {
        self.bitmap(map, block).iter().map(|word| word.count_ones()).sum()
    }

    pub fn bitmap(&self, map: &[u32], block: Superblock) -> Box<[u64]> {
        let first = self.first_ppa(block);
        let valid = |i: u32| {
            let ppa = first.offset(i);
            self.pages[ppa.index()].is_some_and(|content| map[content.lpa.index()] == Ppa::pack(Some(ppa)))
        };
        let mut bits = vec![0; self.block_units.div_ceil(64) as usize];
        for i in (0..self.block_units).filter(|&i| valid(i)) {
            bits[i as usize / 64] |= 1 << (i % 64);
        }
        bits.into()
    }
}
