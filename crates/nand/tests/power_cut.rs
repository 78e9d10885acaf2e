//! What is left after a power cut.

use crate::common::{CELLS, SMALL, Sim, erase, erase_superblock, program, read, refusal, run, spares};
use proptest::prelude::*;
use ufsim_nand::{CutProgram, Geometry, Priority, Sensed, Suspend, Timing};
use units::{Nanos, Ppa, Seq, SimTime, Superblock};

use Priority::{Background, HostRead, HostWrite};

/// Durations of the cell phases of a program and of an erase.
const T_PROG: u64 = 550_000;
const T_BERS: u64 = 5_000_000;

/// Dice that show these numbers and no more.
fn dice(numbers: &[u32]) -> impl FnMut(u32) -> u32 {
    let mut numbers = numbers.iter().copied();
    move |_| numbers.next().expect("thrown too often")
}

/// Dice for cuts in which nothing is random.
fn no_dice(n: u32) -> u32 {
    panic!("thrown for one of {n} without need");
}

fn sensed(sim: &Sim, units: std::ops::Range<u32>) -> Vec<Sensed> {
    units.map(|ppa| sim.sensed(ppa).0).collect()
}

/// Spares of [`spares`], as reads find them.
fn found(lpa: u32, units: u32) -> Vec<Sensed> {
    spares(lpa, units).into_iter().flatten().map(Sensed::Unit).collect()
}

#[test]
fn what_had_not_begun_leaves_no_trace() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
    sim.drain();
    sim.submit(read(1, HostRead, 0, 1)); // runs
    sim.program(program(2, HostWrite, 8, 4), &spares(4, 4), 5);
    sim.program(program(3, HostWrite, 16, 4), &spares(8, 4), 9);
    sim.submit(erase(4, Background, 0, 0));
    sim.submit(erase(5, Background, 1, 0));
    assert_eq!(sim.power_cut(&mut no_dice), []);
    assert_eq!(sensed(&sim, 0..4), found(0, 4));
    assert_eq!(sensed(&sim, 8..12), [Sensed::Blank; 4]);
    assert!(sim.nand.is_erased(Superblock(1)) && !sim.nand.is_erased(Superblock(0)));
    // The same pages in order, then the same erases.
    sim.program(program(6, HostWrite, 8, 4), &spares(20, 4), 5);
    sim.program(program(7, HostWrite, 16, 4), &spares(24, 4), 9);
    sim.drain();
    assert_eq!((sensed(&sim, 8..12), sensed(&sim, 16..20)), (found(20, 4), found(24, 4)));
    erase_superblock(&mut sim, 0);
    erase_superblock(&mut sim, 1);
    assert_eq!(sim.nand.erase_count(Superblock(0)), 1);
}

#[test]
fn a_program_whose_data_is_on_its_way_leaves_no_trace() {
    // Four units take 16 us on a channel that both dies share.
    let geometry = Geometry { channels: 1, dies_per_channel: 2, superblock_dies: 2, ..SMALL };
    let mut sim = Sim::new(geometry, Timing { channel_bytes_per_us: 1024, ..CELLS });
    sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1); // transfers
    sim.program(program(1, HostWrite, 4, 4), &spares(4, 4), 5); // waits for the channel
    sim.now = SimTime(16_000);
    assert_eq!(sim.power_cut(&mut no_dice), []);
    assert!(sim.nand.is_erased(Superblock(0)));
    // The channel is free: both programs are transferred in turn, then programmed.
    sim.program(program(2, HostWrite, 4, 4), &spares(0, 4), 1);
    sim.program(program(3, HostWrite, 0, 4), &spares(4, 4), 5);
    sim.drain();
    let start = 16_000;
    assert_eq!(sim.history(), [(start + 16_000 + T_PROG, 2), (start + 32_000 + T_PROG, 3)]);
    assert_eq!((sensed(&sim, 4..8), sensed(&sim, 0..4)), (found(0, 4), found(4, 4)));
}

