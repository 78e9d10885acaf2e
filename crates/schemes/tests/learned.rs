//! `cached = "learned"` on the bare device: what it learns of data in order and without any, and what a misprediction
//! costs. The bench checks all that is read.

use std::collections::BTreeMap;

use crate::kit::{Bench, Rng, tiny};
use ftl::{DeviceConfig, MappingKind, SramConfig};
use ufs::Op;
use ufsim_schemes::SegmentLog;
use units::{Lpa, Nanos};

/// Addresses of the device, in four map units.
const UNITS: u32 = 4096;

/// A device with 4 KiB buffers for the cache, enough for the whole table and its headers if there are five.
fn device(gamma: u32, buffers: u16, set: &[(&str, &str)]) -> Bench {
    let mut cfg = tiny();
    let mut put = |key, value: &str| cfg.mappings.set("segment-log", key, value).expect("a parameter");
    put("cached", "learned");
    put("row_order", "address");
    set.iter().for_each(|&(key, value)| put(key, value));
    cfg.mappings.set("segment-log", "learned_gamma", i64::from(gamma)).expect("a bound");
    let sram = SramConfig { segment_cache: buffers, ..cfg.sram };
    // A map flush is over before the rest of a row is programmed with padding, which would tear what is in order.
    let idle_flush = Nanos::from_millis(100);
    Bench::new(DeviceConfig { sram, idle_flush, ..cfg }, MappingKind::of::<SegmentLog>())
}

fn fill(bench: &mut Bench) {
    for lpa in (0..UNITS).step_by(16) {
        bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
    }
    bench.settle();
}

fn write_each(bench: &mut Bench, addresses: impl Iterator<Item = u32>) {
    addresses.for_each(|lpa| bench.send(Op::Write { lpa: Lpa(lpa), len: 1, fua: false }));
    bench.settle();
}

fn read_all(bench: &mut Bench) {
    (0..UNITS).step_by(16).for_each(|lpa| bench.send(Op::Read { lpa: Lpa(lpa), len: 16 }));
    bench.settle();
}

fn counters(bench: &Bench) -> BTreeMap<&'static str, u64> {
    bench.device.scheme_counters().into_iter().map(|(counter, value)| (counter.name, value)).collect()
}

/// Superblocks have 256 units, as groups have addresses, so each group is one segment: 8 bytes, one each for the
/// numbers of segments and of levels. A map unit has four groups and a header of 8 bytes; on flash it takes 4 KiB. The
/// trims bring the last rows from the log into the table: a flush follows more than 160 entries.
#[test]
fn data_in_order_take_a_segment_for_each_group() {
    let mut bench = device(0, 2, &[]);
    fill(&mut bench);
    (0..161).for_each(|_| bench.send(Op::Unmap { lpa: Lpa(UNITS - 1), len: 1 }));
    bench.settle();
    read_all(&mut bench);
    let counters = counters(&bench);
    assert_eq!((counters["learned_map_units"], counters["learned_segments"]), (4, 16));
    assert_eq!(counters["learned_bytes"], 4 * (8 + 4 * (8 + 1 + 1)));
    assert_eq!(counters["learned_plain_groups"], 0);
    assert_eq!(bench.device.stats().segment_misses, 0, "each map unit is cached from its first flush on");
}

/// Rows of 8 units at random addresses of 16 groups: two addresses of a row are rarely in the same one. A point takes 8
/// bytes where a plain table has 4, so every group is one.
#[test]
fn data_without_order_take_what_the_table_takes() {
    let mut bench = device(0, 5, &[]);
    fill(&mut bench);
    let mut order: Vec<u32> = (0..UNITS).collect();
    let mut rng = Rng(3);
    (1..order.len()).for_each(|i| order.swap(i, rng.below(i as u32 + 1) as usize));
    write_each(&mut bench, order.into_iter());
    read_all(&mut bench);
    let counters = counters(&bench);
    assert_eq!((counters["learned_map_units"], counters["learned_plain_groups"]), (4, 16));
    assert_eq!(counters["learned_bytes"], 4 * (8 + 4 * 1025));
}

/// Every third address or so, in order: rows whose addresses are not at one stride. With a bound the same table has
/// fewer bytes, and some of its predictions miss. Each miss is one read of a page more.
#[test]
fn mispredictions_are_repaired_and_cost_a_read_each() {
    let run = |gamma| {
        let mut bench = device(gamma, 5, &[]);
        fill(&mut bench);
        let mut rng = Rng(11);
        let mut at = 0;
        let gaps = std::iter::from_fn(|| {
            at += 1 + rng.below(5);
            (at < UNITS).then_some(at)
        });
        write_each(&mut bench, gaps);
        read_all(&mut bench);
        let before = bench.device.nand_counters().ops(nand::Cause::HostRead, nand::Kind::Read);
        let missed = counters(&bench)["learned_mispredictions"];
        (0..UNITS).for_each(|lpa| bench.send(Op::Read { lpa: Lpa(lpa), len: 1 }));
        bench.settle();
        let counters = counters(&bench);
        let reads = bench.device.nand_counters().ops(nand::Cause::HostRead, nand::Kind::Read) - before;
        (counters["learned_bytes"], counters["learned_predictions"], counters["learned_mispredictions"] - missed, reads)
    };
    let (exact, near) = (run(0), run(16));
    assert_eq!((exact.1, exact.2), (0, 0));
    assert!(near.0 < exact.0 && near.1 > 1000 && near.2 > 100, "{near:?} {exact:?}");
    assert_eq!(near.3, exact.3 + near.2);
}

/// The same addresses again and again, so that rows have several versions of them: the newest is read.
#[test]
fn of_several_versions_in_a_row_the_newest_is_read() {
    for sorted in ["address", "arrival"] {
        let mut bench = device(16, 5, &[("row_order", sorted)]);
        let mut rng = Rng(5);
        for round in 0..600 {
            let from = rng.below(40);
            (0..12).for_each(|i| bench.send(Op::Write { lpa: Lpa(from + i * 2 % 9), len: 1, fua: false }));
            if round % 3 == 0 {
                bench.send(Op::Flush);
            }
            (0..60).step_by(4).for_each(|lpa| bench.send(Op::Read { lpa: Lpa(lpa), len: 4 }));
        }
        bench.settle();
        assert!(counters(&bench)["learned_mispredictions"] > 0, "{sorted}");
    }
}

/// What is learned exactly is not read by a flush; with predictions in it, it is.
#[test]
fn a_flush_reads_only_what_is_not_known_exactly() {
    let run = |gamma| {
        let mut bench = device(gamma, 5, &[]);
        fill(&mut bench);
        read_all(&mut bench);
        let before = bench.device.stats().segment_reads;
        let mut rng = Rng(7);
        let mut at = 0;
        let gaps = std::iter::from_fn(|| {
            at += 1 + rng.below(3);
            (at < UNITS).then_some(at)
        });
        write_each(&mut bench, gaps);
        (bench.device.stats().segment_reads - before, counters(&bench)["learned_reads_saved"])
    };
    let (exact, near) = (run(0), run(16));
    assert_eq!(exact.0, 0);
    assert!(exact.1 > 4 && near.0 > 0, "{exact:?} {near:?}");
}
