//! Commands, from host to device.

use units::{Lpa, Ppa, SegmentId, Seq, Superblock, UNIT_BYTES};

use crate::data::DataOut;

/// Tags that a host can have: bTaskTag has 8 bits (JESD220C clause 10.7.1). The one list of UFSHCI 3.0 and before
/// (JESD223D) has 32 slots; several queues (UFSHCI 4.0, MCQ) may hold more commands together.
pub const MAX_TAGS: u16 = 256;

/// Bytes of an UNMAP parameter list with one descriptor.
pub const UNMAP_LIST_BYTES: u32 = 24;

/// Task tag: names a command in flight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tag(pub u8);

/// A command. Addresses and lengths are in 4 KiB logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// READ(10), 28h.
    Read { lpa: Lpa, len: u32 },
    /// HPB READ, F8h: a read with the sealed 8-byte entry of its first block, as the device published it. Where entries
    /// are plain, READ(16), 88h, with 4 bytes (HPB 2017 Sec. 3.1).
    HpbRead { lpa: Lpa, len: u32, entry: u64 },
    /// HP-UFS read: READ(10) whose eight extra command bytes carry the address of the first block and the host sequence
    /// number (HP-UFS Sec. III-C, IV-A). All blocks must be on consecutive physical addresses. `None`: the host knows
    /// that the blocks are unmapped.
    MappedRead { lpa: Lpa, len: u32, ppa: Option<Ppa> },
    /// WRITE(10), 2Ah. With `fua` it is acknowledged only after it is on flash.
    Write { lpa: Lpa, len: u32, fua: bool },
    /// SYNCHRONIZE CACHE(10), 35h: completes when everything acknowledged so far is on flash.
    Flush,
    /// UNMAP, 42h, one descriptor.
    Unmap { lpa: Lpa, len: u32 },
    /// HPB READ BUFFER, F9h: fetches the entries of one group (HPB 2017 Sec. 3.1), a subregion of HPB 2.0.
    HpbReadBuffer { group: u32 },
    /// HPB WRITE BUFFER 01h, FAh: the host has dropped its entries of a region (HPB 2.0, host control mode).
    HpbInactivate { region: u32 },
    /// HP-UFS L2P segment read (Sec. III-B): the segment's content on flash.
    SegmentRead { segment: SegmentId },
    /// HP-UFS L2P segment writeback (Sec. III-D). It carries a segment, or the changed parts of a segment that the
    /// device writes in parts, or nothing. For everything that it does not carry, it attests that the copy on flash
    /// already holds every change up to the host sequence number.
    SegmentWrite { segment: SegmentId },
    /// HP-UFS multi L2P entry transfer (Sec. III-B).
    EntryTransfer,
    /// The same from the first change on that the host has not applied: it has lost responses, by a reset for instance.
    /// The device also repeats what it has asked for.
    EntriesAgain,
    /// HP-UFS valid page bitmap of a block (Sec. III-E), sent on the device's hint.
    ValidBitmap { block: Superblock, reason: BitmapFor },
    /// MAP+ (Sec. V-D): asks which logical blocks' mappings are in the device's mapping cache. Answered with
    /// [`DataIn::Runs`](crate::DataIn::Runs).
    CacheQuery,
    /// MAP+ (Sec. V-B, V-D): announces the batch of `requests` requests that follows. Its data
    /// ([`DataOut::Runs`](crate::DataOut::Runs)) are their addresses in one translation page, which the device reads
    /// once. With `packed` the commands of the next `requests` reads, writes and unmaps count as one for the firmware,
    /// as a packed command of eMMC 5.0 does.
    BatchNotice { write: bool, packed: bool, requests: u32 },
}

/// Why the host sends a valid page bitmap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BitmapFor {
    /// The host chose the block with the fewest valid pages.
    Gc,
    /// The device named the block because of its erase count.
    WearLevelling,
}

/// What defines a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandSet {
    /// SCSI, as UFS adopts it. Mapped reads belong to it: they are READ(10) with an extension.
    Scsi,
    /// Host Performance Booster.
    Hpb,
    /// HP-UFS: exchange of metadata between its host and its mapping.
    HpUfs,
    /// MAP+: questions and notices of its scheduler.
    MapPlus,
}

impl Op {
    /// What it is called in reports and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Read { .. } => "read",
            Op::HpbRead { .. } => "HPB read",
            Op::MappedRead { .. } => "mapped read",
            Op::Write { .. } => "write",
            Op::Flush => "flush",
            Op::Unmap { .. } => "unmap",
            Op::HpbReadBuffer { .. } => "HPB read buffer",
            Op::HpbInactivate { .. } => "HPB write buffer",
            Op::SegmentRead { .. } => "segment read",
            Op::SegmentWrite { .. } => "segment writeback",
            Op::EntryTransfer => "entry transfer",
            Op::EntriesAgain => "entry transfer, again",
            Op::ValidBitmap { .. } => "valid page bitmap",
            Op::CacheQuery => "cache query",
            Op::BatchNotice { .. } => "batch notice",
        }
    }

    /// The set that it belongs to.
    #[inline]
    pub fn set(&self) -> CommandSet {
        match self {
            Op::Read { .. } | Op::MappedRead { .. } | Op::Write { .. } | Op::Flush | Op::Unmap { .. } => {
                CommandSet::Scsi
            }
            Op::HpbRead { .. } | Op::HpbReadBuffer { .. } | Op::HpbInactivate { .. } => CommandSet::Hpb,
            Op::SegmentRead { .. }
            | Op::SegmentWrite { .. }
            | Op::EntryTransfer
            | Op::EntriesAgain
            | Op::ValidBitmap { .. } => CommandSet::HpUfs,
            Op::CacheQuery | Op::BatchNotice { .. } => CommandSet::MapPlus,
        }
    }

    /// True for commands that read, write or order the user's data; false for those that only exchange metadata.
    #[inline]
    pub fn is_user(&self) -> bool {
        self.set() == CommandSet::Scsi || matches!(self, Op::HpbRead { .. })
    }
}

/// A command from host to device.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Command {
    /// Identifies the command until its response.
    pub tag: Tag,
    /// The operation.
    pub op: Op,
    /// HP-UFS: the latest change that the host has applied; every command carries it. 0 for other drivers.
    pub host_seq: Seq,
    /// HP-UFS: one block that the host knows to hold no valid page. It uses the address field of commands that do not
    /// need it (all but [`Op::MappedRead`]).
    pub freed: Option<Superblock>,
    /// The data in DATA OUT UPIUs after the command.
    pub data: DataOut,
}

impl Command {
    /// Bytes of the data that it sends, on a real link: each block of a write has 4096.
    #[inline]
    pub fn data_bytes(&self) -> u64 {
        match self.op {
            Op::Write { len, .. } => u64::from(len) * UNIT_BYTES,
            Op::Unmap { .. } => UNMAP_LIST_BYTES.into(),
            _ => self.data.bytes(),
        }
    }
}
