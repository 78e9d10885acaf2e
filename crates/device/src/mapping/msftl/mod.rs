//! `base-dftl`, `mini-page` and `msftl`: new mappings in a mapping cache, flushed every so much user data (Kim and Lee,
//! MSFTL, "Exploiting Exclusive Higher Resolution to Enhance Response Time of Embedded Flash Storage", 2020).
//!
//! The three differ in nothing but the size of the pieces that the mapping table is written in:
//!
//! - `base-dftl` (Sec. 2): translation pages as large as a NAND page (`msftl.page_kib`, Fig. 2 also has smaller ones).
//! - `mini-page` (Sec. 4.1, after Lv et al., NAS 2018): translation pages of 4 KiB, the host's logical page.
//! - `msftl` (Sec. 3): mapping segments of 2 or 1 KiB (`msftl.segment_bytes`).
//!
//! New mappings of host writes and GC copies are recorded in the mapping cache first (Sec. 2), here the log. After
//! `msftl.flush_mib` of them, a block's worth (Sec. 4.1), the mapping flush reads every piece with changes, changes it
//! and programs it elsewhere; pieces that are smaller than a NAND page are collected, whatever their addresses, until
//! one is full (Sec. 3.2). Their places, the MSD, are all in SRAM, and written when a translation block is opened (Sec.
//! 3.3), which is what GC of the translation blocks begins with; it assembles the up-to-date pieces of its victim, the
//! block with the fewest (Sec. 3.4). Both are those of `meta` and `engine/collect.rs`.
//!
//! The paper does not say how GC finds the valid pages of user blocks, nor what is cached for reads. Here the spare
//! areas of the victim are read, and the pieces that they name (`search`); pieces in SRAM are those of
//! `sram.segment_cache_kib`.

mod flush;
mod search;

use std::marker::PhantomData;

use ufs::LpaRun;
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use self::flush::FlushState;
use super::unflushed::Unflushed;
use super::{portions, rounds};
use crate::blocks::Stream;
use crate::config::{DeviceConfig, MsftlConfig};
use crate::engine::core::Core;
use crate::gc::Victim;
use crate::log::Change;
use crate::map_units::{MapShape, Numbered};
use crate::meta::Piece;
use crate::seat::{
    Absorb, Commit, Flush, HostSays, LoadedFor, MapMemory, NoBackground, NoProtocol, Placement, Reclaim, Recover,
    Resolved, Scheme, Search, Table, Translate,
};
use crate::stats::DeviceStats;

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

/// How large the pieces of the mapping table are.
pub trait PieceSize {
    /// Bytes of a piece.
    fn bytes(cfg: &MsftlConfig) -> u32;
}

/// A NAND page.
#[derive(Debug)]
pub struct NandPage;
/// The host's logical page.
#[derive(Debug)]
pub struct LogicalPage;
/// A part of it.
#[derive(Debug)]
pub struct MappingSegment;

impl PieceSize for NandPage {
    fn bytes(cfg: &MsftlConfig) -> u32 {
        cfg.page_bytes
    }
}

impl PieceSize for LogicalPage {
    fn bytes(_cfg: &MsftlConfig) -> u32 {
        units::UNIT_BYTES as u32
    }
}

impl PieceSize for MappingSegment {
    fn bytes(cfg: &MsftlConfig) -> u32 {
        cfg.segment_bytes
    }
}

/// State of the schemes.
#[derive(Debug)]
pub struct Flushed<S> {
    unflushed: Unflushed,
    /// Units of user and GC data since the last mapping flush.
    written: u32,
    flush: FlushState,
    size: PhantomData<S>,
}

impl<S> Flushed<S> {
    /// The mapping of an address, as far as the device would know it with the piece in SRAM.
    fn mapping_of(&self, core: &Core, lpa: Lpa) -> Option<Ppa> {
        let base = core.meta().pages.entry(lpa);
        core.log().get(lpa).map_or(base, |logged| core.logged_over(logged, base))
    }

    fn place(core: &Core, unit: SegmentId) -> Option<Ppa> {
        core.place_of(unit)
    }
}

impl<S: PieceSize> Scheme for Flushed<S> {
    fn map_shape(cfg: &DeviceConfig) -> MapShape {
        let bytes = S::bytes(&cfg.msftl);
        MapShape { entries: bytes / ENTRY_BYTES, bytes, numbered: Numbered::Spare }
    }

    /// The mapping cache has room for the mappings of a flush, if no two follow each other, and for what is on its way.
    fn log_entries(cfg: &DeviceConfig) -> u16 {
        let entries = cfg.msftl.flush_units + 8 * cfg.geometry.row_units() + 2 * TRIM_ENTRIES as u32;
        u16::try_from(entries).expect("the profile limits msftl.flush_mib to 64")
    }

