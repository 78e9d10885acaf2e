//! `segment-log`: what UFS and HPB devices do (HP-UFS Sec. II; numbers from the facts of the authors' prototype).
//!
//! New mappings wait in the log buffer. When it is nearly full, a map flush reads every touched segment, changes it and
//! writes it elsewhere. Only then does the device see the old entries, so only then do valid page counts change and
//! empty superblocks become free. To find the valid pages of a GC victim, the device reads the victim's segment bitmap,
//! and then the segments that it names.
//!
//! `flush_mode` says how a flush proceeds. In `rounds` and `pipelined` it is an exclusive job that begins when no
//! program is in flight, so it covers the whole log. In `background` it runs beside commands and covers the changes up
//! to a *cut* (`updates`). Until it ends, its changes stay in the log, which answers for them, and their superblocks
//! stay log blocks. At the end the changes leave the log. What rests on the order of these steps:
//!
//! - Map units become what the table was at the cut, and its number is theirs. So recovery takes them as it takes
//!   others: only pages and trims with later numbers can change them.
//! - A program that is still in flight has a number above the cut, so what it commits is newer than all that leaves the
//!   log.
//! - A copy that GC has made, and that the host has overtaken, is recognised by the log's newer entry of its address.
//!   So a flush begins and ends only while no GC step runs, and then copies that wait for a full row and have a newer
//!   entry are dropped.
//! - A superblock that GC collects, or that has lost its last page, is erased when the flush ends. The map units that
//!   have replaced its pages are on flash only then.
//!
//! With `segment_kib` below 4 a flush writes only the touched parts of segments, collected until a page is full (MSFTL
//! Sec. 3.2). A *map unit*, below, is such a part, or a whole segment with `segment_kib` = 4. The segment bitmap of a
//! superblock has a bit for each map unit and takes as many metadata pages as that needs (`MapUnits::bitmap_parts`).
//!
//! With `first_level = "runs"` a map unit whose data lie together needs no read (`runs`).
//!
//! SRAM caches whole segments, or single entries with `cached = "entries"` (`entry_cache`), as HPBvalve's device does,
//! or with `cached = "learned"` what it has learned of map units (`learned`), after LeaFTL. The cache equals flash at
//! any time, because a map flush changes both. So of segments and entries the simulator keeps only the addresses. With
//! single entries, map flushes and READ BUFFER find no segment in SRAM and read each one.
//!
//! `lab/tests/segment_parts.rs` derives parts and bytes of a flush; the figure `hp-ufs/segments` shows gains and
//! losses.

mod cache;
mod declared;
mod learned;
mod overlapped;
mod pipeline;
mod runs;
mod updates;

use std::ops::Range;

use nand::Priority;
use params::ParamError;
use ufs::LpaRun;
use units::{Lpa, MapUnit, Ppa, SEGMENT_ENTRIES, Seq, Superblock, UNIT_BYTES};

use cache::Cache;
use declared::{Cached, RowOrder, SearchReads};
pub use declared::{SegmentLogCounters, SegmentLogParams};
use pipeline::{Mode, Pipeline};
use runs::{FirstLevel, Runs};
use updates::Updates;

use super::portions::{read_map_units, take_valid};
use super::rounds;
use super::unflushed::Unflushed;
use ftl::seat::{
    Absorb, Change, Commit, Core, Declared, Flush, HostRole, HostSays, Loaded, LoadedFor, MapMemory, MapShape,
    MapUnits, NoBackground, NoProtocol, Owner, Piece, Placement, Programmed, ProgrammedSet, Reclaim, Recover, Resolved,
    Round, Scheme, Search, Sharing, Sight, Stream, Table, Translate, Victim,
};
use ftl::{EngineConfig, HpbConfig};

