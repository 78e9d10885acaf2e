//! Replays a trace. A write that covers units of 4 KiB only in part waits for reads of these units, as a host that can
//! write only whole units has to do it; its latency counts from its own arrival.
//!
//! With [`Replay::merging`] neighbouring requests are merged as they leave the plugs of their tasks ([`crate::merge`]).
//! The oldest of those that are one is issued, and the others with it ([`Source::take_riders`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use units::{SimTime, UNIT_BYTES};

use crate::merge::{MergeLimits, Merged};
use crate::tickets::Tickets;
use crate::{
    Flags, Footprint, GroupId, GroupInfo, Issued, Next, Progress, SECTOR_BYTES, Source, StreamId, Ticket, Trace,
    TraceError, WorkOp, WorkRequest,
};

/// Greatest depth of a closed replay.
const MAX_DEPTH: u32 = 1 << 16;

/// When requests of a trace are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayMode {
    /// At their recorded times, counted from the first request.
    Timed,
    /// At their recorded times, but at most `depth` are taken in at once. One that finds the queue full waits outside,
    /// as a submitter does in Linux (`nr_requests`), and its latency counts from when it gets in, as that of an insert
    /// event in a trace (`I` of blktrace, block_rq_insert) would.
    Queued {
        /// Outstanding requests, 1 to 65536.
        depth: u32,
    },
    /// In order, as fast as a number of outstanding requests allows; recorded times are ignored.
    Closed {
        /// Outstanding requests, 1 to 65536, of the trace or of each stream.
        depth: u32,
        /// Every per-CPU file is a stream of its own with this depth, as in the HP-UFS authors' script (eight fio
        /// `read_iolog` jobs with `replay_no_stall`); otherwise the files are one stream, merged by time.
        per_file: bool,
    },
}

/// A stretch of [`Replay::order`] that is issued in order.
#[derive(Clone, Copy, Debug)]
struct Lane {
    next: usize,
    end: usize,
    outstanding: u32,
    queued: bool,
    /// When there was room again after it had been full.
    opened: SimTime,
}

/// What has to be remembered of an outstanding request.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    lane: u16,
    bytes: u64,
    part: Part,
}

/// What an issued request is to the trace.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A request of the trace.
    Whole,
    /// A request of the trace that is merged with another.
    Rider,
    /// A read that the partial write of this number waits for.
    MergeRead(u64),
}

/// A partial write that waits for reads of the units that it covers in part.
#[derive(Clone, Debug)]
struct Merge {
    lane: u16,
    reads_left: u8,
    write: WorkRequest,
    riders: Vec<WorkRequest>,
}

/// What is to be issued before anything else.
#[derive(Clone, Debug)]
struct Due {
    lane: u16,
    request: WorkRequest,
    part: Part,
    riders: Vec<WorkRequest>,
}

/// A trace as a [`Source`].
///
/// ```
/// use std::sync::Arc;
/// use ufsim_workload::{Replay, ReplayMode, Trace};
/// let mode = ReplayMode::Closed { depth: 0, per_file: false };
/// let error = Replay::new(Arc::new(Trace::default()), mode, 1024).unwrap_err();
/// assert_eq!(error.to_string(), "depth: 0 is not allowed; allowed are 1 to 65536");
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    trace: Arc<Trace>,
    timed: bool,
    depth: u32,
    start: Option<SimTime>,
    /// Numbers of requests of the trace, or of `merged`.
    order: Vec<u32>,
    lanes: Vec<Lane>,
    /// What became of neighbours, if they are merged.
    merged: Option<Merged>,
    /// What rides with the request issued last.
    riders: Vec<Issued>,
    per_file: bool,
    ready: VecDeque<u16>,
    /// Partial writes whose reads are not all back, by number.
    merges: BTreeMap<u64, Merge>,
    next_merge: u64,
    /// Reads before a partial write, and writes whose reads are back: issued before anything else.
    due: VecDeque<Due>,
    tickets: Tickets<Outstanding>,
    groups: Vec<GroupInfo>,
    progress: Progress,
    left: usize,
}

