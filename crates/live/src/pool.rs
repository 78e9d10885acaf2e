//! Reuse of segment buffers. Driver and device exchange segments all the time. Allocating every buffer took an eighth
//! of the time of a simulated random write.

use std::cell::RefCell;

use units::SEGMENT_ENTRIES;

use crate::SegmentImage;

/// Most buffers that are kept for reuse, more than are ever in use at once. Others are freed.
const KEPT: usize = 512;

thread_local! {
    static FREE: RefCell<Vec<Box<SegmentImage>>> = const { RefCell::new(Vec::new()) };
}

/// A copy of a segment, in a reused buffer if there is one.
pub fn copy_segment(image: &SegmentImage) -> Box<SegmentImage> {
    let mut copy = buffer();
    copy.copy_from_slice(image);
    copy
}

/// Any entries, to be overwritten.
pub(crate) fn buffer() -> Box<SegmentImage> {
    let new = || vec![0; SEGMENT_ENTRIES as usize].try_into().expect("as long as a segment");
    FREE.with_borrow_mut(Vec::pop).unwrap_or_else(new)
}

/// Returns the buffer of a segment for reuse.
pub fn recycle_segment(buffer: Box<SegmentImage>) {
    FREE.with_borrow_mut(|free| {
        if free.len() < KEPT {
            free.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_buffer_holds_the_copy_and_nothing_else() {
        recycle_segment(Box::new([7; 1024]));
        let mut image = [0; 1024];
        image[5] = 9;
        assert_eq!(*copy_segment(&image), image);
        assert_eq!(*copy_segment(&image), image);
    }
}
