//! Superblocks in SLC mode: a write cache, such as that of WriteBooster (JESD220F Sec. 13.4.18) or one that firmware
//! has on its own.
//!
//! A superblock is opened in one of two modes. In SLC mode its cells hold one bit: programs, reads and erases take the
//! times of SLC, and it has room for one page where it would have had `bits_per_cell`. Host data go to superblocks in
//! SLC mode as long as fewer than the cache's size are in use and enough others are free; the rest goes to ordinary
//! ones. So the cache is shared: it takes its room from what is free.
//!
//! *Folding* copies what is valid in a superblock in SLC mode to ordinary ones, and erases it. It is a GC step: GC
//! takes such a superblock by its policy whenever it needs room (it gains more with one than with most others), and in
//! idle time the one that was filled first. So every page that lives long is programmed twice, and its mapping changes
//! twice.
//!
//! A superblock is erased, bad, full or full in SLC mode: two bits in the record of log blocks, which recovery reads.
//! Wear counts erases of both modes alike.

use units::Superblock;

use crate::slc_config::SlcConfig;

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
