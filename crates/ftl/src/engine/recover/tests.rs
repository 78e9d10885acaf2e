//! What recovery makes of single units that it reads.

use nand::{Sensed, Spare};
use units::{Lpa, Ppa, Seq, Superblock};

use super::state::{FirstPages, Phase, Recovery};
use crate::core::Core;
use crate::table::directory::Piece;
use crate::table::map_units::{MapShape, MapUnits, Numbered};
use crate::testing::small;

/// A core with metadata in the superblocks 80 to 83 of 64 units, on one die, and map units of so many bytes.
fn core(bytes: u32) -> Core {
    let shape = MapShape { entries: 512, bytes, numbered: Numbered::Directory };
    Core::in_test(small(), MapUnits::new(4096, shape))
}

fn in_phase(core: &Core, phase: Phase) -> Recovery {
    Recovery { phase, ..Recovery::new(core) }
}

/// The place of a unit of a metadata superblock.
fn place(sb: u32, at: u32) -> Ppa {
    Ppa(sb * 64 + at)
}

fn unit(mark: u32, stamp: u32) -> Sensed {
    Sensed::Unit(Spare { lpa: mark, stamp, version: 0 })
}

/// What was read of superblocks 80 to 83: blank, filled later than 83, unreadable, filled first.
fn firsts() -> Vec<FirstPages> {
    let found = [(true, None), (false, Some(90)), (false, None), (false, Some(20))];
    let sbs = (80..).map(Superblock);
    sbs.zip(found).map(|(sb, (blank, stamp))| FirstPages { sb, blank, stamp }).collect()
}

#[test]
fn superblocks_are_ordered_by_the_stamps_of_their_first_pages() {
    let core = core(4096);
    let mut recovery = Recovery::new(&core);
    assert_eq!(recovery.phase, Phase::FirstPages);
    for (sb, at, sensed) in [
        (80, 0, Sensed::Blank),
        (81, 0, unit(9, 90)),
        (82, 0, Sensed::Unreadable),
        (83, 0, unit(9, 21)),
        (83, 0, unit(9, 20)),
        (83, 0, unit(9, 22)),
    ] {
        recovery.add_unit(&core, place(sb, at), sensed, Seq(0));
    }
    let found: Vec<_> = recovery.firsts.iter().map(|f| (f.blank, f.stamp)).collect();
    let expected: Vec<_> = firsts().iter().map(|f| (f.blank, f.stamp)).collect();
    assert_eq!(found, expected);
    assert_eq!(recovery.by_age(), [3, 1]);
    assert_eq!(recovery.ageless(), [Superblock(82)], "neither the blank one nor those with an age");
}

#[test]
fn a_snapshot_is_whole_if_each_unit_has_its_mark_and_the_next_stamp() {
    let core = core(4096);
    let mark = |at| core.meta().snapshot_mark(at);
    // It lies at the start of the superblock, or somewhere in it.
    let whole_from = |start: u32, units: &[(u32, Sensed)]| {
        let mut recovery = in_phase(&core, Phase::Snapshot);
        recovery.snapshots = [place(81, start)].into();
        units.iter().for_each(|&(at, sensed)| recovery.add_unit(&core, place(81, start + at), sensed, Seq(0)));
        (recovery.whole, recovery.snapshot_stamp)
    };
    let whole = |units: &[(u32, Sensed)]| {
        assert_eq!(whole_from(0, units), whole_from(40, units));
        whole_from(0, units)
    };
    assert_eq!(whole(&[(0, unit(mark(0), 70)), (1, unit(mark(1), 71)), (2, unit(mark(2), 72))]), (true, Some(70)));
    assert_eq!(whole(&[(1, unit(mark(1), 71)), (0, unit(mark(0), 70))]), (true, Some(70)), "in any order");
    let after = (2, unit(mark(2), 72));
    for wrong in [unit(mark(2), 71), unit(mark(1), 72), Sensed::Blank, Sensed::Unreadable, Sensed::Padding] {
        let (is_whole, stamp) = whole(&[(0, unit(mark(0), 70)), (1, wrong), after]);
        assert_eq!((is_whole, stamp), (false, Some(70)), "{wrong:?}");
    }
}

#[test]
fn pieces_count_from_the_stamp_of_the_scan_where_the_age_of_the_superblock_is_unknown() {
    let core = core(4096);
    let newest = |stamp, sb| {
        let mut recovery = in_phase(&core, Phase::Metadata);
        (recovery.since, recovery.ageless) = (50, vec![Superblock(82)]);
        recovery.add_unit(&core, place(sb, 9), unit(3, stamp), Seq(0));
        recovery.newest.get(&3).copied()
    };
    assert_eq!(newest(49, 82), None, "a piece that may have been replaced where nothing is scanned");
    assert_eq!(newest(50, 82), Some((50, place(82, 9))));
    assert_eq!(newest(49, 81), Some((49, place(81, 9))), "the age of that superblock is known");
}

