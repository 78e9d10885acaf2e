//! The log of requests, against the counters of driver and device.

#[allow(dead_code, reason = "other tests use the rest")]
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{request, tiny};
use ufsim_lab::{LogPart, LogRow, Logging, Machine, Observe, STAGES, Snapshot, Stage, assemble, schemes};
use units::Nanos;
use workload::{Flags, ReadOutcome, Replay, ReplayMode, Rng, Trace, WorkOp, WorkRequest};

/// Writes all units, then reads single ones at random.
fn requests(count: u32) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(3);
    let writes = (0..32_768).step_by(64).map(|unit| request(WorkOp::Write, unit, 64));
    let reads = (0..count).map(|_| request(WorkOp::Read, rng.below(32_768), 1));
    writes.chain(reads).collect()
}

fn run(scheme: &str, requests: Vec<WorkRequest>, wanted: Option<Logging>) -> (LogPart, Snapshot) {
    let Machine { parts, profile } = tiny(scheme, 1).resolve().expect("a preset on an embedded profile");
    let mut system = assemble(&profile, parts, 1).expect("the profile's own settings");
    system.observe(Observe { log: wanted, ..Observe::default() });
    let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
    let mode = ReplayMode::Closed { depth: 4, per_file: false };
    let mut source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("it fits");
    system.run(&mut source, &mut |_, _| ControlFlow::Continue(())).expect("nothing fails");
    system.end_observation(&[]);
    (system.take_log(&[]).unwrap_or_default(), system.outcome().1)
}

/// Room for more requests than any test has.
const ALL: Option<Logging> = Some(Logging::First(100_000));

fn reads(log: &LogPart) -> Vec<LogRow> {
    log.rows().filter(|record| record.request.op == WorkOp::Read).collect()
}

fn count(reads: &[LogRow], outcome: ReadOutcome) -> u64 {
    reads.iter().filter(|read| read.outcome == Some(outcome)).count() as u64
}

#[test]
fn sources_add_up_to_what_driver_and_device_count() {
    for scheme in ["ufs", "hpb", "hpb-linux", "foam", "hpbvalve", "hp-ufs", "ideal", "dftl"] {
        let (log, after) = run(scheme, requests(4_000), ALL);
        let reads = reads(&log);
        assert_eq!(reads.len(), 4_000, "{scheme}");
        let (host, device) = (after.host, after.device);
        let cmt_read_misses = after.device_counter("cmt_read_misses");
        let (from_host, from_flash) = match scheme {
            "ufs" => (0, device.segment_misses),
            "hpb" | "hpb-linux" | "foam" | "hpbvalve" => {
                (after.host_counter("hpb_reads") - device.host_entries_refused, device.segment_misses)
            }
            "hp-ufs" => (host.booster_hits, host.booster_misses),
            "dftl" => (0, cmt_read_misses),
            _ => (0, 0),
        };
        assert_eq!(count(&reads, ReadOutcome::Host), from_host, "{scheme}");
        assert_eq!(count(&reads, ReadOutcome::Map), from_flash, "{scheme}");
        assert_eq!(count(&reads, ReadOutcome::Sram), 4_000 - from_host - from_flash, "{scheme}");
        assert!(reads.iter().all(|read| read.latency() > Nanos::ZERO && read.len == 1));
        assert!(reads.is_sorted_by_key(|read| read.completed));
    }
}

#[test]
fn a_read_of_many_units_counts_as_its_worst() {
    let mut requests = requests(0);
    requests.push(request(WorkOp::Flush, 0, 0));
    requests.extend((0..300).map(|i| request(WorkOp::Read, 1000 + 50 * i, 100)));
    let reads = reads(&run("ufs", requests, ALL).0);
    // 100 units from there reach into the next segment whenever fewer than 100 are left in the first.
    let flash = count(&reads, ReadOutcome::Map);
    assert!((1..300).contains(&flash), "{flash} of 300");
    assert!(reads[0].outcome.is_some() && reads.len() == 300);
}

