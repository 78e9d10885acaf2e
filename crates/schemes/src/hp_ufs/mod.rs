//! `hp-ufs`: the host keeps changed mappings, the valid page bitmap and the valid page counts (HP-UFS Sec. III).
//!
//! New mappings go through the log buffer to the host, by piggyback or multi-entry transfer. They leave the log when
//! the host's sequence number shows that it has applied them. The host writes segments back when the device asks for
//! them, from the oldest log block on, or when it evicts them. GC copies the pages in the host's bitmap.
//!
//! # Invariants and their reasons
//! - The host applies entries strictly in the order of their numbers, without gaps. The device forgets an entry only
//!   when a command proves that it was applied. So the device's log over the host's table always gives the true
//!   mapping.
//! - A GC copy carries its source block. Host table and device log apply it only where the mapping still names that
//!   block. So a host write that overtook the copy wins although its number is smaller.
//! - Commands start in the order in which they were sent. As a command starts, the device notes what the host has
//!   applied, and a read is resolved. So the log never forgets an entry that a read already under way needs.
//! - The device believes that a superblock is free only if the host has applied everything ever placed in it
//!   (`HpUfs::freed`).
//! - The number of log blocks is limited. The host's stream leaves the last one to GC, without which nothing becomes
//!   free. Writeback of the oldest one starts before the limit is reached (`LogBlocks::writeback_due`).
//! - When a source block is erased, the device forgets the pages that GC has read from it and that wait for a full row.
//!   Otherwise the block could be refilled with newer data of the same address, and the copy would pass the source
//!   check.
//! - The device takes a bitmap only if the host made it after applying all changes in its block (`victims`). The source
//!   check knows blocks, not pages: of two pages of one address in the same superblock it would let a copy of the older
//!   one pass.
//! - The device can speak only in responses. If requests are outstanding and nothing comes for 200 us, the driver polls
//!   with an entry transfer, whose response carries the hints that the device could not give.
//! - The driver reserves tags for metadata, and the device SRAM buffers. So writes that wait for room in the log can
//!   not block the commands that make room.
//!
//! # Trust
//! The host *is* the mapping. A host may present an older place of the same LPA, after it has said that it has applied
//! the newer one. It then gets the older data as long as that page is not erased. A device that is to notice by itself
//! has to know which of N pages are stale. That is log2(C(N, stale)) bits, or 2.7 MiB for 128 GiB with 15%
//! over-provisioning, more than all its SRAM. Proofs from an authenticated tree in host memory would not fit the eight
//! bytes of a command. The host never gets another LPA's data: every page read is checked against its spare area.
//!
//! # Segments in parts
//! With `segment_kib` below 4 the host writes a segment back in parts: those that it has changed. A part is a map unit
//! of its own. Parts are collected until a page is full (MSFTL Sec. 3.2). Host, log blocks and hints know only whole
//! segments, so no more commands are needed than without parts.
//!
//! - The host caches segments of 4 KiB and notes which quarters are dirty. A writeback carries the parts with dirty
//!   quarters (`DataOut::SegmentParts`; the descriptor `map_page_entries` tells the size). It attests the other parts,
//!   as for a clean segment. Device and host keep one number per part, log blocks one bit per segment.
//! - Log blocks and hints could also work with parts. But a response has room for one hint, and each hint is a command:
//!   random writes in 16 GiB would take three times as many commands, to save 16% of the bytes. (With 10 log blocks of
//!   4096 units over 4096 segments, a segment collects 11 changes until its writeback, so that 94% of its quarters are
//!   dirty by then.)
//! - Parts make reading more expensive: a segment whose parts were written at different times comes from up to four
//!   pages. Their reads go out together and hold their buffers until the last is done (`engine/loads.rs`).
//! - A segment that the host drops will be read again, so it is written whole, and its parts are put into flash units
//!   of their own. (Written in parts, random writes in 64 GiB with 20 MB of cache went from 301 to 223 MiB/s.)

mod log_blocks;
mod victims;
mod writebacks;

use params::ParamError;
use ufs::{DataIn, DataOut, LpaRun, MAX_TRANSFER_ENTRIES, Notice, Op, Quarters, Response, Status};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock, UNIT_BYTES, UNIT_KIB};

