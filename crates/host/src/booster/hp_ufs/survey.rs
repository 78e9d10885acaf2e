//! After a power cut: which pages are valid? The host's bitmap and counts are gone, and the device keeps none. They
//! follow from the segments, all of which are read once, before any request is sent (HP-UFS does not say how).

use ufs::SegmentImage;
use units::{Ppa, SegmentId};

use super::freed::Freed;
use super::validity::Validity;

/// Segment reads under way at a time.
const AT_ONCE: u32 = 16;

/// Progress of the reading.
#[derive(Debug)]
pub(super) struct Survey {
    segments: u32,
    next: u32,
    under_way: u32,
}

impl Survey {
    /// About to read all of `segments` segments.
    pub fn new(segments: u32) -> Survey {
        Survey { segments, next: 0, under_way: 0 }
    }

    /// The next segment to read now.
    pub fn next(&mut self) -> Option<SegmentId> {
        if self.next == self.segments || self.under_way == AT_ONCE {
            return None;
        }
        self.next += 1;
        self.under_way += 1;
        Some(SegmentId(self.next - 1))
    }

    /// A segment has come. True if it was the last one.
    pub fn take(&mut self, image: &SegmentImage, validity: &mut Validity) -> bool {
        for ppa in image.iter().filter_map(|&packed| Ppa::unpack(packed)) {
            validity.set(ppa);
        }
        self.under_way -= 1;
        self.under_way == 0 && self.next == self.segments
    }

    /// Blocks without a valid page may be erased; the device knows which of them are.
    pub fn finish(blocks: u32, validity: &Validity, freed: &mut Freed) {
        let empty = (0..blocks).map(units::Superblock).filter(|&block| validity.count(block) == 0);
        empty.for_each(|block| freed.push(block));
    }
}
