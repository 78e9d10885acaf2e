//! Finds the valid pages after a power cut. The host's bitmap and counts are lost, and the device keeps none. Both
//! follow from the segments, so the host reads all of them once before it sends any request (HP-UFS does not say how).

use ufs::SegmentImage;
use units::{Ppa, SegmentId};

use super::freed::Freed;
use super::validity::Validity;

/// Most segment reads under way at a time.
const AT_ONCE: u32 = 16;

/// Progress of the reading.
#[derive(Clone, Hash, Debug)]
pub(super) struct Survey {
    segments: u32,
    next: u32,
    under_way: u32,
}

impl Survey {
    /// A survey of `segments` segments.
    pub fn new(segments: u32) -> Survey {
        Survey { segments, next: 0, under_way: 0 }
    }

    /// The next segment to read now; `None` if too many reads are under way, or none is left.
    pub fn next(&mut self) -> Option<SegmentId> {
        if self.next == self.segments || self.under_way == AT_ONCE {
            return None;
        }
        self.next += 1;
        self.under_way += 1;
        Some(SegmentId(self.next - 1))
    }

    /// A segment has been read. True if it was the last one.
    pub fn take(&mut self, image: &SegmentImage, validity: &mut Validity) -> bool {
        for ppa in image.iter().filter_map(|&packed| Ppa::unpack(packed)) {
            validity.set(ppa);
        }
        self.under_way -= 1;
        self.under_way == 0 && self.next == self.segments
    }

    /// Reports all blocks without a valid page as freed. The device knows which of them are erased already.
    pub fn finish(blocks: u32, validity: &Validity, freed: &mut Freed) {
        let empty = (0..blocks).map(units::Superblock).filter(|&block| validity.count(block) == 0);
        empty.for_each(|block| freed.push(block));
    }
}
