//! Writing translation pages to flash.
//!
//! A page is written as a whole, with every changed entry of it that is in SRAM, so that the other entries need no
//! write of their own (lazy batched eviction, DFTL Sec. 3.3). A page that is not in the page cache is read first.

use std::collections::{BTreeSet, VecDeque};

use units::{Lpa, MapUnit, Ppa, Seq, Superblock};

use super::Demand;
use super::entries::EntryCache;
use super::known::{live, logged_in};
use crate::rounds::{self, InRounds, Load, Phase};
use ftl::seat::{Core, Owner, Piece, Programmed, ProgrammedSet, Round, Sharing, State};

/// Translation pages that are read and written together, if there are that many buffers.
const PAGES_AT_ONCE: u16 = 8;
/// How many of the entries that leave next are searched for a changed one in idle time.
const LOOK_AHEAD: usize = 4096;

/// Reasons to write translation pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Wanted {
    /// This page has to be written before the caches have room.
    pub evict: Option<MapUnit>,
    /// The log has to be emptied.
    pub log: bool,
    /// The journal of trims has to be emptied.
    pub trims: bool,
    /// Too many superblocks would have to be scanned by recovery.
    pub blocks: bool,
    /// The device is idle.
    pub idle: bool,
}

/// State of a flush.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct FlushState {
    phase: Phase,
    todo: VecDeque<MapUnit>,
    round: Round,
    /// Changes in the pages of the round.
    content: Vec<(MapUnit, Lpa, Option<Ppa>)>,
    /// The last change that the flush covers.
    seq: Seq,
    idle: bool,
}

impl<C: EntryCache, const TWO_LEVELS: bool> InRounds for Demand<C, TWO_LEVELS> {
    fn phase(&mut self) -> &mut Phase {
        &mut self.flush.phase
    }

    fn begin(&mut self, core: &mut Core) {
        let wanted = std::mem::take(&mut self.wanted);
        let mut pages: BTreeSet<MapUnit> = BTreeSet::new();
        let units = core.units();
        if wanted.log || wanted.blocks || self.log_is_crowded(core) {
            pages.extend(live(core, 0..u32::MAX).map(|lpa| units.of(lpa)));
        }
        if wanted.trims {
            pages.extend(&self.trimmed);
        }
        if wanted.blocks {
            self.pages_of_oldest_block(core, &mut pages);
        }
        self.counters.cmt_dirty_evictions += u64::from(wanted.evict.is_some());
        pages.extend(wanted.evict);
        self.ctp.shrink();
        if self.ctp.is_over() {
            pages.extend(self.ctp.coldest_changed());
        }
        self.flush.idle = wanted.idle && pages.is_empty();
        if self.flush.idle {
            pages.extend(self.cmt.coldest_dirty(LOOK_AHEAD).or_else(|| self.ctp.coldest_changed()));
        }
        self.flush.todo = pages.into_iter().collect();
        self.flush.seq = Seq(core.next_seq().0 - 1);
    }

    fn load(&mut self, core: &mut Core) -> Load {
        if self.flush.todo.is_empty() {
            self.finish(core);
            return Load::Ended;
        }
        if self.read_round(core) { Load::Reading } else { Load::InSram }
    }

    fn program(&mut self, core: &mut Core) -> bool {
        if self.flush.idle && core.command_waits() {
            // No command waits for this page to be written, and a command waits for the flush to end.
            core.give_buffers(Owner::Map, self.flush.round.len() as u16);
            self.flush.todo.clear();
            self.finish(core);
            return false;
        }
        self.program_round(core);
        true
    }

