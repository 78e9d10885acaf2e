//! `base-dftl`, `mini-page` and `msftl`: new mappings are kept in a mapping cache that is flushed after a fixed amount
//! of data from the host (Kim and Lee, MSFTL, "Exploiting Exclusive Higher Resolution to Enhance Response Time of
//! Embedded Flash Storage", 2020).
//!
//! The three are one type. They differ only in the size of the pieces in which the mapping table is written:
//!
//! - `base-dftl` (Sec. 2): translation pages as large as a NAND page (`page_kib`, Fig. 2 also has smaller ones).
//! - `mini-page` (Sec. 4.1, after Lv et al., NAS 2018): translation pages of 4 KiB, the host's logical page.
//! - `msftl` (Sec. 3): mapping segments of 2 or 1 KiB (`segment_bytes`).
//!
//! New mappings of host writes and GC copies are recorded in the mapping cache first (Sec. 2). Here that is the log. A
//! flush begins after `flush_mib` of data from the host, a block's worth (Sec. 4.1: "along with the user writes"). What
//! GC has copied meanwhile does not count, but its mappings are flushed together with the user's. The cache has room
//! for the mappings of `flush_mib` of user data and of `gc_mib` of copies. When it is full, all that is in it is
//! evicted: a flush comes early. So it does at the limit of log blocks, for trims, and when only a flush can free
//! superblocks (`pmt_early_flushes`).
//!
//! Base-DFTL is "identical to the DFTL scheme" (Sec. 4.1) in its translation pages. Writing one of them whenever DFTL's
//! cache is full would come to the flushes every 9 MiB; but these alone make what the paper measured for sequential
//! writes, 336.4 MiB in translation pages and a third less in smaller pieces. So its cache holds what 9 MiB change.
//!
//! A flush goes through the addresses in order, a round at a time. Of a round it reads every piece with changes, with
//! one read for all pieces in the same flash unit. Then it changes the pieces and programs them elsewhere. Pieces that
//! are smaller than a NAND page are collected, whatever their addresses, until a page is full (Sec. 3.2), so that all
//! programs but the last are full.
//!
//! A flush may rewrite more than fits the free translation blocks. It is then paused: changes that are on flash leave
//! the log's index, GC collects the translation blocks, and a second flush writes the other changes. Superblocks count
//! as flushed only when all changes are written. `rounds` has the order of the steps, which `dftl` and `cdftl` share.
//!
//! The places of all pieces, the MSD, are in SRAM. They are written when a translation block is opened (Sec. 3.3),
//! which is the first step of GC of the translation blocks, or after a volume of user data (`directory_mib`). GC takes
//! the block with the fewest up-to-date pieces and programs these together, in full programs (Sec. 3.4). `meta` and
//! `engine/collect.rs` do both.
//!
//! The paper does not say how GC finds the valid pages of user blocks, nor what is cached for reads. Here GC reads the
//! spare areas of the victim, and the pieces that they name (`search`). Reads use the pieces in SRAM, in a cache of
//! `sram.segment_cache_kib`.
//!
//! `lab/tests/msftl.rs` derives the volume of sequential and random writes by hand.

mod flush;
mod search;

use std::marker::PhantomData;

use params::ParamError;
use ufs::LpaRun;
use units::{Lpa, MIB, MapUnit, Ppa, Seq, Superblock, UNIT_BYTES, UNIT_KIB};

use self::flush::FlushState;
use super::unflushed::Unflushed;
use super::{portions, rounds};
use ftl::EngineConfig;
use ftl::seat::{
    Absorb, Change, Commit, Core, Declared, Flush, HostSays, Loaded, LoadedFor, MapMemory, MapShape, NoBackground,
    NoProtocol, Numbered, Placement, ProgrammedSet, Reclaim, Recover, Resolved, Scheme, Search, Stream, Table,
    Translate, Victim,
};

/// Translation pages of the size of a NAND page.
pub type BaseDftl = Flushed<NandPage>;
/// Translation pages of 4 KiB.
pub type MiniPage = Flushed<LogicalPage>;
/// Mapping segments.
pub type Msftl = Flushed<MappingSegment>;

/// Bytes of an entry (MSFTL Sec. 2: "if an entry of the page mapping table is four bytes").
const ENTRY_BYTES: u32 = 4;
/// Log entries that a single trim may take.
const TRIM_ENTRIES: usize = 32;

