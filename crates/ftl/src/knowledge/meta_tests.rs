//! The numbers of the pieces, and what they take.

use nand::Geometry;

use super::*;
use crate::table::map_units::MapShape;

/// Two dies with superblocks of 1024 units.
fn geometry(data_superblocks: u32, units_per_page: u32) -> Geometry {
    Geometry {
        channels: 2,
        dies_per_channel: 1,
        superblock_dies: 2,
        planes: 2,
        units_per_page,
        pages_per_block: 256 / units_per_page,
        word_line_pages: 1,
        data_superblocks,
        meta_superblocks: 6,
    }
}

/// So large that a bitmap and a record have two parts each: 62,500 map units of 1 KiB are more than the 32,768 bits of
/// a flash unit, and 20,000 superblocks take 5000 bytes of a record beside its 256 bytes of log blocks.
fn large() -> Meta {
    let units = MapUnits::new(16_000_000, MapShape::part_of_segment(1024)).with_bitmaps();
    Meta::new(geometry(20_000, 4).layout(), units)
}

#[test]
fn every_piece_has_one_number_and_every_number_one_piece() {
    let meta = large();
    let mut kinds: Vec<Kind> = (0..62_500).map(|unit| Kind::Segment(MapUnit(unit))).collect();
    kinds.extend((0..20_000).flat_map(|sb| [Kind::Bitmap(Superblock(sb)); 2]));
    kinds.extend([0, 0, 1, 1].map(Kind::Record));
    kinds.extend((0..32).map(Kind::Journal));
    assert_eq!(meta.pieces() as usize, kinds.len());
    assert!((0..meta.pieces()).map(|piece| meta.kind(Piece(piece))).eq(kinds.iter().copied()));
    for sb in [0, 1, 19_999].map(Superblock) {
        let pieces: Vec<Piece> = meta.bitmap_pieces(sb).collect();
        assert!(pieces.len() == 2 && pieces.iter().all(|&piece| meta.kind(piece) == Kind::Bitmap(sb)), "{sb}");
    }
    for slot in 0..2 {
        let pieces = meta.record_pieces(slot);
        assert!(pieces.len() == 2 && pieces.iter().all(|&piece| meta.kind(piece) == Kind::Record(slot)), "{slot}");
    }
    assert!((0..32).all(|page| meta.kind(meta.journal_piece(page)) == Kind::Journal(page)));
    let dropped: Vec<bool> = [Piece(0), meta.record_pieces(0)[0], meta.journal_piece(0)]
        .into_iter()
        .chain(meta.bitmap_pieces(Superblock(3)).take(1))
        .map(|piece| meta.kind(piece).can_be_dropped())
        .collect();
    assert_eq!(dropped, [false, false, true, true]);
}

#[test]
fn sizes_are_those_of_what_is_stored() {
    let meta = large();
    // 8 bytes for each of 102,536 pieces and 4 for each of 20,000 superblocks are 219.8 units; pages have four.
    assert_eq!(meta.snapshot_units(), 220);
    assert_eq!(meta.flash_units(), 6 * 1024);
    assert_eq!(meta.map_directory_bytes(), 4 * 62_500);
    assert_eq!(meta.table_bytes(), 4 * 102_536 + 4 * 62_500);
    // 895 map units, an erase count for each of 95 superblocks, 2 records and 32 pages of the journal take 4 bytes
    // each, which is one unit. The highest number of all takes 4 bytes of another one. There are no places for bitmaps.
    let shape = MapShape { numbered: Numbered::Spare, ..MapShape::SEGMENT };
    let spare = Meta::new(geometry(95, 1).layout(), MapUnits::new(895 * 1024, shape));
    assert_eq!(spare.pieces() + 95, 1024);
    assert_eq!(spare.snapshot_units(), 2);
    assert_eq!(spare.table_bytes(), 4 * u64::from(spare.pieces()));
    let next = Meta::new(geometry(95, 1).layout(), MapUnits::new(894 * 1024, shape));
    assert_eq!(next.snapshot_units(), 1, "a map unit less makes room for it");
}

#[test]
fn only_map_units_take_more_than_a_flash_unit() {
    let units = MapUnits::new(1 << 16, MapShape::part_of_segment(16 * 1024));
    let meta = Meta::new(geometry(64, 4).layout(), units);
    let (last, bitmap) = (Piece(units.count() - 1), Piece(units.count()));
    assert_eq!(meta.kind(bitmap), Kind::Bitmap(Superblock(0)));
    assert_eq!((meta.units_of(last), meta.units_of(bitmap)), (4, 1));
    let mut placing = meta.placing();
    assert_eq!((placing.put(last), placing.put(bitmap), placing.put(last)), (0..4, 4..5, 5..9));
}

