//! A wrong model, to compare with: changed segments are written back after so many changes, as a map flush of UFS and
//! HPB writes all that its log names. HP-UFS delays them until the device asks (Sec. III-D).

use units::SegmentId;

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

    /// An entry has been applied to a segment. Gives the segments that have to be written, if that is due.
    pub fn applied(&mut self, segment: SegmentId) -> Vec<SegmentId> {
        if self.changed.last() != Some(&segment) {
            self.changed.push(segment);
        }
        self.entries += 1;
        if self.entries < self.after {
            return Vec::new();
        }
        self.entries = 0;
        std::mem::take(&mut self.changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_due_after_so_many_entries() {
        let mut at_once = AtOnce::new(3);
        let due: Vec<_> = [7, 7, 9, 7, 8, 8].map(|segment| at_once.applied(SegmentId(segment))).into_iter().collect();
        assert_eq!(due.concat(), [7, 9, 7, 8].map(SegmentId));
        assert_eq!(due.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 2, 0, 0, 2]);
    }
}
