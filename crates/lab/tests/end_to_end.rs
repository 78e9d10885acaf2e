//! Whole runs under every scheme, with the oracle watching.

use std::ops::ControlFlow;

use crate::common::{closed, replay, request, tiny};
use proptest::prelude::*;
use ufsim_lab::{LabError, RunResult, Workload, fio_json, schemes, simulate, simulate_workload};
use units::SimTime;
use workload::{
    Flags, Footprint, GroupId, GroupInfo, Issued, Next, Progress, ReplayMode, Rng, Source, Ticket, WorkOp, WorkRequest,
};

/// Units of the tiny device.
const CAPACITY: u64 = 32_768;

fn any_request() -> impl Strategy<Value = WorkRequest> {
    let op = prop_oneof![
        6 => Just(WorkOp::Write), 4 => Just(WorkOp::Read), 1 => Just(WorkOp::Trim), 1 => Just(WorkOp::Flush),
    ];
    // Most requests meet in a few hundred units, so that they overlap in flight.
    let unit = prop_oneof![4 => 0u64..300, 1 => 0u64..CAPACITY - 80];
    let units = prop_oneof![3 => Just(1u64), 1 => 1u64..80];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    (op, unit, units, flags, 0u64..8, 0u64..8).prop_map(|(op, unit, units, (fua, preflush), head, tail)| {
        let mut r = request(op, unit, units);
        r.flags = Flags { fua, preflush, ..Flags::default() };
        if r.bytes > 4096 && tail == 0 {
            // Ragged ends.
            r.sector += head;
            r.bytes -= 512 * (head + 1).min(7);
        }
        r
    })
}

fn scheme_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(schemes().iter().map(|p| p.name).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_requests_never_return_wrong_data(
        scheme in scheme_name(),
        requests in prop::collection::vec(any_request(), 1..600),
        depth in 1u32..=32,
    ) {
        // Every partial write comes with reads of the units that it covers in part.
        let merge_reads: usize = requests.iter().map(|r| r.partly_written().into_iter().flatten().count()).sum();
        let count = (requests.len() + merge_reads) as u64;
        let result = closed(&tiny(scheme, 1), requests, depth).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!((result.submitted, result.completed), (count, count));
        prop_assert_eq!(result.latency_ns.all.unwrap().count, count);
    }
}

/// Random writes over most of the device, several times its capacity, with reads between them.
fn churn(seed: u64, count: usize) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(seed);
    let pick = |rng: &mut Rng| (if rng.below(4) == 0 { WorkOp::Read } else { WorkOp::Write }, rng.below(CAPACITY - 8));
    (0..count).map(|_| pick(&mut rng)).map(|(op, unit)| request(op, unit, 1 + unit % 3)).collect()
}

#[test]
fn garbage_collection_keeps_every_page_under_every_scheme() {
    for preset in schemes() {
        let result = closed(&tiny(preset.name, 3), churn(5, 40_000), 16).unwrap();
        assert_eq!(result.submitted, result.completed, "{}", preset.name);
        assert!(result.counters.device["gc_victims"] > 50, "{}: GC hardly ran", preset.name);
        assert!(result.waf.gc > 0.0 && result.waf.total >= 1.0, "{}: {:?}", preset.name, result.waf);
    }
}

/// A report without what depends on the wall clock.
fn timeless(mut result: RunResult) -> String {
    (result.wall_seconds, result.requests_per_wall_second, result.flash_ops_per_wall_second) = (0.0, 0.0, 0.0);
    serde_json::to_string(&result).unwrap()
}

#[test]
fn the_same_run_twice_gives_the_same_bytes() {
    for preset in schemes() {
        let run = |seed| closed(&tiny(preset.name, seed), churn(seed, 5_000), 8).unwrap();
        assert_eq!(timeless(run(1)), timeless(run(1)), "{}", preset.name);
        assert_ne!(run(1).digest, run(2).digest, "{}", preset.name);
    }
}

#[test]
fn a_timed_replay_keeps_the_recorded_times() {
    let mut requests: Vec<_> = (0..100).map(|n| request(WorkOp::Write, n, 1)).collect();
    for (n, r) in requests.iter_mut().enumerate() {
        r.arrival = SimTime(n as u64 * 10_000_000);
    }
    let result = replay(&tiny("ufs", 1), requests, ReplayMode::Timed).unwrap();
    assert!((0.990..1.0).contains(&result.sim_seconds), "{}", result.sim_seconds);
    let latency = result.latency_ns.write.unwrap();
    assert!(latency.max < 5_000_000, "requests 10 ms apart do not wait for each other: {latency:?}");
}

