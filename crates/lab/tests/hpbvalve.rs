//! What a mapping costs in profile `hpbvalve`, by where it comes from, against the profile's own times.

#[allow(dead_code, reason = "other tests use the rest")]
use std::sync::Arc;

use crate::common::request;
use ufsim_lab::{LogRow, Logging, Machine, Observe, Spec, assemble};
use workload::{ReadOutcome, Replay, ReplayMode, Rng, Trace, WorkOp, WorkRequest};

/// A GiB: twice as many entries as SRAM holds, and 512 subregions.
const UNITS: u64 = 1 << 18;

/// Writes all units, then reads single ones at random, one after the other.
fn reads(scheme: &str, count: u32) -> Vec<LogRow> {
    let mut rng = Rng::from_seed(5);
    let reads = (0..count).map(|_| request(WorkOp::Read, rng.below(UNITS), 1));
    run(&spec(scheme), reads.collect())
}

/// A smaller part of the profile's device.
fn spec(scheme: &str) -> Spec {
    let mut spec = Spec::new(scheme, "generated");
    (spec.profile, spec.precondition) = ("hpbvalve".into(), "none".into());
    spec.set.insert("device.capacity_mib".into(), 8192.into());
    if scheme == "hpb-linux" {
        // By itself it fetches a subregion every 200 ms.
        for (key, value) in [("timeout_polling_interval_ms", 1), ("inflight_map_req", 32)] {
            spec.set.insert(format!("scheme.hpb-linux.{key}"), value.into());
        }
    }
    spec
}

/// Writes all units, then reads these.
fn run(spec: &Spec, reads: Vec<WorkRequest>) -> Vec<LogRow> {
    let writes = (0..UNITS).step_by(128).map(|unit| request(WorkOp::Write, unit, 128));
    let flush = [request(WorkOp::Flush, 0, 0)];
    let requests: Vec<WorkRequest> = writes.chain(flush).chain(reads).collect();
    let Machine { parts, profile } = spec.resolve().expect("a preset on an embedded profile");
    let mut system = assemble(&profile, parts, 1).expect("the profile's own settings");
    system.observe(Observe::logging(Logging::First(requests.len())));
    let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
    let mode = ReplayMode::Closed { depth: 1, per_file: false };
    let mut source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("it fits");
    system.run(&mut source, &mut |_, _| std::ops::ControlFlow::Continue(())).expect("nothing fails");
    let log = system.take_log(&[]).expect("a log is kept");
    log.rows().filter(|record| record.request.op == WorkOp::Read).collect()
}

/// The latency that most reads with this source have, in nanoseconds.
fn median(reads: &[LogRow], outcome: ReadOutcome) -> f64 {
    let chosen = reads.iter().filter(|read| read.outcome == Some(outcome));
    let mut latencies: Vec<u64> = chosen.map(|read| read.latency().0).collect();
    assert!(latencies.len() > 500, "{} reads with {outcome:?}", latencies.len());
    latencies.sort_unstable();
    latencies[latencies.len() / 2] as f64
}

/// One flash read of 50 us, and 4 KiB over a channel of 1335 MiB/s; nothing else waits.
const MAP_READ_NS: f64 = 50_000.0 + 4096.0 * 1e9 / (1335.0 * 1_048_576.0);

#[test]
fn a_miss_costs_a_read_of_the_map() {
    let reads = reads("ufs", 8_000);
    let more = median(&reads, ReadOutcome::Map) - median(&reads, ReadOutcome::Sram);
    assert!((more - MAP_READ_NS).abs() < 100.0, "a miss costs {more} ns more, not {MAP_READ_NS}");
    // Nothing has been cached by reads before, and only 1.5% of the reads are of a unit that was read already. What the
    // log holds needs no entry: up to 1408 entries of 32 units, 17% of all.
    let missed = reads.iter().filter(|read| read.outcome == Some(ReadOutcome::Map)).count();
    assert!((6_500..8_000).contains(&missed), "{missed} of 8000");
}

#[test]
fn single_entries_are_cached_not_what_stands_beside_them() {
    let mut spec = spec("ufs");
    let shares = ["entries", "segments"].map(|cached| {
        spec.set.insert("scheme.segment-log.cached".into(), cached.into());
        // 100 places, 4 units from each other within 2 MiB; each is read twice, and then its neighbour.
        let places = (0..100).map(|i| i * 2000);
        let round = |offset: u64| places.clone().map(move |unit| request(WorkOp::Read, unit + offset, 1));
        let reads = run(&spec, round(0).chain(round(0)).chain(round(4)).collect());
        let missed = |reads: &[LogRow]| reads.iter().filter(|r| r.outcome == Some(ReadOutcome::Map)).count();
        [missed(&reads[..100]), missed(&reads[100..200]), missed(&reads[200..])]
    });
    let [entries, segments] = shares;
    assert!(entries[0] > 70 && entries[1] == 0 && entries[2].abs_diff(entries[0]) < 10, "{entries:?}");
    assert!(segments[0] > 60 && segments[1] == 0 && segments[2] == 0, "{segments:?}");
}

#[test]
fn an_entry_from_the_host_costs_the_check_of_its_seal() {
    for scheme in ["hpb-linux", "foam", "hpbvalve"] {
        let reads = reads(scheme, 12_000);
        let late = &reads[8_000..];
        let more = median(late, ReadOutcome::Host) - median(&reads, ReadOutcome::Sram);
        assert!((more - 50.0).abs() < 10.0, "{scheme}: a seal costs {more} ns");
        // 512 subregions with 8 reads each: by 8000 reads nearly all have been fetched.
        let from_host = late.iter().filter(|read| read.outcome == Some(ReadOutcome::Host)).count();
        assert!(from_host > 3_600, "{scheme}: {from_host} of {}", late.len());
    }
}
