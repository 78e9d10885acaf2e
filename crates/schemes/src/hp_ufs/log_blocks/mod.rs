//! Log blocks: superblocks with mappings that are not all in segments on flash (HP-UFS Sec. III-D, III-G).
//!
//! Each log block has a segment bitmap and the number of its latest change. It becomes a normal block when every
//! segment of its bitmap is on flash with at least that number. Writeback handles one log block at a time, the oldest
//! full one first. By age alone an open superblock of GC, which fills slowly, could hold up all others.

use std::collections::VecDeque;

use lists::Bits;
use units::{SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use ftl::EngineConfig;
use ftl::seat::Blocks;

#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
struct LogBlock {
    sb: Superblock,
    segments: Bits,
    last_seq: Seq,
}

/// Segments with trims. A trim leaves no page behind, so it belongs to no log block. The log block that was open when
/// the trim came may be erased before the segment is on flash, so trims are kept apart.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
struct UnwrittenTrims {
    segments: Bits,
    first_seq: Seq,
    last_seq: Seq,
}

impl UnwrittenTrims {
    fn new(segments: u32) -> UnwrittenTrims {
        UnwrittenTrims { segments: Bits::new(segments), first_seq: Seq(u64::MAX), last_seq: Seq(0) }
    }

    fn may_lack_change(&self, segment: SegmentId, on_flash: Seq) -> bool {
        self.last_seq > on_flash && self.segments.contains(segment.0)
    }
}

/// What writeback handles now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Target {
    Block(Superblock),
    Trims,
}

/// All log blocks, oldest first.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct LogBlocks {
    limit: usize,
    segments: u32,
    blocks: VecDeque<LogBlock>,
    spare: Vec<Bits>,
    /// Trims that a segment on flash may lack: new ones, and those that writeback handles.
    trims: UnwrittenTrims,
    closing: Option<UnwrittenTrims>,
    /// What writeback handles now, and the next segment of it to examine.
    target: Option<Target>,
    cursor: u32,
    /// Segments of the target below this are on flash.
    verified: u32,
    /// Segments that the host was asked for and has not sent yet.
    asked: Bits,
    unanswered: u32,
}

impl LogBlocks {
    /// No log blocks.
    pub fn new(cfg: &EngineConfig) -> LogBlocks {
        let segments = cfg.capacity_units.div_ceil(SEGMENT_ENTRIES);
        LogBlocks {
            limit: usize::from(cfg.log.max_log_blocks),
            segments,
            blocks: VecDeque::new(),
            spare: Vec::new(),
            trims: UnwrittenTrims::new(segments),
            closing: None,
            target: None,
            cursor: 0,
            verified: 0,
            asked: Bits::new(segments),
            unanswered: 0,
        }
    }

    /// Number of log blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// True if writeback has to run: the host's stream may open no further superblock. Writeback then has until the
    /// open superblock is full (Sec. III-G: "once this limit is reached, the firmware enforces the writeback").
    #[inline]
    pub fn writeback_due(&self) -> bool {
        self.blocks.len() + 1 >= self.limit || self.closing.is_some()
    }

    /// A superblock was opened. Their number exceeds the limit only when a failed program has to be repeated.
    pub fn add(&mut self, sb: Superblock) {
        let mut segments = self.spare.pop().unwrap_or_else(|| Bits::new(self.segments));
        segments.clear();
        self.blocks.push_back(LogBlock { sb, segments, last_seq: Seq(0) });
    }

    /// A page of this superblock holds a change of this segment.
    #[inline]
    pub fn note(&mut self, sb: Superblock, segment: SegmentId, seq: Seq) {
        let block = self.blocks.iter_mut().rev().find(|b| b.sb == sb);
        let block = block.expect("a superblock with unsettled programs is a log block");
        block.segments.insert(segment.0);
        block.last_seq = block.last_seq.max(seq);
    }

    /// A trim of this segment, with numbers from `first` to `last`.
    pub fn note_trim(&mut self, segment: SegmentId, first: Seq, last: Seq) {
        self.trims.segments.insert(segment.0);
        self.trims.first_seq = self.trims.first_seq.min(first);
        self.trims.last_seq = self.trims.last_seq.max(last);
    }

    /// Starts writeback of the segments of all trims so far.
    pub fn close_trims(&mut self) {
        if self.closing.is_none() && self.trims.last_seq > Seq(0) {
            self.closing = Some(std::mem::replace(&mut self.trims, UnwrittenTrims::new(self.segments)));
        }
    }

    /// Every trim with a number below this is in a segment on flash.
    pub fn trims_covered_below(&self) -> Seq {
        self.closing.as_ref().map_or(self.trims.first_seq, |t| t.first_seq)
    }

    /// The superblocks.
    pub fn superblocks(&self) -> impl Iterator<Item = Superblock> {
        self.blocks.iter().map(|b| b.sb)
    }

