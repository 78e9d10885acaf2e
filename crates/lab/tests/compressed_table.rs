//! Regions of a compressed table that lie together (`first_level=runs`), against what chance says about random writes,
//! on the device of HP-UFS with less flash.

use crate::common::{SMALL_MIB, closed, counter, request, small_hp_ufs};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// Regions of 4 MiB.
const REGIONS: u64 = SMALL_MIB / 4;
const UNITS: u64 = SMALL_MIB * 256;
const SEQUENTIAL_UNITS: u64 = 32;
/// The log keeps what was written last, so that much is written in the end, into the last region.
const LAST_WRITES: u64 = 1500;

fn run(scheme: &str, set: &[(&'static str, &str)], requests: Vec<WorkRequest>) -> RunResult {
    let more = set.iter().map(|&(key, value)| (key, serde_json::Value::from(value)));
    let spec = small_hp_ufs(scheme, [("sram.covers", "pool".into())].into_iter().chain(more));
    closed(&spec, requests, 1).expect("a closed replay")
}

/// All of the device, in order.
fn fill() -> Vec<WorkRequest> {
    (0..UNITS).step_by(SEQUENTIAL_UNITS as usize).map(|at| request(WorkOp::Write, at, SEQUENTIAL_UNITS)).collect()
}

fn random(op: WorkOp, count: u64, seed: u64) -> impl Iterator<Item = WorkRequest> {
    let mut rng = Rng::from_seed(seed);
    (0..count).map(move |_| request(op, rng.below(UNITS), 1))
}

/// A device written in order, then these writes, then others that bring all of them into the table.
fn flushed(writes: impl Iterator<Item = WorkRequest>) -> Vec<WorkRequest> {
    let last = (1..=LAST_WRITES).map(|i| request(WorkOp::Write, UNITS - 2 * (1 + i % 500), 1));
    fill().into_iter().chain(writes).chain(last).collect()
}

#[test]
fn random_reads_of_data_in_order_need_no_map_read() {
    let reads = 20_000;
    let with_reads = || flushed(random(WorkOp::Read, reads, 5)).into_iter().chain(random(WorkOp::Read, reads, 6));
    let [ufs, compressed] = ["ufs", "ufs-compressed"].map(|scheme| run(scheme, &[], with_reads().collect()));
    // 272 of 1024 segments are cached at most.
    assert!(counter(&ufs, "segment_misses") > reads, "{:?}", ufs.counters.device);
    // Only the region that the last writes have hit is read, and stays in the cache.
    assert!(counter(&compressed, "segment_misses") < 200, "{:?}", compressed.counters.device);
    assert_eq!(counter(&compressed, "run_map_units"), REGIONS - 1);
    assert!(counter(&compressed, "run_hits") > 2 * reads * 99 / 100);
}

#[test]
fn random_writes_break_as_many_regions_as_chance_says() {
    for (writes, set) in [
        (300, &[][..]),
        (1000, &[]),
        (2500, &[]),
        (1000, &[("scheme.*.flush_mode", "pipelined")]),
        (1000, &[("scheme.*.flush_mode", "background")]),
    ] {
        let whole =
            counter(&run("ufs-compressed", set, flushed(random(WorkOp::Write, writes, writes))), "run_map_units");
        // Of N regions, n writes miss each with (1 - 1/N)^n; the last writes hit one more.
        let all = (REGIONS - 1) as f64;
        let missed = (1.0 - 1.0 / REGIONS as f64).powf(writes as f64);
        let load = writes as f64 / REGIONS as f64;
        let spread = (all * ((-load).exp() - (1.0 + load) * (-2.0 * load).exp())).sqrt();
        let off = whole as f64 - all * missed;
        assert!(off.abs() < 4.0 * spread, "{writes} writes, {set:?}: {whole} regions, {} expected", all * missed);
    }
}

#[test]
fn regions_are_mended_by_writes_in_order() {
    let broken = random(WorkOp::Write, 1000, 7);
    let whole = run("ufs-compressed", &[], flushed(broken.chain(fill())));
    assert_eq!(counter(&whole, "run_map_units"), REGIONS - 1);
}

#[test]
fn a_flush_reads_no_region_that_lies_together() {
    let writes = || flushed(random(WorkOp::Write, 1000, 3));
    let [ufs, compressed] = ["ufs", "ufs-compressed"].map(|scheme| run(scheme, &[], writes()));
    let saved = counter(&compressed, "run_reads_saved");
    assert!(saved > 500, "{saved}");
    // The two caches hold slightly other segments.
    let (reads, of_ufs) = (counter(&compressed, "segment_reads") + saved, counter(&ufs, "segment_reads"));
    assert!(reads.abs_diff(of_ufs) < of_ufs / 100, "{reads} {of_ufs}");
    assert_eq!(counter(&compressed, "segment_writes"), counter(&ufs, "segment_writes"));
}
