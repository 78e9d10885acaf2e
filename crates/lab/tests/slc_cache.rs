//! A write cache of superblocks in SLC mode, against the rates of the flash, and its folding under every family of
//! schemes, on the device of HP-UFS with less flash.

use crate::common::{counter, replay, request, small_hp_ufs};
use ufsim_lab::RunResult;
use units::SimTime;
use workload::{ReplayMode, WorkOp, WorkRequest};

/// Units of a superblock in SLC mode: 21 of 64 pages, on two planes of eight dies, four units each.
const SLC_UNITS: u64 = 21 * 2 * 8 * 4;
const DIES: u64 = 8;
const ROW_UNITS: u64 = 8;
const SLC_PROGRAM_US: u64 = 150;
const TLC_PROGRAM_US: u64 = 550;
const WRITE_UNITS: u64 = 32;

fn run(scheme: &str, set: &[(&'static str, u64)], requests: Vec<WorkRequest>) -> RunResult {
    let spec = small_hp_ufs(scheme, set.iter().map(|&(key, value)| (key, value.into())));
    replay(&spec, requests, ReplayMode::Queued { depth: 32 }).expect("a replay")
}

/// So many units in order, as fast as the device takes them.
fn burst(units: u64) -> Vec<WorkRequest> {
    (0..units).step_by(WRITE_UNITS as usize).map(|at| request(WorkOp::Write, at, WRITE_UNITS)).collect()
}

/// What so many units take at least on all dies, and a record for each superblock that is opened.
fn takes_us(units: u64, program_us: u64, superblock_units: u64) -> f64 {
    let opened = units.div_ceil(superblock_units);
    (units / ROW_UNITS / DIES * program_us + opened * SLC_PROGRAM_US) as f64
}

#[test]
fn a_burst_is_as_fast_as_slc_until_the_cache_is_full() {
    let in_cache = 100 * SLC_UNITS;
    let slc = takes_us(in_cache, SLC_PROGRAM_US, SLC_UNITS);
    let tlc = takes_us(in_cache, TLC_PROGRAM_US, 4096);
    for (cache, units, expected) in [(0, in_cache, tlc), (100, in_cache, slc), (100, 2 * in_cache, slc + tlc)] {
        let run = run("ideal", &[("slc.superblocks", cache)], burst(units));
        let took = run.sim_seconds * 1e6;
        let off = took / expected - 1.0;
        assert!(off.abs() < 0.03, "{cache} superblocks, {units} units: {took:.0} us, {expected:.0} expected");
        assert_eq!(counter(&run, "slc_units_programmed"), (cache * SLC_UNITS).min(units));
        assert_eq!(counter(&run, "slc_superblocks"), cache);
        assert_eq!(counter(&run, "gc_units_programmed"), 0);
    }
}

#[test]
fn more_bits_leave_less_room() {
    for (bits, pages) in [(2, 32), (3, 21), (4, 16)] {
        let set = [("slc.superblocks", 4), ("slc.bits_per_cell", bits)];
        let run = run("ideal", &set, burst(40_000));
        assert_eq!(counter(&run, "slc_units_programmed"), 4 * pages * 64, "{bits} bits");
    }
}

#[test]
fn in_idle_time_the_cache_is_folded_under_every_scheme() {
    let set = [("slc.superblocks", 20), ("slc.fold_after_ms", 10), ("host.memory_mib", 64)];
    for scheme in ["ideal", "ufs", "ufs-compressed", "ufs-tuned", "hp-ufs", "dftl", "tpftl", "msftl"] {
        let read = WorkRequest { arrival: SimTime(30_000_000_000), ..request(WorkOp::Read, 0, 32) };
        let requests = burst(20 * SLC_UNITS + 4096).into_iter().chain([read]).collect();
        let run = run(scheme, &set, requests);
        let (folded, left) = (counter(&run, "slc_victims"), counter(&run, "slc_superblocks"));
        // One that is folded may wait for a map flush, or for a host that names it, to become free.
        assert!(folded <= 20 && folded + left >= 20, "{scheme}: {folded} folded, {left} left");
        // What the log names is no victim before the next map flush.
        assert!(left <= 8, "{scheme}: {left} superblocks are left");
        // Folded in order, data lie together as before; across the ends of superblocks they do not.
        let (together, regions) = (counter(&run, "run_map_units"), (20 * SLC_UNITS + 4096) / 1024);
        assert!(scheme != "ufs-compressed" || together + 8 > regions, "{together} of {regions} regions");
        let copied = counter(&run, "gc_units_programmed");
        assert!(
            copied.abs_diff(folded * SLC_UNITS) < 2 * ROW_UNITS,
            "{scheme}: {copied} units of {folded} superblocks"
        );
    }
}

/// Superblocks that have lost a unit in sixteen are no victims in idle time, and none is collected in the place of one
/// that the log still names. So each burst finds the cache empty.
#[test]
fn between_bursts_the_cache_is_folded_beside_data_that_are_partly_out_of_date() {
    let (cache, old, bursts, of_burst) = (4, 4 * 4096, 40, 8);
    let set = [("slc.superblocks", cache), ("slc.fold_after_ms", 50), ("host.memory_mib", 64)];
    // GC in idle time that always wants more, is asked sooner than folding, and finds nothing that is worth it.
    let idle = [("gc.idle_after_ms", 10), ("gc.idle_superblocks", 599)];
    let schemes = ["ideal", "ufs", "ufs-compressed", "ufs-tuned", "hpb", "leaftl", "dftl", "msftl"];
    let alone = schemes.iter().chain(&["hp-ufs"]).map(|&scheme| (scheme, set.to_vec()));
    for (scheme, set) in alone.chain(schemes.map(|scheme| (scheme, [&set[..], &idle].concat()))) {
        let again = (0..old).step_by(16).map(|at| request(WorkOp::Write, at, 1));
        let at = |n: u64| SimTime((n / of_burst + 1) * 1_000_000_000);
        let later = (0..bursts * of_burst)
            .map(|n| WorkRequest { arrival: at(n), ..request(WorkOp::Write, old + n * WRITE_UNITS, WRITE_UNITS) });
        let read = WorkRequest { arrival: at((bursts + 1) * of_burst), ..request(WorkOp::Read, 0, 32) };
        let run = run(scheme, &set, burst(old).into_iter().chain(again).chain(later).chain([read]).collect());
        // What was beyond the cache at first has left a superblock open, which takes the next data.
        let room = 4096 - (old + old / 16 - cache * SLC_UNITS) % 4096;
        let in_cache = cache * SLC_UNITS + bursts * of_burst * WRITE_UNITS - room;
        // Short rows that a map flush asked for fill that superblock a little earlier.
        let programmed = counter(&run, "slc_units_programmed");
        assert!((in_cache..in_cache + WRITE_UNITS).contains(&programmed), "{scheme}: {programmed}, not {in_cache}");
        let (victims, left) = (counter(&run, "slc_victims"), counter(&run, "slc_superblocks"));
        assert_eq!((counter(&run, "gc_victims"), left), (victims, in_cache.div_ceil(SLC_UNITS) - victims), "{scheme}");
        assert!(left <= 2, "{scheme}: {left} superblocks are left");
    }
}

#[test]
fn the_cache_leaves_superblocks_free() {
    let set = [("slc.superblocks", 500), ("slc.least_free_superblocks", 580)];
    let run = run("ideal", &set, burst(60 * 4096));
    // With more free than that, one is opened in SLC mode.
    assert_eq!(counter(&run, "slc_superblocks"), 19, "{:?}", run.counters.device);
}

#[test]
fn what_is_overwritten_in_the_cache_is_not_folded() {
    let read = WorkRequest { arrival: SimTime(1_000_000_000), ..request(WorkOp::Read, 0, 32) };
    let requests = burst(5 * SLC_UNITS).into_iter().chain(burst(5 * SLC_UNITS)).chain([read]).collect();
    let run = run("ideal", &[("slc.superblocks", 20)], requests);
    assert_eq!(counter(&run, "gc_units_programmed"), 0);
    assert!(counter(&run, "slc_superblocks") < 7, "five superblocks were erased");
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for (set, told) in [
        (("slc.superblocks", 600), "slc.superblocks = 600: must be below nand.data_superblocks = 600"),
        (("slc.bits_per_cell", 5), "slc.bits_per_cell = 5: must be 2..=4"),
        (("slc.least_free_superblocks", 600), "slc.least_free_superblocks = 600: must be below"),
    ] {
        let spec = small_hp_ufs("ufs", [(set.0, set.1.into())]);
        let refused = spec.resolve().map(|_| ()).expect_err("it does not fit").to_string();
        assert!(refused.contains(told), "{refused}");
    }
}
