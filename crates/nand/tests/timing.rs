//! Worked examples of the times at which operations finish.

use crate::common::{CELLS, HP_UFS, Sim, erase, program, read, spares};
use params::{Counts, Value};
use ufsim_nand::{
    ByPage, Cause, CellTiming, CellType, FreeWork, Geometry, Kind, NandEvent, Op, PageTimes, Priority, Suspend, Timing,
};
use units::{Nanos, SimTime, Superblock};

use Priority::{Background, Gc, HostRead, HostWrite, MapRead};

/// One channel with two dies; a unit takes 4 us on it, a row of eight 32 us.
const SHARED: Geometry = Geometry { channels: 1, dies_per_channel: 2, superblock_dies: 2, ..HP_UFS };
const SLOW: Timing = Timing { channel_bytes_per_us: 1024, ..CELLS };

fn us(micros: u64) -> u64 {
    Nanos::from_micros(micros).0
}

#[test]
fn a_stripe_of_64_units_is_programmed_in_550_us() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    for die in 0..8 {
        sim.program(program(die, HostWrite, die * 8, 8), &spares(die * 8, 8), 1);
    }
    assert_eq!(sim.nand.inflight(), 8);
    sim.drain();
    let expected: Vec<_> = (0..8).map(|die| (us(550), die)).collect();
    assert_eq!(sim.history(), expected);
    assert_eq!(sim.nand.counters().busy_ns(Cause::HostWrite), 8 * us(550));
    assert_eq!(sim.nand.counters().bytes(Cause::HostWrite, Kind::Program), 64 * 4096);
}

#[test]
fn two_stripes_take_twice_as_long_because_a_die_does_one_thing_at_a_time() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    for row in 0..16 {
        sim.program(program(row, HostWrite, row * 8, 8), &spares(row * 8, 8), 1);
    }
    sim.drain();
    let expected: Vec<_> = (0..16).map(|row| (us(if row < 8 { 550 } else { 1_100 }), row)).collect();
    assert_eq!(sim.history(), expected);
}

#[test]
fn cells_decide_the_time() {
    let meta = 4 * 4096;
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.submit(read(0, HostRead, 0, 1));
    sim.submit(read(1, MapRead, meta + 8, 8));
    sim.program(program(2, HostWrite, meta + 16, 8), &spares(0, 8), 1);
    sim.program(program(3, HostWrite, 24, 8), &spares(0, 8), 1);
    sim.submit(erase(4, Background, 4, 4));
    sim.drain();
    assert_eq!(sim.history(), [(us(25), 1), (us(60), 0), (us(150), 2), (us(550), 3), (us(5_000), 4)]);
}

#[test]
fn a_die_serves_its_classes_in_order_and_each_class_first_come_first_served() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    // The first operation starts at once and is not interrupted, although it is the least urgent.
    let submitted = [Background, Gc, HostWrite, Background, MapRead, HostRead, Gc, HostRead];
    for (token, priority) in submitted.into_iter().enumerate() {
        sim.submit(read(token as u32, priority, 0, 1));
    }
    sim.drain();
    let expected: Vec<_> = (1..).zip([0, 5, 7, 4, 2, 1, 6, 3]).map(|(n, token)| (us(60 * n), token)).collect();
    assert_eq!(sim.history(), expected);
}

#[test]
fn an_urgent_read_waits_for_the_running_program_only() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    sim.program(program(1, HostWrite, 64, 8), &spares(8, 8), 9);
    sim.now = SimTime(us(100));
    sim.submit(read(2, HostRead, 0, 1));
    sim.drain();
    assert_eq!(sim.history(), [(us(550), 0), (us(610), 2), (us(1_160), 1)]);
}

#[test]
fn reads_of_two_dies_share_a_channel() {
    let mut sim = Sim::new(SHARED, SLOW);
    // Both dies sense until 60 us. Die 0 transfers until 92 us, die 1 waits and transfers until 96 us.
    sim.submit(read(0, HostRead, 0, 8));
    sim.submit(read(1, HostRead, 8, 1));
    // Die 0 is occupied until 92 us; its next read senses until 152 us and finds the channel free.
    sim.submit(read(2, HostRead, 2, 2));
    sim.drain();
    assert_eq!(sim.history(), [(us(92), 0), (us(96), 1), (us(160), 2)]);
    assert_eq!(sim.nand.counters().busy_ns(Cause::HostRead), us(92 + 96 + 68));
}

