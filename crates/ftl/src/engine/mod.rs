//! The engine: what every device does, whatever its mapping scheme. The main flow is in this file. A call comes in, the
//! matching helper acts, and then `run_until_blocked` does everything that can be done at this time.
//!
//! The firmware has one thread. An *exclusive job* (a map flush, a GC step, the collection of metadata superblocks, a
//! recovery) stops the front end until its operations are done. Commands that are under way continue. A map flush can
//! also run beside commands ([`Flush::beside_commands`](crate::seat::Flush::beside_commands)). It moves on between
//! jobs. With [`GcRuns::Beside`](crate::config::GcRuns) a GC step is a job that stops the front end only while
//! something waits for its end.
//!
//! - `core`: flash, SRAM, tables, and the effects of the current call. `lend`: the part of it that a scheme may use.
//! - `state`: one command per tag. `waiting`: the queues of work that waits.
//! - `stays`, `activity`: what is noted for those who watch. `firmware`: the engine for whoever does not know
//!   its mapping scheme. `stored`: flash in a file.
//! - `front`, `read`, `write`, `loads`, `lookups`, `batch`: commands. `rows`, `hot`, `parted`: programming of user
//!   data.
//! - `collect`: GC and metadata GC. `idle_gc`: GC in idle time. `refresh`: of what was read too often.
//!   `random_copies`: copies at a given rate, for experiments. `failure`: operations that fail.
//! - `power`, `recover`: loss of power, and recovery.

mod activity;
mod batch;
mod collect;
mod failure;
mod firmware;
mod front;
mod hot;
mod idle_gc;
mod loads;
mod lookups;
mod parted;
pub(crate) mod power;
mod random_copies;
mod read;
mod recover;
mod refresh;
mod rows;
pub(crate) mod state;
mod stays;
mod stored;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod testing;
mod waiting;
mod write;

pub(crate) use self::firmware::Firmware;

use nand::Completed;
use ufs::{Command, DataIn, HpbNotice, Notice, PiggyBack, Response, Status, Tag};
use units::{Lpa, Seq, SimTime};

use self::state::{Engine, Translation};
use crate::config::GcRuns;
use crate::core::ops::{ProgramReason, Purpose};
use crate::core::{DeviceEvent, Job, META_RESERVE};
use crate::knowledge::meta::Kind;
use crate::knowledge::{Programmed, Sight};
use crate::report::watch::Work;
use crate::seat::{HostRole, Mapping};
use crate::sram::pool::Owner;

impl<M: Mapping> Engine<M> {
    /// See [`crate::Device::prefetch`].
    #[inline]
    pub fn prefetch(&self, lpa: Lpa, changes: bool) {
        if lpa.0 < self.core.capacity_units() {
            self.map.prefetch(lpa);
            if M::HOST == HostRole::KeepsMapping && changes {
                // The host may load and write back the unit.
                self.core.prefetch_unit(self.core.units().of(lpa));
            }
        }
    }

    /// A command arrives from the link.
    pub fn command(&mut self, now: SimTime, cmd: Command) {
        self.core.now = now;
        self.arrive(cmd);
        self.run_until_blocked();
        if self.core.watch.is_some() {
            self.update_stays();
        }
    }

    /// An event that the device asked to be woken for is due.
    pub fn wake(&mut self, now: SimTime, event: DeviceEvent) {
        self.core.now = now;
        match event {
            DeviceEvent::Nand(event) => {
                let done = self.core.nand_wake(event);
                if self.core.notes_all() {
                    self.note_flash();
                }
                // Borrow: moving what has just been made is slow.
                match &done {
                    Some(done) => self.finish_op(done),
                    // A phase has ended, but no operation: the firmware sees no change.
                    None => return,
                }
            }
            DeviceEvent::Firmware => self.thread_wake = false,
            DeviceEvent::IdleFlush => self.idle_timer(),
            DeviceEvent::Quiet => self.lookups.quiet_over(),
            DeviceEvent::IdleGc => self.idle_time.woken(now),
        }
        self.run_until_blocked();
        if self.core.watch.is_some() {
            self.update_stays();
        }
    }

