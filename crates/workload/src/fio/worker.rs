//! One clone at work: what it issues next.

use units::{Nanos, SimTime};

use super::job::JobClone;
use super::pattern::{Sizes, Streams};
use super::spread::Spread;
use crate::source::LATEST;
use crate::{Flags, WorkOp};

const READ: usize = 0;
const WRITE: usize = 1;
const TRIM: usize = 2;
const OPS: [WorkOp; 3] = [WorkOp::Read, WorkOp::Write, WorkOp::Trim];

/// A request of a clone, in bytes from the start of the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub op: WorkOp,
    pub offset: u64,
    pub bytes: u64,
    pub flags: Flags,
    /// False before the ramp time has passed.
    pub measured: bool,
    /// Only a completion lets the clone go on after this request.
    pub fills: bool,
}

/// What a clone does now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Issue(Wish),
    /// Nothing before this time.
    At(SimTime),
    /// Nothing before a completion.
    Blocked,
    /// Nothing any more.
    Finished,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flush {
    None,
    /// To be issued as soon as no write is outstanding.
    Wanted,
    Outstanding,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Think {
    None,
    /// The pause begins when nothing is outstanding.
    Draining,
    Until(SimTime),
}

/// What a direction is limited to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rate {
    Unlimited,
    /// Per second.
    Requests(u64),
    /// Per second.
    Bytes(u64),
}

impl Rate {
    fn of(requests: u64, bytes: u64) -> Rate {
        match (requests, bytes) {
            (0, 0) => Rate::Unlimited,
            (0, bytes) => Rate::Bytes(bytes),
            (requests, _) => Rate::Requests(requests),
        }
    }
}

/// How requests are chosen and limited: fixed for the whole run.
#[derive(Clone, Debug)]
struct Plan {
    depth: u32,
    begin: u64,
    /// The only direction, or `None` for a mix of reads and writes, or trims and writes in turn.
    direction: Option<usize>,
    /// Every trim is followed by a write of the same place.
    trims_first: bool,
    read_percent: u64,
    sizes: [Sizes; 3],
    largest: u64,
    io_bytes: u64,
    ends_with_region: bool,
    time_based: bool,
    reseeds: bool,
    seed: u64,
    most_requests: u64,
    /// There is a ramp time, a rate or a time to think: some requests have to wait for a time of their own.
    paced: bool,
    ramp: Nanos,
    runtime: Option<Nanos>,
    rate: [Rate; 3],
    thinktime: Nanos,
    think_every: u64,
    /// Writes between flushes for fsync and fdatasync; 0 is never.
    flush_every: [u64; 2],
    barrier_every: u64,
    end_fsync: bool,
}

/// A clone at work.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    plan: Plan,
    files: Spread,
    streams: Streams,
    start: SimTime,
    /// Requests from here on are measured; limits and rates count from here.
    measured_from: SimTime,
    /// The ramp time has not passed yet.
    ramping: bool,
    end: SimTime,
    outstanding: u32,
    outstanding_writes: u32,
    flush: Flush,
    think: Think,
    /// What has been trimmed and is written next.
    trimmed: Option<(u64, u64)>,
    /// Direction chosen for a request that waits for its time.
    chosen: Option<usize>,
    issued: [u64; 3],
    /// Counted only if requests are paced.
    issued_bytes: [u64; 3],
    /// Writes were issued since the last flush.
    dirty: bool,
    bytes: u64,
    loop_bytes: u64,
    loops_left: u64,
}

impl Worker {
    pub(super) fn new(clone: &JobClone<'_>) -> Worker {
        let o = &clone.job.options;
        let sizes = std::array::from_fn(|d| Sizes::new(o.sizes(d)));
        let mut streams = Streams::new(clone.seed);
        let files = Spread::new(clone, &sizes, &mut streams);
        let direction = match (o.rw.read, o.rw.write) {
            _ if o.rw.trims_first() => None,
            (true, true) => None,
            (true, false) => Some(READ),
            (false, true) => Some(WRITE),
            (false, false) => Some(TRIM),
        };
        let rate = std::array::from_fn(|d| Rate::of(o.rate_iops[d], o.rate[d]));
        let think_every = if o.thinktime == Nanos::ZERO { 0 } else { o.thinktime_blocks };
        let plan = Plan {
            depth: o.depth(),
            begin: clone.regions[0].begin,
            direction,
            trims_first: o.rw.trims_first(),
            read_percent: u64::from(o.rwmixread),
            sizes,
            largest: o.largest_block(),
            io_bytes: clone.io_bytes,
            ends_with_region: clone.ends_with_region,
            time_based: o.time_based,
            reseeds: o.randrepeat,
            seed: clone.seed,
            most_requests: if o.number_ios == 0 { u64::MAX } else { o.number_ios.saturating_mul(o.loops) },
            ramp: o.ramp_time,
            runtime: o.runtime,
            paced: o.ramp_time != Nanos::ZERO || rate != [Rate::Unlimited; 3] || think_every != 0,
            rate,
            thinktime: o.thinktime,
            think_every,
            flush_every: [o.fsync, o.fdatasync],
            barrier_every: o.write_barrier,
            end_fsync: o.end_fsync && o.rw.write,
        };
        Worker {
            ramping: plan.ramp != Nanos::ZERO,
            plan,
            files,
            streams,
            start: SimTime::START,
            measured_from: SimTime::START,
            end: LATEST,
            outstanding: 0,
            outstanding_writes: 0,
            flush: Flush::None,
            think: Think::None,
            trimmed: None,
            chosen: None,
            issued: [0; 3],
            issued_bytes: [0; 3],
            dirty: false,
            bytes: 0,
            loop_bytes: 0,
            loops_left: o.loops,
        }
    }

