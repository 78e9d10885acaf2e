//! What every part of the firmware works on: flash, SRAM, tables, and the effects of the current call.

mod booster;
mod effects;
mod health;
mod lend;
pub(crate) mod ops;

pub use self::effects::{DeviceEvent, Effects};

use nand::{Blind, Cause, Layout, Nand, NandEvent, Op, Priority, Spare, Work};
use ufs::{Content, LpaRun};
use units::{Lpa, MapUnit, Ppa, Seq, SimTime, Superblock};

use crate::config::{EngineConfig, HpbConfig};
use crate::core::booster::BoosterState;
use crate::core::ops::{MAX_ITEMS, Ops, ProgramReason, Purpose, RowLists};
use crate::knowledge::meta::{Kind, Meta};
use crate::knowledge::{Covered, JobReads, Pages, Programmed, ProgrammedSet};
use crate::metadata::records::Records;
use crate::metadata::trims::Trims;
use crate::publish::Publisher;
use crate::report::stats::DeviceStats;
use crate::report::watch::{self, Event, Watch};
use crate::sabotage::Sabotage;
use crate::space::blocks::{Blocks, Stream};
use crate::space::disturb::ReadCounts;
use crate::space::heat::Heat;
use crate::sram::buffer::WriteBuffer;
use crate::sram::pool::Sram;
use crate::table::directory::{JOURNAL_PAGES, Piece};
use crate::table::log::{Change, Log, Logged};
use crate::table::map_units::MapUnits;

/// Metadata superblocks that must stay free. Garbage collection starts at this many (facts of the authors' prototype).
pub const META_RESERVE: usize = 2;

/// A job. While one runs, no other does; and no command starts, except beside a step of GC that lets them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Job {
    /// The mapping scheme writes segments.
    MapFlush,
    /// A step of GC or wear levelling.
    Gc,
    /// Garbage collection of metadata superblocks.
    MetaGc,
    /// Rebuilding the mapping after a power cut.
    Recovery,
}

/// Flash units of metadata programmed since power-on, by what they held, padding included.
#[derive(Clone, Copy, Default, Debug)]
pub struct MapPrograms {
    /// Map units.
    pub segments: u64,
    /// Pieces that GC of metadata has moved.
    pub moved: u64,
    /// Snapshots of the directory.
    pub directory: u64,
    /// Segment bitmaps, records of log blocks and the journal of trims.
    pub others: u64,
}

