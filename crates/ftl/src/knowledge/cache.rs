//! The segment cache: map units that stay in SRAM after their use, in order of use.

use lists::Lru;
use units::{MapUnit, Ppa};

use super::proof::Loaded;
use crate::table::map_units::MapUnits;

/// Content of a slot. A free slot has a value that is never given out.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
struct Kept(Loaded);

impl Default for Kept {
    fn default() -> Kept {
        Kept(Loaded::NOTHING)
    }
}

/// The cached segments in order of use. A cached segment is clean: it equals flash.
///
/// Only segments with a proof ([`Loaded`]) are inserted, so firmware knows the content of all of them.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct SegmentCache {
    units: MapUnits,
    limit: u16,
    len: u16,
    /// Buffers that the segments take.
    buffers: u16,
    /// Slot of a segment, plus one.
    slot_of: Vec<u16>,
    order: Lru<u16, Kept>,
    free: Vec<u16>,
}

impl SegmentCache {
    /// An empty cache of at most `buffers` buffers.
    pub fn new(buffers: u16, units: MapUnits) -> SegmentCache {
        let limit = units.fitting(buffers.into()).min(u32::from(u16::MAX) - 1) as u16;
        SegmentCache {
            units,
            limit,
            len: 0,
            buffers: 0,
            slot_of: vec![0; units.count() as usize],
            order: Lru::with_slots(limit.into()),
            free: (0..limit).rev().collect(),
        }
    }

    /// Number of segments in the cache.
    pub fn len(&self) -> u16 {
        self.len
    }

    /// Number of segments that fit.
    pub fn limit(&self) -> u16 {
        self.limit
    }

    /// Buffers that the segments take.
    #[inline]
    pub fn buffers(&self) -> u16 {
        self.buffers
    }

    /// Buffers that one segment more would take.
    pub fn buffers_with_one_more(&self) -> u16 {
        self.units.buffers(u32::from(self.len) + 1) as u16
    }

    fn resize(&mut self, len: u16) {
        self.len = len;
        self.buffers = self.units.buffers(len.into()) as u16;
    }

    /// The proof for a segment, if it is cached. The segment becomes the most recently used.
    #[inline]
    pub fn touch(&mut self, segment: MapUnit) -> Option<&Loaded> {
        let slot = self.slot_of[segment.index()].checked_sub(1)?;
        self.order.touch(slot);
        Some(&self.order[slot].0)
    }

    /// A copy of a cached segment in another buffer. The cached one becomes the most recently used.
    pub fn copy(&mut self, segment: MapUnit) -> Option<Loaded> {
        self.touch(segment).map(Loaded::copied)
    }

    /// True if a segment is cached. Does not count as a use.
    #[inline]
    pub fn holds(&self, segment: MapUnit) -> bool {
        self.slot_of[segment.index()] != 0
    }

    /// The segments, most recently used first.
    pub fn segments(&self) -> impl Iterator<Item = MapUnit> {
        self.order.newest_first().map(|slot| self.order[slot].0.unit())
    }

    /// Inserts a copy of a segment that is in another buffer and not in the cache. The cache must have room.
    pub fn insert(&mut self, loaded: &Loaded) {
        let slot = self.free.pop().expect("the segment cache has a free slot after an eviction");
        self.slot_of[loaded.unit().index()] = slot + 1;
        self.order[slot] = Kept(loaded.copied());
        self.order.insert(slot);
        self.resize(self.len + 1);
    }

    /// Drops the least recently used segment.
    pub fn evict(&mut self) {
        let oldest = self.order.oldest().expect("SRAM pool overcommitted: no cached segment left to give up");
        self.remove(self.order[oldest].0.unit());
    }

    /// Removes a segment. The caller takes over its buffer.
    pub fn remove(&mut self, segment: MapUnit) -> Option<Loaded> {
        let slot = std::mem::take(&mut self.slot_of[segment.index()]).checked_sub(1)?;
        self.order.remove(slot);
        self.free.push(slot);
        self.resize(self.len - 1);
        Some(self.order[slot].0.copied())
    }

    /// A segment has been programmed at `place` from a buffer in SRAM. If it is in the cache, it is replaced by the
    /// content of that buffer, so that it still equals flash.
    #[inline]
    pub fn rewritten(&mut self, segment: MapUnit, place: Ppa) {
        if let Some(slot) = self.slot_of[segment.index()].checked_sub(1) {
            self.order[slot].0.rewritten(place);
        }
    }
}
