//! What every part of the firmware works on: flash, SRAM, tables, and the effects of the current call.

use nand::{Cause, Layout, Nand, NandEvent, Op, Priority, Spare, Work};
use ufs::Response;
use units::{Lpa, Ppa, Seq, SimTime, Superblock};

use crate::blocks::Blocks;
use crate::buffer::WriteBuffer;
use crate::config::DeviceConfig;
use crate::log::{Change, Log, Logged};
use crate::meta::{Meta, Piece};
use crate::ops::{MAX_ROW, Ops, Purpose};
use crate::publish::Publisher;
use crate::sram::Sram;
use crate::stats::DeviceStats;

/// Something the device wants to be woken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceEvent {
    /// The end of a phase of a flash operation.
    Nand(NandEvent),
    /// The firmware thread has finished with the command it was busy with.
    Firmware,
    /// Buffered data may have waited long enough.
    IdleFlush,
}

impl From<NandEvent> for DeviceEvent {
    fn from(event: NandEvent) -> DeviceEvent {
        DeviceEvent::Nand(event)
    }
}

/// What a call wants done later. The caller empties both lists.
#[derive(Debug, Default)]
pub struct Effects {
    /// Wake the device with the event at the time.
    pub wakes: Vec<(SimTime, DeviceEvent)>,
    /// Hand the response to the link at the time.
    pub responses: Vec<(SimTime, Response)>,
}

/// An exclusive job: while one runs, no command is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Job {
    /// The mapping scheme writes segments.
    MapFlush,
    /// A step of GC or wear levelling.
    Gc,
    /// Garbage collection of metadata superblocks.
    MetaGc,
}

/// Shared state of the firmware.
#[derive(Debug)]
pub struct Core {
    /// Profile.
    pub cfg: DeviceConfig,
    /// Address arithmetic.
    pub layout: Layout,
    /// Flash.
    pub nand: Nand,
    /// Buffer pool and cached segments.
    pub sram: Sram,
    /// Host data on its way.
    pub buffer: WriteBuffer,
    /// New mappings.
    pub log: Log,
    /// Data superblocks.
    pub blocks: Blocks,
    /// Metadata on flash.
    pub meta: Meta,
    /// Entries published to an HPB host.
    pub publisher: Publisher,
    /// Counters.
    pub stats: DeviceStats,
    /// Results of the current call.
    pub effects: Effects,
    /// Time of the current call.
    pub now: SimTime,
    /// Operations in flight.
    pub ops: Ops,
    /// The exclusive job, and its operations in flight.
    pub job: Option<Job>,
    pub job_ops: u32,
    /// Programs in flight; a job starts when there are none.
    pub programs: u32,
    /// Units in these programs that will need a log entry.
    pub units_to_log: usize,
    next_seq: Seq,
    meta_stamp: u32,
    job_began: SimTime,
}

impl Core {
    /// A device fresh from the factory.
    pub fn new(cfg: DeviceConfig) -> Core {
        let layout = cfg.geometry.layout();
        let segments = cfg.capacity_units.div_ceil(units::SEGMENT_ENTRIES);
        Core {
            nand: Nand::new(cfg.geometry, cfg.timing),
            sram: Sram::new(&cfg.sram, segments),
            buffer: WriteBuffer::new(cfg.sram.pool),
            log: Log::new(cfg.log.entries),
            blocks: Blocks::new(layout),
            meta: Meta::new(layout, cfg.capacity_units),
            publisher: Publisher::new(&cfg.hpb, cfg.capacity_units),
            stats: DeviceStats::default(),
            effects: Effects::default(),
            now: SimTime::START,
            ops: Ops::default(),
            job: None,
            job_ops: 0,
            programs: 0,
            units_to_log: 0,
            next_seq: Seq(1),
            meta_stamp: 0,
            job_began: SimTime::START,
            layout,
            cfg,
        }
    }

    /// Can user data be on these `n` pages? To be asked of every address that a host supplies.
    #[inline]
    pub fn is_data(&self, ppa: Ppa, n: u32) -> bool {
        let units = u64::from(self.blocks.count()) * u64::from(self.layout.superblock_units());
        u64::from(ppa.0) + u64::from(n) <= units
    }

    /// Block of an address.
    #[inline]
    pub fn superblock_of(&self, ppa: Ppa) -> Superblock {
        self.layout.superblock_of(ppa)
    }

    /// Takes `n` sequence numbers.
    #[inline]
    pub fn take_seq(&mut self, n: u32) -> Seq {
        let first = self.next_seq;
        self.next_seq = first.plus(n);
        first
    }

    /// Adds a change to the log; true if it holds.
    #[inline]
    pub fn log_change(&mut self, change: Change) -> bool {
        let layout = &self.layout;
        self.log.push(change, |ppa| layout.superblock_of(ppa))
    }

    /// The mapping after what the log knows, given the mapping below it.
    #[inline]
    pub fn logged_over(&self, logged: Logged, base: Option<Ppa>) -> Option<Ppa> {
        logged.over(base, |ppa| self.layout.superblock_of(ppa))
    }

