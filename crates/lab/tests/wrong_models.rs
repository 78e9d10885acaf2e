//! Wrong models that claims of papers are compared with: each does what its key says, and loses no data.

use std::ops::ControlFlow;

use serde_json::Value;
use ufsim_lab::{RunResult, Spec, simulate};

const AGE: &str = "rw=randwrite bs=4k iodepth=8 size=120m io_size=400m";
const WRITES: &str = "rw=randwrite bs=4k iodepth=4 size=40m io_size=24m";

fn run(scheme: &str, set: &[(&str, Value)]) -> RunResult {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let age = Some(AGE.into());
    let spec = Spec { profile: "tiny".into(), age, set, verify: true, ..Spec::new(scheme, WRITES) };
    simulate(&spec, &mut |_| ControlFlow::Continue(())).expect("a run without lost data")
}

fn device(run: &RunResult, name: &str) -> u64 {
    run.counters.device[name]
}

#[test]
fn hp_ufs_that_searches_flash_reads_as_many_segments_as_ufs() {
    let plain = run("hp-ufs", &[]);
    let searching = run("hp-ufs", &[("scheme.hp-ufs.searches_flash", true.into())]);
    let ufs = run("ufs", &[]);
    assert_eq!((device(&plain, "search_segment_reads"), device(&plain, "search_ns")), (0, 0));
    let of_each = |run: &RunResult| device(run, "search_segment_reads") as f64 / device(run, "gc_victims") as f64;
    // Its segment cache is smaller by the tables of UFS, and keeps fewer of them from one step to the next.
    assert!(of_each(&searching) >= of_each(&ufs), "{} against {}", of_each(&searching), of_each(&ufs));
    assert!(searching.iops < plain.iops && device(&searching, "search_ns") > 0);
}

#[test]
fn a_bitmap_at_hand_saves_the_segments_of_pages_that_are_not_copied() {
    let named = run("ufs", &[]);
    let copied = run("ufs", &[("scheme.segment-log.search_reads", "copied".into())]);
    let [all, fewer] =
        [&named, &copied].map(|run| device(run, "search_segment_reads") * 1000 / device(run, "gc_victims"));
    assert!(fewer < all && fewer > 0, "{fewer} of {all} for a thousand victims");
}

#[test]
fn hp_ufs_that_does_not_delay_writes_far_more_segments() {
    let after = |entries: u32| {
        device(&run("hp-ufs", &[("scheme.hp-ufs.write_after_entries", entries.into())]), "segment_writes")
    };
    let [asked, some, one] = [device(&run("hp-ufs", &[]), "segment_writes"), after(100), after(1)];
    assert!(asked * 2 < some && some * 2 < one, "{asked}, {some}, {one}");
}
