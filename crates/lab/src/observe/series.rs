//! A time series of a run at a chosen step: a row for each interval, from the first measured request to the end.
//!
//! What is counted in an interval, it counts exactly: rows add up to what the run reports. What is a size, such as the
//! host's cache, is that at the end of the interval. However long the run, rows are handed over a few at a time.

use std::fmt;
use std::ops::ControlFlow;

use ftl::DeviceStats;
use hdrhistogram::Histogram;
use units::{Nanos, SimTime};
use workload::report::columns::{Column, Declared, columns};
use workload::{ReadOutcome, WorkOp, column};

use crate::error::LabError;
use crate::options::duration::time;
use crate::report::measure::{KINDS, latency_histogram};
use crate::report::requests::Slot;
use crate::stack::Stack;

/// Rows that are handed over at a time.
const PIECE: usize = 4096;

/// Takes over rows of a series. It may stop the run.
pub type RowSink = Box<dyn FnMut(Vec<Column>) -> ControlFlow<()> + Send>;

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
pub(crate) struct Row {
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
pub(super) struct Series {
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

impl Series {
    /// An empty series.
    pub fn new(to: SeriesTo) -> Series {
        Series {
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

    /// The device is about to lose its power; its counters begin again at 0.
    pub fn cut(&mut self, stack: &Stack) {
        self.count(&stack.device.stats());
        self.before = DeviceStats::default();
    }

    /// Adds what the device has counted since the last call.
    fn count(&mut self, stats: &DeviceStats) {
        let since = |of: fn(&DeviceStats) -> u64| of(stats) - of(&self.before);
        let programmed = [
            since(|stats| stats.data_units_programmed + stats.padding_units),
            since(|stats| stats.map_units_programmed),
            since(|stats| stats.gc_units_programmed),
        ];
        self.row.written += since(|stats| stats.host_units_written);
        self.row.programmed.iter_mut().zip(programmed).for_each(|(sum, more)| *sum += more);
        self.before = *stats;
    }

    /// Ends the interval at `end`.
    fn close(&mut self, stack: &Stack, end: SimTime) {
        let began = self.began.unwrap_or(self.from);
        let levels = stack.device.levels();
        self.count(&stack.device.stats());
        (self.row.at_ns, self.row.length_ns) = (self.from.since(began).0, end.since(self.from).0);
        self.row.free_superblocks = levels.free_superblocks;
        self.row.log_entries = levels.log;
        self.row.sram_buffers = levels.sram.iter().sum();
        self.row.host_cache_bytes = stack.driver.memory_bytes();
        self.row.latencies = std::array::from_fn(|place| latencies(&mut self.histograms[place]));
        self.from = end;
        self.rows.push(std::mem::take(&mut self.row));
        if self.rows.len() == PIECE {
            self.hand_over();
        }
    }

    #[inline(never)]
    fn hand_over(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() && !self.stopped {
            self.stopped = (self.to.sink)(columns(SERIES, rows.into_iter())).is_break();
        }
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

const ALL: &str = "latency of all requests that completed in it; missing where none did";
const READS: &str = "latency of reads that completed in it; missing where none did";
const WRITES: &str = "latency of writes that completed in it; missing where none did";
const MAPPED: &str = "reads by where their mapping came from: sent by the host, in SRAM, or read from flash (a miss)";
const SHARE: &str = "share of these reads (0 to 1); missing where none completed";

/// The columns of a series.
pub(crate) const SERIES: &[Declared<Row>] = &[
    column!("at_ns": u64, "ns", "start of an interval, from the first measured request on", |row| row.at_ns),
    column!("interval_ns": u64, "ns", "its length: the step, and less for the last one", |row| row.length_ns),
    column!("requests": u64, "requests", "measured, that completed in it", |row| row.all()),
    column!("reads": u64, "requests", "of these, reads", |row| row.of(WorkOp::Read)),
    column!("writes": u64, "requests", "of these, writes", |row| row.of(WorkOp::Write)),
    column!("flushes": u64, "requests", "of these, flushes", |row| row.of(WorkOp::Flush)),
    column!("trims": u64, "requests", "of these, trims", |row| row.of(WorkOp::Trim)),
    column!("read_bytes": u64, "B", "bytes that the reads asked for", |row| row.bytes[WorkOp::Read as usize]),
    column!("write_bytes": u64, "B", "bytes that the writes asked for", |row| row.bytes[WorkOp::Write as usize]),
    column!("iops": f64, "1/s", "requests per second", |row| row.per_second(row.all())),
    column!("mib_per_s": f64, "MiB/s", "bytes read and written per second", |row| {
        row.per_second(row.bytes[WorkOp::Read as usize] + row.bytes[WorkOp::Write as usize]) / units::MIB as f64
    }),
    column!("mean_ns": f64, "ns", ALL, |row| row.latencies[0][0]),
    column!("p50_ns": f64, "ns", ALL, |row| row.latencies[0][1]),
    column!("p99_ns": f64, "ns", ALL, |row| row.latencies[0][2]),
    column!("p999_ns": f64, "ns", ALL, |row| row.latencies[0][3]),
    column!("max_ns": f64, "ns", ALL, |row| row.latencies[0][4]),
    column!("read_mean_ns": f64, "ns", READS, |row| row.latencies[1][0]),
    column!("read_p50_ns": f64, "ns", READS, |row| row.latencies[1][1]),
    column!("read_p99_ns": f64, "ns", READS, |row| row.latencies[1][2]),
    column!("read_p999_ns": f64, "ns", READS, |row| row.latencies[1][3]),
    column!("read_max_ns": f64, "ns", READS, |row| row.latencies[1][4]),
    column!("write_mean_ns": f64, "ns", WRITES, |row| row.latencies[2][0]),
    column!("write_p50_ns": f64, "ns", WRITES, |row| row.latencies[2][1]),
    column!("write_p99_ns": f64, "ns", WRITES, |row| row.latencies[2][2]),
    column!("write_p999_ns": f64, "ns", WRITES, |row| row.latencies[2][3]),
    column!("write_max_ns": f64, "ns", WRITES, |row| row.latencies[2][4]),
    column!("queue_depth": f64, "requests", "under way, as a mean over time", |row| {
        share(row.queued as f64, row.length_ns as f64)
    }),
    column!("queue_depth_max": u64, "requests", "under way at most", |row| row.most_queued.into()),
    column!("host_hits": u64, "requests", MAPPED, |row| row.outcomes[ReadOutcome::Host as usize]),
    column!("sram_hits": u64, "requests", MAPPED, |row| row.outcomes[ReadOutcome::Sram as usize]),
    column!("map_misses": u64, "requests", MAPPED, |row| row.outcomes[ReadOutcome::Map as usize]),
    column!("host_hit_ratio": f64, "", SHARE, |row| row.mapped(ReadOutcome::Host)),
    column!("sram_hit_ratio": f64, "", SHARE, |row| row.mapped(ReadOutcome::Sram)),
    column!("host_units_written": u64, "4 KiB", "units that the device has taken from the host", |row| row.written),
    column!("data_units_programmed": u64, "4 KiB", "units programmed: data of the host with padding", |row| {
        row.programmed[0]
    }),
    column!("map_units_programmed": u64, "4 KiB", "units programmed: mapping table and other metadata", |row| {
        row.programmed[1]
    }),
    column!("gc_units_programmed": u64, "4 KiB", "units programmed: copies of GC", |row| row.programmed[2]),
    column!("waf": f64, "", "units programmed per unit that the host wrote; missing where it wrote none", |row| {
        share(row.programmed.iter().sum::<u64>() as f64, row.written as f64)
    }),
    column!("free_superblocks": u64, "superblocks", "of data, at the end of the interval", |row| {
        row.free_superblocks.into()
    }),
    column!("log_entries": u64, "entries", "in the device's L2P log, at the end", |row| row.log_entries.into()),
    column!(
        "sram_buffers": u64,
        "buffers",
        "of the device's SRAM in use, cached segments not counted, at the end",
        |row| row.sram_buffers.into()
    ),
    column!("host_cache_bytes": u64, "B", "memory of the host that the scheme takes, at the end", |row| {
        row.host_cache_bytes
    }),
];

impl Row {
    fn of(&self, kind: WorkOp) -> u64 {
        self.requests[kind as usize]
    }

    fn all(&self) -> u64 {
        self.requests.iter().sum()
    }

    fn per_second(&self, count: u64) -> f64 {
        share(count as f64 * 1e9, self.length_ns as f64)
    }

    fn mapped(&self, outcome: ReadOutcome) -> f64 {
        share(self.outcomes[outcome as usize] as f64, self.outcomes.iter().sum::<u64>() as f64)
    }
}

/// A quotient; NaN, which stands for a missing value, if there is nothing to divide by.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::NAN }
}
