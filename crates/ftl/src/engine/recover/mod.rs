//! Rebuilding the mapping after a power cut, from flash alone (HP-UFS Sec. III-G).
//!
//! 1. *Directory*. The first page of every metadata superblock gives their order. The newest whole snapshot gives the
//!    places of all pieces. The superblock before it, all later ones, and those whose first pages cannot be read are
//!    scanned for pieces written since. Where snapshots need not lie at the start of a superblock, superblocks are
//!    searched for them, the newest first.
//! 2. *Record and journal*: the log blocks, and trims.
//! 3. *Scan*: the spare areas of the log blocks, each in programming order up to its first blank page.
//! 4. *Update*: segments that lack changes are read, changed and written, as many at a time as fit SRAM. `evidence`
//!    decides which page of an address is right.

mod evidence;
mod places;
mod scanner;
pub(super) mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use nand::{Cause, Completed, Priority, Work};
use units::{MapUnit, Ppa, Seq, Superblock, UNIT_BYTES};

use evidence::Evidence;
use places::Places;
use scanner::Scanner;
use state::{Phase, Recovery};

use super::power::{Part, add_time};
use super::state::Engine;
use crate::core::ops::{ProgramReason, Purpose};
use crate::core::{Core, DeviceEvent, META_RESERVE};
use crate::knowledge::{Loaded, PiecesRead, Record, Sight};
use crate::sabotage::Sabotage;
use crate::seat::{Mapping, Table};
use crate::space::blocks::State;
use crate::sram::pool::Owner;
use crate::table::directory::{JOURNAL_PAGES, Piece};
use crate::table::map_units::Numbered;

impl<M: Mapping> Engine<M> {
    fn rec(&mut self) -> &mut Recovery {
        self.recovery.as_mut().expect("a recovery is under way")
    }

    /// Submits reads as long as there are buffers. True if any read is in flight.
    fn recovery_reads(&mut self) -> bool {
        let row = self.core.layout.row_units();
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        while self.core.sram.available(Owner::Map) >= row as u16 {
            let next = recovery.reads.pop_front().or_else(|| Some((recovery.scanner.next_row(&self.core)?, row)));
            let Some((ppa, units)) = next else { break };
            let taken = self.core.sram.take(Owner::Map, units as u16);
            assert!(taken, "asked just now");
            self.core.job_ops += 1;
            let work = Work::Read { ppa, units };
            self.core.submit(work, Priority::MapRead, Cause::Recovery, Purpose::Recover { n: units });
        }
        self.core.job_ops > 0
    }

    pub(super) fn recover_read_done(&mut self, done: &Completed, n: u32) {
        self.core.job_ops -= 1;
        self.core.sram.give(Owner::Map, n as u16);
        let Work::Read { ppa, .. } = done.work() else { return };
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        match recovery.phase {
            Phase::Scan => self.core.stats.recovery_units_scanned += u64::from(n),
            Phase::Snapshot | Phase::Records | Phase::Segments => {
                recovery.read.add(&Sight::new(done, &self.core.nand, self.core.meta.pages()));
            }
            Phase::Count => self.core.count_valid(done),
            _ => {}
        }
        for i in 0..n {
            let seq = self.core.nand.unit_seq(done, i);
            recovery.add_unit(&self.core, ppa.offset(i), self.core.nand.sensed(done, i), seq);
        }
    }

    /// Continues a recovery. The engine calls it when none of its operations is in flight. True when it is finished.
    pub(super) fn advance_recovery(&mut self) -> bool {
        loop {
            let busy_until = self.rec().busy_until;
            if self.recovery_reads() || self.core.now < busy_until {
                return false;
            }
            let phase = self.rec().phase;
            match phase {
                Phase::FirstPages => self.order_metadata(),
                Phase::Seek => self.sought(),
                Phase::Snapshot => self.choose_snapshot(),
                Phase::Metadata => self.directory_done(),
                Phase::Room => self.make_room(),
                Phase::Opened => {
                    if !self.meta_opened() {
                        return false;
                    }
                    self.collect_then(Engine::read_records);
                }
                Phase::Records => self.begin_scan(),
                Phase::Scan => self.plan_update(),
                Phase::Segments => self.read_bases(),
                Phase::Bases => self.begin_change(),
                Phase::Changing => self.write_segments(),
                Phase::Written => self.round_done(),
                Phase::NextRound => self.collect_then(Engine::next_round),
                Phase::Collecting => {
                    if !self.advance_meta_gc() {
                        return false;
                    }
                    self.rec().phase = self.rec().after_collecting;
                }
                Phase::Count if self.core.units().has_bitmaps() => self.collect_then(Engine::write_bitmaps),
                Phase::Count => self.write_last_record(),
                Phase::Bitmaps => self.write_last_record(),
                Phase::LastRecord => {
                    self.ready();
                    return true;
                }
            }
        }
    }