/// Bytes of an entry of the log.
const LOG_ENTRY_BYTES: u64 = 16;
/// Bytes of an entry in the index by which a flush sorts the log.
const SORT_BYTES: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// No flush is under way, or one waits for programs in flight.
    Start,
    /// Map units are on their way through the pipeline.
    Pipeline,
    /// Reading the next map units.
    Read,
    /// They are in SRAM: change and program them.
    Apply,
    /// They are on flash.
    Written,
    /// The segment bitmaps of the superblocks concerned are on flash.
    Bitmaps,
}

/// State of the scheme.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct SegmentLog {
    unflushed: Unflushed,
    runs: Option<Runs>,
    counters: SegmentLogCounters,
    cache: Cache,
    row_order: RowOrder,
    /// A map flush starts above this many log entries.
    flush_above: usize,
    mode: Mode,
    search_reads: SearchReads,
    phase: Phase,
    updates: Updates,
    /// The last change that the flush covers.
    flush_seq: Seq,
    /// Updates whose map units are on flash already, or in the pipeline.
    done: usize,
    /// End of the updates whose map units are in SRAM.
    round_end: usize,
    /// The entries that the updates of the round replace.
    old: Vec<Option<Ppa>>,
    /// Map units in SRAM, and the buffers that they take.
    round: Round,
    held: u16,
    pipeline: Pipeline,
    /// Superblocks that the log names, or that have lost their last valid page since the last flush.
    concerned: Vec<Superblock>,
    /// Superblocks that GC has collected during the flush.
    collected: Vec<Superblock>,
}

impl Mode {
    fn pipeline(self, own: &SegmentLogParams) -> Pipeline {
        // Commands that wait for an exclusive flush wait for these reads. Others wait only for the flush's programs.
        let reads = if self == Mode::Background { Priority::HostWrite } else { Priority::MapRead };
        Pipeline::new(own.flush_buffers, reads)
    }
}

impl SegmentLog {
    /// The mapping of an address whose map unit is in SRAM.
    fn current(&self, core: &Core, lpa: Lpa, loaded: &Loaded) -> Option<Ppa> {
        core.over_log(lpa, core.view(loaded).entry(lpa))
    }

    fn on_flash(core: &Core, unit: MapUnit) -> Option<Ppa> {
        core.place_of(unit)
    }

    fn concern(&mut self, sb: Superblock) {
        if !self.concerned.contains(&sb) {
            self.concerned.push(sb);
        }
    }

    /// A map unit that needs no read, because its data lie together or it was learned exactly.
    fn made(&mut self, core: &Core, unit: MapUnit) -> Option<Loaded> {
        let run = self.runs.as_ref().and_then(|runs| runs.made(core, unit));
        self.counters.run_reads_saved += u64::from(run.is_some());
        run.or_else(|| {
            let learned = self.cache.made(core, unit);
            self.counters.learned_reads_saved += u64::from(learned.is_some());
            learned
        })
    }

    /// Collects the changes up to `cut` that hold, sorted by map unit.
    fn sort_log(&mut self, core: &Core, cut: Seq) {
        let (concerned, mut last) = (&mut self.concerned, None);
        self.updates.collect(core, cut, |sb| {
            if last != Some(sb) {
                last = Some(sb);
                if !concerned.contains(&sb) {
                    concerned.push(sb);
                }
            }
        });
        self.done = 0;
        self.flush_seq = cut;
    }

