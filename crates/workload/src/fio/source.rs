//! All clones of a job file as one source.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use units::{Lpa, Nanos, SimTime, UNIT_BYTES};

use super::job::{JobClone, Region, name_of};
use super::work::Work;
use super::worker::{Step, Wish};
use crate::source::LATEST;
use crate::tickets::Tickets;
use crate::{
    Fault, Footprint, GroupId, GroupInfo, Issued, Next, ProcessId, Progress, SECTOR_BYTES, Source, StreamId, Ticket,
    WorkOp, WorkRequest,
};

/// A clone among others.
#[derive(Clone, Debug)]
struct Member {
    work: Work,
    group: GroupId,
    measured: bool,
    stage: u16,
    line: u64,
    delay: Nanos,
    /// What it may read, write or trim.
    touches: Vec<(Lpa, u32)>,
    /// What it may read.
    reads: Vec<(Lpa, u32)>,
    /// In [`FioSource::ready`].
    queued: bool,
    /// In [`FioSource::timers`], for this time.
    armed: Option<SimTime>,
    finished: bool,
    /// Its share of the expected total.
    expected: u64,
}

/// What has to be remembered of an outstanding request.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    bytes: u32,
    member: u16,
    op: WorkOp,
}

/// The jobs of a file as a [`Source`]. Clones that can issue take turns.
///
/// Requests name their clone as [`StreamId`] and [`ProcessId`]; [`FioSource::processes`] has the names.
#[derive(Clone, Debug)]
pub struct FioSource {
    members: Vec<Member>,
    ready: VecDeque<u16>,
    timers: BinaryHeap<Reverse<(SimTime, u16)>>,
    tickets: Tickets<Outstanding>,
    groups: Vec<GroupInfo>,
    processes: Vec<String>,
    begun: Option<SimTime>,
    stage: u16,
    /// Members of the stage that have not finished, or have requests outstanding.
    busy_in_stage: u32,
    unfinished: u32,
    progress: Progress,
    /// A request was measured.
    any_measured: bool,
    /// The clone that has issued last.
    last: u16,
}

impl FioSource {
    pub(super) fn new(clones: &[JobClone<'_>]) -> FioSource {
        let (groups, of_clone) = groups(clones);
        let member = |(clone, group): (&JobClone<'_>, GroupId)| {
            let o = &clone.job.options;
            Member {
                work: Work::of(clone),
                group,
                measured: !o.warmup,
                stage: clone.stage,
                line: clone.job.line,
                delay: o.startdelay,
                touches: touched(clone, |_| true),
                reads: touched(clone, |op| op == WorkOp::Read),
                queued: false,
                armed: None,
                finished: false,
                expected: 0,
            }
        };
        let mut members: Vec<Member> = clones.iter().zip(of_clone).map(member).collect();
        let mut total = Some(0_u64);
        for member in &mut members {
            let expected = member.work.expected_bytes();
            member.expected = expected.unwrap_or(0);
            total = total.zip(expected).and_then(|(a, b)| a.checked_add(b));
        }
        FioSource {
            unfinished: members.len() as u32,
            members,
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            tickets: Tickets::new(),
            groups,
            processes: clones.iter().map(clone_name).collect(),
            begun: None,
            stage: 0,
            busy_in_stage: 0,
            progress: Progress { done: 0, total },
            any_measured: false,
            last: 0,
        }
    }

    /// Names of the clones, indexed by [`ProcessId`] or [`StreamId`].
    pub fn processes(&self) -> &[String] {
        &self.processes
    }

    fn begin_stage(&mut self, now: SimTime) {
        let begun = *self.begun.get_or_insert(now);
        for (number, member) in self.members.iter_mut().enumerate() {
            if member.stage == self.stage {
                let delayed = LATEST.min(begun + member.delay);
                member.work.activate(delayed.max(now));
                member.queued = true;
                self.ready.push_back(number as u16);
                self.busy_in_stage += 1;
            }
        }
    }

    #[inline]
    fn issue(&mut self, number: u16, wish: Wish, now: SimTime) -> Next {
        let ticket = self.tickets.issue(Outstanding { bytes: wish.bytes as u32, member: number, op: wish.op });
        let member = &self.members[usize::from(number)];
        let measured = member.measured && wish.measured;
        self.any_measured |= measured;
        self.last = number;
        Next::Request(Issued {
            ticket,
            group: member.group,
            measured,
            request: WorkRequest {
                arrival: now,
                sector: wish.offset / SECTOR_BYTES,
                bytes: wish.bytes,
                line: member.line,
                phone_latency: None,
                op: wish.op,
                flags: wish.flags,
                process: ProcessId(number),
                stream: StreamId(number),
            },
        })
    }

    /// See [`Source::next`].
    #[inline(never)]
    fn next_of_clones(&mut self, now: SimTime) -> Next {
        if self.begun.is_none() {
            self.begin_stage(now);
        }
        if !self.timers.is_empty() {
            self.fire_timers(now);
        }
        while let Some(&number) = self.ready.front() {
            let member = &mut self.members[usize::from(number)];
            let step = member.work.step(now);
            if let Step::Issue(wish) = step {
                if wish.fills {
                    member.queued = false;
                    self.ready.pop_front();
                } else if self.ready.len() > 1 {
                    self.ready.rotate_left(1);
                }
                return self.issue(number, wish, now);
            }
            member.queued = false;
            self.ready.pop_front();
            match step {
                Step::At(time) => self.arm(number, time),
                Step::Finished => self.finish(number, now),
                Step::Blocked | Step::Issue(_) => {}
            }
        }
        match self.timers.peek() {
            _ if self.unfinished == 0 => Next::Done,
            Some(&Reverse((time, _))) => Next::Wait(time),
            None => Next::Blocked,
        }
    }

    fn queue(&mut self, number: u16) {
        let member = &mut self.members[usize::from(number)];
        if !member.queued && !member.finished {
            member.queued = true;
            self.ready.push_back(number);
        }
    }

    fn fire_timers(&mut self, now: SimTime) {
        while let Some(&Reverse((time, number))) = self.timers.peek()
            && time <= now
        {
            self.timers.pop();
            let armed = &mut self.members[usize::from(number)].armed;
            if *armed == Some(time) {
                *armed = None;
                self.queue(number);
            }
        }
    }

    fn arm(&mut self, number: u16, time: SimTime) {
        let member = &mut self.members[usize::from(number)];
        if member.armed != Some(time) {
            member.armed = Some(time);
            self.timers.push(Reverse((time, number)));
        }
    }

    #[cold]
    fn finish(&mut self, number: u16, now: SimTime) {
        let member = &mut self.members[usize::from(number)];
        member.finished = true;
        member.armed = None;
        self.unfinished -= 1;
        if let Some(total) = &mut self.progress.total {
            *total = *total - member.expected + member.work.bytes();
        }
        if member.work.outstanding() == 0 {
            self.leave_stage(now);
        }
    }

    #[cold]
    fn leave_stage(&mut self, now: SimTime) {
        self.busy_in_stage -= 1;
        if self.busy_in_stage == 0 && self.unfinished > 0 {
            self.stage += 1;
            self.begin_stage(now);
        }
    }
}

impl Source for FioSource {
    /// Short, because every second call finds all clones blocked.
    #[inline]
    fn next(&mut self, now: SimTime) -> Next {
        if !self.ready.is_empty() || !self.timers.is_empty() || self.begun.is_none() {
            return self.next_of_clones(now);
        }
        if self.unfinished == 0 { Next::Done } else { Next::Blocked }
    }