    /// Fixes when the clone starts.
    pub(super) fn activate(&mut self, start: SimTime) {
        self.start = start;
        self.measured_from = LATEST.min(start + self.plan.ramp);
        if let Some(runtime) = self.plan.runtime {
            self.end = LATEST.min(self.measured_from + runtime);
        }
    }

    /// Requests outstanding.
    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Bytes issued so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that the clone will issue in all, about; `None` if time decides.
    pub(super) fn expected_bytes(&self) -> Option<u64> {
        let p = &self.plan;
        if p.runtime.is_some() || p.most_requests != u64::MAX || p.ramp != Nanos::ZERO {
            return None;
        }
        let direction = p.direction.unwrap_or(if p.trims_first { TRIM } else { READ });
        let one_loop = match p.sizes[direction].only() {
            Some(size) if size == p.largest && !p.ends_with_region => p.io_bytes.checked_next_multiple_of(size)?,
            Some(size) if size == p.largest => p.io_bytes / size * size,
            _ => p.io_bytes,
        };
        one_loop.checked_mul(self.loops_left)?.checked_mul(if p.trims_first { 2 } else { 1 })
    }

    /// What to do at `now`.
    #[inline(always)]
    pub(super) fn step(&mut self, now: SimTime) -> Step {
        if self.flush != Flush::None {
            return self.step_flush();
        }
        if self.loops_left == 0 {
            return Step::Finished;
        }
        if self.outstanding >= self.plan.depth {
            return Step::Blocked;
        }
        if now < self.start {
            return Step::At(self.start);
        }
        if now >= self.end {
            self.finish();
            return self.after_loops();
        }
        let direction = if self.plan.paced {
            match self.step_paced(now) {
                Ok(direction) => direction,
                Err(wait) => return wait,
            }
        } else {
            self.choose_direction()
        };
        match self.place(direction) {
            Some((offset, bytes)) => Step::Issue(self.issue(direction, self.files.begin() + offset, bytes)),
            None => self.after_loops(),
        }
    }

    /// The direction of the next request if its time has come, or else what to do until then.
    #[inline(never)]
    fn step_paced(&mut self, now: SimTime) -> Result<usize, Step> {
        if self.ramping && now >= self.measured_from {
            self.end_ramp();
        }
        if let Some(wait) = self.step_think(now) {
            return Err(wait);
        }
        let direction = match self.chosen.take() {
            Some(direction) => direction,
            None => self.choose_direction(),
        };
        let due = self.due(direction);
        if due <= now {
            return Ok(direction);
        }
        // As in fio, a mix goes on with its other direction where that is due, or is due first.
        let mixes =
            self.plan.direction.is_none() && !self.plan.trims_first && !self.plan.read_percent.is_multiple_of(100);
        let other = READ + WRITE - direction.min(WRITE);
        let (direction, due) = match mixes && self.due(other) < due {
            true => (other, self.due(other)),
            false => (direction, due),
        };
        if due <= now {
            return Ok(direction);
        }
        self.chosen = Some(direction);
        Err(Step::At(due.min(self.end)))
    }

    #[inline]
    fn choose_direction(&mut self) -> usize {
        match self.plan.direction {
            Some(direction) => direction,
            None if self.plan.trims_first => {
                if self.trimmed.is_some() {
                    WRITE
                } else {
                    TRIM
                }
            }
            None if self.streams.mix.below(100) < self.plan.read_percent => READ,
            None => WRITE,
        }
    }

    /// Offset in its file and length of the next request, or `None` if there is none in this or any further loop.
    #[inline(always)]
    fn place(&mut self, direction: usize) -> Option<(u64, u64)> {
        if self.plan.trims_first && direction == WRITE {
            return self.trimmed.take();
        }
        loop {
            let p = &self.plan;
            if (self.loop_bytes < p.io_bytes || p.time_based) && self.requests() < p.most_requests {
                let sizes = &p.sizes[direction];
                let length = sizes.pick(&mut self.streams.size);
                if let Some(place) = self.files.next(direction, length, sizes, &mut self.streams) {
                    if p.trims_first {
                        self.trimmed = Some(place);
                    }
                    return Some(place);
                }
            }
            if !self.turn() {
                return None;
            }
        }
    }

    /// The ramp time has passed: rates and `number_ios` count from here. Sizes count from the start, as in fio.
    #[cold]
    fn end_ramp(&mut self) {
        self.ramping = false;
        (self.issued, self.issued_bytes) = ([0; 3], [0; 3]);
    }

