//! What the schemes declare, how pieces share flash units, and what their directory takes.

use nand::Geometry;

use super::*;
use crate::small;
use ftl::SramConfig;
use ftl::seat::{MapUnits, Meta, Piece};

const KIB: u32 = 1024;

/// Two dies with rows of 8 units, and pieces of this many bytes.
fn meta(bytes: u32, capacity_units: u32) -> Meta {
    let geometry = Geometry {
        channels: 2,
        dies_per_channel: 1,
        superblock_dies: 2,
        planes: 2,
        units_per_page: 4,
        pages_per_block: 64,
        word_line_pages: 1,
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

/// 131,072 segments of 1 KiB, 2 parts of records and 32 pages of the journal: 4 bytes for the place of each, 4 for the
/// erase count of each of 28 superblocks, and one sequence number, in units of 4 KiB and whole pages of four.
#[test]
fn a_snapshot_of_the_directory_holds_places_and_one_number() {
    let bytes = 4 * (131_072 + 2 + 32) + 4 * 28 + 4_u32;
    assert_eq!(meta(KIB, 128 << 18).snapshot_units(), bytes.div_ceil(4 * KIB).next_multiple_of(4));
}

/// 4096 addresses on one die with rows of `planes` times 4 units.
fn config(planes: u32) -> EngineConfig {
    let cfg = small::config();
    let geometry = Geometry { planes, units_per_page: 4, meta_superblocks: 5, ..cfg.geometry };
    EngineConfig { geometry, sram: SramConfig { reserve: 16, ..cfg.sram }, ..cfg }
}

/// The data of a flush and the copies until then in units of 4 KiB, eight rows of 8 units, and twice the 32 entries of
/// a trim.
#[test]
fn the_mapping_cache_has_room_for_the_data_of_a_flush() {
    let cache = |flush_mib| MiniPageParams { flush_mib, gc_mib: 2 * flush_mib, ..MiniPageParams::default() };
    let cfg = config(2);
    let base = BaseDftl::log_entries(&cfg, &BaseDftlParams { cache: cache(3), ..BaseDftlParams::default() });
    assert_eq!(base, 9 * 256 + 8 * 8 + 64);
    assert_eq!(MiniPage::log_entries(&cfg, &cache(2)), 6 * 256 + 8 * 8 + 64);
    let msftl = Msftl::log_entries(&cfg, &MsftlParams { cache: cache(64), ..MsftlParams::default() });
    assert_eq!(msftl, 192 * 256 + 8 * 8 + 64);
}

/// 16 bytes for each of 128 log entries, 4 for the place of each piece, 2 for the valid page count of each of 80
/// superblocks. Beside the pieces of the table there are 2 records and 32 pages of the journal.
#[test]
fn their_tables_take_what_their_entries_take() {
    fn memory<S: PieceSize>() -> (u64, u64) {
        let (cfg, own) = (config(2), S::Params::default());
        let units = Flushed::<S>::map_units(&cfg, &own);
        let core = Core::in_test(cfg, units);
        let MapMemory { sram, dram, .. } = Flushed::<S>::new(&core, &own).memory(&core);
        (sram, dram)
    }
    let with = |pieces: u64| (16 * 128 + 4 * (pieces + 2 + 32) + 2 * 80, 0);
    assert_eq!(memory::<NandPage>(), with(1));
    assert_eq!(memory::<LogicalPage>(), with(4));
    assert_eq!(memory::<MappingSegment>(), with(16));
}

#[test]
fn what_does_not_fit_the_device_is_refused() {
    let check = |cfg: &EngineConfig| BaseDftl::check(cfg, &BaseDftlParams::default(), "own");
    let refused = |cfg: &EngineConfig| check(cfg).expect_err("refused").to_string();
    assert!(check(&config(2)).is_ok());
    let cfg = config(2);
    let two = EngineConfig { geometry: Geometry { units_per_page: 1, ..cfg.geometry }, ..cfg };
    assert_eq!(refused(&two), "own.page_kib = 16: must be a divisor of 8 KiB, a page on every plane");
    // Three quarters of the reserve have room for a row of 8 units and a page of 4.
    let cfg = config(2);
    let small = EngineConfig { sram: SramConfig { reserve: 15, ..cfg.sram }, ..cfg };
    assert_eq!(refused(&small), "sram.reserve_kib = 60: must be at least 64 for [own]: a row and a translation page");
    // 4 units of table and one more page of it, 80 superblocks, 40 others.
    let cfg = config(2);
    let few = EngineConfig { geometry: Geometry { meta_superblocks: 4, ..cfg.geometry }, ..cfg };
    let expected = "nand.meta_superblocks = 4: must be at least 5 for 128 units of metadata: segments, segment \
                    bitmaps, records, journal";
    assert_eq!(refused(&few), expected);
}
