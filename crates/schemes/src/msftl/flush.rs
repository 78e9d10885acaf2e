//! The mapping flush (MSFTL Sec. 3.2): reads the pieces with changes, changes them, and collects them into NAND page
//! programs.

use std::collections::BTreeSet;

use units::{Lpa, MapUnit, Ppa, Seq, Superblock};

use super::{Flushed, FlushedCounters};
use crate::rounds::{self, InRounds, Load, Phase};
use ftl::seat::{Core, Owner, Piece, ProgrammedSet, Round, Sharing};

/// Buffers that a flush works in, if there are that many. They hold programs for every die of a large device.
const BUFFERS: u32 = 64;

/// One change that holds.
#[derive(Clone, Copy, Hash, Debug)]
struct Update {
    lpa: Lpa,
    ppa: Option<Ppa>,
    source: Option<Superblock>,
    /// False for a copy that the host has overtaken.
    holds: bool,
}

/// State of a flush.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct FlushState {
    phase: Phase,
    /// Sorted by address.
    updates: Vec<Update>,
    /// The last change that the flush covers.
    seq: Seq,
    /// Updates whose pieces are on flash already.
    done: usize,
    /// End of the updates whose pieces are in SRAM.
    round_end: usize,
    /// Pieces in SRAM, and the buffers that they take.
    round: Round,
    held: u16,
    /// The last flush has not written all changes.
    paused: bool,
    /// Counters since power-on.
    pub counters: FlushedCounters,
    /// Superblocks that may have become empty.
    concerned: BTreeSet<Superblock>,
}

impl FlushState {
    /// Collects the changes that hold.
    fn sort_log(&mut self, core: &Core) {
        self.updates.clear();
        for entry in core.log().entries() {
            for i in 0..u32::from(entry.len) {
                let (lpa, seq) = (entry.lpa.offset(i), entry.seq.plus(i));
                // A flush that was paused has removed the changes that it wrote from the log's index.
                if let Some(logged) = core.log().get(lpa).filter(|logged| logged.seq == seq) {
                    self.updates.push(Update { lpa, ppa: logged.ppa, source: logged.source, holds: true });
                }
            }
        }
        self.updates.sort_unstable_by_key(|u| u.lpa);
        self.done = 0;
        // No program is in flight, so every change up to this one is in the mapping cache or on flash.
        self.seq = Seq(core.next_seq().0 - 1);
    }

    /// Brings the next pieces into SRAM, as many as fill whole programs. True if it has submitted a flash read.
    fn read_round(&mut self, core: &mut Core) -> bool {
        self.round.clear();
        self.round_end = self.done;
        let units = core.units();
        let (row, program) = (core.layout().row_units(), core.meta().program_units());
        let mut room = u32::from(core.buffers_available(Owner::Map)).min(BUFFERS.max(row));
        for whole in [row, program] {
            room -= if room >= whole { room % whole } else { 0 };
        }
        let mut placing = core.meta().placing();
        while let Some(update) = self.updates.get(self.round_end) {
            let unit = units.of(update.lpa);
            let piece = Piece::of(unit);
            let mut next = placing;
            next.put(piece);
            if next.units() > room {
                break;
            }
            placing = next;
            match core.take_segment(unit) {
                // The flush takes over the buffer of a cached piece.
                Some(loaded) => self.round.add_loaded(loaded),
                None => _ = self.round.add(core.meta().directory(), unit),
            }
            let unread = &self.updates[self.round_end..];
            self.round_end += unread.iter().take_while(|u| units.of(u.lpa) == unit).count();
        }
        assert!(!self.round.is_empty(), "the reserve leaves buffers for a map flush");
        self.held = placing.units() as u16;
        let taken = core.take_buffers(Owner::Map, self.held);
        assert!(taken, "asked above");
        let reads = core.read_for_flush(&mut self.round, Sharing::ByPlace);
        self.counters.pmt_flush_reads += reads;
        reads > 0
    }

    fn count_round(&mut self, core: &mut Core) {
        let units = core.units();
        let entries = |unit: MapUnit| units.range(unit).len() as u64;
        let changed = self.updates[self.done..self.round_end].iter().filter(|u| u.holds).count();
        self.counters.pmt_pieces_written += self.round.len() as u64;
        self.counters.pmt_entries_written += self.round.units().map(entries).sum::<u64>();
        self.counters.pmt_entries_changed += changed as u64;
    }

