//! Single steps of collection.

use nand::{Faults, Kind};
use params::NoParams;
use ufs::{DataOut, Op};

use super::*;
use crate::config::EngineConfig;
use crate::table::directory::Piece;
use crate::table::map_units::MapShape;
use crate::testing::{Bench, ROW, TableInDram, UNITS, config};

impl<M: Mapping> Bench<M> {
    /// Fills the next superblock with the addresses from `first` on.
    fn write(&mut self, first: u32) {
        let op = Op::Write { lpa: Lpa(first), len: UNITS, fua: false };
        self.send(op, DataOut::Stamp(first + 1), Seq(0));
        self.settle();
    }

    fn trim(&mut self, lpas: impl IntoIterator<Item = u32>) {
        for lpa in lpas.into_iter().map(Lpa) {
            let seq = self.fw.core.take_seq(1);
            self.fw.map.trimmed(&mut self.fw.core, lpa, 1, seq);
        }
    }

    fn free(&self) -> u32 {
        self.fw.core.blocks.free()
    }

    fn gc_steps(&self) -> (u64, u64) {
        (self.fw.core.stats.gc_steps, self.fw.core.stats.gc_urgent_steps)
    }
}

type Device = Bench<TableInDram>;

fn device(data_superblocks: u32) -> Device {
    Bench::new(config(data_superblocks), &NoParams::default())
}

/// The first superblock is full, and only these of its units are valid. A step is due that is not urgent.
fn with_valid(data_superblocks: u32, valid: &[u32]) -> Device {
    let mut bench = device(data_superblocks);
    bench.write(0);
    bench.trim((0..UNITS).filter(|lpa| !valid.contains(lpa)));
    let free = bench.free();
    bench.collect_at(0, free);
    bench
}

/// Units 7 and 8 are neighbours in different rows.
const SCATTERED: [u32; 9] = [0, 1, 2, 5, 6, 7, 8, 9, 20];

#[test]
fn a_step_reads_runs_and_programs_full_rows() {
    let mut bench = with_valid(6, &SCATTERED);
    assert!(bench.fw.begin_gc_step());
    assert_eq!(bench.fw.gc.budget, 32, "half a superblock, as there is another one for the copies");
    bench.settle();
    assert_eq!(bench.gc_steps(), (1, 0));
    let counters = bench.fw.core.nand.counters();
    assert_eq!(counters.ops(Cause::GcRead, Kind::Read), 4, "0 to 2, 5 to 7, 8 to 9, and 20");
    assert_eq!(counters.ops(Cause::GcWrite, Kind::Program), 1);
    assert_eq!(bench.fw.core.stats.gc_units_programmed, 8);
    assert_eq!(bench.fw.gc.queue.len(), 1, "the last one waits for a full row, because nothing is urgent");
    assert_eq!(bench.fw.core.blocks.state(Superblock(0)), State::Closed, "one of its pages is valid");
}

#[test]
fn what_was_trimmed_while_it_was_read_is_not_copied() {
    let mut bench = with_valid(6, &SCATTERED);
    assert!(bench.fw.begin_gc_step());
    bench.go_on();
    assert_eq!(bench.fw.core.sram.used(Owner::Gc), 9, "all are being read");
    bench.trim([1, 7]);
    bench.settle();
    assert_eq!(bench.fw.core.stats.gc_units_programmed, 0, "the other seven are less than a row");
    assert_eq!((bench.fw.gc.queue.len(), bench.fw.core.sram.used(Owner::Gc)), (7, 7));
}

#[test]
fn without_a_free_superblock_a_step_reads_what_fits_the_open_one() {
    let mut bench = with_valid(2, &SCATTERED);
    bench.open_for_copies(ROW);
    assert_eq!(bench.free(), 0);
    assert!(bench.fw.begin_gc_step());
    assert_eq!(bench.fw.gc.budget, 8);
}

#[test]
fn levelling_takes_the_cold_superblock() {
    let mut bench = device(6);
    bench.write(0);
    bench.fw.gc.wear_due = Some(Superblock(0));
    bench.fw.gc.earn(UNITS, bench.free());
    assert!(!bench.fw.begin_gc_step(), "no victim was chosen for its valid pages yet");
    let victim = Victim::new(Superblock(3), false, 0);
    (0..4).for_each(|_| bench.fw.gc.chosen(&victim));
    assert!(bench.fw.begin_gc_step());
    assert_eq!(bench.fw.gc.victim.as_ref().map(|victim| (victim.sb, victim.wear)), Some((Superblock(0), true)));
    assert_eq!((bench.fw.core.stats.gc_victims, bench.fw.core.stats.wear_victims), (1, 1));
    assert_eq!(bench.fw.gc.wear_due, None);
}