#[test]
fn a_program_in_its_cells_is_torn_plane_by_plane() {
    let one = |dice_numbers: &[u32]| {
        let mut sim = Sim::new(SMALL, CELLS);
        let units = [spares(0, 3), vec![None]].concat();
        sim.program(program(9, HostWrite, 4, 4), &units, 100);
        sim.now = SimTime(1);
        let cut = sim.power_cut(&mut dice(dice_numbers));
        let [ref program] = cut[..] else { panic!("{cut:?}") };
        assert_eq!((program.token(), program.ppa(), program.units()), (9, Ppa(4), 4));
        let readable = program.readable();
        assert!((0..4).all(|unit| program.can_be_read(unit..unit + 1) == (readable >> unit & 1 != 0)));
        assert_eq!((program.can_be_read(0..4), program.can_be_read(3..5)), (readable == 0b1111, false));
        assert!(!sim.nand.is_erased(Superblock(0)));
        assert_eq!(sensed(&sim, 8..12), [Sensed::Blank; 4], "the next row");
        (readable, sensed(&sim, 4..8))
    };
    use Sensed::{Blank, Padding, Unreadable};
    let units = found(0, 3);
    let [a, b, c] = units[..] else { unreachable!("three units") };
    assert_eq!(one(&[1, 1]), (0b1111, vec![a, b, c, Padding]));
    assert_eq!(one(&[0, 1]), (0b1100, vec![Blank, Blank, c, Padding]));
    assert_eq!(one(&[0, 0]), (0, vec![Blank; 4]));
    assert_eq!(one(&[2, 0, 1, 2, 1, 0]), (0b0110, vec![Unreadable, b, c, Unreadable]));
    assert_eq!(one(&[2, 0, 0, 2, 0, 0]), (0, vec![Unreadable; 4]));
    assert_eq!(one(&[2, 1, 1, 2, 1, 1]), (0b1111, vec![a, b, c, Padding]));
}

#[test]
fn the_longest_program_is_torn_like_others() {
    let geometry = Geometry { planes: 6, units_per_page: 12, word_line_pages: 3, ..SMALL };
    let mut sim = Sim::new(geometry, CELLS);
    sim.program(program(0, HostWrite, 0, 72), &spares(0, 72), 1);
    sim.now = SimTime(1);
    let cut = sim.power_cut(&mut dice(&[1, 1, 1, 1, 1, 0]));
    assert_eq!(cut[0].readable(), (1 << 60) - 1);
    assert_eq!(sensed(&sim, 0..72), [found(0, 60), vec![Sensed::Blank; 12]].concat());
}

#[test]
fn torn_pages_are_used_up_and_those_after_them_are_not() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
    sim.program(program(1, HostWrite, 8, 4), &spares(4, 4), 5); // queued
    sim.now = SimTime(1);
    sim.power_cut(&mut dice(&[0, 2, 0, 1]));
    let done = run(&mut sim, read(2, HostRead, 0, 4));
    assert_eq!(
        (sim.nand.seq(&done), sim.nand.unit_seq(&done, 2), sim.nand.unit_seq(&done, 3)),
        (Seq(0), Seq(0), Seq(4))
    );
    assert!(!done.failed(), "the read did what it could");
    for ppa in [0, 2] {
        let again = refusal(|| sim.program(program(3, HostWrite, ppa, 2), &spares(8, 2), 9));
        assert!(again.ends_with("page 0: it is already programmed and not erased since"), "{again}");
    }
    sim.program(program(4, HostWrite, 8, 4), &spares(8, 4), 9);
    sim.drain();
    assert_eq!(sensed(&sim, 8..12), found(8, 4));
}

#[test]
fn an_end_that_was_not_delivered_has_not_come() {
    for delivered in [false, true] {
        let mut sim = Sim::new(SMALL, CELLS);
        sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
        sim.submit(erase(1, Background, 0, 1));
        if delivered {
            sim.step();
        }
        sim.now = SimTime(T_PROG);
        let cut = sim.power_cut(&mut dice(if delivered { &[] } else { &[0, 0] }));
        assert_eq!(cut.len(), usize::from(!delivered));
        let expected = if delivered { found(0, 4) } else { vec![Sensed::Blank; 4] };
        assert_eq!(sensed(&sim, 0..4), expected);
        assert_eq!(sensed(&sim, 4..8), [Sensed::Unreadable; 4], "the erase was not over in either case");
    }
}

