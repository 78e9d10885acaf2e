//! Rules for programs and erases, what can be read, and how wear is counted.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{CELLS, HP_UFS, SMALL, Sim, erase, erase_superblock, program, read, refusal, run, spares};
use proptest::prelude::*;
use ufsim_nand::{Place, Priority, Sensed, Spare};
use units::{Seq, Superblock};

use Priority::{Background, Gc, HostRead, HostWrite};

#[test]
fn a_spare_is_readable_when_its_program_is_finished_until_it_is_erased() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.submit(read(0, HostRead, 3, 1));
    sim.program(program(1, HostWrite, 0, 8), &spares(100, 8), 40);
    sim.submit(read(2, Gc, 3, 1));
    sim.submit(erase(3, Background, 0, 0));
    let mut seen = Vec::new();
    while sim.next().is_some() {
        if let Some(done) = sim.step().filter(|done| ![1, 3].contains(&done.token())) {
            seen.push((sim.nand.spare(&done, 0), sim.nand.unit_seq(&done, 0)));
        }
    }
    let spare = Some(Spare { lpa: 103, stamp: !103, version: 104 });
    assert_eq!(seen, [(None, Seq(0)), (spare, Seq(43))]);
    let done = run(&mut sim, read(4, HostRead, 0, 8));
    assert!((0..8).all(|i| sim.nand.spare(&done, i).is_none()));
    assert_eq!(sim.nand.seq(&done), Seq(0));
}

#[test]
fn sequence_numbers_count_units_that_are_not_padding() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    // The first page ends with one unit of padding, so the second one begins with number 73.
    let mut units = spares(0, 8);
    units[3] = None;
    units[6] = None;
    units[7] = None;
    sim.program(program(0, HostWrite, 0, 8), &units, 70);
    sim.drain();
    let done = run(&mut sim, read(1, HostRead, 0, 8));
    let seqs: Vec<_> = (0..8).map(|i| sim.nand.unit_seq(&done, i).0).collect();
    assert_eq!(seqs, [70, 71, 72, 0, 73, 74, 0, 0]);
    let lpas: Vec<_> = (0..8).map(|i| sim.nand.spare(&done, i).map(|spare| spare.lpa)).collect();
    assert_eq!(lpas, [Some(0), Some(1), Some(2), None, Some(4), Some(5), None, None]);
    assert_eq!(sim.nand.seq(&done), Seq(70));
    let second_page = run(&mut sim, read(2, HostRead, 5, 2));
    assert_eq!(sim.nand.seq(&second_page), Seq(73));
    assert_eq!(sim.nand.unit_seq(&second_page, 0), Seq(74));
}

#[test]
fn the_low_bits_of_sequence_numbers_are_enough() {
    let mut sim = Sim::new(SMALL, CELLS);
    // Dies 0 and 1 have numbers that differ only in their high bits; die 0 continues beyond the next wrap.
    let far = 5 << 32;
    sim.program(program(0, HostWrite, 0, 2), &spares(0, 2), far + u64::from(u32::MAX));
    sim.program(program(0, HostWrite, 4, 4), &spares(0, 4), u64::from(u32::MAX));
    sim.program(program(0, HostWrite, 2, 2), &spares(0, 2), far + (1 << 32) + 1);
    sim.drain();
    let seqs: Vec<_> = (0..6).map(|ppa| sim.sensed(ppa).1.0).collect();
    let wrap = 1 << 32;
    assert_eq!(seqs, [far + wrap - 1, far + wrap, far + wrap + 1, far + wrap + 2, wrap - 1, wrap]);
    sim.submit(erase(0, HostWrite, 0, 0));
    sim.drain();
    sim.program(program(0, HostWrite, 0, 2), &spares(0, 2), 3);
    sim.drain();
    assert_eq!(sim.sensed(1).1, Seq(4), "after an erase everything begins anew");
}

