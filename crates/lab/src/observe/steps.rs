//! A time series of a run at a chosen step: a row for each interval, from the first measured request to the end.
//!
//! What is counted in an interval, it counts exactly: rows add up to what the run reports. What is a size, such as the
//! host's cache, is that at the end of the interval. However long the run, rows are handed over a few at a time.

use std::fmt;
use std::ops::ControlFlow;

use ftl::DeviceStats;
use hdrhistogram::Histogram;
use units::{Nanos, SimTime};
use workload::report::columns::{Column, column};
use workload::{ReadOutcome, WorkOp};

use crate::duration::time;
use crate::error::LabError;
use crate::measure::{KINDS, latency_histogram};
use crate::requests::Slot;
use crate::stack::Stack;

/// Rows that are handed over at a time.
const PIECE: usize = 4096;

/// Takes over rows of a series. It may stop the run.
pub type RowSink = Box<dyn FnMut(&[Column]) -> ControlFlow<()> + Send>;

/// What is wanted of a series, and where it goes.
pub struct SeriesTo {
    /// Length of an interval.
    pub step: Nanos,
    /// Takes the rows.
    pub sink: RowSink,
}

impl SeriesTo {
    /// A series with a step such as `10ms`.
    ///
    /// # Errors
    /// See [`parse_step`].
    pub fn new(step: &str, sink: RowSink) -> Result<SeriesTo, LabError> {
        Ok(SeriesTo { step: parse_step(step)?, sink })
    }
}

/// Reads the step of a series.
///
/// # Errors
/// Names the option and what is allowed.
pub fn parse_step(text: &str) -> Result<Nanos, LabError> {
    let allowed = "must be a time such as 500us, 10ms, 1s or 2min";
    time(text.trim()).ok_or_else(|| LabError::Config(format!("step = \"{text}\": {allowed}")))
}

impl fmt::Debug for SeriesTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeriesTo({})", self.step.0)
    }
}

/// Latencies of an interval in nanoseconds: mean, median, 99th and 99.9th percentile, largest. NaN if there are none.
type Latencies = [f64; 5];

/// An interval.
#[derive(Clone, Default, Debug)]
struct Row {
    at_ns: u64,
    length_ns: u64,
    requests: [u64; KINDS],
    bytes: [u64; KINDS],
    /// Of all requests, of reads, of writes.
    latencies: [Latencies; 3],
    /// Requests under way, summed over the interval's nanoseconds.
    queued: u128,
    most_queued: u32,
    /// Reads by where their mapping came from.
    outcomes: [u64; 3],
    /// Units that the host wrote, and units programmed: data with padding, mapping, copies of GC.
    written: u64,
    programmed: [u64; 3],
    free_superblocks: u32,
    log_entries: u32,
    sram_buffers: u16,
    host_cache_bytes: u64,
}

/// A series that is being made.
pub(super) struct Steps {
    to: SeriesTo,
    /// When the first interval began; `None` until the first measured request.
    began: Option<SimTime>,
    /// The beginning of this interval.
    from: SimTime,
    /// Up to where requests under way have been added.
    until: SimTime,
    row: Row,
    /// Of all requests, of reads, of writes.
    histograms: [Histogram<u64>; 3],
    before: DeviceStats,
    rows: Vec<Row>,
    stopped: bool,
}

impl Steps {
    /// An empty series.
    pub fn new(to: SeriesTo) -> Steps {
        Steps {
            to,
            began: None,
            from: SimTime::START,
            until: SimTime::START,
            row: Row::default(),
            histograms: std::array::from_fn(|_| latency_histogram()),
            before: DeviceStats::default(),
            rows: Vec::new(),
            stopped: false,
        }
    }

    /// True if whoever takes the rows wants no more.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The first interval begins now.
    pub fn begin(&mut self, now: SimTime, stats: &DeviceStats) {
        (self.began, self.from, self.until) = (Some(now), now, now);
        self.before = *stats;
    }

    /// A request completes now.
    pub fn completed(&mut self, slot: &Slot, now: SimTime) {
        if !slot.measured || self.began.is_none() {
            return;
        }
        let kind = slot.kind as usize;
        self.row.requests[kind] += 1;
        self.row.bytes[kind] += slot.bytes;
        if let Some(outcome) = slot.outcome.filter(|_| slot.kind == WorkOp::Read) {
            self.row.outcomes[outcome as usize] += 1;
        }
        let own = match slot.kind {
            WorkOp::Read => Some(1),
            WorkOp::Write => Some(2),
            WorkOp::Flush | WorkOp::Trim => None,
        };
        for place in std::iter::once(0).chain(own) {
            self.histograms[place].record(now.since(slot.arrival).0).expect("histograms resize");
        }
    }

    /// Nothing happens until `next`, with so many requests under way; what happens then may belong to a later interval.
    pub fn look(&mut self, stack: &Stack, outstanding: u32, next: SimTime) {
        if self.began.is_none() {
            return;
        }
        while next >= self.from + self.to.step {
            let border = self.from + self.to.step;
            self.wait(outstanding, border);
            self.close(stack, border);
        }
        self.wait(outstanding, next);
    }

    fn wait(&mut self, outstanding: u32, until: SimTime) {
        let time = until.since(self.until).0;
        if time > 0 {
            self.row.queued += u128::from(outstanding) * u128::from(time);
            self.row.most_queued = self.row.most_queued.max(outstanding);
            self.until = until;
        }
    }

    /// The run has ended; so has the last interval. Hands over what is left.
    pub fn end(&mut self, stack: &Stack) {
        if self.began.is_none() {
            return;
        }
        // A completion at the very border is in an interval without length.
        if stack.now() > self.from || self.row.requests.iter().any(|&count| count > 0) {
            self.close(stack, stack.now());
        }
        self.hand_over();
        self.began = None;
    }

