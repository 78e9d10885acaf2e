//! How pieces share flash units, and what their directory takes.

use nand::Geometry;

use super::*;
use crate::directory::Piece;
use crate::map_units::MapUnits;
use crate::meta::Meta;

const KIB: u32 = 1024;

/// Two dies with rows of 8 units, and pieces of this many bytes.
fn meta(bytes: u32, capacity_units: u32) -> Meta {
    let geometry = Geometry {
        channels: 2,
        dies_per_channel: 1,
        planes: 2,
        units_per_page: 4,
        pages_per_block: 64,
        data_superblocks: 28,
        meta_superblocks: 6,
    };
    Meta::new(
        geometry.layout(),
        MapUnits::new(capacity_units, MapShape { entries: bytes / ENTRY_BYTES, bytes, numbered: Numbered::Spare }),
    )
}

#[test]
fn segments_are_collected_and_pages_stay_whole() {
    let starts = |bytes: u32, pieces: &[Piece]| {
        let meta = meta(bytes, 1 << 16);
        let mut placing = meta.placing();
        let starts: Vec<u32> = pieces.iter().map(|&piece| placing.put(piece).start).collect();
        (starts, placing.units())
    };
    let any = [7, 3, 11, 0, 5].map(Piece);
    assert_eq!(starts(KIB, &any), (vec![0, 0, 0, 0, 1], 2), "of any address, four to a unit");
    assert_eq!(starts(2 * KIB, &any), (vec![0, 0, 1, 1, 2], 3));
    assert_eq!(starts(4 * KIB, &any), (vec![0, 1, 2, 3, 4], 5));
    assert_eq!(starts(16 * KIB, &any[..3]), (vec![0, 4, 8], 12));
    // Other metadata has a unit of its own, and ends one that segments share.
    let record = meta(KIB, 1 << 16).record_pieces(0)[0];
    assert_eq!(starts(KIB, &[Piece(1), record, Piece(2)]), (vec![0, 1, 2], 3));
}

#[test]
fn a_spare_area_names_all_that_share_the_unit() {
    let mut meta = meta(KIB, 1 << 16);
    assert!(meta.open_next());
    let first = meta.allocate(2 * meta.program_units());
    meta.label(first, &[7, 3, 11, 0, 5]);
    let pieces = |meta: &Meta, unit, mark| meta.pieces_at(first.offset(unit), mark);
    assert_eq!(pieces(&meta, 0, 7), [7, 3, 11, 0].map(Piece));
    assert_eq!(pieces(&meta, 1, 5), [Piece(5)]);
    // Labels from before the erase of the superblock do not matter.
    meta.label(first, &[9, 2]);
    assert_eq!(pieces(&meta, 0, 9), [9, 2].map(Piece));
    // A snapshot has a mark of its own.
    let mark = meta.snapshot_mark(0);
    assert_eq!(pieces(&meta, 0, mark), [Piece(mark)]);
}

/// MSFTL Sec. 3.3: "If we apply a 128-GiB storage capacity, NS uses 32-KiB space and, 16S needs (i.e., 1-KiB MST)
/// 512-KiB space sixteen times of NS."
#[test]
fn the_directory_of_128_gib_takes_what_the_paper_says() {
    let units = 128 << 18;
    let directory = |bytes| meta(bytes, units).map_directory_bytes();
    assert_eq!(directory(16 * KIB), 32 * 1024);
    assert_eq!(directory(4 * KIB), 128 * 1024);
    assert_eq!(directory(2 * KIB), 256 * 1024);
    assert_eq!(directory(KIB), 512 * 1024);
}

/// 131,072 segments of 1 KiB, 28 bitmaps, 2 parts of records and 32 pages of the journal: 4 bytes for the place of
/// each, 4 for the erase count of each of 28 superblocks, and one sequence number, in units of 4 KiB and whole pages of
/// four.
#[test]
fn a_snapshot_of_the_directory_holds_places_and_one_number() {
    let bytes = 4 * (131_072 + 28 + 2 + 32) + 4 * 28 + 4_u32;
    assert_eq!(meta(KIB, 128 << 18).snapshot_units(), bytes.div_ceil(4 * KIB).next_multiple_of(4));
}