use self::log_blocks::LogBlocks;
use self::victims::{SentBitmap, Victims};
use self::writebacks::{Entries, SentParts, Writebacks};
use ftl::EngineConfig;
use ftl::seat::{
    Absorb, Answer, Background, Change, Commit, Core, Declared, HostProtocol, HostRole, HostSays, Loaded, LoadedFor,
    LoadedSet, MapMemory, MapShape, NoFlush, Piece, Placement, Programmed, ProgrammedSet, Reclaim, Recover, Resolved,
    Scheme, Search, Stream, Table, Translate, Victim,
};

params::params! {
    /// `hp-ufs`: how mappings go to the host and come back.
    pub HpUfsParams {
        /// Size of the parts that an L2P segment of 4 KiB is written in. Only parts with changes are written, several
        /// to a page; the directory has a place for each.
        segment_kib: one_of(1 2 4) = 4,
            "HP-UFS Sec. II-A: an L2P segment has 4 KB; smaller parts are an option of this project, after MSFTL Sec. \
            3.1", fixed;
        /// More log entries than this not yet handed to the host raise the multi-entry hint.
        handover_above_entries: count(1 to 65535) = 192, "HP-UFS authors' prototype: 192";
        /// No GC step while the log holds this many entries.
        gc_pause_at_entries: count(1 to 65535) = 768, "HP-UFS authors' prototype: 768";
        /// A wrong model, to compare with: GC reads every segment that has a page in its victim, as UFS and HPB do to
        /// find the valid ones, though the host has named these.
        searches_flash: switch = false, "HP-UFS Sec. III-E: the host sends the bitmap, and GC reads no segment";
    }
}

units::counters! {
    /// What `hp-ufs` counts.
    HpUfsCounters
    /// Segments that the host wrote back with data.
    segment_writebacks: always,
    /// Segments that the host attested as already up to date.
    segment_attests: always,
    /// Times a write waited for a log block to become a normal block.
    log_block_stalls: always,
    /// Largest number of log blocks at once.
    max_log_blocks: gauge always,
}

/// State of the scheme.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct HpUfs {
    /// Latest change that the host has applied.
    host_seq: Seq,
    /// Highest number given out so far. A host that claims to have applied a higher one is refused.
    newest: Seq,
    log_blocks: LogBlocks,
    writebacks: Writebacks,
    victims: Victims,
    /// The host's stream was refused a superblock, and the stall has been counted.
    stalled: bool,
    own: HpUfsParams,
    counters: HpUfsCounters,
}

impl HpUfs {
    /// The host names a block without valid pages. The device believes it if the host had applied everything that was
    /// ever placed there when it said so, up to `said`.
    fn freed(&mut self, core: &mut Core, sb: Superblock, said: Seq) {
        if !core.blocks().exists(sb) || !core.blocks().settled(sb) || core.blocks().last_seq(sb) > said {
            return;
        }
        if !self.victims.found_empty(sb) {
            self.retire(core, sb);
        }
    }

    fn retire(&mut self, core: &mut Core, sb: Superblock) {
        self.log_blocks.remove(sb);
        self.victims.erased(sb);
        core.retire(sb);
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
        // A map unit can only be written whole.
        if run.iter().any(|unit| ![0, units.quarters(unit)].contains(&(units.quarters(unit) & sent))) {
            return Status::InvalidField;
        }
        for unit in run.iter().filter(|&unit| units.quarters(unit) & sent == 0) {
            self.writebacks.attest(core, unit, seq);
        }
        if sent == 0 {
            self.counters.segment_attests += 1;
            return Status::Good;
        }
        self.counters.segment_writebacks += 1;
        match data {
            DataOut::Segment(whole) if units.is_plain() => {
                self.writebacks.queue(core, run.first, seq, Entries::Whole(whole));
            }
            DataOut::Segment(whole) => {
                let sent = SentParts { quarters: sent, image: whole.image() };
                self.writebacks.queue_parts(core, run, sent, seq);
            }
            DataOut::SegmentParts(_, image) => {
                self.writebacks.queue_parts(core, run, SentParts { quarters: sent, image }, seq);
            }
            _ => {}
        }
        Status::Good
    }