    /// A part of the recovery has ended.
    fn part_done(&mut self, part: Part) {
        let now = self.core.now;
        let began = std::mem::replace(&mut self.rec().part_began, now);
        add_time(&mut self.core.stats, part, (now - began).0);
    }

    fn order_metadata(&mut self) {
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let newest_first: VecDeque<_> = recovery.by_age().into_iter().rev().map(|i| recovery.firsts[i].sb).collect();
        recovery.phase = Phase::Snapshot;
        if !self.core.meta.snapshots_are_scheduled() {
            recovery.snapshots = newest_first.into_iter().map(|sb| self.core.layout.first_ppa(sb)).collect();
            self.read_snapshot();
            return;
        }
        recovery.unsought = newest_first;
        let ageless = recovery.ageless();
        if ageless.is_empty() {
            self.read_snapshot();
        } else {
            // One of these may hold the newest snapshot, or an old one: only the stamps of all tell.
            recovery.scanner = Scanner::new(ageless.into_iter().chain(std::mem::take(&mut recovery.unsought)));
            recovery.phase = Phase::Seek;
        }
    }

    /// The search of a superblock has ended.
    fn sought(&mut self) {
        let recovery = self.rec();
        let mut found = std::mem::take(&mut recovery.sought);
        found.sort_unstable();
        recovery.snapshots = found.into_iter().rev().map(|(_, first)| first).collect();
        recovery.phase = Phase::Snapshot;
        self.read_snapshot();
    }

    /// Reads the newest snapshot that has not been tried, or searches the next superblock for one.
    fn read_snapshot(&mut self) {
        let row = self.core.layout.row_units();
        let units = self.core.meta.snapshot_units();
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        (recovery.whole, recovery.snapshot_stamp) = (true, None);
        recovery.read = PiecesRead::default();
        let Some(&first) = recovery.snapshots.front() else {
            if let Some(sb) = recovery.unsought.pop_front() {
                recovery.scanner = Scanner::new([sb]);
                recovery.phase = Phase::Seek;
            }
            return;
        };
        recovery.reads = (0..units).step_by(row as usize).map(|i| (first.offset(i), row.min(units - i))).collect();
    }

    fn choose_snapshot(&mut self) {
        // With no part of it, nothing tells which snapshot it was.
        let sabotaged = self.core.sabotaged(Sabotage::TornSnapshot) && self.rec().snapshot_stamp.is_some();
        if !self.rec().whole && !sabotaged {
            self.rec().snapshots.pop_front();
            self.read_snapshot();
            return;
        }
        if self.core.sabotaged(Sabotage::StaleSnapshot)
            && self.rec().newest_snapshot.is_none()
            && let Some(newest) = self.rec().snapshots.pop_front()
        {
            self.rec().newest_snapshot = Some(newest);
            self.read_snapshot();
            return;
        }
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let order = recovery.by_age();
        let chosen = recovery.snapshots.front().copied();
        let superblock = |first: Option<Ppa>| first.map(|first| self.core.superblock_of(first));
        let position = |of| order.iter().position(|&i| Some(recovery.firsts[i].sb) == superblock(of)).unwrap_or(0);
        let from = match recovery.newest_snapshot {
            None => position(chosen).saturating_sub(1),
            newest => position(newest),
        };
        // A piece that is older than the first superblock of the scan may have been replaced in a superblock that is
        // not scanned.
        recovery.since = if from == 0 { 0 } else { recovery.firsts[order[from]].stamp.unwrap_or(0) };
        recovery.ageless = recovery.ageless();
        let aged = order[from..].iter().map(|&i| recovery.firsts[i].sb);
        recovery.scanner = Scanner::new(aged.chain(recovery.ageless.iter().copied()));
        let read = |first: Ppa| {
            let stamp = recovery.snapshot_stamp.expect("a snapshot that was read has a stamp");
            let snapshot = self.core.snapshot_read(first, stamp, &recovery.read);
            let snapshot = snapshot.expect("what was read whole was written");
            (snapshot.place, snapshot.next)
        };
        let nothing = || {
            let first_two = recovery.firsts.iter().take(2).map(|f| f.sb).collect();
            (vec![0; self.core.meta.pieces() as usize], first_two)
        };
        (recovery.rebuilt.place, recovery.next) = chosen.map_or_else(nothing, read);
        if self.core.meta.snapshots_are_scheduled() {
            // Any number of superblocks may have been opened since.
            recovery.next = recovery.firsts.iter().filter(|f| f.blank).map(|f| f.sb).collect();
        }
        recovery.phase = Phase::Metadata;
    }

