//! Checks that every trace must pass, whatever its format and origin.

use std::sync::Arc;

use workload::{Format, Replay, ReplayMode, SECTOR_BYTES, Trace, TraceError, TraceFile, TraceOptions};

use super::drain::{LATEST, drain};

/// Limits the time of one input, because a small compressed input may have many requests.
const MOST_REQUESTS: usize = 1000;

/// Parses files. If they have several devices, takes the first that the error names.
pub(super) fn parse(files: Vec<TraceFile>, options: &TraceOptions) -> Option<Trace> {
    match Trace::parse("trace", files.clone(), options) {
        Err(TraceError::SeveralDevices { devices, .. }) => {
            let device = devices.split(", ").next().map(str::to_owned);
            Trace::parse("trace", files, &TraceOptions { device, ..options.clone() }).ok()
        }
        Ok(trace) => Some(trace),
        Err(error) => {
            assert!(!error.to_string().trim().is_empty());
            None
        }
    }
}

/// Checks a trace, replays it and writes it in every format.
pub(super) fn check_and_replay(trace: Trace, shape: u8) {
    check(&trace);
    if trace.requests.len() <= MOST_REQUESTS {
        write(&trace);
        replay(Arc::new(trace), shape);
    }
}

fn check(trace: &Trace) {
    let (requests, report) = (&trace.requests, &trace.report);
    assert!(!requests.is_empty());
    assert_eq!(requests[0].arrival.0, 0);
    assert!(requests.is_sorted_by_key(|r| r.arrival));
    assert!(trace.duration().0 <= LATEST.0, "{}", trace.duration().0);
    assert_eq!(report.requests, requests.len() as u64);
    assert_eq!(report.reads + report.writes + report.flushes + report.trims, report.requests);
    assert_eq!(trace.devices.iter().map(|d| d.requests).sum::<u64>(), report.requests);
    let removed: u64 = report.cleaned.iter().filter(|c| c.rule.name() == "duplicates").map(|c| c.count).sum();
    let accounted = report.requests + report.ignored_queue_events + report.other_device_events + removed;
    assert_eq!(report.queue_events, accounted);
    let latencies = requests.iter().filter(|r| r.phone_latency.is_some()).count() as u64;
    assert!(report.complete_events == 0 || report.unmatched_requests + latencies == report.requests);
    for request in requests {
        assert!(usize::from(request.process.0) < trace.processes.len(), "{request:?}");
        assert!(usize::from(request.stream.0) < trace.files.len(), "{request:?}");
    }
    let stats = trace.stats();
    for ratio in [stats.write_ratio, stats.sequential_ratio] {
        assert!((0.0..=1.0).contains(&ratio), "{stats:?}");
    }
    let numbers = [stats.mean_bytes, stats.requests_per_second, stats.peak_to_mean, stats.interarrival_variation];
    assert!(numbers.iter().all(|n| n.is_finite() && *n >= 0.0), "{stats:?}");
    assert!(report.warnings().iter().all(|warning| !warning.is_empty()));
}

/// Checks that a written trace can be read; with the format that stores everything, it is the same.
fn write(trace: &Trace) {
    for format in Format::ALL.iter().copied().filter(|format| format.can_be_written()) {
        let bytes = match trace.to_bytes(format) {
            Ok(bytes) => bytes,
            Err(error) => {
                assert!(matches!(error, TraceError::NoRequests { .. }), "{error}");
                continue;
            }
        };
        let file = TraceFile::new("written", bytes);
        let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
        let again = Trace::parse("written", vec![file], &options).unwrap_or_else(|error| panic!("{error}"));
        if format == Format::Csv {
            let what = |t: &Trace| t.requests.iter().map(|r| (r.arrival, r.op, r.bytes, r.flags)).collect::<Vec<_>>();
            assert_eq!(what(&again), what(trace));
        }
    }
}

fn replay(trace: Arc<Trace>, shape: u8) {
    let mode = match shape & 3 {
        0 => ReplayMode::Timed,
        1 => ReplayMode::Closed { depth: 1, per_file: false },
        2 => ReplayMode::Closed { depth: 3, per_file: true },
        _ if shape & 8 != 0 => ReplayMode::Queued { depth: 2 },
        _ => ReplayMode::Closed { depth: 65536, per_file: shape & 4 != 0 },
    };
    let reach = |r: &workload::WorkRequest| r.sector * SECTOR_BYTES + r.bytes;
    let bytes = trace.requests.iter().map(reach).max().unwrap_or(0);
    let capacity = u32::try_from(bytes.div_ceil(units::UNIT_BYTES)).expect("requests end below 2^32 units");
    if capacity > 0 {
        let error = Replay::new(trace.clone(), mode, capacity - 1).expect_err("one unit too few");
        assert!(matches!(error, TraceError::BeyondDevice { .. }), "{error}");
    }
    let mut source = Replay::new(trace.clone(), mode, capacity).expect("room for every request");
    let drained = drain(&mut source, capacity, u64::MAX);
    assert!(drained.done);
    assert_eq!(drained.requests, trace.report.requests + trace.report.merge_reads);
}
