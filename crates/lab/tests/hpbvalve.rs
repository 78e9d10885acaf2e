//! What a mapping costs in profile `hpbvalve`, by where it comes from, against the profile's own times.

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use std::sync::Arc;

use common::request;
use ufsim_lab::{ReadRecord, Spec, assemble};
use workload::{ReadOutcome, Replay, ReplayMode, Rng, Trace, WorkOp, WorkRequest};

/// A GiB: 256 segments, twice what SRAM holds, and 512 subregions.
const UNITS: u64 = 1 << 18;

/// Writes all units, then reads single ones at random, one after the other.
fn reads(scheme: &str, count: u32) -> Vec<ReadRecord> {
    let mut rng = Rng::from_seed(5);
    let writes = (0..UNITS).step_by(128).map(|unit| request(WorkOp::Write, unit, 128));
    let flush = [request(WorkOp::Flush, 0, 0)];
    let reads = (0..count).map(|_| request(WorkOp::Read, rng.below(UNITS), 1));
    let requests: Vec<WorkRequest> = writes.chain(flush).chain(reads).collect();

    let mut spec = Spec::new(scheme, "generated");
    (spec.profile, spec.precondition) = ("hpbvalve".into(), "none".into());
    // A smaller part of the same device.
    spec.set.insert("device.capacity_mib".into(), 8192.into());
    let (parts, profile) = spec.resolve().expect("a preset on an embedded profile");
    let mut system = assemble(&profile, parts, 1).expect("the profile's own settings");
    system.log_reads();
    let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
    let mode = ReplayMode::Closed { depth: 1, per_file: false };
    let mut source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("it fits");
    system.run(&mut source, &mut |_, _| std::ops::ControlFlow::Continue(())).expect("nothing fails");
    system.take_reads()
}

/// The latency that most reads with this source have, in nanoseconds.
fn median(reads: &[ReadRecord], outcome: ReadOutcome) -> f64 {
    let chosen = reads.iter().filter(|read| read.outcome == Some(outcome));
    let mut latencies: Vec<u64> = chosen.map(|read| read.completed.since(read.issued).0).collect();
    assert!(latencies.len() > 500, "{} reads with {outcome:?}", latencies.len());
    latencies.sort_unstable();
    latencies[latencies.len() / 2] as f64
}

/// One flash read of 60 us, and 4 KiB over a channel of 1144 MiB/s; nothing else waits.
const MAP_READ_NS: f64 = 60_000.0 + 4096.0 * 1e9 / (1144.0 * 1_048_576.0);

#[test]
fn a_miss_costs_a_read_of_the_map() {
    let reads = reads("ufs", 4_000);
    let more = median(&reads, ReadOutcome::Map) - median(&reads, ReadOutcome::Sram);
    assert!((more - MAP_READ_NS).abs() < 100.0, "a miss costs {more} ns more, not {MAP_READ_NS}");
    // Half of the segments fit. Those that the log holds need none: 0 to 1408 entries of 32 units, 17% of all, so that 33 to
    // 50% of the reads miss.
    let missed = reads.iter().filter(|read| read.outcome == Some(ReadOutcome::Map)).count();
    assert!((1_250..2_100).contains(&missed), "{missed} of 4000");
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