/// Nothing can be collected, and writes wait. Only the copies keep their sources from being erased.
#[test]
fn copies_that_keep_the_device_from_going_on_are_programmed_as_a_short_row() {
    let mut bench = device(1);
    bench.collect_at(1, 1);
    assert!(!bench.fw.begin_gc_step(), "there are no copies");
    bench.keep_copies(5);
    assert!(bench.fw.begin_gc_step());
    assert_eq!((bench.gc_steps(), bench.fw.gc.budget), ((1, 1), 0));
    bench.settle();
    assert_eq!((bench.fw.core.stats.gc_units_programmed, bench.fw.gc.queue.len()), (5, 0));
    assert_eq!(bench.fw.core.sram.used(Owner::Gc), 0);

    let mut bench = device(1);
    bench.collect_at(0, 1);
    bench.keep_copies(5);
    assert!(!bench.fw.begin_gc_step(), "a superblock is free, so no write waits");
}

#[test]
fn a_last_row_needs_a_place() {
    for (copies, expected) in [(8, true), (7, true), (9, false)] {
        let mut bench = device(1);
        bench.open_for_copies(ROW);
        bench.collect_at(0, 0);
        bench.keep_copies(copies);
        assert_eq!(bench.fw.begin_gc_step(), expected, "{copies} copies for the last {ROW} units");
        assert_eq!(bench.gc_steps(), if expected { (1, 1) } else { (0, 0) });
    }
}

/// Fills the least worn free superblock with nothing, and erases it.
fn wear(bench: &mut Device) -> Superblock {
    let sb = fill(bench);
    bench.fw.core.retire(sb);
    bench.settle();
    sb
}

fn fill(bench: &mut Device) -> Superblock {
    let sb = bench.fw.core.blocks.open_next(Stream::Host).expect("a free superblock");
    let last = bench.fw.core.take_seq(UNITS).plus(UNITS - 1);
    bench.fw.core.blocks.place(Stream::Host, UNITS, UNITS, last);
    bench.fw.core.blocks.programmed(sb, UNITS);
    sb
}

#[test]
fn levelling_is_due_when_erase_counts_differ_by_more_than_the_spread() {
    let mut bench = device(2);
    assert_eq!([wear(&mut bench), wear(&mut bench)], [0, 1].map(Superblock));
    assert_eq!(fill(&mut bench), Superblock(0), "it stays at one erase");
    for erases in 2..=4 {
        assert_eq!(wear(&mut bench), Superblock(1));
        assert_eq!(bench.fw.core.blocks.max_erases(), erases);
        assert_eq!(bench.fw.gc.wear_due, None, "{erases} erases are at most 3 more than one");
    }
    wear(&mut bench);
    assert_eq!(bench.fw.gc.wear_due, Some(Superblock(0)));
}

#[test]
fn a_superblock_whose_erase_fails_is_given_up() {
    let mut bench = device(6);
    bench.fw.core.nand.set_faults(Faults { seed: 1, erase_per_million: 1_000_000, ..Faults::default() });
    assert_eq!([wear(&mut bench), wear(&mut bench)], [0, 1].map(Superblock));
    assert_eq!((bench.fw.core.stats.superblocks_retired, bench.free()), (2, 4));
    assert_eq!(bench.fw.core.blocks.state(Superblock(1)), State::Bad);
}

/// Fills the next metadata superblock, with these pieces in its first units. Gives the place of the first.
fn fill_meta<M: Mapping>(bench: &mut Bench<M>, pieces: &[Piece]) -> Ppa {
    let meta = &mut bench.fw.core.meta;
    assert!(meta.open_next());
    let first = meta.allocate(UNITS);
    pieces.iter().zip(0..).for_each(|(&piece, at)| meta.moved(piece, first.offset(at)));
    first
}

/// A device with so many metadata superblocks left.
fn with_free_meta(free: usize) -> Device {
    let mut bench = device(6);
    for _ in free..6 {
        fill_meta(&mut bench, &[]);
    }
    bench
}

/// Its snapshot is programmed beside what the host writes.
#[test]
fn collection_of_metadata_opens_a_superblock_at_once_unless_it_is_the_last() {
    let mut bench = with_free_meta(2);
    bench.fw.begin_meta_gc();
    assert!(bench.fw.core.meta.is_open() && bench.fw.core.programs > 0);
    let mut bench = with_free_meta(1);
    bench.fw.begin_meta_gc();
    assert_eq!((bench.fw.core.meta.is_open(), bench.fw.core.meta.free()), (false, 1));
}

