//! Work that takes no time is done all the same. Copies at random places come at the rate that is asked for.

use crate::common::{closed, counter, request, tiny};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// The whole drive in order, then twice as much at random, a page at a time.
fn run(scheme: &str, free: &str) -> RunResult {
    let mut spec = tiny(scheme, 1);
    spec.set.insert("what_if.free".into(), free.into());
    spec.set.insert("sram.write_through".into(), true.into());
    spec.set.insert("host.memory_mib".into(), "unlimited".into());
    let units = u64::from(spec.resolve().expect("a valid specification").profile.capacity_units());
    let mut rng = Rng::from_seed(3);
    let fill = (0..units / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
    let random = (0..2 * units).map(|_| request(WorkOp::Write, rng.below(units), 1));
    let requests: Vec<WorkRequest> = fill.chain(random).collect();
    closed(&spec, requests, 1).expect("a closed replay")
}

const GC: &[&str] = &["gc_read", "gc_write", "valid_page_search"];
const MAPPING: &[&str] = &["map_read", "map_write", "valid_page_search"];

#[test]
fn free_work_is_done_and_takes_no_time() {
    for scheme in ["ufs", "hp-ufs", "msftl"] {
        let charged = run(scheme, "nothing");
        assert!(charged.warnings.is_empty());
        for (free, causes) in [("gc", GC), ("mapping", MAPPING)] {
            let run = run(scheme, free);
            let time: u64 = causes.iter().map(|&cause| run.nand_time_ns[cause]).sum();
            let before: u64 = causes.iter().map(|&cause| charged.nand_time_ns[cause]).sum();
            assert!(time == 0 && before > 0, "{scheme}, {free}: {before} ns became {time}");
            let ops = |run: &RunResult| run.nand_ops["gc_write"]["program"] + run.nand_ops["map_write"]["program"];
            assert!(ops(&run).abs_diff(ops(&charged)) * 20 < ops(&charged), "{scheme}, {free}: amounts stay");
            assert!(run.sim_seconds < charged.sim_seconds, "{scheme}, {free}: a write at a time waits for it");
            assert_eq!(run.warnings, [format!("what_if.free = \"{free}\": these operations took no time")]);
        }
    }
}

/// An eighth of the drive, then as much again in the same place, a page at a time.
fn copied(scheme: &str, percent: u32) -> RunResult {
    let mut spec = tiny(scheme, 1);
    spec.set.insert("what_if.copies_percent".into(), percent.into());
    spec.set.insert("sram.write_through".into(), true.into());
    let units = u64::from(spec.resolve().expect("a valid specification").profile.capacity_units()) / 8;
    let mut rng = Rng::from_seed(5);
    let fill = (0..units / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
    let random = (0..units).map(|_| request(WorkOp::Write, rng.below(units), 1));
    let requests: Vec<WorkRequest> = fill.chain(random).collect();
    closed(&spec, requests, 1).expect("a closed replay")
}

/// The oracle of the run checks all data. There is no GC of the device's own, for enough is free.
#[test]
fn copies_at_random_places_come_at_the_rate_that_is_asked_for() {
    for scheme in ["base-dftl", "mini-page", "msftl"] {
        let plain = copied(scheme, 0);
        for percent in [50, 150] {
            let run = copied(scheme, percent);
            let [host, copies, victims] =
                ["host_units_written", "gc_units_programmed", "gc_victims"].map(|name| counter(&run, name));
            let rate = copies as f64 / host as f64 * 100.0;
            assert!((rate / f64::from(percent) - 1.0).abs() < 0.03, "{scheme}: {rate}% for {percent}%");
            assert_eq!(victims, 0, "{scheme}: GC has nothing to do");
            assert_eq!(counter(&plain, "gc_units_programmed"), 0, "{scheme}");
            assert!(run.nand_time_ns["valid_page_search"] > 0, "{scheme}: they are searched as GC searches");
            assert!(counter(&run, "pmt_flush_units") > counter(&plain, "pmt_flush_units"), "{scheme}");
            let told = format!("what_if.copies_percent = {percent}: pages at random places were copied besides");
            assert_eq!(run.warnings, [told]);
        }
    }
}

#[test]
fn a_scheme_that_can_not_copy_at_random_is_refused() {
    let mut spec = tiny("hp-ufs", 1);
    spec.set.insert("what_if.copies_percent".into(), 5.into());
    let error = spec.resolve().expect_err("refused").to_string();
    assert!(error.contains("what_if.copies_percent = 5: must be 0 for \"hp-ufs\""), "{error}");
}
