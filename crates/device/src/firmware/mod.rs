//! The main flow: one page. A call comes in, the matching helper acts, and then everything that can go on goes on.

mod batch;
mod collect;
mod failure;
mod front;
mod loads;
mod lookups;
mod power;
mod read;
mod recover;
mod rows;
mod write;

use std::collections::VecDeque;

use nand::Completed;
use ufs::{Command, Content, DataIn, DataOut, DeviceInfo, HpbNotice, Notice, Op, PiggyBack, Response, Status, Tag};
use units::{Nanos, Seq, SimTime};

use crate::config::DeviceConfig;
use crate::core::{Core, DeviceEvent, Job};
use crate::gc::Gc;
use crate::mapping::Mapping;
use crate::meta::Kind;
use crate::ops::{ProgramReason, Purpose};
use crate::stats::DeviceStats;
use batch::Pack;
use collect::MetaGc;
use failure::FailedRow;
use loads::Loads;
use lookups::Lookups;
pub use power::{Flash, Moment};
use read::WaitingRead;
use recover::Recovery;
use write::Flushing;

/// A command between its arrival and its response.
#[derive(Debug)]
struct Pending {
    op: Op,
    host_seq: Seq,
    freed: Option<units::Superblock>,
    data: DataOut,
    /// What still has to happen before the response: units to be read or written, plus one while more are added.
    remaining: u32,
    /// Units of a write or trim that were accepted.
    accepted: u32,
    /// Time that the firmware thread spends on it, and on seals for it.
    cost: Nanos,
    sealing: Nanos,
    status: Status,
    contents: Vec<Option<Content>>,
    translation: Translation,
    active: bool,
}

/// How the firmware has found the places of a read's units: what a laboratory wants to know of each read, and a host can
/// not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Translation {
    /// Units that waited for a piece of the mapping table to be read from flash.
    pub map_reads: u32,
    /// The entry that came with the command was not accepted.
    pub refused: bool,
}

/// The firmware with one mapping scheme.
#[derive(Debug)]
pub struct Firmware<M> {
    /// What every part works on.
    pub core: Core,
    map: M,
    gc: Gc,
    commands: Vec<Pending>,
    /// Arrived, not started.
    incoming: VecDeque<u8>,
    /// When the firmware thread will be done with the command started last, and whether a wake for that is due.
    thread_until: SimTime,
    /// When the last answer leaves.
    answered: SimTime,
    thread_wake: bool,
    /// Writes, flushes and trims, in order.
    ordered: VecDeque<u8>,
    flushes: Vec<Flushing>,
    waiting_reads: VecDeque<WaitingRead>,
    /// Metadata commands that wait for a buffer.
    waiting_metadata: VecDeque<u8>,
    loads: Loads,
    pack: Pack,
    lookups: Lookups,
    meta_gc: MetaGc,
    /// While the mapping is being rebuilt after a power cut.
    recovery: Option<Box<Recovery>>,
    /// Rows that could not be programmed.
    failed_rows: VecDeque<FailedRow>,
    /// Order of the oldest queued unit when the idle timer was set.
    idle_mark: Option<u64>,
}

impl<M: Mapping> Firmware<M> {
    /// A device fresh from the factory.
    pub fn new(mut cfg: DeviceConfig) -> Firmware<M> {
        cfg.log.entries = M::log_entries(&cfg);
        cfg.sram.entries &= M::CACHES_ENTRIES;
        let units = M::map_units(&cfg);
        let core = Core::new(cfg, units);
        let map = M::new(&core);
        Firmware::with(core, map)
    }

    fn with(core: Core, map: M) -> Firmware<M> {
        let idle = || Pending {
            op: Op::Flush,
            host_seq: Seq(0),
            freed: None,
            data: DataOut::None,
            remaining: 0,
            accepted: 0,
            cost: Nanos(0),
            sealing: Nanos(0),
            status: Status::Good,
            contents: Vec::new(),
            translation: Translation::default(),
            active: false,
        };
        Firmware {
            map,
            gc: Gc::new(core.cfg.gc, core.layout.superblock_units()),
            commands: std::iter::repeat_with(idle).take(256).collect(),
            incoming: VecDeque::new(),
            thread_until: SimTime::START,
            answered: SimTime::START,
            thread_wake: false,
            ordered: VecDeque::new(),
            flushes: Vec::new(),
            waiting_reads: VecDeque::new(),
            waiting_metadata: VecDeque::new(),
            loads: Loads::default(),
            pack: Pack::default(),
            lookups: Lookups::default(),
            meta_gc: MetaGc::default(),
            recovery: None,
            failed_rows: VecDeque::new(),
            idle_mark: None,
            core,
        }
    }

