//! The HP-UFS authors' phone traces against numbers counted independently of this reader. They are not part of this
//! repository: a user fetches them from github.com/s3yonsei/hpufs_public, `script/application/usage`, and puts them
//! into `shared/traces/pixel4-hpufs` beside the repository. Without them the tests are skipped, and fail on CI.

use std::env::VarError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ufsim_workload::{Next, Replay, ReplayMode, Source, Trace, TraceOptions};
use units::SimTime;

/// Units of the prototype's 128 GiB.
const CAPACITY_UNITS: u32 = 32 << 20;

struct Expected {
    app: &'static str,
    requests: u64,
    writes: u64,
    read_mib: f64,
    write_mib: f64,
    seconds: u64,
    fua: u64,
}

#[rustfmt::skip]
const EXPECTED: [Expected; 5] = [
    Expected { app: "twitter", requests: 13183, writes: 11612,
        read_mib: 13.92578125, write_mib: 80.9140625, seconds: 300, fua: 435 },
    Expected { app: "chrome", requests: 32801, writes: 28257,
        read_mib: 37.203125, write_mib: 252.90234375, seconds: 342, fua: 162 },
    Expected { app: "facebook", requests: 11720, writes: 11607,
        read_mib: 0.8203125, write_mib: 175.44921875, seconds: 300, fua: 109 },
    Expected { app: "camera-picture", requests: 8939, writes: 8683,
        read_mib: 1.5078125, write_mib: 83.890625, seconds: 161, fua: 99 },
    Expected { app: "genshinimpact", requests: 17374, writes: 871,
        read_mib: 163.57421875, write_mib: 10.390625, seconds: 300, fua: 27 },
];

fn traces() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/pixel4-hpufs");
    if path.is_dir() {
        return Some(path);
    }
    assert!(!on_ci(), "on CI the traces have to be there: {}", path.display());
    eprintln!("SKIPPED: no phone traces at {}; nothing was checked", path.display());
    None
}

/// `CI` is set, to whatever. A skip there would stay unseen.
#[expect(clippy::disallowed_methods, reason = "decides whether a test may skip, not what a run gives")]
fn on_ci() -> bool {
    std::env::var("CI") != Err(VarError::NotPresent)
}

#[test]
fn the_phone_traces_have_the_known_numbers() {
    let Some(traces) = traces() else { return };
    for e in EXPECTED {
        let trace = Trace::read(&traces.join(e.app), &TraceOptions::default()).unwrap();
        let r = &trace.report;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        assert_eq!((r.requests, r.writes, r.reads), (e.requests, e.writes, e.requests - e.writes), "{}", e.app);
        assert_eq!((mib(r.read_bytes), mib(r.write_bytes)), (e.read_mib, e.write_mib), "{}", e.app);
        assert_eq!((r.duration.0 / 1_000_000_000, r.fua), (e.seconds, e.fua), "{}", e.app);
        assert_eq!((r.sequence_gaps, r.unmatched_requests, r.unmatched_completions), (0, 0, 0), "{}", e.app);
        assert_eq!((r.trims, r.flushes, r.unaligned, r.files), (0, 0, 0, 8), "{}", e.app);
        assert_eq!(trace.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["253:5"]);
        assert!(trace.requests.iter().all(|q| q.phone_latency.is_some()), "{}", e.app);
        let unnamed = trace.requests.iter().filter(|q| trace.processes[usize::from(q.process.0)].starts_with("pid "));
        assert!(unnamed.count() as u64 * 10 < e.requests, "{}", e.app);
        trace.check_capacity(13_107_200).unwrap();
    }
}

#[test]
fn a_phone_trace_replays_in_every_mode() {
    let Some(traces) = traces() else { return };
    let trace = Arc::new(Trace::read(&traces.join("twitter"), &TraceOptions::default()).unwrap());
    let closed = |per_file| ReplayMode::Closed { depth: 8, per_file };
    let modes = [
        (ReplayMode::Timed, None),
        (ReplayMode::Queued { depth: 8 }, Some(8)),
        (closed(false), Some(8)),
        (closed(true), Some(64)),
    ];
    for (mode, deepest) in modes {
        let mut replay = Replay::new(Arc::clone(&trace), mode, CAPACITY_UNITS).unwrap();
        let mut now = SimTime(1_000);
        let mut outstanding = Vec::new();
        let (mut issued, mut most) = (0, 0);
        loop {
            match replay.next(now) {
                Next::Request(i) => {
                    issued += 1;
                    outstanding.push(i.ticket);
                    most = most.max(outstanding.len());
                }
                Next::Wait(time) => {
                    assert!(time > now);
                    now = time;
                }
                Next::Blocked => outstanding.drain(..).for_each(|t| replay.completed(t, now)),
                Next::Driver(_) => unreachable!("only a phone talks to the driver"),
                Next::Done => break,
            }
        }
        outstanding.drain(..).for_each(|t| replay.completed(t, now));
        assert_eq!(issued, trace.requests.len(), "{mode:?}");
        assert_eq!(Some(replay.progress().done), replay.progress().total, "{mode:?}");
        match deepest {
            Some(depth) => assert_eq!(most, depth, "{mode:?}"),
            None => assert_eq!(now, SimTime(1_000 + trace.duration().0)),
        }
    }
}
