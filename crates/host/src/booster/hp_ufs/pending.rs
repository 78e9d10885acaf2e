//! Internal work of HP-UFS that is under way or to be done.

use std::collections::VecDeque;

use lists::Bits;
use ufs::DeviceInfo;
use units::{SegmentId, Seq, Superblock};

/// Idle time begins as if so many polls had brought nothing: the first comes after 128 ms.
pub(super) const FIRST_IDLE_POLL: u32 = 7;

/// Internal work that is under way or to be done.
#[derive(Clone, Hash)]
pub(super) struct Pending {
    /// True if there may be something to do.
    pub work: bool,
    /// The segment that the first entry of the reorder buffer waits for.
    pub head: Option<SegmentId>,
    /// The segment being loaded for the reorder buffer: that one or an earlier one.
    pub head_loading: Option<SegmentId>,
    /// Number of other loads under way.
    pub loading: usize,
    /// True if the device has a backlog of entries.
    pub entries: bool,
    /// True if an entry transfer is under way.
    pub transferring: bool,
    /// Segments that the device wants written back, each once.
    pub hinted: VecDeque<SegmentId>,
    pub is_hinted: Bits,
    /// Writebacks and attests under way. There are few.
    pub writing: Vec<Writing>,
    /// The device works in idle time, and so many polls in a row have brought nothing; `None` if it does not.
    pub fruitless: Option<u32>,
    /// True if the device wants a GC victim.
    pub victim: bool,
    /// The device wants the bitmap of this block.
    pub bitmap_of: Option<Superblock>,
    /// True if a bitmap is under way.
    pub sending_bitmap: bool,
    /// Blocks that the device has refused as GC victims, until something new is placed in them.
    pub refused: Bits,
}

/// A writeback or attest.
#[derive(Clone, Hash)]
pub(super) struct Writing {
    pub segment: SegmentId,
    /// The latest change that was applied when it was sent.
    pub seq: Seq,
    pub with_data: bool,
}

impl Pending {
    pub fn new(info: &DeviceInfo) -> Pending {
        Pending {
            work: false,
            head: None,
            head_loading: None,
            loading: 0,
            entries: false,
            transferring: false,
            fruitless: None,
            hinted: VecDeque::new(),
            is_hinted: Bits::new(info.segments()),
            writing: Vec::new(),
            victim: false,
            bitmap_of: None,
            sending_bitmap: false,
            refused: Bits::new(info.superblocks),
        }
    }

    pub fn is_writing(&self, segment: SegmentId) -> bool {
        self.writing.iter().any(|writing| writing.segment == segment)
    }
}
