//! Work that takes no time is done all the same.

mod common;

use common::{closed, request, tiny};
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
