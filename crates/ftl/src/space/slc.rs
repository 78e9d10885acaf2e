//! Superblocks in SLC mode: a write cache, WriteBooster (JESD220G clause 13.4.18, `core/booster.rs`) or one that
//! firmware has on its own.
//!
//! A superblock is opened in one of two modes. In SLC mode its cells hold one bit: programs, reads and erases take the
//! times of SLC, and it has room for one page where it would have had `bits_per_cell`. Host data go to superblocks in
//! SLC mode as long as fewer than the cache's size are in use and enough others are free; the rest goes to ordinary
//! ones. So the cache is shared: it takes its room from what is free. WriteBooster with a reduced user space has its
//! own room: superblocks that it could still take do not count as free.
//!
//! *Folding* copies what is valid in a superblock in SLC mode to ordinary ones, and erases it. It is a GC step: in idle
//! time GC takes the one that was filled first, and by its policy whenever it needs room (it gains more with one than
//! with most others, but nothing where the cache has its own room). So every page that lives long is programmed twice,
//! and its mapping changes twice.
//!
//! A superblock is erased, bad, full or full in SLC mode: two bits in the record of log blocks, which recovery reads.
//! Wear counts erases of both modes alike.

use ufs::UserSpace;
use units::Superblock;

use crate::slc_config::SlcConfig;

/// Which superblocks are in SLC mode.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct SlcCache {
    config: SlcConfig,
    bits: Vec<u64>,
    count: u32,
    /// Superblocks that may be in SLC mode at once: as configured, or less after a resize.
    limit: u32,
    /// Host data go to it.
    enabled: bool,
    /// So may those that are programmed next.
    serves_next: bool,
    /// Those of which everything has been copied. They become free when the mapping of the copies is on flash.
    folded: Vec<Superblock>,
}

impl SlcCache {
    /// An empty cache in an array of so many data superblocks.
    pub fn new(config: SlcConfig, superblocks: u32) -> SlcCache {
        SlcCache {
            config,
            bits: vec![0; superblocks.div_ceil(u64::BITS) as usize],
            count: 0,
            limit: config.superblocks,
            enabled: config.booster.is_none_or(|booster| booster.host.flags.enabled),
            serves_next: true,
            folded: Vec::new(),
        }
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

    /// True if the host data that are programmed next go to it, if it has room.
    pub fn is_enabled(&self) -> bool {
        self.enabled && self.serves_next
    }

    /// Whether the host data that are programmed next may go to it; without a word, any may.
    pub fn serve_next(&mut self, served: bool) {
        self.serves_next = served;
    }

    /// Whether host data go to it from now on.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Superblocks that may be in SLC mode at once.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// So many may be in SLC mode at once from now on, at least one and at most as configured.
    pub fn resize(&mut self, superblocks: u32) {
        self.limit = superblocks.clamp(1, self.config.superblocks);
    }

    /// True if its room is part of no other use.
    fn has_own_room(&self) -> bool {
        self.config.booster.is_some_and(|booster| booster.user_space == UserSpace::Reduced)
    }

    /// True if no other use gains room when this superblock is folded.
    pub fn keeps_room_of(&self, sb: Superblock) -> bool {
        self.has_own_room() && self.count <= self.limit && self.holds(sb)
    }

    /// Of `free` superblocks, those that are kept for it.
    #[inline]
    pub fn kept(&self, free: u32) -> u32 {
        if self.has_own_room() { self.limit.saturating_sub(self.count).min(free) } else { 0 }
    }

    /// Superblocks that could be opened in SLC mode, one after the other, while so many are free.
    pub fn could_take(&self, free: u32) -> u32 {
        let least = if self.has_own_room() { 0 } else { self.config.least_free };
        self.limit.saturating_sub(self.count).min(free.saturating_sub(least))
    }

    /// True if the next superblock for host data is opened in SLC mode, with which so many are left free.
    pub fn takes_one_more(&self, left: u32) -> bool {
        let room = self.has_own_room() || left > self.config.least_free;
        self.is_enabled() && self.count < self.limit && room
    }

    /// Puts a superblock into SLC mode, or out of it.
    pub fn set(&mut self, sb: Superblock, slc: bool) {
        if slc != self.holds(sb) {
            self.bits[sb.index() / 64] ^= 1 << (sb.0 % 64);
            self.count = if slc { self.count + 1 } else { self.count - 1 };
            self.folded.retain(|&folded| folded != sb);
        }
    }

    /// A superblock is going to be erased. The firmware's own cache looks again only when it has been.
    pub fn retire(&mut self, sb: Superblock) {
        if self.config.booster.is_some() {
            self.fold(sb);
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

    /// Those of which everything has been copied.
    pub fn folded(&self) -> &[Superblock] {
        &self.folded
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
    use ufs::BoosterFlags;

    use super::*;
    use crate::slc_config::{BoosterConfig, BoosterHost};

    #[test]
    fn the_cache_takes_superblocks_while_there_is_room() {
        let config = SlcConfig { superblocks: 2, least_free: 10, ..SlcConfig::NONE };
        let mut cache = SlcCache::new(config, 100);
        assert_eq!([0, 10, 11, 50].map(|free| cache.could_take(free)), [0, 0, 1, 2]);
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
    #[test]
    fn a_resize_stays_between_one_superblock_and_what_was_configured() {
        let mut cache = SlcCache::new(SlcConfig { superblocks: 20, ..SlcConfig::NONE }, 100);
        let sizes = [0, 7, 30].map(|wanted| {
            cache.resize(wanted);
            cache.limit()
        });
        assert_eq!(sizes, [1, 7, 20]);
    }

    #[test]
    fn with_a_reduced_user_space_it_has_its_own_room() {
        let booster = BoosterConfig {
            user_space: UserSpace::Reduced,
            host: BoosterHost {
                flags: BoosterFlags { enabled: true, ..BoosterFlags::default() },
                ..BoosterHost::default()
            },
        };
        let config = SlcConfig { superblocks: 3, least_free: 10, booster: Some(booster), ..SlcConfig::NONE };
        let mut cache = SlcCache::new(config, 100);
        assert_eq!([cache.kept(50), cache.kept(2), cache.could_take(50)], [3, 2, 3]);
        assert!(cache.takes_one_more(0));
        cache.set(Superblock(3), true);
        assert_eq!(cache.kept(50), 2);
        assert!(cache.keeps_room_of(Superblock(3)) && !cache.keeps_room_of(Superblock(4)));
        cache.enable(false);
        assert!(!cache.takes_one_more(50) && cache.could_take(50) == 2, "off, but the room is there");
        cache.enable(true);
        cache.serve_next(false);
        assert!(!cache.takes_one_more(50) && cache.could_take(50) == 2, "on, but not for the next data");
    }
}