/// Counters only count: no part of the state.
#[cfg(feature = "explore")]
impl std::hash::Hash for MapPrograms {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// A superblock being erased.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
struct Erasing {
    superblock: Superblock,
    /// Dies that have not finished.
    dies: u32,
    /// One of them has failed.
    failed: bool,
}

/// What idle time is of no use for.
#[derive(Clone, Copy, Default, Hash, Debug)]
pub(crate) struct Futile {
    /// Nothing is worth collecting.
    pub collect: bool,
    /// Nothing can be folded.
    pub fold: bool,
}

/// Shared state of the firmware. Schemes are lent it; `lend` has the methods that they may use, by subject.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Core {
    /// Configuration.
    pub(crate) cfg: EngineConfig,
    /// Address arithmetic.
    pub(crate) layout: Layout,
    /// Flash.
    pub(crate) nand: Nand,
    /// Buffer pool and cached segments.
    pub(crate) sram: Sram,
    /// Host data that is not on flash yet.
    pub(crate) buffer: WriteBuffer,
    /// New mappings.
    pub(crate) log: Log,
    /// Data superblocks.
    pub(crate) blocks: Blocks,
    /// Reads of blocks, if what is read often is refreshed.
    pub(crate) disturb: Option<ReadCounts>,
    /// Which data are hot, if those have superblocks of their own.
    pub(crate) heat: Option<Heat>,
    /// What the host controls of the cache in SLC mode.
    booster: BoosterState,
    /// See [`EngineConfig::has_more_occasions`].
    pub(crate) has_more_occasions: bool,
    /// A superblock could be folded after a map flush.
    pub(crate) fold_waits: bool,
    /// Metadata on flash.
    pub(crate) meta: Meta,
    /// The record of log blocks.
    pub(crate) records: Records,
    /// Trims that are not safe on flash yet.
    pub(crate) trims: Trims,
    /// Entries published to an HPB host.
    pub(crate) publisher: Publisher,
    /// Counters.
    pub(crate) stats: DeviceStats,
    /// Flash units of metadata programmed, by what they held.
    pub(crate) map_programs: MapPrograms,
    /// Wakes and responses that the current call wants.
    pub(crate) effects: Effects,
    /// Units whose page could not be read because a fault was injected, for an observer; see
    /// [`Device::take_failed_reads`](crate::Device::take_failed_reads).
    pub(crate) failed_reads: Vec<Lpa>,
    /// Host data that has come to flash, for an observer; `None` if there is none. See
    /// [`Device::programmed`](crate::Device::programmed).
    pub(crate) host_programs: Option<Vec<Content>>,
    /// Time of the current call.
    pub(crate) now: SimTime,
    /// True if a command has arrived during the map flush that is under way.
    pub(crate) command_waits: bool,
    /// Superblocks from which the copies come that wait for a full row.
    pub(crate) waiting_sources: Vec<Superblock>,
    /// The table that recovery has rebuilt for a scheme that keeps it in DRAM, packed, by LPA.
    pub(crate) rebuilt: Vec<u32>,
    /// Valid pages of each superblock, counted by recovery in the map units that it has read.
    pub(crate) counted: Vec<u32>,
    /// Operations in flight.
    pub(crate) ops: Ops,
    /// In which a row that is to be programmed is put together.
    pub(crate) row_lists: RowLists,
    /// The job, and its operations in flight.
    pub(crate) job: Option<Job>,
    pub(crate) job_ops: u32,
    /// Since when the job has stopped commands; `None` if it does not.
    stopped: Option<SimTime>,
    /// Programs in flight, those that failed and are to be repeated included.
    pub(crate) programs: u32,
    /// True while a map flush runs beside commands.
    pub(crate) flushing: bool,
    /// For a flush that begins: the first change that is neither in the log nor on flash, if there is one.
    pub(crate) first_unlogged: Option<Seq>,
    /// Parts of segment bitmaps in programs of a flush that does other things meanwhile.
    pub(crate) bitmaps_in_flight: u32,
    /// The last change that the segment bitmaps of a flush have.
    pub(crate) bitmaps_have: Seq,
    erasing: Vec<Erasing>,
    /// What idle time is of no use for, until the host writes.
    pub(crate) futile: Futile,
    /// Units in programs in flight that will need a log entry.
    pub(crate) units_to_log: usize,
    /// Of these, copies by GC.
    pub(crate) copies_to_log: usize,
    /// Completed reads of the exclusive job.
    pub(crate) job_reads: JobReads,
    /// Map units that programs of the exclusive job have put on flash.
    pub(crate) programmed: ProgrammedSet,
    /// What is noted for those who watch; `None` if nobody does.
    pub(crate) watch: Option<Box<Watch>>,
    next_seq: Seq,
    pub(crate) job_began: SimTime,
}

impl Core {
    /// A device fresh from the factory, whose mapping table is divided into `units`.
    pub(crate) fn new(cfg: EngineConfig, units: MapUnits) -> Core {
        let meta = Meta::new(cfg.geometry.layout(), units);
        let mut nand = Nand::new(cfg.geometry, cfg.timing);
        nand.set_faults(cfg.faults);
        match cfg.sabotage {
            Some(Sabotage::TrustTorn) => nand.without_ecc(Blind::ToUserData),
            Some(Sabotage::TornMetadata) => nand.without_ecc(Blind::ToMetadata),
            _ => {}
        }
        Core::with_flash(nand, meta, cfg)
    }

