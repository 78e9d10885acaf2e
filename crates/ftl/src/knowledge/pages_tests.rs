//! What stands at which place.

use super::*;
use crate::knowledge::Round;
use crate::table::directory::{Directory, Piece};
use crate::table::map_units::MapShape;

const UNIT: MapUnit = MapUnit(1);

fn pages() -> Pages {
    Pages::new(MapUnits::new(4096, MapShape::SEGMENT))
}

fn at(place: u32) -> Programmed {
    Programmed::in_test(Piece::of(UNIT), Ppa(place))
}

/// The entry at position 7 of the unit, as read at a place, and the number of that copy.
fn read(pages: &Pages, place: u32) -> (u32, Seq) {
    let view = pages.view_at(UNIT, Some(Ppa(place)));
    (view.entries()[7], view.seq())
}

/// Programs the unit with this entry at position 7.
fn program(pages: &mut Pages, place: u32, packed: u32, seq: u64) {
    pages.set_seq(&at(place), Seq(seq));
    pages.set_entry(&at(place), Lpa(1031), Ppa::unpack(packed));
}

#[test]
fn entries_are_replaced_across_segments_and_nowhere_else() {
    let mut pages = Pages::new(MapUnits::new(4096, MapShape::part_of_segment(1024)));
    let packed: Vec<u32> = (1..=1500).collect();
    pages.set_entries(900..2400, &packed);
    assert_eq!(pages.entries(900..2400), packed);
    assert_eq!((pages.entry(Lpa(899)), pages.entry(Lpa(2400))), (None, None));
    pages.set_entries(1024..1280, &[7; 256]);
    assert_eq!(pages.entries(1023..1281), [&[124][..], &[7; 256], &[381]].concat());
    pages.replace_by(MapUnit(4), SegmentState::of(&[8; 1024]));
    assert_eq!(pages.entries(1023..2049), [&[124][..], &[8; 1024], &[1149]].concat());
}

#[test]
fn a_read_shows_what_was_programmed_at_its_place() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    program(&mut pages, 2, 200, 6);
    pages.set_seq(&at(3), Seq(7));
    pages.set_unit(&at(3), &[300; 1024]);
    pages.set_seq(&at(4), Seq(8));
    pages.set_unit_state(&at(4), SegmentState::of(&[400; 1024]));
    program(&mut pages, 5, 500, 9);
    let all = [1, 2, 3, 4, 5].map(|place| read(&pages, place));
    assert_eq!(all, [(100, Seq(5)), (200, Seq(6)), (300, Seq(7)), (400, Seq(8)), (500, Seq(9))]);
    assert_eq!(pages.view_at(UNIT, None).entry(Lpa(1031)), None, "it was never at no place");
}

#[test]
#[should_panic = "map unit 1 was never programmed at PPA 9"]
fn a_place_where_the_unit_was_never_programmed_shows_nothing() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    pages.view_at(UNIT, Some(Ppa(9)));
}

#[test]
fn a_copy_made_from_an_older_copy_has_the_content_of_that() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    program(&mut pages, 2, 200, 6);
    pages.taken_over(&at(3), (UNIT, Some(Ppa(1))));
    assert_eq!([1, 2, 3].map(|place| read(&pages, place).0), [100, 200, 100]);
}

#[test]
fn a_copy_programmed_late_is_no_newer_than_it_is() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    program(&mut pages, 3, 300, 7);
    pages.set_older(&at(2), Seq(6), &[200; 1024]);
    assert_eq!([1, 2, 3].map(|place| read(&pages, place)), [(100, Seq(5)), (200, Seq(6)), (300, Seq(7))]);
    assert_eq!(pages.inspect(Lpa(1031)), (Ppa::unpack(300), Seq(7)), "the newest copy");
}

#[test]
#[should_panic = "does not change the newest copy of map unit 1"]
fn a_copy_that_is_not_the_newest_is_not_changed() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    program(&mut pages, 2, 200, 6);
    pages.set_entry(&at(1), Lpa(1024), None);
}

#[test]
#[should_panic = "does not change the newest copy of map unit 2"]
fn a_program_changes_only_its_own_unit() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    pages.set_entry(&at(1), SegmentId(2).first_lpa(), None);
}

#[test]
fn what_was_written_is_told_by_segment() {
    let mut pages = pages();
    assert_eq!(pages.written_segments().count(), 0);
    program(&mut pages, 1, 100, 5);
    let other = Programmed::in_test(Piece(3), Ppa(2));
    pages.set_seq(&other, Seq(6));
    pages.set_unit_state(&other, SegmentState::of(&[9; 1024]));
    assert_eq!(pages.written_segments().collect::<Vec<_>>(), [1, 3].map(SegmentId));
}

/// A piece of the engine's own at a place.
fn own(piece: u32, place: u32) -> Programmed {
    Programmed::in_test(Piece(piece), Ppa(place))
}