    /// Brings as many map units into SRAM as there are buffers. True if it has submitted a flash read.
    fn read_round(&mut self, core: &mut Core) -> bool {
        self.round.clear();
        self.round_end = self.done;
        let units = core.units();
        let limit = units.fitting(core.cfg().sram.segment_cache.into()) as usize;
        while self.round_end < self.updates.sorted.len() && self.round.len() < limit {
            let unit = units.of(self.updates.sorted[self.round_end].lpa);
            // The flush takes over the buffer of a cached map unit.
            let cached = core.take_segment(unit).or_else(|| self.made(core, unit));
            let more = units.buffers(self.round.len() as u32 + 1) as u16 - self.held;
            if !core.take_buffers(Owner::Map, more) {
                break;
            }
            self.held += more;
            match cached {
                Some(loaded) => self.round.add_loaded(loaded),
                None => _ = self.round.add(core.meta().directory(), unit),
            }
            let updates = &self.updates.sorted;
            while let Some(update) = updates.get(self.round_end).filter(|update| units.of(update.lpa) == unit) {
                core.prefetch_entry(update.lpa);
                self.round_end += 1;
            }
        }
        assert!(!self.round.is_empty(), "the reserve leaves buffers for a map flush");
        // One read brings all map units that share a flash unit. Their order is that of the flush (`flush_order`), not
        // that of their places. Sorting by place would load the page register less often for smaller map units, for a
        // reason that has nothing to do with their size.
        let sharing = if units.is_plain() { Sharing::IfAdjacent } else { Sharing::InOrder };
        core.read_for_flush(&mut self.round, sharing) > 0
    }

    fn apply_round(&mut self, core: &mut Core) {
        core.round_arrived(&mut self.round);
        self.old.clear();
        let changed = self.done..self.round_end;
        let addresses = self.updates.sorted[changed.clone()].iter().map(|update| update.lpa);
        core.look_up(&self.round, addresses, &mut self.old);
        self.settle(core, changed);
        core.program_map_units(&self.round.pieces());
    }

    /// Puts updates into their map units, whose entries so far are in `old`.
    fn settle(&mut self, core: &Core, changed: Range<usize>) {
        for (at, i) in changed.zip(0..) {
            let (update, old) = (self.updates.sorted[at], self.old[i]);
            match rounds::settle(core, &mut self.unflushed.valid, old, update.ppa, update.source) {
                None => self.updates.sorted[at].holds = false,
                Some(Some(sb)) if self.unflushed.valid.get(sb) == 0 => self.concern(sb),
                Some(_) => {}
            }
        }
    }

    /// Makes what the round has programmed the content of its map units.
    fn round_content(&mut self, core: &mut Core, programmed: &ProgrammedSet) {
        let updates = self.updates.sorted[self.done..self.round_end].iter();
        let changes = updates.filter(|update| update.holds).map(|update| (update.lpa, update.ppa));
        rounds::on_flash(core, &self.round, self.flush_seq, programmed, changes);
    }

    fn round_written(&mut self, core: &mut Core) {
        let programmed = core.take_programmed();
        self.round_content(core, &programmed);
        if let Some(runs) = &mut self.runs {
            runs.round_programmed(core, &programmed, &self.updates.sorted[self.done..self.round_end]);
        }
        if let Some(learned) = self.cache.learned() {
            learned.round_programmed(core, &programmed, &self.updates.sorted[self.done..self.round_end]);
        }
        rounds::release(core, &self.round, &mut self.held);
        self.done = self.round_end;
    }

    /// The segment bitmaps that the flush writes. The log of one flush touches the superblocks that host writes and GC
    /// fill, rarely one more of each. Without any, the log held only trims of pages that were never written.
    fn bitmaps(&self, core: &Core) -> Vec<Piece> {
        self.concerned.iter().flat_map(|&sb| core.meta().bitmap_pieces(sb)).collect()
    }

    /// Ends the flush: superblocks that it has emptied become free.
    fn finish(&mut self, core: &mut Core) {
        for entry in core.log().entries_up_to(self.flush_seq) {
            let Some(first) = entry.ppa else { continue };
            for i in 0..u32::from(entry.len) {
                self.unflushed.settle(core.superblock_of(first.offset(i)), 1);
            }
        }
        core.forget_changes_up_to(self.flush_seq);
        core.trims_covered(self.flush_seq.plus(1));
        let collected = std::mem::take(&mut self.collected);
        for sb in std::mem::take(&mut self.concerned).into_iter().chain(collected.iter().copied()) {
            self.unflushed.retire_if_empty(core, sb);
        }
        self.unflushed.flush_ended(core, !collected.is_empty());
        if let Some(learned) = self.cache.learned() {
            learned.flush_ended();
        }
        self.phase = Phase::Start;
    }
}