#[test]
fn programs_wait_for_the_channel_before_their_cells_work() {
    let mut sim = Sim::new(SHARED, SLOW);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1); // channel 0..32, cells 32..582
    sim.program(program(1, HostWrite, 8, 8), &spares(0, 8), 1); // channel 32..64, cells 64..614
    sim.submit(read(2, HostRead, 0, 1)); // sense 582..642, channel 642..646
    sim.submit(read(3, HostRead, 8, 8)); // sense 614..674, channel 674..706
    sim.drain();
    assert_eq!(sim.history(), [(us(582), 0), (us(614), 1), (us(646), 2), (us(706), 3)]);
}

#[test]
fn a_channel_serves_the_die_that_asked_first_whatever_its_class() {
    let three = Geometry { dies_per_channel: 3, superblock_dies: 3, ..SHARED };
    let mut sim = Sim::new(three, SLOW);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1); // channel 0..32
    sim.program(program(1, Background, 8, 8), &spares(0, 8), 1); // asks at 0: channel 32..64
    sim.now = SimTime(us(1));
    sim.program(program(2, HostRead, 16, 8), &spares(0, 8), 1); // asks at 1: channel 64..96
    sim.drain();
    assert_eq!(sim.history(), [(us(582), 0), (us(614), 1), (us(646), 2)]);
}

#[test]
fn channels_do_not_disturb_each_other() {
    let mut sim = Sim::new(HP_UFS, SLOW);
    for die in 0..8 {
        sim.submit(read(die, HostRead, die * 8, 8));
    }
    assert_eq!(sim.next(), Some(SimTime(us(60))));
    sim.drain();
    assert_eq!(sim.history(), (0..8).map(|die| (us(92), die)).collect::<Vec<_>>());
}

#[test]
fn die_d_is_on_channel_d_modulo_channels() {
    let geometry = Geometry { channels: 2, dies_per_channel: 2, superblock_dies: 4, ..HP_UFS };
    let mut sim = Sim::new(geometry, SLOW);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1); // die 0, channel 0: 0..32
    sim.program(program(1, HostWrite, 8, 8), &spares(0, 8), 1); // die 1, channel 1: 0..32
    sim.program(program(2, HostWrite, 16, 8), &spares(0, 8), 1); // die 2, channel 0: 32..64
    sim.drain();
    assert_eq!(sim.history(), [(us(582), 0), (us(582), 1), (us(614), 2)]);
}

#[test]
fn the_page_register_saves_sensing_the_same_row_again() {
    let timing = Timing { page_register: true, ..SLOW };
    let mut sim = Sim::new(HP_UFS, timing);
    sim.submit(read(0, HostRead, 0, 1)); // sense 0..60, channel 60..64
    sim.submit(read(1, HostRead, 5, 2)); // same row: channel 64..72
    sim.submit(read(2, HostRead, 64, 1)); // other row of the die: sense ..132, channel ..136
    sim.submit(read(3, HostRead, 0, 1)); // the first row is gone: ..196, ..200
    sim.drain();
    assert_eq!(sim.history(), [(us(64), 0), (us(72), 1), (us(136), 2), (us(200), 3)]);
    assert_eq!(sim.nand.counters().register_hits(), 1);
    // The row stays in the register while the die is idle, and operations on other dies do not matter.
    sim.submit(read(4, HostRead, 8, 1));
    sim.drain();
    sim.now = SimTime(us(1_000));
    sim.submit(read(5, HostRead, 7, 1));
    sim.drain();
    assert_eq!(sim.done.last().map(|done| done.time.0), Some(us(1_004)));
}

