//! Log blocks: superblocks with mappings that are not all in segments on flash (HP-UFS Sec. III-D, III-G).
//!
//! Each has a segment bitmap and the number of the latest change in it. It becomes a normal block when every segment of
//! its bitmap is on flash with at least that number. They are worked off one at a time, the oldest full one first: GC
//! fills its superblock slowly, and everything else would wait for it if age alone counted.

use std::collections::VecDeque;

use units::{SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use crate::blocks::Blocks;
use crate::config::EngineConfig;

#[derive(Debug)]
struct LogBlock {
    sb: Superblock,
    segments: Vec<u64>,
    last_seq: Seq,
}

/// Segments with trims. A trim leaves no page behind, so it belongs to no log block; and it outlives the block that was
/// open when it came, which may be erased before the segment is on flash.
#[derive(Debug)]
struct UnwrittenTrims {
    segments: Vec<u64>,
    first_seq: Seq,
    last_seq: Seq,
}

impl UnwrittenTrims {
    fn new(words: usize) -> UnwrittenTrims {
        UnwrittenTrims { segments: vec![0; words], first_seq: Seq(u64::MAX), last_seq: Seq(0) }
    }

    fn mention(&self, segment: SegmentId, on_flash: Seq) -> bool {
        self.last_seq > on_flash && bit(&self.segments, segment)
    }
}

/// What is being worked off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Block(Superblock),
    Trims,
}

/// All log blocks, oldest first.
#[derive(Debug)]
pub struct LogBlocks {
    limit: usize,
    words: usize,
    blocks: VecDeque<LogBlock>,
    spare: Vec<Vec<u64>>,
    /// Trims that a segment on flash may lack: those noted now, and those being worked off.
    trims: UnwrittenTrims,
    closing: Option<UnwrittenTrims>,
    /// What is being worked off, and its next segment to look at.
    target: Option<Target>,
    cursor: usize,
    /// Its segments below this are on flash.
    verified: usize,
    /// Segments asked for and not answered.
    asked: Vec<u64>,
    unanswered: u32,
}

fn bit(words: &[u64], segment: SegmentId) -> bool {
    words[segment.index() / 64] >> (segment.0 % 64) & 1 != 0
}