    /// The superblock is erased, so recovery needs nothing in it.
    pub fn remove(&mut self, sb: Superblock) {
        if let Some(at) = self.blocks.iter().position(|b| b.sb == sb) {
            self.drop_at(at);
        }
    }

    fn drop_at(&mut self, at: usize) {
        let block = self.blocks.remove(at).expect("position within the list");
        self.spare.push(block.segments);
        if self.target == Some(Target::Block(block.sb)) {
            self.target = None;
        }
    }

    /// True if the segment may have a change that flash lacks. Its copy on flash is complete up to `on_flash`.
    pub fn may_lack_change(&self, segment: SegmentId, on_flash: Seq) -> bool {
        let late = self.blocks.iter().any(|b| b.last_seq > on_flash && b.segments.contains(segment.0));
        late || self.trims.may_lack_change(segment, on_flash)
            || self.closing.as_ref().is_some_and(|t| t.may_lack_change(segment, on_flash))
    }

    fn find_target(&self) -> Option<usize> {
        self.blocks.iter().position(|b| Some(Target::Block(b.sb)) == self.target)
    }

    /// Segments and last number of the target.
    fn target_work(&self) -> Option<(&Bits, Seq)> {
        match self.target? {
            Target::Trims => self.closing.as_ref().map(|t| (&t.segments, t.last_seq)),
            Target::Block(_) => self.find_target().map(|at| (&self.blocks[at].segments, self.blocks[at].last_seq)),
        }
    }

    /// Chooses the target: trims, else the oldest full block.
    fn choose(&mut self, blocks: &Blocks) {
        let oldest = || self.blocks.iter().find(|b| blocks.settled(b.sb)).map(|b| Target::Block(b.sb));
        let trims = self.closing.as_ref().map(|_| Target::Trims);
        self.target = trims.or_else(oldest);
        (self.cursor, self.verified) = (0, 0);
    }

    fn finish_target(&mut self) {
        match self.find_target() {
            Some(at) => self.drop_at(at),
            None => self.closing = None,
        }
        self.target = None;
    }

    /// The next segment that the host shall write. `written` gives the number up to which a segment is complete on
    /// flash, `coming` the number of its copy that waits in SRAM for its program. A block becomes normal only by what
    /// is on flash.
    pub fn next_to_write(
        &mut self,
        host_seq: Seq,
        blocks: &Blocks,
        written: impl Fn(SegmentId) -> Seq,
        coming: impl Fn(SegmentId) -> Option<Seq>,
    ) -> Option<SegmentId> {
        while self.writeback_due() {
            if self.target.is_none() {
                self.choose(blocks);
            }
            let (mut cursor, mut verified) = (self.cursor, self.verified);
            let (segments, last) = self.target_work()?;
            if last > host_seq {
                // Before the host has applied all of its changes, a writeback could not contain them.
                return None;
            }
            let mut ask = None;
            while let Some(segment) = segments.first_from(cursor).map(SegmentId) {
                cursor = segment.0 + 1;
                let covers_block = |seq: Seq| seq >= last;
                let safe = covers_block(written(segment)) || coming(segment).is_some_and(covers_block);
                if !safe && !self.asked.contains(segment.0) {
                    ask = Some(segment);
                    break;
                }
            }
            if let Some(segment) = ask {
                self.cursor = cursor;
                self.asked.insert(segment.0);
                self.unanswered += 1;
                return Some(segment);
            }
            // All other segments have been asked for. Moving the cursor to the end spares the next responses a scan of
            // the bitmap.
            cursor = self.segments;
            let mut waits = self.unanswered > 0;
            while !waits && let Some(segment) = segments.first_from(verified).map(SegmentId) {
                if written(segment) < last {
                    if coming(segment).is_none() {
                        // The answer came with too low a number: ask again.
                        cursor = segment.0;
                    }
                    waits = true;
                } else {
                    verified = segment.0 + 1;
                }
            }
            (self.cursor, self.verified) = (cursor, verified);
            if waits {
                return None;
            }
            self.finish_target();
        }
        None
    }

    /// The host answered a hint.
    pub fn answered(&mut self, segment: SegmentId) {
        if self.asked.contains(segment.0) {
            self.asked.remove(segment.0);
            self.unanswered -= 1;
        }
    }

    /// The host has lost what it was asked: what is not on flash yet is asked for again.
    pub fn ask_again(&mut self) {
        self.asked.clear();
        (self.unanswered, self.cursor) = (0, self.verified);
    }

    /// True if a block waits only for segments that are in SRAM.
    pub fn waits_for_last(&self) -> bool {
        let done = |(segments, _): (&Bits, Seq)| segments.first_from(self.cursor).is_none();
        self.writeback_due() && self.unanswered == 0 && self.target_work().is_some_and(done)
    }

    /// SRAM: a segment bitmap and a number per log block, and for trims.
    pub fn table_bytes(&self) -> u64 {
        (self.limit as u64 + 2) * (8 * u64::from(self.segments.div_ceil(64)) + 8)
    }
}

#[cfg(test)]
mod tests;
