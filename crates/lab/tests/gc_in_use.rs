//! GC as a device in use has it: in idle time, and beside commands.

use crate::common::{replay, request, tiny};
use ufsim_lab::{RunResult, Spec};
use units::SimTime;
use workload::{ReplayMode, Rng, WorkOp, WorkRequest};

/// Units of the drive of the profile: 128 MiB.
const UNITS: u64 = 32_768;
/// Superblocks that GC in idle time makes free. 32 are there beside those for all units.
const UNTIL: u64 = 25;
/// Longest time that one operation of `nand` in the profile occupies a die: an erase.
const ERASE_NS: u64 = 5_000_000;
/// An erase of the die, the program of a row with its transfer (64 KiB at 800 MiB/s), then the read itself, behind the
/// transfers of the other die on its channel.
const READ_BOUND_NS: u64 = ERASE_NS + 550_000 + 2 * 80_000 + 60_000 + 100_000;

fn spec(scheme: &str, set: &[(&str, &str)]) -> Spec {
    let mut spec = tiny(scheme, 3);
    let of_all = [
        ("gc.pace", "gained"),
        ("gc.start_superblocks", "20"),
        ("gc.relaxed_superblocks", "16"),
        ("sram.pool_kib", "1024"),
        ("sram.reserve_kib", "256"),
        ("host.memory_mib", "unlimited"),
    ];
    let set = of_all.iter().chain(set);
    let value = |text: &str| text.parse::<u64>().map_or_else(|_| text.into(), Into::into);
    spec.set = set.map(|&(key, text)| (key.to_owned(), value(text))).collect();
    spec
}

fn at(ms: u64, request: WorkRequest) -> WorkRequest {
    WorkRequest { arrival: SimTime(ms * 1_000_000), ..request }
}