    /// A device after a power cut: only its flash is left, with its mapping table divided as before.
    pub(crate) fn powered_on(nand: Nand, pages: Pages, cfg: EngineConfig) -> Core {
        let meta = Meta::with_pages(cfg.geometry.layout(), pages);
        Core::with_flash(nand, meta, cfg)
    }

    fn with_flash(nand: Nand, meta: Meta, cfg: EngineConfig) -> Core {
        let layout = cfg.geometry.layout();
        let units = meta.units();
        Core {
            nand,
            meta,
            records: Records::default(),
            trims: Trims::new(JOURNAL_PAGES as usize),
            sram: Sram::new(&cfg.sram, units),
            buffer: WriteBuffer::new(cfg.sram.pool),
            log: Log::new(cfg.log.entries),
            blocks: Blocks::new(layout, cfg.slc),
            disturb: cfg.refresh_reads.map(|limit| ReadCounts::new(&layout, limit)),
            heat: cfg.gc.hot_region.map(|units| Heat::new(units, cfg.capacity_units)),
            has_more_occasions: cfg.has_more_occasions(),
            booster: BoosterState::new(&cfg.slc),
            fold_waits: false,
            publisher: Publisher::new(&HpbConfig::default(), cfg.seal_key, cfg.capacity_units),
            stats: DeviceStats::default(),
            map_programs: MapPrograms::default(),
            effects: Effects::default(),
            failed_reads: Vec::new(),
            host_programs: None,
            now: SimTime::START,
            command_waits: false,
            waiting_sources: Vec::new(),
            rebuilt: Vec::new(),
            counted: Vec::new(),
            ops: Ops::default(),
            row_lists: RowLists::default(),
            job: None,
            job_ops: 0,
            stopped: None,
            programs: 0,
            flushing: false,
            first_unlogged: None,
            bitmaps_in_flight: 0,
            bitmaps_have: Seq(0),
            erasing: Vec::new(),
            futile: Futile::default(),
            units_to_log: 0,
            copies_to_log: 0,
            job_reads: JobReads::default(),
            programmed: ProgrammedSet::default(),
            watch: None,
            next_seq: Seq(1),
            job_began: SimTime::START,
            layout,
            cfg,
        }
    }

    /// Publishes entries to the host from now on, as `hpb` says.
    pub(crate) fn publish(&mut self, hpb: &HpbConfig) {
        self.publisher = Publisher::new(hpb, self.cfg.seal_key, self.cfg.capacity_units);
    }

    /// Superblock of a place.
    #[inline]
    pub fn superblock_of(&self, ppa: Ppa) -> Superblock {
        self.layout.superblock_of(ppa)
    }

    /// Appends the addresses in SRAM that need no flash read: cached segments that are `complete`, and entries of the
    /// log that are `usable`.
    pub fn list_cached(
        &self,
        runs: &mut Vec<LpaRun>,
        complete: impl Fn(MapUnit) -> bool,
        usable: impl Fn(Lpa) -> bool,
    ) {
        let units = self.meta.units();
        let whole = self.sram.segments().filter(|&segment| complete(segment)).map(|segment| units.range(segment));
        runs.extend(whole.map(|range| LpaRun { lpa: Lpa(range.start), len: range.end - range.start }));
        let listed = |lpa| self.sram.holds_segment(units.of(lpa)) && complete(units.of(lpa));
        for entry in self.log.entries() {
            let logged = (0..u32::from(entry.len)).map(|i| entry.lpa.offset(i));
            let single = logged.filter(|&lpa| !listed(lpa) && usable(lpa));
            runs.extend(single.map(|lpa| LpaRun { lpa, len: 1 }));
        }
    }

    /// True if tests make the device break this promise.
    #[inline]
    pub(crate) fn sabotaged(&self, promise: Sabotage) -> bool {
        self.cfg.sabotage == Some(promise)
    }

    /// The sequence number that the next change will get.
    pub fn next_seq(&self) -> Seq {
        self.next_seq
    }

    /// Continues after the last sequence number that recovery has found.
    pub(crate) fn resume_seq(&mut self, last: Seq) {
        self.next_seq = last.plus(1);
    }