#[test]
fn half_erased_blocks_are_useless_until_an_erase_finishes() {
    let mut sim = Sim::new(SMALL, CELLS);
    for row in 0..6 {
        sim.program(program(row, HostWrite, row * 4, 4), &spares(row * 4, 4), u64::from(row * 4 + 1));
    }
    sim.drain();
    for cuts in 0..2 {
        sim.submit(erase(6, Background, 0, 1));
        sim.now = SimTime(sim.now.0 + T_BERS);
        assert_eq!(sim.power_cut(&mut no_dice), []);
        for page in 0..3 {
            assert_eq!(sensed(&sim, page * 8 + 4..page * 8 + 8), [Sensed::Unreadable; 4], "cut {cuts}");
            assert_eq!(sensed(&sim, page * 8..page * 8 + 4), found(page * 8, 4), "another die");
            assert_eq!(sim.sensed(page * 8 + 4).1, Seq(0));
            let refused = refusal(|| sim.program(program(7, HostWrite, page * 8 + 4, 4), &spares(0, 4), 30));
            assert!(refused.ends_with(&format!("die 1, plane 0, page {page}: it is half erased")), "{refused}");
        }
    }
    assert!(!sim.nand.is_erased(Superblock(0)));
    erase_superblock(&mut sim, 0);
    assert!(sim.nand.is_erased(Superblock(0)));
    assert_eq!(sensed(&sim, 0..24), [Sensed::Blank; 24]);
    assert_eq!(sim.nand.erase_count(Superblock(0)), 1, "erases without power do not count");
    sim.program(program(8, HostWrite, 4, 4), &spares(50, 4), 51);
    sim.drain();
    assert_eq!(sensed(&sim, 4..8), found(50, 4));
}

#[test]
fn blocks_that_are_half_erased_before_their_first_program_are_so_too() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.submit(erase(0, Background, 2, 0));
    sim.power_cut(&mut no_dice);
    assert_eq!(sensed(&sim, 48..52), [Sensed::Unreadable; 4]);
    assert!(!sim.nand.is_erased(Superblock(2)));
}

#[test]
fn the_programs_come_by_die() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.program(program(1, HostWrite, 4, 4), &spares(4, 4), 1);
    sim.program(program(0, HostWrite, 0, 2), &spares(0, 2), 5);
    let cut = sim.power_cut(&mut dice(&[1, 1, 0]));
    let units: Vec<_> = cut.iter().map(|cut| (cut.token(), cut.units(), cut.readable())).collect();
    assert_eq!(units, [(0, 2, 0b11), (1, 4, 0b0011)]);
}

#[test]
fn page_registers_are_empty_afterwards() {
    let mut sim = Sim::new(SMALL, Timing { page_register: true, ..CELLS });
    run(&mut sim, read(0, HostRead, 0, 1));
    run(&mut sim, read(1, HostRead, 0, 1));
    assert_eq!(sim.nand.counters().register_hits(), 1);
    sim.power_cut(&mut no_dice);
    let before = sim.now;
    run(&mut sim, read(2, HostRead, 0, 1));
    assert_eq!((sim.now - before, sim.nand.counters().register_hits()), (Nanos::from_micros(60), 1));
}

#[test]
fn lost_operations_are_not_counted() {
    let mut sim = Sim::new(SMALL, CELLS);
    sim.submit(read(0, HostRead, 0, 1));
    sim.program(program(1, HostWrite, 4, 4), &spares(0, 4), 1);
    sim.submit(erase(2, Background, 1, 0));
    sim.now = SimTime(60_000);
    sim.power_cut(&mut dice(&[1, 1]));
    assert_eq!(*sim.nand.counters(), Default::default());
}

