//! `hp-ufs`: the host keeps changed mappings, the valid page bitmap and the valid page counts (HP-UFS Sec. III).
//!
//! New mappings go through the log buffer to the host, by piggyback or multi-entry transfer, and leave the log when the
//! host says, by its sequence number, that it has applied them. Segments come back when the device asks for them, from
//! the oldest log block on, or when the host evicts them. GC copies what the host's bitmap names.
//!
//! With `map.segment_kib` below 4 a segment comes back in parts: those that the host has changed. They are map units of
//! their own, collected until a page is full (MSFTL Sec. 3.2), while host, log blocks and hints know only whole segments. So no
//! more commands are needed than without parts; but a segment that the host reads is assembled from several pages.

use std::collections::VecDeque;
use std::ops::Range;

use live::recycle_segment;
use ufs::{
    BitmapFor, DataIn, DataOut, LpaRun, MAX_TRANSFER_ENTRIES, Notice, Op, Quarters, Response, SegmentImage,
    SegmentState, Status,
};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use super::log_blocks::LogBlocks;
use crate::blocks::Stream;
use crate::config::DeviceConfig;
use crate::engine::core::Core;
use crate::gc::Victim;
use crate::log::Change;
use crate::map_units::{MapShape, UnitRun, UnitSet};
use crate::meta::Piece;
use crate::seat::{
    Absorb, Answer, Background, Commit, HostProtocol, HostRole, HostSays, LoadedFor, MapMemory, NoFlush, Placement,
    Reclaim, Recover, Resolved, Scheme, Search, Table, Translate,
};
use crate::sram::Owner;

/// A map unit from the host, in SRAM until it is on flash.
#[derive(Debug)]
struct Writeback {
    unit: SegmentId,
    /// Host sequence number that it came with: it holds every change up to it.
    seq: Seq,
    entries: Entries,
}

/// The entries of a map unit, packed.
#[derive(Debug)]
enum Entries {
    /// A whole segment.
    Whole(SegmentState),
    /// Less than one.
    Part(Box<[u32]>),
}

/// One that is being programmed, and where.
#[derive(Debug)]
struct Programming {
    ppa: Ppa,
    copy: Writeback,
}

impl Programming {
    fn is(&self, piece: Piece, ppa: Ppa) -> bool {
        self.ppa == ppa && self.copy.unit.0 == piece.0
    }
}

/// The entries of these addresses in their segment.
fn slots_in_segment(range: Range<u32>) -> Range<usize> {
    let first = Lpa(range.start).slot();
    first..first + range.len()
}

/// Up to which change a whole segment is complete on flash.
fn written(core: &Core, segment: SegmentId) -> Seq {
    let parts = core.units().of_segment(segment).iter();
    parts.map(|unit| core.meta().segment_seq(unit)).min().unwrap_or(Seq(0))
}

/// Up to which change it will be, if any part of it is on its way there: `coming` are their numbers.
fn under_way(core: &Core, coming: &[Seq], segment: SegmentId) -> Option<Seq> {
    let parts = || core.units().of_segment(segment).iter();
    let then = |unit: SegmentId| coming[unit.index()].max(core.meta().segment_seq(unit));
    if parts().any(|unit| coming[unit.index()] > Seq(0)) { parts().map(then).min() } else { None }
}

/// A map unit is on flash.
fn keep_content(core: &mut Core, written: Writeback) {
    core.segment_written(written.unit, written.seq);
    let range = core.units().range(written.unit);
    match written.entries {
        Entries::Whole(state) => core.set_state(Lpa(range.start).segment(), state),
        Entries::Part(packed) => core.set_entries(range, &packed),
    }
}

