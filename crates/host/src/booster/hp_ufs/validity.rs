//! Valid page bitmap and valid page counts (HP-UFS Sec. III-E).

use lists::Bits;
use ufs::{Candidate, DeviceInfo, Victims};
use units::{Ppa, Seq, Superblock};

/// The units on flash that hold current data, as far as the host knows.
#[derive(Clone, Hash)]
pub(crate) struct Validity {
    bits: Vec<u64>,
    counts: Vec<u32>,
    victims: Victims,
    /// Number of the last unit written to each block, if the policy of victims asks for it.
    filled: Vec<Seq>,
    blocks: BlockOf,
    words_per_block: usize,
}

/// Block and offset of an address. Uses a shift if the size allows it, because every write needs this twice.
#[derive(Clone, Copy, Hash)]
struct BlockOf {
    units: u32,
    shift: Option<u32>,
}

impl BlockOf {
    #[inline]
    fn split(self, ppa: Ppa) -> (u32, u32) {
        match self.shift {
            Some(shift) => (ppa.0 >> shift, ppa.0 & (self.units - 1)),
            None => (ppa.0 / self.units, ppa.0 % self.units),
        }
    }
}

impl Validity {
    /// No unit is valid.
    pub fn new(info: &DeviceInfo) -> Validity {
        let units = info.superblock_units;
        assert!(units > 0, "the device says that its superblocks are empty");
        let words_per_block = units.div_ceil(64) as usize;
        Validity {
            bits: table::zeroed(words_per_block * info.superblocks as usize),
            counts: vec![0; info.superblocks as usize],
            victims: info.victims,
            filled: if info.victims.needs_age() { vec![Seq(0); info.superblocks as usize] } else { Vec::new() },
            blocks: BlockOf { units, shift: units.is_power_of_two().then(|| units.trailing_zeros()) },
            words_per_block,
        }
    }

    /// The block of an address.
    #[inline]
    pub fn block_of(&self, ppa: Ppa) -> Superblock {
        Superblock(self.blocks.split(ppa).0)
    }

    /// Marks a unit as valid. Counts follow the bits, so a falsified table can not make them run away.
    #[inline]
    pub fn set(&mut self, ppa: Ppa) -> Superblock {
        let (block, word, mask) = self.locate(ppa);
        let fresh = self.bits[word] & mask == 0;
        self.bits[word] |= mask;
        self.counts[block as usize] += u32::from(fresh);
        Superblock(block)
    }

    /// Marks a unit as invalid. Gives its block if that was the last valid unit of it.
    #[inline]
    pub fn clear(&mut self, ppa: Ppa) -> Option<Superblock> {
        let (block, word, mask) = self.locate(ppa);
        if self.bits[word] & mask == 0 {
            return None;
        }
        self.bits[word] &= !mask;
        let count = &mut self.counts[block as usize];
        *count -= 1;
        (*count == 0).then_some(Superblock(block))
    }

    /// Prefetches what a change of a unit at this place looks at.
    #[inline]
    pub fn prefetch(&self, ppa: Ppa) {
        if let Some(word) = self.bits.get(self.locate(ppa).1) {
            table::prefetch(word);
        }
    }

    #[inline]
    fn locate(&self, ppa: Ppa) -> (u32, usize, u64) {
        let (block, unit) = self.blocks.split(ppa);
        (block, block as usize * self.words_per_block + (unit / 64) as usize, 1 << (unit % 64))
    }

    /// Valid units of a block.
    #[inline]
    pub fn count(&self, block: Superblock) -> u32 {
        self.counts[block.index()]
    }

    /// The bitmap of a block.
    pub fn bitmap(&self, block: Superblock) -> Box<[u64]> {
        let start = block.index() * self.words_per_block;
        self.bits[start..start + self.words_per_block].into()
    }

    /// The block to collect that the policy chooses among those with a valid unit, but not valid ones alone, that are
    /// not `excluded`; the emptiest, if there is none. `now` is the number of the next unit.
    pub fn victim(&self, excluded: &Bits, now: Seq) -> Option<Superblock> {
        let of = |victims: Victims, most: u32| {
            let candidates = (0..).map(Superblock).zip(&self.counts).filter_map(|(superblock, &valid)| {
                let filled = self.filled.get(superblock.index()).copied().unwrap_or(Seq(0));
                let fits = (1..=most).contains(&valid) && !excluded.contains(superblock.0);
                fits.then_some(Candidate { superblock, valid, filled })
            });
            victims.choose(candidates, self.blocks.units, now).map(|one| one.superblock)
        };
        of(self.victims, self.blocks.units - 1).or_else(|| of(Victims::GREEDY, self.blocks.units))
    }

    /// A unit of the block has been written, the one with this number.
    #[inline]
    pub fn written(&mut self, block: Superblock, seq: Seq) {
        if let Some(filled) = self.filled.get_mut(block.index()) {
            *filled = (*filled).max(seq);
        }
    }

    /// Bytes of all bitmaps.
    pub fn bitmap_bytes(&self) -> u64 {
        self.counts.len() as u64 * u64::from(self.blocks.units) / 8
    }

    /// Bytes of all counts, and of the numbers by which a policy of victims tells ages.
    pub fn count_bytes(&self) -> u64 {
        (self.counts.len() + self.filled.len()) as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validity(superblock_units: u32) -> Validity {
        Validity::new(&DeviceInfo { capacity_units: 4096, superblocks: 3, superblock_units, ..DeviceInfo::USUAL })
    }

    #[test]
    fn counts_follow_the_bits() {
        for units in [64, 100, 128] {
            let mut v = validity(units);
            let last = Ppa(2 * units - 1);
            assert_eq!(v.set(Ppa(units)), Superblock(1));
            v.set(last);
            v.set(last);
            assert_eq!(v.count(Superblock(1)), 2);
            assert_eq!(v.clear(last), None);
            assert_eq!(v.clear(last), None, "it is clear already");
            assert_eq!(v.clear(Ppa(units)), Some(Superblock(1)), "the last valid unit");
            assert_eq!(v.count(Superblock(1)), 0);
        }
    }

    #[test]
    fn a_bitmap_covers_its_block_only() {
        let mut v = validity(100);
        for ppa in [99, 100, 165, 199, 200] {
            v.set(Ppa(ppa));
        }
        assert_eq!(*v.bitmap(Superblock(1)), [1, 1 << 1 | 1 << 35]);
        assert_eq!((v.bitmap_bytes(), v.count_bytes()), (37, 12));
    }

    #[test]
    fn the_victim_has_a_valid_unit_and_the_lowest_number() {
        let mut v = validity(64);
        let mut excluded = Bits::new(3);
        assert_eq!(v.victim(&excluded, Seq(9)), None);
        for ppa in [64, 65, 128, 129] {
            v.set(Ppa(ppa));
        }
        assert_eq!(v.victim(&excluded, Seq(9)), Some(Superblock(1)));
        assert!(excluded.insert(1));
        assert!(!excluded.insert(1));
        assert_eq!(v.victim(&excluded, Seq(9)), Some(Superblock(2)));
        excluded.remove(1);
        v.set(Ppa(66));
        assert_eq!(v.victim(&excluded, Seq(9)), Some(Superblock(2)));
    }
}