impl Declared for SegmentLog {
    const NAME: &'static str = "segment-log";
    type Params = SegmentLogParams;
    type Counters = SegmentLogCounters;

    fn check(cfg: &EngineConfig, own: &Self::Params, table: &str) -> Result<(), ParamError> {
        let must = |holds: bool, key: &str, value: u32, allowed: String| match holds {
            true => Ok(()),
            false => Err(ParamError::must_be(table, key, &value.into(), allowed)),
        };
        let entries = own.hpb_group_entries;
        let whole = entries == SEGMENT_ENTRIES / 2 || entries.is_multiple_of(SEGMENT_ENTRIES);
        must(whole, "hpb_group_entries", entries, "512 or a multiple of 1024".into())?;
        // One program needs log room for its whole row, at any fill level at which no flush starts.
        let (above, row, log) = (own.flush_above_entries, cfg.geometry.row_units(), u32::from(cfg.log.entries));
        must(above < log, "flush_above_entries", above, format!("below log.entries = {log}"))?;
        let allowed = format!("at least a row of {row} units below log.entries = {log}");
        must(above + row <= log, "flush_above_entries", above, allowed)?;
        let parts = cfg.table_bytes().div_ceil(u64::from(own.segment_kib) * 1024);
        let more_bitmaps = (parts.div_ceil(8 * UNIT_BYTES) - 1) * u64::from(cfg.geometry.data_superblocks);
        cfg.check_metadata(parts + more_bitmaps, cfg.table_bytes().div_ceil(UNIT_BYTES) + more_bitmaps)
    }

    fn caches_entries(own: &SegmentLogParams) -> bool {
        own.cached != Cached::Segments
    }

    fn published(own: &SegmentLogParams) -> HpbConfig {
        own.hpb()
    }

    fn counters(&self, _core: &Core) -> SegmentLogCounters {
        let run_map_units = self.runs.as_ref().map_or(0, Runs::count);
        let counters = SegmentLogCounters { run_map_units, ..self.counters };
        let Cache::Learned(learned) = &self.cache else { return counters };
        let (learned_segments, learned_plain_groups) = learned.counts();
        SegmentLogCounters {
            learned_map_units: learned.len(),
            learned_bytes: learned.bytes(),
            learned_segments,
            learned_plain_groups,
            ..counters
        }
    }
}

impl Scheme for SegmentLog {
    const HOST: HostRole = HostRole::KeepsEntries;
    const SHARES_UNITS: bool = true;
    const BITMAPS: bool = true;
    const RUNS: bool = true;
    const VARIANTS: &'static [&'static [&'static str]] = &[
        &["segment_kib=2"],
        &["segment_kib=1", "hpb_dirty_from=write"],
        &["flush_mode=background"],
        &["flush_mode=background", "segment_kib=2", "flush_order=address", "flush_buffers=3"],
        &["flush_mode=pipelined", "segment_kib=1", "flush_buffers=5"],
        &["first_level=runs", "segment_kib=1", "flush_mode=background"],
        &["cached=learned", "learned_gamma=4", "row_order=address", "learned_compact_mib=1"],
        &["cached=learned", "learned_gamma=16", "segment_kib=1", "flush_mode=background"],
    ];

    fn map_shape(own: &SegmentLogParams) -> MapShape {
        MapShape::part_of_segment(own.segment_kib * 1024)
    }

    fn map_units(cfg: &EngineConfig, own: &SegmentLogParams) -> MapUnits {
        MapUnits::new(cfg.capacity_units, Self::map_shape(own)).with_bitmaps()
    }