impl LogBlocks {
    /// None yet.
    pub fn new(cfg: &EngineConfig) -> LogBlocks {
        let segments = cfg.capacity_units.div_ceil(SEGMENT_ENTRIES);
        let words = segments.div_ceil(64) as usize;
        LogBlocks {
            limit: usize::from(cfg.log.max_log_blocks),
            words,
            blocks: VecDeque::new(),
            spare: Vec::new(),
            trims: UnwrittenTrims::new(words),
            closing: None,
            target: None,
            cursor: 0,
            verified: 0,
            asked: vec![0; words],
            unanswered: 0,
        }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Writeback starts when the host's stream may open no further superblock: there is as long for it as the open one
    /// takes to fill (Sec. III-G: "once this limit is reached, the firmware enforces the writeback").
    #[inline]
    pub fn due(&self) -> bool {
        self.blocks.len() + 1 >= self.limit || self.closing.is_some()
    }

    /// A superblock was opened. Only to repeat a failed program may there be more of them than the limit.
    pub fn add(&mut self, sb: Superblock) {
        let mut segments = self.spare.pop().unwrap_or_else(|| vec![0; self.words]);
        segments.fill(0);
        self.blocks.push_back(LogBlock { sb, segments, last_seq: Seq(0) });
    }

    /// A change of this segment is in a page of this superblock.
    #[inline]
    pub fn note(&mut self, sb: Superblock, segment: SegmentId, seq: Seq) {
        let block = self.blocks.iter_mut().rev().find(|b| b.sb == sb);
        let block = block.expect("a superblock with unsettled programs is a log block");
        block.segments[segment.index() / 64] |= 1 << (segment.0 % 64);
        block.last_seq = block.last_seq.max(seq);
    }

    /// A trim of this segment, with numbers from `first` to `last`.
    pub fn note_trim(&mut self, segment: SegmentId, first: Seq, last: Seq) {
        self.trims.segments[segment.index() / 64] |= 1 << (segment.0 % 64);
        self.trims.first_seq = self.trims.first_seq.min(first);
        self.trims.last_seq = self.trims.last_seq.max(last);
    }

    /// Wants the segments of all trims so far on flash.
    pub fn close_trims(&mut self) {
        if self.closing.is_none() && self.trims.last_seq > Seq(0) {
            self.closing = Some(std::mem::replace(&mut self.trims, UnwrittenTrims::new(self.words)));
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

    /// A superblock is erased: nothing in it needs recovery any more.
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

    /// Has the segment a change that its copy on flash, written with `on_flash`, may lack?
    pub fn mention(&self, segment: SegmentId, on_flash: Seq) -> bool {
        let late = self.blocks.iter().any(|b| b.last_seq > on_flash && bit(&b.segments, segment));
        late || self.trims.mention(segment, on_flash)
            || self.closing.as_ref().is_some_and(|t| t.mention(segment, on_flash))
    }

    fn find_target(&self) -> Option<usize> {
        self.blocks.iter().position(|b| Some(Target::Block(b.sb)) == self.target)
    }

    /// Segments and last number of what is being worked off.
    fn work(&self) -> Option<(&[u64], Seq)> {
        match self.target? {
            Target::Trims => self.closing.as_ref().map(|t| (&t.segments[..], t.last_seq)),
            Target::Block(_) => self.find_target().map(|at| (&self.blocks[at].segments[..], self.blocks[at].last_seq)),
        }
    }

    /// Chooses what to work off: trims, then the oldest full block.
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

    /// The next segment that the host shall write. `written` gives the number with which a segment is on flash,
    /// `coming` the one with which it waits in SRAM for being programmed. Only what is on flash makes a block normal.
    pub fn next_to_write(
        &mut self,
        host_seq: Seq,
        blocks: &Blocks,
        written: impl Fn(SegmentId) -> Seq,
        coming: impl Fn(SegmentId) -> Option<Seq>,
    ) -> Option<SegmentId> {
        while self.due() {
            if self.target.is_none() {
                self.choose(blocks);
            }
            let (mut cursor, mut verified) = (self.cursor, self.verified);
            let (segments, last) = self.work()?;
            if last > host_seq {
                // Before the host has applied all of its changes, a writeback could not contain them.
                return None;
            }
            let mut ask = None;
            while let Some(segment) = next_set(segments, cursor) {
                cursor = segment.index() + 1;
                let enough = |seq: Seq| seq >= last;
                let safe = enough(written(segment)) || coming(segment).is_some_and(enough);
                if !safe && !bit(&self.asked, segment) {
                    ask = Some(segment);
                    break;
                }
            }
            if let Some(segment) = ask {
                self.cursor = cursor;
                self.asked[segment.index() / 64] |= 1 << (segment.0 % 64);
                self.unanswered += 1;
                return Some(segment);
            }
            // The rest of the bitmap is empty; it need not be looked at again with every response.
            cursor = self.words * 64;
            let mut waits = self.unanswered > 0;
            while !waits && let Some(segment) = next_set(segments, verified) {
                if written(segment) < last {
                    if coming(segment).is_none() {
                        // The answer came with too low a number: ask again.
                        cursor = segment.index();
                    }
                    waits = true;
                } else {
                    verified = segment.index() + 1;
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
        let mask = 1 << (segment.0 % 64);
        let word = &mut self.asked[segment.index() / 64];
        if *word & mask != 0 {
            *word &= !mask;
            self.unanswered -= 1;
        }
    }

    /// Does a block wait only for segments that are in SRAM?
    pub fn waits_for_last(&self) -> bool {
        let done = |(segments, _): (&[u64], Seq)| self.cursor > 0 && next_set(segments, self.cursor).is_none();
        self.due() && self.unanswered == 0 && self.work().is_some_and(done)
    }

    /// SRAM: a segment bitmap and a number per log block, and for trims.
    pub fn table_bytes(&self) -> u64 {
        (self.limit as u64 + 2) * (8 * self.words as u64 + 8)
    }
}

fn next_set(words: &[u64], from: usize) -> Option<SegmentId> {
    let mut word = from / 64;
    let mut bits = *words.get(word)? >> (from % 64) << (from % 64);
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(SegmentId((word * 64) as u32 + bits.trailing_zeros()))
}