#[test]
fn parts_of_different_records_are_no_record() {
    let record = |number| Arc::new(Record { number, ..Record::default() });
    let mut pages = pages();
    for (place, number) in [(10, 4), (11, 4), (12, 5)] {
        pages.set_record(&own(place - 10 + 20, place), record(number));
    }
    let read = PiecesRead::in_test(&[(Ppa(10), 20), (Ppa(11), 21), (Ppa(12), 22)]);
    let found = |parts: &[u32]| {
        let parts = parts.iter().map(|&at| (Piece(at + 10), Ppa(at)));
        pages.record(parts, &read).map(|record| record.number)
    };
    assert_eq!((found(&[10, 11]), found(&[11, 12]), found(&[12]), found(&[])), (Some(4), None, Some(5), None));
}

#[test]
#[should_panic = "was never programmed at PPA 10, or that is erased"]
fn nothing_is_left_of_what_was_erased() {
    let mut pages = pages();
    pages.set_journal(&own(30, 10), [].into());
    pages.set_journal(&own(30, 25), [].into());
    pages.erased(Ppa(0)..Ppa(20));
    assert_eq!(pages.journal(Piece(30), Ppa(25), &PiecesRead::in_test(&[(Ppa(25), 30)])), Some(&[][..]));
    pages.copied(&own(30, 28), Ppa(10));
}

#[test]
fn a_snapshot_tells_only_what_was_read_of_it() {
    let mut pages = pages();
    let place: Vec<u32> = (1..=1000).collect();
    pages.add_snapshot(Snapshot { sb: Superblock(7), stamp: 40, place, next: vec![Superblock(8)] });
    // 512 places of 8 bytes in a unit; the second unit has not been read.
    let read = PiecesRead::in_test(&[(Ppa(70), 2000)]);
    let found = pages.snapshot(Superblock(7), Ppa(70), 40, &read).expect("it was written");
    assert_eq!((found.place[511], found.place[512], found.next), (512, 0, vec![Superblock(8)]));
    assert!(pages.snapshot(Superblock(7), Ppa(70), 41, &read).is_none(), "that is another one");
}

#[test]
fn a_spare_area_names_the_units_that_share_a_page() {
    let mut pages = Pages::new(MapUnits::new(4096, MapShape::part_of_segment(1024)));
    let names = |pages: &Pages, mark, pieces: [u32; 3]| pieces.map(|piece| pages.names(Ppa(10), mark, Piece(piece)));
    assert_eq!(names(&pages, 3, [3, 4, 5]), [true, false, false]);
    pages.resize_labels(Ppa(8), 4);
    assert_eq!(pages.labelled(), 4);
    pages.label(Ppa(10)).expect("a unit of metadata").extend([3, 5]);
    assert_eq!(names(&pages, 3, [3, 4, 5]), [true, false, true]);
    assert_eq!(names(&pages, 7, [3, 5, 7]), [false, false, true], "something else was programmed there since");
    assert!(pages.names(Ppa(9), 3, Piece(3)) && !pages.names(Ppa(9), 3, Piece(5)), "it has no label");
}

#[test]
fn a_view_tells_whether_it_is_of_the_newest_copy() {
    let mut pages = pages();
    program(&mut pages, 1, 100, 5);
    program(&mut pages, 2, 200, 6);
    let is_newest = |place: Option<u32>| pages.view_at(UNIT, place.map(Ppa)).is_newest();
    assert_eq!([Some(2), Some(1), None].map(is_newest), [true, false, false]);
    assert!(pages.view_at(MapUnit(0), None).is_newest(), "it was never written");
}

#[test]
fn a_round_shows_the_copies_that_it_has_read() {
    for with_unwritten in [false, true] {
        let mut pages = pages();
        program(&mut pages, 1, 100, 5);
        let directory = Directory::restored(vec![0, Ppa::pack(Some(Ppa(1))), 0, 0]);
        let mut round = Round::default();
        with_unwritten.then(|| round.add(&directory, MapUnit(0)));
        round.add(&directory, UNIT);
        round.arrive_with(&PiecesRead::in_test(&[(Ppa(1), UNIT.0)]), 1, &pages);
        let looked_up = |pages: &Pages| {
            let mut found = Vec::new();
            let addresses = [7, 8].map(|at| Lpa(1024 + at));
            round.look_up(pages, MapUnits::new(4096, MapShape::SEGMENT), addresses.into_iter(), &mut found);
            found
        };
        assert_eq!(looked_up(&pages), [Ppa::unpack(100), None]);
        program(&mut pages, 2, 200, 6);
        assert_eq!(looked_up(&pages), [Ppa::unpack(100), None], "the unit was programmed again since");
    }
}

#[test]
fn a_unit_takes_over_what_its_neighbour_in_a_flash_unit_holds() {
    let mut pages = Pages::new(MapUnits::new(4096, MapShape::part_of_segment(1024)));
    let (unit, neighbour, shared) = (MapUnit(2), MapUnit(3), Ppa(1));
    for (of, packed, seq) in [(unit, 20, 5), (neighbour, 30, 6)] {
        let programmed = Programmed::in_test(Piece::of(of), shared);
        pages.set_seq(&programmed, Seq(seq));
        pages.set_unit(&programmed, &[packed; 256]);
    }
    pages.taken_over(&Programmed::in_test(Piece::of(unit), Ppa(2)), (neighbour, Some(shared)));
    let read = |place| {
        let view = pages.view_at(unit, Some(place));
        (view.entries()[7], view.seq())
    };
    assert_eq!([shared, Ppa(2)].map(read), [(20, Seq(5)), (30, Seq(6))]);
}
