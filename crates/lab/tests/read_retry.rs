//! Read retry in a run: what lay on flash when the workload began, and what it has written since.

use crate::common::{closed, request, small_hp_ufs};
use ufsim_lab::RunResult;
use workload::{WorkOp, WorkRequest};

fn run(set: &[(&'static str, u32)], requests: Vec<WorkRequest>) -> RunResult {
    // A page that is in the register needs no retry.
    let register = [("nand.page_register", false.into())];
    let set = set.iter().map(|&(key, value)| (key, value.into())).chain(register);
    let mut spec = small_hp_ufs("ideal", set);
    (spec.precondition, spec.verify) = ("footprint".into(), false);
    closed(&spec, requests, 1).expect("a run")
}

/// One unit here and there.
fn each_row(op: WorkOp) -> impl Iterator<Item = WorkRequest> {
    (0..200).map(move |n| request(op, 128 * n, 1))
}

fn reads_and_retries(run: &RunResult) -> [u64; 2] {
    ["read", "retry"].map(|kind| run.nand_ops["host_read"].get(kind).copied().unwrap_or(0))
}

#[test]
fn data_from_before_the_workload_have_the_retention_age() {
    let steps = [("nand.retry_steps", 2), ("nand.retry_fresh_steps", 1)];
    let (without, with) = (run(&[], each_row(WorkOp::Read).collect()), run(&steps, each_row(WorkOp::Read).collect()));
    assert_eq!(reads_and_retries(&without), [200, 0]);
    assert_eq!(reads_and_retries(&with), [200, 400]);
    // One at a time, so each read takes its die three times as long, and nothing else changes.
    assert_eq!(with.nand_time_ns["host_read"], 3 * without.nand_time_ns["host_read"]);
    let [long, short] = [&with, &without].map(|run| run.latency_ns.read.expect("reads").mean);
    let each = 2.0 * without.nand_time_ns["host_read"] as f64 / 200.0;
    // Latencies are counted in bins of a thousandth.
    assert!((long - short - each).abs() < (long + short) / 1000.0, "{long} - {short} is not {each}");
}

#[test]
fn data_that_the_workload_has_written_are_fresh() {
    let steps = [("nand.retry_steps", 2), ("nand.retry_fresh_steps", 1)];
    // A flush brings them to flash.
    let flush = WorkRequest { bytes: 0, ..request(WorkOp::Flush, 0, 0) };
    let requests = each_row(WorkOp::Write).chain([flush]).chain(each_row(WorkOp::Read)).collect();
    let [reads, retries] = reads_and_retries(&run(&steps, requests));
    assert!(reads > 0 && retries == reads, "{retries} retries of {reads} reads");
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let refused = |key: &'static str, list: &str| {
        let spec = small_hp_ufs("ideal", [(key, list.into())]);
        spec.resolve().map(|_| ()).expect_err("it does not fit").to_string()
    };
    let falls = refused("nand.retry_cycles", "5,5");
    assert!(falls.contains("nand.retry_cycles = [5, 5]: must be in rising order"), "{falls}");
    let many = refused("nand.retry_steps", "1,2");
    assert!(many.contains("nand.retry_steps = [1, 2]: must be one number, or one for each of the 1"), "{many}");
}