#[test]
fn metadata_begins_after_the_data() {
    let meta = large();
    let first = Ppa(20_000 * 1024);
    assert!(meta.is_metadata(first) && meta.is_metadata(first.offset(5000)));
    assert!(!meta.is_metadata(Ppa(first.0 - 1)) && !meta.is_metadata(Ppa(0)));
}

/// Metadata of a device with 64 data superblocks and 6 for metadata, from 64 on.
fn small() -> Meta {
    Meta::new(geometry(64, 4).layout(), MapUnits::new(1 << 16, MapShape::SEGMENT))
}

/// Opens the next superblock and fills it, with these pieces in its first units.
fn fill(meta: &mut Meta, pieces: &[Piece]) -> Superblock {
    assert!(meta.open_next() && meta.is_open() && !meta.open_next());
    let first = meta.allocate(1024);
    pieces.iter().zip(0..).for_each(|(&piece, at)| meta.moved(piece, first.offset(at)));
    assert!(!meta.is_open(), "it is full");
    meta.layout.superblock_of(first)
}

#[test]
fn the_victim_has_the_fewest_valid_pieces_and_tells_them_in_order() {
    let mut meta = small();
    let [a, b, c] = [3, 1, 2].map(Piece);
    let first = fill(&mut meta, &[a, b, c]);
    let journal = meta.journal_piece(0);
    let second = fill(&mut meta, &[c, journal]);
    assert_eq!((first, second), (Superblock(64), Superblock(65)));
    let third = fill(&mut meta, &[Piece(9)]);
    let place = |sb: u32, at| Ppa(sb * 1024 + at);
    assert_eq!(meta.take_victim(), Some((third, vec![(place(66, 0), Piece(9))])));
    meta.drop_piece(journal);
    assert_eq!(meta.place(journal), None);
    assert_eq!(meta.take_victim(), Some((second, vec![(place(65, 0), c)])), "it has one piece, the other has two");
    assert_eq!(meta.take_victim(), Some((first, vec![(place(64, 0), a), (place(64, 1), b)])));
    assert_eq!(meta.take_victim(), None);
}

/// Then the program that moves them has no gaps.
#[test]
fn map_units_of_another_size_than_a_flash_unit_come_first_in_a_victim() {
    let mut meta = Meta::new(geometry(64, 4).layout(), MapUnits::new(1 << 16, MapShape::part_of_segment(1024)));
    let (journal, record) = (meta.journal_piece(0), meta.record_pieces(0)[0]);
    fill(&mut meta, &[journal, Piece(9), record, Piece(3)]);
    let place = |at: u32| Ppa(64 * 1024 + at);
    let pieces = vec![(place(1), Piece(9)), (place(3), Piece(3)), (place(0), journal), (place(2), record)];
    assert_eq!(meta.take_victim(), Some((Superblock(64), pieces)));
}

#[test]
fn flash_units_have_labels_only_where_map_units_share_them() {
    for (bytes, labelled) in [(1024, 6 * 1024), (4096, 0), (16 * 1024, 0)] {
        let units = MapUnits::new(1 << 16, MapShape::part_of_segment(bytes));
        let meta = Meta::new(geometry(64, 4).layout(), units);
        assert_eq!(meta.pages().labelled(), labelled, "map units of {bytes} bytes");
    }
}

#[test]
fn a_superblock_without_its_snapshot_is_erased_once_it_is_empty() {
    let mut meta = small();
    assert!(meta.open_next());
    let first = meta.allocate(4);
    let lost = meta.layout.superblock_of(first);
    meta.moved(Piece(1), first);
    meta.abandon(Superblock(60));
    assert!(meta.is_open(), "another one was given up, which was full");
    meta.abandon(lost);
    assert!(!meta.is_open() && meta.free() == 5);
    assert_eq!(meta.take_abandoned(), None, "a piece in it is valid");
    let other = fill(&mut meta, &[Piece(2)]);
    fill(&mut meta, &[Piece(1), Piece(2)]);
    assert_eq!(meta.take_abandoned(), Some(lost), "not {other}, which is empty and was not given up");
    assert_eq!(meta.take_abandoned(), None);
    meta.erased(lost);
    for piece in 3..7 {
        fill(&mut meta, &[Piece(piece)]);
    }
    assert_eq!(meta.place(Piece(6)), Some(Ppa(64 * 1024)), "it was opened again");
    meta.drop_piece(Piece(6));
    assert_eq!(meta.take_abandoned(), None, "it has a snapshot now");
}