impl Replay {
    /// Prepares a trace for a device of `capacity_units` units of 4 KiB.
    ///
    /// # Errors
    /// [`TraceError::BadDepth`], [`TraceError::BeyondDevice`].
    pub fn new(trace: Arc<Trace>, mode: ReplayMode, capacity_units: u32) -> Result<Replay, TraceError> {
        let (timed, depth, per_file) = match mode {
            ReplayMode::Timed => (true, u32::MAX, false),
            ReplayMode::Closed { depth, .. } | ReplayMode::Queued { depth } if depth == 0 || depth > MAX_DEPTH => {
                return Err(TraceError::BadDepth { value: depth });
            }
            ReplayMode::Queued { depth } => (true, depth, false),
            ReplayMode::Closed { depth, per_file } => (false, depth, per_file),
        };
        trace.check_capacity(capacity_units)?;
        let (order, lanes) = lanes(&trace, None, per_file);
        let names = if per_file { trace.files.clone() } else { vec![trace.name.clone()] };
        let total = trace.requests.iter().map(|r| r.bytes).sum();
        Ok(Replay {
            timed,
            depth,
            start: None,
            ready: ready(&lanes),
            left: order.len(),
            order,
            lanes,
            merged: None,
            riders: Vec::new(),
            per_file,
            merges: BTreeMap::new(),
            next_merge: 0,
            due: VecDeque::new(),
            tickets: Tickets::new(),
            groups: names
                .into_iter()
                .map(|name| GroupInfo { name, measured: true, options: Default::default() })
                .collect(),
            progress: Progress { done: 0, total: Some(total) },
            trace,
        })
    }

    /// The same with neighbouring requests merged.
    pub fn merging(mut self, limits: &MergeLimits) -> Replay {
        let merged = self.trace.merged(limits);
        (self.order, self.lanes) = lanes(&self.trace, Some(&merged), self.per_file);
        (self.ready, self.left) = (ready(&self.lanes), self.order.len());
        self.merged = Some(merged);
        self
    }

    /// The trace that is replayed.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn issue(&mut self, lane_number: u16, now: SimTime) -> Next {
        let start = self.start.unwrap_or(now);
        let lane = &mut self.lanes[usize::from(lane_number)];
        let place = self.order[lane.next];
        let alone = [place];
        let (members, release) = match &self.merged {
            None => (&alone[..], self.trace.requests[place as usize].arrival),
            Some(merged) => merged.get(place as usize),
        };
        let since = |time: SimTime| SimTime(start.0.saturating_add(time.0));
        if self.timed && since(release) > now {
            return Next::Wait(since(release));
        }
        let (timed, opened) = (self.timed, lane.opened);
        let arrived = |number: &u32| {
            let request = self.trace.requests[*number as usize];
            let arrival = if timed { since(request.arrival).max(opened) } else { now };
            WorkRequest { arrival, ..request }
        };
        let request = arrived(&members[0]);
        let riders: Vec<_> = members[1..].iter().map(arrived).collect();
        lane.next += 1;
        lane.outstanding += 1;
        self.left -= 1;
        if lane.next == lane.end || lane.outstanding == self.depth {
            lane.queued = false;
            self.ready.pop_front();
        } else if self.ready.len() > 1 {
            self.ready.rotate_left(1);
        }
        let whole = Due { lane: lane_number, request, part: Part::Whole, riders };
        match self.read_before(whole) {
            Some(whole) => self.submit(whole),
            None => self.submit_due(),
        }
    }

    /// Prepares the reads that a partial write needs; gives it back if it needs none.
    fn read_before(&mut self, whole: Due) -> Option<Due> {
        let write = union(&whole.request, &whole.riders);
        let number = self.next_merge;
        let mut reads_left = 0;
        // What is to be durable, and the phone's latency, belong to the write alone.
        let flags = Flags { fua: false, preflush: false, ..write.flags };
        for (first, count) in write.partly_written().into_iter().flatten() {
            let sector = u64::from(first.0) * (UNIT_BYTES / SECTOR_BYTES);
            let bytes = u64::from(count) * UNIT_BYTES;
            let request = WorkRequest { op: WorkOp::Read, sector, bytes, flags, phone_latency: None, ..write };
            let part = Part::MergeRead(number);
            self.due.push_back(Due { lane: whole.lane, request, part, riders: Vec::new() });
            reads_left += 1;
        }
        if reads_left == 0 {
            return Some(whole);
        }
        let Due { lane, request, riders, .. } = whole;
        self.merges.insert(number, Merge { lane, reads_left, write: request, riders });
        self.next_merge += 1;
        None
    }

    fn submit_due(&mut self) -> Next {
        let due = self.due.pop_front().expect("something is due");
        self.submit(due)
    }

    fn submit(&mut self, due: Due) -> Next {
        let Due { lane, request, part, riders } = due;
        let issued = self.issued(lane, request, part);
        for rider in riders {
            let rider = self.issued(lane, rider, Part::Rider);
            self.riders.push(rider);
        }
        Next::Request(issued)
    }

    fn issued(&mut self, lane: u16, request: WorkRequest, part: Part) -> Issued {
        let ticket = self.tickets.issue(Outstanding { lane, bytes: request.bytes, part });
        let group = if self.groups.len() > 1 { lane } else { 0 };
        Issued { ticket, group: GroupId(group), measured: true, request }
    }

    /// One of the reads that a write waits for is back.
    fn merge_read(&mut self, number: u64) {
        let merge = self.merges.get_mut(&number).expect("a write waits for the read");
        merge.reads_left -= 1;
        if merge.reads_left == 0 {
            let Merge { lane, write: request, riders, .. } = self.merges.remove(&number).expect("found above");
            self.due.push_back(Due { lane, request, part: Part::Whole, riders });
        }
    }
}

