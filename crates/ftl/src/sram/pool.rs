//! The shared SRAM pool and the L2P segments cached in it.
//!
//! HP-UFS Sec. IV-A: "The SRAM is used as shared memory that is dynamically allocated to the write buffer, L2P segment
//! buffer, GC buffer and so on." A cached segment is always clean, so any other use may take its buffer.

use units::{MapUnit, Ppa};

use crate::config::SramConfig;
use crate::knowledge::{Loaded, SegmentCache};
use crate::table::map_units::MapUnits;

/// What a buffer is used for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// Data of a host write that is not on flash yet.
    Write,
    /// Data of a read, between flash and host.
    Read,
    /// A segment that a command needs or carries.
    Load,
    /// A segment in an exclusive job, or read by recovery.
    Map,
    /// A segment in a map flush that commands or GC steps may run beside.
    Flush,
    /// A page being copied.
    Gc,
}

/// Number of owners.
pub const OWNERS: usize = 6;

/// Counts of buffers by owner, and the segment cache.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Sram {
    pool: u16,
    reserve: u16,
    used: [u16; OWNERS],
    in_use: u16,
    cache: SegmentCache,
}

impl Sram {
    /// An empty pool; `units` is the division of the mapping table. A cache of single entries takes its part out of the
    /// pool.
    pub fn new(cfg: &SramConfig, units: MapUnits) -> Sram {
        let (entries, segments) = if cfg.entries { (cfg.segment_cache, 0) } else { (0, cfg.segment_cache) };
        Sram {
            pool: cfg.pool - entries,
            reserve: cfg.reserve,
            used: [0; OWNERS],
            in_use: 0,
            cache: SegmentCache::new(segments, units),
        }
    }

    /// Buffers that `owner` could get now, those of cached segments included.
    #[inline]
    pub fn available(&self, owner: Owner) -> u16 {
        let keep = match owner {
            Owner::Write => self.reserve,
            // A read always gives its buffers back: it never waits for writes that can not go on.
            Owner::Read => self.reserve / 2,
            // Leaves buffers for map flushes, which rely on getting some, however many commands load segments.
            // The same for a valid page search, or metadata that is moved, beside a map flush.
            Owner::Load | Owner::Flush => self.reserve / 4,
            Owner::Map | Owner::Gc => 0,
        };
        (self.pool - self.in_use).saturating_sub(keep)
    }

    /// Buffers that reads can get when host data have taken all that they may, and GC keeps its copies.
    pub fn left_for_reads(&self) -> u16 {
        (self.reserve - self.reserve / 2).saturating_sub(self.used[Owner::Gc as usize])
    }

    /// Takes `n` buffers, and drops least recently used segments for them. False if there are too few; then none is
    /// taken.
    #[inline]
    pub fn take(&mut self, owner: Owner, n: u16) -> bool {
        if self.available(owner) < n {
            return false;
        }
        self.used[owner as usize] += n;
        self.in_use += n;
        while u32::from(self.in_use) + u32::from(self.cache.buffers()) > u32::from(self.pool) {
            self.cache.evict();
        }
        true
    }

    /// Gives `n` buffers back.
    #[inline]
    pub fn give(&mut self, owner: Owner, n: u16) {
        let used = &mut self.used[owner as usize];
        assert!(*used >= n, "{owner:?} gives back {n} SRAM buffers but holds {used}");
        *used -= n;
        self.in_use -= n;
    }

    /// The proof for a cached segment, which becomes the most recently used.
    #[inline]
    pub fn segment_hit(&mut self, segment: MapUnit) -> Option<&Loaded> {
        self.cache.touch(segment)
    }

    /// A copy of a cached segment in another buffer. The cached one becomes the most recently used.
    pub fn copy_segment(&mut self, segment: MapUnit) -> Option<Loaded> {
        self.cache.copy(segment)
    }

    /// True if a segment is cached. Does not count as a use.
    #[inline]
    pub fn holds_segment(&self, segment: MapUnit) -> bool {
        self.cache.holds(segment)
    }

