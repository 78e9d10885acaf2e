//! Log blocks: superblocks with mappings that are not all in segments on flash (HP-UFS Sec. III-D, III-G).
//!
//! Each has a segment bitmap and the number of the latest change in it. It becomes a normal block when every segment of
//! its bitmap is on flash with at least that number. They are worked off one at a time, the oldest full one first: GC
//! fills its superblock slowly, and everything else would wait for it if age alone counted.

use std::collections::VecDeque;

use units::{SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use crate::blocks::Blocks;
use crate::config::DeviceConfig;

#[derive(Debug)]
struct LogBlock {
    sb: Superblock,
    segments: Vec<u64>,
    last_seq: Seq,
}

/// All log blocks, oldest first.
#[derive(Debug)]
pub struct LogBlocks {
    limit: usize,
    words: usize,
    blocks: VecDeque<LogBlock>,
    /// Segments of trims that no log block was there to note.
    early_trims: Vec<(SegmentId, Seq)>,
    spare: Vec<Vec<u64>>,
    /// The block being worked off, and its next segment to look at.
    target: Option<Superblock>,
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
    pub fn new(cfg: &DeviceConfig) -> LogBlocks {
        let segments = cfg.capacity_units.div_ceil(SEGMENT_ENTRIES);
        let words = segments.div_ceil(64) as usize;
        LogBlocks {
            limit: usize::from(cfg.log.max_log_blocks),
            words,
            blocks: VecDeque::new(),
            early_trims: Vec::new(),
            spare: Vec::new(),
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

    /// How many there may be.
    #[inline]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Writeback starts when the host's stream may open no further superblock: there is as long for it as the open one
    /// takes to fill (Sec. III-G: "once this limit is reached, the firmware enforces the writeback").
    #[inline]
    pub fn due(&self) -> bool {
        self.blocks.len() + 1 >= self.limit
    }

    /// A superblock was opened.
    pub fn add(&mut self, sb: Superblock) {
        assert!(self.blocks.len() < self.limit, "more than {} log blocks", self.limit);
        let mut segments = self.spare.pop().unwrap_or_else(|| vec![0; self.words]);
        segments.fill(0);
        self.blocks.push_back(LogBlock { sb, segments, last_seq: Seq(0) });
        for (segment, seq) in std::mem::take(&mut self.early_trims) {
            self.note_trim(segment, seq);
        }
    }

    /// A change of this segment is in a page of this superblock.
    #[inline]
    pub fn note(&mut self, sb: Superblock, segment: SegmentId, seq: Seq) {
        let block = self.blocks.iter_mut().rev().find(|b| b.sb == sb);
        let block = block.expect("a superblock with unsettled programs is a log block");
        block.segments[segment.index() / 64] |= 1 << (segment.0 % 64);
        block.last_seq = block.last_seq.max(seq);
    }

    /// A trim of this segment.
    pub fn note_trim(&mut self, segment: SegmentId, seq: Seq) {
        match self.blocks.back_mut() {
            Some(block) => {
                block.segments[segment.index() / 64] |= 1 << (segment.0 % 64);
                block.last_seq = block.last_seq.max(seq);
                if self.target == Some(block.sb) {
                    (self.cursor, self.verified) = (0, 0);
                }
            }
            None => match self.early_trims.iter_mut().find(|(noted, _)| *noted == segment) {
                Some((_, latest)) => *latest = (*latest).max(seq),
                None => self.early_trims.push((segment, seq)),
            },
        }
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
        if self.target == Some(block.sb) {
            self.target = None;
        }
    }

    /// Has the segment a change that its copy on flash, written with `on_flash`, may lack?
    pub fn mention(&self, segment: SegmentId, on_flash: Seq) -> bool {
        let late = self.blocks.iter().any(|b| b.last_seq > on_flash && bit(&b.segments, segment));
        late || self.early_trims.iter().any(|&(s, seq)| s == segment && seq > on_flash)
    }

    fn find_target(&self) -> Option<usize> {
        self.blocks.iter().position(|b| Some(b.sb) == self.target)
    }

    /// Position of the block to work off. Before the host has applied all of its changes, a writeback could not
    /// contain them.
    fn ready_target(&mut self, host_seq: Seq, blocks: &Blocks) -> Option<usize> {
        if self.target.is_none() {
            let oldest = self.blocks.iter().find(|b| blocks.settled(b.sb))?;
            self.target = Some(oldest.sb);
            (self.cursor, self.verified) = (0, 0);
        }
        self.find_target().filter(|&at| self.blocks[at].last_seq <= host_seq)
    }

    /// The next segment that the host shall write. `written` gives the number with which a segment
    /// is on flash, `coming` the one with which it waits in SRAM for being programmed. Only what is on flash makes a
    /// block normal.
    pub fn next_to_write(
        &mut self,
        host_seq: Seq,
        blocks: &Blocks,
        written: impl Fn(SegmentId) -> Seq,
        coming: impl Fn(SegmentId) -> Option<Seq>,
    ) -> Option<SegmentId> {
        while self.due() {
            let place = self.ready_target(host_seq, blocks)?;
            let oldest = &self.blocks[place];
            while let Some(segment) = next_set(&oldest.segments, self.cursor) {
                self.cursor = segment.index() + 1;
                let enough = |seq: Seq| seq >= oldest.last_seq;
                let safe = enough(written(segment)) || coming(segment).is_some_and(enough);
                if !safe && !bit(&self.asked, segment) {
                    self.asked[segment.index() / 64] |= 1 << (segment.0 % 64);
                    self.unanswered += 1;
                    return Some(segment);
                }
            }
            // The rest of the bitmap is empty; it need not be looked at again with every response.
            self.cursor = self.words * 64;
            if self.unanswered > 0 {
                return None;
            }
            while let Some(segment) = next_set(&oldest.segments, self.verified) {
                if written(segment) < oldest.last_seq {
                    if coming(segment).is_none() {
                        // The answer came with too low a number: ask again.
                        self.cursor = segment.index();
                    }
                    return None;
                }
                self.verified = segment.index() + 1;
            }
            self.drop_at(place);
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
        let done = |at: usize| self.cursor > 0 && next_set(&self.blocks[at].segments, self.cursor).is_none();
        self.due() && self.unanswered == 0 && self.find_target().is_some_and(done)
    }

    /// SRAM: a segment bitmap and a number per log block.
    pub fn table_bytes(&self) -> u64 {
        self.limit as u64 * (8 * self.words as u64 + 8)
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
