//! Segments that the device has put together: L2P entries by segment of 1024 addresses, in one table.
//!
//! Random accesses to the map of a large device miss the processor's TLB if every segment has memory of its own. Here
//! segments lie beside each other in the order in which they came, so that huge pages hold them.

use live::{SegmentImage, copy_segment};
use units::{SEGMENT_ENTRIES, SegmentId};

/// Segments with entries, packed.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Images {
    /// Place of each segment plus one; 0 = it is not here.
    place: Vec<u32>,
    /// Room for all segments. What has not been used takes no memory.
    entries: Vec<u32>,
    /// Places used so far.
    used: u32,
    /// Those of them that are free again.
    free: Vec<u32>,
}

impl Images {
    /// None of so many segments.
    pub fn new(segments: usize) -> Images {
        let entries = table::zeroed(segments * SEGMENT_ENTRIES as usize);
        Images { place: vec![0; segments], entries, used: 0, free: Vec::new() }
    }

    /// Number of segments that there may be.
    pub fn segments(&self) -> usize {
        self.place.len()
    }

    /// True if a segment is here.
    #[inline]
    pub fn has(&self, segment: SegmentId) -> bool {
        self.place[segment.index()] != 0
    }

    /// A segment, if it is here.
    #[inline]
    pub fn get(&self, segment: SegmentId) -> Option<&SegmentImage> {
        let place = self.place[segment.index()].checked_sub(1)?;
        Some(&self.entries.as_chunks().0[place as usize])
    }

    /// A segment that is here, for changes.
    ///
    /// # Panics
    /// If it is not here.
    #[inline(always)] // A map flush does little else.
    pub fn held_mut(&mut self, segment: SegmentId) -> &mut SegmentImage {
        &mut self.entries.as_chunks_mut().0[self.place[segment.index()].wrapping_sub(1) as usize]
    }

    /// Adds a segment that is not here.
    pub fn insert(&mut self, segment: SegmentId, image: &SegmentImage) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        self.place[segment.index()] = place + 1;
        self.entries.as_chunks_mut().0[place as usize] = *image;
    }

    /// Takes a segment away.
    pub fn take(&mut self, segment: SegmentId) -> Option<Box<SegmentImage>> {
        let image = copy_segment(self.get(segment)?);
        self.free.push(std::mem::take(&mut self.place[segment.index()]) - 1);
        Some(image)
    }

    /// Prefetches what [`Images::get`] looks at first.
    #[inline]
    pub fn prefetch(&self, segment: SegmentId) {
        table::prefetch(&self.place[segment.index()]);
    }
}

/// The order of the segments in memory means nothing.
#[cfg(feature = "explore")]
impl std::hash::Hash for Images {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (0..self.segments() as u32).for_each(|segment| self.get(SegmentId(segment)).hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_in_a_place_that_was_used_before_is_as_it_came() {
        let mut images = Images::new(3);
        for (segment, entry) in [(2, 7), (0, 8)] {
            images.insert(SegmentId(segment), &[entry; SEGMENT_ENTRIES as usize]);
        }
        assert_eq!(images.take(SegmentId(2)).map(|image| image[1023]), Some(7));
        assert_eq!((images.take(SegmentId(2)), images.take(SegmentId(1))), (None, None));
        images.insert(SegmentId(1), &[0; SEGMENT_ENTRIES as usize]);
        images.held_mut(SegmentId(1))[5] = 9;
        let seen = |segment| images.get(SegmentId(segment)).map(|image| (image[5], image[6]));
        assert_eq!([seen(0), seen(1), seen(2)], [Some((8, 8)), Some((9, 0)), None]);
        assert!(images.has(SegmentId(1)) && !images.has(SegmentId(2)) && images.segments() == 3);
    }
}
