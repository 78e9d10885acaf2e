//! Reads that share a die: independent plane reads and cached reads, against closed forms and a plain simulation.

use crate::common::{CELLS, HP_UFS, Sim, erase, program, read, spares};
use params::{Counts, Value};
use proptest::prelude::*;
use ufsim_nand::{Cause, Geometry, Kind, Priority, RetryParams, Sharing, Suspend, Timing};
use units::{Nanos, SimTime};

use Priority::{Background, Gc, HostRead, HostWrite};

/// One die with four planes. A page has four units, a row sixteen; a unit takes 4 us on the channel.
const DIE: Geometry = Geometry { channels: 1, dies_per_channel: 1, superblock_dies: 1, planes: 4, ..HP_UFS };
/// The same die with six planes.
const SIX: Geometry = Geometry { planes: 6, ..DIE };
const SLOW: Timing = Timing { channel_bytes_per_us: 1024, ..CELLS };
const PLANES: Timing = Timing { sharing: Sharing { planes: true, cache: false }, ..SLOW };
const CACHE: Timing = Timing { sharing: Sharing { planes: false, cache: true }, ..SLOW };
const BOTH: Timing = Timing { sharing: Sharing { planes: true, cache: true }, ..SLOW };
/// tR, and the transfer of a page of a plane.
const READ: u64 = 60;
const PAGE: u64 = 16;

fn us(micros: u64) -> u64 {
    Nanos::from_micros(micros).0
}

/// Units of plane `plane` in row `row`.
fn at(plane: u32, row: u32) -> u32 {
    16 * row + 4 * plane
}

/// The same on six planes.
fn at_six(plane: u32, row: u32) -> u32 {
    24 * row + 4 * plane
}

/// The ends in microseconds, by token.
fn ends(sim: &mut Sim) -> Vec<u64> {
    sim.drain();
    let mut ended = sim.history();
    ended.sort_by_key(|&(_, token)| token);
    ended.into_iter().map(|(at, _)| at / 1000).collect()
}

#[test]
fn different_planes_sense_at_once_and_share_the_channel() {
    for planes in 1..=6u32 {
        let mut sim = Sim::new(SIX, PLANES);
        // Each on its own plane, in rows of its own.
        (0..planes).for_each(|n| sim.submit(read(n, HostRead, at_six(n, 3 * n), 4)));
        let expected: Vec<_> = (1..=u64::from(planes)).map(|n| READ + n * PAGE).collect();
        assert_eq!(ends(&mut sim), expected);
        let mut alone = Sim::new(SIX, SLOW);
        (0..planes).for_each(|n| alone.submit(read(n, HostRead, at_six(n, 3 * n), 4)));
        let expected: Vec<_> = (1..=u64::from(planes)).map(|n| n * (READ + PAGE)).collect();
        assert_eq!(ends(&mut alone), expected, "without it one after the other");
    }
}

/// A stream of reads that goes round the planes is as fast as the cells of all planes or as the channel: of k planes,
/// the time of a read is that of a plane divided by k, but at least its transfer.
#[test]
fn a_stream_over_k_planes_is_bound_by_its_cells_or_by_the_channel() {
    const READS: u64 = 400;
    for (cache, of_plane) in [(false, READ + PAGE), (true, READ)] {
        for planes in 1..=6u64 {
            let mut sim = Sim::new(SIX, Timing { sharing: Sharing { planes: true, cache }, ..SLOW });
            (0..READS as u32).for_each(|n| sim.submit(read(n, HostRead, at_six(n % planes as u32, n / 8), 4)));
            let took = *ends(&mut sim).iter().max().expect("reads");
            let expected = READS * of_plane.max(planes * PAGE) / planes;
            // The first cell phase and the last transfers do not overlap with others.
            assert!(took.abs_diff(expected) <= READ + planes * PAGE, "{planes} planes, {cache}: {took}, {expected}");
        }
    }
}

#[test]
fn one_plane_reads_one_page_at_a_time_in_order() {
    let mut sim = Sim::new(DIE, PLANES);
    sim.submit(read(0, HostRead, at(1, 0), 4)); // sense 0..60, channel 60..76
    sim.submit(read(1, HostRead, at(1, 5), 4)); // waits for plane 1: sense 76..136, channel 136..152
    sim.submit(read(2, HostRead, at(1, 7), 8)); // planes 1 and 2, behind it: sense 152..212, channel 212..244
    sim.submit(read(3, HostRead, at(2, 0), 4)); // plane 2 is free, but wanted by one that came before: ..304, ..320
    sim.submit(read(4, HostRead, at(3, 9), 4)); // sense 0..60, channel 76..92
    assert_eq!(ends(&mut sim), [76, 152, 244, 320, 92]);
}

