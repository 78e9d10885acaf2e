//! The device alone under commands of a host without booster: no data is lost, and the sums hold.

use crate::kit::{Bench, Rng, self_reliant, tiny};
use ftl::MappingKind;
use ufs::{DataIn, Op};
use units::Lpa;

fn churn(bench: &mut Bench, rng: &mut Rng, ops: u32, span: u32) {
    for _ in 0..ops {
        let len = if rng.below(4) == 0 { 1 + rng.below(40) } else { 1 };
        let lpa = Lpa(rng.below(span - len));
        let op = match rng.below(100) {
            0..60 => Op::Write { lpa, len, fua: rng.below(20) == 0 },
            60..90 => Op::Read { lpa, len },
            90..97 => Op::Unmap { lpa, len },
            _ => Op::Flush,
        };
        bench.send(op);
    }
}

#[test]
fn random_commands_with_gc_and_wear_levelling_keep_all_data() {
    for kind in self_reliant() {
        for seed in 1..=6u64 {
            let mut bench = Bench::new(tiny(), kind);
            let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (seed << 32));
            churn(&mut bench, &mut rng, 12_000, 4096);
            bench.settle();
            for lpa in (0..4096).step_by(16) {
                bench.send(Op::Read { lpa: Lpa(lpa), len: 16 });
            }
            bench.settle();
            let stats = bench.device.stats();
            assert!(stats.gc_victims > 20, "{kind:?} seed {seed}: {stats:?}");
        }
    }
}

#[test]
fn sealed_entries_speed_up_reads_and_never_mislead() {
    let mut bench = Bench::new(tiny(), MappingKind::of::<ufsim_schemes::SegmentLog>());
    let mut rng = Rng(99);
    churn(&mut bench, &mut rng, 2000, 4096);
    bench.settle();
    let mut entries = vec![0u64; 4096];
    for round in 0..30 {
        let group = rng.below(8);
        bench.settle();
        bench.send(Op::HpbReadBuffer { group });
        bench.settle();
        let Some(DataIn::Sealed(sealed)) = bench.responses.pop().map(|r| r.data) else { panic!("no entries") };
        entries[group as usize * 512..][..512].copy_from_slice(&sealed);
        for _ in 0..300 {
            let lpa = rng.below(4096);
            // Mostly the right entry, sometimes that of another page, or a damaged one.
            let entry = match rng.below(10) {
                0 => entries[rng.below(4096) as usize],
                1 => entries[lpa as usize] ^ 1 << rng.below(64),
                _ => entries[lpa as usize],
            };
            if rng.below(3) == 0 {
                bench.send(Op::Write { lpa: Lpa(lpa), len: 1, fua: false });
            } else {
                let len = (1 + rng.below(8)).min(4096 - lpa);
                bench.send(Op::HpbRead { lpa: Lpa(lpa), len, entry });
            }
        }
        if round % 10 == 9 {
            bench.settle();
        }
    }
    bench.settle();
    let stats = bench.device.stats();
    assert!(stats.host_entries_used > 100 && stats.host_entries_refused > 100, "{stats:?}");
}

#[test]
fn units_whose_segment_had_to_be_loaded_are_read_row_by_row() {
    let cfg = tiny();
    let row = cfg.geometry.row_units();
    // With one segment in SRAM, a read in another segment evicts it.
    let sram = ftl::SramConfig { segment_cache: 1, ..cfg.sram };
    let mut bench = Bench::new(ftl::DeviceConfig { sram, ..cfg }, MappingKind::of::<ufsim_schemes::SegmentLog>());
    for lpa in (0..4096).step_by(16) {
        bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
    }
    bench.settle();
    let reads = |bench: &Bench| {
        let stats = bench.device.stats();
        (stats.segment_misses, bench.device.nand_counters().ops(nand::Cause::HostRead, nand::Kind::Read))
    };
    bench.send(Op::Read { lpa: Lpa(1024), len: 1 });
    bench.settle();
    let (misses, ops) = reads(&bench);
    bench.send(Op::Read { lpa: Lpa(0), len: 16 });
    bench.settle();
    let (misses_after, ops_after) = reads(&bench);
    assert_eq!(misses_after - misses, 16, "the units of the other segment all wait for it");
    assert_eq!(ops_after - ops, u64::from(16 / row), "one flash read for each row of {row} units");
}
