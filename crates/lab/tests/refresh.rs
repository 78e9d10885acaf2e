//! Refresh of what is read often, under every family of schemes.

use crate::common::{closed, counter, request, tiny};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// Units of a superblock and of the drive of the profile.
const SUPERBLOCK: u64 = 256;
const UNITS: u64 = 32_768;
/// Reads of a block after which one more is too many.
const LIMIT: u64 = 500;

/// The drive is written in order, and units are read one at a time. Afterwards everything is read back.
fn run(scheme: &str, limit: &str, reads: impl Iterator<Item = u64>) -> RunResult {
    let mut spec = tiny(scheme, 3);
    let set = [("wear.refresh_reads", limit), ("host.memory_mib", "unlimited")];
    spec.set =
        set.iter().map(|&(key, text)| (key.to_owned(), text.parse::<u64>().map_or(text.into(), Into::into))).collect();
    let fill = (0..UNITS / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
    let flush = request(WorkOp::Flush, 0, 0);
    let requests: Vec<WorkRequest> =
        fill.chain([flush]).chain(reads.map(|unit| request(WorkOp::Read, unit, 1))).collect();
    closed(&spec, requests, 1).expect("a run")
}

/// One unit is read again and again. After `LIMIT` + 1 reads its superblock is copied, and the counts begin again: so
/// often as that number goes into the reads, each time with all that is valid there.
#[test]
fn what_is_read_more_often_than_the_limit_is_copied_each_time() {
    const READS: u64 = 20 * LIMIT;
    for scheme in ["ideal", "ufs", "hp-ufs", "dftl", "msftl"] {
        let run = run(scheme, "500", (0..READS).map(|_| 10 * SUPERBLOCK));
        let refreshed = counter(&run, "refresh_victims");
        // Reads during a refresh go to the block that is being left.
        let most = READS / (LIMIT + 1);
        assert!((most - 3..=most).contains(&refreshed), "{scheme}: {refreshed} times, {most} at most");
        // A host that names victims may name another one first.
        let victims = counter(&run, "gc_victims");
        assert!(victims == refreshed || scheme == "hp-ufs" && victims < 2 * refreshed, "{scheme}: {victims} victims");
        let copied = counter(&run, "gc_units_programmed");
        assert!(copied <= victims * SUPERBLOCK && copied + SUPERBLOCK >= victims * SUPERBLOCK, "{scheme}: {copied}");
        assert_eq!(counter(&run, "wear_victims"), 0, "{scheme}");
        assert!(run.nand_ops["gc_write"]["program"] > 0 && run.nand_ops["gc_read"]["read"] > 0, "{scheme}");
    }
}

#[test]
fn reads_that_are_spread_or_without_a_limit_cause_no_copies() {
    let mut rng = Rng::from_seed(9);
    let spread = run("ideal", "500", (0..10_000).map(|_| rng.below(UNITS)));
    let never = run("ideal", "never", (0..20 * LIMIT).map(|_| 10 * SUPERBLOCK));
    for run in [&spread, &never] {
        assert_eq!(run.counters.device.get("refresh_victims").copied().unwrap_or(0), 0);
        assert_eq!(counter(run, "gc_units_programmed"), 0);
    }
}