    fn new(core: &Core) -> Flushed<S> {
        Flushed { unflushed: Unflushed::new(core), written: 0, flush: FlushState::default(), size: PhantomData }
    }

    fn memory(&self, core: &Core) -> MapMemory {
        let log = u64::from(core.cfg().log.entries) * 16;
        MapMemory { sram: log + core.meta().table_bytes() + self.unflushed.valid.table_bytes(), dram: 0 }
    }

    fn report(&self, core: &Core, stats: &mut DeviceStats) {
        let kinds = core.map_programs();
        stats.pmt_flush_units = kinds.segments;
        stats.pmt_moved_units = kinds.moved;
        stats.pmt_directory_units = kinds.directory;
        stats.pmt_bookkeeping_units = kinds.others;
        stats.pmt_directory_bytes = core.meta().map_directory_bytes();
    }
}

impl<S: PieceSize> Translate for Flushed<S> {
    /// Mapping cache, then pieces in SRAM, then flash.
    #[inline]
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, _host: HostSays) -> Resolved {
        if let Some(logged) = core.log().get(lpa) {
            // A copy without a newer write beside it was valid when it was made. Those that wait for a full row are
            // dropped before a flush that writes a newer place of their address, so nothing newer can be on flash.
            core.count_log_hit();
            return Resolved::own(logged.ppa);
        }
        let unit = core.units().of(lpa);
        if core.segment_hit(unit) {
            core.count_segment_hit();
            return Resolved::own(core.meta().pages.entry(lpa));
        }
        if Self::place(core, unit).is_none() {
            return Resolved::Unmapped;
        }
        Resolved::Load(unit)
    }

    fn resolve_loaded(&mut self, core: &mut Core, lpa: Lpa, _purpose: LoadedFor) -> Option<Ppa> {
        self.mapping_of(core, lpa)
    }

    /// In the mapping cache, in a piece in SRAM, or in one that was never written.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let unit = core.units().of(lpa);
        core.holds_segment(unit) || core.log().get(lpa).is_some() || Self::place(core, unit).is_none()
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        core.list_cached(runs, |_| true, |_| true);
    }

    /// Writes are recorded without their piece, so only reads gain by it.
    fn batch(&mut self, core: &mut Core, runs: &[LpaRun], write: bool) -> Option<SegmentId> {
        let cached = |run: &LpaRun| (0..run.len).all(|i| self.cached(core, run.lpa.offset(i)));
        let missing = !write && !runs.iter().all(cached);
        missing.then(|| core.units().of(runs[0].lpa))
    }
}

impl<S: PieceSize> Absorb for Flushed<S> {
    /// No more is programmed than the next mapping flush is to cover, but for the row that reaches it.
    #[inline]
    fn room(&self, core: &Core) -> usize {
        let log = core.log().room().saturating_sub(core.units_to_log());
        let before_flush =
            (core.cfg().msftl.flush_units as usize).saturating_sub(self.written as usize + core.units_to_log());
        if before_flush == 0 { 0 } else { log.min(before_flush + core.layout().row_units() as usize - 1) }
    }

    #[inline]
    fn committed(&mut self, core: &mut Core, unit: Commit) {
        self.written += 1;
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
        self.unflushed.flush_wanted || self.written >= core.cfg().msftl.flush_units || crowded
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        rounds::run_until_blocked(self, core)
    }
}

impl<S: PieceSize> Reclaim for Flushed<S> {
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        self.unflushed.victim(core, named)
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        portions::search(self, core, victim, budget)
    }

    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        self.mapping_of(core, lpa) == Some(ppa)
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.unflushed.collected(core, sb);
    }

    fn starved(&mut self, core: &mut Core) {
        let pending = self.unflushed.flush_would_help(core);
        // A step needs a row, beside copies of another that wait already: the next flush comes a little early.
        let close = self.room(core) < 2 * core.layout().row_units() as usize;
        self.unflushed.flush_wanted |= core.log().len() > 0 && (pending || close);
    }
}

impl<S: PieceSize> Recover for Flushed<S> {
    const TABLE: Table = Table::CountedSegments;

    fn on_power_loss(&mut self, core: &mut Core, lost: &[(Piece, Ppa)]) {
        self.flush.on_power_loss(core, lost);
    }

    /// Valid page counts follow from the pieces, all of which have been read.
    fn restored(core: &mut Core) -> Flushed<S> {
        let unflushed = Unflushed::restored(core);
        Flushed { unflushed, ..Flushed::new(core) }
    }
}

impl<S: PieceSize> NoBackground for Flushed<S> {}
impl<S: PieceSize> NoProtocol for Flushed<S> {}

#[cfg(test)]
mod tests;