/// The range of requests that lie side by side, as one request.
fn union(first: &WorkRequest, riders: &[WorkRequest]) -> WorkRequest {
    let sector = riders.iter().map(|rider| rider.sector).min().map_or(first.sector, |least| least.min(first.sector));
    let bytes = first.bytes + riders.iter().map(|rider| rider.bytes).sum::<u64>();
    WorkRequest { sector, bytes, ..*first }
}

/// Lanes with something to issue.
fn ready(lanes: &[Lane]) -> VecDeque<u16> {
    (0..=u16::MAX).zip(lanes).filter(|(_, lane)| lane.queued).map(|(number, _)| number).collect()
}

/// The order of issue, and the stretches of it that are streams.
fn lanes(trace: &Trace, merged: Option<&Merged>, per_file: bool) -> (Vec<u32>, Vec<Lane>) {
    let mut order: Vec<u32> = (0..merged.map_or(trace.requests.len(), Merged::len) as u32).collect();
    let lane = |next, end| Lane { next, end, outstanding: 0, queued: end > next, opened: SimTime::START };
    if !per_file {
        let end = order.len();
        return (order, vec![lane(0, end)]);
    }
    let first = |i: u32| merged.map_or(i, |merged| merged.get(i as usize).0[0]);
    let stream_of = |&i: &u32| trace.requests[first(i) as usize].stream;
    order.sort_by_key(stream_of);
    let lanes = (0..trace.files.len())
        .map(|file| {
            let file = StreamId(file as u16);
            lane(order.partition_point(|i| stream_of(i) < file), order.partition_point(|i| stream_of(i) <= file))
        })
        .collect();
    (order, lanes)
}

impl Source for Replay {
    fn next(&mut self, now: SimTime) -> Next {
        if self.start.is_none() {
            self.start = Some(now);
        }
        match self.ready.front() {
            _ if !self.due.is_empty() => self.submit_due(),
            Some(&lane) => self.issue(lane, now),
            None if self.left == 0 && self.merges.is_empty() => Next::Done,
            None => Next::Blocked,
        }
    }

    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        let Outstanding { lane: lane_number, bytes, part } = self.tickets.complete(ticket);
        if let Part::MergeRead(number) = part {
            return self.merge_read(number);
        }
        self.progress.done += bytes;
        if matches!(part, Part::Rider) {
            return;
        }
        let lane = &mut self.lanes[usize::from(lane_number)];
        lane.outstanding -= 1;
        if !lane.queued && lane.next < lane.end {
            lane.queued = true;
            lane.opened = now;
            self.ready.push_back(lane_number);
        }
    }

    fn merges(&self) -> bool {
        self.merged.is_some()
    }

    fn take_riders(&mut self, into: &mut Vec<Issued>) {
        into.append(&mut self.riders);
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    fn processes(&self) -> &[String] {
        &self.trace.processes
    }

    fn footprint(&self) -> Footprint {
        self.trace.read_footprint()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        self.trace.touched_footprint()
    }
}

#[cfg(test)]
mod tests;
