//! How `segment-log` flushes its map: order, overlap of reads and programs, and commands beside a flush.
//!
//! The device acknowledges writes that are on flash, transfers take no time, no page is read from a register, and no
//! segment is cached. So a flush takes the time of its flash operations, and each reads all of its segments.

use std::collections::BTreeMap;

use crate::common::{closed, request, tiny};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// Units of the device; 32 segments.
const UNITS: u64 = 32 * 1024;

/// One die with as large superblocks as profile `tiny` has on four.
const ONE_DIE: [(&str, u64); 4] =
    [("nand.channels", 1), ("nand.planes", 1), ("nand.page_kib", 4), ("nand.pages_per_block", 256)];

fn run(mode: &str, order: &str, shape: &[(&str, u64)], requests: Vec<WorkRequest>) -> RunResult {
    let mut spec = tiny("ufs", 1);
    let set: [(&str, serde_json::Value); 6] = [
        ("sram.write_through", true.into()),
        ("nand.transfer_mib_per_s", 0.into()),
        ("nand.page_register", false.into()),
        ("scheme.segment-log.cached", "entries".into()),
        ("scheme.segment-log.flush_mode", mode.into()),
        ("scheme.segment-log.flush_order", order.into()),
    ];
    let shape = shape.iter().map(|&(key, value)| (key, value.into()));
    spec.set = set.into_iter().chain(shape).map(|(key, value)| (key.to_owned(), value)).collect();
    closed(&spec, requests, 1).expect("a closed replay")
}

/// Writes of single units all over the device, too few for GC.
fn random() -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(5);
    (0..1900).map(|_| request(WorkOp::Write, rng.below(UNITS), 1)).collect()
}

fn device_counters(run: &RunResult) -> BTreeMap<String, u64> {
    run.counters.device.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

/// The counters of a run of many flushes without GC.
fn counters(run: &RunResult) -> BTreeMap<String, u64> {
    let counters = device_counters(run);
    assert!(counters["map_flushes"] > 15 && counters["gc_steps"] == 0, "{counters:?}");
    counters
}

/// The counters without those that tell times and memory.
fn operations(run: &RunResult) -> BTreeMap<String, u64> {
    let mut counters = counters(run);
    counters.retain(|name, _| !name.ends_with("_ns") && !name.starts_with("sram"));
    counters
}

#[test]
fn the_order_of_a_flush_changes_no_operation() {
    let [log, address] = ["log", "address"].map(|order| run("rounds", order, &[], random()));
    assert_eq!(operations(&log), operations(&address));
}

/// In a log that names segments in the order of their addresses, both orders are one.
#[test]
fn a_log_in_order_of_addresses_is_flushed_alike_in_both_orders() {
    let upwards = |i: u64| request(WorkOp::Write, i * 337 % UNITS, 1);
    let times = ["log", "address"].map(|order| {
        // Of 97 writes, which is what a flush covers, none is below the one before. The read waits for the flush.
        let run = run("rounds", order, &[], (0..97).map(upwards).chain([request(WorkOp::Read, 0, 1)]).collect());
        let counters = device_counters(&run);
        assert_eq!(counters["map_flushes"], 1);
        counters["exclusive_ns"]
    });
    assert_eq!(times[0], times[1]);
}

/// One die is busy all the time of a flush, in whatever order it reads and programs.
#[test]
fn on_one_die_a_pipeline_gains_nothing() {
    let [rounds, pipelined] = ["rounds", "pipelined"].map(|mode| counters(&run(mode, "log", &ONE_DIE, random())));
    assert_eq!(rounds, pipelined);
    // A segment is read in 25 us and programmed in 150 us. The segment bitmap of at least one superblock follows.
    let least = rounds["segment_writes"] * 175_000 + rounds["map_flushes"] * 150_000;
    assert!(rounds["exclusive_ns"] >= least, "{rounds:?}");
}

#[test]
fn on_several_dies_a_pipeline_reads_while_it_programs() {
    let [rounds, pipelined] = ["rounds", "pipelined"].map(|mode| run(mode, "log", &[], random()));
    assert_eq!(operations(&rounds), operations(&pipelined));
    let [serial, overlapped] = [&rounds, &pipelined].map(|run| counters(run)["exclusive_ns"]);
    assert!(overlapped < serial, "{overlapped} ns, {serial} ns one after the other");
    // Four dies can not be busier than all the time. A program has up to four map units.
    let least = (counters(&rounds)["segment_reads"] * 25_000 + counters(&rounds)["segment_writes"] / 4 * 150_000) / 4;
    assert!(overlapped >= least, "{overlapped} ns, {least} ns of work for each die");
}

#[test]
fn a_flush_in_the_background_stops_no_command() {
    let [rounds, background] = ["rounds", "background"].map(|mode| counters(&run(mode, "log", &[], random())));
    assert!(rounds["exclusive_ns"] > 0);
    assert_eq!(background["exclusive_ns"], 0);
}
