//! `hp-ufs`: the host keeps changed mappings, the valid page bitmap and the valid page counts (HP-UFS Sec. III).
//!
//! New mappings go through the log buffer to the host, by piggyback or multi-entry transfer, and leave the log when the
//! host says, by its sequence number, that it has applied them. Segments come back when the device asks for them, from
//! the oldest log block on, or when the host evicts them. GC copies what the host's bitmap names.

use std::collections::VecDeque;

use ufs::{
    BitmapFor, DataIn, DataOut, LpaRun, MAX_TRANSFER_ENTRIES, Notice, Op, Response, SegmentImage, Status, copy_segment,
};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

use super::log_blocks::LogBlocks;
use super::{Answer, Commit, HostRole, HostSays, Mapping, Resolved, Search};
use crate::blocks::Stream;
use crate::core::Core;
use crate::gc::Victim;
use crate::log::Change;
use crate::meta::Piece;
use crate::ops::Errand;
use crate::sram::Owner;

/// A segment from the host, in SRAM until it is on flash.
#[derive(Debug)]
struct Writeback {
    segment: SegmentId,
    /// Host sequence number that it came with: it holds every change up to it.
    seq: Seq,
    /// Where it is being programmed.
    ppa: Option<Ppa>,
    image: Box<SegmentImage>,
}

/// State of the scheme.
#[derive(Debug)]
pub struct HpUfs {
    /// Latest change that the host has applied.
    host_seq: Seq,
    /// Highest number given out so far, to refuse a host that claims to know the future.
    newest: Seq,
    log_blocks: LogBlocks,
    /// Segments that wait for a full row, and those being programmed.
    queued: VecDeque<Writeback>,
    programming: Vec<Writeback>,
    /// Highest number among the copies of each segment in these two; 0 = none. An index of the simulator: the lists are as
    /// short as the pool, so that firmware would look through them.
    coming: Vec<Seq>,
    victim: Option<Victim>,
    /// The block being collected, and whether the host has found it empty meanwhile.
    collecting: Option<(Superblock, bool)>,
    /// Number of the last copy when each block was collected: until the host has applied it, its bitmap of the block
    /// is out of date.
    collected_at: Vec<Seq>,
    want_victim: bool,
    /// The block whose bitmap is wanted for wear levelling, and whether the host has been told.
    want_bitmap: Option<(Superblock, bool)>,
    wear_refused: bool,
    stalled: bool,
}

impl HpUfs {
    /// The host names a block without valid pages. It may be believed if the host has applied everything that was
    /// ever placed there.
    fn freed(&mut self, core: &mut Core, sb: Superblock) {
        if !core.blocks.exists(sb) || !core.blocks.settled(sb) || core.blocks.last_seq(sb) > self.host_seq {
            return;
        }
        if let Some((victim, empty)) = &mut self.collecting
            && *victim == sb
        {
            *empty = true;
            return;
        }
        self.retire(core, sb);
    }

    fn retire(&mut self, core: &mut Core, sb: Superblock) {
        if self.victim.as_ref().is_some_and(|v| v.sb == sb) {
            self.victim = None;
        }
        self.log_blocks.remove(sb);
        self.collected_at[sb.index()] = Seq(0);
        core.retire(sb);
    }

    /// Latest copy of a segment that has not reached the image yet.
    fn in_sram(&self, segment: SegmentId) -> Option<&SegmentImage> {
        if self.coming[segment.index()] == Seq(0) {
            return None;
        }
        let newest = self.queued.iter().chain(&self.programming);
        newest.filter(|w| w.segment == segment).max_by_key(|w| w.seq).map(|w| &*w.image)
    }

    fn segment_write(&mut self, core: &mut Core, segment: SegmentId, data: DataOut, seq: Seq) -> Status {
        self.log_blocks.answered(segment);
        match data {
            DataOut::None => {
                self.attest(core, segment, seq);
                core.stats.segment_attests += 1;
            }
            DataOut::Segment(image) => {
                let taken = core.sram.take(Owner::Load, 1);
                assert!(taken, "a segment write starts only with a buffer");
                core.stats.segment_writebacks += 1;
                let coming = &mut self.coming[segment.index()];
                *coming = (*coming).max(seq);
                self.queued.push_back(Writeback { segment, seq, ppa: None, image });
            }
            _ => return Status::InvalidField,
        }
        Status::Good
    }

