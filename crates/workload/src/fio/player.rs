//! One clone that replays a log: what it issues next.

use std::sync::Arc;

use units::{Nanos, SimTime};

use super::iolog::Log;
use super::job::JobClone;
use super::worker::{Step, Wish};
use crate::source::LATEST;
use crate::{Flags, WorkOp};

/// A clone that replays a log. Its accesses come in the log's order, at their times or later, at most `depth`
/// outstanding. A sync is a flush once every write has completed; nothing else is issued until it is done.
#[derive(Clone, Debug)]
pub(super) struct Player {
    log: Arc<Log>,
    /// Where each file of the log begins, in bytes from the start of the device.
    begins: Vec<u64>,
    depth: u32,
    /// Keeps the log's times.
    timed: bool,
    time_based: bool,
    loops_left: u64,
    ramp: Nanos,
    runtime: Option<Nanos>,
    start: SimTime,
    measured_from: SimTime,
    end: SimTime,
    /// When the loop began: times of the log count from here.
    loop_start: SimTime,
    next: usize,
    outstanding: u32,
    outstanding_writes: u32,
    flushing: bool,
    bytes: u64,
}

impl Player {
    pub(super) fn new(clone: &JobClone<'_>, log: &Arc<Log>) -> Player {
        let o = &clone.job.options;
        Player {
            log: log.clone(),
            begins: clone.regions.iter().map(|region| region.begin).collect(),
            depth: o.depth(),
            timed: !o.replay_no_stall,
            time_based: o.time_based,
            loops_left: o.loops,
            ramp: o.ramp_time,
            runtime: o.runtime,
            start: SimTime::START,
            measured_from: SimTime::START,
            end: LATEST,
            loop_start: SimTime::START,
            next: 0,
            outstanding: 0,
            outstanding_writes: 0,
            flushing: false,
            bytes: 0,
        }
    }

    pub(super) fn activate(&mut self, start: SimTime) {
        (self.start, self.loop_start) = (start, start);
        self.measured_from = LATEST.min(start + self.ramp);
        self.end = self.runtime.map_or(LATEST, |runtime| LATEST.min(self.measured_from + runtime));
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn expected_bytes(&self) -> Option<u64> {
        let ends_by_itself = self.runtime.is_none() && !self.time_based;
        if ends_by_itself { self.log.bytes().checked_mul(self.loops_left) } else { None }
    }

    /// What to do at `now`. Never inlined, so that the steps of clones that make requests stay short.
    #[inline(never)]
    pub(super) fn step(&mut self, now: SimTime) -> Step {
        if self.loops_left == 0 {
            return Step::Finished;
        }
        if self.flushing || self.outstanding >= self.depth {
            return Step::Blocked;
        }
        if now < self.start {
            return Step::At(self.start);
        }
        if now >= self.end {
            self.loops_left = 0;
            return Step::Finished;
        }
        let access = self.log.accesses[self.next];
        let due = SimTime(self.loop_start.0.saturating_add(access.at.0)).min(self.end);
        if self.timed && due > now {
            return Step::At(due);
        }
        if access.op == WorkOp::Flush && self.outstanding_writes > 0 {
            return Step::Blocked;
        }
        self.next += 1;
        if self.next == self.log.accesses.len() {
            (self.next, self.loop_start) = (0, now);
            self.loops_left -= u64::from(!self.time_based);
        }
        self.outstanding += 1;
        self.outstanding_writes += u32::from(access.op == WorkOp::Write);
        self.flushing = access.op == WorkOp::Flush;
        self.bytes += access.bytes;
        let offset = self.begins[access.file as usize] + access.offset;
        Step::Issue(Wish {
            op: access.op,
            offset,
            bytes: access.bytes,
            flags: Flags::default(),
            measured: now >= self.measured_from,
            fills: self.outstanding >= self.depth && self.loops_left > 0,
        })
    }

    pub(super) fn completed(&mut self, op: WorkOp) {
        self.outstanding -= 1;
        self.outstanding_writes -= u32::from(op == WorkOp::Write);
        self.flushing &= op != WorkOp::Flush;
    }
}