/// State of the scheme.
#[derive(Debug)]
pub struct HpUfs {
    /// Latest change that the host has applied.
    host_seq: Seq,
    /// Highest number given out so far, to refuse a host that claims to know the future.
    newest: Seq,
    log_blocks: LogBlocks,
    /// Map units that wait for a full row, those being programmed, and the buffers that all of them take. Both lists are in the
    /// order in which the host sent them: of two copies of one unit the latter is the newer.
    queued: VecDeque<Writeback>,
    programming: VecDeque<Programming>,
    /// Where in `programming` the last one was found; that of the next unit of the same row stands there now.
    found_at: usize,
    held: u16,
    /// Highest number among the copies of each map unit in these two; 0 = none. An index of the simulator: the lists are as
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
        if !core.blocks().exists(sb) || !core.blocks().settled(sb) || core.blocks().last_seq(sb) > self.host_seq {
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

    /// Latest copy of a map unit that has not reached the image yet.
    fn in_sram(&self, unit: SegmentId) -> Option<&Entries> {
        if self.coming[unit.index()] == Seq(0) {
            return None;
        }
        let newest = self.queued.iter().chain(self.programming.iter().map(|p| &p.copy));
        newest.filter(|w| w.unit == unit).max_by_key(|w| w.seq).map(|w| &w.entries)
    }

    fn segment_write(&mut self, core: &mut Core, segment: SegmentId, data: DataOut, seq: Seq) -> Status {
        self.log_blocks.answered(segment);
        let units = core.units();
        let run = units.of_segment(segment);
        let sent = match &data {
            DataOut::None => 0,
            DataOut::Segment(_) => Quarters::ALL_BITS,
            DataOut::SegmentParts(quarters, _) => quarters.bits(),
            _ => return Status::InvalidField,
        };
        // Half a map unit can not be written.
        if run.iter().any(|unit| ![0, units.quarters(unit)].contains(&(units.quarters(unit) & sent))) {
            return Status::InvalidField;
        }
        for unit in run.iter().filter(|&unit| units.quarters(unit) & sent == 0) {
            self.attest(core, unit, seq);
        }
        if sent == 0 {
            core.stats.segment_attests += 1;
            return Status::Good;
        }
        core.stats.segment_writebacks += 1;
        match data {
            DataOut::Segment(whole) if units.is_plain() => self.queue(core, run.first, seq, Entries::Whole(whole)),
            DataOut::Segment(whole) => self.queue_parts(core, run, (sent, whole.image()), seq),
            DataOut::SegmentParts(_, image) => self.queue_parts(core, run, (sent, image), seq),
            _ => {}
        }
        Status::Good
    }

    fn queue_parts(&mut self, core: &mut Core, run: UnitRun, (sent, image): (u8, Box<SegmentImage>), seq: Seq) {
        let units = core.units();
        for unit in run.iter().filter(|&unit| units.quarters(unit) & sent != 0) {
            let entries = slots_in_segment(units.range(unit));
            self.queue(core, unit, seq, Entries::Part(image[entries].into()));
        }
        recycle_segment(image);
    }

    fn queue(&mut self, core: &mut Core, unit: SegmentId, seq: Seq, entries: Entries) {
        let coming = &mut self.coming[unit.index()];
        let fresh = *coming == Seq(0);
        *coming = (*coming).max(seq);
        // Nothing would tell two copies in one flash unit apart: the older one gives way.
        let shares = core.units().per_flash_unit() > 1;
        if shares
            && !fresh
            && let Some(older) = self.queued.iter_mut().find(|w| w.unit == unit)
        {
            (older.seq, older.entries) = (older.seq.max(seq), entries);
            return;
        }
        self.queued.push_back(Writeback { unit, seq, entries });
        let more = self.buffers(core) - self.held;
        let taken = core.take_buffers(Owner::Load, more);
        assert!(taken, "a segment write starts only with a buffer");
        self.held += more;
    }

    /// Orders the first `n` of the queue so that segments whose parts are all among them share flash units with no other: they
    /// are read whole one day.
    fn put_whole_segments_first(&mut self, core: &Core, n: usize) {
        let units = core.units();
        if units.is_plain() {
            return;
        }
        let segment = |w: &Writeback| Lpa(units.range(w.unit).start).segment();
        let first = &mut self.queued.make_contiguous()[..n];
        let parts = |of: SegmentId| first.iter().filter(|w| segment(w) == of).count() as u32;
        let whole: Vec<SegmentId> = first.iter().map(segment).filter(|&s| parts(s) == units.of_segment(s).n).collect();
        first.sort_by_key(|w| if whole.contains(&segment(w)) { w.unit.0 } else { u32::MAX });
    }

    /// Buffers that the map units from the host take, those that share one side by side.
    fn buffers(&self, core: &Core) -> u16 {
        core.units().buffers((self.queued.len() + self.programming.len()) as u32) as u16
    }

    /// The host has no change of the map unit that it has not written: the latest copy is good up to `seq`, be it on
    /// flash or still on its way there.
    fn attest(&mut self, core: &mut Core, unit: SegmentId, seq: Seq) {
        if self.coming[unit.index()] == Seq(0) {
            core.raise_segment_seq(unit, seq);
            return;
        }
        let copies = self.programming.iter_mut().map(|p| &mut p.copy).chain(&mut self.queued);
        if let Some(latest) = copies.filter(|w| w.unit == unit).last() {
            latest.seq = latest.seq.max(seq);
            self.coming[unit.index()] = latest.seq;
        }
    }

    fn segment_image(&self, core: &Core, segment: SegmentId) -> DataIn {
        let mut image = core.meta().pages.segment(segment);
        let units = core.units();
        for unit in units.of_segment(segment).iter() {
            match self.in_sram(unit) {
                None => {}
                Some(Entries::Whole(newer)) => recycle_segment(std::mem::replace(&mut image, newer.image())),
                Some(Entries::Part(newer)) => {
                    let entries = slots_in_segment(units.range(unit));
                    let len = entries.len();
                    image[entries].copy_from_slice(&newer[..len]);
                }
            }
        }
        DataIn::Segment(image)
    }

    /// The map units of a segment that the host wants to read which have to come from flash first.
    fn missing(&self, core: &mut Core, segment: SegmentId) -> UnitSet {
        let mut missing = UnitSet::default();
        for unit in core.units().of_segment(segment).iter() {
            let on_flash = core.place_of(unit).is_some();
            if on_flash && self.in_sram(unit).is_none() && !core.segment_hit(unit) {
                missing.add(unit);
            }
        }
        missing
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
        let expected = (core.layout().superblock_units() as usize).div_ceil(64);
        // A bitmap from before the host had applied all of the block's changes may name the older of two pages of one
        // address in this very block. Its copy would pass the source check, which knows blocks only (Sec. III-E).
        let complete = core.blocks().last_seq(block) <= self.host_seq;
        let current = complete && self.collected_at[block.index()] <= self.host_seq;
        if bitmap.len() != expected || !core.blocks().settled(block) || !current || self.victim.is_some() {
            return Status::InvalidField;
        }
        if self.collecting.is_some_and(|(sb, _)| sb == block) || core.is_being_copied(block) {
            return Status::InvalidField;
        }
        if !wear && !self.want_victim {
            return Status::InvalidField;
        }
        self.wear_refused = false;
        self.want_victim = false;
        let valid = bitmap.iter().map(|bits| bits.count_ones()).sum();
        let mut victim = Victim::new(block, wear, valid);
        victim.bitmap = bitmap;
        self.victim = Some(victim);
        Status::Good
    }

    fn all_entries(&mut self, core: &mut Core) -> DataIn {
        let n = core.log().unsent().min(MAX_TRANSFER_ENTRIES as usize);
        let entries: Vec<_> = (0..n).map_while(|_| core.send_next()).collect();
        core.stats.entries_transferred += entries.len() as u64;
        DataIn::Entries(entries)
    }

    #[inline(never)]
    fn program_queued(&mut self, core: &mut Core, room: usize) {
        let n = self.queued.len().min(room);
        self.put_whole_segments_first(core, n);
        let pieces: Vec<Piece> = self.queued.iter().take(n).map(|w| core.meta().segment_piece(w.unit)).collect();
        let (ppa, taken) = core.program_beside(&pieces);
        let mut placing = core.meta().placing();
        let mut place = |w: &Writeback| ppa.offset(placing.put(core.meta().segment_piece(w.unit)).start);
        let placed = self.queued.drain(..taken).map(|copy| Programming { ppa: place(&copy), copy });
        self.programming.extend(placed);
    }

    fn take_programming(&mut self, piece: Piece, ppa: Ppa) -> Option<Writeback> {
        if !self.programming.get(self.found_at).is_some_and(|p| p.is(piece, ppa)) {
            self.found_at = self.programming.iter().position(|p| p.is(piece, ppa))?;
        }
        self.programming.remove(self.found_at).map(|p| p.copy)
    }

    /// The segment to ask for next, if the oldest log block is due.
    #[inline]
    fn writeback_hint(&mut self, core: &Core) -> Option<SegmentId> {
        if !self.log_blocks.due() {
            return None;
        }
        let coming = &self.coming;
        let written = |segment| written(core, segment);
        let coming = |segment| under_way(core, coming, segment);
        self.log_blocks.next_to_write(self.host_seq, core.blocks(), written, coming)
    }

    #[inline(always)]
    fn log(&mut self, core: &mut Core, change: Change) {
        self.newest = self.newest.max(change.seq);
        core.log_change(change);
    }
}

impl Scheme for HpUfs {
    const HOST: HostRole = HostRole::KeepsMapping;

