//! The numbers of the pieces, and what they take.

use nand::Geometry;

use super::*;
use crate::map_units::MapShape;

/// Two dies with superblocks of 1024 units.
fn geometry(data_superblocks: u32, units_per_page: u32) -> Geometry {
    Geometry {
        channels: 2,
        dies_per_channel: 1,
        planes: 2,
        units_per_page,
        pages_per_block: 256 / units_per_page,
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
    let mut kinds: Vec<Kind> = (0..62_500).map(|unit| Kind::Segment(SegmentId(unit))).collect();
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
    // 800 map units, a bitmap and an erase count for each of 95 superblocks, 2 records and 32 pages of the journal take
    // 4 bytes each, which is one unit. The highest number of all takes 4 bytes of another one.
    let shape = MapShape { numbered: Numbered::Spare, ..MapShape::SEGMENT };
    let spare = Meta::new(geometry(95, 1).layout(), MapUnits::new(800 * 1024, shape));
    assert_eq!(spare.pieces() + 95, 1024);
    assert_eq!(spare.snapshot_units(), 2);
    assert_eq!(spare.table_bytes(), 4 * u64::from(spare.pieces()));
    let next = Meta::new(geometry(95, 1).layout(), MapUnits::new(799 * 1024, shape));
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