    fn directory_done(&mut self) {
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let mut rebuilt = std::mem::take(&mut recovery.rebuilt);
        let Places { all, numbered } = recovery.places(&self.core, std::mem::take(&mut rebuilt.place));
        rebuilt.place = all;
        let chosen = recovery.snapshots.front().map(|&first| self.core.superblock_of(first));
        for first in &recovery.firsts {
            let list = if first.blank { &mut rebuilt.free } else { &mut rebuilt.used };
            list.push(first.sb);
        }
        self.core.restore_directory(rebuilt, &numbered);
        self.rec().phase = Phase::Room;

        // One of these was opened after the snapshot. Its first program may have lost power so early that it looks
        // erased. So it is erased again and opened again, and then the next recovery knows it too.
        let mut next = std::mem::take(&mut self.rec().next);
        next.retain(|&sb| self.core.meta.take_next(sb));
        if next.is_empty() {
            next.extend(self.core.meta.take_any(chosen));
        }
        for &sb in &next {
            self.core.job_ops += 1;
            self.core.erase(sb);
        }
        self.rec().next = next;
    }

    /// Opens a superblock for the metadata to come. The snapshot that was found stays until the next one is whole,
    /// because nothing is collected before that.
    fn make_room(&mut self) {
        let next = std::mem::take(&mut self.rec().next);
        self.core.meta.free_first(&next);
        self.core.open_meta();
        self.rec().phase = Phase::Opened;
    }

    /// Calls `run_until_blocked`, after a collection of metadata superblocks if these are short.
    fn collect_then(&mut self, run_until_blocked: impl FnOnce(&mut Engine<M>)) {
        if self.core.meta.free() > META_RESERVE {
            run_until_blocked(self);
            return;
        }
        self.rec().after_collecting = self.rec().phase;
        self.rec().phase = Phase::Collecting;
        self.begin_meta_gc();
    }

    fn read_records(&mut self) {
        let meta = &self.core.meta;
        let journal = (0..JOURNAL_PAGES as usize).map(|page| meta.journal_piece(page));
        let pieces = meta.record_pieces(0).into_iter().chain(meta.record_pieces(1)).chain(journal);
        let reads = pieces.filter_map(|piece| Some((meta.place(piece)?, 1))).collect();
        self.rec().reads = reads;
        self.rec().read = PiecesRead::default();
        self.rec().phase = Phase::Records;
    }

    fn begin_scan(&mut self) {
        let (meta, read) = (&self.core.meta, &self.recovery.as_ref().expect("a recovery is under way").read);
        // Of a record that was being programmed at the power cut, some parts may be of the record before.
        let record = |slot: usize| {
            let placed = |piece| Some((piece, meta.place(piece)?));
            let parts: Option<Vec<(Piece, Ppa)>> = meta.record_pieces(slot).into_iter().map(placed).collect();
            meta.pages().record(parts?.into_iter(), read)
        };
        let records = (0..2).filter_map(record);
        let mut record: Arc<Record> = match self.core.sabotaged(Sabotage::StaleRecord) {
            false => records.max_by_key(|r| r.number).unwrap_or_default(),
            true => records.min_by_key(|r| r.number).unwrap_or_default(),
        };
        if self.core.sabotaged(Sabotage::ForgetSlc) {
            let Record { free, slc, .. } = Arc::make_mut(&mut record);
            free.iter_mut().zip(slc).for_each(|(free, slc)| *free |= std::mem::take(slc));
        }
        let mut evidence = Evidence::default();
        let mut dropped = Vec::new();
        for page in 0..JOURNAL_PAGES as usize {
            let piece = meta.journal_piece(page);
            let place = match self.core.sabotaged(Sabotage::MisplacedJournal) {
                false => meta.place(piece),
                true => meta.place(meta.journal_piece(page ^ 1)),
            };
            match place.map(|place| meta.pages().journal(piece, place, read)) {
                Some(Some(journaled)) => {
                    self.core.trims.restore(page, journaled);
                    evidence.add_trims(journaled);
                }
                Some(None) => dropped.push(piece),
                None => {}
            }
        }
        dropped.into_iter().for_each(|piece| self.core.meta.drop_piece(piece));
        self.core.records.resume(record.number);
        let all = (0..self.core.blocks.count()).map(Superblock);
        let scanned: Vec<Superblock> = match M::TABLE {
            Table::Dram => all.filter(|&sb| record.number > 0 && !record.is_free(sb)).collect(),
            _ => record.log_blocks.clone(),
        };
        if record.number > 0 {
            let nand = &self.core.nand;
            self.core.blocks.restore(&record, |sb| nand.erase_count(sb));
        }
        let recovery = self.rec();
        recovery.evidence = evidence;
        recovery.scanner = Scanner::new(scanned.iter().copied());
        recovery.scanned = scanned;
        recovery.phase = Phase::Scan;
        self.part_done(Part::Directory);
    }

