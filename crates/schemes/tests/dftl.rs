//! The worked example of lazy batched eviction, and what a mapping cache costs, on the bare device.

use std::collections::BTreeMap;

use crate::kit::{Bench, Rng, tiny};
use ftl::{Device, DeviceConfig, MappingKind, SramConfig};
use nand::{Cause, Geometry, Kind};
use params::CountOr;
use ufs::Op;
use ufsim_schemes::{Cdftl, DemandParams, Dftl};
use units::Lpa;

/// A device with a cache of `entries` entries (a multiple of 128; `None`: of all), which writes changed entries after
/// `background` microseconds without commands. It has been written once in ascending order and is idle.
fn written(entries: Option<u32>, background: Option<u32>, kind: MappingKind) -> Bench {
    let mut cfg = DeviceConfig { write_through: true, ..tiny() };
    change(&mut cfg, |common| {
        common.cache_kib = entries.map_or(CountOr::Word("unlimited"), |entries| CountOr::Count(entries * 8 / 1024));
        common.background_us = background.map_or(CountOr::Word("never"), CountOr::Count);
    });
    let mut bench = Bench::new(cfg, kind);
    for lpa in (0..4096).step_by(16) {
        bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
    }
    bench.settle();
    bench
}

/// This device with a cache of so many KiB, of entries of so many bytes.
fn with_cache(mut cfg: DeviceConfig, cache_kib: CountOr, entry_bytes: u32) -> DeviceConfig {
    change(&mut cfg, |common| (common.cache_kib, common.entry_bytes) = (cache_kib, entry_bytes));
    cfg
}

/// Changes parameters of both schemes, also to what no profile may say.
fn change(cfg: &mut DeviceConfig, to: impl Fn(&mut DemandParams)) {
    let mut own = *cfg.mappings.get::<Dftl>();
    to(&mut own.single.common);
    cfg.mappings.put::<Dftl>(own);
    cfg.mappings.put::<Cdftl>(own);
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
    let mut bench = written(Some(256), None, MappingKind::of::<Dftl>());
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
    let mut bench = written(Some(256), None, MappingKind::of::<Dftl>());
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
    for kind in [MappingKind::of::<Dftl>(), MappingKind::of::<Cdftl>()] {
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
    let mut bench = written(None, None, MappingKind::of::<Dftl>());
    let mut rng = Rng(6);
    for _ in 0..1000 {
        bench.send(Op::Write { lpa: Lpa(rng.below(4096)), len: 1, fua: false });
    }
    bench.settle();
    let own = counters(&bench);
    assert_eq!((own["cmt_dirty_evictions"], bench.device.stats().segment_misses), (0, 0), "{own:?}");
    assert_eq!(own["cmt_write_misses"], own["cmt_unwritten_misses"], "{own:?}");
}

/// The pool has 96 buffers, the log 192 entries of 16 bytes. The directory has 4 bytes for each translation page, its
/// number, each of 28 or 160 segment bitmaps, 2 records and 32 pages of the journal. A superblock has a valid page
/// count of 2 bytes, an erase count, and a number of its newest change.
#[test]
fn sram_holds_pool_cache_log_directory_and_a_few_bytes_for_each_superblock() {
    let small = |cache| with_cache(tiny(), cache, 8);
    let fixed = 96 * 4096 + 192 * 16 + 4 * (2 * 8 + 28 + 2 + 32) + 28 * (2 + 8);
    let geometry = Geometry { pages_per_block: 512, data_superblocks: 160, ..tiny().geometry };
    let large = DeviceConfig { geometry, capacity_units: 1 << 20, ..tiny() };
    let large = with_cache(large, CountOr::Count(1088), 4);
    let fixed_large = 96 * 4096 + 192 * 16 + 4 * (2 * 1024 + 160 + 2 + 32) + 160 * (2 + 8);
    let (all, kib) = (CountOr::Word("unlimited"), 1024);
    for (cfg, kind, bytes) in [
        (small(CountOr::Count(8)), MappingKind::of::<Dftl>(), fixed + 8 * kib),
        (small(CountOr::Count(8)), MappingKind::of::<Cdftl>(), fixed + 8 * kib),
        (small(all), MappingKind::of::<Dftl>(), fixed + 4096 * 8),
        // The whole table twice: by entries, and by pages.
        (small(all), MappingKind::of::<Cdftl>(), fixed + 2 * 4096 * 8),
        (large.clone(), MappingKind::of::<Dftl>(), fixed_large + 1088 * kib),
        (large, MappingKind::of::<Cdftl>(), fixed_large + 1088 * kib),
    ] {
        let stats = Device::new(cfg, kind).stats();
        assert_eq!((stats.sram_bytes, stats.device_dram_bytes), (bytes, 0), "{kind:?}");
    }
}

/// A pool of 4 MiB: the entries of 1024 writes under way, as many that can leave, and for cdftl a translation page.
#[test]
fn the_cache_holds_at_least_the_writes_under_way_twice() {
    let sram = SramConfig { pool: 1024, ..tiny().sram };
    let check = |kind: MappingKind, kib, entry_bytes| {
        let cfg = with_cache(DeviceConfig { sram, ..tiny() }, CountOr::Count(kib), entry_bytes);
        kind.check(&cfg).map_err(|error| error.to_string())
    };
    let refused = |scheme: &str, kib: u32, least: u32| {
        Err(format!("scheme.{scheme}.cache_kib = {kib}: must be at least {least} with sram.pool_kib = 4096"))
    };
    assert_eq!(check(MappingKind::of::<Dftl>(), 16, 8), Ok(()));
    assert_eq!(check(MappingKind::of::<Dftl>(), 15, 8), refused("dftl", 15, 16));
    assert_eq!(check(MappingKind::of::<Dftl>(), 8, 4), Ok(()));
    assert_eq!(check(MappingKind::of::<Dftl>(), 7, 4), refused("dftl", 7, 8));
    assert_eq!(check(MappingKind::of::<Cdftl>(), 20, 8), Ok(()));
    assert_eq!(check(MappingKind::of::<Cdftl>(), 19, 8), refused("cdftl", 19, 20));
}

#[test]
fn a_device_without_room_for_its_translation_pages_is_refused() {
    // 256 translation pages, 28 bitmaps, 40 of records and journal; a superblock has 256 units, 9 for its snapshot.
    let check = |meta_superblocks| {
        let geometry = Geometry { meta_superblocks, ..tiny().geometry };
        let cfg = DeviceConfig { geometry, capacity_units: 256 * 512, ..tiny() };
        MappingKind::of::<Dftl>().check(&cfg).map_err(|error| format!("{}.{}", error.table, error.key))
    };
    assert_eq!(check(6), Ok(()));
    assert_eq!(check(5), Err("nand.meta_superblocks".to_string()));
}