    #[inline(always)]
    fn finish_op(&mut self, done: &Completed) {
        if self.core.watch.is_some() {
            self.note_operation();
        }
        if done.failed() && self.operation_failed(done) {
            return;
        }
        let token = done.token();
        match self.core.ops.purpose(token) {
            Purpose::HostRead { tag, first, ppa, n } => self.host_read_done(done, tag, first, ppa, n),
            Purpose::HostProgram { ppa, n, seq } => self.host_program_done(token, ppa, n, seq),
            Purpose::GcProgram { ppa, n, seq } => self.gc_program_done(token, ppa, n, seq),
            Purpose::SegmentLoad { units } => self.units_loaded(done, units),
            Purpose::JobRead { read } => {
                self.core.job_ops -= 1;
                let sight = Sight::new(done, &self.core.nand, self.core.meta.pages());
                let metadata = matches!(done.work(), nand::Work::Read { ppa, .. } if self.core.meta.is_metadata(ppa));
                self.core.job_reads.complete(read, &sight, metadata);
                self.core.ops.finish(token);
                return;
            }
            Purpose::FlushRead { place } => {
                let sight = Sight::new(done, &self.core.nand, self.core.meta.pages());
                self.map.read_done(&self.core, place, &sight);
            }
            Purpose::GcRead { ppa, n } => self.gc_read_done(done, ppa, n),
            Purpose::MetaProgram { ppa, n, reason } => self.pieces_programmed(done, ppa, n, reason),
            Purpose::Snapshot => self.core.programs -= 1,
            Purpose::Recover { n } => self.recover_read_done(done, n),
            Purpose::Erase { superblock } => self.erase_done(superblock, done.failed()),
        }
        self.core.ops.finish(token);
    }