    #[inline]
    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        let Outstanding { bytes, member: number, op } = self.tickets.complete(ticket);
        self.progress.done += u64::from(bytes);
        let member = &mut self.members[usize::from(number)];
        member.work.completed(op);
        if member.finished {
            if member.work.outstanding() == 0 {
                self.leave_stage(now);
            }
        } else {
            self.queue(number);
        }
    }

    #[inline]
    fn coming(&self) -> Option<Lpa> {
        let offset = self.members[usize::from(self.last)].work.coming()?;
        Some(Lpa((offset / UNIT_BYTES) as u32))
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    fn footprint(&self) -> Footprint {
        Footprint::from_ranges(self.members.iter().flat_map(|m| m.reads.iter().copied()))
    }

    fn preconditioning_ranges(&self) -> Footprint {
        Footprint::from_ranges(self.members.iter().flat_map(|m| m.touches.iter().copied()))
    }

    /// A ramp time that is longer than the jobs leaves nothing to report.
    fn verdict(&self) -> Result<(), Fault> {
        if self.any_measured || !self.members.iter().any(|m| m.measured) {
            return Ok(());
        }
        let told = "every job ended within its ramp_time, so nothing was measured; use time_based with runtime, a \
                    larger size, or a shorter ramp_time";
        Err(Fault::Wish(told.into()))
    }
}

/// The units that a clone may touch with requests of the kinds that are `wanted`.
fn touched(clone: &JobClone<'_>, wanted: impl Fn(WorkOp) -> bool) -> Vec<(Lpa, u32)> {
    if let Some(log) = clone.job.log_of(clone.number) {
        return log.units(&clone.regions, wanted);
    }
    let kinds = [WorkOp::Read, WorkOp::Write, WorkOp::Trim];
    let any = (0..3).any(|d| clone.job.options.has_direction(d) && wanted(kinds[d]));
    let regions = clone.regions.iter().filter(|_| any);
    regions.copied().map(Region::units).collect()
}

fn clone_name(clone: &JobClone<'_>) -> String {
    let name = name_of(clone.job);
    if clone.job.options.numjobs == 1 { name.to_owned() } else { format!("{name}.{}", clone.number) }
}

/// Groups as fio reports them: each clone by itself, but those with `group_reporting` together, up to the next
/// stonewall or new_group, under the name of the first job. Warm-up is kept apart.
fn groups(clones: &[JobClone<'_>]) -> (Vec<GroupInfo>, Vec<GroupId>) {
    let mut groups = Vec::new();
    let mut shared: BTreeMap<(u32, bool), GroupId> = BTreeMap::new();
    let of_clone = clones.iter().map(|clone| {
        let measured = !clone.job.options.warmup;
        let mut add = |name: String| {
            groups.push(GroupInfo { name, measured, options: clone.job.options.told() });
            GroupId((groups.len() - 1) as u16)
        };
        if clone.job.options.group_reporting {
            let name = name_of(clone.job).to_owned();
            *shared.entry((clone.report_group, measured)).or_insert_with(|| add(name))
        } else {
            add(clone_name(clone))
        }
    });
    let of_clone = of_clone.collect();
    (groups, of_clone)
}
