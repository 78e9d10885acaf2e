//! A hint for the processor's caches: the segment that will be written back next.
//!
//! A writeback reads 4 KiB that have mostly not been touched for thousands of requests; waiting for them took a seventh of
//! the time of a simulated random write. The device asks for segments in ascending order, so the next dirty one is known
//! early, and is loaded a few lines at a time while commands are sent. Nothing in the simulation depends on it.

use units::SegmentId;

use super::segment_cache::{Lookup, SegmentCache, SlotIndex};

/// Entries in a line of the processor's cache.
const LINE: usize = 16;
/// Lines loaded with each command: about six commands lie between two writebacks.
const AT_ONCE: usize = 12;
/// Segments looked at to find a dirty one.
const REACH: u32 = 8;

/// Progress of the loading.
#[derive(Default)]
pub(super) struct Preload {
    slot: SlotIndex,
    /// Entries still to be loaded, from the end of the segment.
    left: usize,
}

impl Preload {
    /// The device has asked for this segment.
    pub fn after(&mut self, segment: SegmentId, cache: &SegmentCache) {
        let last = (segment.0 + REACH).min(cache.segments() as u32 - 1);
        for next in (segment.0 + 1..=last).map(SegmentId) {
            if let Lookup::Cached(slot) = cache.lookup(next)
                && cache.is_dirty(slot)
            {
                (self.slot, self.left) = (slot, units::SEGMENT_ENTRIES as usize);
                return;
            }
        }
    }

    /// Loads the next lines.
    #[inline]
    pub fn go_on(&mut self, cache: &SegmentCache) {
        if self.left == 0 {
            return;
        }
        if let Some(image) = cache.loaded(self.slot) {
            let end = self.left;
            self.left = self.left.saturating_sub(AT_ONCE * LINE);
            image[self.left..end].iter().step_by(LINE).for_each(table::prefetch);
        } else {
            self.left = 0;
        }
    }
}