/// The drive is written in order, and a part of it again at random, as fast as it takes that. Then it has a second of
/// rest before `after`.
fn used(spec: &Spec, after: impl IntoIterator<Item = WorkRequest>) -> RunResult {
    let mut rng = Rng::from_seed(7);
    let fill = (0..UNITS / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
    let again = (0..12_000).map(|_| request(WorkOp::Write, rng.below(UNITS), 1));
    let requests = fill.chain(again).chain(after).collect();
    replay(spec, requests, ReplayMode::Queued { depth: 32 }).expect("a replay")
}

fn counter(run: &RunResult, name: &str) -> u64 {
    run.counters.device.get(name).copied().unwrap_or(0)
}

#[test]
fn in_idle_time_superblocks_become_free_up_to_the_mark_for_every_scheme() {
    let idle = [("gc.idle_after_ms", "5"), ("gc.idle_superblocks", "25")];
    let beside = [idle[0], idle[1], ("gc.runs", "beside")];
    for scheme in ["ideal", "ufs", "hp-ufs", "dftl", "msftl"] {
        for set in [&idle[..], &beside] {
            let last = [at(20_000, request(WorkOp::Read, 0, 1))];
            let run = used(&spec(scheme, set), last);
            assert!(counter(&run, "gc_idle_steps") > 0, "{scheme}");
            let free = counter(&run, "free_superblocks");
            assert!((UNTIL..UNTIL + 4).contains(&free), "{scheme}, {set:?}: {free} superblocks are free");
        }
        let run = used(&spec(scheme, &[]), [at(20_000, request(WorkOp::Read, 0, 1))]);
        assert_eq!(counter(&run, "gc_idle_steps"), 0, "{scheme}");
        assert!(counter(&run, "free_superblocks") < UNTIL, "{scheme}: only writes pay for GC");
    }
}

/// A request that comes and goes during a step beside it ends the idle time, too.
#[test]
fn a_request_during_a_step_postpones_the_next_one() {
    let steps = |runs| {
        let set = [
            ("gc.idle_after_ms", "50"),
            ("gc.idle_superblocks", "60"),
            ("gc.idle_gain_percent", "1"),
            ("gc.runs", runs),
        ];
        // Every 10 ms, but for one rest in which GC begins.
        let times = (0..1_000).map(|turn| 10 * turn).filter(|ms| !(8_000..8_070).contains(ms));
        let run = used(&spec("ideal", &set), times.map(|ms| at(ms, request(WorkOp::Read, ms, 1))));
        assert!(run.sim_seconds > 9.9 && counter(&run, "gc_idle_steps") > 0, "{runs}");
        counter(&run, "gc_idle_steps")
    };
    let (alone, beside) = (steps("alone"), steps("beside"));
    assert!(beside <= alone + 1, "{beside} steps beside commands, {alone} alone");
}

#[test]
fn what_gains_too_little_is_left_and_the_device_comes_to_rest() {
    let set = [("gc.idle_after_ms", "5"), ("gc.idle_superblocks", "159"), ("gc.idle_gain_percent", "100")];
    for scheme in ["ideal", "ufs", "hp-ufs", "dftl", "msftl"] {
        let run = used(&spec(scheme, &set), [at(20_000, request(WorkOp::Read, 0, 1))]);
        assert_eq!(counter(&run, "gc_idle_steps"), 0, "{scheme}: no superblock is invalid as a whole");
    }
}

/// Reads one at a time, and now and then writes that pay for GC.
#[test]
fn beside_commands_a_read_waits_for_operations_and_not_for_steps() {
    let reads_and_writes = || {
        let mut rng = Rng::from_seed(11);
        let turn = move |turn: u64| {
            let writes: Vec<_> =
                (0..64).map(|_| at(30_000 + 20 * turn, request(WorkOp::Write, rng.below(UNITS), 1))).collect();
            let reads: Vec<_> =
                (1..20).map(|ms| at(30_000 + 20 * turn + ms, request(WorkOp::Read, rng.below(UNITS), 1))).collect();
            [writes, reads].concat()
        };
        (0..200).flat_map(turn).collect::<Vec<_>>()
    };
    let run = |runs| used(&spec("ideal", &[("gc.runs", runs)]), reads_and_writes());
    let reads = |run: &RunResult| run.latency_ns.read.expect("reads");
    let (alone, beside) = (run("alone"), run("beside"));
    assert!(counter(&beside, "gc_steps") > 100);
    assert!(reads(&beside).max <= READ_BOUND_NS, "{} ns", reads(&beside).max);
    assert!(2 * reads(&beside).p99 < reads(&alone).p99, "{} and {} ns", reads(&beside).p99, reads(&alone).p99);
}

#[test]
fn beside_commands_steps_still_keep_pace_and_stop_commands_for_a_small_part_of_the_time() {
    for scheme in ["ideal", "ufs", "hp-ufs", "msftl"] {
        let (alone, beside) = (used(&spec(scheme, &[]), []), used(&spec(scheme, &[("gc.runs", "beside")]), []));
        assert_eq!(counter(&alone, "gc_beside_steps"), 0, "{scheme}");
        let steps = counter(&beside, "gc_steps");
        assert!(2 * counter(&beside, "gc_beside_steps") > steps && steps > 50, "{scheme}: {steps} steps");
        let stopped = |run: &RunResult| counter(run, "exclusive_ns");
        assert!(stopped(&beside) < stopped(&alone), "{scheme}");
    }
}

/// At first only folding is wanted, after a minute. Then writes make GC wanted, too, after 5 ms: it does not wait for
/// the minute.
#[test]
fn gc_in_idle_time_does_not_wait_until_folding_is_due() {
    const SUPERBLOCK: u64 = 256;
    let set = [
        ("gc.idle_after_ms", "5"),
        ("gc.idle_superblocks", "60"),
        ("slc.superblocks", "4"),
        ("slc.fold_after_ms", "60000"),
    ];
    let run = |last: u64| {
        let mut rng = Rng::from_seed(5);
        let fill = (0..80 * SUPERBLOCK / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
        let again = (0..40 * SUPERBLOCK).map(|_| at(30_000, request(WorkOp::Write, rng.below(80 * SUPERBLOCK), 1)));
        let requests = fill.chain(again).chain([at(last, request(WorkOp::Read, 0, 1))]).collect();
        replay(&spec("ideal", &set), requests, ReplayMode::Queued { depth: 32 }).expect("a replay")
    };
    let before = run(29_000);
    assert_eq!(counter(&before, "gc_idle_steps"), 0, "60 superblocks are free, and the cache may stay");
    // The writes take a second or two, and GC less than ten.
    let soon = run(45_000);
    assert!(counter(&soon, "free_superblocks") >= 60, "{:?}", soon.counters.device);
}
