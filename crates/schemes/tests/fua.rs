//! FUA writes beside data in the write buffer: they pass it, are programmed at once, and nothing older comes back.

use crate::kit::{Bench, Rng, self_reliant, tiny};
use ftl::MappingKind;
use ufs::Op;
use units::Lpa;

fn write(bench: &mut Bench, lpa: u32, len: u32, fua: bool) {
    bench.send(Op::Write { lpa: Lpa(lpa), len, fua });
}

/// Waits until every command is answered; the idle timer comes later.
fn answered(bench: &mut Bench) {
    while !bench.in_flight.is_empty() {
        bench.steps(1);
    }
}

/// Units programmed for the host, and those that only filled pages up.
fn programmed(bench: &Bench) -> (u64, u64) {
    let stats = bench.device.stats();
    (stats.data_units_programmed, stats.padding_units)
}

#[test]
fn a_fua_write_passes_what_waits_for_a_full_row() {
    for kind in self_reliant() {
        let mut bench = Bench::new(tiny(), kind);
        (0..3).for_each(|lpa| write(&mut bench, 10 * lpa, 1, false));
        write(&mut bench, 5, 1, true);
        answered(&mut bench);
        assert_eq!(programmed(&bench), (1, 3), "{kind:?}: a page of four units with one of them");
        assert_eq!(bench.device.stats().fua_units_in_turn, 0, "{kind:?}");
        // Units of the buffer fill the other half of the row.
        write(&mut bench, 40, 1, false);
        bench.steps(1);
        assert_eq!(programmed(&bench), (5, 3), "{kind:?}: four units of the buffer");
        bench.settle();
    }
}

#[test]
fn a_fua_write_over_buffered_data_of_its_address_takes_its_turn() {
    for kind in self_reliant() {
        let mut bench = Bench::new(tiny(), kind);
        (4..7).for_each(|lpa| write(&mut bench, lpa, 1, false));
        write(&mut bench, 5, 1, true);
        answered(&mut bench);
        assert_eq!(programmed(&bench), (4, 0), "{kind:?}: all that was accepted before it");
        assert_eq!(bench.device.stats().fua_units_in_turn, 1, "{kind:?}");
        // The older data is on flash, or on its way there, so the next one has nothing to wait for.
        write(&mut bench, 100, 1, false);
        write(&mut bench, 5, 1, true);
        answered(&mut bench);
        assert_eq!((programmed(&bench), bench.device.stats().fua_units_in_turn), ((5, 3), 1), "{kind:?}");
        let (mut bench, ..) = bench.cut(&mut Rng(3), 4096);
        bench.settle();
    }
}

/// Only the last row of a long write is short, also if the write has to wait for buffers.
#[test]
fn a_long_fua_write_pads_one_row() {
    for kind in self_reliant() {
        let mut bench = Bench::new(tiny(), kind);
        write(&mut bench, 0, 301, true);
        answered(&mut bench);
        assert_eq!(programmed(&bench), (301, 3), "{kind:?}");
        bench.settle();
    }
}

#[test]
fn a_flush_and_a_trim_wait_for_both_queues() {
    for kind in self_reliant() {
        let mut bench = Bench::new(tiny(), kind);
        write(&mut bench, 1, 1, false);
        write(&mut bench, 2, 1, true);
        bench.send(Op::Flush);
        answered(&mut bench);
        assert_eq!(programmed(&bench).0, 2, "{kind:?}");
        write(&mut bench, 1, 1, false);
        write(&mut bench, 2, 1, true);
        bench.send(Op::Unmap { lpa: Lpa(0), len: 1 });
        bench.send(Op::Flush);
        answered(&mut bench);
        assert_eq!(programmed(&bench).0, 4, "{kind:?}");
        bench.settle();
    }
}

/// What a FUA write has made durable, nothing takes back; the bench knows it from its answer on.
#[test]
fn fua_beside_buffered_writes_survives_power_cuts() {
    for (seed, kind) in (0..).zip(self_reliant()) {
        let mut rng = Rng(0x5eed_f0a5 ^ seed << 32);
        let mut bench = Bench::new(tiny(), kind);
        let mut in_turn = 0;
        for round in 0..60 {
            // Few addresses, so that many are in both queues; sometimes all of them in one map unit.
            let span = [6, 40, 2000][round % 3];
            for _ in 0..rng.below(120) {
                let len = if rng.below(5) == 0 { 1 + rng.below(12) } else { 1 };
                let lpa = rng.below(span);
                match rng.below(40) {
                    0..24 => write(&mut bench, lpa, len, false),
                    24..36 => write(&mut bench, lpa, len, true),
                    36 | 37 => bench.send(Op::Unmap { lpa: Lpa(lpa), len }),
                    38 => bench.send(Op::Read { lpa: Lpa(lpa), len }),
                    _ => bench.send(Op::Flush),
                }
            }
            bench.steps(rng.below(12));
            in_turn += bench.device.stats().fua_units_in_turn;
            (bench, ..) = bench.cut(&mut rng, 4096);
        }
        assert!(in_turn > 50, "{kind:?}: {in_turn}");
    }
}

/// A device whose writes are all FUA has nothing to pass.
#[test]
fn write_through_never_takes_turns() {
    let cfg = ftl::DeviceConfig { write_through: true, ..tiny() };
    let mut bench = Bench::new(cfg, MappingKind::of::<ufsim_schemes::SegmentLog>());
    (0..200).for_each(|i| write(&mut bench, i % 7, 1, false));
    bench.settle();
    assert_eq!(bench.device.stats().fua_units_in_turn, 0);
}