    /// The host has no change of the segment that it has not written: the latest copy is good up to `seq`, be it on
    /// flash or still on its way there.
    fn attest(&mut self, core: &mut Core, segment: SegmentId, seq: Seq) {
        if self.coming[segment.index()] == Seq(0) {
            core.meta.raise_segment_seq(segment, seq);
            return;
        }
        let copies = self.programming.iter_mut().chain(&mut self.queued);
        if let Some(latest) = copies.filter(|w| w.segment == segment).last() {
            latest.seq = latest.seq.max(seq);
            self.coming[segment.index()] = latest.seq;
        }
    }

    fn segment_image(&self, core: &Core, segment: SegmentId) -> DataIn {
        if let Some(image) = self.in_sram(segment) {
            return DataIn::Segment(copy_segment(image));
        }
        DataIn::Segment(core.meta.pages.segment(segment))
    }

    /// A bitmap for GC or wear levelling. Refused if the block can not be collected now.
    fn bitmap(&mut self, core: &Core, block: Superblock, reason: BitmapFor, data: DataOut) -> Status {
        let wear = reason == BitmapFor::WearLevelling;
        if wear {
            if self.want_bitmap.is_none_or(|(asked, _)| asked != block) {
                return Status::InvalidField;
            }
            // Answered; should it be refused below, it is asked for again, but not at once.
            self.want_bitmap = None;
            self.wear_refused = true;
        }
        let DataOut::Bitmap(bitmap) = data else { return Status::InvalidField };
        let expected = (core.layout.superblock_units() as usize).div_ceil(64);
        // A bitmap from before the host had applied all of the block's changes may name the older of two pages of one
        // address in this very block. Its copy would pass the source check, which knows blocks only (Sec. III-E).
        let complete = core.blocks.last_seq(block) <= self.host_seq;
        let current = complete && self.collected_at[block.index()] <= self.host_seq;
        if bitmap.len() != expected || !core.blocks.settled(block) || !current || self.victim.is_some() {
            return Status::InvalidField;
        }
        if self.collecting.is_some_and(|(sb, _)| sb == block) || core.waiting_sources.contains(&block) {
            return Status::InvalidField;
        }
        if !wear && !self.want_victim {
            return Status::InvalidField;
        }
        self.wear_refused = false;
        self.want_victim = false;
        let mut victim = Victim::new(block, wear);
        victim.bitmap = bitmap;
        self.victim = Some(victim);
        Status::Good
    }

    fn all_entries(&mut self, core: &mut Core) -> DataIn {
        let n = core.log.unsent().min(MAX_TRANSFER_ENTRIES as usize);
        let entries: Vec<_> = (0..n).map_while(|_| core.log.send_next()).collect();
        core.stats.entries_transferred += entries.len() as u64;
        DataIn::Entries(entries)
    }

    /// The segment to ask for next, if the oldest log block is due.
    #[inline]
    fn writeback_hint(&mut self, core: &Core) -> Option<SegmentId> {
        if !self.log_blocks.due() {
            return None;
        }
        let coming = |segment: SegmentId| Some(self.coming[segment.index()]).filter(|&seq| seq > Seq(0));
        let written = |segment| core.meta.segment_seq(segment);
        self.log_blocks.next_to_write(self.host_seq, &core.blocks, written, coming)
    }

    fn log(&mut self, core: &mut Core, change: Change) {
        self.newest = self.newest.max(change.seq);
        core.log_change(change);
    }
}

impl Mapping for HpUfs {
    const HOST: HostRole = HostRole::KeepsMapping;

