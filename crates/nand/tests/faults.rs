//! Operations that fail.

use crate::common::{CELLS, SMALL, Sim, erase, erase_superblock, program, read, refusal, run, spares};
use ufsim_nand::{Faults, Kind, Priority, Sensed};
use units::{Seq, Superblock};

use Priority::{Background, HostRead, HostWrite};

/// Rate at which every operation of a kind fails.
const ALL: u32 = 1_000_000;

fn failures(sim: &Sim) -> [u64; Kind::COUNT] {
    Kind::ALL.map(|kind| sim.nand.counters().failures(kind))
}

#[test]
fn a_failed_program_uses_its_pages_up() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.nand.set_faults(Faults { program_per_million: ALL, ..Faults::default() });
    sim.program(program(0, HostWrite, 0, 4), &[spares(0, 3), vec![None]].concat(), 1);
    sim.drain();
    assert!(sim.done[0].failed);
    sim.nand.set_faults(Faults::default());
    let done = run(&mut sim, read(1, HostRead, 0, 4));
    assert!(!done.failed());
    assert!((0..4).all(|i| sim.nand.sensed(&done, i) == Sensed::Unreadable && sim.nand.spare(&done, i).is_none()));
    assert_eq!((sim.nand.seq(&done), sim.nand.unit_seq(&done, 1)), (Seq(0), Seq(0)));
    let again = refusal(|| sim.program(program(2, HostWrite, 0, 4), &spares(0, 4), 5));
    assert!(again.contains("already programmed"), "{again}");
    sim.program(program(3, HostWrite, 8, 4), &spares(0, 4), 5);
    sim.drain();
    assert!(matches!(sim.sensed(8), (Sensed::Unit(_), Seq(5))));
    assert_eq!(failures(&sim), [0, 1, 0]);
    erase_superblock(&mut sim, 0);
    sim.program(program(4, HostWrite, 0, 4), &spares(0, 4), 9);
    sim.drain();
    assert!(matches!(sim.sensed(0), (Sensed::Unit(_), Seq(9))));
}

#[test]
fn a_failed_erase_wears_and_leaves_blocks_half_erased() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
    sim.nand.set_faults(Faults { erase_per_million: ALL, ..Faults::default() });
    erase_superblock(&mut sim, 0);
    assert_eq!((failures(&sim), sim.nand.erase_count(Superblock(0))), ([0, 0, 2], 1));
    assert!(!sim.nand.is_erased(Superblock(0)));
    assert!((0..24).all(|ppa| sim.sensed(ppa) == (Sensed::Unreadable, Seq(0))));
    let refused = refusal(|| sim.program(program(1, HostWrite, 0, 4), &spares(0, 4), 5));
    assert!(refused.ends_with("it is half erased"), "{refused}");
    sim.nand.set_faults(Faults::default());
    erase_superblock(&mut sim, 0);
    assert!(sim.nand.is_erased(Superblock(0)));
    assert_eq!((sim.nand.erase_count(Superblock(0)), sim.nand.max_erase_count()), (2, 2));
    sim.program(program(2, HostWrite, 0, 4), &spares(0, 4), 5);
    sim.drain();
    assert!(matches!(sim.sensed(3), (Sensed::Unit(_), Seq(8))));
}

#[test]
fn a_failed_read_does_no_harm() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
    sim.drain();
    sim.nand.set_faults(Faults { read_per_million: ALL, ..Faults::default() });
    let failed = run(&mut sim, read(1, HostRead, 0, 4));
    assert!(failed.failed());
    for i in 0..4 {
        assert_eq!((sim.nand.sensed(&failed, i), sim.nand.spare(&failed, i)), (Sensed::Unreadable, None));
        assert_eq!((sim.nand.seq(&failed), sim.nand.unit_seq(&failed, i)), (Seq(0), Seq(0)));
    }
    sim.nand.set_faults(Faults::default());
    let done = run(&mut sim, read(2, HostRead, 0, 4));
    assert_eq!((0..4).map(|i| sim.nand.spare(&done, i)).collect::<Vec<_>>(), spares(0, 4));
    assert_eq!(failures(&sim), [1, 0, 0]);
}

/// For 200 rounds of program, read and erase: whether each operation failed.
fn history(faults: Faults) -> Vec<bool> {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.nand.set_faults(faults);
    for _ in 0..200 {
        if sim.nand.is_erased(Superblock(0)) {
            sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
        }
        run(&mut sim, read(1, HostRead, 0, 4));
        run(&mut sim, erase(2, Background, 0, 0));
    }
    sim.done.iter().map(|done| done.failed).collect()
}

#[test]
fn the_seed_decides() {
    let some = Faults { seed: 5, program_per_million: 100_000, erase_per_million: 100_000, read_per_million: 100_000 };
    assert_eq!(history(some), history(some));
    assert_ne!(history(some), history(Faults { seed: 6, ..some }));
    for none in [Faults::default(), Faults { seed: 5, ..Faults::default() }] {
        assert!(!history(none).contains(&true));
    }
}
