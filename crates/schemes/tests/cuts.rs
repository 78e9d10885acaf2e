//! Power cuts of the device alone: what a moment says of the work in flight, what recovery costs, and that it finds
//! what was flushed, whatever GC was copying.

use crate::kit::{Bench, Rng, Seen, self_reliant, tiny};
use ftl::{DeviceConfig, DeviceStats, MappingKind, Moment};
use nand::{Cause, Faults, Geometry, Kind};
use ufs::Op;
use units::Lpa;

const UNITS: u32 = 4096;

/// What must have been in flight before something ended, and cannot have stopped before it ended.
fn must_agree(what: &str, told: (bool, bool), ended: u64) {
    let (was, is) = told;
    assert!(was || is || ended == 0, "{what}: something ended that was not told of");
    assert!(!was || is || ended > 0, "{what}: nothing ended, but it is not told of any more");
}

/// Operations are counted when they end. So a moment tells of each until then, and of none after that.
fn moments_tell_of_what_is_in_flight(before: &Seen, after: &Seen) {
    let counters = after.counters.since(&before.counters);
    let ended = |cause| counters.ops(cause, Kind::Program);
    let told = |of: fn(&Moment) -> bool| (of(&before.moment), of(&after.moment));
    must_agree("program", told(|m| m.program), ended(Cause::HostWrite));
    must_agree("erase", told(|m| m.erase), counters.total_ops(Kind::Erase));
    let copying = |seen: &Seen| seen.copies.iter().any(|copy| copy.programming);
    must_agree("copy", (copying(before), copying(after)), ended(Cause::GcWrite));
    for (what, (was, is)) in [
        ("journal", told(|m| m.journal)),
        ("record", told(|m| m.record)),
        ("snapshot", told(|m| m.snapshot)),
        ("writeback", told(|m| m.writeback)),
    ] {
        assert!(!was || is || ended(Cause::MapWrite) > 0, "{what}: nothing ended, but it is not told of any more");
    }
    assert_eq!(after.moment.recovery, !after.ready);
    assert!(!(after.ready && !before.ready && after.moment.record), "ready before the last record is on flash");
}

/// Of twenty commands, so many are trims, and half of these of one unit.
fn random_write(bench: &mut Bench, rng: &mut Rng, trims: u32) {
    // What GC holds is overwritten more often than chance would have it: then its copies are worth nothing.
    let copies = bench.device.copies();
    let held = (!copies.is_empty() && rng.below(3) == 0).then(|| copies[rng.below(copies.len() as u32) as usize].lpa);
    let lpa = held.unwrap_or(Lpa(rng.below(UNITS)));
    match rng.below(20) < trims {
        true if rng.below(2) == 0 => bench.send(Op::Unmap { lpa, len: 1 }),
        true => bench.send(Op::Unmap { lpa: Lpa(rng.below(UNITS - 64)), len: 1 + rng.below(64) }),
        false => bench.send(Op::Write { lpa, len: 1, fua: rng.below(50) == 0 }),
    }
}

/// A device that is cut again and again, with GC under way, and that is looked at after each event. Gives how many of
/// its programs have failed, and what it was seen doing.
fn cut_often(cfg: DeviceConfig, kind: MappingKind, seed: u64, trims: u32) -> (u64, Vec<Moment>) {
    let mut failed = 0;
    let mut bench = Bench::new(cfg, kind);
    bench.watch = Some(moments_tell_of_what_is_in_flight);
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (seed << 32));
    for lpa in (0..UNITS).step_by(16) {
        bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
    }
    for _ in 0..20 {
        for _ in 0..rng.below(400) {
            random_write(&mut bench, &mut rng, trims);
        }
        bench.flush();
        for _ in 0..rng.below(60) {
            random_write(&mut bench, &mut rng, trims);
        }
        let steps = rng.below(80);
        bench.steps(steps);
        let copies = bench.device.copies();
        bench.check_copies(&copies);
        failed += bench.device.nand_counters().failures(Kind::Program);
        let (next, took, stats) = bench.cut(&mut rng, UNITS);
        assert_eq!(stats.recovery_ns, took.0, "{kind:?}: {stats:?}");
        bench = next;
    }
    bench.settle();
    (failed, bench.met)
}