    /// The cached segments, most recently used first.
    pub fn segments(&self) -> impl Iterator<Item = MapUnit> + '_ {
        self.cache.segments()
    }

    /// Caches a segment that has just been read or written, if there is room.
    pub fn keep_segment(&mut self, loaded: &Loaded) {
        if self.cache.touch(loaded.unit()).is_some() {
            return;
        }
        if self.cache.len() == self.cache.limit() {
            if self.cache.len() == 0 {
                return;
            }
            self.cache.evict();
        }
        while self.in_use + self.cache.buffers_with_one_more() > self.pool {
            if self.cache.len() == 0 {
                return;
            }
            self.cache.evict();
        }
        self.cache.insert(loaded);
    }

    /// A segment has been programmed at `place`. If it is cached, the cache takes its new content.
    #[inline]
    pub fn rewritten(&mut self, segment: MapUnit, place: Ppa) {
        self.cache.rewritten(segment, place);
    }

    /// Removes a segment from the cache; the caller is about to change it.
    pub fn take_segment(&mut self, segment: MapUnit) -> Option<Loaded> {
        self.cache.remove(segment)
    }

    /// Buffers in use by `owner`.
    pub fn used(&self, owner: Owner) -> u16 {
        self.used[owner as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::map_units::{MapShape, Numbered};

    impl Sram {
        /// Uses a segment if it is in the cache.
        fn is_hit(&mut self, segment: MapUnit) -> bool {
            self.segment_hit(segment).is_some()
        }
    }

    fn divided(pool: u16, cache: u16, shape: MapShape) -> Sram {
        Sram::new(
            &SramConfig { pool, segment_cache: cache, reserve: 2, entries: false, own_cache: None },
            MapUnits::new(100 * shape.entries, shape),
        )
    }

    fn sram(pool: u16, cache: u16) -> Sram {
        divided(pool, cache, MapShape::SEGMENT)
    }

    #[test]
    fn segments_give_way_in_order_of_use() {
        let mut s = sram(6, 4);
        for id in 0..4 {
            s.keep_segment(&Loaded::assumed(MapUnit(id)));
        }
        assert!(s.is_hit(MapUnit(0)));
        assert!(s.take(Owner::Write, 4));
        assert!(!s.is_hit(MapUnit(1)) && !s.is_hit(MapUnit(2)));
        assert!(s.is_hit(MapUnit(3)) && s.is_hit(MapUnit(0)));
    }

    #[test]
    fn the_largest_pool_gives_way_too() {
        let mut s = sram(u16::MAX - 1, 40_000);
        (0..100).for_each(|id| s.keep_segment(&Loaded::assumed(MapUnit(id))));
        assert!(s.take(Owner::Write, u16::MAX - 50));
        assert!(!s.is_hit(MapUnit(0)) && s.is_hit(MapUnit(99)));
    }

    #[test]
    fn host_data_never_takes_the_reserve() {
        let mut s = sram(6, 4);
        assert!(!s.take(Owner::Write, 5));
        assert!(s.take(Owner::Write, 4));
        assert!(s.take(Owner::Read, 1), "reads get by");
        assert!(!s.take(Owner::Read, 1), "but not with the last one");
        assert!(s.take(Owner::Map, 1));
        assert!(!s.take(Owner::Gc, 1));
        s.give(Owner::Write, 4);
        assert_eq!(s.available(Owner::Gc), 4);
    }

    #[test]
    #[should_panic(expected = "gives back")]
    fn a_buffer_has_one_owner() {
        let mut s = sram(6, 4);
        assert!(s.take(Owner::Write, 1));
        s.give(Owner::Gc, 1);
    }

    #[test]
    fn a_full_cache_replaces_its_oldest_segment() {
        let mut s = sram(10, 2);
        for id in 0..3 {
            s.keep_segment(&Loaded::assumed(MapUnit(id)));
        }
        assert!(!s.is_hit(MapUnit(0)));
        assert!(s.is_hit(MapUnit(1)) && s.is_hit(MapUnit(2)));
    }

    #[test]
    fn small_segments_share_buffers_and_large_pages_take_several() {
        let held = |s: &mut Sram| (0..30).filter(|&id| s.holds_segment(MapUnit(id))).count();
        let mut s = divided(10, 3, MapShape { entries: 256, bytes: 1024, numbered: Numbered::Directory });
        (0..30).for_each(|id| s.keep_segment(&Loaded::assumed(MapUnit(id))));
        assert_eq!(held(&mut s), 12);
        assert!(s.take(Owner::Map, 8));
        assert_eq!(held(&mut s), 8, "two buffers are left");
        let mut s = divided(10, 9, MapShape { entries: 4096, bytes: 16_384, numbered: Numbered::Directory });
        (0..30).for_each(|id| s.keep_segment(&Loaded::assumed(MapUnit(id))));
        assert_eq!(held(&mut s), 2);
        assert!(s.take(Owner::Map, 3));
        assert_eq!(held(&mut s), 1);
    }
}