#[test]
fn sequence_numbers_in_a_block_do_not_lie_far_apart() {
    let fresh = || {
        let mut sim = Sim::new(SMALL, CELLS);
        sim.program(program(0, HostWrite, 0, 2), &spares(0, 2), 10);
        sim
    };
    let far = 1 << 30;
    fresh().program(program(1, HostWrite, 2, 2), &spares(0, 2), far + 9);
    for (ppa, seq) in [(2, far + 10), (8, far + 10), (8, far * 4 + 10)] {
        let mut sim = fresh();
        let again = refusal(|| sim.program(program(1, HostWrite, ppa, 2), &spares(0, 2), seq));
        assert!(again.contains("is too far from 10"), "{again}");
    }
    fresh().program(program(1, HostWrite, 4, 2), &spares(0, 2), far * 4 + 10);
}

#[test]
fn a_copy_keeps_the_version_of_its_source() {
    let mut sim = Sim::new(SMALL, CELLS);
    let version = |sim: &Sim, ppa| match sim.sensed(ppa).0 {
        Sensed::Unit(spare) => spare.version,
        other => panic!("unit {ppa}: {other:?}"),
    };
    let copies =
        |sim: &Sim, ppas: [u32; 2]| ppas.map(|ppa| Some(Spare { lpa: ppa, stamp: 0, version: version(sim, ppa) }));
    sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
    sim.drain();
    // Two copies between units that are no copies, then copies of the copies.
    sim.program(program(1, HostWrite, 24, 2), &spares(4, 2), 5);
    let units = copies(&sim, [2, 0]);
    sim.program(program(2, Gc, 26, 2), &units, 7);
    sim.program(program(3, HostWrite, 28, 2), &spares(8, 2), 9);
    sim.drain();
    assert_eq!([24, 25, 26, 27, 28, 29].map(|ppa| version(&sim, ppa)), [5, 6, 3, 1, 9, 10]);
    let units = copies(&sim, [26, 27]);
    sim.program(program(4, Gc, 48, 2), &units, 11);
    sim.drain();
    assert_eq!(([48, 49].map(|ppa| version(&sim, ppa)), sim.sensed(49).1), ([3, 1], Seq(12)));
    // The place of a copy holds other content after an erase; other dies keep theirs.
    sim.submit(erase(5, Background, 1, 0));
    sim.drain();
    assert_eq!([28, 29].map(|ppa| version(&sim, ppa)), [9, 10]);
    sim.program(program(6, HostWrite, 24, 4), &spares(12, 4), 13);
    sim.drain();
    assert_eq!([24, 25, 26, 27].map(|ppa| version(&sim, ppa)), [13, 14, 15, 16]);
}

#[test]
fn a_read_tells_padding_from_pages_that_are_not_programmed() {
    let mut sim = Sim::new(SMALL, CELLS);
    let [unit, _] = spares(0, 2)[..] else { unreachable!("two spares") };
    sim.program(program(0, HostWrite, 0, 2), &[unit, None], 1);
    sim.drain();
    let done = run(&mut sim, read(1, HostRead, 0, 4));
    let sensed: Vec<_> = (0..4).map(|i| sim.nand.sensed(&done, i)).collect();
    assert_eq!(sensed, [Sensed::Unit(unit.expect("no padding")), Sensed::Padding, Sensed::Blank, Sensed::Blank]);
    assert!(refusal(|| _ = sim.nand.sensed(&done, 4)).contains("only what was read"));
}

#[test]
fn erased_pages_do_not_show_what_they_held_before() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    for page in 0..3 {
        sim.program(program(0, HostWrite, page * 64, 8), &spares(page * 8, 8), 1);
    }
    sim.drain();
    erase_superblock(&mut sim, 0);
    sim.program(program(0, HostWrite, 0, 4), &[None; 4], 90);
    sim.drain();
    for first in [0, 4, 64, 128] {
        let done = run(&mut sim, read(1, HostRead, first, 4));
        assert!((0..4).all(|i| sim.nand.spare(&done, i).is_none()), "units at {first}");
    }
}