    /// Makes what the round has programmed the content of its pieces.
    fn round_content(&self, core: &mut Core, programmed: &ProgrammedSet) {
        let updates = self.updates[self.done..self.round_end].iter();
        let changes = updates.filter(|update| update.holds).map(|update| (update.lpa, update.ppa));
        rounds::on_flash(core, &self.round, self.seq, programmed, changes);
    }

    fn round_written(&mut self, core: &mut Core) {
        let programmed = core.take_programmed();
        self.round_content(core, &programmed);
        rounds::release(core, &self.round, &mut self.held);
        self.done = self.round_end;
    }

    /// The power is gone. Makes the pieces of the round whose programs survived the content of flash.
    pub(super) fn on_power_loss(&self, core: &mut Core, survived: &ProgrammedSet) {
        if self.phase == Phase::Written {
            self.round_content(core, survived);
        }
    }
}

impl<S> InRounds for Flushed<S> {
    fn phase(&mut self) -> &mut Phase {
        &mut self.flush.phase
    }

    fn begin(&mut self, core: &mut Core) {
        // The second part of a flush that was paused is no flush of its own.
        self.flush.counters.pmt_early_flushes += u64::from(self.written < self.flush_units && !self.flush.paused);
        self.flush.paused = false;
        self.flush.sort_log(core);
    }

    fn load(&mut self, core: &mut Core) -> Load {
        if self.flush.done == self.flush.updates.len() {
            self.finish_flush(core);
            return Load::Ended;
        }
        if self.flush.done > 0 && core.metadata_runs_short() {
            self.pause_flush(core);
            return Load::Ended;
        }
        if self.flush.read_round(core) { Load::Reading } else { Load::InSram }
    }

    fn program(&mut self, core: &mut Core) -> bool {
        self.apply_round(core);
        true
    }

    fn written(&mut self, core: &mut Core) {
        self.flush.round_written(core);
    }
}

impl<S> Flushed<S> {
    /// Applies the updates of the round. The device sees the old entries now. They tell which copies have been
    /// overtaken, and which pages have become invalid.
    fn apply_round(&mut self, core: &mut Core) {
        core.round_arrived(&mut self.flush.round);
        let (units, mut unit_at) = (core.units(), 0);
        for at in self.flush.done..self.flush.round_end {
            let update = self.flush.updates[at];
            let loaded = self.flush.round.from(&mut unit_at, units.of(update.lpa));
            let old = core.view(loaded).entry(update.lpa);
            match rounds::settle(core, &mut self.unflushed.valid, old, update.ppa, update.source) {
                None => self.flush.updates[at].holds = false,
                Some(sb) => self.flush.concerned.extend(sb),
            }
        }
        self.flush.count_round(core);
        core.program_map_units(&self.flush.round.pieces());
    }

    /// Pauses the flush because translation blocks are short. The changes that are on flash leave the mapping cache.
    /// The other changes follow in a flush after GC of the translation blocks.
    fn pause_flush(&mut self, core: &mut Core) {
        for update in &self.flush.updates[..self.flush.done] {
            core.forget_change(update.lpa);
        }
        self.unflushed.flush_wanted = true;
        self.flush.paused = true;
    }

    /// Ends the flush: superblocks that it has emptied become free.
    fn finish_flush(&mut self, core: &mut Core) {
        for entry in core.log().entries() {
            for ppa in entry.ppa.iter().flat_map(|first| (0..u32::from(entry.len)).map(|i| first.offset(i))) {
                let sb = core.superblock_of(ppa);
                self.unflushed.settle(sb, 1);
                self.flush.concerned.insert(sb);
            }
        }
        core.clear_log();
        core.trims_covered(self.flush.seq.plus(1));
        for sb in std::mem::take(&mut self.flush.concerned) {
            self.unflushed.retire_if_empty(core, sb);
        }
        self.since_directory += self.written;
        if self.directory_units.is_some_and(|units| self.since_directory >= units) {
            core.write_directory();
            self.since_directory = 0;
        }
        self.written = 0;
        self.unflushed.flush_wanted = false;
    }
}