    /// A command arrives.
    pub fn command(&mut self, now: SimTime, cmd: Command) {
        self.core.now = now;
        self.arrive(cmd);
        self.run_until_blocked();
    }

    /// Something the device asked to be woken for is due.
    pub fn wake(&mut self, now: SimTime, event: DeviceEvent) {
        self.core.now = now;
        match event {
            DeviceEvent::Nand(event) => match self.core.nand_wake(event) {
                Some(done) => self.finish_op(done),
                // Only a phase has ended: nothing that the firmware sees has changed.
                None => return,
            },
            DeviceEvent::Firmware => self.thread_wake = false,
            DeviceEvent::IdleFlush => self.idle_timer(),
            DeviceEvent::Quiet => self.lookups.quiet_over(),
        }
        self.run_until_blocked();
    }

    #[inline(always)]
    fn finish_op(&mut self, done: Completed) {
        let done = match done.failed() {
            false => done,
            true => match self.operation_failed(done) {
                Some(done) => done,
                None => return,
            },
        };
        let token = done.token();
        match self.core.ops.purpose(token) {
            Purpose::HostRead { tag, first, ppa, n } => self.host_read_done(&done, tag, first, ppa, n),
            Purpose::HostProgram { ppa, n, seq } => self.host_program_done(token, ppa, n, seq),
            Purpose::GcProgram { ppa, n, seq } => self.gc_program_done(token, ppa, n, seq),
            Purpose::SegmentLoad { units } => self.units_loaded(units),
            Purpose::JobRead => self.core.job_ops -= 1,
            Purpose::GcRead { ppa, n } => self.gc_read_done(&done, ppa, n),
            Purpose::MetaProgram { ppa, n, reason } => self.pieces_programmed(token, ppa, n, reason),
            Purpose::Snapshot => self.core.programs -= 1,
            Purpose::Recover { n } => self.recover_read_done(&done, n),
            Purpose::Erase { superblock } => self.erase_done(superblock, done.failed()),
        }
        self.core.ops.finish(token);
    }

    /// Everything that can go on goes on. While a job runs, no command starts; between two jobs those that came
    /// meanwhile do.
    #[inline(always)]
    fn run_until_blocked(&mut self) {
        loop {
            if !self.failed_rows.is_empty() {
                self.program_again();
            }
            if let Some(job) = self.core.job {
                if self.core.job_ops > 0 || !self.advance(job) {
                    return;
                }
                self.core.end_job();
            }
            self.start_commands();
            self.look_up();
            self.accept_ordered();
            let behind = self.gc.behind(self.core.blocks.free());
            if !behind {
                self.program_rows();
            }
            self.retry_waiting();
            self.write_trims();
            self.map.background(&mut self.core, false);
            self.set_idle_timer();
            if !self.begin_due_job() {
                if behind {
                    // Nothing can be collected now.
                    self.program_host_data();
                }
                return;
            }
        }
    }

    #[inline(always)]
    fn begin_due_job(&mut self) -> bool {
        if self.core.meta.free() <= META_RESERVE {
            self.core.begin_job(Job::MetaGc);
            self.begin_meta_gc();
        } else if self.map.wants_flush(&self.core) {
            self.core.begin_job(Job::MapFlush);
            self.core.stats.map_flushes += 1;
        } else if !self.begin_gc_step() {
            return self.begin_idle_flush();
        }
        true
    }

    /// Goes on with a job that has no operation in flight. True when it is finished.
    fn advance(&mut self, job: Job) -> bool {
        match job {
            Job::MapFlush => {
                if !M::ON_DEMAND {
                    self.forget_overtaken_copies();
                }
                self.core.command_waits = !self.incoming.is_empty();
                self.map.flush(&mut self.core)
            }
            Job::Gc => self.advance_gc(),
            Job::MetaGc => self.advance_meta_gc(),
            Job::Recovery => self.advance_recovery(),
        }
    }

    fn pieces_programmed(&mut self, token: u32, ppa: units::Ppa, n: u32, reason: ProgramReason) {
        self.core.programs -= 1;
        let mut placing = self.core.meta.placing();
        for i in 0..n {
            let piece = self.core.ops.piece(token, i);
            let kind = self.core.meta.kind(piece);
            let place = ppa.offset(placing.put(piece).start);
            if reason != ProgramReason::Background || matches!(kind, Kind::Record(_) | Kind::Journal(_)) {
                self.core.meta.moved(piece, place);
            } else {
                self.map.piece_programmed(&mut self.core, piece, place);
            }
            if reason != ProgramReason::Move {
                self.core.own_piece_programmed(kind);
                self.finish_flushes();
            }
        }
        if reason != ProgramReason::Background {
            self.core.job_ops -= 1;
        }
    }

