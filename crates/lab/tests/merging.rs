//! Neighbouring requests merged before the scheduler, on whole systems with the oracle watching; and what results tell
//! of waiting, and of the memory of schedulers.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{LIMITS, closed, request, tiny};
use host::SchedulerKind;
use proptest::prelude::*;
use ufsim_lab::{RunResult, Spec, Workload, schemes, simulate, simulate_workload};
use units::SimTime;
use workload::{Flags, MergeLimits, ProcessId, Replay, ReplayMode, Trace, WorkOp, WorkRequest};

/// Units of the tiny device.
const CAPACITY: u64 = 32_768;

fn merging(spec: &Spec, requests: Vec<WorkRequest>, mode: ReplayMode, limits: &MergeLimits) -> RunResult {
    let profile = spec.resolve().expect("a good spec").profile;
    let trace = Trace { name: "generated".into(), requests, ..Trace::default() };
    let source = Replay::new(Arc::new(trace), mode, profile.capacity_units()).expect("it fits").merging(limits);
    simulate_workload(spec, Workload::generated(Box::new(source)), &mut |_| ControlFlow::Continue(()))
        .expect("a run without errors")
}

/// A request some microseconds after the one before it, often its neighbour.
fn any_step() -> impl Strategy<Value = (WorkRequest, u64, bool)> {
    let op = prop_oneof![6 => Just(WorkOp::Write), 4 => Just(WorkOp::Read), 1 => Just(WorkOp::Trim)];
    let flags = (prop::bool::weighted(0.05), prop::bool::weighted(0.05));
    (op, 0..CAPACITY - 80, 1u64..9, flags, 0u64..80, 0u16..3, prop::bool::weighted(0.7)).prop_map(
        |(op, unit, units, (fua, preflush), gap, process, neighbour)| {
            let flags = Flags { fua, preflush, ..Flags::default() };
            (WorkRequest { flags, process: ProcessId(process), ..request(op, unit, units) }, gap, neighbour)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merged_requests_never_return_wrong_data(
        scheme in prop::sample::select(schemes().iter().map(|p| p.name).collect::<Vec<_>>()),
        scheduler in prop::sample::select(SchedulerKind::ALL),
        steps in prop::collection::vec(any_step(), 1..500),
        depth in 1u32..40,
        timed in any::<bool>(),
    ) {
        let (mut now, mut end) = (0, 0);
        let requests: Vec<_> = steps
            .iter()
            .map(|&(r, gap, neighbour)| {
                now += gap * 1000;
                let units = r.bytes / 4096;
                let sector = if neighbour && end / 8 + units < CAPACITY { end } else { r.sector };
                end = sector + r.bytes / 512;
                WorkRequest { arrival: SimTime(now), sector, ..r }
            })
            .collect();
        let count = requests.len() as u64;
        let mode = match timed {
            true => ReplayMode::Queued { depth },
            false => ReplayMode::Closed { depth, per_file: false },
        };
        let mut spec = tiny(scheme, 1);
        spec.scheduler = Some(scheduler.name().into());
        let result = merging(&spec, requests, mode, &LIMITS);
        prop_assert_eq!((result.submitted, result.completed), (count, count));
        prop_assert_eq!(result.latency_ns.all.unwrap().count, count);
        prop_assert!(result.merged < count);
    }
}

/// Writes of a page each, side by side, ten microseconds apart.
fn neighbours(count: u64) -> Vec<WorkRequest> {
    let write = |n: u64| WorkRequest { arrival: SimTime(n * 10_000), ..request(WorkOp::Write, 40 + n, 1) };
    (0..count).map(write).collect()
}

#[test]
fn what_is_merged_is_one_command_and_each_part_has_its_own_latency() {
    let spec = tiny("ufs", 1);
    let one = merging(&spec, neighbours(5), ReplayMode::Timed, &LIMITS);
    assert_eq!((one.merged, one.counters.host["user_commands"], one.completed), (4, 1, 5));
    let latency = one.latency_ns.write.unwrap();
    // All end at the same moment; the first has waited 40 us longer than the last. Histograms have three digits.
    assert!((latency.max - latency.min).abs_diff(40_000) < 200, "{latency:?}");
    let waiting = one.waiting_ns.write.unwrap();
    assert!((waiting - 20_000.0).abs() < 1.0, "0 to 40 us in the plug: {waiting}");
    assert_eq!(one.bytes["write"], 5 * 4096);

    let narrow = MergeLimits { segments: 2, ..LIMITS };
    let some = merging(&spec, neighbours(5), ReplayMode::Timed, &narrow);
    assert_eq!((some.merged, some.counters.host["user_commands"]), (2, 3));
}

#[test]
fn a_merged_read_that_fails_fails_for_all_of_its_parts() {
    let mut spec = tiny("ufs", 1);
    spec.verify = false;
    spec.set.insert("faults.read_per_million".into(), 100_000.into());
    let mut requests = vec![request(WorkOp::Write, 0, 80)];
    requests.extend((0..2000).map(|n| WorkRequest {
        arrival: SimTime(50_000_000 + n * 60_000 / 4),
        process: ProcessId(((n / 4) % 2) as u16),
        ..request(WorkOp::Read, (n % 4) + 4 * ((n / 4) % 20), 1)
    }));
    let result = merging(&spec, requests, ReplayMode::Timed, &LIMITS);
    assert_eq!((result.submitted, result.completed), (2001, 2001));
    assert!(result.merged > 1000 && result.failed > 100, "{} merged, {} failed", result.merged, result.failed);
}

#[test]
fn what_was_recorded_above_is_merged_unless_somebody_says_otherwise() {
    let directory = std::env::temp_dir().join(format!("ufsim-merging-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let trace = |place: &str| {
        let path = directory.join(format!("{place}.csv"));
        let line = |n: u64| format!("{},write,sd,{},4096,,,app\n", n * 1000, 8 * n);
        let told = if place == "unknown" { String::new() } else { format!("# recorded: {place}\n") };
        let header = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n";
        std::fs::write(&path, format!("{header}{told}{}", (0..6).map(line).collect::<String>())).unwrap();
        path.display().to_string()
    };
    for (place, merge, expected) in [
        ("above", None, 5),
        ("above", Some("auto"), 5),
        ("above", Some("off"), 0),
        ("below", None, 0),
        ("below", Some("on"), 5),
        ("unknown", None, 0),
    ] {
        let spec = Spec { workload: trace(place), merge: merge.map(Into::into), ..tiny("ufs", 1) };
        let result = simulate(&spec, &mut |_| ControlFlow::Continue(())).expect("a run without errors");
        assert_eq!((result.merged, result.setup.merge), (expected, expected > 0), "{place} {merge:?}");
    }
    let few = Spec { workload: trace("above"), ..tiny("ufs", 1) };
    let few = Spec { set: [("merge.max_kib".to_owned(), 8.into())].into(), ..few };
    assert_eq!(simulate(&few, &mut |_| ControlFlow::Continue(())).expect("a run without errors").merged, 3);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// With one command at a time the second of two requests waits for as long as the first one takes (MAP+ eq. 8).
#[test]
fn waiting_ends_with_the_first_command() {
    let mut spec = Spec { profile: "emmc-map-plus".into(), ..tiny("dftl", 1) };
    spec.precondition = "touched".into();
    let result = closed(&spec, vec![request(WorkOp::Read, 1, 1), request(WorkOp::Read, 9, 1)], 2).unwrap();
    let (latency, waiting) = (result.latency_ns.read.unwrap(), result.waiting_ns.read.unwrap());
    let access = result.access_ns.all.unwrap();
    assert!((2.0 * waiting - latency.min as f64).abs() < 100.0, "{waiting} of {latency:?}");
    assert!((waiting + access - latency.mean).abs() < 1.0, "{waiting} + {access} of {latency:?}");
    assert_eq!((result.waiting_ns.write, result.access_ns.trim), (None, None));
}

#[test]
fn the_hosts_picture_of_the_cache_has_its_size_and_takes_memory() {
    let run = |also: &[(&str, serde_json::Value)]| {
        let mut spec = Spec { profile: "emmc-map-plus".into(), scheduler: Some("hp".into()), ..tiny("dftl", 1) };
        spec.set.extend(also.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let requests = (0..3000).map(|n| request(WorkOp::Write, n * 3, 1)).collect();
        closed(&spec, requests, 16).expect("a run without errors")
    };
    let lru = ("scheme.hp.cache_knowledge", "lru".into());
    let dram = |result: &RunResult| result.host_dram.scheduler;
    let (full, small) = (run(&[]), run(std::slice::from_ref(&lru)));
    let large = run(&[lru.clone(), ("scheme.dftl.cache_kib", 128.into())]);
    let chosen = run(&[lru.clone(), ("scheme.hp.cache_entries", 64.into())]);
    let polled = run(&[("scheme.hp.cache_knowledge", "poll".into())]);
    assert_eq!(dram(&full), 0, "the simulator lends its view");
    // 2048 entries with 16 KiB, twice that many places in the table, of 8 bytes each; and the list of uses.
    assert!(dram(&small) >= 2 * 2048 * 8 && dram(&large) >= 8 * 2 * 2048 * 8, "{} {}", dram(&small), dram(&large));
    assert!(dram(&chosen) < 16_384 && dram(&chosen) > 0 && dram(&polled) > 0);
    assert_eq!(small.host_dram_bytes, dram(&small));
    assert!(chosen.counters.host["sched_entries_simulated"] <= 64 * 3);
    // The whole cache of 2048 entries, after 2000 and after 3000 requests.
    assert!(small.counters.host["sched_entries_simulated"] > 2 * 1900);
}