/// The test sets the number of programs under way itself.
#[test]
fn before_the_last_superblock_is_opened_one_without_snapshot_is_erased() {
    let abandoned = Superblock(6);
    let mut bench = with_free_meta(1);
    bench.fw.core.meta.abandon(abandoned);
    bench.fw.core.programs = 1;
    assert!(!bench.fw.meta_opened());
    assert_eq!((bench.fw.core.meta.is_open(), bench.fw.core.job_ops), (false, 0), "programs are under way");
    bench.fw.core.programs = 0;
    assert!(!bench.fw.meta_opened());
    assert_eq!((bench.fw.core.meta.is_open(), bench.fw.core.job_ops), (false, 1));
    assert_eq!(bench.fw.core.stats.erases, 1);
    assert_eq!(bench.fw.core.meta.take_abandoned(), None, "it is being erased");

    let mut bench = with_free_meta(2);
    bench.fw.core.meta.abandon(abandoned);
    assert!(!bench.fw.meta_opened(), "the snapshot is being programmed");
    assert_eq!((bench.fw.core.meta.is_open(), bench.fw.core.job_ops), (true, 0), "there is another one");
    bench.fw.core.programs = 0;
    assert!(bench.fw.meta_opened(), "it is open, so the last free one is not needed yet");
    assert_eq!(bench.fw.core.stats.erases, 0);
}

/// The test sets the number of programs under way itself.
#[test]
fn pieces_are_read_only_when_no_program_is_under_way() {
    let mut bench = with_free_meta(6);
    let piece = bench.fw.core.meta.journal_piece(0);
    let place = fill_meta(&mut bench, &[piece]);
    let victim = Some(bench.fw.core.superblock_of(place));
    bench.fw.meta_gc = MetaGc { victim, pieces: vec![(place, piece)], ..MetaGc::default() };
    bench.fw.core.programs = 1;
    assert!(!bench.fw.advance_meta_gc());
    assert_eq!((bench.fw.core.job_ops, bench.fw.meta_gc.held), (0, 0));
    bench.fw.core.programs = 0;
    assert!(!bench.fw.advance_meta_gc());
    assert_eq!((bench.fw.core.job_ops, bench.fw.meta_gc.held), (1, 1));
}

/// Its place is that of an older snapshot and blank, so there is nothing to program.
#[test]
fn a_victim_whose_pieces_were_all_dropped_is_erased() {
    let mut bench = with_free_meta(6);
    let piece = bench.fw.core.meta.journal_piece(0);
    fill_meta(&mut bench, &[piece]);
    bench.fw.core.begin_job(Job::MetaGc);
    bench.fw.begin_meta_gc();
    bench.settle();
    assert_eq!((bench.fw.core.job, bench.fw.core.stats.erases), (None, 1));
    assert_eq!((bench.fw.core.meta.place(piece), bench.fw.core.meta.free()), (None, 5));
}

/// Begins a round for these pieces, with so many buffers left. Gives how many of them are used, and for how many pieces
/// and reads.
fn round<M: Mapping>(mut bench: Bench<M>, buffers: u16, pieces: Vec<(Ppa, Piece)>) -> (u16, usize, u32) {
    let others = bench.fw.core.sram.available(Owner::Gc) - buffers;
    assert!(bench.fw.core.sram.take(Owner::Gc, others));
    bench.fw.meta_gc.pieces = pieces;
    bench.fw.read_pieces();
    assert_eq!(bench.fw.core.sram.used(Owner::Map), bench.fw.meta_gc.held);
    (bench.fw.meta_gc.held, bench.fw.meta_gc.round, bench.fw.core.job_ops)
}

#[test]
fn a_round_takes_all_buffers_for_pieces_of_a_flash_unit() {
    for (buffers, expected) in [(10, (10, 10, 10)), (20, (12, 12, 12))] {
        let bench = device(6);
        let first = bench.fw.core.layout.first_ppa(Superblock(6));
        let pieces = (0..12).map(|n| (first.offset(n), bench.fw.core.meta.journal_piece(n as usize))).collect();
        assert_eq!(round(bench, buffers, pieces), expected, "{buffers} buffers for 12 pieces");
    }
}

/// Four parts of 1 KiB share a flash unit, and a program has four of these.
#[test]
fn a_round_of_small_pieces_fills_whole_programs_if_it_can() {
    for (buffers, expected) in [(10, (8, 32, 8)), (4, (4, 16, 4)), (3, (3, 12, 3)), (20, (12, 48, 12))] {
        let cfg = EngineConfig { capacity_units: 1 << 16, ..config(6) };
        let bench: Device = Bench::with_shape(cfg, &NoParams::default(), MapShape::part_of_segment(1024));
        let first = bench.fw.core.layout.first_ppa(Superblock(6));
        let pieces = (0..48).map(|n| (first.offset(n / 4), Piece(n))).collect();
        assert_eq!(round(bench, buffers, pieces), expected, "{buffers} buffers for 48 pieces");
    }
}