#[test]
fn programs_and_erases_have_the_die_for_themselves_and_nothing_less_urgent_goes_past_them() {
    let mut sim = Sim::new(DIE, PLANES);
    sim.submit(read(0, HostRead, at(0, 1), 4)); // sense 0..60, channel 60..76
    sim.program(program(1, HostWrite, 0, 16), &spares(0, 16), 1); // channel 76..140, cells 140..690
    sim.submit(read(2, Gc, at(1, 1), 4)); // behind the program: sense 690..750, channel 750..766
    sim.submit(read(3, HostRead, at(2, 1), 4)); // more urgent: sense 0..60, channel 76..92
    sim.submit(erase(4, Background, 1, 0)); // after all
    // So the program begins at 92: channel 92..156, cells 156..706.
    assert_eq!(ends(&mut sim), [76, 706, 782, 92, 5_782]);
    assert!(sim.nand.die_idle(0));
}

#[test]
fn reads_of_several_planes_go_first_while_a_program_is_interrupted() {
    let suspend = Suspend { programs: 1, erases: 0, stop: Nanos::from_micros(20), resume: Nanos::from_micros(10) };
    let mut sim = Sim::new(DIE, Timing { suspend, channel_bytes_per_us: 0, ..PLANES });
    sim.program(program(0, HostWrite, 0, 16), &spares(0, 16), 1);
    sim.now = SimTime(us(100));
    sim.submit(read(1, HostRead, at(0, 1), 4));
    sim.submit(read(2, HostRead, at(3, 2), 4));
    sim.submit(read(3, Gc, at(1, 2), 4));
    // Stopped at 120, both until 180; the program has 450 left and goes on at 190; the read of GC comes after it.
    assert_eq!(ends(&mut sim), [640, 180, 180, 700]);
    assert_eq!(sim.nand.counters().busy_ns(Cause::HostWrite), us(550 + 20 + 10));
}

/// The next cell phase goes on during a transfer: a stream takes the longer of both for each read, not the sum.
#[test]
fn a_cached_stream_takes_the_longer_of_cells_and_transfer() {
    const READS: u64 = 100;
    for units in [4u64, 16] {
        for (timing, each) in [(SLOW, READ + 4 * units), (CACHE, READ.max(4 * units))] {
            let mut sim = Sim::new(DIE, timing);
            (0..READS as u32).for_each(|n| sim.submit(read(n, HostRead, at(0, n % 60), units as u32)));
            let took = *ends(&mut sim).last().expect("reads");
            // The first cell phase, or the last transfer, stands alone.
            let alone = if each == READ + 4 * units { 0 } else { READ.min(4 * units) };
            assert_eq!(took, READS * each + alone, "{units} units");
        }
    }
}

#[test]
fn a_cache_register_holds_data_until_they_have_crossed_the_channel() {
    let mut sim = Sim::new(DIE, CACHE);
    sim.submit(read(0, HostRead, at(0, 1), 16)); // sense 0..60, channel 60..124
    sim.submit(read(1, HostRead, at(0, 2), 16)); // sense 60..120, waits for the cache register, channel 124..188
    sim.submit(read(2, HostRead, at(0, 3), 16)); // sense 124..184, channel 188..252
    sim.program(program(3, HostWrite, 0, 16), &spares(0, 16), 1); // after all: channel 252..316, cells ..866
    assert_eq!(ends(&mut sim), [124, 188, 252, 866]);
}

#[test]
fn each_plane_has_a_page_register_of_its_own() {
    let mut sim = Sim::new(DIE, Timing { page_register: true, ..PLANES });
    sim.submit(read(0, HostRead, at(0, 1), 1)); // sense 0..60, channel 60..64
    sim.submit(read(1, HostRead, at(1, 2), 1)); // sense 0..60, channel 64..68
    sim.drain();
    sim.submit(read(2, HostRead, at(0, 1) + 3, 1)); // plane 0 has it: channel 68..72
    sim.submit(read(3, HostRead, at(1, 1), 1)); // the row of the first, but plane 1 has another: sense 68..128, ..132
    assert_eq!(ends(&mut sim), [64, 68, 72, 132]);
    assert_eq!(sim.nand.counters().register_hits(), 1);
}

