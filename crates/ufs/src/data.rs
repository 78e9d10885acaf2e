//! What travels in DATA OUT and DATA IN UPIUs. User data is represented by the stamp of the write that made it,
//! which is enough to tell every version of every page apart.

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

/// The entries of one L2P segment, packed as [`units::Ppa::pack`] does.
pub type SegmentImage = [u32; SEGMENT_ENTRIES as usize];

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
    Segment(Box<SegmentImage>),
    /// Valid page bitmap of one block, bit i = unit i in fill order, least significant bit first.
    Bitmap(Box<[u64]>),
    /// What a batch of requests accesses.
    Runs(Box<[LpaRun]>),
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