#[test]
fn a_superblock_is_worn_when_all_its_dies_were_erased() {
    let mut sim = Sim::new(SMALL, CELLS);
    let first = Superblock(0);
    assert!(sim.nand.is_erased(first));
    sim.program(program(0, HostWrite, 0, 2), &spares(0, 2), 1);
    assert!(!sim.nand.is_erased(first));
    sim.submit(erase(1, Background, 0, 0));
    sim.drain();
    assert!(sim.nand.is_erased(first));
    sim.submit(erase(2, Background, 0, 0));
    assert!(!sim.nand.is_erased(first), "it cannot be programmed while it is being erased");
    sim.drain();
    assert_eq!(sim.nand.erase_count(first), 0, "die 1 was never erased");
    sim.submit(erase(3, Background, 0, 1));
    sim.drain();
    assert_eq!((sim.nand.erase_count(first), sim.nand.max_erase_count()), (1, 1));
    erase_superblock(&mut sim, 2);
    erase_superblock(&mut sim, 2);
    let counts = [0, 1, 2].map(|n| sim.nand.erase_count(Superblock(n)));
    assert_eq!((counts, sim.nand.max_erase_count()), ([1, 0, 2], 2));
}

#[test]
fn refusals_name_the_place() {
    let mut sim = Sim::new(SMALL, CELLS);
    // Superblock 1, page 1, die 1, plane 1 begins at 24 + 8 + 4 + 2.
    let at = |sim: &mut Sim| sim.program(program(0, HostWrite, 38, 2), &spares(0, 2), 1);
    assert_eq!(
        refusal(|| at(&mut sim)),
        "program of superblock 1, die 1, plane 1, page 1: it is out of order: the next page of this block is 0"
    );
    sim.program(program(0, HostWrite, 30, 2), &spares(0, 2), 1);
    at(&mut sim);
    assert_eq!(
        refusal(|| at(&mut sim)),
        "program of superblock 1, die 1, plane 1, page 1: it is already programmed and not erased since"
    );
    sim.submit(erase(1, HostWrite, 1, 1));
    let next = program(0, HostWrite, 46, 2);
    assert_eq!(
        refusal(|| sim.program(next, &spares(0, 2), 1)),
        "program of superblock 1, die 1, plane 1, page 2: it is being erased"
    );
    assert_eq!(refusal(|| sim.submit(erase(2, HostWrite, 1, 1))), "superblock 1, die 1 is already being erased");
}

#[test]
fn programs_are_whole_pages_of_one_row_with_padding_last() {
    let fresh = || Sim::new(SMALL, CELLS);
    let refused = |ppa, units: &[Option<Spare>]| {
        let op = program(0, HostWrite, ppa, units.len() as u32);
        refusal(|| fresh().program(op, units, 1))
    };
    assert!(refused(0, &spares(0, 1)).contains("does not consist of whole plane pages"));
    assert!(refused(1, &spares(0, 2)).contains("does not consist of whole plane pages"));
    assert!(refused(2, &spares(0, 4)).contains("its row has 2 from there"));
    assert!(refused(72, &spares(0, 2)).contains("outside the array of 72 units"));
    let [unit, _] = spares(0, 2)[..] else { unreachable!("two spares") };
    assert!(refused(0, &[None, unit]).contains("follows padding"));
    let lpa = Some(Spare { lpa: u32::MAX, stamp: 0, version: 1 });
    assert!(refused(0, &[lpa, unit]).contains("cannot be stored"));
    let two = program(0, HostWrite, 0, 2);
    assert!(refusal(|| fresh().program(two, &[unit], 1)).contains("1 spares for 2 units"));
    assert!(refusal(|| fresh().submit(two)).contains("needs the spares"));
    let read = read(0, HostRead, 0, 1);
    assert!(refusal(|| fresh().program(read, &[unit], 1)).contains("takes programs only"));
}