#[test]
fn the_newest_copy_of_a_piece_counts() {
    let core = core(4096);
    let mut recovery = in_phase(&core, Phase::Metadata);
    for (sb, at, mark, stamp) in [(81, 9, 3, 60), (81, 10, 3, 62), (83, 11, 3, 61), (81, 12, core.meta().pieces(), 99)]
    {
        recovery.add_unit(&core, place(sb, at), unit(mark, stamp), Seq(0));
    }
    assert_eq!(recovery.newest.get(&3), Some(&(62, place(81, 10))));
    assert_eq!(recovery.newest.range(..core.meta().pieces()).count(), 1, "a snapshot is no piece");
    assert_eq!(recovery.rebuilt.stamp, 99);
}

#[test]
fn a_piece_of_two_units_counts_if_both_can_be_read() {
    let core = core(8192);
    let found = |units: &[(u32, Sensed)]| {
        let mut recovery = in_phase(&core, Phase::Metadata);
        units.iter().for_each(|&(at, sensed)| recovery.add_unit(&core, place(81, at), sensed, Seq(0)));
        recovery.newest.get(&3).copied()
    };
    let (first, second) = (unit(3, 60), unit(3, 61));
    assert_eq!(found(&[(8, first), (9, second)]), Some((61, place(81, 8))));
    assert_eq!(found(&[(8, first), (9, Sensed::Unreadable)]), None);
    assert_eq!(found(&[(8, Sensed::Unreadable), (9, second)]), None);
    assert_eq!(found(&[(9, first), (10, second)]), None, "it would begin in the middle");
    assert_eq!(found(&[(8, first), (9, unit(4, 61))]), None, "the second unit is of another piece");
    assert_eq!(found(&[(8, first), (9, unit(3, 62))]), None, "the second unit is of another program");
    assert_eq!(found(&[(8, first), (11, second)]), None, "they do not follow each other");
}

#[test]
fn only_addresses_of_the_device_are_evidence() {
    let core = core(4096);
    let mut recovery = in_phase(&core, Phase::Scan);
    for (at, lpa) in [(0, 4095), (1, 4096), (2, 5000)] {
        recovery.add_unit(&core, Ppa(at), unit(lpa, 1), Seq(7));
    }
    assert_eq!((recovery.evidence.len(), recovery.evidence.last_seq), (1, Seq(7)));
    assert!(recovery.evidence.concerns(Lpa(4095).0..4096, Seq(6)));
}

#[test]
fn pieces_that_were_dropped_are_not_looked_for_in_superblocks_erased_since() {
    let core = core(4096);
    let mut recovery = Recovery { firsts: firsts(), next: vec![Superblock(82)], ..Recovery::new(&core) };
    let segment = Piece(2);
    let bitmaps: Vec<Piece> = (0..3).flat_map(|sb| core.meta().bitmap_pieces(Superblock(sb))).collect();
    let journal = [0, 1].map(|page| core.meta().journal_piece(page));
    let mut in_snapshot = vec![0; core.meta().pieces() as usize];
    for (piece, sb) in [(segment, 80), (bitmaps[0], 80), (bitmaps[1], 81), (journal[0], 82), (journal[1], 80)] {
        in_snapshot[piece.0 as usize] = Ppa::pack(Some(place(sb, 7)));
    }
    recovery.newest.insert(journal[1].0, (95, place(81, 30)));
    let all = recovery.places(&core, in_snapshot).all;
    let found = |piece: Piece| Ppa::unpack(all[piece.0 as usize]);
    assert_eq!(found(segment), Some(place(80, 7)), "a map unit is never dropped");
    assert_eq!(found(bitmaps[0]), None, "the superblock is blank");
    assert_eq!(found(bitmaps[1]), Some(place(81, 7)));
    assert_eq!(found(bitmaps[2]), None, "it had no place");
    assert_eq!(found(journal[0]), None, "the superblock is opened next");
    assert_eq!(found(journal[1]), Some(place(81, 30)), "it was found elsewhere");
}

/// The units of a snapshot but the first say nothing of where it begins.
#[test]
fn a_search_notes_where_snapshots_begin() {
    let core = core(4096);
    let mut recovery = in_phase(&core, Phase::Seek);
    let mark = |at| core.meta().snapshot_mark(at);
    let seen = [(0, unit(9, 60)), (4, unit(mark(0), 70)), (5, unit(mark(1), 71)), (12, unit(mark(0), 90))];
    seen.into_iter().for_each(|(at, sensed)| recovery.add_unit(&core, place(81, at), sensed, Seq(0)));
    assert_eq!(recovery.sought, [(70, place(81, 4)), (90, place(81, 12))]);
}