    /// Chooses the segments to update. Everything that decides this is in SRAM.
    fn plan_update(&mut self) {
        self.part_done(Part::Scan);
        let units = self.core.meta.units();
        let segments = units.count();
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        match self.core.sabotaged(Sabotage::LastPageWins) {
            false => recovery.evidence.sort(),
            true => recovery.evidence.sort_wrongly(),
        }
        let meta = &self.core.meta;
        let number_on_flash = |unit| match units.numbered() {
            Numbered::Directory => meta.segment_seq(unit),
            Numbered::Spare => self.core.truth().number_on_flash(unit, meta.place(meta.segment_piece(unit))),
        };
        let newest = (0..segments).map(|s| number_on_flash(MapUnit(s))).max().unwrap_or(Seq(0));
        let evidence = &mut recovery.evidence;
        evidence.last_seq = evidence.last_seq.max(newest);
        let concerns = |segment: &MapUnit| {
            let range = units.range(*segment);
            let written = M::TABLE == Table::Dram && meta.place(meta.segment_piece(*segment)).is_some();
            let complete = match units.numbered() {
                Numbered::Directory => meta.segment_seq(*segment),
                // Only the segment itself has its number, so every segment with a found page or trim is read.
                Numbered::Spare => Seq(0),
            };
            written || evidence.concerns(range, complete)
        };
        recovery.todo = (0..segments).map(MapUnit).filter(concerns).collect();
        if M::TABLE == Table::Dram {
            self.core.rebuilt = vec![0; self.core.cfg.capacity_units as usize];
        }
        self.core.resume_seq(self.recovery.as_ref().expect("as above").evidence.last_seq);
        self.rec().phase = Phase::NextRound;
    }

    /// Reads the next segments, as many as fit SRAM beside the pages that the scan has found, at 16 bytes each. If
    /// those alone take too much, as for a table in DRAM, few segments are read at a time.
    fn next_round(&mut self) {
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let taken =
            (16 * recovery.evidence.len()).div_ceil(UNIT_BYTES as usize) + self.core.layout.row_units() as usize;
        let room = usize::from(self.core.sram.available(Owner::Map)).saturating_sub(taken);
        let units = self.core.meta.units();
        let fitting = units.fitting(room as u32).max(8) as usize;
        let n = recovery.todo.len().min(fitting);
        recovery.now.clear();
        for segment in recovery.todo.drain(..n) {
            recovery.now.add(self.core.meta.directory(), segment);
        }
        if recovery.now.is_empty() {
            self.begin_count();
            return;
        }
        recovery.reads = map_reads(&self.core, recovery.now.units());
        recovery.read = PiecesRead::default();
        recovery.phase = Phase::Segments;
    }

    /// Reads the pages that segments name where a copy by GC competes with them.
    fn read_bases(&mut self) {
        self.part_done(Part::SegmentRead);
        let core = &self.core;
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let units = core.meta.units();
        recovery.now.arrive_with(&recovery.read, units.flash_units(), core.meta.pages());
        if units.numbered() == Numbered::Spare {
            let evidence = &recovery.evidence;
            recovery.now.retain(|unit| evidence.concerns(units.range(unit.unit()), core.view(unit).seq()));
        }
        let mut reads = Vec::new();
        for loaded in recovery.now.loaded() {
            let view = core.view(loaded);
            let on_flash = view.seq();
            let news = recovery.evidence.missing_pages(units.range(loaded.unit()), on_flash);
            let seen = news.filter(|page| page.version <= on_flash);
            reads.extend(seen.filter_map(|page| view.entry(page.lpa)).filter(|&ppa| core.is_data(ppa, 1)));
        }
        recovery.evidence.clear_bases();
        recovery.reads = reads.into_iter().map(|ppa| (ppa, 1)).collect();
        recovery.phase = Phase::Bases;
    }