    fn new(core: &Core) -> HpUfs {
        HpUfs {
            host_seq: Seq(0),
            newest: Seq(0),
            log_blocks: LogBlocks::new(&core.cfg),
            queued: VecDeque::new(),
            programming: Vec::new(),
            coming: vec![Seq(0); core.cfg.capacity_units.div_ceil(SEGMENT_ENTRIES) as usize],
            victim: None,
            collecting: None,
            collected_at: vec![Seq(0); core.blocks.count() as usize],
            want_victim: false,
            want_bitmap: None,
            wear_refused: false,
            stalled: false,
        }
    }

    /// The host sequence number says which entries the host has applied; they leave the log (Sec. III-C).
    #[inline]
    fn on_command(&mut self, core: &mut Core, host_seq: Seq, freed: Option<Superblock>) {
        if host_seq > self.host_seq && host_seq <= self.newest {
            self.host_seq = host_seq;
            core.log.forget_applied(host_seq);
        }
        if let Some(sb) = freed {
            self.freed(core, sb);
        }
    }

    /// The host's address, corrected by what the host has not applied yet (Sec. III-C).
    #[inline]
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, host: HostSays) -> Resolved {
        let base = match host {
            HostSays::At(ppa) => Some(ppa),
            HostSays::Unmapped => None,
            HostSays::Nothing => return self.resolve_alone(core, lpa),
        };
        let Some(logged) = core.log.get(lpa) else {
            return base.map_or(Resolved::Unmapped, |ppa| Resolved::Page { ppa, from_host: true });
        };
        core.stats.log_hits += 1;
        match core.logged_over(logged, base) {
            Some(ppa) => Resolved::Page { ppa, from_host: Some(ppa) == base },
            None => Resolved::Unmapped,
        }
    }

    fn resolve_loaded(&mut self, core: &mut Core, lpa: Lpa) -> Option<Ppa> {
        // The host wrote this entry.
        let base = core.meta.pages.entry(lpa).filter(|&ppa| core.is_data(ppa, 1));
        match core.log.get(lpa) {
            Some(logged) => core.logged_over(logged, base),
            None => base,
        }
    }

    /// What the device could say without the host's address; see [`HpUfs::resolve_alone`]. With it no read needs flash.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let segment = lpa.segment();
        if self.log_blocks.mention(segment, core.meta.segment_seq(segment)) {
            return core.log.get(lpa).is_some_and(|logged| logged.source.is_none());
        }
        core.sram.holds_segment(segment) || core.meta.place(core.meta.segment_piece(segment)).is_none()
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        let complete = |segment| !self.log_blocks.mention(segment, core.meta.segment_seq(segment));
        core.list_cached(runs, complete, |lpa| self.cached(core, lpa));
    }

    #[inline]
    fn room(&self, core: &Core) -> usize {
        core.log.room().saturating_sub(core.units_to_log)
    }

    /// The number of log blocks bounds the time of a recovery (Sec. III-G). The last one is kept for the collector,
    /// without which no superblock would become free.
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        if stream == Stream::Gc {
            return self.log_blocks.len() < self.log_blocks.limit();
        }
        let for_gc = core.blocks.open(Stream::Gc).is_none();
        let may = self.log_blocks.len() + usize::from(for_gc) < self.log_blocks.limit();
        if !may && !self.stalled {
            core.stats.log_block_stalls += 1;
        }
        self.stalled = !may;
        may
    }

    fn opened(&mut self, core: &mut Core, sb: Superblock) {
        self.log_blocks.add(sb);
        core.stats.max_log_blocks = core.stats.max_log_blocks.max(self.log_blocks.len() as u64);
    }

    #[inline]
    fn committed(&mut self, core: &mut Core, unit: Commit) {
        self.log_blocks.note(core.superblock_of(unit.ppa), unit.lpa.segment(), unit.seq);
        if let Some(source) = unit.source {
            self.collected_at[source.index()] = unit.seq;
        }
        let change = Change { lpa: unit.lpa, ppa: Some(unit.ppa), seq: unit.seq, source: unit.source };
        self.log(core, change);
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq) {
        self.log_blocks.note_trim(lpa.segment(), seq, seq.plus(n - 1));
        for i in 0..n {
            self.log(core, Change { lpa: lpa.offset(i), ppa: None, seq: seq.plus(i), source: None });
        }
    }

    fn metadata(&mut self, core: &mut Core, op: Op, data: DataOut, host_seq: Seq) -> Answer {
        match op {
            Op::SegmentRead { segment } => {
                let on_flash = core.meta.place(core.meta.segment_piece(segment)).is_some();
                if !on_flash || self.in_sram(segment).is_some() || core.sram.segment_hit(segment) {
                    return Answer::Now(Status::Good, self.segment_image(core, segment));
                }
                Answer::AfterLoad(segment)
            }
            Op::SegmentWrite { segment } => {
                // A host can not have applied more than it was told.
                let seq = host_seq.min(self.host_seq);
                Answer::Now(self.segment_write(core, segment, data, seq), DataIn::None)
            }
            Op::EntryTransfer => Answer::Now(Status::Good, self.all_entries(core)),
            Op::ValidBitmap { block, reason } => Answer::Now(self.bitmap(core, block, reason, data), DataIn::None),
            _ => Answer::Now(Status::InvalidField, DataIn::None),
        }
    }

    fn metadata_loaded(&mut self, core: &mut Core, op: Op) -> DataIn {
        match op {
            Op::SegmentRead { segment } => self.segment_image(core, segment),
            _ => unreachable!("{op:?} never waits for a segment"),
        }
    }

    /// Entries and writeback hints share the piggyback bytes. Hints go first: without them the host's stream comes to
    /// a stop, while a backlog of entries has a command of its own.
    #[inline]
    fn respond(&mut self, core: &mut Core, response: &mut Response) {
        response.piggyback.want_entries = core.log.unsent() > usize::from(core.cfg.log.handover_above);
        response.piggyback.want_victim = self.want_victim;
        if let Some((sb, told @ false)) = &mut self.want_bitmap {
            *told = true;
            response.piggyback.notice = Notice::BitmapOf(*sb);
            return;
        }
        if let Some(segment) = self.writeback_hint(core) {
            response.piggyback.notice = Notice::WriteSegment(segment);
        } else if let Some(entry) = core.log.send_next() {
            core.stats.entries_piggybacked += 1;
            response.piggyback.notice = Notice::Entry(entry);
        }
    }

    /// Programs segments from the host when a row is full. The last ones that a log block waits for go at once.
    fn background(&mut self, core: &mut Core, idle: bool) {
        core.trims_covered(self.log_blocks.trims_covered_below());
        while !self.queued.is_empty() {
            let room = core.meta_room();
            if self.queued.len() < room && !idle && !self.log_blocks.waits_for_last() {
                return;
            }
            let n = self.queued.len().min(room);
            let pieces: Vec<Piece> = self.queued.iter().take(n).map(|w| core.meta.segment_piece(w.segment)).collect();
            let (ppa, taken) = core.program_pieces(&pieces, Errand::Background);
            core.stats.segment_writes += taken as u64;
            let placed = self.queued.drain(..taken).zip(0..);
            self.programming.extend(placed.map(|(w, i)| Writeback { ppa: Some(ppa.offset(i)), ..w }));
        }
    }

    fn waits_for_idle(&self) -> bool {
        !self.queued.is_empty()
    }

    fn held_map_buffers(&self) -> usize {
        self.queued.len() + self.programming.len()
    }

    /// A segment from the host is on flash. If a newer copy of it got there first, this one is dead on arrival.
    fn piece_programmed(&mut self, core: &mut Core, piece: Piece, ppa: Ppa) {
        let at = self.programming.iter().position(|w| w.ppa == Some(ppa));
        let written = self.programming.swap_remove(at.expect("a segment is listed until it is on flash"));
        core.sram.give(Owner::Load, 1);
        if written.seq == self.coming[written.segment.index()] {
            self.coming[written.segment.index()] = Seq(0);
        }
        if written.seq >= core.meta.segment_seq(written.segment) {
            core.meta.moved(piece, ppa);
            core.meta.segment_written(written.segment, written.seq);
            core.meta.pages.set_segment(written.segment, written.image);
        }
    }

    fn piece_moved(&mut self, from: Ppa, to: Ppa) {
        if let Some(written) = self.programming.iter_mut().find(|w| w.ppa == Some(from)) {
            written.ppa = Some(to);
        }
    }

    fn log_blocks(&self, _core: &Core) -> Vec<Superblock> {
        self.log_blocks.superblocks().collect()
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.log_blocks.close_trims();
    }

    /// Copies that made it to flash count, in the order in which they were written.
    fn cut(&mut self, core: &mut Core, lost: &[(Piece, Ppa)]) {
        for written in std::mem::take(&mut self.programming) {
            let ppa = written.ppa.expect("a segment being programmed has a place");
            if !lost.iter().any(|&(_, at)| at == ppa) {
                core.meta.segment_written(written.segment, written.seq);
                core.meta.pages.set_segment(written.segment, written.image);
            }
        }
    }

    /// The segments on flash hold every change; the host begins from there.
    fn restored(core: &mut Core) -> HpUfs {
        let last = Seq(core.next_seq().0 - 1);
        HpUfs { host_seq: last, newest: last, ..HpUfs::new(core) }
    }

    /// A step makes entries, and the log has to have room for them: none is taken while the host lags behind
    /// (facts, "GC").
    fn gc_ready(&self, core: &Core) -> bool {
        let log = &core.cfg.log;
        core.log.unsent() <= usize::from(log.handover_above) && core.log.len() < usize::from(log.gc_pause_at)
    }

    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        if let Some(victim) = self.victim.take() {
            self.collecting = Some((victim.sb, false));
            return Some(victim);
        }
        // One question at a time. After a refused answer about the cold block comes GC's turn.
        match named.filter(|&sb| core.blocks.settled(sb) && !self.wear_refused) {
            Some(sb) if self.want_bitmap.is_none() => self.want_bitmap = Some((sb, false)),
            Some(_) => {}
            None => {
                self.want_victim = true;
                self.wear_refused = false;
            }
        }
        None
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        let first = core.layout.first_ppa(victim.sb);
        let units = core.layout.superblock_units();
        if victim.take_from_bitmap(first, units, budget) { Search::Exhausted } else { Search::Found }
    }

    /// The bitmap may be older than the log: a page that the log has a newer place for needs no copy. One that was
    /// overtaken unnoticed is copied in vain, and the host discards its entry by the source block (Sec. III-E).
    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        lpa.0 < core.cfg.capacity_units
            && core.log.get(lpa).is_none_or(|logged| core.logged_over(logged, Some(ppa)) == Some(ppa))
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.collected_at[sb.index()] = self.newest;
        if let Some((_, true)) = self.collecting.take() {
            self.retire(core, sb);
        }
    }

    fn table_bytes(&self, core: &Core) -> (u64, u64) {
        let log = u64::from(core.cfg.log.entries) * 16;
        let collected = 4 * u64::from(core.blocks.count());
        (log + core.meta.table_bytes() + self.log_blocks.table_bytes() + collected, 0)
    }
}

impl HpUfs {
    /// Without an address from the host, or with a wrong one. What is on flash is good only if the segment has no
    /// change that is missing there.
    fn resolve_alone(&mut self, core: &mut Core, lpa: Lpa) -> Resolved {
        let segment = lpa.segment();
        if self.log_blocks.mention(segment, core.meta.segment_seq(segment)) {
            return match core.log.get(lpa) {
                Some(logged) if logged.source.is_none() => {
                    logged.ppa.map_or(Resolved::Unmapped, |ppa| Resolved::Page { ppa, from_host: false })
                }
                _ => Resolved::Unknown,
            };
        }
        if core.meta.place(core.meta.segment_piece(segment)).is_none() {
            return Resolved::Unmapped;
        }
        if core.sram.segment_hit(segment) {
            core.stats.segment_hits += 1;
            let place = self.resolve_loaded(core, lpa);
            return place.map_or(Resolved::Unmapped, |ppa| Resolved::Page { ppa, from_host: false });
        }
        core.stats.segment_misses += 1;
        Resolved::Load(segment)
    }
}