#[test]
fn no_log_is_kept_unless_it_is_wanted() {
    let (none, plain) = run("hpb", requests(500), None);
    let (logged, watched) = run("hpb", requests(500), ALL);
    assert_eq!((none.len(), logged.len()), (0, 512 + 500));
    assert_eq!(plain.host, watched.host, "looking changes nothing");
}

#[test]
fn a_full_log_counts_what_it_leaves_out() {
    let (all, _) = run("ufs", requests(500), ALL);
    let (some, _) = run("ufs", requests(500), Some(Logging::First(600)));
    assert_eq!((some.len(), some.left_out), (600, 412));
    assert!(some.rows().eq(all.rows().take(600)));
}

#[test]
fn a_record_has_what_the_trace_says_of_the_request() {
    let mut given = requests(1);
    given[3].flags = Flags { fua: true, ..Flags::default() };
    given[3].phone_latency = Some(Nanos(777));
    let (log, _) = run("ufs", given.clone(), ALL);
    let fua: Vec<_> = log.rows().filter(|record| record.request.flags.fua).collect();
    assert_eq!(fua.len(), 1);
    let (record, request) = (fua[0], given[3]);
    assert_eq!((record.request.sector, record.request.bytes), (request.sector, request.bytes));
    assert_eq!((record.request.phone_latency, record.outcome), (Some(Nanos(777)), None));
    assert_eq!((u64::from(record.lpa.0) * 8, u64::from(record.len) * 4096), (request.sector, request.bytes));
    assert!(record.dispatched.is_some_and(|at| at >= record.request.arrival && at < record.completed));
}

/// Requests of every kind, many of which overlap.
fn mixed(count: u32) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(5);
    let one = |i: u32| match (i % 61, rng.below(3)) {
        (60, _) => request(WorkOp::Flush, 0, 0),
        (30, _) => request(WorkOp::Trim, rng.below(32_000), 64),
        (_, 0) => request(WorkOp::Write, rng.below(32_000), 1 + rng.below(300)),
        _ => request(WorkOp::Read, rng.below(32_000), 1 + rng.below(300)),
    };
    (0..count).map(one).collect()
}

#[test]
fn stages_add_up_to_the_latency_of_every_request() {
    for preset in schemes() {
        let (log, _) = run(preset.name, [requests(0), mixed(1_000)].concat(), ALL);
        let mut together = [0; STAGES];
        for record in log.rows() {
            let sum: u64 = record.stages.iter().map(|stage| stage.0).sum();
            assert_eq!(sum, record.latency().0, "{}: {record:?}", preset.name);
            record.stages.iter().zip(&mut together).for_each(|(stage, sum)| *sum += stage.0);
        }
        for stage in [Stage::LinkDown, Stage::FlashRead, Stage::Program, Stage::Firmware, Stage::LinkUp] {
            assert!(together[stage as usize] > 0, "{}: {stage:?}", preset.name);
        }
        assert_eq!(log.len(), 512 + 1_000, "{}", preset.name);
    }
}

#[test]
fn a_log_in_parts_has_the_same_rows() {
    let (all, _) = run("hp-ufs", requests(500), ALL);
    for (length, parts) in [(100, 11), (512, 2), (600, 2), (5_000, 1)] {
        let (sender, found) = std::sync::mpsc::channel();
        let sink = move |part: LogPart| {
            sender.send(part).expect("the test waits for it");
            ControlFlow::Continue(())
        };
        let (rest, _) = run("hp-ufs", requests(500), Some(Logging::Parts(length, Box::new(sink))));
        let found: Vec<LogPart> = found.iter().collect();
        assert_eq!((found.len(), rest.len()), (parts, 0), "{length}");
        assert!(found[..parts - 1].iter().all(|part| part.len() == length));
        assert!(found.iter().flat_map(LogPart::rows).eq(all.rows()), "{length}");
    }
}