    /// Begins the change of the round's segments. The processor takes the time of a command for each.
    fn begin_change(&mut self) {
        let cost = self.core.cfg.command_cost.0;
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        recovery.busy_until = self.core.now + units::Nanos(cost * recovery.now.len() as u64);
        recovery.phase = Phase::Changing;
        self.core.effects.wakes.push((recovery.busy_until, DeviceEvent::Firmware));
    }

    fn write_segments(&mut self) {
        self.part_done(Part::Update);
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let core = &self.core;
        let segments = std::mem::take(&mut recovery.now);
        let corrected = |loaded: &Loaded| {
            let (view, segment) = (core.view(loaded), loaded.unit());
            let mut image = view.entries();
            recovery.evidence.correct(core.meta.units().range(segment), view.seq(), &mut image);
            (segment, image)
        };
        let images: Vec<(MapUnit, Vec<u32>)> = segments.loaded().map(corrected).collect();
        recovery.phase = Phase::Written;
        if M::TABLE == Table::Dram {
            for (segment, image) in images {
                let range = self.core.meta.units().range(segment);
                self.core.rebuilt[range.start as usize..range.end as usize].copy_from_slice(&image);
            }
            return;
        }
        self.core.stats.recovery_segments += images.len() as u64;
        if self.core.sabotaged(Sabotage::ForgetRecovered) {
            return;
        }
        recovery.writes.write(&mut self.core, images, recovery.evidence.last_seq);
    }

    fn round_done(&mut self) {
        self.part_done(Part::SegmentWrite);
        let recovery = self.recovery.as_mut().expect("a recovery is under way");
        let programmed = self.core.take_programmed();
        recovery.writes.finish(&mut self.core, &programmed);
        recovery.phase = Phase::NextRound;
    }

    fn begin_count(&mut self) {
        let reads = match M::TABLE {
            Table::CountedSegments => map_reads(&self.core, (0..self.core.meta.units().count()).map(MapUnit)),
            _ => VecDeque::new(),
        };
        self.core.counted = vec![0; self.core.blocks.count() as usize];
        self.rec().reads = reads;
        self.rec().phase = Phase::Count;
    }

    /// Writes the segment bitmaps of the superblocks that were scanned. Those on flash lack the pages that have been
    /// programmed since the last map flush, and after the next record nobody would know that.
    fn write_bitmaps(&mut self) {
        let scanned = self.recovery.as_ref().map_or(&[][..], |recovery| &recovery.scanned);
        let filled = scanned.iter().filter(|&&sb| self.core.blocks.state(sb) == State::Closed);
        let bitmaps: Vec<Piece> = filled.flat_map(|&sb| self.core.meta.bitmap_pieces(sb)).collect();
        self.core.program_bitmaps(&bitmaps);
        self.rec().phase = Phase::Bitmaps;
    }

    /// Writes a record without log blocks: all changes are in segments.
    fn write_last_record(&mut self) {
        self.part_done(Part::Count);
        let slot = self.core.records.begin(None, Vec::new(), &self.core.blocks);
        self.core.program_record(slot, ProgramReason::Job);
        if M::TABLE != Table::Dram {
            let covered = self.core.next_seq();
            self.core.trims_covered(covered);
        }
        self.rec().phase = Phase::LastRecord;
    }

    fn ready(&mut self) {
        self.part_done(Part::Directory);
        self.map = M::restored(&mut self.core, &self.own);
        self.recovery = None;
    }
}

/// The flash reads that bring map units into SRAM, in order of the units. Units that share a flash unit take one read.
fn map_reads(core: &Core, segments: impl Iterator<Item = MapUnit>) -> VecDeque<(Ppa, u32)> {
    let meta = &core.meta;
    let shares = meta.units().per_flash_unit() > 1;
    let mut seen = BTreeSet::new();
    let places = segments.filter_map(|segment| meta.place(meta.segment_piece(segment)));
    let first_of_its_unit = places.filter(|&ppa| !shares || seen.insert(ppa));
    first_of_its_unit.map(|ppa| (ppa, meta.units().flash_units())).collect()
}