    /// The segment to ask for next, if writeback is due.
    #[inline]
    fn writeback_hint(&mut self, core: &Core) -> Option<SegmentId> {
        if !self.log_blocks.writeback_due() {
            return None;
        }
        let written = |segment| writebacks::written(core, segment);
        let coming = |segment| self.writebacks.complete_when_done(core, segment);
        self.log_blocks.next_to_write(self.host_seq, core.blocks(), written, coming)
    }

    #[inline(always)]
    fn log(&mut self, core: &mut Core, change: Change) {
        self.newest = self.newest.max(change.seq);
        core.log_change(change);
    }
}

impl Declared for HpUfs {
    const NAME: &'static str = "hp-ufs";
    type Params = HpUfsParams;
    type Counters = HpUfsCounters;

    fn check(cfg: &EngineConfig, own: &Self::Params, table: &str) -> Result<(), ParamError> {
        let (row, log) = (cfg.geometry.row_units(), u32::from(cfg.log.entries));
        for (key, value) in
            [("handover_above_entries", own.handover_above_entries), ("gc_pause_at_entries", own.gc_pause_at_entries)]
        {
            if value >= log {
                return Err(ParamError::must_be(table, key, &value.into(), format!("below log.entries = {log}")));
            }
        }
        // One program needs log room for its whole row, at any fill level at which GC does not pause.
        let pause = own.gc_pause_at_entries;
        if pause + row > log {
            let allowed = format!("at least a row of {row} units below log.entries = {log}");
            return Err(ParamError::must_be(table, "gc_pause_at_entries", &pause.into(), allowed));
        }
        if own.segment_kib < UNIT_KIB {
            let why = format!("for {table}.segment_kib = {}: a row and a segment's parts", own.segment_kib);
            cfg.check_reserve(UNIT_KIB / own.segment_kib, &why)?;
        }
        let parts = cfg.table_bytes().div_ceil(u64::from(own.segment_kib) * 1024);
        cfg.check_metadata(parts, cfg.table_bytes().div_ceil(UNIT_BYTES))
    }

    fn counters(&self, _core: &Core) -> HpUfsCounters {
        self.counters
    }
}

impl Scheme for HpUfs {
    const HOST: HostRole = HostRole::KeepsMapping;
    const SHARES_UNITS: bool = true;
    const VARIANTS: &'static [&'static [&'static str]] = &[&["segment_kib=2"], &["segment_kib=1"]];

    fn map_shape(own: &HpUfsParams) -> MapShape {
        MapShape::part_of_segment(own.segment_kib * 1024)
    }

    fn new(core: &Core, own: &HpUfsParams) -> HpUfs {
        HpUfs {
            host_seq: Seq(0),
            newest: Seq(0),
            log_blocks: LogBlocks::new(core.cfg()),
            writebacks: Writebacks::new(core),
            victims: Victims::new(core),
            stalled: false,
            own: *own,
            counters: HpUfsCounters::default(),
        }
    }

    fn memory(&self, core: &Core) -> MapMemory {
        let log = u64::from(core.cfg().log.entries) * 16;
        let collected = self.victims.table_bytes();
        let sram = log + core.meta().table_bytes() + self.log_blocks.table_bytes() + collected;
        MapMemory { sram, ..MapMemory::default() }
    }
}

impl Translate for HpUfs {
    /// The host's address, corrected by changes that the host has not applied yet (Sec. III-C).
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

    fn resolve_loaded(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa, _purpose: LoadedFor) -> Option<Ppa> {
        Self::current(core, lpa, core.view(loaded).entry(lpa))
    }

    /// True if the device could resolve the address without the host; see `resolve_alone`. With the host's
    /// address no read needs a flash read for the mapping.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let unit = core.units().of(lpa);
        if self.log_blocks.may_lack_change(lpa.segment(), core.meta().segment_seq(unit)) {
            return core.log().get(lpa).is_some_and(|logged| logged.source.is_none());
        }
        core.holds_segment(unit) || core.place_of(unit).is_none()
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        let segment = |unit| core.units().segment_of(unit);
        let complete = |unit| !self.log_blocks.may_lack_change(segment(unit), core.meta().segment_seq(unit));
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
            self.victims.copied(source, unit.seq);
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
    /// The number of log blocks limits how long recovery takes (Sec. III-G).
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        let may = core.log_block_fits(self.log_blocks.len(), stream);
        if stream == Stream::Gc {
            return may;
        }
        if !may && !self.stalled {
            self.counters.log_block_stalls += 1;
        }
        self.stalled = !may;
        may
    }