    fn requests(&self) -> u64 {
        self.issued[READ] + self.issued[WRITE] + self.issued[TRIM]
    }

    /// The loop, the region or the random map has ended. Returns whether requests may follow at once.
    #[cold]
    fn turn(&mut self) -> bool {
        let p = &self.plan;
        if self.requests() >= p.most_requests {
            self.finish();
            return false;
        }
        if p.time_based {
            self.files.restart(&mut self.streams.map);
            return true;
        }
        // fio does not begin another round for less than a whole block.
        let left = p.io_bytes.saturating_sub(self.loop_bytes);
        let again = !p.ends_with_region && left >= p.largest;
        if !again {
            self.loops_left -= 1;
            self.loop_bytes = 0;
            self.want_end_flush();
        }
        if self.plan.reseeds {
            self.streams = Streams::new(self.plan.seed);
        }
        self.files.restart(&mut self.streams.map);
        self.loops_left > 0 && self.flush == Flush::None
    }

    fn want_end_flush(&mut self) {
        if self.plan.end_fsync && self.dirty {
            self.flush = Flush::Wanted;
        }
    }

    fn finish(&mut self) {
        self.loops_left = 0;
        self.want_end_flush();
    }

    /// A loop has ended, perhaps with a flush.
    fn after_loops(&mut self) -> Step {
        if self.flush == Flush::None { Step::Finished } else { self.step_flush() }
    }

    #[inline]
    fn issue(&mut self, direction: usize, offset: u64, bytes: u64) -> Wish {
        self.outstanding += 1;
        self.issued[direction] += 1;
        if self.plan.paced {
            self.issued_bytes[direction] += bytes;
        }
        self.bytes += bytes;
        if !(self.plan.trims_first && direction == WRITE) {
            self.loop_bytes += bytes;
        }
        let mut flags = Flags::default();
        if direction == WRITE {
            self.outstanding_writes += 1;
            self.dirty = true;
            let writes = self.issued[WRITE];
            let due = |every: u64| every != 0 && writes.is_multiple_of(every);
            if self.plan.flush_every.into_iter().any(due) {
                self.flush = Flush::Wanted;
            }
            if due(self.plan.barrier_every) {
                (flags.preflush, flags.fua) = (true, true);
            }
        }
        if self.plan.think_every != 0 && self.requests().is_multiple_of(self.plan.think_every) {
            self.think = Think::Draining;
        }
        self.wish(OPS[direction], offset, bytes, flags)
    }

    #[inline]
    fn wish(&self, op: WorkOp, offset: u64, bytes: u64, flags: Flags) -> Wish {
        let fills = self.outstanding >= self.plan.depth && self.loops_left > 0;
        Wish { op, offset, bytes, flags, measured: !self.ramping, fills }
    }

    fn step_flush(&mut self) -> Step {
        let free = self.outstanding_writes == 0 && self.outstanding < self.plan.depth;
        if self.flush == Flush::Outstanding || !free {
            return Step::Blocked;
        }
        self.flush = Flush::Outstanding;
        self.dirty = false;
        self.outstanding += 1;
        Step::Issue(self.wish(WorkOp::Flush, self.plan.begin, 0, Flags::default()))
    }

    fn step_think(&mut self, now: SimTime) -> Option<Step> {
        if self.think == Think::Draining {
            if self.outstanding > 0 {
                return Some(Step::Blocked);
            }
            self.think = Think::Until(SimTime(now.0.saturating_add(self.plan.thinktime.0)));
        }
        match self.think {
            Think::Until(time) if time > now => Some(Step::At(time.min(self.end))),
            _ => {
                self.think = Think::None;
                None
            }
        }
    }

    /// When the next request of a direction is due: when what was issued before it has taken its time at the rate,
    /// counted from the start; one that is late is made up for, as in fio.
    fn due(&self, direction: usize) -> SimTime {
        const SECOND_NS: u128 = 1_000_000_000;
        let after = match self.plan.rate[direction] {
            Rate::Unlimited => 0,
            Rate::Requests(rate) => u128::from(self.issued[direction]) * SECOND_NS / u128::from(rate),
            Rate::Bytes(rate) => u128::from(self.issued_bytes[direction]) * SECOND_NS / u128::from(rate),
        };
        let from = if self.ramping { self.start } else { self.measured_from };
        SimTime(from.0.saturating_add(u64::try_from(after).unwrap_or(u64::MAX)))
    }

    /// Where the next request will probably be, in bytes from the start of the device, if that is known.
    #[inline]
    pub(super) fn coming(&self) -> Option<u64> {
        self.files.coming()
    }

    /// A request has completed.
    #[inline]
    pub(super) fn completed(&mut self, op: WorkOp) {
        self.outstanding -= 1;
        match op {
            WorkOp::Write => self.outstanding_writes -= 1,
            WorkOp::Flush => self.flush = Flush::None,
            WorkOp::Read | WorkOp::Trim => {}
        }
    }
}