    /// Takes `n` sequence numbers; gives the first.
    #[inline]
    pub(crate) fn take_seq(&mut self, n: u32) -> Seq {
        let first = self.next_seq;
        self.next_seq = first.plus(n);
        first
    }

    /// Adds a change to the log. True if it holds.
    #[inline]
    pub fn log_change(&mut self, change: Change) -> bool {
        let layout = &self.layout;
        self.log.push(change, |ppa| layout.superblock_of(ppa))
    }

    /// The mapping of an address with its log entry. `base` is the mapping in the table below the log.
    #[inline]
    pub fn logged_over(&self, logged: Logged, base: Option<Ppa>) -> Option<Ppa> {
        logged.over(base, |ppa| self.layout.superblock_of(ppa))
    }

    /// Submits a read or an erase. Inlined, so that the purpose is made where it stays.
    #[inline(always)]
    pub(crate) fn submit(&mut self, work: Work, priority: Priority, cause: Cause, purpose: Purpose) {
        let token = self.ops.start(purpose, &[]);
        self.disturb.iter_mut().for_each(|reads| reads.read(&self.layout, work));
        self.nand.submit(self.now, Op { work, priority, cause, token }, &mut self.effects.wakes);
    }

    /// Submits a program of data or metadata units, padded with `None`.
    #[inline]
    pub(crate) fn submit_program(&mut self, op: Op, spares: &[Option<Spare>], seq: Seq) {
        self.programs += 1;
        self.nand.submit_program(self.now, op, spares, seq, &mut self.effects.wakes);
    }

    /// Passes a wake to the flash. Gives the operation that has completed with it, if any.
    #[inline]
    pub(crate) fn nand_wake(&mut self, event: NandEvent) -> Option<nand::Completed> {
        self.nand.wake(self.now, event, &mut self.effects.wakes)
    }

    /// Programs up to a row of metadata pieces. Gives the place of the first and the number of pieces taken. The
    /// directory changes when the program is done.
    pub(crate) fn program_pieces(&mut self, pieces: &[Piece], reason: ProgramReason) -> (Ppa, usize) {
        let room = self.meta_room() as u32;
        let (mut items, mut marks) =
            (std::mem::take(&mut self.row_lists.items), std::mem::take(&mut self.row_lists.marks));
        let mut placing = self.meta.placing();
        for &piece in pieces.iter().take(MAX_ITEMS) {
            let mut next = placing;
            let units = next.put(piece);
            if units.end > room {
                break;
            }
            if !placing.shares(&units) {
                marks.resize(units.end as usize, piece.0);
            }
            items.push(piece.0);
            placing = next;
        }
        let n = items.len();
        let ppa = self.program_meta_row(&marks, &items, |ppa| Purpose::MetaProgram { ppa, n: n as u32, reason });
        if self.sabotaged(Sabotage::SwappedParts) {
            items[1..].iter_mut().for_each(|item| *item ^= 1);
        }
        self.meta.label(ppa, &items);
        self.count_pieces(pieces[0], reason, marks.len() as u32);
        items.clear();
        marks.clear();
        (self.row_lists.items, self.row_lists.marks) = (items, marks);
        if reason.is_of_job() {
            self.job_ops += 1;
        }
        (ppa, n)
    }

    fn count_pieces(&mut self, first: Piece, reason: ProgramReason, units: u32) {
        let kinds = &mut self.map_programs;
        let count = match (reason, self.meta.kind(first)) {
            (ProgramReason::Move, _) => &mut kinds.moved,
            (_, Kind::Segment(_)) => &mut kinds.segments,
            _ => &mut kinds.others,
        };
        *count += u64::from(units.next_multiple_of(self.meta.program_units()));
    }

    /// Programs metadata pieces, with as many programs as they take.
    pub(crate) fn program_all_pieces(&mut self, pieces: &[Piece], reason: ProgramReason) {
        let mut at = 0;
        while at < pieces.len() {
            at += self.program_pieces(&pieces[at..], reason).1;
        }
    }

