//! WriteBooster as the host of a run controls it: rates with and without it, when it is flushed, and keys that do not
//! fit. On the device of HP-UFS with less flash.

use crate::common::{SMALL_MIB, closed, counter, replay, request, small_hp_ufs, tiny};
use serde_json::Value;
use ufsim_lab::{RunResult, Spec, schemes};
use units::SimTime;
use workload::{ReplayMode, Rng, WorkOp, WorkRequest};

/// Units of a superblock in SLC mode: 21 of 64 pages, on two planes of eight dies, four units each.
const SLC_UNITS: u64 = 21 * 2 * 8 * 4;
const WRITE_UNITS: u64 = 32;
/// Units of a superblock, and what a unit takes on eight dies that program eight units at a time, in SLC and in TLC.
const UNITS: u64 = 4096;
const SLC_US: f64 = 150.0 / 64.0;
const TLC_US: f64 = 550.0 / 64.0;
/// A superblock that is opened waits for its record.
const RECORD_US: f64 = 150.0;

/// A buffer of so many superblocks, with these keys besides.
fn boosted(scheme: &str, superblocks: u64, set: &[(&'static str, Value)]) -> Spec {
    let keys = [("slc.superblocks", superblocks.into()), ("slc.write_booster", true.into())];
    small_hp_ufs(scheme, keys.into_iter().chain(set.iter().cloned()))
}

fn run(spec: &Spec, requests: Vec<WorkRequest>) -> RunResult {
    replay(spec, requests, ReplayMode::Queued { depth: 32 }).expect("a replay")
}

/// So many units in order, as fast as the device takes them.
fn burst(units: u64) -> Vec<WorkRequest> {
    (0..units).step_by(WRITE_UNITS as usize).map(|at| request(WorkOp::Write, at, WRITE_UNITS)).collect()
}

/// A burst, and a read after a minute.
fn burst_and_rest(units: u64) -> Vec<WorkRequest> {
    let read = WorkRequest { arrival: SimTime(60_000_000_000), ..request(WorkOp::Read, 0, 32) };
    burst(units).into_iter().chain([read]).collect()
}

fn no_flush() -> Vec<(&'static str, Value)> {
    vec![("host.wb_buf_flush", false.into()), ("host.wb_buf_flush_during_h8", false.into())]
}

#[test]
fn writes_are_as_fast_as_slc_while_the_host_wants_it_and_there_is_room() {
    let in_slc = |units: u64| units as f64 * SLC_US + units.div_ceil(SLC_UNITS) as f64 * RECORD_US;
    let in_tlc = |units: u64| units as f64 * TLC_US + units.div_ceil(UNITS) as f64 * RECORD_US;
    let full = 100 * SLC_UNITS;
    for (on, units, expected, boosted_units) in [
        (true, full, in_slc(full), full),
        (true, 2 * full, in_slc(full) + in_tlc(full), full),
        (false, full, in_tlc(full), 0),
    ] {
        let set = [&no_flush()[..], &[("host.wb_on", on.into())]].concat();
        let run = run(&boosted("ideal", 100, &set), burst(units));
        let took = run.sim_seconds * 1e6;
        let off = took / expected - 1.0;
        assert!(off.abs() < 0.03, "on: {on}, {units} units: {took:.0} us, {expected:.0} expected");
        assert_eq!(counter(&run, "slc_units_programmed"), boosted_units);
    }
}

/// A buffer with room of its own gives other data none when it is folded, so a full device must not look for it there.
#[test]
fn a_full_device_whose_buffer_has_its_own_room_takes_writes_for_every_scheme() {
    let mut rng = Rng::from_seed(3);
    let units = 27_648;
    let fill = (0..units).step_by(WRITE_UNITS as usize).map(|at| request(WorkOp::Write, at, WRITE_UNITS));
    let again = (0..50_000).map(|_| request(WorkOp::Write, rng.below(units), 1));
    let requests: Vec<_> = fill.chain(again).collect();
    for preset in schemes() {
        let mut spec = tiny(preset.name, 1);
        let set: [(&str, Value); 3] =
            [("slc.superblocks", 10.into()), ("slc.write_booster", true.into()), ("slc.user_space", "reduced".into())];
        spec.set = set.map(|(key, value)| (key.to_owned(), value)).into();
        let run = closed(&spec, requests.clone(), 8).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert!(counter(&run, "slc_units_programmed") > 0, "{}", preset.name);
    }
}

/// Two logical units are written at once, and one of them has the buffer.
#[test]
fn a_dedicated_buffer_is_for_one_logical_unit() {
    let units = 40 * SLC_UNITS;
    let first = (SMALL_MIB / 2) * 256;
    let both = (0..units)
        .step_by(WRITE_UNITS as usize)
        .flat_map(|at| [at, first + at].map(|lba| request(WorkOp::Write, lba, WRITE_UNITS)));
    let both: Vec<_> = both.collect();
    let further = ("device.further_lus_mib", Value::from(SMALL_MIB / 2));
    for (lun, served) in [(None, 2 * units), (Some(0), units), (Some(1), units)] {
        let dedicated = lun.map(|lun: u64| ("slc.dedicated_lu", Value::from(lun)));
        let set: Vec<_> = no_flush().into_iter().chain([further.clone()]).chain(dedicated).collect();
        let run = run(&boosted("ufs", 100, &set), both.clone());
        // At the end less than a row of either kind waits for more. What waits for long does not wait for a row.
        let row = 8;
        for (name, most) in [("slc_units_programmed", served), ("data_units_programmed", 2 * units)] {
            let programmed = counter(&run, name);
            assert!(programmed + 2 * row > most && programmed <= most, "{lun:?}: {programmed} of {most}, {name}");
        }
        let padding = counter(&run, "padding_units");
        assert!(padding < units / 100, "{lun:?}: {padding} units of padding");
    }
}

/// Switched off, the buffer might as well not be there.
#[test]
fn without_it_everything_is_as_without_a_cache() {
    let off = boosted("ufs", 20, &[("host.wb_on", false.into())]);
    let none = small_hp_ufs("ufs", [] as [(&str, Value); 0]);
    let (off, none) = (run(&off, burst(40_000)), run(&none, burst(40_000)));
    assert_eq!((off.digest, off.counters.device), (none.digest, none.counters.device));
}

#[test]
fn it_is_flushed_when_the_host_wants_it_and_then_only_the_open_superblock_is_left() {
    // Not a whole number of superblocks.
    let units = 10 * SLC_UNITS + 640;
    let hibernates = ("power.auto_hibern8_idle_us", Value::from(150_000));
    let during_h8 = [("host.wb_buf_flush", Value::from(false))];
    for (set, flushed) in [
        (no_flush(), false),
        ([&no_flush()[..], std::slice::from_ref(&hibernates)].concat(), false),
        // The link never hibernates.
        (during_h8.to_vec(), false),
        ([&during_h8[..], &[hibernates]].concat(), true),
        (vec![], true),
    ] {
        let run = run(&boosted("ideal", 20, &set), burst_and_rest(units));
        let told = ["slc_victims", "slc_superblocks", "gc_units_programmed"].map(|name| counter(&run, name));
        let expected = if flushed { [10, 1, 10 * SLC_UNITS] } else { [0, 11, 0] };
        assert_eq!(told, expected, "{set:?}");
    }
}

#[test]
fn every_scheme_flushes_it() {
    for scheme in ["ideal", "ufs", "ufs-compressed", "ufs-tuned", "hp-ufs", "dftl", "tpftl", "msftl"] {
        let set = [("host.memory_mib", 64.into())];
        let run = run(&boosted(scheme, 20, &set), burst_and_rest(20 * SLC_UNITS + 4096));
        let (folded, left) = (counter(&run, "slc_victims"), counter(&run, "slc_superblocks"));
        // The last one that the host of hp-ufs has named becomes free with its next command.
        assert_eq!((folded, left), (20, u64::from(scheme == "hp-ufs")), "{scheme}");
        let copied = counter(&run, "gc_units_programmed");
        assert!(copied <= folded * SLC_UNITS && copied + 16 > (folded - 1) * SLC_UNITS, "{scheme}: {copied} copied");
    }
}

/// The capacity is smaller by three times the buffer, and the buffer is there also when the device is full.
#[test]
fn user_space_that_is_reduced_is_the_buffers() {
    let set = [&no_flush()[..], &[("slc.user_space", "reduced".into())]].concat();
    let spec = boosted("ideal", 50, &set);
    let units = u64::from(spec.resolve().expect("a profile that fits").profile.capacity_units());
    assert_eq!(units, SMALL_MIB * 256 - 50 * UNITS);
    // All of it, and then what lies in the buffer and as much again. So half of that goes where the older data were.
    let requests = burst(units).into_iter().chain(burst(100 * SLC_UNITS)).collect();
    let result = run(&spec, requests);
    let (held, programmed) = (counter(&result, "slc_superblocks"), counter(&result, "slc_units_programmed"));
    assert_eq!(held, 50);
    assert!(programmed <= 100 * SLC_UNITS && programmed > 99 * SLC_UNITS, "{programmed}");
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    for (superblocks, set, told) in [
        (0, ("host.wb_on", true.into()), "slc.write_booster = true: must be false without slc.superblocks"),
        (20, ("log.max_log_blocks", 3.into()), "log.max_log_blocks = 3: must be at least 4 with slc.write_booster"),
        (20, ("slc.user_space", "none".into()), "slc.user_space = \"none\": must be"),
        (
            500,
            ("slc.user_space", "reduced".into()),
            "device.capacity_mib = 4096: must be more than slc.superblocks = 500 take",
        ),
    ] {
        let refused =
            boosted("ufs", superblocks, &[set]).resolve().map(|_| ()).expect_err("it does not fit").to_string();
        assert!(refused.contains(told), "{refused}");
    }
}
