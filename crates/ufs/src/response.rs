//! Responses, from device to host.

use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use crate::command::Tag;
use crate::data::DataIn;

/// The result of a command.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// GOOD.
    Good,
    /// CHECK CONDITION, ILLEGAL REQUEST 21h/00h: logical block address out of range.
    OutOfRange,
    /// CHECK CONDITION, ILLEGAL REQUEST 24h/00h: invalid field in CDB, or a command that this device does not have.
    InvalidField,
    /// CHECK CONDITION, DATA PROTECT 27h/00h: too few spare blocks are left, so the device only reads.
    WriteProtected,
    /// CHECK CONDITION, MEDIUM ERROR 11h/00h: the address from the host is wrong and the device has no newer mapping of
    /// its own, or the page cannot be read.
    UnrecoveredRead,
}

/// A changed mapping for the host: `len` consecutive LPAs on consecutive PPAs, with consecutive sequence numbers from
/// `seq` (HP-UFS Sec. III-B, IV-A).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct L2pEntry {
    /// First logical address.
    pub lpa: Lpa,
    /// First physical address; `None` after a trim.
    pub ppa: Option<Ppa>,
    /// Number of units, 1..=32, never across a segment border.
    pub len: u8,
    /// Sequence number of the first unit. A trim entry takes one number per unit, too.
    pub seq: Seq,
    /// The block that a GC or wear-levelling copy came from; `None` for a host write or trim. The entry holds only if
    /// the mapping still names that block (Sec. III-E).
    pub source: Option<Superblock>,
}

impl L2pEntry {
    /// Bytes of an entry on a link.
    pub const BYTES: usize = 16;

    /// Sequence number of the last unit.
    pub fn last_seq(&self) -> Seq {
        self.seq.plus(u32::from(self.len) - 1)
    }
}

/// The notice that shares the 16 piggyback bytes: at most one of an entry and a hint with an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Notice {
    /// Nothing.
    #[default]
    None,
    /// A changed mapping.
    Entry(L2pEntry),
    /// Hint (Table II): write this segment back.
    WriteSegment(SegmentId),
    /// Hint (Sec. III-E): send the valid page bitmap of this block, for wear levelling.
    BitmapOf(Superblock),
}

/// The 16 extra bytes of a response (HP-UFS Sec. IV-A).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PiggyBack {
    /// Entry, or hint with an argument.
    pub notice: Notice,
    /// Hint (Table II): fetch the backlog of entries with one multi-entry transfer.
    pub want_entries: bool,
    /// Hint (Table II): send the valid page bitmap of the block with the fewest valid pages, for GC.
    pub want_victim: bool,
    /// The device collects garbage in idle time, and may need the host for it. It can speak only in responses, so a
    /// host without requests should ask now and then (no part of HP-UFS, whose GC never runs in idle time).
    pub works_when_idle: bool,
}

/// Recommendations of a device that controls HPB itself (HPB 2.0, device control mode): at most two of each, without
/// gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Recommendation {
    /// Subregions (groups) to read.
    pub activate: [Option<u32>; 2],
    /// Regions to drop.
    pub inactivate: [Option<u32>; 2],
}

/// What an HPB device adds to a response (HPB 2017 Sec. 3.1, 3.2; HPB 2.0 as Linux 6.1 reads it).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HpbNotice {
    /// Nothing.
    #[default]
    None,
    /// The entries of this group have changed: the host must not use any before it has read them again. The bytes are
    /// those of a recommendation to activate only this group.
    DirtyGroup(u32),
    /// Any other recommendation.
    Recommend(Recommendation),
    /// The new entry of one page, a plain one in the lower half; 0 = unmapped.
    Entry { lpa: Lpa, entry: u64 },
}

/// A response from device to host.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Response {
    /// The command that this answers.
    pub tag: Tag,
    /// The result of the command.
    pub status: Status,
    /// The data in DATA IN UPIUs.
    pub data: DataIn,
    /// HPB notice.
    pub hpb: HpbNotice,
    /// HP-UFS piggyback.
    pub piggyback: PiggyBack,
}
