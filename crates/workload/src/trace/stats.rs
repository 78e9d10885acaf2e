//! Numbers by which people know a trace.

use serde::Serialize;
use units::UNIT_BYTES;

use super::Trace;
use crate::{SECTOR_BYTES, WorkOp, WorkRequest};

const SECOND_NS: u64 = 1_000_000_000;

/// Numbers by which people know a trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceStats {
    /// Share of writes among reads and writes: "write ratio" of MAP+, Table III.
    pub write_ratio: f64,
    /// Mean length of reads and writes together, in bytes: "average request size" of Table III.
    pub mean_bytes: f64,
    /// Share of reads and writes that begin with the sector behind the last one of the read or write before them, in
    /// order of arrival, whichever of the two kinds each is. Table III of MAP+ prints a "sequential ratio" without a
    /// definition; this is the plainest one.
    pub sequential_ratio: f64,
    /// Lengths of reads.
    pub read_lengths: Lengths,
    /// Lengths of writes.
    pub write_lengths: Lengths,
    /// Bytes of the 4 KiB units touched by any request.
    pub footprint_bytes: u64,
    /// Bytes of the units read, those that are read before partial writes among them.
    pub read_footprint_bytes: u64,
    /// Bytes of the units written.
    pub write_footprint_bytes: u64,
    /// The smallest device that holds the trace: bytes from the start of the first device's range to the end of the
    /// last touched unit.
    pub span_bytes: u64,
    /// Requests per second from the first to the last.
    pub requests_per_second: f64,
    /// Most requests in one second of the trace, over the mean: 1 is an even load.
    pub peak_to_mean: f64,
    /// Standard deviation over mean of the times between requests: 0 for a clock, 1 for Poisson arrivals, more for
    /// bursts.
    pub interarrival_variation: f64,
    /// Requests with a latency of the traced device.
    pub with_latency: u64,
    /// Mean of these latencies in nanoseconds.
    pub mean_latency_ns: Option<f64>,
}

/// Lengths of requests of one kind, in bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Lengths {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90 % are at most this long.
    pub p90: u64,
    /// 99 % are at most this long.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl Lengths {
    fn of(requests: &[WorkRequest], op: WorkOp) -> Lengths {
        let mut bytes: Vec<u64> = requests.iter().filter(|r| r.op == op).map(|r| r.bytes).collect();
        bytes.sort_unstable();
        let Some(&max) = bytes.last() else { return Lengths::default() };
        // The smallest length that at least this share of the requests does not exceed.
        let at = |percent: usize| bytes[(bytes.len() * percent).div_ceil(100) - 1];
        let mean = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
        Lengths { mean, p50: at(50), p90: at(90), p99: at(99), max }
    }
}

impl TraceStats {
    pub(super) fn of(trace: &Trace) -> TraceStats {
        let requests = &trace.requests;
        let report = &trace.report;
        let data = report.reads + report.writes;
        let per = |amount: f64, of: f64| if of > 0.0 { amount / of } else { 0.0 };
        let written = requests.iter().filter(|r| r.op == WorkOp::Write).map(WorkRequest::units);
        let seconds = report.duration.as_secs_f64();
        let gaps = requests.len().saturating_sub(1) as f64;
        let (with_latency, mean_latency_ns) = traced_latency(requests);
        TraceStats {
            write_ratio: per(report.writes as f64, data as f64),
            mean_bytes: per((report.read_bytes + report.write_bytes) as f64, data as f64),
            sequential_ratio: per(sequential(requests) as f64, data as f64),
            read_lengths: Lengths::of(requests, WorkOp::Read),
            write_lengths: Lengths::of(requests, WorkOp::Write),
            footprint_bytes: trace.touched_footprint().units() * UNIT_BYTES,
            read_footprint_bytes: trace.read_footprint().units() * UNIT_BYTES,
            write_footprint_bytes: crate::Footprint::from_ranges(written).units() * UNIT_BYTES,
            span_bytes: trace.end_units() * UNIT_BYTES,
            requests_per_second: per(gaps, seconds),
            peak_to_mean: peak_to_mean(requests),
            interarrival_variation: variation(requests),
            with_latency,
            mean_latency_ns,
        }
    }
}

/// Reads and writes that begin where the one before them ended.
fn sequential(requests: &[WorkRequest]) -> u64 {
    let mut end = None;
    let mut count = 0;
    for r in requests.iter().filter(|r| matches!(r.op, WorkOp::Read | WorkOp::Write)) {
        count += u64::from(end == Some(r.sector));
        end = Some(r.sector + r.bytes.div_ceil(SECTOR_BYTES));
    }
    count
}

/// Seconds are counted from the first request; the last one counts with the part of it that the trace has.
fn peak_to_mean(requests: &[WorkRequest]) -> f64 {
    let second = |r: &WorkRequest| r.arrival.0 / SECOND_NS;
    let peak = requests.chunk_by(|a, b| second(a) == second(b)).map(<[_]>::len).max().unwrap_or(0) as f64;
    let seconds = requests.last().map_or(1.0, |r| r.arrival.0 as f64 / SECOND_NS as f64).max(1.0);
    if requests.is_empty() { 0.0 } else { peak * seconds / requests.len() as f64 }
}

fn variation(requests: &[WorkRequest]) -> f64 {
    let gaps = || requests.windows(2).map(|w| (w[1].arrival - w[0].arrival).0 as f64);
    let count = requests.len().saturating_sub(1) as f64;
    let mean = gaps().sum::<f64>() / count;
    let variance = gaps().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / count;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// Requests with a latency of the traced device, and its mean in nanoseconds.
fn traced_latency(requests: &[WorkRequest]) -> (u64, Option<f64>) {
    let latencies = || requests.iter().filter_map(|r| r.phone_latency);
    let count = latencies().count() as u64;
    let mean = || latencies().map(|l| l.0 as f64).sum::<f64>() / count as f64;
    (count, (count > 0).then(mean))
}