    fn new(core: &Core, own: &SegmentLogParams) -> SegmentLog {
        SegmentLog {
            unflushed: Unflushed::new(core),
            runs: (own.first_level == FirstLevel::Runs).then(|| Runs::new(core.units())),
            counters: SegmentLogCounters::default(),
            cache: Cache::new(core, own),
            row_order: own.row_order,
            flush_above: own.flush_above_entries as usize,
            mode: own.flush_mode,
            search_reads: own.search_reads,
            phase: Phase::Start,
            updates: Updates::new(own.flush_order, core.units().count()),
            flush_seq: Seq(0),
            done: 0,
            round_end: 0,
            old: Vec::new(),
            round: Round::default(),
            held: 0,
            pipeline: own.flush_mode.pipeline(own),
            concerned: Vec::new(),
            collected: Vec::new(),
        }
    }

    fn memory(&self, core: &Core) -> MapMemory {
        let entry = LOG_ENTRY_BYTES + if self.updates.is_by_address() { SORT_BYTES } else { 0 };
        let log = u64::from(core.cfg().log.entries) * entry;
        let runs = self.runs.as_ref().map_or(0, Runs::table_bytes);
        let sram = log + core.meta().table_bytes() + runs + self.unflushed.valid.table_bytes();
        MapMemory { sram, ..MapMemory::default() }
    }
}

impl Translate for SegmentLog {
    /// Order of lookup: log buffer, first level, segments in SRAM, the host's entry, flash (facts, "Read path").
    #[inline]
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, host: HostSays) -> Resolved {
        let unit = core.units().of(lpa);
        if let Some(logged) = core.log().get(lpa) {
            // If the log has a GC copy and no newer write of the address, the page was valid when it was copied. The
            // log is flushed as a whole, so flash has nothing newer.
            core.count_log_hit();
            return Resolved::own(logged.ppa);
        }
        if let Some(run) = self.runs.as_ref().and_then(|runs| runs.place(core.units(), lpa)) {
            self.counters.run_hits += 1;
            return Resolved::own(Some(run));
        }
        if let Some((place, is_prediction)) = self.cache.hit(core, lpa) {
            core.count_segment_hit();
            self.counters.learned_predictions += u64::from(is_prediction);
            return place;
        }
        if let HostSays::At(ppa) = host {
            return Resolved::Page { ppa, from_host: true };
        }
        if Self::on_flash(core, unit).is_none() {
            return Resolved::Unmapped;
        }
        Resolved::Load(unit)
    }

    fn resolve_loaded(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa, purpose: LoadedFor) -> Option<Ppa> {
        self.cache.arrived(core, loaded, lpa, purpose);
        self.current(core, lpa, loaded)
    }

    fn tell(&mut self, core: &mut Core, loaded: &Loaded, range: Range<u32>, places: &mut Vec<Option<Ppa>>) {
        let packed = core.view(loaded).entries_in(range.clone());
        let entries = packed.into_iter().map(Ppa::unpack);
        match core.log().may_change(range.clone()) {
            true => places.extend(range.zip(entries).map(|(lpa, entry)| core.over_log(Lpa(lpa), entry))),
            false => places.extend(entries),
        }
    }

    /// Groups for an HPB host, too, are made without a read of what the device knows by itself.
    fn tells(&self, unit: MapUnit) -> bool {
        self.runs.as_ref().is_some_and(|runs| runs.tells(unit)) || self.cache.tells(unit)
    }

    fn reach(&self) -> u32 {
        match &self.cache {
            Cache::Learned(learned) => learned.gamma(),
            _ => 0,
        }
    }

    fn mispredicted(&mut self) {
        self.counters.learned_mispredictions += 1;
    }

    /// True for an address whose entry or segment is in SRAM, in the log, or in a segment that was never written.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let unit = core.units().of(lpa);
        self.cache.holds(core, lpa)
            || self.tells(unit)
            || core.holds_segment(unit)
            || core.log().get(lpa).is_some()
            || Self::on_flash(core, unit).is_none()
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        core.list_cached(runs, |_| true, |lpa| !self.cache.holds(core, lpa));
        runs.extend(self.cache.runs());
    }

    /// Only reads gain from a prefetch: writes go through the log and do not need their segment.
    fn batch(&mut self, core: &mut Core, runs: &[LpaRun], write: bool) -> Option<MapUnit> {
        let cached = |run: &LpaRun| (0..run.len).all(|i| self.cached(core, run.lpa.offset(i)));
        let missing = !write && !runs.iter().all(cached);
        missing.then(|| core.units().of(runs[0].lpa))
    }
}

