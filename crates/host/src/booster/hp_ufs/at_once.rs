//! A wrong model, to compare with: changed segments are written back after so many changes, as a map flush of UFS and
//! HPB writes all that its log names. HP-UFS delays them until the device asks (Sec. III-D).

use units::SegmentId;

use super::segment_cache::Lookup;
use super::state::HpUfs;

/// The segments that have changed since they were written.
#[derive(Clone, Hash)]
pub(super) struct AtOnce {
    after: u32,
    /// Entries applied since, and their segments, perhaps several times.
    entries: u32,
    changed: Vec<SegmentId>,
}

impl AtOnce {
    /// Segments are written after so many entries.
    pub fn new(after: u32) -> AtOnce {
        AtOnce { after, entries: 0, changed: Vec::new() }
    }
}

impl HpUfs {
    /// An entry has been applied to a segment: writes back what has changed, if that is due.
    #[inline(never)]
    pub(super) fn changed(&mut self, segment: SegmentId) {
        let Some(at_once) = &mut self.at_once else { return };
        if at_once.changed.last() != Some(&segment) {
            at_once.changed.push(segment);
        }
        at_once.entries += 1;
        if at_once.entries < at_once.after {
            return;
        }
        at_once.entries = 0;
        for segment in std::mem::take(&mut at_once.changed) {
            if matches!(self.cache.lookup(segment), Lookup::Cached(slot) if self.cache.is_dirty(slot)) {
                self.hint_write(segment);
            }
        }
    }
}
