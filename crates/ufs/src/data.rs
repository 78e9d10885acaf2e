//! What travels in DATA OUT and DATA IN UPIUs. User data is represented by the stamp of the write that made it, which
//! is enough to tell every version of every page apart.

use std::ops::Range;

use live::{SegmentImage, SegmentState};
use units::SEGMENT_ENTRIES;

use crate::response::L2pEntry;

/// The content of one 4 KiB unit: which address it was written to, and by which write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// The logical address that the data was written to.
    pub lpa: units::Lpa,
    /// Number of the write request, from 1.
    pub stamp: u32,
}

/// Entries of a quarter of a segment, 1 KiB: no device writes less of the mapping table (MSFTL Sec. 3.1).
pub const QUARTER_ENTRIES: u32 = SEGMENT_ENTRIES / 4;

/// Some quarters of an L2P segment, but neither none nor all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quarters(u8);

impl Quarters {
    /// All quarters, as bits.
    pub const ALL_BITS: u8 = 0b1111;

    /// Those whose bit is set: bit 0 is the one with the lowest addresses. `None` for no quarter, for all, and for more
    /// than there are.
    pub fn new(bits: u8) -> Option<Quarters> {
        (1..Quarters::ALL_BITS).contains(&bits).then_some(Quarters(bits))
    }

    /// As bits.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Their entries.
    pub fn entries(self) -> u32 {
        self.0.count_ones() * QUARTER_ENTRIES
    }

    /// Positions of their entries in the segment, in order.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let len = QUARTER_ENTRIES as usize;
        (0..4).filter(move |i| self.0 >> i & 1 != 0).map(move |i| i * len..(i + 1) * len)
    }

    /// A segment that has the entries of these quarters, and zeroes elsewhere.
    pub fn of(self, image: &SegmentImage) -> Box<SegmentImage> {
        let mut parts: Box<SegmentImage> = Box::new([0; SEGMENT_ENTRIES as usize]);
        for range in self.ranges() {
            parts[range.clone()].copy_from_slice(&image[range]);
        }
        parts
    }
}

/// Consecutive logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LpaRun {
    /// The first.
    pub lpa: units::Lpa,
    /// How many, from 1.
    pub len: u32,
}

impl LpaRun {
    /// The address behind the last one.
    pub fn end(&self) -> units::Lpa {
        self.lpa.offset(self.len)
    }
}

/// Host to device.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum DataOut {
    /// No data.
    #[default]
    None,
    /// User data: every unit of the command carries this stamp.
    Stamp(u32),
    /// One L2P segment.
    Segment(SegmentState),
    /// These quarters of one; the entries of others are zeroes.
    SegmentParts(Quarters, Box<SegmentImage>),
    /// Valid page bitmap of one block, bit i = unit i in fill order, least significant bit first.
    Bitmap(Box<[u64]>),
    /// What a batch of requests accesses.
    Runs(Box<[LpaRun]>),
}

impl DataOut {
    /// Puts other data in place of these. Most commands have none that need to be freed, and it is cheap to see that.
    #[inline(always)]
    pub fn put(&mut self, data: DataOut) {
        let old = std::mem::replace(self, data);
        match old {
            DataOut::None | DataOut::Stamp(_) => std::mem::forget(old),
            _ => drop(old),
        }
    }
}

/// Device to host.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum DataIn {
    /// No data.
    #[default]
    None,
    /// One unit of user data; `None` reads as zeroes (never written, or trimmed).
    One(Option<Content>),
    /// Several units of user data.
    Many(Vec<Option<Content>>),
    /// One L2P segment as it stands on flash.
    Segment(Box<SegmentImage>),
    /// Changed mappings, oldest first.
    Entries(Vec<L2pEntry>),
    /// The sealed entries of an HPB group; 0 = unmapped.
    Sealed(Vec<u64>),
    /// What the mapping cache holds.
    Runs(Vec<LpaRun>),
}
