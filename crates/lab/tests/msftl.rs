//! The mapping flush of MSFTL's three schemes against what can be derived by hand, on the paper's drive (profile
//! `msftl`) with fewer blocks.
//!
//! One request at a time, acknowledged when it is on flash, and no GC: then a mapping flush covers exactly 9 MiB, and
//! what it has to write follows from the addresses alone.

use std::sync::LazyLock;

use crate::common::{closed, counter, request, tiny};
use ufsim_lab::RunResult;
use workload::{Rng, WorkOp, WorkRequest};

/// Capacity of the small drive: so many flushes of 9 MiB.
const FLUSHES: u64 = 512;
const CAPACITY_MIB: u64 = 9 * FLUSHES;
/// Units in a chunk of 16 KiB (MSFTL Sec. 4.2).
const CHUNK: u64 = 4;
/// Chunks that are written between two mapping flushes.
const CHUNKS_PER_FLUSH: u64 = 9 * 64;
/// Chunks of the drive.
const CHUNKS: u64 = CHUNKS_PER_FLUSH * FLUSHES;
/// Units of 4 KiB in a NAND page.
const PAGE_UNITS: u64 = 4;
/// Units in a block of 9 MiB (MSFTL Table 1).
const BLOCK_UNITS: u64 = 9 * 256;
/// Blocks for user data of the small drive.
const DATA_BLOCKS: u64 = 640;

/// A scheme, a setting of it, and the MiB of user data that one piece of its mapping table maps.
const SCHEMES: [(&str, &str, u32, u64); 6] = [
    ("base-dftl", "scheme.base-dftl.page_kib", 16, 16),
    ("base-dftl", "scheme.base-dftl.page_kib", 8, 8),
    ("base-dftl", "scheme.base-dftl.page_kib", 4, 4),
    ("mini-page", "scheme.base-dftl.page_kib", 16, 4),
    ("msftl", "scheme.msftl.segment_bytes", 2048, 2),
    ("msftl", "scheme.msftl.segment_bytes", 1024, 1),
];

fn run(scheme: &str, own: (&str, u32), chunks: impl Iterator<Item = u64>) -> RunResult {
    run_with(scheme, own, None, chunks)
}

fn run_with(
    scheme: &str,
    (key, value): (&str, u32),
    directory_mib: Option<u64>,
    chunks: impl Iterator<Item = u64>,
) -> RunResult {
    let mut spec = tiny(scheme, 1);
    spec.profile = "msftl".into();
    let set: [(&str, serde_json::Value); 8] = [
        ("device.capacity_mib", CAPACITY_MIB.into()),
        ("nand.data_superblocks", DATA_BLOCKS.into()),
        ("gc.start_superblocks", 20.into()),
        ("gc.relaxed_superblocks", 16.into()),
        ("gc.hurried_superblocks", 12.into()),
        ("gc.reserve_superblocks", 8.into()),
        ("sram.write_through", true.into()),
        (key, value.into()),
    ];
    spec.set = set.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    spec.set.extend(directory_mib.map(|mib| (format!("scheme.{scheme}.directory_mib"), mib.into())));
    let write = |chunk| request(WorkOp::Write, CHUNK * chunk, CHUNK);
    let requests: Vec<WorkRequest> = chunks.map(write).collect();
    closed(&spec, requests, 1).expect("a closed replay")
}

/// The drive written in order under each of [`SCHEMES`].
static IN_ORDER: LazyLock<[RunResult; 6]> =
    LazyLock::new(|| SCHEMES.map(|(scheme, key, value, _)| run(scheme, (key, value), 0..CHUNKS)));

/// Boundaries between pieces that lie inside a flush, not at its ends.
fn boundaries_inside(reach_mib: u64) -> u64 {
    (1..CAPACITY_MIB / reach_mib).filter(|i| !(i * reach_mib).is_multiple_of(9)).count() as u64
}

/// Written in order, a flush of 9 MiB touches one piece, and one more for every boundary between pieces that lies
/// inside it. Pieces of a flush are collected into NAND pages: a page holds one piece of 16 KiB, but all that is less
/// than 16 KiB of any flush fits one page. The paper's 14,352 flushes (126.14 GiB) make 224.25 MiB of such pages; it
/// measured 224.3 MiB.
#[test]
fn a_sequential_run_writes_the_mappings_that_follow_from_its_addresses() {
    for ((scheme, _, value, reach_mib), run) in SCHEMES.iter().zip(&*IN_ORDER) {
        let pieces = FLUSHES + boundaries_inside(*reach_mib);
        assert_eq!(counter(run, "map_flushes"), FLUSHES, "{scheme} {value}");
        let units = pages_of(*reach_mib) * PAGE_UNITS;
        for (name, expected) in [("pmt_pieces_written", pieces), ("pmt_flush_units", units)] {
            assert_eq!(counter(run, name), expected, "{scheme} {value}: {name}");
        }
    }
}

/// NAND pages that hold the pieces of every flush.
fn pages_of(reach_mib: u64) -> u64 {
    let per_page = 16 / reach_mib;
    let pieces = |flush: u64| (9 * flush + 8) / reach_mib - 9 * flush / reach_mib + 1;
    (0..FLUSHES).map(|flush| pieces(flush).div_ceil(per_page)).sum()
}

