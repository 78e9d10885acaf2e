//! Superblocks in SLC mode: a write cache, such as that of WriteBooster (JESD220F Sec. 13.4.18) or one that firmware
//! has on its own.
//!
//! A superblock is opened in one of two modes. In SLC mode its cells hold one bit: programs, reads and erases take the
//! times of SLC, and it has room for one page where it would have had `bits_per_cell`. Host data go to superblocks in
//! SLC mode as long as fewer than the cache's size are in use and enough others are free; the rest goes to ordinary
//! ones. So the cache is shared: it takes its room from what is free.
//!
//! *Folding* copies what is valid in a superblock in SLC mode to ordinary ones, and erases it. It is a GC step: GC takes
//! such a superblock by its policy whenever it needs room (it gains more with one than with most others), and in idle
//! time the one that was filled first. So every page that lives long is programmed twice, and its mapping changes twice.
//!
//! A superblock is erased, bad, full or full in SLC mode: two bits in the record of log blocks, which recovery reads.
//! Wear counts erases of both modes alike.

use units::{Nanos, Superblock};

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

/// Which superblocks are in SLC mode.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct SlcCache {
    config: SlcConfig,
    bits: Vec<u64>,
    count: u32,
    /// Those of which everything has been copied. They become free when the mapping of the copies is on flash.
    folded: Vec<Superblock>,
}

impl SlcCache {
    /// An empty cache in an array of so many data superblocks.
    pub fn new(config: SlcConfig, superblocks: u32) -> SlcCache {
        SlcCache { config, bits: vec![0; superblocks.div_ceil(u64::BITS) as usize], count: 0, folded: Vec::new() }
    }

    /// True if a superblock is in SLC mode.
    #[inline]
    pub fn holds(&self, sb: Superblock) -> bool {
        self.count > 0 && self.bits[sb.index() / 64] >> (sb.0 % 64) & 1 != 0
    }

    /// Superblocks in SLC mode.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True if one more superblock may be opened in SLC mode while so many are free.
    pub fn takes_one_more(&self, free: u32) -> bool {
        self.count < self.config.superblocks && free > self.config.least_free
    }

    /// Puts a superblock into SLC mode, or out of it.
    pub fn set(&mut self, sb: Superblock, slc: bool) {
        if slc != self.holds(sb) {
            self.bits[sb.index() / 64] ^= 1 << (sb.0 % 64);
            self.count = if slc { self.count + 1 } else { self.count - 1 };
            self.folded.retain(|&folded| folded != sb);
        }
    }

    /// Everything in a superblock has been copied, as far as the device knows.
    pub fn fold(&mut self, sb: Superblock) {
        if self.holds(sb) && !self.is_folded(sb) {
            self.folded.push(sb);
        }
    }

    /// True if everything in a superblock has been copied.
    pub fn is_folded(&self, sb: Superblock) -> bool {
        self.folded.contains(&sb)
    }

    /// Superblocks in SLC mode of which not everything has been copied.
    #[inline]
    pub fn unfolded(&self) -> u32 {
        self.count - self.folded.len() as u32
    }

    /// The superblocks in SLC mode, one bit each, 64 in a word.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Pages that a block in SLC mode has in place of `pages`.
    pub fn pages(&self, pages: u32) -> u32 {
        pages / self.config.bits_per_cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_takes_superblocks_while_there_is_room() {
        let config = SlcConfig { superblocks: 2, least_free: 10, ..SlcConfig::NONE };
        let mut cache = SlcCache::new(config, 100);
        assert!(cache.takes_one_more(11) && !cache.takes_one_more(10));
        cache.set(Superblock(3), true);
        cache.set(Superblock(99), true);
        cache.set(Superblock(99), true);
        assert!(cache.holds(Superblock(99)) && !cache.holds(Superblock(4)) && !cache.takes_one_more(50));
        cache.fold(Superblock(3));
        cache.fold(Superblock(3));
        assert_eq!((cache.count(), cache.unfolded()), (2, 1));
        cache.set(Superblock(3), false);
        cache.set(Superblock(3), false);
        assert_eq!(cache.unfolded(), 1);
        assert_eq!((cache.count(), cache.holds(Superblock(3)), cache.takes_one_more(50)), (1, false, true));
        assert_eq!(cache.pages(64), 21);
    }
}