    /// Ends the interval at `end`.
    fn close(&mut self, stack: &Stack, end: SimTime) {
        let began = self.began.unwrap_or(self.from);
        let (stats, levels) = (stack.device.stats(), stack.device.levels());
        let since = |of: fn(&DeviceStats) -> u64| of(&stats) - of(&self.before);
        self.row.written = since(|stats| stats.host_units_written);
        self.row.programmed = [
            since(|stats| stats.data_units_programmed + stats.padding_units),
            since(|stats| stats.map_units_programmed),
            since(|stats| stats.gc_units_programmed),
        ];
        (self.row.at_ns, self.row.length_ns) = (self.from.since(began).0, end.since(self.from).0);
        self.row.free_superblocks = levels.free_superblocks;
        self.row.log_entries = levels.log;
        self.row.sram_buffers = levels.sram.iter().sum();
        self.row.host_cache_bytes = stack.driver.memory_bytes();
        self.row.latencies = std::array::from_fn(|place| latencies(&mut self.histograms[place]));
        self.before = stats;
        self.from = end;
        self.rows.push(std::mem::take(&mut self.row));
        if self.rows.len() == PIECE {
            self.hand_over();
        }
    }

    #[inline(never)]
    fn hand_over(&mut self) {
        if !self.rows.is_empty() && !self.stopped {
            self.stopped = (self.to.sink)(&columns(&self.rows)).is_break();
        }
        self.rows.clear();
    }
}

/// What a histogram tells; it is empty then.
fn latencies(histogram: &mut Histogram<u64>) -> Latencies {
    if histogram.is_empty() {
        return [f64::NAN; 5];
    }
    let at = |share| histogram.value_at_quantile(share) as f64;
    let told = [histogram.mean(), at(0.5), at(0.99), at(0.999), histogram.max() as f64];
    histogram.reset();
    told
}

/// Names of the columns of latencies: of all requests, of reads, of writes.
const LATENCIES: [[&str; 5]; 3] = [
    ["mean_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns"],
    ["read_mean_ns", "read_p50_ns", "read_p99_ns", "read_p999_ns", "read_max_ns"],
    ["write_mean_ns", "write_p50_ns", "write_p99_ns", "write_p999_ns", "write_max_ns"],
];

/// Rows as columns.
fn columns(rows: &[Row]) -> Vec<Column> {
    let of = || rows.iter();
    let per_second = |row: &Row, count: u64| share(count as f64 * 1e9, row.length_ns as f64);
    let kind = |kind: WorkOp| move |row: &Row| row.requests[kind as usize];
    let bytes = |row: &Row| row.bytes[WorkOp::Read as usize] + row.bytes[WorkOp::Write as usize];
    let mapped = |row: &Row, outcome: ReadOutcome| {
        share(row.outcomes[outcome as usize] as f64, row.outcomes.iter().sum::<u64>() as f64)
    };
    let mut columns = vec![
        column("at_ns", of().map(|row| row.at_ns)),
        column("interval_ns", of().map(|row| row.length_ns)),
        column("requests", of().map(|row| row.requests.iter().sum::<u64>())),
        column("reads", of().map(kind(WorkOp::Read))),
        column("writes", of().map(kind(WorkOp::Write))),
        column("flushes", of().map(kind(WorkOp::Flush))),
        column("trims", of().map(kind(WorkOp::Trim))),
        column("read_bytes", of().map(|row| row.bytes[WorkOp::Read as usize])),
        column("write_bytes", of().map(|row| row.bytes[WorkOp::Write as usize])),
        column("iops", of().map(|row| per_second(row, row.requests.iter().sum()))),
        column("mib_per_s", of().map(|row| per_second(row, bytes(row)) / units::MIB as f64)),
    ];
    for (place, names) in LATENCIES.into_iter().enumerate() {
        let of_names = names.into_iter().enumerate();
        columns.extend(of_names.map(|(i, name)| column(name, of().map(move |row| row.latencies[place][i]))));
    }
    columns.extend([
        column("queue_depth", of().map(|row| share(row.queued as f64, row.length_ns as f64))),
        column("queue_depth_max", of().map(|row| u64::from(row.most_queued))),
        column("host_hits", of().map(|row| row.outcomes[ReadOutcome::Host as usize])),
        column("sram_hits", of().map(|row| row.outcomes[ReadOutcome::Sram as usize])),
        column("map_misses", of().map(|row| row.outcomes[ReadOutcome::Map as usize])),
        column("host_hit_ratio", of().map(|row| mapped(row, ReadOutcome::Host))),
        column("sram_hit_ratio", of().map(|row| mapped(row, ReadOutcome::Sram))),
        column("host_units_written", of().map(|row| row.written)),
        column("data_units_programmed", of().map(|row| row.programmed[0])),
        column("map_units_programmed", of().map(|row| row.programmed[1])),
        column("gc_units_programmed", of().map(|row| row.programmed[2])),
        column("waf", of().map(|row| share(row.programmed.iter().sum::<u64>() as f64, row.written as f64))),
        column("free_superblocks", of().map(|row| u64::from(row.free_superblocks))),
        column("log_entries", of().map(|row| u64::from(row.log_entries))),
        column("sram_buffers", of().map(|row| u64::from(row.sram_buffers))),
        column("host_cache_bytes", of().map(|row| row.host_cache_bytes)),
    ]);
    columns
}

/// A quotient; NaN, which stands for a missing value, if there is nothing to divide by.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::NAN }
}
