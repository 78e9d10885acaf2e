//! The worked example of lazy batched eviction, and what a mapping cache costs, on the bare device.

mod kit;

use std::collections::BTreeMap;

use kit::{Bench, Rng, tiny};
use nand::{Cause, Kind};
use params::CountOr;
use ufs::Op;
use ufsim_device::{DeviceConfig, MappingKind};
use units::Lpa;

/// A device with a cache of `entries` entries (a multiple of 128; `None`: of all), which writes changed entries after
/// `background` microseconds without commands. It has been written once in ascending order and is idle.
fn written(entries: Option<u32>, background: Option<u32>, kind: MappingKind) -> Bench {
    let mut cfg = DeviceConfig { write_through: true, ..tiny() };
    let own = match kind {
        MappingKind::Cdftl => &mut cfg.mappings.Cdftl,
        _ => &mut cfg.mappings.Dftl,
    };
    own.cache_kib = entries.map_or(CountOr::Word("unlimited"), |entries| CountOr::Count(entries * 8 / 1024));
    own.background_us = background.map_or(CountOr::Word("never"), CountOr::Count);
    let mut bench = Bench::new(cfg, kind);
    for lpa in (0..4096).step_by(16) {
        bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
    }
    bench.settle();
    bench
}

/// One command; waits until the device is idle.
fn one(bench: &mut Bench, op: Op) {
    bench.send(op);
    bench.settle();
}

fn read(bench: &mut Bench, lpa: u32) {
    one(bench, Op::Read { lpa: Lpa(lpa), len: 1 });
}

/// Counters of the scheme.
fn counters(bench: &Bench) -> BTreeMap<&'static str, u64> {
    bench.device.scheme_counters().into_iter().map(|(counter, value)| (counter.name, value)).collect()
}

#[test]
fn evicting_one_changed_entry_writes_all_of_its_translation_page() {
    let mut bench = written(Some(256), None, MappingKind::Dftl);
    // Fills the cache with clean entries of the last translation page.
    (3600..3900).for_each(|lpa| {
        read(&mut bench, lpa);
    });
    // Changes 8 entries of translation page 0 and 3 of translation page 1. Entry 0 leaves first.
    for lpa in [0, 1, 2, 3, 4, 5, 6, 7, 512, 513, 514] {
        one(&mut bench, Op::Write { lpa: Lpa(lpa), len: 1, fua: false });
    }
    let before = counters(&bench);
    let mut next = 2048;
    while counters(&bench)["cmt_page_writes"] == before["cmt_page_writes"] {
        read(&mut bench, next);
        next += 1;
    }
    let after = counters(&bench);
    let grown = |name: &str| after[name] - before[name];
    assert_eq!(grown("cmt_dirty_evictions"), 1);
    assert_eq!(grown("cmt_page_writes"), 1);
    assert_eq!(grown("cmt_entries_written"), 8, "all changed entries of the page, and no others");
    // The other seven leave without a write. The next write is that of translation page 1.
    while counters(&bench)["cmt_page_writes"] == after["cmt_page_writes"] {
        read(&mut bench, next);
        next += 1;
    }
    let last = counters(&bench);
    assert_eq!(last["cmt_entries_written"] - after["cmt_entries_written"], 3);
    assert!(last["cmt_read_misses"] - after["cmt_read_misses"] >= 8);
}

#[test]
fn a_miss_costs_the_flash_operations_of_the_model() {
    let mut bench = written(Some(256), None, MappingKind::Dftl);
    let map_ops = |bench: &Bench| {
        let reads = bench.device.nand_counters().ops(Cause::MapRead, Kind::Read);
        (reads, counters(bench)["cmt_page_writes"])
    };
    (3600..3900).for_each(|lpa| {
        read(&mut bench, lpa);
    });
    let (reads, writes) = map_ops(&bench);
    read(&mut bench, 10);
    assert_eq!(map_ops(&bench), (reads + 1, writes), "a clean entry leaves: one read");
    read(&mut bench, 10);
    assert_eq!(map_ops(&bench), (reads + 1, writes), "a hit costs nothing");
    one(&mut bench, Op::Write { lpa: Lpa(20), len: 1, fua: false });
    assert_eq!(map_ops(&bench), (reads + 2, writes), "a write loads its entry, too");
    one(&mut bench, Op::Read { lpa: Lpa(30), len: 4 });
    assert_eq!(map_ops(&bench), (reads + 6, writes), "every page of a request for itself");
}

#[test]
fn idle_time_leaves_no_changed_entries() {
    for kind in [MappingKind::Dftl, MappingKind::Cdftl] {
        let mut bench = written(Some(1024), Some(100), kind);
        let mut rng = Rng(5);
        for _ in 0..200 {
            bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
        }
        bench.settle();
        let before = counters(&bench);
        assert!(before["cmt_background_flushes"] > 0, "{kind:?}: {before:?}");
        for lpa in 0..4096 {
            bench.send(Op::Read { lpa: Lpa(lpa), len: 1 });
        }
        bench.settle();
        let after = counters(&bench);
        assert_eq!(after["cmt_page_writes"], before["cmt_page_writes"], "{kind:?}: reads evict only clean entries");
    }
}

#[test]
fn a_cache_of_the_whole_table_never_writes_to_make_room() {
    let mut bench = written(None, None, MappingKind::Dftl);
    let mut rng = Rng(6);
    for _ in 0..1000 {
        bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
    }
    bench.settle();
    let own = counters(&bench);
    assert_eq!((own["cmt_dirty_evictions"], bench.device.stats().segment_misses), (0, 0), "{own:?}");
    assert_eq!(own["cmt_write_misses"], own["cmt_unwritten_misses"], "{own:?}");
}
