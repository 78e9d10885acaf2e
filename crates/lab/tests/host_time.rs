//! Host time on whole systems: what requests take above the driver, that nothing grows beyond `nr_requests`, and that
//! data stays right.

#[allow(dead_code, reason = "other tests use the rest")]
use crate::common::{closed, replay, request, tiny};
use proptest::prelude::*;
use ufsim_lab::profile::parse_override;
use ufsim_lab::{RunResult, Spec, schemes, simulate};
use units::SimTime;
use workload::{Flags, ProcessId, ReplayMode, WorkOp, WorkRequest};

/// Costs that differ from each other, in nanoseconds.
const COSTS: [&str; 13] = [
    "host_time.read_submit_ns=11000",
    "host_time.read_submit_page_ns=700",
    "host_time.read_delay_ns=90000",
    "host_time.read_complete_ns=48000",
    "host_time.read_complete_page_ns=10400",
    "host_time.write_submit_ns=5000",
    "host_time.write_submit_page_ns=1300",
    "host_time.write_delay_ns=20000",
    "host_time.write_complete_ns=25000",
    "host_time.write_complete_page_ns=2000",
    "host_time.meta_complete_ns=12000",
    "host_time.other_delay_ns=3000",
    "host_time.other_complete_ns=6000",
];

fn with(mut spec: Spec, sets: &[&str]) -> Spec {
    for set in sets {
        let (key, value) = parse_override(set).expect("a well formed override");
        spec.set.insert(key, serde_json::to_value(value).expect("a plain value"));
    }
    spec
}

/// Requests at these times in microseconds, of so many units.
fn at(requests: &[(u64, WorkOp, u64, u64)]) -> Vec<WorkRequest> {
    let timed = |&(us, op, unit, units): &(u64, WorkOp, u64, u64)| WorkRequest {
        arrival: SimTime(us * 1000),
        ..request(op, unit, units)
    };
    requests.iter().map(timed).collect()
}

fn timed(scheme: &str, sets: &[&str], requests: Vec<WorkRequest>) -> RunResult {
    replay(&with(tiny(scheme, 1), sets), requests, ReplayMode::Timed).expect("a timed replay")
}

/// The sum of all latencies of a kind in nanoseconds.
fn sum(result: &RunResult, kind: &str) -> u64 {
    result.over_time.kinds[kind].latency_sum_ns.iter().sum()
}

#[test]
fn each_request_takes_what_its_kind_costs_and_nothing_else() {
    let mut requests = at(&[
        (0, WorkOp::Write, 7, 1),
        (50_000, WorkOp::Write, 40, 3),
        (100_000, WorkOp::Read, 7, 1),
        (150_000, WorkOp::Read, 40, 3),
        (200_000, WorkOp::Flush, 0, 0),
        (250_000, WorkOp::Trim, 7, 1),
        (300_000, WorkOp::Write, 50, 2),
    ]);
    requests[6].flags = Flags { meta: true, ..Flags::default() };
    for scheme in ["ufs", "ideal", "hp-ufs", "dftl"] {
        let (off, on) = (timed(scheme, &[], requests.clone()), timed(scheme, &COSTS, requests.clone()));
        let more = |kind| sum(&on, kind) - sum(&off, kind);
        let submissions = 3 * 5_000 + 6 * 1_300;
        let completions = 2 * (25_000 + 20_000) + 4 * 2_000 + (12_000 + 20_000) + 2 * 2_000;
        assert_eq!(more("write"), submissions + completions, "{scheme}");
        assert_eq!(more("read"), 2 * (11_000 + 90_000 + 48_000) + 4 * (700 + 10_400), "{scheme}");
        assert_eq!((more("flush"), more("trim")), (9_000, 9_000), "{scheme}");
        let host = on.host_time.expect("host time is on");
        assert_eq!((host.requests, host.batches, host.inside_peak, host.queued_ns), (7, 7, 1, 0), "{scheme}");
        assert_eq!(host.work["read"].submit_ns, 2 * 11_000 + 4 * 700, "{scheme}");
        assert_eq!(host.work["metadata"].complete_ns, 12_000 + 2 * 2_000, "{scheme}");
        assert_eq!(host.delay_ns, 2 * 90_000 + 3 * 20_000 + 2 * 3_000, "{scheme}");
        assert_eq!(off.host_time, None);
    }
}

