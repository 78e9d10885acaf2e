//! Input: a byte with the number of files and the mode of the replay, the lengths of all files but the last (16 bits
//! each), and the files, plain or gzip.

use std::sync::Arc;

use workload::blktrace::{BlktraceOptions, TraceFile, parse};
use workload::{Replay, ReplayMode, SECTOR_BYTES, Trace, TraceError};

use super::drain::{LATEST, drain};
use super::input::Input;

/// Bounds the time of one input: gzip makes a thousand bytes of one.
const MOST_REQUESTS: usize = 1000;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let shape = input.u8();
    let files = files(&mut input, usize::from(shape & 3));
    let names: Vec<String> = files.iter().map(|f| f.name.clone()).collect();
    let trace = match parse("trace", files.clone(), &BlktraceOptions::default()) {
        // The answer to that is to choose one.
        Err(TraceError::SeveralDevices { .. }) => parse_first_device(files),
        result => result.ok(),
    };
    let Some(trace) = trace else { return };
    check(&trace, &names);
    if trace.requests.len() <= MOST_REQUESTS {
        replay(Arc::new(trace), shape);
    }
}

fn files(input: &mut Input<'_>, more: usize) -> Vec<TraceFile> {
    let lengths: Vec<u16> = (0..more).map(|_| input.u16()).collect();
    let mut contents: Vec<&[u8]> = lengths.iter().map(|&length| input.take(usize::from(length))).collect();
    contents.push(input.rest());
    let file = |(cpu, bytes): (usize, &[u8])| TraceFile { name: format!("trace.{cpu}"), bytes: bytes.to_vec() };
    contents.into_iter().enumerate().map(file).collect()
}

/// The error names the devices there are; one of them must do.
fn parse_first_device(files: Vec<TraceFile>) -> Option<Trace> {
    let wanted = BlktraceOptions { device: Some(workload::DeviceId { major: u32::MAX, minor: 0 }) };
    let error = parse("trace", files.clone(), &wanted).expect_err("no device has such a number");
    let TraceError::UnknownDevice { devices, .. } = error else { panic!("{error}") };
    let first = devices.split(", ").next().and_then(|d| d.split_once(':')).expect("devices as major:minor");
    let number = |text: &str| text.parse().expect("a decimal number");
    let device = Some(workload::DeviceId { major: number(first.0), minor: number(first.1) });
    parse("trace", files, &BlktraceOptions { device }).ok()
}

fn check(trace: &Trace, names: &[String]) {
    let (requests, report) = (&trace.requests, &trace.report);
    assert!(!requests.is_empty());
    assert_eq!(trace.files, names);
    assert_eq!(requests[0].arrival.0, 0);
    assert!(requests.is_sorted_by_key(|r| r.arrival));
    assert!(trace.duration().0 <= LATEST.0, "{}", trace.duration().0);
    assert_eq!(report.requests, requests.len() as u64);
    assert_eq!(report.reads + report.writes + report.flushes + report.trims, report.requests);
    assert_eq!(report.queue_events, report.requests + report.ignored_queue_events);
    let latencies = requests.iter().filter(|r| r.phone_latency.is_some()).count() as u64;
    assert_eq!(report.unmatched_requests + latencies, report.requests);
    for request in requests {
        assert!(usize::from(request.process.0) < trace.processes.len(), "{request:?}");
        assert!(usize::from(request.stream.0) < trace.files.len(), "{request:?}");
    }
}

fn replay(trace: Arc<Trace>, shape: u8) {
    let mode = match shape >> 2 & 3 {
        0 => ReplayMode::Timed,
        1 => ReplayMode::Closed { depth: 1, per_file: false },
        2 => ReplayMode::Closed { depth: 3, per_file: true },
        _ => ReplayMode::Closed { depth: 65536, per_file: shape & 16 != 0 },
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
    assert_eq!(drained.requests, trace.requests.len() as u64);
}