params::params! {
    /// `base-dftl`, `mini-page` and `msftl`: the mapping cache and its flush. The cache has entries of 16 bytes, one
    /// for each unit of 4 KiB.
    pub MiniPageParams {
        /// Data from the host that is written from one mapping flush to the next.
        flush_mib: count(1 to 96) = 9, "MSFTL Sec. 4.1: 9 MiB, one NAND block";
        /// Copies by GC for which the mapping cache has room beside that. When it is full, a flush comes early.
        gc_mib: count(0 to 128) = 90,
            "the paper gives no size; with 10% gained from a victim GC copies nine times what the host writes";
        /// Data from the host after which the directory is written, or "block": with each translation block.
        directory_mib: count_or("block" 1 to 1048576) = "block",
            "MSFTL Sec. 3.3: before the GC of the translation blocks, which comes when one is full", fixed;
    }
}

params::params! {
    /// `base-dftl`: translation pages of the size of a NAND page.
    pub BaseDftlParams {
        with cache: MiniPageParams;
        /// Size of a translation page; at most a page on every plane.
        page_kib: one_of(4 8 16) = 16, "MSFTL Sec. 4.1: one NAND page", fixed;
    }
}

params::params! {
    /// `msftl`: mapping segments.
    pub MsftlParams {
        with cache: MiniPageParams;
        /// Size of a mapping segment.
        segment_bytes: one_of(1024 2048) = 1024,
            "the smaller of the paper's two, 1 and 2 KiB, with which it reports most", fixed;
    }
}

units::counters! {
    /// What `base-dftl`, `mini-page` and `msftl` count.
    FlushedCounters
    /// Flash units programmed by mapping flushes of `base-dftl`, `mini-page` and `msftl`, padding included.
    pmt_flush_units,
    /// Flash units programmed by GC of translation blocks, padding included.
    pmt_moved_units,
    /// Flash units programmed for snapshots of the directory (GTD or MSD), padding included.
    pmt_directory_units,
    /// Flash units programmed for records of log blocks and for the journal of trims, padding included. MSFTL does not
    /// describe these.
    pmt_bookkeeping_units,
    /// Flash reads of mapping flushes.
    pmt_flush_reads,
    /// Translation pages or mapping segments written by mapping flushes.
    pmt_pieces_written,
    /// Mapping flushes before `flush_mib` was written: the mapping cache was full, there were too many log blocks, free
    /// superblocks were short, or trims had to be kept.
    pmt_early_flushes,
    /// Entries in the translation pages or mapping segments written.
    pmt_entries_written,
    /// Of these, entries that had changed.
    pmt_entries_changed,
    /// Bytes of the directory of translation pages or mapping segments, at 4 bytes each.
    pmt_directory_bytes: gauge,
}

/// Size of the pieces in which a scheme writes the mapping table.
pub trait PieceSize {
    /// Parameters of the scheme.
    type Params: params::Params + Copy + Default;

    /// Name of the scheme.
    const NAME: &'static str;
    /// True if several pieces share a flash unit.
    const SHARES_UNITS: bool = false;

    /// Bytes of a piece.
    fn bytes(own: &Self::Params) -> u32;

    /// The part of the parameters about the mapping cache.
    fn cache(own: &Self::Params) -> &MiniPageParams;
}

/// Pieces of one NAND page or a fraction of it (`page_kib`).
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct NandPage;
/// Pieces of 4 KiB, the host's logical page.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct LogicalPage;
/// Pieces smaller than the host's logical page.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct MappingSegment;

impl PieceSize for NandPage {
    type Params = BaseDftlParams;
    const NAME: &'static str = "base-dftl";

    fn bytes(own: &BaseDftlParams) -> u32 {
        own.page_kib * 1024
    }

    fn cache(own: &BaseDftlParams) -> &MiniPageParams {
        &own.cache
    }
}

impl PieceSize for LogicalPage {
    type Params = MiniPageParams;
    const NAME: &'static str = "mini-page";

    fn bytes(_own: &MiniPageParams) -> u32 {
        UNIT_BYTES as u32
    }

    fn cache(own: &MiniPageParams) -> &MiniPageParams {
        own
    }
}

impl PieceSize for MappingSegment {
    type Params = MsftlParams;
    const NAME: &'static str = "msftl";
    const SHARES_UNITS: bool = true;

    fn bytes(own: &MsftlParams) -> u32 {
        own.segment_bytes
    }

    fn cache(own: &MsftlParams) -> &MiniPageParams {
        &own.cache
    }
}

/// State of the schemes.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Flushed<S> {
    unflushed: Unflushed,
    /// Units of host data since the last mapping flush.
    written: u32,
    flush: FlushState,
    /// Units of host data from one mapping flush to the next.
    flush_units: u32,
    /// Units of host data from one directory to the next, if not every translation block begins with it.
    directory_units: Option<u32>,
    /// Units of host data that flushes have covered since the last directory.
    since_directory: u32,
    size: PhantomData<S>,
}