    /// Submits a read or an erase.
    #[inline]
    pub fn submit(&mut self, work: Work, priority: Priority, cause: Cause, purpose: Purpose) {
        let token = self.ops.start(purpose, &[]);
        self.nand.submit(self.now, Op { work, priority, cause, token }, &mut self.effects.wakes);
    }

    /// Submits a program of data or metadata units, padded with `None`.
    #[inline]
    pub fn submit_program(&mut self, op: Op, spares: &[Option<Spare>], seq: Seq) {
        self.programs += 1;
        self.nand.submit_program(self.now, op, spares, seq, &mut self.effects.wakes);
    }

    /// Tells the flash of a finished phase.
    #[inline]
    pub fn nand_wake(&mut self, event: NandEvent) -> Option<nand::Done> {
        self.nand.wake(self.now, event, &mut self.effects.wakes)
    }

    /// Reads the row units of an exclusive job; the job goes on when all its operations are done.
    pub fn job_read(&mut self, ppa: Ppa, units: u32, cause: Cause) {
        self.job_ops += 1;
        self.submit(Work::Read { ppa, units }, Priority::MapRead, cause, Purpose::JobRead);
    }

    /// Programs up to a row of metadata pieces and gives where it put the first and how many it took. The directory follows when the program is
    /// done.
    pub fn program_pieces(&mut self, pieces: &[Piece], for_job: bool) -> (Ppa, usize) {
        let room = self.meta.room_in_row() as usize;
        let n = pieces.len().min(room);
        let page = self.layout.geometry().units_per_page as usize;
        let padded = n.div_ceil(page) * page;
        let ppa = self.meta.allocate(padded as u32);
        let mut items = [0u32; MAX_ROW];
        let mut spares = [None; MAX_ROW];
        let seq = Seq(u64::from(self.meta_stamp.wrapping_add(1)));
        for (i, piece) in pieces[..n].iter().enumerate() {
            self.meta_stamp = self.meta_stamp.wrapping_add(1);
            items[i] = piece.0;
            spares[i] = Some(Spare { lpa: piece.0, stamp: self.meta_stamp, version: self.meta_stamp });
        }
        // Padding may only end a plane page, and pieces fill the pages in order, so it does.
        let purpose = Purpose::MetaProgram { ppa, n: n as u32, for_job };
        let token = self.ops.start(purpose, &items[..n]);
        let work = Work::Program { ppa, units: padded as u32 };
        let op = Op { work, priority: Priority::HostWrite, cause: Cause::MapWrite, token };
        self.submit_program(op, &spares[..padded], seq);
        self.stats.map_units_programmed += padded as u64;
        if for_job {
            self.job_ops += 1;
        }
        (ppa, n)
    }

    /// Begins an exclusive job.
    pub fn begin_job(&mut self, job: Job) {
        assert!(self.job.is_none(), "{job:?} while {:?} runs", self.job);
        self.job = Some(job);
        self.job_began = self.now;
    }

    /// Ends it.
    pub fn end_job(&mut self) {
        assert_eq!(self.job_ops, 0, "a job ended with operations in flight");
        self.job = None;
        self.stats.exclusive_ns += (self.now - self.job_began).0;
    }

    /// No valid page is left in a superblock: erase it as soon as nothing reads it.
    pub fn retire(&mut self, sb: Superblock) {
        let piece = self.meta.bitmap_piece(sb);
        self.meta.drop_piece(piece);
        if self.blocks.retire(sb) {
            self.erase(sb);
        }
    }

    /// Erases a superblock on all its dies, in turn with host writes: an urgent class would stall reads for longer,
    /// a lazy one would never run under load.
    pub fn erase(&mut self, superblock: Superblock) {
        self.stats.erases += 1;
        for die in 0..self.layout.geometry().dies() {
            let work = Work::Erase { superblock, die };
            self.submit(work, Priority::HostWrite, Cause::Erase, Purpose::Erase { superblock });
        }
    }

    /// One read of a page is over; its superblock may have waited for that to be erased.
    #[inline]
    pub fn unpin(&mut self, ppa: Ppa) {
        if self.blocks.unpin(self.layout.superblock_of(ppa)) {
            while let Some(sb) = self.blocks.take_unread() {
                self.erase(sb);
            }
        }
    }

    /// What the spare areas of a superblock say: address and place of every unit. Firmware does not read them for
    /// this; it stands for the contents of metadata that is made from them, and whoever uses it is charged for
    /// reading that metadata.
    pub fn addresses_in(&self, sb: Superblock) -> Vec<(Lpa, Ppa)> {
        let row = self.layout.row_units();
        let first = self.layout.first_ppa(sb);
        let mut found = Vec::with_capacity(self.layout.superblock_units() as usize);
        for start in (0..self.layout.superblock_units()).step_by(row as usize) {
            let work = Work::Read { ppa: first.offset(start), units: row };
            let (cause, priority) = (Cause::ValidPageSearch, Priority::Gc);
            let seen = nand::Done { token: 0, work, cause, priority, failed: false };
            for i in 0..row {
                if let Some(spare) = self.nand.spare(&seen, i) {
                    found.push((Lpa(spare.lpa), first.offset(start + i)));
                }
            }
        }
        found
    }
}