#[test]
fn a_burst_waits_for_the_serial_stage() {
    // Sixteen reads of one task at once: the last ends fifteen completions after the first at the least.
    let mut requests = at(&[(0, WorkOp::Write, 0, 64)]);
    requests.extend((0..16).map(|n| WorkRequest { arrival: SimTime(50_000_000), ..request(WorkOp::Read, 4 * n, 1) }));
    let sets = ["host_time.read_complete_ns=60000"];
    let (off, on) = (timed("ideal", &[], requests.clone()), timed("ideal", &sets, requests));
    let (off, on) = (off.latency_ns.read.expect("reads"), on.latency_ns.read.expect("reads"));
    // Histograms have three digits.
    assert!(on.min.abs_diff(off.min + 60_000) < 200, "{on:?} after {off:?}");
    assert!(on.max >= 16 * 59_900 && on.max <= off.max + 16 * 60_100, "{on:?} after {off:?}");
}

#[test]
fn overload_shows_as_waiting_before_the_queue() {
    // Two tasks write 600 pages each within a millisecond, which take 40 us each.
    let mut requests: Vec<_> = (0..1200)
        .map(|n| WorkRequest {
            arrival: SimTime(n * 1000),
            process: ProcessId((n % 2) as u16),
            ..request(WorkOp::Write, n * 3 % 8000, 1)
        })
        .collect();
    requests.push(WorkRequest { arrival: SimTime(900_000_000), ..request(WorkOp::Read, 0, 1) });
    let run = |limit: &str| timed("ideal", &["host_time.write_complete_ns=40000", limit], requests.clone());
    let (few, any) = (run("host_time.nr_requests=32"), run("host_time.nr_requests=unlimited"));
    let host = few.host_time.as_ref().expect("host time is on");
    assert_eq!((host.inside_peak, host.requests), (32, 1201));
    let waits = host.waited_ns as f64 / host.waited_requests as f64;
    // Each of the two tasks waits for every second place: 80 us.
    assert!(host.waited_requests > 1_100 && (79_000.0..81_000.0).contains(&waits), "{host:?}");
    assert!(host.late_requests > 1_100 && host.late_ns > host.waited_ns, "{host:?}");
    let (few, any) = (few.latency_ns.write.expect("writes"), any.latency_ns.write.expect("writes"));
    // 32 places and the two before them, instead of all that have come.
    assert!(few.max < 36 * 40_000 && any.max > 1_000 * 40_000, "{few:?} and {any:?}");
}

#[test]
fn what_is_off_changes_nothing() {
    let requests = at(&[(0, WorkOp::Write, 7, 1), (90_000, WorkOp::Read, 7, 1), (180_000, WorkOp::Flush, 0, 0)]);
    let idle = [
        "host_time.processors=4",
        "host_time.processor_wake_us=999",
        "host_time.stall_pause_ms=1",
        "write_path.wake_us=77",
        "write_path.flush_wake_us=78",
        "power.clkgate_jitter_us=5000",
        "power.other_use_percent=50",
    ];
    for scheme in ["ufs", "hpb", "hp-ufs"] {
        let (plain, same) = (timed(scheme, &[], requests.clone()), timed(scheme, &idle, requests.clone()));
        assert_eq!((plain.host_time.as_ref(), same.host_time.as_ref()), (None, None));
        assert_eq!(plain.digest, same.digest, "{scheme}");
        assert_ne!(plain.digest, timed(scheme, &COSTS, requests.clone()).digest, "{scheme}");
    }
}