    fn map_shape(cfg: &DeviceConfig) -> MapShape {
        MapShape::part_of_segment(cfg.map_segment_bytes)
    }

    fn new(core: &Core) -> HpUfs {
        HpUfs {
            host_seq: Seq(0),
            newest: Seq(0),
            log_blocks: LogBlocks::new(core.cfg()),
            queued: VecDeque::new(),
            programming: VecDeque::new(),
            found_at: 0,
            held: 0,
            coming: vec![Seq(0); core.units().count() as usize],
            victim: None,
            collecting: None,
            collected_at: vec![Seq(0); core.blocks().count() as usize],
            want_victim: false,
            want_bitmap: None,
            wear_refused: false,
            stalled: false,
        }
    }

    fn memory(&self, core: &Core) -> MapMemory {
        let log = u64::from(core.cfg().log.entries) * 16;
        let collected = 4 * u64::from(core.blocks().count());
        MapMemory { sram: log + core.meta().table_bytes() + self.log_blocks.table_bytes() + collected, dram: 0 }
    }
}

impl Translate for HpUfs {
    /// The host's address, corrected by what the host has not applied yet (Sec. III-C).
    #[inline]
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, host: HostSays) -> Resolved {
        let base = match host {
            HostSays::At(ppa) => Some(ppa),
            HostSays::Unmapped => None,
            HostSays::Nothing => return self.resolve_alone(core, lpa),
        };
        let Some(logged) = core.log().get(lpa) else {
            return base.map_or(Resolved::Unmapped, |ppa| Resolved::Page { ppa, from_host: true });
        };
        core.count_log_hit();
        match core.logged_over(logged, base) {
            Some(ppa) => Resolved::Page { ppa, from_host: Some(ppa) == base },
            None => Resolved::Unmapped,
        }
    }

