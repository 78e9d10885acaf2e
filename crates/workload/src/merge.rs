//! The block layer's merging of neighbouring requests, before the scheduler.
//!
//! A task of Linux that submits several requests does so under a *plug* (`blk_start_plug`): its requests wait in a list
//! of their own, and one whose range begins or ends where that of a waiting one ends or begins is merged into it. Then
//! all go to the scheduler together. Here, of the requests of a trace:
//!
//! - A plug belongs to a task: requests of one process in one file of the trace (a task that moves to another CPU has
//!   been scheduled, and that ends its plug).
//! - It ends with the last request before a pause of more than [`MergeLimits::plug_gap`]: a task that waits for an
//!   answer sleeps, which ends its plug. A trace does not tell when tasks sleep; the gap stands for it. After requests
//!   that somebody waits for, SYNC writes and reads that are not read ahead, it can be a shorter one.
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

params::params! {
    /// Merging of neighbouring requests of a trace before the scheduler, as the block layer of Linux does it.
    pub MergeParams {
        /// The largest request that merging makes (max_sectors).
        max_kib: count(4 to 65536) = 1024, "Linux drivers/ufs/core/ufshcd.c: max_sectors of 1 MiB";
        /// Pages of memory that a merged request may have (max_segments).
        max_segments: count(1 to 65535) = 128, "Linux drivers/ufs/core/ufshcd.c: sg_tablesize, SG_ALL";
        /// Requests of a task that wait in its plug to be merged.
        plug_requests: count(1 to 1024) = 32, "Linux block/blk.h: BLK_MAX_REQUEST_COUNT; 16 before 5.16";
        /// A longer pause between two requests of a task ends its plug.
        plug_gap_us: count(0 to 1000000) = 50,
            "assumed: a task that waits for an answer sleeps, which ends its plug, and nine of ten answers of a Pixel \
            4 take 60 us or more";
        /// The same after a request that somebody waits for: a SYNC write, or a read that is not read ahead.
        plug_sync_gap_us: count_or("as-others" 0 to 1000000) = "as-others", "as after others unless a profile has it";
    }
}

impl MergeParams {
    /// The limits that they stand for.
    pub fn limits(&self) -> MergeLimits {
        MergeLimits {
            bytes: u64::from(self.max_kib) * 1024,
            segments: self.max_segments.into(),
            plug_requests: self.plug_requests as usize,
            plug_gap: Nanos::from_micros(self.plug_gap_us.into()),
            plug_sync_gap: Nanos::from_micros(self.plug_sync_gap_us.count().unwrap_or(self.plug_gap_us).into()),
        }
    }
}

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
    /// The same where somebody waits for the first of the two.
    pub plug_sync_gap: Nanos,
}

impl MergeLimits {
    /// The pause after a request that ends the plug of its task.
    fn gap_after(&self, r: &WorkRequest) -> Nanos {
        let waited_for = !r.flags.readahead && (r.flags.sync || r.op == WorkOp::Read);
        if waited_for { self.plug_sync_gap } else { self.plug_gap }
    }
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

/// Requests in a plug that are one.
#[derive(Clone, Debug)]
struct Waiting<T> {
    members: Vec<T>,
    op: WorkOp,
    sector: u64,
    end: u64,
    bytes: u64,
    segments: u64,
}

impl<T> Waiting<T> {
    fn of(item: T, r: &WorkRequest) -> Waiting<T> {
        let segments = r.bytes.div_ceil(UNIT_BYTES);
        Waiting { members: vec![item], op: r.op, sector: r.sector, end: end_of(r), bytes: r.bytes, segments }
    }

    /// Whether a request is a neighbour, and the limits allow it to be merged.
    fn fits(&self, other: &Waiting<T>, limits: &MergeLimits) -> bool {
        let fits = self.bytes + other.bytes <= limits.bytes && self.segments + other.segments <= limits.segments;
        let (behind, before) = (self.end == other.sector, other.end == self.sector);
        self.op == other.op && fits && (behind || before)
    }

    /// Merges a request into this one.
    fn take(&mut self, other: Waiting<T>) {
        self.members.extend(other.members);
        (self.sector, self.end) = (self.sector.min(other.sector), self.end.max(other.end));
        (self.bytes, self.segments) = (self.bytes + other.bytes, self.segments + other.segments);
    }

    fn overlaps(&self, other: &Waiting<T>) -> bool {
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

/// The task that a request belongs to: its process, in one file of a trace.
pub(crate) type Task = (ProcessId, StreamId);

/// The task that a request belongs to.
pub(crate) fn task_of(r: &WorkRequest) -> Task {
    (r.process, r.stream)
}

/// The requests of a task that wait to go on together. What goes on is handed to a function: the requests that are
/// one, the oldest first, and when they go.
#[derive(Clone, Debug)]
pub(crate) struct Plug<T> {
    waiting: Vec<Waiting<T>>,
    /// When the last request came.
    last: SimTime,
    /// The pause after it that ends the plug.
    gap: Nanos,
}

impl<T> Default for Plug<T> {
    fn default() -> Self {
        Plug { waiting: Vec::new(), last: SimTime::START, gap: Nanos::ZERO }
    }
}

impl<T> Plug<T> {
    /// Ends the plug with its last request.
    pub fn let_go(&mut self, go: &mut impl FnMut(Vec<T>, SimTime)) {
        let release = self.last;
        self.waiting.drain(..).for_each(|request| go(request.members, release));
    }

    /// The task submits a request.
    pub fn add(&mut self, item: T, r: &WorkRequest, limits: &MergeLimits, go: &mut impl FnMut(Vec<T>, SimTime)) {
        let now = r.arrival;
        if now.since(self.last) > self.gap {
            self.let_go(go);
        }
        self.gap = limits.gap_after(r);
        if !can_be_merged(r) {
            self.let_go(go);
            go(vec![item], now);
            return;
        }
        let new = Waiting::of(item, r);
        if self.waiting.iter().any(|waiting| waiting.overlaps(&new)) {
            self.let_go(go);
        }
        match self.waiting.iter().rposition(|waiting| waiting.fits(&new, limits)) {
            Some(place) => self.waiting[place].take(new),
            None => {
                let large = self.waiting.last().is_some_and(|waiting| waiting.bytes >= LARGE_BYTES);
                if large || self.waiting.len() >= limits.plug_requests {
                    self.last = now;
                    self.let_go(go);
                }
                self.waiting.push(new);
            }
        }
        self.last = now;
    }
}

impl Merged {
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
        let mut plugs: BTreeMap<Task, Plug<u32>> = BTreeMap::new();
        let mut go = |members: Vec<u32>, release| merged.add(&members, release);
        for (number, r) in (0..).zip(&self.requests) {
            plugs.entry(task_of(r)).or_default().add(number, r, limits, &mut go);
        }
        for plug in plugs.values_mut() {
            plug.let_go(&mut go);
        }
        // What is let go at the same moment keeps the order of its arrival.
        merged.requests.sort_by_key(|one| (one.release, merged.members[one.first as usize]));
        merged
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