    /// Does all that can be done at this time. While an exclusive job runs, no command starts. Commands that have
    /// arrived during a job start before the next job.
    #[inline(always)]
    fn run_until_blocked(&mut self) {
        loop {
            if !self.failed_rows.is_empty() {
                self.program_again();
            }
            let mut job = false;
            if let Some(under_way) = self.core.job {
                if self.core.job_ops == 0 && self.advance(under_way) {
                    self.core.end_job();
                } else if self.let_commands_go_on(under_way) {
                    job = true;
                } else {
                    return;
                }
            }
            if self.core.flushing && !job {
                self.advance_flush();
            }
            self.start_commands();
            self.look_up();
            self.accept_ordered();
            // A device that only reads has no writes to come for which GC had to make room.
            let behind = self.gc.behind(self.core.blocks.free()) && !self.core.is_read_only();
            if !behind {
                self.program_rows();
            }
            self.retry_waiting();
            self.write_trims();
            if !job {
                self.map.background(&mut self.core, false);
            }
            self.set_idle_timer();
            if job || !self.begin_due_job() {
                if behind && !job {
                    // GC is behind, but nothing can be collected now.
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
        } else if self.map.wants_flush(&self.core) && self.begin_map_flush() {
            self.core.stats.map_flushes += 1;
        } else if !self.begin_gc_step() {
            return self.begin_idle_flush();
        }
        true
    }

    /// Lets commands go on while this job runs, or stops them. True if they go on.
    #[inline]
    fn let_commands_go_on(&mut self, job: Job) -> bool {
        if job != Job::Gc || self.core.cfg.gc.runs == GcRuns::Alone {
            return false;
        }
        let beside = self.gc_step_goes_beside();
        if beside && !std::mem::replace(&mut self.gc.beside, true) {
            self.core.stats.gc_beside_steps += 1;
        }
        self.core.stop_commands(!beside);
        beside
    }

    /// Begins a map flush. False if one is under way beside commands, or could not cover anything yet.
    #[inline(never)]
    fn begin_map_flush(&mut self) -> bool {
        if !self.map.beside_commands() {
            self.core.begin_job(Job::MapFlush);
            return true;
        }
        if self.core.flushing {
            return false;
        }
        self.core.first_unlogged = self.first_unlogged();
        let cut = self.core.logged_up_to();
        self.core.flushing = self.core.programs == 0 || self.core.log.entries_up_to(cut).next().is_some();
        if let Some(watch) = &mut self.core.watch {
            watch.flush_began = self.core.now;
        }
        self.core.flushing
    }

    /// The number of the first change of user data that is neither in the log nor on flash, if there is one: its
    /// program is in flight.
    fn first_unlogged(&self) -> Option<Seq> {
        let in_flight = self.core.ops.in_flight().filter_map(|(_, slot)| match slot.purpose {
            Purpose::HostProgram { seq, .. } | Purpose::GcProgram { seq, .. } => Some(seq),
            _ => None,
        });
        in_flight.chain(self.failed_rows.iter().map(|row| row.seq)).min()
    }

    /// Continues the map flush that runs beside commands. No job runs.
    #[inline(never)]
    fn advance_flush(&mut self) {
        self.forget_overtaken_copies();
        self.core.flushing = !self.map.flush(&mut self.core);
        if !self.core.flushing {
            self.core.note_work(Work::FlushBeside, self.flush_began(), self.core.now);
        }
    }

    /// Continues a job that has no operation in flight. True when the job is finished.
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

    fn pieces_programmed(&mut self, done: &Completed, ppa: units::Ppa, n: u32, reason: ProgramReason) {
        self.core.programs -= 1;
        let mut placing = self.core.meta.placing();
        for i in 0..n {
            let piece = self.core.ops.piece(done.token(), i);
            let kind = self.core.meta.kind(piece);
            let place = ppa.offset(placing.put(piece).start);
            let programmed = Programmed::by(done, piece, place);
            self.core.piece_on_flash(&programmed, reason);
            let own = reason != ProgramReason::Background || matches!(kind, Kind::Record(_) | Kind::Journal(_));
            if own || self.map.piece_programmed(&mut self.core, &programmed) {
                self.core.piece_moved(piece, place);
            }
            match kind {
                Kind::Segment(_) if reason == ProgramReason::Flush => {
                    self.map.unit_programmed(&mut self.core, &programmed);
                }
                Kind::Bitmap(_) if reason == ProgramReason::Flush => self.core.bitmaps_in_flight -= 1,
                _ => {}
            }
            if reason != ProgramReason::Move && matches!(kind, Kind::Journal(_)) {
                self.core.erase_unread();
            }
            if reason == ProgramReason::Job && matches!(kind, Kind::Segment(_)) {
                self.core.programmed.add(programmed);
            }
        }
        if reason != ProgramReason::Move {
            self.finish_flushes();
        }
        if reason.is_of_job() {
            self.core.job_ops -= 1;
        }
    }

    /// Ends a command that gives no data.
    #[inline(never)]
    fn respond(&mut self, tag: u8) {
        self.respond_with(tag, |_| {});
    }

    /// Ends a command. Fills the response in place, in the list of effects, because moving a `Response` is slow.
    #[inline(always)]
    fn respond_with(&mut self, tag: u8, fill: impl FnOnce(&mut DataIn)) {
        const NOTHING: PiggyBack =
            PiggyBack { notice: Notice::None, want_entries: false, want_victim: false, works_when_idle: false };
        const RESPONSE: Response = Response {
            tag: Tag(0),
            status: Status::Good,
            data: DataIn::None,
            hpb: HpbNotice::None,
            piggyback: NOTHING,
        };
        // All of it is constant, time included, so that it is written where it stays.
        const BLANK: (SimTime, Response) = (SimTime::START, RESPONSE);
        let mut responses = std::mem::take(&mut self.core.effects.responses);
        responses.push(BLANK);
        let (leaves, response) = responses.last_mut().expect("one was added");
        self.core.publisher.notify(tag, &mut response.hpb);
        if matches!(response.hpb, HpbNotice::Entry { .. }) {
            self.work_on_seals(tag, 1);
        }
        let cmd = &mut self.commands[usize::from(tag)];
        assert!(cmd.active, "tag {tag} answered twice");
        cmd.active = false;
        if self.core.has_more_occasions {
            self.idle_time.answered(cmd.op.is_user());
        }
        response.tag = Tag(tag);
        response.status = cmd.status;
        // One thread makes all answers, so they leave in the order in which they were made.
        self.answered = self.answered.max(self.core.now + cmd.cost + cmd.sealing);
        *leaves = self.answered;
        if self.core.watch.is_some() {
            self.note_answered(tag, self.answered);
        }
        fill(&mut response.data);
        self.map.respond(&mut self.core, response);
        self.core.effects.responses = responses;
    }

    /// How the units of a tag's command have been translated so far. Valid until the next command with this tag
    /// arrives.
    pub fn translation(&self, tag: Tag) -> Translation {
        self.commands[usize::from(tag.0)].translation
    }

    /// True if nothing is in flight and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.core.nand.idle() && self.core.buffer.held() == 0 && self.commands.iter().all(|c| !c.active)
    }

    /// Checks the sums that must always hold; panics if one does not.
    pub fn check(&self) {
        self.core.blocks.check();
        let held = self.core.buffer.held();
        let owned = usize::from(self.core.sram.used(Owner::Write));
        assert_eq!(held, owned, "write buffers and SRAM buffers owned by writes");
        if self.is_idle() {
            let used = |owner| usize::from(self.core.sram.used(owner));
            let held = self.map.held_map_buffers();
            for (owner, expected) in [
                (Owner::Read, 0),
                (Owner::Map, 0),
                (Owner::Flush, 0),
                (Owner::Load, held),
                (Owner::Gc, self.gc.waiting_len()),
            ] {
                assert_eq!(used(owner), expected, "SRAM buffers of {owner:?} while nothing is under way");
            }
        }
    }
}