    fn written(&mut self, core: &mut Core) {
        self.round_written(core);
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Demand<C, TWO_LEVELS> {
    /// Adds the pages that have to be written before recovery can skip the oldest full superblock.
    fn pages_of_oldest_block(&self, core: &Core, pages: &mut BTreeSet<MapUnit>) {
        let full = |sb: &Superblock| core.blocks().state(*sb) == State::Closed && self.changed_in[sb.index()] > 0;
        let closed = (0..core.blocks().count()).map(Superblock).filter(full);
        let Some(oldest) = closed.min_by_key(|&sb| (core.blocks().last_seq(sb), sb)) else { return };
        let names = |entry: Option<Ppa>| entry.is_some_and(|ppa| core.superblock_of(ppa) == oldest);
        pages.extend(self.cmt.dirty_pages(|ppa| names(Some(ppa))));
        let entries = |unit| self.ctp.changed_in(unit).any(|lpa| names(self.ctp.get(core, lpa).flatten()));
        pages.extend(self.ctp.units().filter(|&unit| entries(unit)));
    }

    /// Brings the next pages into SRAM. True if it has submitted a flash read.
    fn read_round(&mut self, core: &mut Core) -> bool {
        let n = core.buffers_available(Owner::Map).min(PAGES_AT_ONCE).min(self.flush.todo.len() as u16);
        let taken = n > 0 && core.take_buffers(Owner::Map, n);
        assert!(taken, "the reserve leaves buffers for a map flush");
        self.flush.round.clear();
        for unit in self.flush.todo.drain(..usize::from(n)) {
            self.cmt.dirty_in(unit).for_each(|lpa| self.cmt.prefetch(lpa));
            match self.ctp.holds(unit) {
                true => self.flush.round.add_in_scheme_cache(unit),
                false => _ = self.flush.round.add(core.meta().directory(), unit),
            }
        }
        core.read_for_flush(&mut self.flush.round, Sharing::IfAdjacent) > 0
    }

    fn program_round(&mut self, core: &mut Core) {
        let mut content = std::mem::take(&mut self.flush.content);
        content.clear();
        core.round_arrived(&mut self.flush.round);
        for unit in self.flush.round.units() {
            let loaded = self.flush.round.find(unit);
            self.cmt.dirty_in(unit).for_each(|lpa| self.cmt.prefetch_entry(lpa));
            let in_sram = self.cmt.dirty_in(unit).chain(self.ctp.changed_in(unit));
            let changed = in_sram.chain(logged_in(core, unit));
            content.extend(changed.map(|lpa| {
                // It will be set when the page has been programmed.
                core.prefetch_entry(lpa);
                (unit, lpa, self.mapping_of(core, lpa, loaded))
            }));
        }
        let pieces = self.flush.round.pieces();
        self.counters.cmt_page_writes += pieces.len() as u64;
        self.counters.cmt_entries_written += content.len() as u64;
        self.counters.cmt_background_flushes += u64::from(self.flush.idle);
        self.flush.content = content;
        core.program_map_units(&pieces);
    }

    fn round_written(&mut self, core: &mut Core) {
        let programmed = core.take_programmed();
        let round = std::mem::take(&mut self.flush.round);
        for loaded in round.loaded() {
            for lpa in logged_in(core, loaded.unit()) {
                self.settle(core, loaded, lpa);
            }
        }
        let mut at = 0;
        for unit in round.units() {
            if let Some(programmed) = programmed.next(&mut at, Piece::of(unit)) {
                core.segment_written(programmed, self.flush.seq);
            }
            self.trimmed.remove(&unit);
            core.give_buffers(Owner::Map, 1);
        }
        let content = std::mem::take(&mut self.flush.content);
        let (mut at, mut last): (usize, Option<&Programmed>) = (0, None);
        for &(unit, lpa, entry) in &content {
            if self.cmt.is_dirty(lpa) {
                self.cmt.clean(lpa);
                self.uncount(core, entry);
            } else if self.ctp.forget_change(lpa).is_some() {
                self.uncount(core, entry);
            }
            // Entries of the same unit are adjacent.
            if last.is_none_or(|last| last.piece() != Piece::of(unit)) {
                last = programmed.next(&mut at, Piece::of(unit));
            }
            if let Some(programmed) = last {
                self.ctp.comes_to_flash(core, lpa, entry);
                core.set_entry(programmed, lpa, entry);
            }
        }
        self.flush.content = content;
        self.ctp.shrink();
    }

    fn finish(&mut self, core: &mut Core) {
        if live(core, 0..u32::MAX).next().is_none() {
            core.clear_log();
        }
        if self.trimmed.is_empty() {
            core.trims_covered(self.flush.seq.plus(1));
        }
        self.flush.round.clear();
    }

    /// The power is gone. Makes the pages of the round whose programs survived the content of flash.
    pub(super) fn flush_cut(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        if self.flush.phase != Phase::Written {
            return;
        }
        let FlushState { content, seq, round, .. } = &self.flush;
        let changes = content.iter().map(|&(_, lpa, entry)| (lpa, entry));
        rounds::on_flash(core, round, *seq, survived, changes);
    }
}

#[cfg(test)]
#[path = "flush_tests.rs"]
mod tests;