    /// Ends a command that gives no data.
    #[inline(never)]
    fn respond(&mut self, tag: u8) {
        self.respond_with(tag, |_| {});
    }

    /// Ends a command. The response is filled in where it stays until the link takes it: one that has just been put
    /// together is slow to move.
    #[inline(always)]
    fn respond_with(&mut self, tag: u8, give: impl FnOnce(&mut DataIn)) {
        const BLANK: Response = Response {
            tag: Tag(0),
            status: Status::Good,
            data: DataIn::None,
            hpb: HpbNotice::None,
            piggyback: PiggyBack { notice: Notice::None, want_entries: false, want_victim: false },
        };
        let mut notice = HpbNotice::None;
        self.core.publisher.notify(&mut notice);
        if matches!(notice, HpbNotice::Entry { .. }) {
            self.work_on_seals(tag, 1);
        }
        let cmd = &mut self.commands[usize::from(tag)];
        assert!(cmd.active, "tag {tag} answered twice");
        cmd.active = false;
        let status = cmd.status;
        // One thread makes all the answers, so they leave in the order in which they are made.
        self.answered = self.answered.max(self.core.now + cmd.cost + cmd.sealing);
        let at = self.answered;
        let mut responses = std::mem::take(&mut self.core.effects.responses);
        responses.push((at, BLANK));
        if let Some((_, response)) = responses.last_mut() {
            response.tag = Tag(tag);
            response.status = status;
            give(&mut response.data);
            response.hpb = notice;
            self.map.respond(&mut self.core, response);
        }
        self.core.effects.responses = responses;
    }

    /// What the host reads from the descriptors.
    pub fn info(&self) -> DeviceInfo {
        DeviceInfo {
            capacity_units: self.core.cfg.capacity_units,
            superblocks: self.core.blocks.count(),
            superblock_units: self.core.layout.superblock_units(),
            hpb_group_entries: self.core.cfg.hpb.group_entries,
            hpb_region_groups: self.core.cfg.hpb.region_groups,
            hpb_max_blocks: self.core.cfg.hpb.max_blocks.into(),
            hpb_device_control: self.core.cfg.hpb.recommend_after.is_some(),
            map_page_entries: self.core.meta.units().entries(),
        }
    }

    /// How the command of this tag has been translated so far; after its answer, until the next command with this tag.
    pub fn translation(&self, tag: Tag) -> Translation {
        self.commands[usize::from(tag.0)].translation
    }

    /// Counters since power-on.
    pub fn stats(&self) -> DeviceStats {
        let (sram, dram) = self.map.table_bytes(&self.core);
        let pool = u64::from(self.core.cfg.sram.pool) * units::UNIT_BYTES;
        let mut stats = DeviceStats {
            sram_bytes: pool + sram + self.core.publisher.table_bytes() + self.core.blocks.table_bytes(),
            device_dram_bytes: dram,
            free_superblocks: u64::from(self.core.blocks.free()),
            max_erase_count: u64::from(self.core.blocks.max_erases()),
            min_erase_count: u64::from(self.min_erases()),
            ..self.core.stats
        };
        self.map.report(&self.core, &mut stats);
        stats
    }

    fn min_erases(&self) -> u32 {
        let all = (0..self.core.blocks.count()).map(units::Superblock);
        all.map(|sb| self.core.nand.erase_count(sb)).min().unwrap_or(0)
    }

    /// True if nothing is in flight and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.core.nand.idle() && self.core.buffer.held() == 0 && self.commands.iter().all(|c| !c.active)
    }

    /// Checks the sums that must always hold.
    pub fn check(&self) {
        self.core.blocks.check();
        let held = self.core.buffer.held();
        let owned = usize::from(self.core.sram.used(crate::sram::Owner::Write));
        assert_eq!(held, owned, "write buffers and SRAM buffers owned by writes");
        if self.is_idle() {
            use crate::sram::Owner;
            let used = |owner| usize::from(self.core.sram.used(owner));
            let held = self.map.held_map_buffers();
            for (owner, expected) in
                [(Owner::Read, 0), (Owner::Map, 0), (Owner::Load, held), (Owner::Gc, self.gc.queue.len())]
            {
                assert_eq!(used(owner), expected, "SRAM buffers of {owner:?} while nothing is under way");
            }
        }
    }
}

/// Metadata superblocks that must stay free: garbage collection starts at this many (facts of the authors' prototype).
pub(crate) const META_RESERVE: usize = 2;