#[test]
fn a_preflush_is_part_of_the_writes_latency() {
    let run = |preflush| {
        let mut write = request(WorkOp::Write, 9, 1);
        write.flags.preflush = preflush;
        let result = closed(&tiny("ufs", 1), vec![request(WorkOp::Write, 0, 1), write], 1).unwrap();
        assert_eq!(result.submitted, 2);
        result.latency_ns.write.unwrap().max
    };
    // The flush has to program the first write; 550 us in this profile.
    assert!(run(true) > run(false) + 500_000, "{} and {}", run(true), run(false));
}

#[test]
fn preconditioning_is_simulated_but_not_measured() {
    let reads: Vec<_> = (0..500).map(|n| request(WorkOp::Read, n * 7 % 500, 1)).collect();
    let cold = closed(&tiny("ufs", 1), reads.clone(), 4).unwrap();
    assert_eq!((cold.unmeasured, cold.counters.device["unmapped_units_read"]), (0, 500));
    let mut spec = tiny("ufs", 1);
    spec.precondition = "footprint".into();
    let warm = closed(&spec, reads, 4).unwrap();
    assert_eq!((warm.submitted, warm.unmeasured), (500, 4), "500 units are four writes of up to 512 KiB");
    assert_eq!(warm.counters.device["unmapped_units_read"], 0);
    assert_eq!(warm.counters.device["host_units_written"], 0, "counters begin with the first measured request");
    assert!(warm.warmup_sim_seconds > 0.0 && warm.nand_time_ns["host_read"] > 0);
}

#[test]
fn a_report_in_fios_form_agrees_with_the_report() {
    let result = closed(&tiny("ideal", 1), churn(1, 2_000), 8).unwrap();
    let fio = fio_json(&result);
    let job = &fio["jobs"][0];
    let ios = |kind: &str| job[kind]["total_ios"].as_u64().unwrap();
    assert_eq!(ios("read") + ios("write"), result.submitted);
    assert_eq!(job["read"]["clat_ns"]["percentile"]["99.000000"], result.latency_ns.read.unwrap().p99);
    assert_eq!(job["write"]["io_bytes"], result.bytes["write"]);
    let text = serde_json::to_string(&result).unwrap();
    let back: RunResult = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
}

/// A source that breaks its contract in one of two ways.
struct Broken {
    repeats_tickets: bool,
    groups: Vec<GroupInfo>,
}

impl Source for Broken {
    fn next(&mut self, _now: SimTime) -> Next {
        let request = request(WorkOp::Read, 0, 1);
        match self.repeats_tickets {
            true => Next::Request(Issued { ticket: Ticket(0), group: GroupId(0), measured: true, request }),
            false => Next::Blocked,
        }
    }
    fn completed(&mut self, _ticket: Ticket, _now: SimTime) {}
    fn progress(&self) -> Progress {
        Progress::default()
    }
    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
    fn preconditioning_ranges(&self) -> Footprint {
        Footprint::default()
    }
}

#[test]
fn a_contradiction_becomes_an_error_that_says_how_to_repeat_it() {
    for (repeats_tickets, told) in
        [(true, "ticket 0 was issued while it was outstanding"), (false, "nothing is left to happen with 0 requests")]
    {
        let groups = vec![GroupInfo { name: "broken".into(), measured: true, options: Default::default() }];
        let workload = Workload::generated(Box::new(Broken { repeats_tickets, groups }));
        let error = simulate_workload(&tiny("ufs", 42), workload, &mut |_| ControlFlow::Continue(())).unwrap_err();
        let LabError::Bug(text) = &error else { panic!("{error:?}") };
        for part in [told, "event ", "seed 42", "ufsim run --scheme ufs --profile tiny --seed 42"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}

#[test]
fn the_caller_can_stop_a_run() {
    let spec = tiny("ideal", 1);
    let profile = spec.resolve().unwrap().profile;
    let text = "[w]\nrw=randwrite\nbs=4k\nsize=64m\nio_size=1g\niodepth=8\n";
    let jobs = workload::fio::JobFile::parse(text, "inline.fio").unwrap();
    let source = Box::new(jobs.bind(profile.capacity_units(), 1).unwrap());
    let mut calls = 0;
    let stopped = simulate_workload(&spec, Workload::generated(source), &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!((stopped, calls), (Err(LabError::Interrupted), 1));
}

#[test]
fn a_missing_workload_is_a_configuration_error() {
    for name in ["no/such/job.fio", "no/such/trace"] {
        let spec = ufsim_lab::Spec::new("ufs", name);
        let error = simulate(&spec, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(&error, LabError::Config(text) if text.contains(name)), "{error:?}");
    }
}