    /// Pieces that fit the next row of metadata.
    pub fn meta_room(&mut self) -> usize {
        self.open_meta();
        self.meta.room_in_row() as usize
    }

    /// Makes sure that a metadata superblock is open. A new one begins with a snapshot of the directory, unless the
    /// scheme says when one is written.
    pub(crate) fn open_meta(&mut self) {
        if self.meta.open_next() && self.meta.begins_with_snapshot() {
            self.program_snapshot();
        }
    }

    /// Programs a snapshot of the directory in the open metadata superblock.
    pub(crate) fn program_snapshot(&mut self) {
        self.meta.begin_snapshot();
        let units = self.meta.snapshot_units();
        self.map_programs.directory += u64::from(units);
        let mut i = 0;
        while i < units {
            let n = (units - i).min(self.meta.room_in_row());
            let marks: Vec<u32> = (i..i + n).map(|part| self.meta.snapshot_mark(part)).collect();
            self.program_meta_row(&marks, &marks, |_| Purpose::Snapshot);
            i += n;
        }
    }

    /// Programs units of metadata, each with its mark in the spare area. `items` are the pieces that the operation
    /// holds.
    fn program_meta_row(&mut self, marks: &[u32], items: &[u32], purpose: impl FnOnce(Ppa) -> Purpose) -> Ppa {
        let padded = marks.len().next_multiple_of(self.meta.program_units() as usize);
        let ppa = self.meta.allocate(padded as u32);
        let mut spares = std::mem::take(&mut self.row_lists.spares);
        let mut first = 0;
        for (i, &mark) in marks.iter().enumerate() {
            let stamp = self.meta.next_stamp();
            if i == 0 {
                first = stamp;
            }
            spares.push(Some(Spare { lpa: mark, stamp, version: stamp }));
        }
        spares.resize(padded, None);
        // Units fill the pages in order, so padding is only at the end of a plane page, as it must be.
        let token = self.ops.start(purpose(ppa), items);
        let work = Work::Program { ppa, units: padded as u32 };
        let op = Op { work, priority: Priority::HostWrite, cause: Cause::MapWrite, token };
        self.submit_program(op, &spares, Seq(u64::from(first)));
        spares.clear();
        self.row_lists.spares = spares;
        self.stats.map_units_programmed += padded as u64;
        ppa
    }

    /// Records on flash that a stream has opened a superblock. Nothing is programmed there before the record is on
    /// flash; see [`Records::recorded`](crate::metadata::records::Records::recorded).
    pub(crate) fn write_record(&mut self, stream: Stream, log_blocks: Vec<Superblock>, reason: ProgramReason) {
        let slot = self.records.begin(Some(stream), log_blocks, &self.blocks);
        self.program_record(slot, reason);
    }

    /// Programs the parts of a record.
    pub(crate) fn program_record(&mut self, slot: usize, reason: ProgramReason) {
        let pieces = self.meta.record_pieces(slot);
        self.records.expect(slot, pieces.len());
        self.program_all_pieces(&pieces, reason);
    }

    /// A piece is on flash. What it holds is what its place holds from now on. The directory still has its former
    /// place. Of a map unit that was programmed in the background, the scheme says what it holds.
    #[inline(always)] // A map flush does this for every unit.
    pub(crate) fn piece_on_flash(&mut self, programmed: &Programmed, reason: ProgramReason) {
        let Kind::Segment(unit) = self.meta.kind(programmed.piece()) else {
            return self.own_piece_on_flash(programmed, reason);
        };
        let from = self.meta.place(programmed.piece());
        let from = match reason {
            ProgramReason::Background => return,
            ProgramReason::Job | ProgramReason::Flush if self.cfg.sabotage.is_some() => {
                self.sabotaged_source(unit, from)
            }
            _ => (unit, from),
        };
        self.meta.pages_mut().taken_over(programmed, from);
    }