#[test]
fn what_was_flushed_survives_cuts_amid_gc() {
    for kind in self_reliant() {
        for seed in 1..=4 {
            println!("{kind:?}, seed {seed}");
            let (_, met) = cut_often(tiny(), kind, seed, 2);
            for (what, of) in [
                ("program", (|m| m.program) as fn(&Moment) -> bool),
                ("erase", |m| m.erase),
                ("gc", |m| m.gc),
                ("journal", |m| m.journal),
                ("record", |m| m.record),
                ("snapshot", |m| m.snapshot),
                ("recovery", |m| m.recovery),
            ] {
                assert!(met.iter().any(of), "{what} was never seen");
            }
        }
    }
}

/// Programs fail now and then, those of snapshots too. Data superblocks are given up for it, so there are more of them.
#[test]
fn what_was_flushed_survives_cuts_among_failing_programs() {
    for kind in self_reliant() {
        for seed in 1..=4 {
            println!("{kind:?}, seed {seed}");
            let faults = Faults { seed, program_per_million: 30_000, ..Faults::default() };
            let geometry = Geometry { data_superblocks: 52, meta_superblocks: 12, ..tiny().geometry };
            let (failed, _) = cut_often(DeviceConfig { faults, geometry, ..tiny() }, kind, seed, 2);
            assert!(failed > 5, "only {failed} programs failed");
        }
    }
}

/// The journal of trims is filled again and again, so that its pages have to be emptied. Every second cut comes while
/// map units are written for that.
#[test]
fn what_was_trimmed_stays_trimmed() {
    for kind in self_reliant() {
        let mut amid_flush = 0;
        // A table in DRAM is written for that only.
        let seeds = if kind == MappingKind::of::<ufsim_schemes::Ideal>() { 6 } else { 2 };
        for seed in 1..=seeds {
            println!("{kind:?}, seed {seed}");
            let mut bench = Bench::new(tiny(), kind);
            let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (seed << 32));
            for round in 0..6 {
                for lpa in (0..UNITS).step_by(16) {
                    bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
                }
                for _ in 0..6000 + rng.below(6000) {
                    bench.send(Op::Unmap { lpa: Lpa(rng.below(UNITS)), len: 1 });
                    if round % 2 == 1 && bench.device.moment().map_flush && rng.below(10) == 0 {
                        amid_flush += 1;
                        break;
                    }
                }
                if round % 2 == 0 {
                    bench.flush();
                    let steps = rng.below(80);
                    bench.steps(steps);
                }
                bench = bench.cut(&mut rng, UNITS).0;
            }
        }
        assert!(amid_flush > 0, "{kind:?} was never cut in a map flush");
    }
}

/// More map units have trims than fit the SRAM at once.
#[test]
fn trims_of_many_map_units_are_kept() {
    let geometry = Geometry { data_superblocks: 3200, meta_superblocks: 40, ..tiny().geometry };
    for kind in self_reliant() {
        println!("{kind:?}");
        let mut bench = Bench::new(DeviceConfig { geometry, capacity_units: 700_000, ..tiny() }, kind);
        let mut rng = Rng(7);
        for lpa in (0..700_000).step_by(1024) {
            bench.send(Op::Write { lpa: Lpa(lpa), len: 8, fua: false });
        }
        for i in 0..20_000 {
            bench.send(Op::Unmap { lpa: Lpa((i * 1024 + rng.below(4)) % 700_000), len: 1 });
        }
        bench.flush();
        let (mut bench, ..) = bench.cut(&mut rng, UNITS);
        for lpa in (0..700_000).step_by(1024) {
            bench.send(Op::Read { lpa: Lpa(lpa), len: 8 });
        }
        bench.settle();
    }
}