#[test]
fn waits_are_the_time_from_submission_to_start() {
    let mut sim = Sim::new(DIE, BOTH);
    sim.nand.watch(true, false);
    sim.submit(read(0, HostRead, at(0, 1), 4));
    sim.submit(read(1, HostRead, at(1, 1), 4));
    sim.now = SimTime(us(10));
    sim.submit(read(2, HostRead, at(0, 2), 4)); // starts at 60, when the data of the first are in the cache register
    let mut waits = Vec::new();
    while !sim.pending.is_empty() {
        if let Some(done) = sim.step() {
            let sum = sim.nand.last_wait().map_or(0, |wait| wait.causes().map(|(_, time)| time.0).sum::<u64>());
            waits.push((done.token(), sum));
        }
    }
    assert_eq!(waits, [(0, 0), (1, 0), (2, us(50))]);
}

#[test]
fn a_power_cut_drops_all_reads_of_a_die() {
    let mut sim = Sim::new(DIE, BOTH);
    (0..6).for_each(|n| sim.submit(read(n, HostRead, at(n % 3, n), 4)));
    sim.program(program(6, HostWrite, 0, 16), &spares(0, 16), 1);
    (0..3).for_each(|_| _ = sim.step());
    assert!(sim.power_cut(&mut |_| 0).is_empty());
    sim.program(program(7, HostWrite, 0, 16), &spares(0, 16), 1);
    sim.submit(read(8, HostRead, at(0, 0), 4));
    sim.drain();
    let last: Vec<_> = sim.history().iter().rev().take(2).map(|&(_, token)| token).collect();
    assert_eq!(last, [8, 7]);
}

/// A read in the plain simulation: when it was submitted, its first and last plane, and its time.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    submitted: u64,
    planes: (u32, u32),
    units: u64,
}

