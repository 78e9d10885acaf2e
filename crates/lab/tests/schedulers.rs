//! Whole runs under every scheduler and every way of knowing the mapping cache, with the oracle watching.

use crate::common::{closed, request, tiny};
use host::{CacheKnowledge, SchedulerKind};
use proptest::prelude::*;
use ufsim_lab::{RunResult, Spec, schemes};
use workload::{Flags, Rng, WorkOp, WorkRequest};

/// Units of the tiny device.
const CAPACITY: u64 = 32_768;

fn spec(scheme: &str, scheduler: SchedulerKind, knowledge: CacheKnowledge) -> Spec {
    let mut spec = tiny(scheme, 1);
    spec.scheduler = Some(scheduler.name().into());
    set(&mut spec, "scheme.*.cache_knowledge", knowledge.name());
    set(&mut spec, "scheme.*.poll_requests", 50);
    spec
}

fn set(spec: &mut Spec, key: &str, value: impl Into<serde_json::Value>) {
    spec.set.insert(key.into(), value.into());
}

fn any_request() -> impl Strategy<Value = WorkRequest> {
    let op = prop_oneof![
        6 => Just(WorkOp::Write), 5 => Just(WorkOp::Read), 1 => Just(WorkOp::Trim), 1 => Just(WorkOp::Flush),
    ];
    // Many meet, so that they overlap while they are pending.
    let unit = prop_oneof![3 => 0u64..600, 2 => 0u64..CAPACITY - 80];
    let units = prop_oneof![4 => 1u64..4, 1 => 1u64..80];
    (op, unit, units, any::<[bool; 4]>()).prop_map(|(op, unit, units, dice)| {
        let flags = Flags { fua: dice[0] && dice[1], preflush: dice[2] && dice[3], ..Flags::default() };
        WorkRequest { flags, ..request(op, unit, units) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_requests_never_return_wrong_data(
        scheme in prop::sample::select(schemes().iter().map(|p| p.name).collect::<Vec<_>>()),
        scheduler in prop::sample::select(SchedulerKind::ALL),
        knowledge in prop::sample::select(CacheKnowledge::ALL),
        packed in any::<bool>(),
        queue in 1u32..200,
        requests in prop::collection::vec(any_request(), 1..600),
        depth in 16u32..=300,
    ) {
        let mut spec = spec(scheme, scheduler, knowledge);
        set(&mut spec, "scheme.*.packed_commands", packed);
        set(&mut spec, "scheme.*.queue", queue);
        let count = requests.len() as u64;
        let result = closed(&spec, requests, depth).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!((result.submitted, result.completed), (count, count));
    }
}

/// Random reads of 1 to 4 units over the device, after it has been written.
fn reads(scheduler: SchedulerKind, knowledge: CacheKnowledge, also: &[(&str, serde_json::Value)]) -> RunResult {
    let mut rng = Rng::from_seed(9);
    let mut requests: Vec<WorkRequest> = (0..CAPACITY / 64).map(|i| request(WorkOp::Write, i * 64, 64)).collect();
    let read = |rng: &mut Rng| request(WorkOp::Read, rng.below(CAPACITY - 4), 1 + rng.below(4));
    requests.extend((0..6_000).map(|_| read(&mut rng)));
    let mut spec = spec("ufs", scheduler, knowledge);
    // Few segments in SRAM, one command at a time: what is pending decides.
    for (key, value) in [("sram.segment_cache_kib", 16), ("host.tags", 12), ("scheme.*.cache_entries", 4096)] {
        set(&mut spec, key, value);
    }
    // Long enough that the order decides, not the deadline.
    set(&mut spec, "scheme.*.deadline_us", 1_000_000);
    also.iter().for_each(|(key, value)| set(&mut spec, key, value.clone()));
    closed(&spec, requests, 128).expect("a run without errors")
}

fn misses(result: &RunResult) -> u64 {
    result.counters.device["segment_reads"]
}

#[test]
fn hits_first_and_batches_read_fewer_translation_pages() {
    let run = |scheduler| reads(scheduler, CacheKnowledge::Full, &[]);
    let (noop, hp, rb, map) =
        (run(SchedulerKind::Noop), run(SchedulerKind::Hp), run(SchedulerKind::Rb), run(SchedulerKind::MapPlus));
    assert!(noop.counters.host["sched_batches"] == 0 && noop.counters.host["sched_notices"] == 0);
    assert!(hp.counters.host["sched_prioritised"] > 1000 && hp.counters.host["sched_batches"] == 0);
    assert!(rb.counters.host["sched_batches"] > 100 && rb.counters.host["sched_notices"] > 100);
    for better in [&hp, &rb, &map] {
        let (few, many) = (misses(better), misses(&noop));
        assert!(few * 10 < many * 9, "{few} segment reads instead of {many}: {:?}", better.counters.host);
    }
    assert!(map.sim_seconds < noop.sim_seconds);
}

#[test]
fn every_way_of_knowing_the_cache_finds_hits() {
    for &knowledge in CacheKnowledge::ALL {
        let result = reads(SchedulerKind::Hp, knowledge, &[]);
        let host = &result.counters.host;
        assert!(host["sched_prioritised"] > 50, "{}: {host:?}", knowledge.name());
        assert_eq!(host["sched_polls"] > 0, knowledge == CacheKnowledge::Poll);
    }
}

#[test]
fn notices_can_be_left_out_and_packs_save_firmware_time() {
    let run = |also: &[(&str, serde_json::Value)]| reads(SchedulerKind::Rb, CacheKnowledge::Full, also);
    let slow = || ("firmware.command_ns", 100_000.into());
    let silent = run(&[("scheme.*.batch_notice", false.into()), slow()]);
    assert_eq!(silent.counters.host["sched_notices"], 0);
    assert!(silent.counters.host["sched_batches"] > 100);
    let (single, packed) = (run(&[slow()]), run(&[("scheme.*.packed_commands", true.into()), slow()]));
    assert!(packed.sim_seconds < 0.9 * single.sim_seconds, "{} and {} s", packed.sim_seconds, single.sim_seconds);
}

#[test]
fn a_scheduler_is_part_of_what_decides_a_run() {
    let digest = |scheduler| reads(scheduler, CacheKnowledge::Full, &[]).digest;
    assert_eq!(digest(SchedulerKind::MapPlus), digest(SchedulerKind::MapPlus));
    assert_ne!(digest(SchedulerKind::MapPlus), digest(SchedulerKind::Map));
}
