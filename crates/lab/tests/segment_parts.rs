//! Segments written in parts by `segment-log`, against what chance says about random writes, on the device of HP-UFS
//! with less flash.
//!
//! One request of 4 KiB at a time, acknowledged when it is on flash, and no GC: then a map flush covers one log entry
//! more than `scheme.segment-log.flush_above_entries`, and which parts of the table these touch is a matter of chance
//! alone.

use crate::common::{SMALL_MIB, closed, counter, request, small_hp_ufs};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// Log entries of a map flush: one more than profile `hp-ufs` allows without.
const ENTRIES: u64 = 1409;
const FLUSHES: u64 = 40;

fn run(segment_kib: u64) -> RunResult {
    let set: [(&str, serde_json::Value); 3] = [
        ("sram.write_through", true.into()),
        // The same segment cache for all sizes, so that the rounds of a flush are as large.
        ("sram.covers", "pool".into()),
        ("scheme.*.segment_kib", segment_kib.into()),
    ];
    let spec = small_hp_ufs("ufs", set);
    let mut rng = Rng::from_seed(3);
    let write = |_| request(WorkOp::Write, rng.below(SMALL_MIB * 256), 1);
    // The last one waits for the last flush.
    let requests: Vec<WorkRequest> = (0..=ENTRIES * FLUSHES).map(write).collect();
    let run = closed(&spec, requests, 1).expect("a closed replay");
    assert_eq!(counter(&run, "gc_victims"), 0, "GC would come to the user's writes");
    assert_eq!(counter(&run, "map_flushes"), FLUSHES, "{segment_kib} KiB");
    run
}

/// Parts that the entries of a flush touch: of N parts, N (1 - (1 - 1/N)^n).
fn touched(segment_kib: u64) -> f64 {
    let all = (SMALL_MIB / segment_kib) as f64;
    all * (1.0 - (1.0 - 1.0 / all).powf(ENTRIES as f64))
}

#[test]
fn random_writes_touch_as_many_parts_as_chance_says() {
    for segment_kib in [4, 2, 1] {
        let measured = counter(&run(segment_kib), "segment_writes") as f64 / FLUSHES as f64;
        let expected = touched(segment_kib);
        let error = measured / expected - 1.0;
        assert!(error.abs() < 0.01, "{segment_kib} KiB: {measured} parts a flush, by chance {expected}");
    }
}

/// Everything else that is written as metadata is the same, so that the difference is that of the parts alone. Each
/// flush ends with a program that is not full, up to 3 units of padding more or less.
#[test]
fn map_bytes_of_a_flush_follow_from_the_parts_touched() {
    let units = |segment_kib| counter(&run(segment_kib), "map_units_programmed") as f64 / FLUSHES as f64;
    let whole = units(4);
    for segment_kib in [2, 1] {
        let saved = whole - units(segment_kib);
        let expected = touched(4) - touched(segment_kib) * segment_kib as f64 / 4.0;
        assert!((saved - expected).abs() < 3.0, "{segment_kib} KiB saves {saved} units a flush, by chance {expected}");
    }
}
