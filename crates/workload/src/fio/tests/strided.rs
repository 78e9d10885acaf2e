//! Zones in turn: offsets that fio 3.33 itself gave for the same job (psync, `write_iolog`).

use super::*;

/// Offsets of a job of 256 KiB with blocks of 4 KiB, in KiB.
fn offsets(rw: &str, options: &str) -> Vec<u64> {
    let text = format!("[a]\nbs=4k\nsize=256k\nzonemode=strided\nrw={rw}\n{}\n", options.replace(' ', "\n"));
    run(&text).iter().map(|issued| issued.request.sector / 2).collect()
}

/// Blocks of 4 KiB at each of these places, so many.
fn at(places: &[u64], blocks: u64) -> Vec<u64> {
    places.iter().flat_map(|place| (0..blocks).map(move |block| place + 4 * block)).collect()
}

#[test]
fn zones_follow_each_other_and_begin_anew_at_the_end_of_the_file() {
    let every_second: Vec<u64> = (0..8).map(|zone| 32 * zone).collect();
    assert_eq!(offsets("read", "zonesize=16k zoneskip=16k"), at(&[&every_second[..]; 2].concat(), 4));
    assert_eq!(offsets("read", "zonesize=16k"), at(&[0], 64));
    let places: Vec<u64> = (0..16).map(|zone| zone % 6 * 48).collect();
    assert_eq!(offsets("write", "zonesize=16k zonerange=32k zoneskip=16k"), at(&places, 4));
    let twice: Vec<u64> = every_second.iter().flat_map(|&place| [place; 2]).collect();
    assert_eq!(offsets("read", "zonesize=32k zonerange=16k zoneskip=16k"), at(&twice, 4));
    let from_64: Vec<u64> = (0..16).map(|zone| 64 + zone % 4 * 80).collect();
    assert_eq!(offsets("read", "zonesize=16k zoneskip=64k offset=64k"), at(&from_64, 4));
}

#[test]
fn a_request_may_end_behind_its_zone() {
    let zones = offsets("read", "zonesize=16k zoneskip=16k bs=12k");
    assert_eq!(zones, (0..22).map(|number| number / 2 % 8 * 32 + number % 2 * 12).collect::<Vec<_>>());
}

#[test]
fn a_zone_has_a_random_map_of_its_own() {
    let mut blocks = offsets("randread", "zonesize=32k zonerange=16k");
    for (zone, own) in blocks.chunks_mut(4).enumerate() {
        own.sort_unstable();
        assert_eq!(own, at(&[zone as u64 / 2 * 16], 4));
    }
    // Half of the last zone lies behind the file: the job ends with the first request there.
    let blocks = offsets("randread", "zonesize=16k zonerange=32k zoneskip=16k");
    assert!((20..=24).contains(&blocks.len()), "{}", blocks.len());
    assert!(blocks.iter().enumerate().all(|(number, offset)| offset / 48 == number as u64 / 4));
}

#[test]
fn what_zones_need_is_told() {
    let wrong = |text: &str| refused(&format!("[a]\nsize=1m\n{text}\n"));
    assert!(wrong("zonemode=strided").contains("zonemode=strided needs zonesize"));
    assert!(wrong("zonesize=16k").contains("zonesize needs zonemode=strided"));
    assert!(wrong("zonemode=striped").contains("none, strided or zbd"));
    assert!(wrong("zonemode=strided\nzonesize=1m\nzonerange=2k").contains("zonerange is smaller than a block"));
}