    /// The same for a piece that is no map unit.
    fn own_piece_on_flash(&mut self, programmed: &Programmed, reason: ProgramReason) {
        let piece = programmed.piece();
        let from = self.meta.place(piece);
        match (self.meta.kind(piece), reason) {
            (Kind::Segment(_), _) => {}
            (_, ProgramReason::Move) => {
                // It may have left the directory since it was read.
                from.into_iter().for_each(|from| self.meta.pages_mut().copied(programmed, from));
            }
            (Kind::Record(slot), _) => {
                let record = self.records.part_written(slot);
                self.meta.pages_mut().set_record(programmed, record);
            }
            (Kind::Journal(page), _) => {
                let trims = self.trims.written(page);
                self.meta.pages_mut().set_journal(programmed, trims.into());
            }
            (Kind::Bitmap(_), _) if from.is_some() && self.sabotaged(Sabotage::StaleBitmap) => {
                from.into_iter().for_each(|from| self.meta.pages_mut().copied(programmed, from));
            }
            (Kind::Bitmap(sb), reason) => {
                let last = if reason == ProgramReason::Flush { self.bitmaps_have } else { Seq(self.next_seq.0 - 1) };
                let covered = Covered { erases: self.nand.erase_count(sb), last };
                self.meta.pages_mut().set_bitmap(programmed, covered);
            }
        }
    }

    /// The map unit, and its place, from which a flush takes the content of `unit`: itself at `from`, unless a sabotage
    /// says otherwise.
    #[cold]
    fn sabotaged_source(&self, unit: MapUnit, from: Option<Ppa>) -> (MapUnit, Option<Ppa>) {
        let neighbour = MapUnit(unit.0 ^ 1);
        match self.cfg.sabotage {
            Some(Sabotage::StaleTranslationPage) => (unit, self.meta.pages().before(unit).or(from)),
            Some(Sabotage::MisplacedSegment) if unit.0 % 4 == 1 => (neighbour, self.meta.place(Piece::of(neighbour))),
            _ => (unit, from),
        }
    }

    /// The directory learns the place of a piece that has been programmed.
    #[inline(always)]
    pub(crate) fn piece_moved(&mut self, piece: Piece, place: Ppa) {
        if let Kind::Segment(unit) = self.meta.kind(piece) {
            if self.sabotaged(Sabotage::StaleSegment) && unit.0 % 4 == 1 && self.meta.place(piece).is_some() {
                return;
            }
            self.sram.rewritten(unit, place);
        }
        self.meta.moved(piece, place);
    }

    /// Every trim with a number below `below` is in a segment on flash, so the journal may forget it.
    #[inline]
    pub fn trims_covered(&mut self, below: Seq) {
        if !self.trims.none() {
            self.forget_trims(below);
        }
    }

    fn forget_trims(&mut self, below: Seq) {
        self.trims.drop_covered(below);
        while let Some(page) = self.trims.take_covered(below) {
            let piece = self.meta.journal_piece(page);
            self.meta.drop_piece(piece);
        }
        if self.trims.all_safe() {
            self.erase_unread();
        }
    }