#[test]
fn reads_stay_in_a_row_and_erases_in_the_array() {
    let fresh = || Sim::new(SMALL, CELLS);
    let refused = |op| refusal(|| fresh().submit(op));
    assert!(refused(read(0, HostRead, 2, 3)).contains("its row has 2 from there"));
    assert!(refused(read(0, HostRead, 2, 0)).contains("0 units at PPA 2"));
    assert!(refused(read(0, HostRead, 72, 1)).contains("outside the array"));
    assert!(refused(erase(0, Gc, 3, 0)).contains("superblock 3, die 0 is outside"));
    assert!(refused(erase(0, Gc, 0, 2)).contains("superblock 0, die 2 is outside"));
}

#[test]
fn only_what_was_read_has_a_spare() {
    let mut sim = Sim::new(SMALL, CELLS);
    let done = run(&mut sim, read(0, HostRead, 0, 2));
    assert!(refusal(|| _ = sim.nand.spare(&done, 2)).contains("only what was read"));
    let done = run(&mut sim, erase(0, Gc, 0, 0));
    assert!(refusal(|| _ = sim.nand.seq(&done)).contains("only what was read"));
}

#[test]
fn a_priority_must_not_change_the_order_of_programs_and_erases() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.submit(read(0, HostRead, 0, 1));
    sim.program(program(1, Gc, 0, 2), &spares(0, 2), 1);
    sim.program(program(2, HostWrite, 8, 2), &spares(0, 2), 1);
    assert!(refusal(|| sim.drain()).contains("page: 1, die: 0, plane: 0, unit: 0 } ran before page 0"));

    let mut sim = Sim::new(SMALL, CELLS);
    sim.submit(read(0, HostRead, 0, 1));
    sim.program(program(1, Background, 0, 2), &spares(0, 2), 1);
    sim.submit(erase(2, Gc, 0, 0));
    assert!(refusal(|| sim.drain()).contains("die 0 ran before its program of page 0"));
}

proptest! {
    /// Whatever was programmed before, a page is accepted exactly if it is the next one of its block.
    #[test]
    fn a_program_is_accepted_exactly_if_its_page_is_next(
        attempts in prop::collection::vec((0..2u32, 0..2u32, 0..2u32, 0..4u32), 1..60)
    ) {
        let mut sim = Sim::new(SMALL, CELLS);
        let mut next = [[[0; 2]; 2]; 2];
        for (superblock, die, plane, page) in attempts {
            if page == 3 {
                // Not a page of this array: stands for an erase of the die's blocks.
                sim.submit(erase(0, Background, superblock, die));
                sim.drain();
                next[superblock as usize][die as usize] = [0; 2];
                continue;
            }
            let place = Place { superblock: Superblock(superblock), page, die, plane, unit: 0 };
            let op = program(0, HostWrite, sim.nand.layout().ppa(place).0, 2);
            let attempt = || sim.program(op, &spares(0, 2), 1);
            let accepted = catch_unwind(AssertUnwindSafe(attempt)).is_ok();
            sim.drain();
            let expected = &mut next[superblock as usize][die as usize][plane as usize];
            prop_assert_eq!(accepted, *expected == page, "{:?}", place);
            *expected += u32::from(accepted);
        }
    }
}

/// Two planes of four units; the first page was programmed by itself.
#[test]
fn a_spare_area_knows_the_addresses_of_its_program() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    let units = spares(0, 8);
    sim.program(program(0, HostWrite, 0, 4), &units[..4], 1);
    sim.program(program(1, HostWrite, 4, 4), &units[4..], 5);
    sim.drain();
    let done = run(&mut sim, read(2, HostRead, 2, 4));
    let near = |i, reach| sim.nand.neighbours(&done, i, reach).map(|(ppa, lpa)| (ppa.0, lpa)).collect::<Vec<_>>();
    assert_eq!(near(0, 16), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    assert_eq!(near(0, 1), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(near(3, 1), [(4, 4), (5, 5), (6, 6)]);
    assert_eq!(sim.nand.together(units::Ppa(6)), 4..8);
}