/// Power goes before anything was written, and once more.
#[test]
fn a_device_that_was_never_written_starts_empty() {
    for kind in self_reliant() {
        println!("{kind:?}");
        let mut rng = Rng(5);
        let (bench, _, stats) = Bench::new(tiny(), kind).cut(&mut rng, UNITS);
        assert_eq!((stats.recovery_units_scanned, stats.free_superblocks), (0, 28), "{kind:?}");
        let (mut bench, ..) = bench.cut(&mut rng, UNITS);
        bench.send(Op::Write { lpa: Lpa(1), len: 1, fua: false });
        bench.flush();
        bench.cut(&mut rng, UNITS);
    }
}

/// Its directory takes 11 units, so that a snapshot has 12: a row of 8, and half of another one. So many pages of the
/// journal are written that all superblocks have been used.
#[test]
fn a_snapshot_that_ends_within_a_row_is_found() {
    let geometry = Geometry { data_superblocks: 3200, meta_superblocks: 18, ..tiny().geometry };
    for kind in self_reliant() {
        println!("{kind:?}");
        let mut bench = Bench::new(DeviceConfig { geometry, capacity_units: 700_000, ..tiny() }, kind);
        let mut rng = Rng(5);
        for lpa in (0..UNITS).step_by(16) {
            bench.send(Op::Write { lpa: Lpa(lpa), len: 16, fua: false });
        }
        let written = bench.device.stats().map_units_programmed;
        for i in 0..3000 {
            bench.send(Op::Unmap { lpa: Lpa(i % 100), len: 1 });
            bench.flush();
        }
        let written = bench.device.stats().map_units_programmed - written;
        assert!(written > 2 * 18 * 256, "{written} units of metadata in 18 superblocks of 256");
        bench.cut(&mut rng, UNITS);
    }
}

/// The recovery after so many writes of 16 units, a row on each of two dies, in each of the four segments in turn.
fn written(rows: u32, kind: MappingKind) -> DeviceStats {
    let mut bench = Bench::new(tiny(), kind);
    for row in 0..rows {
        bench.send(Op::Write { lpa: Lpa((row % 4) * 1024 + row * 16), len: 16, fua: false });
    }
    bench.flush();
    bench.cut(&mut Rng(5), UNITS).2
}

/// On each of two dies, a row of 8 units takes a tR of 60 us. What is read beyond the first blank row of a die are rows
/// that were under way when it was seen: the pool of 96 units has room for twelve. A map unit costs the time of a
/// command, 1 us; those changed here fit one program of 150 us. Two superblocks are erased, 5 ms each, on both dies at
/// once.
#[test]
fn recovery_takes_the_time_of_what_it_reads_and_writes() {
    for kind in self_reliant() {
        for rows in [1, 5, 20] {
            let stats = written(rows, kind);
            let scanned = stats.recovery_units_scanned;
            assert!((16 * u64::from(rows + 1)..=16 * u64::from(rows) + 96).contains(&scanned), "{kind:?}: {stats:?}");
            assert_eq!(stats.recovery_scan_ns, scanned / 16 * 60_000, "{kind:?}: {stats:?}");
            let in_dram = kind == MappingKind::of::<ufsim_schemes::Ideal>();
            // One translation page of base-dftl has room for the whole table.
            let units = if kind == MappingKind::of::<ufsim_schemes::BaseDftl>() { 1 } else { rows.min(4) };
            assert_eq!(stats.recovery_segments, if in_dram { 0 } else { u64::from(units) }, "{kind:?}: {stats:?}");
            assert_eq!(stats.recovery_update_ns, 1000 * u64::from(units), "{kind:?}: {stats:?}");
            assert_eq!(stats.recovery_segment_write_ns, if in_dram { 0 } else { 150_000 }, "{kind:?}: {stats:?}");
            assert_eq!(stats.recovery_directory_ns, 10_650_000, "{kind:?}: {stats:?}");
            let counted = match kind.name() {
                "ideal" => 0,
                "segment-log" => 25_000 + 150_000,
                _ => 25_000,
            };
            assert_eq!(stats.recovery_count_ns, counted, "{kind:?}: {stats:?}");
        }
    }
}