#[test]
fn bugs_of_the_caller_are_named() {
    let programming = |geometry, units| {
        let mut sim = Sim::new(geometry, CELLS);
        sim.program(program(0, HostWrite, 0, units), &spares(0, units), 1);
        sim
    };
    let mut sim = programming(SMALL, 4);
    sim.now = SimTime(T_PROG + 1);
    let late = refusal(|| _ = sim.power_cut(&mut no_dice));
    assert!(late.contains("but die 0 was not woken at"), "{late}");
    let loaded = refusal(|| _ = programming(SMALL, 4).power_cut(&mut |n| n));
    assert!(loaded.contains("the dice gave 3, which is not in 0..3"), "{loaded}");
}

/// Programs every page of a superblock and checks its content.
fn fill(sim: &mut Sim, superblock: u32, lpa: u32) {
    for row in 0..6 {
        let first = row * 4;
        sim.program(program(row, HostWrite, superblock * 24 + first, 4), &spares(lpa + first, 4), 1 + u64::from(lpa));
    }
    sim.drain();
    assert_eq!(sensed(sim, superblock * 24..superblock * 24 + 24), found(lpa, 24));
}

proptest! {
    /// Whatever a power cut has left, erases make it like new.
    #[test]
    fn everything_can_be_used_again_after_an_erase(
        cuts in prop::collection::vec((0..12_000_000u64, any::<u32>()), 1..4),
    ) {
        let mut sim = Sim::new(SMALL, Timing { channel_bytes_per_us: 64, ..CELLS });
        for (after, mut state) in cuts {
            for row in 0..6 {
                sim.program(program(row, HostWrite, row * 4, 4), &spares(row * 4, 4), 1);
            }
            for superblock in 0..3 {
                for die in 0..2 {
                    sim.submit(erase(0, Background, superblock, die));
                }
            }
            let end = SimTime(sim.now.0 + after);
            while sim.next().is_some_and(|next| next < end) {
                sim.step();
            }
            sim.now = end;
            sim.power_cut(&mut |n| {
                state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
                (state >> 16) % n
            });
            for superblock in 0..3 {
                erase_superblock(&mut sim, superblock);
                prop_assert!(sim.nand.is_erased(Superblock(superblock)));
            }
            prop_assert_eq!(sensed(&sim, 0..72), [Sensed::Blank; 72]);
            for superblock in 0..3 {
                fill(&mut sim, superblock, superblock * 100);
            }
            for superblock in 0..3 {
                erase_superblock(&mut sim, superblock);
            }
        }
    }
}

#[test]
fn an_interrupted_program_is_torn_as_one_that_runs() {
    let suspend = Suspend { programs: 1, stop: Nanos::from_micros(20), ..Suspend::NEVER };
    // While its cells are being stopped, while a read runs, and when it goes on.
    for at in [10_000, 50_000, 90_000] {
        let mut sim = Sim::new(SMALL, Timing { suspend, ..CELLS });
        sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
        sim.submit(read(1, HostRead, 8, 1));
        while sim.pending.peek().is_some_and(|next| next.0.0 <= SimTime(at)) {
            sim.step();
        }
        sim.now = SimTime(at);
        let cut = sim.power_cut(&mut dice(&[0, 0, 0, 0]));
        assert_eq!(cut.iter().map(CutProgram::token).collect::<Vec<_>>(), [0], "at {at} ns");
        assert!(!sim.nand.is_erased(Superblock(0)) && sim.nand.inflight() == 0);
    }
}

#[test]
fn data_that_was_loaded_ahead_leaves_no_trace() {
    let timing = Timing { cache_program: true, channel_bytes_per_us: 1024, ..CELLS };
    // While it crosses the channel, and when it is there.
    for at in [20_000, 100_000] {
        let mut sim = Sim::new(SMALL, timing);
        sim.program(program(0, HostWrite, 0, 4), &spares(0, 4), 1);
        sim.program(program(1, HostWrite, 8, 4), &spares(4, 4), 5);
        while sim.pending.peek().is_some_and(|next| next.0.0 <= SimTime(at)) {
            sim.step();
        }
        sim.now = SimTime(at);
        let cut = sim.power_cut(&mut dice(&[0, 0, 0, 0]));
        assert_eq!(cut.iter().map(CutProgram::token).collect::<Vec<_>>(), [0], "at {at} ns");
        assert_eq!(sensed(&sim, 8..12), [Sensed::Blank; 4]);
    }
}