#[test]
fn programs_and_erases_overwrite_the_page_register() {
    let timing = Timing { page_register: true, ..CELLS };
    let mut sim = Sim::new(HP_UFS, timing);
    sim.submit(read(0, HostRead, 0, 1));
    sim.program(program(1, HostRead, 0, 8), &spares(0, 8), 1);
    sim.submit(read(2, HostRead, 0, 1));
    sim.submit(read(3, HostRead, 1, 1)); // the only hit: no transfer, so no time at all
    sim.submit(erase(4, HostRead, 1, 0));
    sim.submit(read(5, HostRead, 0, 1));
    sim.drain();
    let expected = [(60, 0), (610, 1), (670, 2), (670, 3), (5_670, 4), (5_730, 5)];
    assert_eq!(sim.history(), expected.map(|(time, token)| (us(time), token)));
    assert_eq!(sim.nand.counters().register_hits(), 1);
}

#[test]
fn without_page_register_reads_every_read_senses() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.submit(read(0, HostRead, 0, 1));
    sim.submit(read(1, HostRead, 0, 1));
    sim.drain();
    assert_eq!(sim.history(), [(us(60), 0), (us(120), 1)]);
    assert_eq!(sim.nand.counters().register_hits(), 0);
}

#[test]
fn a_die_is_idle_when_it_has_nothing_to_do() {
    let mut sim = Sim::new(HP_UFS, SLOW);
    sim.submit(read(0, HostRead, 8, 1));
    assert!(sim.nand.die_idle(0) && !sim.nand.die_idle(1) && !sim.nand.idle());
    assert_eq!(sim.step(), None);
    assert!(!sim.nand.die_idle(1), "the data is still on its way");
    sim.drain();
    assert!(sim.nand.die_idle(1));
}

#[test]
#[should_panic(expected = "without the end of a cell phase")]
fn a_wake_at_the_wrong_time_is_a_bug() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.submit(read(0, HostRead, 0, 1));
    sim.nand.wake(SimTime(us(59)), NandEvent::Die(0), &mut Vec::<(SimTime, NandEvent)>::new());
}

#[test]
#[should_panic(expected = "without the end of a transfer")]
fn a_wake_of_an_idle_channel_is_a_bug() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.nand.wake(SimTime::START, NandEvent::Channel(3), &mut Vec::<(SimTime, NandEvent)>::new());
}

#[test]
fn free_work_takes_no_time_and_is_counted() {
    let mut sim = Sim::new(HP_UFS, Timing { free: FreeWork::Gc, ..SLOW });
    let copy = |n: u32| Op { cause: Cause::GcWrite, ..program(n, Gc, n * 8, 8) };
    sim.program(copy(0), &spares(0, 8), 1);
    sim.program(program(1, HostWrite, 8, 8), &spares(8, 8), 9);
    sim.drain();
    assert_eq!(sim.history(), [(0, 0), (us(32 + 550), 1)]);
    let counters = sim.nand.counters();
    assert_eq!((counters.busy_ns(Cause::GcWrite), counters.busy_ns(Cause::HostWrite)), (0, us(582)));
    assert_eq!(counters.bytes(Cause::GcWrite, Kind::Program), 8 * 4096);
}

#[test]
fn pages_of_a_word_line_have_their_own_times() {
    let times = |us: &[u32]| PageTimes::of(Counts::of(&Value::from(us.to_vec())).expect("a list of times"));
    let by_page = Some(ByPage { reads: times(&[40, 60, 80]), programs: times(&[200, 500, 900]) });
    let mut sim = Sim::new(HP_UFS, Timing { by_page, ..CELLS });
    // Rows of the first die, page after page of its blocks.
    for page in 0..4 {
        sim.program(program(page, HostWrite, page * 64, 8), &spares(page * 8, 8), 1 + u64::from(page) * 8);
    }
    sim.drain();
    let mut ends: Vec<_> = [200, 700, 1600, 1800].into_iter().map(us).zip(0..4).collect();
    assert_eq!(sim.history(), ends);
    (4..8).for_each(|token| sim.submit(read(token, HostRead, (token - 4) * 64, 1)));
    sim.drain();
    ends.extend([1840, 1900, 1980, 2020].into_iter().map(us).zip(4..8));
    assert_eq!(sim.history(), ends);
}

/// Two planes with pages of four units, three of which are programmed at once.
const WORD_LINES: Geometry = Geometry { planes: 2 * 3, word_line_pages: 3, pages_per_block: 21, ..HP_UFS };