impl Absorb for SegmentLog {
    #[inline]
    fn room(&self, core: &Core) -> usize {
        core.log().room().saturating_sub(core.units_to_log())
    }

    #[inline]
    fn committed(&mut self, core: &mut Core, unit: Commit) {
        let change = Change { lpa: unit.lpa, ppa: Some(unit.ppa), seq: unit.seq, source: unit.source };
        if core.log_change(change) {
            core.publish_change(unit.lpa, Some(unit.ppa));
        }
        if let (None, Some(learned)) = (unit.source, self.cache.learned()) {
            learned.unit_written();
        }
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq) {
        for i in 0..n {
            let lpa = lpa.offset(i);
            core.log_change(Change { lpa, ppa: None, seq: seq.plus(i), source: None });
            core.publish_change(lpa, None);
        }
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.unflushed.flush_wanted = true;
    }
}

impl Placement for SegmentLog {
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        self.unflushed.may_open(core, stream)
    }

    fn placed(&mut self, sb: Superblock, n: u32) {
        self.unflushed.placed(sb, n);
    }

    fn unplaced(&mut self, sb: Superblock, n: u32) {
        self.unflushed.settle(sb, n);
    }

    fn rows_in_order(&self) -> bool {
        self.row_order == RowOrder::Address
    }

    fn log_blocks(&self, core: &Core) -> Vec<Superblock> {
        self.unflushed.log_blocks(core)
    }
}

impl Flush for SegmentLog {
    #[inline]
    fn wants_flush(&self, core: &Core) -> bool {
        core.log().len() > self.flush_above || self.unflushed.flush_wanted
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        if self.mode != Mode::Rounds {
            return self.flush_pipelined(core);
        }
        loop {
            match self.phase {
                Phase::Start | Phase::Pipeline => {
                    if core.programs_in_flight() > 0 {
                        return false;
                    }
                    self.sort_log(core, core.logged_up_to());
                    if self.updates.sorted.is_empty() {
                        self.finish(core);
                        return true;
                    }
                    self.phase = Phase::Read;
                }
                Phase::Read => {
                    self.phase = Phase::Apply;
                    if self.read_round(core) {
                        return false;
                    }
                }
                Phase::Apply => {
                    self.phase = Phase::Written;
                    self.apply_round(core);
                    return false;
                }
                Phase::Written => {
                    self.round_written(core);
                    if self.done < self.updates.sorted.len() {
                        self.phase = Phase::Read;
                        continue;
                    }
                    self.phase = Phase::Bitmaps;
                    let bitmaps = self.bitmaps(core);
                    core.program_bitmaps(&bitmaps);
                    if !bitmaps.is_empty() {
                        return false;
                    }
                }
                Phase::Bitmaps => {
                    self.finish(core);
                    return true;
                }
            }
        }
    }

    fn beside_commands(&self) -> bool {
        self.mode == Mode::Background
    }

    fn read_done(&mut self, core: &Core, place: Ppa, sight: &Sight) {
        self.pipeline.read_done(core, place, sight);
    }

