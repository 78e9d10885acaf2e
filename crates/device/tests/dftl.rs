//! The worked example of lazy batched eviction, and what a mapping cache costs, on the bare device.

mod kit;

use kit::{Bench, Rng, tiny};
use nand::{Cause, Kind};
use ufs::Op;
use ufsim_device::{CmtConfig, DeviceConfig, DeviceStats, MappingKind};
use units::{Lpa, Nanos};

/// A device with a cache of so many entries, written once in ascending order and at rest.
fn written(entries: u64, background: Option<Nanos>, kind: MappingKind) -> Bench {
    let cmt = CmtConfig { cache_bytes: 8 * entries, entry_bytes: 8, background };
    let mut bench = Bench::new(DeviceConfig { cmt, write_through: true, ..tiny() }, kind);
    for lpa in (0..4096).step_by(16) {
        bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
    }
    bench.settle();
    bench
}

/// One command, then rest; gives the counters before and after.
fn one(bench: &mut Bench, op: Op) -> (DeviceStats, DeviceStats) {
    let before = bench.device.stats();
    bench.send(op);
    bench.settle();
    (before, bench.device.stats())
}

fn read(bench: &mut Bench, lpa: u32) -> (DeviceStats, DeviceStats) {
    one(bench, Op::Read { lpa: Lpa(lpa), len: 1 })
}

#[test]
fn evicting_one_changed_entry_writes_all_of_its_translation_page() {
    let mut bench = written(256, None, MappingKind::Dftl);
    // Fills the cache with clean entries of the last translation page.
    (3600..3900).for_each(|lpa| {
        read(&mut bench, lpa);
    });
    // Changes 8 entries of translation page 0 and 3 of translation page 1; 0 is the first to leave.
    for lpa in [0, 1, 2, 3, 4, 5, 6, 7, 512, 513, 514] {
        one(&mut bench, Op::Write { lpa: Lpa(lpa), len: 1, fua: false });
    }
    let before = bench.device.stats();
    let mut next = 2048;
    while bench.device.stats().cmt_page_writes == before.cmt_page_writes {
        read(&mut bench, next);
        next += 1;
    }
    let after = bench.device.stats();
    let grown = |counter: fn(&DeviceStats) -> u64| counter(&after) - counter(&before);
    assert_eq!(grown(|s| s.cmt_dirty_evictions), 1);
    assert_eq!(grown(|s| s.cmt_page_writes), 1);
    assert_eq!(grown(|s| s.cmt_entries_written), 8, "all changed entries of the page, and no others");
    // The other seven leave without a write; the next write is that of the other page.
    while bench.device.stats().cmt_page_writes == after.cmt_page_writes {
        read(&mut bench, next);
        next += 1;
    }
    let last = bench.device.stats();
    assert_eq!(last.cmt_entries_written - after.cmt_entries_written, 3);
    assert!(last.cmt_read_misses - after.cmt_read_misses >= 8);
}

#[test]
fn a_miss_costs_the_flash_operations_of_the_model() {
    let mut bench = written(256, None, MappingKind::Dftl);
    let map_ops = |bench: &Bench| {
        let reads = bench.device.nand_counters().ops(Cause::MapRead, Kind::Read);
        (reads, bench.device.stats().cmt_page_writes)
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
    let us = Nanos::from_micros;
    for kind in [MappingKind::Dftl, MappingKind::Cdftl] {
        let mut bench = written(1024, Some(us(100)), kind);
        let mut rng = Rng(5);
        for _ in 0..200 {
            bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
        }
        bench.settle();
        let before = bench.device.stats();
        assert!(before.cmt_background_flushes > 0, "{kind:?}: {before:?}");
        for lpa in 0..4096 {
            bench.send(Op::Read { lpa: Lpa(lpa), len: 1 });
        }
        bench.settle();
        let after = bench.device.stats();
        assert_eq!(after.cmt_page_writes, before.cmt_page_writes, "{kind:?}: reads evict only clean entries");
    }
}

#[test]
fn a_cache_of_the_whole_table_never_writes_to_make_room() {
    let mut bench = written(1 << 32, None, MappingKind::Dftl);
    let mut rng = Rng(6);
    for _ in 0..1000 {
        bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
    }
    bench.settle();
    let stats = bench.device.stats();
    assert_eq!((stats.cmt_dirty_evictions, stats.segment_misses), (0, 0), "{stats:?}");
    assert_eq!(stats.cmt_write_misses, stats.cmt_unwritten_misses, "{stats:?}");
}