#[test]
fn a_word_line_is_programmed_at_once_and_read_page_by_page() {
    assert_eq!((WORD_LINES.row_units(), WORD_LINES.sense_units()), (24, 8));
    assert_eq!([CellType::Slc, CellType::Tlc].map(|cell| WORD_LINES.program_units(cell)), [4, 24]);
    let mut sim = Sim::new(WORD_LINES, Timing { page_register: true, ..CELLS });
    sim.program(program(0, HostWrite, 0, 24), &spares(0, 24), 1);
    sim.drain();
    assert_eq!(sim.history(), [(us(550), 0)]);
    // Within a page; over a border; a page that was sensed last; over two borders; another page of the last read.
    for (token, unit, units) in [(1, 3, 5), (2, 7, 2), (3, 8, 1), (4, 10, 2), (5, 4, 20), (6, 20, 1)] {
        sim.submit(read(token, HostRead, unit, units));
        sim.drain();
    }
    let ends = sim.history().iter().map(|&(at, _)| at / 1000 - 550).skip(1).collect::<Vec<_>>();
    assert_eq!(ends, [60, 180, 240, 240, 420, 480]);
}

#[test]
fn a_data_superblock_in_slc_mode_has_the_times_of_slc() {
    let mut sim = Sim::new(WORD_LINES, CELLS);
    sim.nand.set_slc(Superblock(0), true);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    sim.program(program(1, HostWrite, 8, 16), &spares(8, 16), 9);
    sim.drain();
    assert_eq!(sim.history(), [(us(150), 0), (us(450), 1)], "a page at a time");
    sim.submit(read(2, HostRead, 6, 4));
    sim.submit(erase(3, Background, 0, 0));
    sim.drain();
    assert_eq!(sim.history()[2..], [(us(500), 2), (us(5_500), 3)]);
}

#[test]
#[should_panic(expected = "changes its mode while something is programmed in it")]
fn a_superblock_keeps_its_mode_until_it_is_erased() {
    let mut sim = Sim::new(HP_UFS, CELLS);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    sim.nand.set_slc(Superblock(0), true);
}

/// Cells stop after 20 us and go on after 10.
const SUSPEND: Suspend =
    Suspend { programs: 2, erases: 3, stop: Nanos::from_micros(20), resume: Nanos::from_micros(10) };

/// Handles all events up to this microsecond.
fn until(sim: &mut Sim, at: u64) {
    while sim.pending.peek().is_some_and(|next| next.0.0 <= SimTime(us(at))) {
        sim.step();
    }
    sim.now = SimTime(us(at));
}

#[test]
fn a_read_interrupts_a_program_which_goes_on_where_it_was() {
    let mut sim = Sim::new(HP_UFS, Timing { suspend: SUSPEND, ..CELLS });
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    sim.now = SimTime(us(100));
    sim.submit(read(1, HostRead, 0, 1));
    sim.drain();
    // Stopped at 120 us, read until 180, goes on at 190 with the 450 us that were left at 100.
    assert_eq!(sim.history(), [(us(180), 1), (us(640), 0)]);
    let counters = sim.nand.counters();
    assert_eq!(counters.busy_ns(Cause::HostRead), us(60));
    assert_eq!(
        counters.busy_ns(Cause::HostWrite),
        us(550 + 20 + 10),
        "what stopping and going on take is the program's"
    );
}

#[test]
fn all_urgent_reads_go_first_and_others_wait() {
    let mut sim = Sim::new(HP_UFS, Timing { suspend: SUSPEND, ..CELLS });
    sim.submit(erase(0, Background, 0, 0));
    for (at, token, priority) in [(1_000, 1, HostRead), (1_005, 2, Gc), (1_010, 3, MapRead), (1_050, 4, HostRead)] {
        until(&mut sim, at);
        sim.submit(read(token, priority, 4 * 4096, 1));
    }
    sim.drain();
    // Of metadata cells: 25 us each. The erase has 4000 us left at 1000 us, and goes on at 1095 + 10.
    assert_eq!(sim.history(), [(us(1_045), 1), (us(1_070), 3), (us(1_095), 4), (us(5_105), 0), (us(5_130), 2)]);
}