    fn opened(&mut self, _core: &mut Core, sb: Superblock) {
        self.log_blocks.add(sb);
        self.counters.max_log_blocks = self.counters.max_log_blocks.max(self.log_blocks.len() as u64);
    }

    fn log_blocks(&self, _core: &Core) -> Vec<Superblock> {
        self.log_blocks.superblocks().collect()
    }
}

impl Background for HpUfs {
    /// Programs map units from the host when a row is full. The last ones that a log block waits for are programmed at
    /// once.
    #[inline(always)]
    fn background(&mut self, core: &mut Core, idle: bool) {
        core.trims_covered(self.log_blocks.trims_covered_below());
        while self.writebacks.has_queued() {
            let units = core.meta_room() as u32;
            let room = core.units().fitting(units) as usize;
            if self.writebacks.queue_len() < room && !idle && !self.log_blocks.waits_for_last() {
                return;
            }
            self.writebacks.program(core, room);
        }
    }

    fn waits_for_idle(&self) -> bool {
        self.writebacks.has_queued()
    }

    fn held_map_buffers(&self) -> usize {
        self.writebacks.held().into()
    }

    /// A map unit from the host is on flash. False if a newer copy of it was programmed first, which makes this one
    /// invalid.
    fn piece_programmed(&mut self, core: &mut Core, programmed: &Programmed) -> bool {
        self.writebacks.programmed(core, programmed)
    }

    fn repeats(&mut self, core: &mut Core, piece: Piece, from: Ppa) -> bool {
        !self.writebacks.drop_overtaken(core, piece, from)
    }

    fn piece_moved(&mut self, piece: Piece, from: Ppa, to: Ppa) {
        self.writebacks.moved(piece, from, to);
    }
}

impl Reclaim for HpUfs {
    /// A GC step makes log entries, so no step starts while the host lags behind and the log is filling (facts, "GC").
    fn gc_ready(&self, core: &Core) -> bool {
        core.log().unsent() <= self.own.handover_above_entries as usize
            && core.log().len() < self.own.gc_pause_at_entries as usize
    }

    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        self.victims.choose(core, named)
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        if self.own.searches_flash {
            return victims::search_on_flash(core, victim, budget);
        }
        let first = core.layout().first_ppa(victim.sb);
        let units = core.layout().superblock_units();
        if victim.take_from_bitmap(first, units, budget) { Search::Exhausted } else { Search::Found }
    }

    /// The bitmap may be older than the log. A page needs no copy if the log has a newer place for its address. A page
    /// that was overtaken unnoticed is copied in vain; the host discards its entry by the source block (Sec. III-E).
    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        lpa.0 < core.capacity_units()
            && core.log().get(lpa).is_none_or(|logged| core.logged_over(logged, Some(ppa)) == Some(ppa))
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        if self.victims.collected(sb, self.newest) {
            self.retire(core, sb);
        }
    }
}

impl Recover for HpUfs {
    const TABLE: Table = Table::Segments;

    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.writebacks.on_power_loss(core, survived);
    }

    /// Segments on flash hold every change, so the host starts with the last number.
    fn restored(core: &mut Core, own: &HpUfsParams) -> HpUfs {
        let last = Seq(core.next_seq().0 - 1);
        HpUfs { host_seq: last, newest: last, ..HpUfs::new(core, own) }
    }
}

impl HostProtocol for HpUfs {
    /// A segment that the host wants to read.
    type Awaited = SegmentId;

