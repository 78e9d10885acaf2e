//! GC that keeps pace: steady random writes on a small drive that is nearly full, whose victims are nearly all valid.

use crate::common::{closed, counter, request, tiny};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// Units of the drive, all of which are written before.
const UNITS: u64 = 512 * 256;
const SUPERBLOCK_UNITS: u64 = 1024;
/// Units of a request: one 16 KiB chunk.
const CHUNK: u64 = 4;
/// Longest time that a write of one chunk may take, in ns. It earns less than the two steps of 64 copies that it may
/// meet: 5 ms each, for 64 reads, what the search reads and four rows, one after another. A map flush takes less than
/// 10 ms, a row 1 ms. A whole superblock gained from six or seven victims at once would take 250 ms, for 384 rows.
const BOUND_NS: u64 = 25_000_000;

/// The drive is written in order, then as much again at random.
fn run(scheme: &str, pace: &str, depth: u32) -> RunResult {
    let mut spec = tiny(scheme, 1);
    let set: [(&str, serde_json::Value); 11] = [
        ("device.capacity_mib", 512.into()),
        ("nand.pages_per_block", 64.into()),
        ("nand.data_superblocks", 148.into()),
        ("gc.pace", pace.into()),
        ("gc.start_superblocks", 16.into()),
        ("gc.relaxed_superblocks", 12.into()),
        ("gc.hurried_superblocks", 9.into()),
        ("gc.reserve_superblocks", 4.into()),
        ("gc.units_per_step", 64.into()),
        ("sram.write_through", true.into()),
        ("host.memory_mib", "unlimited".into()),
    ];
    spec.set = set.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut rng = Rng::from_seed(5);
    let fill = (0..UNITS / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
    let random = (0..UNITS / CHUNK).map(|_| request(WorkOp::Write, CHUNK * rng.below(UNITS / CHUNK), CHUNK));
    let requests: Vec<WorkRequest> = fill.chain(random).collect();
    closed(&spec, requests, depth).expect("a closed replay")
}

/// Share of a victim that is copied.
fn valid(run: &RunResult) -> f64 {
    counter(run, "gc_units_programmed") as f64 / (counter(run, "gc_victims") * SUPERBLOCK_UNITS) as f64
}

fn worst_ns(run: &RunResult) -> u64 {
    run.latency_ns.write.expect("writes").max
}

#[test]
fn paced_by_what_is_gained_gc_is_never_urgent_and_no_write_waits_for_a_superblock() {
    for scheme in ["ideal", "ufs", "hp-ufs", "base-dftl", "msftl"] {
        let run = run(scheme, "gained", 1);
        let share = valid(&run);
        assert!((0.80..0.92).contains(&share), "{scheme}: {share} of a victim is valid");
        assert_eq!(counter(&run, "gc_urgent_steps"), 0, "{scheme}: the level came down to the reserve");
        assert!(worst_ns(&run) < BOUND_NS, "{scheme}: a write took {} ns", worst_ns(&run));
    }
}

#[test]
fn with_eight_writes_at_a_time_those_that_run_ahead_are_held_back() {
    for scheme in ["ideal", "msftl"] {
        let run = run(scheme, "gained", 8);
        assert_eq!(counter(&run, "gc_urgent_steps"), 0, "{scheme}: the level came down to the reserve");
    }
}

#[test]
fn paced_by_what_is_searched_the_same_writes_run_down_to_the_reserve() {
    let run = run("ufs", "searched", 1);
    assert!(2 * counter(&run, "gc_urgent_steps") > counter(&run, "gc_steps"), "most steps are urgent");
    assert!(worst_ns(&run) > BOUND_NS, "the longest wait is {} ns", worst_ns(&run));
}