    /// True if more is noted than what commands wait for.
    #[inline]
    pub(crate) fn notes_all(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.all)
    }

    /// Notes what the firmware has worked on, if somebody wants to know.
    #[inline]
    pub(crate) fn note_work(&mut self, work: watch::Work, began: SimTime, ended: SimTime) {
        if let Some(watch) = &mut self.watch
            && watch.all
        {
            watch.events.push(Event::Firmware { work, began, ended });
        }
    }

    /// Begins a job, which stops commands for the moment.
    pub(crate) fn begin_job(&mut self, job: Job) {
        assert!(self.job.is_none(), "{job:?} while {:?} runs", self.job);
        self.job = Some(job);
        self.job_began = self.now;
        self.stopped = Some(self.now);
    }

    /// Ends the job.
    pub(crate) fn end_job(&mut self) {
        assert_eq!(self.job_ops, 0, "a job ended with operations in flight");
        if let Some(job) = self.job.take() {
            if job == Job::MapFlush {
                self.stats.map_flush_ns += (self.now - self.job_began).0;
            }
            self.note_work(job.into(), self.job_began, self.now);
        }
        self.stop_commands(false);
    }

    /// The job stops commands from now on, or lets them go on.
    #[inline]
    pub(crate) fn stop_commands(&mut self, stop: bool) {
        match self.stopped {
            Some(since) if !stop => {
                self.stats.exclusive_ns += (self.now - since).0;
                self.stopped = None;
            }
            None if stop => self.stopped = Some(self.now),
            _ => {}
        }
    }

    /// The job that stops commands.
    #[inline(always)]
    pub(crate) fn exclusive_job(&self) -> Option<Job> {
        self.job.filter(|_| self.stopped.is_some())
    }

    /// A superblock has no valid page left. Erases it as soon as nothing reads it.
    pub fn retire(&mut self, sb: Superblock) {
        for piece in self.meta.bitmap_pieces(sb) {
            self.meta.drop_piece(piece);
        }
        let trims = (!self.trims.all_safe()).then_some(self.next_seq);
        self.trims.wanted |= trims.is_some();
        self.trims.hold(sb, self.next_seq);
        if self.blocks.retire(sb, trims) {
            self.erase(sb);
        }
    }

    /// Erases superblocks that waited for their last reader, or for trims to be safe.
    pub(crate) fn erase_unread(&mut self) {
        let safe = self.trims.safe_below();
        while let Some(sb) = self.blocks.take_unread(safe) {
            self.erase(sb);
        }
        self.trims.wanted |= self.blocks.waits_for_trims(safe);
    }

    /// Erases a superblock on all its dies, with the priority of host writes. A higher priority would stall reads for
    /// longer; with a lower one the erase would never run under load.
    pub(crate) fn erase(&mut self, superblock: Superblock) {
        if self.blocks.exists(superblock) && self.blocks.is_suspect(superblock) {
            // A program in it has failed, so it is not used again.
            self.blocks.set_bad(superblock);
            self.stats.superblocks_retired += 1;
            return;
        }
        self.stats.erases += 1;
        let dies = self.layout.dies_of(superblock);
        self.erasing.push(Erasing { superblock, dies: dies.len() as u32, failed: false });
        for die in dies {
            let work = Work::Erase { superblock, die };
            self.submit(work, Priority::HostWrite, Cause::Erase, Purpose::Erase { superblock });
        }
    }

    /// A die has finished its part of an erase. After the last die, gives whether the superblock can be used again.
    pub(crate) fn die_erased(&mut self, superblock: Superblock, failed: bool) -> Option<bool> {
        let at = self.erasing.iter().position(|e| e.superblock == superblock);
        let entry = &mut self.erasing[at.expect("an erase is listed until all dies have finished")];
        entry.dies -= 1;
        entry.failed |= failed;
        if entry.dies > 0 {
            return None;
        }
        let Erasing { failed, .. } = self.erasing.swap_remove(at.expect("as above"));
        self.stats.erase_failures += u64::from(failed);
        Some(!failed)
    }

    /// Repeats a read that has failed. The host learns only of failed reads of its own.
    pub(crate) fn repeat(&mut self, failed: &nand::Completed) {
        self.stats.read_retries += 1;
        self.disturb.iter_mut().for_each(|reads| reads.read(&self.layout, failed.work()));
        self.nand.submit(self.now, failed.read_again(), &mut self.effects.wakes);
    }

    /// A read of a page has ended. Its superblock may have waited for that to be erased.
    #[inline]
    pub(crate) fn unpin(&mut self, ppa: Ppa) {
        self.unpin_superblock(self.layout.superblock_of(ppa));
    }

    /// The same, of any use of a superblock.
    #[inline]
    pub(crate) fn unpin_superblock(&mut self, sb: Superblock) {
        if self.blocks.unpin(sb) {
            self.erase_unread();
        }
    }
}