const UNITS_PER_MIB: u32 = (MIB / UNIT_BYTES) as u32;

/// Units of host data from one mapping flush to the next.
fn flush_units<S: PieceSize>(own: &S::Params) -> u32 {
    S::cache(own).flush_mib * UNITS_PER_MIB
}

impl<S> Flushed<S> {
    /// The mapping of an address whose piece is in SRAM.
    fn mapping_of(&self, core: &Core, lpa: Lpa, loaded: &Loaded) -> Option<Ppa> {
        core.over_log(lpa, core.view(loaded).entry(lpa))
    }

    fn place(core: &Core, unit: MapUnit) -> Option<Ppa> {
        core.place_of(unit)
    }
}

impl<S: PieceSize> Declared for Flushed<S> {
    const NAME: &'static str = S::NAME;
    type Params = S::Params;
    type Counters = FlushedCounters;

    fn check(cfg: &EngineConfig, own: &Self::Params, table: &str) -> Result<(), ParamError> {
        let bytes = S::bytes(own);
        let row = cfg.geometry.row_units();
        let page_units = bytes.div_ceil(UNIT_BYTES as u32);
        if !row.is_multiple_of(page_units) {
            let allowed = format!("a divisor of {} KiB, a page on every plane", row * UNIT_KIB);
            return Err(ParamError::must_be(table, "page_kib", &(bytes / 1024).into(), allowed));
        }
        // While GC keeps the buffers of a row, a read may need those of a piece.
        cfg.check_reserve(page_units, &format!("for [{table}]: a row and a translation page"))?;
        let segments = cfg.table_bytes().div_ceil(bytes.into());
        // The superblock with the newest directory is kept, if not every one has it.
        let kept = if Self::schedules_directory(own) { cfg.geometry.superblock_units() } else { 0 };
        cfg.check_metadata(segments, cfg.table_bytes().div_ceil(UNIT_BYTES) + u64::from(page_units + kept))
    }

    fn counters(&self, core: &Core) -> FlushedCounters {
        let kinds = core.map_programs();
        let mut stats = self.flush.counters;
        stats.pmt_flush_units = kinds.segments;
        stats.pmt_moved_units = kinds.moved;
        stats.pmt_directory_units = kinds.directory;
        stats.pmt_bookkeeping_units = kinds.others;
        stats.pmt_directory_bytes = core.meta().map_directory_bytes();
        stats
    }
}

impl<S: PieceSize> Scheme for Flushed<S> {
    const SHARES_UNITS: bool = S::SHARES_UNITS;
    const TRANSLATION_PAGES: bool = true;
    const VARIANTS: &'static [&'static [&'static str]] = &[&["directory_mib=3"]];

    fn schedules_directory(own: &S::Params) -> bool {
        S::cache(own).directory_mib.count().is_some()
    }

    fn map_shape(own: &S::Params) -> MapShape {
        let bytes = S::bytes(own);
        MapShape { entries: bytes / ENTRY_BYTES, bytes, numbered: Numbered::Spare }
    }

    /// Room in the mapping cache for the mappings of a flush and of the copies until then, if no two are consecutive,
    /// and for those of programs in flight.
    fn log_entries(cfg: &EngineConfig, own: &S::Params) -> u16 {
        let data = flush_units::<S>(own) + S::cache(own).gc_mib * UNITS_PER_MIB;
        let entries = data + 8 * cfg.geometry.row_units() + 2 * TRIM_ENTRIES as u32;
        u16::try_from(entries).expect("flush_mib is at most 96 and gc_mib at most 128")
    }

    fn new(core: &Core, own: &S::Params) -> Flushed<S> {
        Flushed {
            unflushed: Unflushed::new(core),
            written: 0,
            flush: FlushState::default(),
            flush_units: flush_units::<S>(own),
            directory_units: S::cache(own).directory_mib.count().map(|mib| mib * UNITS_PER_MIB),
            since_directory: 0,
            size: PhantomData,
        }
    }

    fn memory(&self, core: &Core) -> MapMemory {
        let log = u64::from(core.cfg().log.entries) * 16;
        MapMemory { sram: log + core.meta().table_bytes() + self.unflushed.valid.table_bytes(), ..MapMemory::default() }
    }
}

impl<S: PieceSize> Translate for Flushed<S> {
    /// Order of lookup: mapping cache, pieces in SRAM, flash.
    #[inline]
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, _host: HostSays) -> Resolved {
        if let Some(logged) = core.log().get(lpa) {
            // If the log has a GC copy and no newer write of the address, the page was valid when it was copied. Copies
            // that wait for a full row are dropped before a flush that writes a newer place of their address. So flash
            // has nothing newer.
            core.count_log_hit();
            return Resolved::own(logged.ppa);
        }
        let unit = core.units().of(lpa);
        if let Some(entry) = core.hit(unit).map(|view| view.entry(lpa)) {
            core.count_segment_hit();
            return Resolved::own(entry);
        }
        if Self::place(core, unit).is_none() {
            return Resolved::Unmapped;
        }
        Resolved::Load(unit)
    }