    /// The segment cache keeps the map unit where it has room, as it does after a round.
    fn unit_programmed(&mut self, core: &mut Core, programmed: &Programmed) {
        let done = self.pipeline.programmed(core, MapUnit(programmed.piece().0));
        self.unit_content(core, programmed, done.updates.clone());
        let updates = &self.updates.sorted[done.updates];
        if let Some(runs) = &mut self.runs {
            runs.programmed(core, programmed, updates[0].lpa);
        }
        if let Some(learned) = self.cache.learned() {
            learned.programmed(core, programmed, updates);
        }
        core.keep_programmed(programmed);
    }
}

impl Reclaim for SegmentLog {
    /// A search must not find the segment bitmap of its victim at another place than it has read it from.
    fn gc_ready(&self, core: &Core) -> bool {
        core.bitmaps_in_flight() == 0
    }

    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        self.unflushed.victim(core, named)
    }

    /// The victim's segment bitmap says which segments to read. A page of the victim is valid if an entry in them names
    /// it. The simulator does not scan all entries of every segment: it takes those addresses from the spare areas of
    /// the victim that lie in the segments named, which gives the same entries.
    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        core.give_buffers(Owner::Map, std::mem::take(&mut victim.held));
        if !victim.opened && self.search_reads == SearchReads::Named {
            victim.opened = true;
            core.read_bitmap(victim.sb);
            return Search::Reading;
        }
        if !victim.planned {
            victim.planned = true;
            victim.plan = match self.search_reads {
                SearchReads::Named => core.pages_named_by_bitmap(victim.sb),
                SearchReads::Copied => core.pages_known_valid(victim.sb),
            };
            victim.plan.sort_unstable();
        }
        core.round_arrived(&mut victim.round);
        loop {
            let current = |lpa, loaded: Option<&Loaded>| loaded.and_then(|loaded| self.current(core, lpa, loaded));
            take_valid(core.units(), victim, budget, current);
            let found_all = victim.cursor == victim.plan.len();
            if victim.found.len() >= budget {
                // The buffers of these segments go to the copies, so the next step has to read the segments that it
                // needs again.
                victim.loaded = victim.cursor;
            }
            victim.searched =
                (victim.cursor * core.layout().superblock_units() as usize / victim.plan.len().max(1)) as u32;
            if found_all {
                return Search::Exhausted;
            }
            if victim.found.len() >= budget {
                return Search::Found;
            }
            if read_map_units(core, victim, |core, unit| self.made(core, unit)) {
                return Search::Reading;
            }
        }
    }

    fn copies_in_order(&self) -> bool {
        self.runs.is_some() || self.rows_in_order()
    }

    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        core.still_names(lpa, ppa)
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.unflushed.collected(core, sb);
        match self.phase {
            Phase::Start => self.unflushed.retire_if_empty(core, sb),
            // Some of its pages may have been replaced only in SRAM so far.
            _ => self.collected.push(sb),
        }
    }

    fn starved(&mut self, core: &mut Core) {
        // Units in flight may replace entries, so only those in the log count.
        self.unflushed.starved(core, core.log().room());
    }
}

impl Recover for SegmentLog {
    const TABLE: Table = Table::CountedSegments;

    /// Makes the segments of the round whose programs survived the content of their pages.
    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        if self.phase == Phase::Written {
            self.round_content(core, survived);
        }
        let mut at = 0;
        for under_way in self.pipeline.in_programs() {
            if let Some(programmed) = survived.next(&mut at, Piece::of(under_way.unit)) {
                self.unit_content(core, programmed, under_way.updates.clone());
            }
        }
    }

    /// Recovery has read all segments; the valid page counts follow from them.
    fn restored(core: &mut Core, own: &SegmentLogParams) -> SegmentLog {
        let unflushed = Unflushed::restored(core);
        let new = SegmentLog::new(core, own);
        SegmentLog { unflushed, runs: new.runs.is_some().then(|| Runs::restored(core)), ..new }
    }
}

impl NoBackground for SegmentLog {}
impl NoProtocol for SegmentLog {}

#[cfg(test)]
mod tests;
