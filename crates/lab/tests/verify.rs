//! Read-back after a run: results are those of the run without it, and what flash that fails has done is no excuse.

#[allow(dead_code, reason = "other tests use the rest")]
use std::ops::ControlFlow;

use crate::common::{closed, request, tiny};
use ufsim_lab::{LabError, RunResult, Spec, Verified, Workload, schemes, simulate, simulate_workload};
use workload::fio::JobFile;
use workload::{Rng, WorkOp, WorkRequest};

/// Units of the tiny device.
const CAPACITY: u64 = 32_768;

/// Random writes, and a few trims; nothing is read.
fn changes(count: u32) -> Vec<WorkRequest> {
    let mut rng = Rng::from_seed(8);
    let op = |rng: &mut Rng| if rng.below(20) == 0 { WorkOp::Trim } else { WorkOp::Write };
    (0..count).map(|_| request(op(&mut rng), rng.below(CAPACITY - 4), 1 + rng.below(4))).collect()
}

/// A result without times of the machine, and apart from it what was verified.
fn parted(mut result: RunResult) -> (RunResult, Option<Verified>) {
    (result.wall_seconds, result.requests_per_wall_second, result.flash_ops_per_wall_second) = (0.0, 0.0, 0.0);
    let verified = result.verified.take();
    (result, verified)
}

#[test]
fn a_result_is_that_of_the_run_without_it() {
    for preset in schemes() {
        let with = tiny(preset.name, 1);
        let without = Spec { verify: false, ..with.clone() };
        let run = |spec: &Spec| parted(closed(spec, changes(20_000), 8).expect("a run"));
        let ((with, verified), (without, none)) = (run(&with), run(&without));
        assert_eq!((with, none), (without, None), "{}", preset.name);
        let verified = verified.expect("it was asked for");
        // 19 of 20 requests write 2.5 units of 32,768 on the average: most units are written, some trimmed since.
        assert!((20_000..CAPACITY).contains(&verified.data_units), "{}: {verified:?}", preset.name);
        assert!(verified.trimmed_units > 500, "{}: {verified:?}", preset.name);
    }
}

/// Reads fail while the workload runs, and each failure is explained by a fault in its page. Nothing fails in the
/// read-back, where everything has to be there.
#[test]
fn everything_is_there_on_flash_that_fails() {
    for preset in schemes() {
        let mut spec = tiny(preset.name, 1);
        for (key, rate) in [("read", 10_000), ("program", 300), ("erase", 1000)] {
            spec.set.insert(format!("faults.{key}_per_million"), rate.into());
        }
        let reads = |requests: Vec<WorkRequest>| {
            let read = |r: &WorkRequest| request(WorkOp::Read, r.sector / 8, r.bytes / 4096);
            requests.into_iter().flat_map(move |r| [read(&r), r]).collect()
        };
        let result = closed(&spec, reads(changes(20_000)), 8).expect("every failure has its fault");
        assert!(result.failed > 20, "{}: {} requests failed", preset.name, result.failed);
        assert!(result.verified.is_some_and(|verified| verified.data_units > 20_000), "{}", preset.name);
    }
}

/// A device that is worn out refuses writes. What it had accepted is read back; what it has refused may be there in
/// part.
#[test]
fn a_worn_out_device_holds_what_it_has_accepted() {
    for preset in schemes() {
        let mut spec = tiny(preset.name, 1);
        for (key, rate) in [("program", 1_000), ("erase", 60_000)] {
            spec.set.insert(format!("faults.{key}_per_million"), rate.into());
        }
        let result = closed(&spec, changes(60_000), 8).expect("refusals only of a device that is worn out");
        assert!(result.failed > 1_000, "{}: {} requests were refused", preset.name, result.failed);
        assert!(result.verified.is_some(), "{}", preset.name);
    }
}

/// HP-UFS Figs. 6 and 7 in small: random writes on a new device, and in a range of a full one that was aged. They read
/// nothing, so a scheme that lost data would score the same without the read-back.
#[test]
fn figures_that_only_write_lose_nothing() {
    let new = "[new]\nrw=randwrite\nbs=4k\niodepth=8\nsize=60m\n";
    let aged = "[fill]\nrw=write\nbs=512k\niodepth=8\nsize=90m\n\
                [age]\nstonewall\nfilename=range\nrw=randwrite\nbs=4k\niodepth=8\nsize=24m\nio_size=120m\n\
                [gc]\nstonewall\nfilename=range\nrw=randwrite\nbs=4k\niodepth=8\nsize=24m\nio_size=24m\n";
    for preset in schemes() {
        let run = |text: &str| {
            let spec = tiny(preset.name, 1);
            let job = JobFile::parse(text, "figure.fio").expect("a valid job");
            let source = job.bind(CAPACITY as u32, spec.seed).expect("a job that fits");
            simulate_workload(&spec, Workload::generated(Box::new(source)), &mut |_| ControlFlow::Continue(()))
        };
        let mib = 256;
        let verified = |text| run(text).expect("everything is there").verified.expect("it was asked for").data_units;
        assert_eq!((verified(new), verified(aged)), (60 * mib, (90 + 24) * mib), "{}", preset.name);
    }
}

/// The caller can stop a read-back, which is a phase of its own.
#[test]
fn its_progress_is_shown_and_can_be_stopped() {
    let workload = "rw=randwrite bs=4k iodepth=8 size=100m";
    let spec = Spec { profile: "tiny".into(), verify: true, ..Spec::new("ufs", workload) };
    let mut phases = Vec::new();
    let stopped = simulate(&spec, &mut |at| {
        phases.push((at.phase, at.total_bytes));
        if at.phase == "verify" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(stopped, Err(LabError::Interrupted));
    assert_eq!(phases.last().map(|(phase, _)| *phase), Some("verify"), "{phases:?}");
}

/// Groups of HPB that are dirty from a write on and clean with the response. Entries that are still under way to the
/// host serve nothing, so no read gets older data; the groups' other entries serve.
#[test]
fn an_entry_under_way_to_the_host_gives_no_older_data() {
    let requests = || -> Vec<WorkRequest> {
        let mut rng = Rng::from_seed(3);
        let op = |rng: &mut Rng| if rng.below(4) == 0 { WorkOp::Write } else { WorkOp::Read };
        (0..30_000).map(|_| request(op(&mut rng), rng.below(2000), 1)).collect()
    };
    let refused = |dirty: &str, clean: &str| {
        let mut spec = tiny("hpb", 1);
        for (key, value) in [("hpb_dirty_from", dirty), ("hpb_clean_from", clean)] {
            spec.set.insert(format!("scheme.segment-log.{key}"), value.into());
        }
        spec.set.insert("scheme.hpb.max_defer_us".into(), 100.into());
        let result = closed(&spec, requests(), 8).expect("a run without wrong data");
        assert!(result.counters.host["hpb_reads"] > 1000, "{:?}", result.counters.host);
        result.counters.device["host_entries_refused"]
    };
    let [usual, early, late] = [("program", "next-command"), ("program", "response"), ("write", "response")]
        .map(|(dirty, clean)| refused(dirty, clean));
    assert!(early < usual && usual < late, "{early}, {usual}, {late}");
}