    fn resolve_loaded(&mut self, core: &mut Core, lpa: Lpa, _purpose: LoadedFor) -> Option<Ppa> {
        Self::current(core, lpa)
    }

    /// What the device could say without the host's address; see [`HpUfs::resolve_alone`]. With it no read needs flash.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let unit = core.units().of(lpa);
        if self.log_blocks.mention(lpa.segment(), core.meta().segment_seq(unit)) {
            return core.log().get(lpa).is_some_and(|logged| logged.source.is_none());
        }
        core.holds_segment(unit) || core.place_of(unit).is_none()
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        let segment = |unit| Lpa(core.units().range(unit).start).segment();
        let complete = |unit| !self.log_blocks.mention(segment(unit), core.meta().segment_seq(unit));
        core.list_cached(runs, complete, |lpa| self.cached(core, lpa));
    }
}

impl Absorb for HpUfs {
    #[inline]
    fn room(&self, core: &Core) -> usize {
        core.log().room().saturating_sub(core.units_to_log())
    }

    #[inline(always)]
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

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.log_blocks.close_trims();
    }
}

impl Placement for HpUfs {
    /// The number of log blocks bounds the time of a recovery (Sec. III-G). The last one is kept for the collector,
    /// without which no superblock would become free.
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        if stream == Stream::Gc {
            return self.log_blocks.len() < self.log_blocks.limit();
        }
        let for_gc = core.blocks().open(Stream::Gc).is_none();
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