    /// `host_seq` says which entries the host has applied; they leave the log (Sec. III-C).
    #[inline(always)]
    fn on_command(&mut self, core: &mut Core, host_seq: Seq, freed: Option<Superblock>) {
        if host_seq > self.host_seq && host_seq <= self.newest {
            self.host_seq = host_seq;
            core.forget_applied(host_seq);
        }
        if let Some(sb) = freed {
            // A host can not have applied more than was given out.
            self.freed(core, sb, host_seq.min(self.host_seq));
        }
    }

    fn metadata(&mut self, core: &mut Core, op: Op, data: DataOut, host_seq: Seq) -> Answer<SegmentId> {
        match op {
            Op::SegmentRead { segment } => {
                let missing = self.writebacks.missing(core, segment);
                if missing.is_empty() {
                    return Answer::Now(
                        Status::Good,
                        self.writebacks.segment_image(core, segment, &LoadedSet::default()),
                    );
                }
                Answer::AfterLoad(missing, segment)
            }
            Op::SegmentWrite { segment } => {
                // The host can not have applied more than it has confirmed.
                let seq = host_seq.min(self.host_seq);
                Answer::Now(self.segment_write(core, segment, data, seq), DataIn::None)
            }
            Op::EntriesAgain => {
                core.send_again();
                self.log_blocks.ask_again();
                self.victims.ask_again();
                self.metadata(core, Op::EntryTransfer, data, host_seq)
            }
            Op::EntryTransfer => {
                Answer::Now(Status::Good, DataIn::Entries(core.transfer(MAX_TRANSFER_ENTRIES as usize)))
            }
            Op::ValidBitmap { block, reason } => {
                // A command with a larger number may have overtaken it on its way (clause 4.2).
                let made = host_seq.min(self.host_seq);
                Answer::Now(self.victims.bitmap(core, SentBitmap { block, reason, data }, made), DataIn::None)
            }
            _ => Answer::Now(Status::InvalidField, DataIn::None),
        }
    }

    fn metadata_loaded(&mut self, core: &mut Core, segment: SegmentId, read: &LoadedSet) -> DataIn {
        self.writebacks.segment_image(core, segment, read)
    }

    /// Entries and writeback hints share the piggyback bytes. Hints go first: without them the host's stream stops,
    /// while entries that wait have a command of their own.
    #[inline(always)]
    fn respond(&mut self, core: &mut Core, response: &mut Response) {
        response.piggyback.want_entries = core.log().unsent() > self.own.handover_above_entries as usize;
        response.piggyback.want_victim = self.victims.wanted();
        response.piggyback.works_when_idle = core.collects_when_idle();
        if let Some(sb) = self.victims.question() {
            response.piggyback.notice = Notice::BitmapOf(sb);
            return;
        }
        if let Some(segment) = self.writeback_hint(core) {
            response.piggyback.notice = Notice::WriteSegment(segment);
        } else if let Some(entry) = core.piggyback() {
            response.piggyback.notice = Notice::Entry(*entry);
        }
    }
}

impl NoFlush for HpUfs {}

impl HpUfs {
    /// The mapping of an address whose map unit holds this entry.
    fn current(core: &Core, lpa: Lpa, entry: Option<Ppa>) -> Option<Ppa> {
        // The host wrote this entry, so it may name no data page.
        core.over_log(lpa, entry.filter(|&ppa| core.is_data(ppa, 1)))
    }

    /// Resolves without an address from the host, or after a wrong one. The segment on flash is used only if it lacks
    /// no change.
    fn resolve_alone(&mut self, core: &mut Core, lpa: Lpa) -> Resolved {
        let unit = core.units().of(lpa);
        if self.log_blocks.may_lack_change(lpa.segment(), core.meta().segment_seq(unit)) {
            return match core.log().get(lpa) {
                Some(logged) if logged.source.is_none() => Resolved::own(logged.ppa),
                _ => Resolved::Unknown,
            };
        }
        if core.place_of(unit).is_none() {
            return Resolved::Unmapped;
        }
        if let Some(entry) = core.hit(unit).map(|view| view.entry(lpa)) {
            core.count_segment_hit();
            return Resolved::own(Self::current(core, lpa, entry));
        }
        Resolved::Load(unit)
    }
}

#[cfg(test)]
mod copy_tests;
#[cfg(test)]
mod decisions_tests;
#[cfg(test)]
mod tests;
