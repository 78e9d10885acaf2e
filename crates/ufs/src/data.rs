//! Data of DATA OUT and DATA IN UPIUs. User data is represented by the stamp of the write that made it, which
//! identifies every version of every page.

use std::ops::Range;

use live::{SegmentImage, SegmentState, SentSegment};
use units::{SEGMENT_ENTRIES, UNIT_BYTES};

use crate::info::{PLAIN_ENTRY_BYTES, SEALED_ENTRY_BYTES};
use crate::response::L2pEntry;

/// The content of one 4 KiB unit: the address that it was written to, and the write that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Content {
    /// The logical address that the data was written to.
    pub lpa: units::Lpa,
    /// Number of the write request, from 1.
    pub stamp: u32,
}

/// Entries of a quarter of a segment, 1 KiB: the smallest part of the mapping table that a device writes (MSFTL Sec.
/// 3.1).
pub const QUARTER_ENTRIES: u32 = SEGMENT_ENTRIES / 4;

/// Some quarters of an L2P segment, at least one and not all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Quarters(u8);

impl Quarters {
    /// All quarters, as bits.
    pub const ALL_BITS: u8 = 0b1111;

    /// Quarters by bits: bit 0 is the quarter with the lowest addresses. `None` for no quarter, for all, and for more
    /// than four.
    pub fn new(bits: u8) -> Option<Quarters> {
        (1..Quarters::ALL_BITS).contains(&bits).then_some(Quarters(bits))
    }

    /// The quarters as bits.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Number of their entries.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LpaRun {
    /// The first block.
    pub lpa: units::Lpa,
    /// Number of blocks, from 1.
    pub len: u32,
}

impl LpaRun {
    /// Bytes of a run on a link.
    pub const BYTES: usize = 8;

    /// The address after the last block.
    pub fn end(&self) -> units::Lpa {
        self.lpa.offset(self.len)
    }
}

/// Data from host to device.
#[derive(Clone, PartialEq, Hash, Debug, Default)]
pub enum DataOut {
    /// No data.
    #[default]
    None,
    /// User data: the stamp of every unit of the command.
    Stamp(u32),
    /// One L2P segment.
    Segment(SegmentState),
    /// These quarters of an L2P segment; all other entries are zeroes.
    SegmentParts(Quarters, Box<SegmentImage>),
    /// Valid page bitmap of one block, bit i = unit i in fill order, least significant bit first.
    Bitmap(Box<[u64]>),
    /// The addresses that a batch of requests accesses.
    Runs(Box<[LpaRun]>),
}

impl DataOut {
    /// Its bytes on a link; of a write they follow from its length, and are not counted here.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            DataOut::None | DataOut::Stamp(_) => 0,
            DataOut::Segment(_) => UNIT_BYTES,
            DataOut::SegmentParts(quarters, _) => 4 * u64::from(quarters.entries()),
            DataOut::Bitmap(words) => size_of_val(&**words) as u64,
            DataOut::Runs(runs) => (runs.len() * LpaRun::BYTES) as u64,
        }
    }

    /// Replaces the data. Inlined for speed: most commands have no data that needs to be freed.
    #[inline(always)]
    pub fn put(&mut self, data: DataOut) {
        let old = std::mem::replace(self, data);
        match old {
            DataOut::None | DataOut::Stamp(_) => std::mem::forget(old),
            _ => drop(old),
        }
    }
}

/// Data from device to host.
#[derive(Clone, PartialEq, Hash, Debug, Default)]
pub enum DataIn {
    /// No data.
    #[default]
    None,
    /// One unit of user data; `None` reads as zeroes (never written, or trimmed).
    One(Option<Content>),
    /// Several units of user data.
    Many(Vec<Option<Content>>),
    /// One L2P segment, with its content on flash.
    Segment(SentSegment),
    /// Changed mappings, oldest first.
    Entries(Vec<L2pEntry>),
    /// The sealed entries of an HPB group; 0 = unmapped.
    Sealed(Vec<u64>),
    /// The plain entries of an HPB group, packed PPAs; 0 = unmapped.
    Plain(Vec<u32>),
    /// The addresses whose mappings are cached.
    Runs(Vec<LpaRun>),
}

impl DataIn {
    /// Ends the data. Inlined for speed: most of it has nothing that needs to be freed.
    #[inline(always)]
    pub fn end(self) {
        match self {
            DataIn::None | DataIn::One(_) => std::mem::forget(self),
            _ => drop(self),
        }
    }

    /// Its bytes on a link.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            DataIn::None => 0,
            DataIn::One(_) | DataIn::Segment(_) => UNIT_BYTES,
            DataIn::Many(units) => units.len() as u64 * UNIT_BYTES,
            DataIn::Entries(entries) => (entries.len() * L2pEntry::BYTES) as u64,
            DataIn::Runs(runs) => (runs.len() * LpaRun::BYTES) as u64,
            DataIn::Sealed(entries) => entries.len() as u64 * u64::from(SEALED_ENTRY_BYTES),
            DataIn::Plain(entries) => entries.len() as u64 * u64::from(PLAIN_ENTRY_BYTES),
        }
    }
}
