//! The samples of one session, recorded in different ways, say the same; and so do those of VMware.
//!
//! The recordings of Perfetto were written with the Python package `perfetto`, so that numbers of fields are not only
//! those that this project believes in.

use std::path::{Path, PathBuf};

use ufsim_workload::{Format, Session, Trace, TraceOptions, WorkOp};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples").join(name)
}

fn read(name: &str) -> Trace {
    Trace::read(&sample(name), &TraceOptions::default()).unwrap()
}

/// Time, operation, place, length, latency and process of a request.
type Row<'a> = (u64, WorkOp, u64, u64, Option<u64>, &'a str);

fn requests(trace: &Trace) -> Vec<Row<'_>> {
    let process = |r: &ufsim_workload::WorkRequest| trace.processes[usize::from(r.process.0)].as_str();
    let of = |r: &ufsim_workload::WorkRequest| {
        (r.arrival.0, r.op, r.sector, r.bytes, r.phone_latency.map(|latency| latency.0), process(r))
    };
    trace.requests.iter().map(of).collect()
}

#[test]
fn perfetto_records_what_ftrace_prints() {
    let (text, binary) = (read("phone/session.txt"), read("phone/session.pftrace"));
    assert_eq!((text.format, binary.format), (Format::Ftrace, Format::Perfetto));
    assert_eq!((text.requests.len(), text.devices[0].name.as_str()), (548, "259:5"));
    assert_eq!(requests(&binary), requests(&text));
    assert_eq!(binary.report.unmatched_requests, 0);
    let device = |trace: &Trace| (trace.devices.len(), trace.devices[0].name.clone());
    assert_eq!(device(&binary), device(&text));
}

#[test]
fn a_session_is_the_same_in_all_recordings() {
    let session = |name: &str| Session::read(&sample(name), &TraceOptions::default()).unwrap();
    let text = session("phone/session.txt");
    assert!(text.launches.len() > 3 && !text.kills.is_empty());
    for name in ["phone/session.pftrace", "formats/session-ufs.pftrace", "formats/session-ufs.txt.xz"] {
        let other = session(name);
        assert_eq!((&other.launches, &other.kills), (&text.launches, &text.kills), "{name}");
        assert_eq!(requests(&other.trace), requests(&text.trace), "{name}");
    }
}

#[test]
fn ufs_commands_are_the_requests_of_the_block_layer() {
    let block = read("phone/session.txt");
    let without_process = |trace: &Trace| {
        requests(trace)
            .into_iter()
            .map(|(at, op, sector, bytes, latency, _)| (at, op, sector, bytes, latency))
            .collect()
    };
    let expected: Vec<_> = without_process(&block);
    for name in ["formats/session-ufs.txt.xz", "formats/session-ufs.pftrace"] {
        let commands = read(name);
        assert_eq!(without_process(&commands), expected, "{name}");
        assert_eq!(commands.devices[0].name, "13200000.ufs");
        assert!(commands.report.hints.is_empty(), "addresses are blocks of 4 KiB");
        assert!(commands.processes.iter().any(|name| name == ".example.mailer"), "{:?}", commands.processes);
    }
}

#[test]
fn both_versions_of_vscsi_have_the_requests_of_msr() {
    let msr = read("formats/app-mix.msr.xz");
    let [one, two] = ["formats/app-mix.vscsi1.xz", "formats/app-mix.vscsi2.xz"].map(read);
    let us = |ns: u64| ns / 1000;
    let of = |trace: &Trace, latency: bool| -> Vec<_> {
        let item = |r: &ufsim_workload::WorkRequest| {
            (us(r.arrival.0), r.op, r.sector, r.bytes, r.phone_latency.filter(|_| latency).map(|l| us(l.0)))
        };
        trace.requests.iter().map(item).collect()
    };
    assert_eq!((one.format, two.format, two.requests.len()), (Format::Vscsi, Format::Vscsi, 1500));
    // Both times of a request are cut to microseconds, so differences may be one less.
    for (expected, found) in of(&msr, true).iter().zip(of(&two, true)) {
        assert!(expected.0.abs_diff(found.0) <= 1, "{expected:?} {found:?}");
        assert_eq!((expected.1, expected.2, expected.3, expected.4), (found.1, found.2, found.3, found.4));
    }
    assert_eq!(of(&one, false), of(&two, false));
    assert!(one.requests.iter().all(|r| r.phone_latency.is_none()), "version 1 has no response times");
}