#[test]
fn a_write_path_that_rests_delays_writes_and_flushes_but_no_reads() {
    let requests = at(&[
        (0, WorkOp::Write, 7, 1),
        (200_000, WorkOp::Write, 9, 1),
        (200_100, WorkOp::Write, 11, 1),
        (200_200, WorkOp::Read, 7, 1),
        (400_000, WorkOp::Read, 7, 1),
        (500_000, WorkOp::Flush, 0, 0),
    ]);
    let sets = ["write_path.rest_ms=100", "write_path.wake_us=1000", "write_path.flush_us=690"];
    let (off, on) = (timed("ideal", &[], requests.clone()), timed("ideal", &sets, requests));
    let more = |kind| sum(&on, kind).checked_sub(sum(&off, kind)).expect("nothing is faster");
    // The third write comes 100 us after the second, and goes on just after it.
    let expected = 1_000_000 + 900_000;
    assert!(more("write").abs_diff(expected) < 20_000, "{}", more("write"));
    assert_eq!(more("flush"), 1_690_000);
    // The first of these comes while the writes wait.
    assert!(on.latency_ns.read.expect("reads").max < 200_000, "{:?}", on.latency_ns.read);
}

#[test]
fn timers_that_are_late_and_others_that_use_the_link_follow_the_seed() {
    // Reads after 55 ms: a timer of 50 to 60 ms has ended before half of them.
    let mut requests = at(&[(0, WorkOp::Write, 0, 64)]);
    requests
        .extend((1..400).map(|n| WorkRequest { arrival: SimTime(n * 55_100_000), ..request(WorkOp::Read, n % 64, 1) }));
    let run = |seed: u64, other: &str| {
        let sets = ["power.clkgate_delay_ms=50", "power.clkgate_jitter_us=10000", "power.clk_ungate_us=100", other];
        replay(&with(tiny("ideal", seed), &sets), requests.clone(), ReplayMode::Timed).expect("a timed replay")
    };
    let slow = |result: &RunResult| result.power.as_ref().expect("states are on").request_wakes;
    let (alone, again) = (run(1, "power.other_use_percent=0"), run(1, "power.other_use_percent=0"));
    // Half of 399, standard deviation 10.
    assert!((150..250).contains(&slow(&alone)), "{}", slow(&alone));
    assert_eq!(alone.digest, again.digest);
    assert_ne!(alone.digest, run(2, "power.other_use_percent=0").digest);
    let disturbed = run(1, "power.other_use_percent=100");
    // Only in the first 5 of 150 ms does a use leave the timer time to end; after the 55 it does not happen.
    let power = disturbed.power.as_ref().expect("states are on");
    assert!(slow(&disturbed) < slow(&alone) && power.other_wakes < 30, "{power:?}");
}

#[test]
fn tasks_of_a_job_have_plugs_if_the_profile_says_so() {
    let run = |sets: &[&str]| {
        let spec = with(tiny("ufs", 1), sets);
        let spec = Spec { workload: "rw=write bs=4k size=1m iodepth=16".into(), ..spec };
        simulate(&spec, &mut |_| std::ops::ControlFlow::Continue(())).expect("a run without errors")
    };
    let (off, on) = (run(&[]), run(&["host_time.plugs=true"]));
    assert_eq!((off.merged, off.counters.host["user_commands"]), (0, 256));
    // Sixteen pages side by side at the beginning are one request.
    assert!(on.merged >= 15, "{}", on.merged);
    assert_eq!(on.counters.host["user_commands"] + on.merged, 256);
    assert_eq!((on.completed, on.host_time), (256, None));
}

