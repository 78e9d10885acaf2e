//! The entries of a segment on their way to a host.

use std::hash::{Hash, Hasher};

use crate::pool::{copy_segment, recycle_segment};
use crate::{LiveSegments, SegmentImage, SegmentState};

/// The entries of a segment at one moment: a state, or a copy where no state has them.
#[derive(Debug)]
pub enum SentSegment {
    /// A state of a segment that the host has, or had.
    State(SegmentState),
    /// The entries.
    Copy(Box<SegmentImage>),
}

impl SentSegment {
    /// A copy of the entries.
    pub fn image(&self) -> Box<SegmentImage> {
        match self {
            SentSegment::State(state) => state.image(),
            SentSegment::Copy(image) => copy_segment(image),
        }
    }

    /// The entries in a buffer of their own.
    pub fn into_image(self) -> Box<SegmentImage> {
        match self {
            SentSegment::State(state) => state.into_image(),
            SentSegment::Copy(image) => image,
        }
    }
}

impl LiveSegments {
    /// Replaces all entries of a slot. Copies nothing if they are a state of this slot that has not changed since.
    pub fn take(&mut self, slot: u32, sent: SentSegment) {
        if matches!(&sent, SentSegment::State(state) if self.is_now(slot, state)) {
            return;
        }
        let image = sent.into_image();
        self.load(slot, &image);
        recycle_segment(image);
    }
}

impl From<Box<SegmentImage>> for SentSegment {
    fn from(image: Box<SegmentImage>) -> SentSegment {
        SentSegment::Copy(image)
    }
}

impl Clone for SentSegment {
    fn clone(&self) -> SentSegment {
        SentSegment::Copy(self.image())
    }
}

/// Equal if the entries are.
impl PartialEq for SentSegment {
    fn eq(&self, other: &SentSegment) -> bool {
        self.image() == other.image()
    }
}

/// The hash of the entries.
impl Hash for SentSegment {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.image().hash(state);
    }
}