/// The whole directory is written with each translation block, at its start: 4 bytes for each piece of the table, two
/// records and 32 pages of the journal, 4 for the erase count of each user block, and a number of 4.
#[test]
fn the_directory_is_written_once_in_each_translation_block_of_9_mib() {
    for ((scheme, _, value, reach_mib), run) in SCHEMES.iter().zip(&*IN_ORDER) {
        let names = ["pmt_flush_units", "pmt_moved_units", "pmt_directory_units", "pmt_bookkeeping_units"];
        let [flushed, moved, directory, others] = names.map(|name| counter(run, name));
        let blocks = (flushed + moved + directory + others).div_ceil(BLOCK_UNITS);
        assert_eq!(directory, blocks * directory_units(*reach_mib), "{scheme} {value}: {blocks} blocks");
        assert!(blocks > 1, "{scheme} {value}");
        // The user's blocks have 9 MiB, too: each takes a record of one page when it is opened.
        assert_eq!(others, FLUSHES * PAGE_UNITS, "{scheme} {value}");
    }
}

/// Units of the whole directory, see above.
fn directory_units(reach_mib: u64) -> u64 {
    let bytes = 4 * (CAPACITY_MIB / reach_mib + 2 + 32) + 4 * DATA_BLOCKS + 4;
    bytes.div_ceil(4096).next_multiple_of(PAGE_UNITS)
}

/// A volume of user data is complete at the first flush that reaches it: here after every hundredth.
#[test]
fn the_directory_is_written_after_a_volume_of_user_data() {
    for ((scheme, key, value, reach_mib), plain) in SCHEMES.into_iter().zip(&*IN_ORDER) {
        let run = run_with(scheme, (key, value), Some(895), 0..CHUNKS);
        let directories = FLUSHES / 100;
        let units = counter(&run, "pmt_directory_units");
        assert_eq!(units, directories * directory_units(reach_mib), "{scheme} {value}");
        for name in ["pmt_flush_units", "pmt_bookkeeping_units", "map_flushes"] {
            assert_eq!(counter(&run, name), counter(plain, name), "{scheme} {value}: {name}");
        }
    }
}

/// The paper's own drive has 14,352 flushes; the same counting gives what it measured, 339.9 and 224.3 MiB, within 2 %.
#[test]
fn the_same_counting_gives_the_papers_sequential_volumes() {
    let flushes = 14_352u64;
    let inside = (1..9 * flushes / 16).filter(|i| !(16 * i).is_multiple_of(9)).count() as u64;
    let base = (flushes + inside) as f64 * 16.0 / 1024.0;
    assert!((base / 339.9 - 1.0).abs() < 0.02, "Base-DFTL: {base} MiB by hand");
    let others = flushes as f64 * 16.0 / 1024.0;
    assert!((others / 224.3 - 1.0).abs() < 0.001, "mini-page FTL and MSFTL: {others} MiB by hand");
}

/// Chunks at uniformly random places: a flush of n chunks touches N (1 - (1 - 1/N)^n) of N pieces. Chunks are aligned,
/// so none lies in two pieces.
#[test]
fn random_writes_touch_as_many_pieces_as_chance_says() {
    for (scheme, key, value, reach_mib) in SCHEMES {
        let mut rng = Rng::from_seed(reach_mib);
        let run = run(scheme, (key, value), (0..CHUNKS).map(|_| rng.below(CHUNKS)));
        assert_eq!(counter(&run, "gc_victims"), 0, "GC data would come to the user's");
        // One that has to make way for GC of the translation blocks counts again when it goes on.
        assert!(counter(&run, "map_flushes") >= FLUSHES, "{scheme} {value}");
        let all = (CAPACITY_MIB / reach_mib) as f64;
        let expected = all * (1.0 - (1.0 - 1.0 / all).powf(CHUNKS_PER_FLUSH as f64));
        let measured = counter(&run, "pmt_pieces_written") as f64 / FLUSHES as f64;
        assert!((measured / expected - 1.0).abs() < 0.01, "{scheme} {value}: {measured} pieces, by chance {expected}");
        let changed = counter(&run, "pmt_entries_changed") as f64 / counter(&run, "pmt_entries_written") as f64;
        // Two chunks of a flush at the same place change the same entries.
        let places = CHUNKS as f64 * (1.0 - (1.0 - 1.0 / CHUNKS as f64).powf(CHUNKS_PER_FLUSH as f64));
        let ratio = places * CHUNK as f64 / (expected * (reach_mib * 256) as f64);
        assert!((changed / ratio - 1.0).abs() < 0.01, "{scheme} {value}: {changed} changed, by chance {ratio}");
    }
}

/// 16 KiB of mappings reach over 16 MiB of user data, so Base-DFTL's directory takes 32 KiB for 128 GiB, and that of
/// segments of 1 KiB 512 KiB (Sec. 3.3).
#[test]
fn the_directory_takes_four_bytes_for_each_piece() {
    for (scheme, key, value, reach_mib) in SCHEMES {
        let run = run(scheme, (key, value), 0..1);
        assert_eq!(counter(&run, "pmt_directory_bytes"), 4 * CAPACITY_MIB / reach_mib, "{scheme} {value}");
    }
}