/// SQLite checks its own data, the oracle that of a phone.
#[test]
fn databases_and_phones_stay_right_and_take_longer() {
    let sqlite = "[sqlite]\ntransactions = 40\nfill_rows = 100\nvolume_mib = 16\n";
    let phone = include_str!("../../../samples/phone/small.toml");
    for (name, text, scheme) in [("sqlite", sqlite, "hp-ufs"), ("sqlite", sqlite, "ufs"), ("phone", phone, "hpb")] {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host-time-{name}-{scheme}.toml"));
        std::fs::write(&path, text).expect("a workload");
        let run = |sets: &[&str]| {
            let spec = with(tiny(scheme, 1), sets);
            let spec = Spec { workload: path.to_string_lossy().into_owned(), ..spec };
            simulate(&spec, &mut |_| std::ops::ControlFlow::Continue(())).expect("a run without errors")
        };
        let mut sets = COSTS.to_vec();
        sets.extend(["host_time.nr_requests=16", "host_time.processors=2", "host_time.plugs=true"]);
        sets.extend(["host_time.processor_idle_us=1000", "host_time.stall_percent=100", "write_path.rest_ms=100"]);
        let (off, on) = (run(&[]), run(&sets));
        assert!(on.verified.is_some_and(|verified| verified.data_units > 100), "{name} {scheme}");
        let mean = |result: &RunResult| result.latency_ns.read.or(result.latency_ns.write).expect("requests").mean;
        assert!(mean(&on) > mean(&off) + 40_000.0, "{name} {scheme}: {} and {}", mean(&off), mean(&on));
        let host = on.host_time.expect("host time is on");
        assert!(host.inside_peak <= 16 && host.processor_wakes > 0 && host.stalls > 0, "{name} {scheme}: {host:?}");
    }
}

/// A request some microseconds after the one before it, or at once.
fn any_step() -> impl Strategy<Value = (WorkRequest, u64)> {
    let rare = prop::sample::select(vec![WorkOp::Trim, WorkOp::Flush]);
    let op = prop_oneof![5 => Just(WorkOp::Write), 4 => Just(WorkOp::Read), 2 => rare];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.1), any::<bool>());
    (op, 0u64..9_000, 1u64..40, flags, 0u64..400, 0u16..4).prop_map(
        |(op, unit, units, (fua, preflush, meta), gap, process)| {
            let flags = Flags { fua, preflush, meta, ..Flags::default() };
            (WorkRequest { flags, process: ProcessId(process), ..request(op, unit, units) }, gap)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With everything on, and more requests than any phone could serve: data is right, every request ends, nothing is
    /// beyond its bound, and the same run gives the same bytes.
    #[test]
    fn nothing_is_wrong_or_beyond_its_bound(
        scheme in prop::sample::select(schemes().iter().map(|p| p.name).collect::<Vec<_>>()),
        steps in prop::collection::vec(any_step(), 1..400),
        limit in 1u32..40,
        processors in 1u32..4,
        depth in prop::option::of(1u32..300),
        seed in 1u64..1000,
    ) {
        let mut now = 0;
        let requests: Vec<_> = steps
            .iter()
            .map(|&(r, gap)| {
                now += if gap < 250 { 0 } else { gap * 1000 };
                WorkRequest { arrival: SimTime(now), ..r }
            })
            .collect();
        let (limit_set, processors) =
            (format!("host_time.nr_requests={limit}"), format!("host_time.processors={processors}"));
        let mut sets = COSTS.to_vec();
        sets.extend([
            limit_set.as_str(),
            &processors,
            "host_time.processor_idle_us=300",
            "host_time.stall_percent=80",
            "host_time.stall_after_min_ms=1",
            "host_time.preempt_per_million=100000",
            "write_path.rest_ms=1",
            "write_path.flush_us=90",
            "power.auto_hibern8_idle_us=200",
        ]);
        let spec = with(tiny(scheme, seed), &sets);
        let run = || match depth {
            None => replay(&spec, requests.clone(), ReplayMode::Timed),
            Some(depth) => closed(&spec, requests.clone(), depth),
        };
        let result = run().expect("every read is right");
        prop_assert_eq!(result.completed, requests.len() as u64);
        let host = result.host_time.as_ref().expect("host time is on");
        prop_assert!(host.inside_peak <= limit.into());
        prop_assert!(host.waited_requests <= host.requests && host.late_requests <= host.requests);
        prop_assert_eq!(&run().expect("the same run").digest, &result.digest);
    }
}