    fn log_blocks(&self, _core: &Core) -> Vec<Superblock> {
        self.log_blocks.superblocks().collect()
    }
}

impl Background for HpUfs {
    /// Programs map units from the host when a row is full. The last ones that a log block waits for go at once.
    #[inline(always)]
    fn background(&mut self, core: &mut Core, idle: bool) {
        core.trims_covered(self.log_blocks.trims_covered_below());
        while !self.queued.is_empty() {
            let units = core.meta_room() as u32;
            let room = core.units().fitting(units) as usize;
            if self.queued.len() < room && !idle && !self.log_blocks.waits_for_last() {
                return;
            }
            self.program_queued(core, room);
        }
    }

    fn waits_for_idle(&self) -> bool {
        !self.queued.is_empty()
    }

    fn held_map_buffers(&self) -> usize {
        self.held.into()
    }

    /// A map unit from the host is on flash. If a newer copy of it got there first, this one is dead on arrival.
    fn piece_programmed(&mut self, core: &mut Core, piece: Piece, ppa: Ppa) -> bool {
        let written = self.take_programming(piece, ppa).expect("a map unit is listed until it is on flash");
        let less = self.held - self.buffers(core);
        core.give_buffers(Owner::Load, less);
        self.held -= less;
        if written.seq == self.coming[written.unit.index()] {
            self.coming[written.unit.index()] = Seq(0);
        }
        let newest = written.seq >= core.meta().segment_seq(written.unit);
        if newest {
            keep_content(core, written);
        }
        newest
    }

    fn piece_moved(&mut self, piece: Piece, from: Ppa, to: Ppa) {
        if let Some(written) = self.programming.iter_mut().find(|p| p.is(piece, from)) {
            written.ppa = to;
        }
    }
}

impl Reclaim for HpUfs {
    /// A step makes entries, and the log has to have room for them: none is taken while the host lags behind
    /// (facts, "GC").
    fn gc_ready(&self, core: &Core) -> bool {
        let log = &core.cfg().log;
        core.log().unsent() <= usize::from(log.handover_above) && core.log().len() < usize::from(log.gc_pause_at)
    }

    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        if let Some(victim) = self.victim.take() {
            self.collecting = Some((victim.sb, false));
            return Some(victim);
        }
        // One question at a time. After a refused answer about the cold block comes GC's turn.
        match named.filter(|&sb| core.blocks().settled(sb) && !self.wear_refused) {
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
        let first = core.layout().first_ppa(victim.sb);
        let units = core.layout().superblock_units();
        if victim.take_from_bitmap(first, units, budget) { Search::Exhausted } else { Search::Found }
    }

    /// The bitmap may be older than the log: a page that the log has a newer place for needs no copy. One that was
    /// overtaken unnoticed is copied in vain, and the host discards its entry by the source block (Sec. III-E).
    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        lpa.0 < core.capacity_units()
            && core.log().get(lpa).is_none_or(|logged| core.logged_over(logged, Some(ppa)) == Some(ppa))
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.collected_at[sb.index()] = self.newest;
        if let Some((_, true)) = self.collecting.take() {
            self.retire(core, sb);
        }
    }
}

impl Recover for HpUfs {
    const TABLE: Table = Table::Segments;

