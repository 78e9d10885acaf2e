//! The block layer's merging of neighbouring requests, before the scheduler.
//!
//! A task of Linux that submits several requests does so under a *plug* (`blk_start_plug`): its requests wait in a list
//! of their own, and one whose range begins or ends where that of a waiting one ends or begins is merged into it. Then
//! all go to the scheduler together. Here, of the requests of a trace:
//!
//! - A plug belongs to a task: requests of one process in one file of the trace (a task that moves to another CPU has
//!   been scheduled, and that ends its plug).
//! - It ends with the last request before a pause of more than [`MergeLimits::plug_gap`]: a task that waits for an
//!   answer sleeps, which ends its plug. A trace does not tell when tasks sleep; the gap stands for it.
//! - It also ends, as in `blk_add_rq_to_plug`, when a request comes that cannot be merged while as many wait as a plug
//!   holds, or after one of 128 KiB or more.
//! - Reads are merged with reads and writes with writes, as far as the device's largest transfer and its segments go.
//!   Flushes, trims, FUA writes and those with a flush before (`REQ_NOMERGE_FLAGS`) are not; they end the plug and do
//!   not wait. Linux also merges trims; here they are few, and stay as they are.
//! - A request that overlaps a waiting one ends the plug, so that the later one stays the later one.
//!
//! What is merged is one request to the scheduler, the driver and the device, and counts once in a queue of limited
//! depth. Each of the requests that it is made of ends when it ends, and its latency counts from its own arrival.
//!
//! Requests that already wait in the scheduler take no more in, which Linux allows to some schedulers: a scheduler here
//! sees what leaves the plugs.

use std::collections::BTreeMap;

use units::{Nanos, SimTime, UNIT_BYTES};

use crate::{ProcessId, SECTOR_BYTES, StreamId, Trace, WorkOp, WorkRequest};

/// A request of this size lets the plug go with the next one (`BLK_PLUG_FLUSH_SIZE`).
const LARGE_BYTES: u64 = 128 << 10;

/// How far merging goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MergeLimits {
    /// Largest merged request in bytes (`max_sectors`).
    pub bytes: u64,
    /// Most segments of one (`max_segments`). Every page of memory is one: pages of a cache seldom lie side by side.
    pub segments: u64,
    /// Requests that a plug holds (`BLK_MAX_REQUEST_COUNT`).
    pub plug_requests: usize,
    /// A longer pause between two requests of a task ends its plug.
    pub plug_gap: Nanos,
}

/// The requests of a trace as they leave their plugs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Numbers of requests in the trace, those of a merged request side by side, the first of them first.
    members: Vec<u32>,
    /// In order of release.
    requests: Vec<Together>,
}

/// Requests that are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Together {
    first: u32,
    count: u32,
    release: SimTime,
}

impl Merged {
    /// Requests after merging.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Numbers of the requests of the trace that are one, the oldest first, and when it leaves its plug.
    pub fn get(&self, number: usize) -> (&[u32], SimTime) {
        let Together { first, count, release } = self.requests[number];
        (&self.members[first as usize..][..count as usize], release)
    }
}

/// A request in a plug.
struct Waiting {
    members: Vec<u32>,
    op: WorkOp,
    sector: u64,
    end: u64,
    bytes: u64,
    segments: u64,
}

impl Waiting {
    fn of(number: u32, r: &WorkRequest) -> Waiting {
        let segments = r.bytes.div_ceil(UNIT_BYTES);
        Waiting { members: vec![number], op: r.op, sector: r.sector, end: end_of(r), bytes: r.bytes, segments }
    }

    /// Merges a request into this one, if it is its neighbour and the limits allow it.
    fn takes(&mut self, other: &Waiting, limits: &MergeLimits) -> bool {
        let fits = self.bytes + other.bytes <= limits.bytes && self.segments + other.segments <= limits.segments;
        let (behind, before) = (self.end == other.sector, other.end == self.sector);
        if self.op != other.op || !fits || !(behind || before) {
            return false;
        }
        self.members.extend(&other.members);
        (self.sector, self.end) = (self.sector.min(other.sector), self.end.max(other.end));
        (self.bytes, self.segments) = (self.bytes + other.bytes, self.segments + other.segments);
        true
    }

    fn overlaps(&self, other: &Waiting) -> bool {
        self.sector < other.end && other.sector < self.end
    }
}

fn end_of(request: &WorkRequest) -> u64 {
    request.sector.saturating_add(request.bytes.div_ceil(SECTOR_BYTES))
}

fn can_be_merged(r: &WorkRequest) -> bool {
    // A length that is no multiple of a sector would leave a hole between two that are one.
    let whole = r.bytes > 0 && r.bytes.is_multiple_of(SECTOR_BYTES);
    matches!(r.op, WorkOp::Read | WorkOp::Write) && !r.flags.fua && !r.flags.preflush && whole
}

/// The requests of a task that wait to go on together.
#[derive(Default)]
struct Plug {
    waiting: Vec<Waiting>,
    /// When the last request came.
    last: SimTime,
}

impl Merged {
    /// Ends a plug with its last request.
    fn let_go(&mut self, plug: &mut Plug) {
        let release = plug.last;
        for request in plug.waiting.drain(..) {
            self.add(&request.members, release);
        }
    }

    fn add(&mut self, members: &[u32], release: SimTime) {
        let (first, count) = (self.members.len() as u32, members.len() as u32);
        self.members.extend(members);
        self.requests.push(Together { first, count, release });
    }
}

impl Trace {
    /// The requests as they leave the plugs of their tasks.
    pub fn merged(&self, limits: &MergeLimits) -> Merged {
        let mut merged = Merged::default();
        let mut plugs: BTreeMap<(ProcessId, StreamId), Plug> = BTreeMap::new();
        for (number, r) in (0..).zip(&self.requests) {
            let plug = plugs.entry((r.process, r.stream)).or_default();
            let now = r.arrival;
            if now.since(plug.last) > limits.plug_gap {
                merged.let_go(plug);
            }
            if !can_be_merged(r) {
                merged.let_go(plug);
                merged.add(&[number], now);
                continue;
            }
            let new = Waiting::of(number, r);
            if plug.waiting.iter().any(|waiting| waiting.overlaps(&new)) {
                merged.let_go(plug);
            }
            if !plug.waiting.iter_mut().rev().any(|waiting| waiting.takes(&new, limits)) {
                let large = plug.waiting.last().is_some_and(|waiting| waiting.bytes >= LARGE_BYTES);
                if large || plug.waiting.len() >= limits.plug_requests {
                    plug.last = now;
                    merged.let_go(plug);
                }
                plug.waiting.push(new);
            }
            plug.last = now;
        }
        for plug in plugs.values_mut() {
            merged.let_go(plug);
        }
        // What is let go at the same moment keeps the order of its arrival.
        merged.requests.sort_by_key(|one| (one.release, merged.members[one.first as usize]));
        merged
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