    fn resolve_loaded(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa, _purpose: LoadedFor) -> Option<Ppa> {
        self.mapping_of(core, lpa, loaded)
    }

    /// True for an address in the mapping cache, in a piece in SRAM, or in a piece that was never written.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let unit = core.units().of(lpa);
        core.holds_segment(unit) || core.log().get(lpa).is_some() || Self::place(core, unit).is_none()
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        core.list_cached(runs, |_| true, |_| true);
    }

    /// Only reads gain from a prefetch: writes are recorded without their piece.
    fn batch(&mut self, core: &mut Core, runs: &[LpaRun], write: bool) -> Option<MapUnit> {
        let cached = |run: &LpaRun| (0..run.len).all(|i| self.cached(core, run.lpa.offset(i)));
        let missing = !write && !runs.iter().all(cached);
        missing.then(|| core.units().of(runs[0].lpa))
    }
}

impl<S: PieceSize> Absorb for Flushed<S> {
    /// No program begins when the host data for the next mapping flush is complete. The row that reaches the limit is
    /// programmed whole.
    #[inline]
    fn room(&self, core: &Core) -> usize {
        let complete = self.written as usize + core.host_units_to_log() >= self.flush_units as usize;
        if complete { 0 } else { core.log().room().saturating_sub(core.units_to_log()) }
    }

    #[inline]
    fn committed(&mut self, core: &mut Core, unit: Commit) {
        self.written += u32::from(unit.source.is_none());
        core.log_change(Change { lpa: unit.lpa, ppa: Some(unit.ppa), seq: unit.seq, source: unit.source });
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq) {
        for i in 0..n {
            core.log_change(Change { lpa: lpa.offset(i), ppa: None, seq: seq.plus(i), source: None });
        }
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.unflushed.flush_wanted = true;
    }
}

impl<S: PieceSize> Placement for Flushed<S> {
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        self.unflushed.may_open(core, stream)
    }

    fn placed(&mut self, sb: Superblock, n: u32) {
        self.unflushed.placed(sb, n);
    }

    fn unplaced(&mut self, sb: Superblock, n: u32) {
        self.unflushed.settle(sb, n);
    }

    fn log_blocks(&self, core: &Core) -> Vec<Superblock> {
        self.unflushed.log_blocks(core)
    }
}

impl<S: PieceSize> Flush for Flushed<S> {
    #[inline]
    fn wants_flush(&self, core: &Core) -> bool {
        let crowded = core.log().room() < TRIM_ENTRIES + 2 * core.layout().row_units() as usize;
        self.unflushed.flush_wanted || self.written >= self.flush_units || crowded
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        rounds::run_until_blocked(self, core)
    }
}

impl<S: PieceSize> Reclaim for Flushed<S> {
    const COPIES_AT_RANDOM: bool = true;

    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        self.unflushed.victim(core, named)
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        portions::search(self, core, victim, budget)
    }

    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        core.still_names(lpa, ppa)
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.unflushed.collected(core, sb);
        self.unflushed.retire_if_empty(core, sb);
    }

    fn starved(&mut self, core: &mut Core) {
        let room = self.room(core);
        self.unflushed.starved(core, room);
    }
}

impl<S: PieceSize> Recover for Flushed<S> {
    const TABLE: Table = Table::CountedSegments;

    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.flush.on_power_loss(core, survived);
    }

    /// Recovery has read all pieces; the valid page counts follow from them.
    fn restored(core: &mut Core, own: &S::Params) -> Flushed<S> {
        let unflushed = Unflushed::restored(core);
        Flushed { unflushed, ..Flushed::new(core, own) }
    }
}

impl<S: PieceSize> NoBackground for Flushed<S> {}
impl<S: PieceSize> NoProtocol for Flushed<S> {}

#[cfg(test)]
mod decision_tests;
#[cfg(test)]
mod tests;