    /// Copies that made it to flash count, in the order in which they were written, unless a newer one got there first.
    fn on_power_loss(&mut self, core: &mut Core, lost: &[(Piece, Ppa)]) {
        for Programming { ppa, copy } in std::mem::take(&mut self.programming) {
            let survived = !lost.contains(&(Piece(copy.unit.0), ppa));
            if survived && copy.seq >= core.meta().segment_seq(copy.unit) {
                keep_content(core, copy);
            }
        }
    }

    /// The segments on flash hold every change; the host begins from there.
    fn restored(core: &mut Core) -> HpUfs {
        let last = Seq(core.next_seq().0 - 1);
        HpUfs { host_seq: last, newest: last, ..HpUfs::new(core) }
    }
}

impl HostProtocol for HpUfs {
    /// A segment that the host wants to read.
    type Awaited = SegmentId;

    /// The host sequence number says which entries the host has applied; they leave the log (Sec. III-C).
    #[inline(always)]
    fn on_command(&mut self, core: &mut Core, host_seq: Seq, freed: Option<Superblock>) {
        if host_seq > self.host_seq && host_seq <= self.newest {
            self.host_seq = host_seq;
            core.forget_applied(host_seq);
        }
        if let Some(sb) = freed {
            self.freed(core, sb);
        }
    }

    fn metadata(&mut self, core: &mut Core, op: Op, data: DataOut, host_seq: Seq) -> Answer<SegmentId> {
        match op {
            Op::SegmentRead { segment } => {
                let missing = self.missing(core, segment);
                if missing.is_empty() {
                    return Answer::Now(Status::Good, self.segment_image(core, segment));
                }
                Answer::AfterLoad(missing, segment)
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

    fn metadata_loaded(&mut self, core: &mut Core, segment: SegmentId) -> DataIn {
        self.segment_image(core, segment)
    }

    /// Entries and writeback hints share the piggyback bytes. Hints go first: without them the host's stream comes to
    /// a stop, while a backlog of entries has a command of its own.
    #[inline(always)]
    fn respond(&mut self, core: &mut Core, response: &mut Response) {
        response.piggyback.want_entries = core.log().unsent() > usize::from(core.cfg().log.handover_above);
        response.piggyback.want_victim = self.want_victim;
        if let Some((sb, told @ false)) = &mut self.want_bitmap {
            *told = true;
            response.piggyback.notice = Notice::BitmapOf(*sb);
            return;
        }
        if let Some(segment) = self.writeback_hint(core) {
            response.piggyback.notice = Notice::WriteSegment(segment);
        } else if let Some(entry) = core.send_next() {
            core.stats.entries_piggybacked += 1;
            response.piggyback.notice = Notice::Entry(entry);
        }
    }
}

impl NoFlush for HpUfs {}

impl HpUfs {
    /// The mapping of an address whose map unit is in SRAM, or has just been read.
    fn current(core: &Core, lpa: Lpa) -> Option<Ppa> {
        // The host wrote this entry.
        let base = core.meta().pages.entry(lpa).filter(|&ppa| core.is_data(ppa, 1));
        match core.log().get(lpa) {
            Some(logged) => core.logged_over(logged, base),
            None => base,
        }
    }

    /// Without an address from the host, or with a wrong one. What is on flash is good only if the segment has no
    /// change that is missing there.
    fn resolve_alone(&mut self, core: &mut Core, lpa: Lpa) -> Resolved {
        let unit = core.units().of(lpa);
        if self.log_blocks.mention(lpa.segment(), core.meta().segment_seq(unit)) {
            return match core.log().get(lpa) {
                Some(logged) if logged.source.is_none() => Resolved::own(logged.ppa),
                _ => Resolved::Unknown,
            };
        }
        if core.place_of(unit).is_none() {
            return Resolved::Unmapped;
        }
        if core.segment_hit(unit) {
            core.count_segment_hit();
            return Resolved::own(Self::current(core, lpa));
        }
        Resolved::Load(unit)
    }
}

#[cfg(test)]
#[path = "hp_ufs_tests.rs"]
mod tests;