#[test]
fn an_operation_is_interrupted_only_so_often_and_not_at_its_end() {
    let mut sim = Sim::new(HP_UFS, Timing { suspend: SUSPEND, ..CELLS });
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    for (token, at) in [(1, 100), (2, 250), (3, 400)] {
        until(&mut sim, at);
        sim.submit(read(token, HostRead, 0, 1));
    }
    sim.drain();
    // Twice 90 us later, and the third read waits for the end at 550 + 2 * 90.
    assert_eq!(sim.history(), [(us(180), 1), (us(330), 2), (us(730), 0), (us(790), 3)]);
    let mut late = Sim::new(HP_UFS, Timing { suspend: SUSPEND, ..CELLS });
    late.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    late.now = SimTime(us(530));
    late.submit(read(1, HostRead, 0, 1));
    late.drain();
    assert_eq!(late.history(), [(us(550), 0), (us(610), 1)], "its cells would not have stopped before");
}

#[test]
fn reads_and_transfers_are_not_interrupted() {
    let mut sim = Sim::new(SHARED, Timing { suspend: SUSPEND, ..SLOW });
    sim.submit(read(0, Gc, 0, 8)); // sense 0..60, channel 60..92
    sim.now = SimTime(us(10));
    sim.submit(read(1, HostRead, 0, 1)); // sense 92..152, channel 152..156
    sim.program(program(2, HostWrite, 8, 8), &spares(0, 8), 1); // die 1: channel 10..42, cells 42..592
    sim.now = SimTime(us(20));
    sim.submit(read(3, HostRead, 8, 1)); // it waits for the transfer of the program, and for its cells
    sim.drain();
    assert_eq!(sim.history(), [(us(92), 0), (us(156), 1), (us(592), 2), (us(656), 3)]);
}

#[test]
fn cached_programs_cross_the_channel_while_others_are_programmed() {
    for (program_us, ends) in [(550, [582, 1_132, 1_682, 2_232]), (10, [42, 74, 106, 138])] {
        let tlc = CellTiming { program: Nanos::from_micros(program_us), ..CELLS.tlc };
        let timing = Timing { tlc, cache_program: true, ..SLOW };
        let mut sim = Sim::new(HP_UFS, timing);
        for token in 0..4 {
            sim.program(program(token, HostWrite, 64 * token, 8), &spares(0, 8), 1);
        }
        sim.drain();
        // The first transfer and then cells alone, or transfers alone and then the last cells: whatever takes longer.
        let expected: Vec<_> = (0..4).zip(ends).map(|(token, end)| (us(end), token)).collect();
        assert_eq!(sim.history(), expected);
    }
}

#[test]
fn a_read_waits_for_a_program_whose_data_is_there() {
    let mut sim = Sim::new(HP_UFS, Timing { cache_program: true, ..SLOW });
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1);
    sim.program(program(1, HostWrite, 64, 8), &spares(0, 8), 9);
    sim.program(program(2, HostWrite, 128, 8), &spares(0, 8), 17);
    until(&mut sim, 100);
    sim.submit(read(3, HostRead, 0, 1));
    sim.drain();
    // The second has been loaded when the read comes; the third has not, and follows the read.
    assert_eq!(sim.history(), [(us(582), 0), (us(1_132), 1), (us(1_132 + 64), 3), (us(1_132 + 64 + 582), 2)]);
}

#[test]
fn loading_shares_the_channel_with_reads_of_a_suspended_die() {
    let timing = Timing { cache_program: true, suspend: SUSPEND, ..SLOW };
    let mut sim = Sim::new(HP_UFS, timing);
    sim.program(program(0, HostWrite, 0, 8), &spares(0, 8), 1); // channel 0..32, cells 32..582
    sim.program(program(1, HostWrite, 64, 8), &spares(0, 8), 9); // channel 32..64
    until(&mut sim, 40);
    sim.submit(read(2, HostRead, 0, 8)); // stopped at 60, sense 60..120, channel 120..152
    sim.drain();
    // The first goes on at 162 with 542 us, and the second follows at once.
    assert_eq!(sim.history(), [(us(152), 2), (us(704), 0), (us(704 + 550), 1)]);
}