/// When reads of one die end, looking at each microsecond: one class, so in order of submission. `None` if two ask for
/// the channel at the same time: then the order of events decides.
fn plain(reads: &[Wanted], sharing: Sharing) -> Option<Vec<u64>> {
    let overlap = |a: (u32, u32), b: (u32, u32)| !sharing.planes || a.0 <= b.1 && b.0 <= a.1;
    // Of each read: when it starts, when it has been sensed, when it asks for the channel, when it ends.
    let mut times: Vec<[Option<u64>; 4]> = vec![[None; 4]; reads.len()];
    let mut channel: Option<usize> = None;
    let mut queue: Vec<usize> = Vec::new();
    let mut now = 0;
    while times.iter().any(|time| time[3].is_none()) {
        // Ends of transfers first: what they free is free at this time.
        if let Some(n) = channel
            && times[n][3] == Some(now)
        {
            channel = None;
        }
        let waited = queue.len();
        let ended = |time: &[Option<u64>; 4]| time[3].is_some_and(|end| end <= now);
        loop {
            let before = times.clone();
            for n in 0..reads.len() {
                let others: Vec<usize> =
                    (0..reads.len()).filter(|&m| m != n && overlap(reads[m].planes, reads[n].planes)).collect();
                let sensed = times[n][0].is_some_and(|start| start + READ <= now);
                let crosses = |m: usize| times[m][2].is_some() && !ended(&times[m]);
                if sensed && times[n][2].is_none() && !others.iter().any(|&m| crosses(m)) {
                    times[n][2] = Some(now);
                    queue.push(n);
                }
                let done = |m: usize| if sharing.cache { times[m][2].is_some() } else { ended(&times[m]) };
                let waits = others.iter().any(|&m| (m < n || times[m][0].is_some()) && !done(m));
                if times[n][0].is_none() && reads[n].submitted <= now && !waits {
                    times[n][0] = Some(now);
                }
            }
            if queue.len() > waited + 1 {
                return None;
            }
            if channel.is_none() && !queue.is_empty() {
                let n = queue.remove(0);
                times[n][3] = Some(now + 4 * reads[n].units);
                channel = Some(n);
            }
            if before == times {
                break;
            }
        }
        now += 1;
    }
    times.iter().map(|time| time[3]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn reads_end_when_the_plain_simulation_says(
        wanted in prop::collection::vec((1..60u64, 0..4u32, 1..9u32), 1..16),
        planes in any::<bool>(),
        cache in any::<bool>(),
    ) {
        prop_assume!(planes || cache);
        let sharing = Sharing { planes, cache };
        let mut sim = Sim::new(DIE, Timing { sharing, ..SLOW });
        let mut reads = Vec::new();
        let mut now = 0;
        for (n, &(delay, plane, units)) in wanted.iter().enumerate() {
            now += delay;
            while sim.next().is_some_and(|end| end.0 <= us(now)) {
                sim.step();
            }
            sim.now = SimTime(us(now));
            let units = units.min(4 * (4 - plane));
            sim.submit(read(n as u32, HostRead, at(plane, n as u32), units));
            reads.push(Wanted { submitted: now, planes: (plane, plane + (units - 1) / 4), units: units.into() });
        }
        let expected = plain(&reads, sharing);
        prop_assume!(expected.is_some());
        prop_assert_eq!(Some(ends(&mut sim)), expected);
    }
}

/// Two steps for what has rested, one for what was programmed since.
fn repeated(timing: Timing) -> Timing {
    let counts = |of: u32| Counts::of(&Value::from(vec![of])).expect("a count");
    let params = RetryParams { retry_steps: counts(2), retry_fresh_steps: counts(1), ..RetryParams::default() };
    Timing { retry: params.retry(), ..timing }
}

#[test]
fn each_step_of_a_retry_takes_cells_and_transfer_again() {
    let mut sim = Sim::new(DIE, repeated(SLOW));
    sim.program(program(0, HostWrite, 0, 16), &spares(0, 16), 1);
    sim.drain();
    sim.nand.rest();
    sim.program(program(1, HostWrite, 16, 16), &spares(16, 16), 17);
    sim.drain();
    let begin = sim.now.0 / 1000;
    sim.submit(read(2, HostRead, 0, 4)); // has rested: three times
    sim.submit(read(3, HostRead, 16, 8)); // has not: twice
    sim.submit(read(4, HostRead, 4 * 16 * 64, 4)); // metadata, of one bit: once
    let ended: Vec<_> = ends(&mut sim)[2..].iter().map(|end| end - begin).collect();
    let (old, new) = (3 * (READ + PAGE), 2 * (READ + 2 * PAGE));
    assert_eq!(ended, [old, old + new, old + new + 25 + PAGE]);
    let counters = sim.nand.counters();
    assert_eq!((counters.retries(Cause::HostRead), counters.retries(Cause::GcRead)), (2 + 1, 0));
    assert_eq!(counters.busy_ns(Cause::HostRead), us(old + new + 25 + PAGE), "every step is charged");
    assert_eq!(counters.total_ops(Kind::Read), 3);
}

#[test]
fn an_erase_makes_data_fresh_and_a_page_register_needs_no_retry() {
    let mut sim = Sim::new(DIE, repeated(Timing { page_register: true, ..CELLS }));
    sim.program(program(0, HostWrite, 0, 16), &spares(0, 16), 1);
    sim.drain();
    sim.nand.rest();
    sim.submit(erase(1, Background, 0, 0));
    sim.drain();
    sim.program(program(2, HostWrite, 0, 16), &spares(0, 16), 17);
    sim.drain();
    sim.submit(read(3, HostRead, 0, 4));
    sim.submit(read(4, HostRead, 4, 4));
    let ended = ends(&mut sim);
    assert_eq!((ended[3] - ended[2], ended[4] - ended[3]), (2 * READ, 0));
    assert_eq!(sim.nand.counters().retries(Cause::HostRead), 1);
}

#[test]
fn reads_that_share_a_die_are_repeated_on_their_own_planes() {
    for timing in [PLANES, BOTH] {
        let mut sim = Sim::new(DIE, repeated(timing));
        sim.submit(read(0, HostRead, at(0, 0), 4)); // sense 0..60, channel ..76, sense ..136, channel ..152
        sim.submit(read(1, HostRead, at(1, 0), 4)); // sense 0..60, channel 76..92, sense ..152, channel 152..168
        sim.submit(read(2, HostRead, at(0, 1), 4)); // plane 0, after the last step of the first
        // Where reads are cached it is sensed while the first crosses the channel for the last time.
        let from = if timing == BOTH { 136 } else { 152 };
        assert_eq!(ends(&mut sim), [152, 168, from + 2 * (READ + PAGE)]);
    }
}