#[test]
fn recovery_opens_a_superblock_without_valid_pieces_that_is_not_the_snapshot_s() {
    let mut meta = small();
    fill(&mut meta, &[Piece(1)]);
    fill(&mut meta, &[Piece(2)]);
    fill(&mut meta, &[Piece(2)]);
    let all: Vec<Superblock> = (67..70).map(Superblock).collect();
    assert!(!meta.take_next(Superblock(64)) && meta.take_next(all[1]));
    assert_eq!(meta.free(), 2);
    meta.free_first(&[all[2]]);
    assert_eq!(meta.take_any(None), Some(all[2]), "the head of the free ones");
    assert_eq!(meta.take_any(None), Some(all[0]));
    assert_eq!(meta.take_any(Some(Superblock(65))), None, "of the others, one has the snapshot");
    assert_eq!(meta.take_any(Some(Superblock(64))), Some(Superblock(65)));
    assert_eq!(meta.take_any(None), None);
}

#[test]
fn a_restored_directory_counts_what_is_valid() {
    let mut meta = small();
    let mut place = vec![0; meta.pieces() as usize];
    place[5] = Ppa::pack(Some(Ppa(65 * 1024 + 7)));
    let (used, free) = (vec![Superblock(64), Superblock(65)], (66..70).map(Superblock).collect());
    meta.restore(Rebuilt { place, free, used, stamp: 40 }, vec![Seq(3); 64]);
    assert_eq!((meta.next_stamp(), meta.free(), meta.is_open()), (41, 4, false));
    assert_eq!(meta.segment_seq(MapUnit(5)), Seq(3));
    assert_eq!(meta.take_victim(), Some((Superblock(64), vec![])));
    assert_eq!(meta.take_victim(), Some((Superblock(65), vec![(Ppa(65 * 1024 + 7), Piece(5))])));
}

/// A superblock of 1024 units, of which a snapshot takes some at its start or in its middle.
#[test]
fn a_scheduled_snapshot_is_written_where_it_fits_and_its_superblock_is_not_collected() {
    let mut meta = small();
    meta.schedule_snapshots();
    let needed = meta.snapshot_units();
    assert!(meta.open_next() && !meta.begins_with_snapshot());
    meta.allocate(4);
    assert!(meta.schedule_snapshot(), "there is room for it");
    meta.begin_snapshot();
    let first = meta.allocate(needed);
    let held = meta.layout.superblock_of(first);
    meta.allocate(1024 - 4 - needed);
    let other = fill(&mut meta, &[Piece(1)]);
    assert_eq!(meta.take_victim().map(|(sb, _)| sb), Some(other), "{held} is empty, but has the newest snapshot");
    assert!(meta.open_next());
    meta.allocate(1024 - needed + 1);
    assert!(!meta.schedule_snapshot(), "there is no room for it");
    meta.allocate(needed - 1);
    assert!(meta.open_next() && meta.begins_with_snapshot());
    meta.begin_snapshot();
    meta.allocate(needed);
    assert!(!meta.begins_with_snapshot());
    assert_eq!(meta.take_victim().map(|(sb, _)| sb), Some(held), "there is a newer one");
}

#[test]
fn a_scheduled_snapshot_that_fails_leaves_the_one_before() {
    let mut meta = small();
    meta.schedule_snapshots();
    let needed = meta.snapshot_units();
    let snapshot = |meta: &mut Meta| {
        meta.open_next();
        meta.begin_snapshot();
        let first = meta.allocate(needed);
        (meta.layout.superblock_of(first), first)
    };
    let (held, _) = snapshot(&mut meta);
    meta.allocate(1024 - needed);
    let (lost, first) = snapshot(&mut meta);
    meta.snapshot_failed(first.offset(needed - 1));
    assert!(!meta.is_open() && meta.open_next() && meta.begins_with_snapshot());
    assert_eq!(meta.take_victim().map(|(sb, _)| sb), Some(lost), "{held} has the newest whole one");
    assert_eq!(meta.take_victim(), None);
}
