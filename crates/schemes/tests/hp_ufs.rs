//! `hp-ufs`, seen from a host without a driver.

use crate::kit::{Bench, tiny};
use ftl::{DeviceConfig, MappingKind};
use nand::Geometry;
use ufs::{Content, DataIn, DataOut, LpaRun, Notice, Op, Quarters, SegmentImage, SegmentState, Status};
use units::{Lpa, Ppa, SegmentId, Seq};

/// Writes a unit and gives its place, which the response tells.
fn write(bench: &mut Bench, lpa: Lpa) -> Ppa {
    bench.send(Op::Write { lpa, len: 1, fua: true });
    bench.settle();
    match bench.responses.last().expect("a write is answered").piggyback.notice {
        Notice::Entry(entry) => entry.ppa.expect("a write has a place"),
        other => panic!("no entry came with the response, but {other:?}"),
    }
}

/// A newer entry in the device's log wins over a stale address from the host. The host has not said that it has applied
/// the entry, so the entry is in the log.
#[test]
fn a_stale_address_loses_against_the_log() {
    let mut bench = Bench::new(tiny(), MappingKind::of::<ufsim_schemes::HpUfs>());
    let lpa = Lpa(5);
    let old = write(&mut bench, lpa);
    let new = write(&mut bench, lpa);
    assert_ne!(old, new);
    for ppa in [old, new] {
        bench.send(Op::MappedRead { lpa, len: 1, ppa: Some(ppa) });
        bench.settle();
        let data = &bench.responses.last().expect("a read is answered").data;
        assert_eq!(*data, DataIn::One(Some(Content { lpa, stamp: 2 })), "read at {ppa}");
    }
    assert_eq!(bench.device.stats().log_hits, 2);
}

/// A device whose programs of metadata may be as short as a flash unit, with parts of `bytes` bytes.
fn in_parts(bytes: u32) -> Bench {
    let geometry = Geometry { units_per_page: 1, pages_per_block: 64, ..tiny().geometry };
    let mut cfg = DeviceConfig { geometry, ..tiny() };
    cfg.mappings.set("hp-ufs", "segment_kib", bytes / 1024).expect("within its range");
    Bench::new(cfg, MappingKind::of::<ufsim_schemes::HpUfs>())
}

/// Writes a unit at this slot in each of the four segments, and sends the parts of `bytes` bytes that hold them. Gives
/// the places.
fn write_and_send(bench: &mut Bench, slot: u32, bytes: u32) -> Vec<Ppa> {
    let places: Vec<Ppa> = (0..4).map(|segment| write(bench, Lpa(segment * 1024 + slot))).collect();
    bench.host_seq = bench.host_seq.plus(4);
    for (segment, &ppa) in places.iter().enumerate() {
        let mut image: Box<SegmentImage> = Box::new([0; 1024]);
        image[slot as usize] = Ppa::pack(Some(ppa));
        let quarters = Quarters::new(((1 << (bytes / 1024)) - 1) << (slot * 4 / bytes * bytes / 1024));
        let data =
            quarters.map_or(DataOut::Segment(SegmentState::of(&image)), |q| DataOut::SegmentParts(q, q.of(&image)));
        bench.send_with(Op::SegmentWrite { segment: SegmentId(segment as u32) }, data);
    }
    bench.settle();
    places
}

/// Parts of different segments share flash units.
#[test]
fn parts_are_collected_into_pages() {
    for (bytes, units) in [(4096, 4), (2048, 2), (1024, 1)] {
        let mut bench = in_parts(bytes);
        // The records of the superblocks that are opened are programmed first.
        write(&mut bench, Lpa(0));
        bench.host_seq = Seq(1);
        let before = bench.device.stats();
        write_and_send(&mut bench, 700, bytes);
        let after = bench.device.stats();
        assert_eq!(after.segment_writes - before.segment_writes, 4, "{bytes}");
        assert_eq!(after.map_units_programmed - before.map_units_programmed, units, "parts of {bytes} bytes");
    }
}

/// A segment whose parts were written at different times is read from several pages and answered as a whole.
#[test]
fn a_segment_is_assembled_from_its_parts() {
    let mut bench = in_parts(1024);
    let slots = [3, 300, 1023];
    let places: Vec<Vec<Ppa>> = slots.iter().map(|&slot| write_and_send(&mut bench, slot, 1024)).collect();
    for (reads, segment) in [(3, 2), (0, 2)] {
        let before = bench.device.stats().segment_reads;
        bench.send(Op::SegmentRead { segment: SegmentId(segment) });
        bench.settle();
        let DataIn::Segment(sent) = &bench.responses.last().expect("a read is answered").data else {
            panic!("no segment")
        };
        let mut expected = [0; 1024];
        for (&slot, places) in slots.iter().zip(&places) {
            expected[slot as usize] = Ppa::pack(Some(places[segment as usize]));
        }
        assert_eq!(*sent.image(), expected);
        assert_eq!(bench.device.stats().segment_reads - before, reads, "the second time they are in SRAM");
    }
}

/// All parts of a segment that were written together are in one flash unit, and come with one read.
#[test]
fn parts_that_share_a_page_are_read_once() {
    let mut bench = in_parts(1024);
    write(&mut bench, Lpa(0));
    bench.host_seq = Seq(1);
    bench.send_with(Op::SegmentWrite { segment: SegmentId(0) }, DataOut::Segment(SegmentState::of(&[7; 1024])));
    bench.settle();
    bench.send(Op::SegmentRead { segment: SegmentId(0) });
    bench.settle();
    assert_eq!(bench.responses.last().expect("a read is answered").data, DataIn::Segment(Box::new([7; 1024]).into()));
    assert_eq!(bench.device.stats().segment_reads, 1);
}

/// A segment that is sent whole shares no flash unit with parts of others, whatever was sent before it.
#[test]
fn a_whole_segment_is_read_once_whatever_it_is_written_with() {
    let mut bench = in_parts(1024);
    write(&mut bench, Lpa(0));
    bench.host_seq = Seq(1);
    let image: Box<SegmentImage> = Box::new([7; 1024]);
    let first = Quarters::new(0b0001).expect("neither none nor all");
    let programmed = bench.device.stats().map_units_programmed;
    bench.send_with(Op::SegmentWrite { segment: SegmentId(0) }, DataOut::SegmentParts(first, first.of(&image)));
    bench.send_with(Op::SegmentWrite { segment: SegmentId(1) }, DataOut::Segment(SegmentState::of(&image)));
    bench.settle();
    assert_eq!(bench.device.stats().map_units_programmed - programmed, 2, "five parts in one program");
    bench.send(Op::SegmentRead { segment: SegmentId(1) });
    bench.settle();
    assert_eq!(bench.device.stats().segment_reads, 1);
}

/// A map unit can only be written whole.
#[test]
fn parts_of_another_size_are_refused() {
    for (bytes, bits) in [(4096, 0b0011), (2048, 0b0001), (2048, 0b0110)] {
        let mut bench = in_parts(bytes);
        bench.expected = Status::InvalidField;
        let quarters = Quarters::new(bits).expect("neither none nor all");
        let data = DataOut::SegmentParts(quarters, Box::new([0; 1024]));
        bench.send_with(Op::SegmentWrite { segment: SegmentId(0) }, data);
        bench.settle();
        assert_eq!(bench.device.counter("segment_writebacks"), 0, "parts of {bytes} bytes");
    }
}

/// The device reads a segment that the host has written back if it lacks no change, and keeps it. What the host has
/// changed since is in the log.
#[test]
fn a_read_without_an_address_uses_the_segment_on_flash() {
    let mut bench = Bench::new(tiny(), MappingKind::of::<ufsim_schemes::HpUfs>());
    let read = |bench: &mut Bench, lpa| {
        bench.send(Op::Read { lpa: Lpa(lpa), len: 1 });
        bench.settle();
        let stats = bench.device.stats();
        [stats.segment_misses, stats.segment_hits, stats.segment_reads]
    };
    let cached = |bench: &mut Bench| {
        bench.send(Op::CacheQuery);
        bench.settle();
        bench.responses.pop().expect("a query is answered").data
    };
    let runs =
        |runs: &[(u32, u32)]| DataIn::Runs(runs.iter().map(|&(lpa, len)| LpaRun { lpa: Lpa(lpa), len }).collect());
    let first = write(&mut bench, Lpa(5));
    assert_eq!(cached(&mut bench), runs(&[(5, 1)]), "the log has it");
    assert_eq!(read(&mut bench, 5), [0, 0, 0]);
    let mut image: Box<SegmentImage> = Box::new([0; 1024]);
    image[5] = Ppa::pack(Some(first));
    bench.host_seq = Seq(1);
    bench.send_with(Op::SegmentWrite { segment: SegmentId(0) }, DataOut::Segment(SegmentState::of(&image)));
    bench.settle();
    assert_eq!(cached(&mut bench), runs(&[]));
    assert_eq!([bench.device.cached(Lpa(5), 1), bench.device.cached(Lpa(1024), 1)], [false, true]);
    assert_eq!(read(&mut bench, 5), [1, 0, 1]);
    assert_eq!(cached(&mut bench), runs(&[(0, 1024)]));
    assert_eq!(read(&mut bench, 5), [1, 1, 1]);
    write(&mut bench, Lpa(7));
    assert_eq!(cached(&mut bench), runs(&[(7, 1)]), "the segment lacks a change");
    assert_eq!(read(&mut bench, 7), [1, 1, 1]);
}

/// A writeback with data and one without are counted apart.
#[test]
fn writebacks_and_attests_are_counted() {
    let mut bench = Bench::new(tiny(), MappingKind::of::<ufsim_schemes::HpUfs>());
    write(&mut bench, Lpa(0));
    bench.host_seq = Seq(1);
    for (segment, data) in [
        (0, DataOut::Segment(SegmentState::of(&[0; 1024]))),
        (1, DataOut::None),
        (2, DataOut::None),
        (2, DataOut::Segment(SegmentState::of(&[0; 1024]))),
        (3, DataOut::None),
    ] {
        bench.send_with(Op::SegmentWrite { segment: SegmentId(segment) }, data);
    }
    bench.settle();
    let counters = ["segment_writebacks", "segment_attests", "log_block_stalls", "max_log_blocks"];
    assert_eq!(counters.map(|name| bench.device.counter(name)), [2, 3, 0, 1]);
}

/// Changes the configuration, and gives what the check says.
fn check(change: impl FnOnce(&mut DeviceConfig)) -> Result<(), String> {
    let mut cfg = tiny();
    change(&mut cfg);
    MappingKind::of::<ufsim_schemes::HpUfs>().check(&cfg).map_err(|error| error.to_string())
}

/// GC pauses early enough for a row of 8 units. The log holds 192 entries.
#[test]
fn limits_of_the_log_are_checked() {
    assert_eq!(check(|_| ()), Ok(()));
    assert_eq!(check(|cfg| cfg.mappings.set("hp-ufs", "gc_pause_at_entries", 184).expect("within its range")), Ok(()));
    let refused = check(|cfg| cfg.mappings.set("hp-ufs", "gc_pause_at_entries", 185).expect("within its range"));
    let why = "scheme.hp-ufs.gc_pause_at_entries = 185: must be at least a row of 8 units below log.entries = 192";
    assert_eq!(refused, Err(why.into()));
    assert_eq!(
        check(|cfg| cfg.mappings.set("hp-ufs", "handover_above_entries", 191).expect("within its range")),
        Ok(())
    );
    let refused = check(|cfg| cfg.mappings.set("hp-ufs", "handover_above_entries", 192).expect("within its range"));
    assert_eq!(refused, Err("scheme.hp-ufs.handover_above_entries = 192: must be below log.entries = 192".into()));
}

/// Three quarters of the reserve hold a row of 8 units and the parts of a segment, which are read together.
#[test]
fn the_reserve_holds_the_parts_of_a_segment() {
    for (kib, least) in [(2, 14), (1, 16)] {
        let with = |reserve| {
            check(|cfg| {
                cfg.mappings.set("hp-ufs", "segment_kib", kib).expect("within its range");
                cfg.sram.reserve = reserve;
            })
        };
        assert_eq!(with(least), Ok(()), "{kib} KiB");
        let why = format!(
            "sram.reserve_kib = {}: must be at least {} for scheme.hp-ufs.segment_kib = {kib}: a row and a segment's \
            parts",
            4 * least - 4,
            4 * least
        );
        assert_eq!(with(least - 1), Err(why));
    }
    assert_eq!(check(|cfg| cfg.sram.reserve = 8), Ok(()), "whole segments come one at a time");
}

/// 20000 segments have as many places of 8 bytes in a snapshot, beside 28 erase counts: 40 units, and 8 more. So 208
/// units of a superblock of 256 are left for 20000 segments, 28 bitmaps, records and the journal, which fill 97
/// superblocks; four are spare.
#[test]
fn metadata_superblocks_hold_the_table() {
    let with = |superblocks| {
        check(|cfg| {
            cfg.capacity_units = 20_000 * 1024;
            cfg.geometry.meta_superblocks = superblocks;
        })
    };
    assert_eq!(with(101), Ok(()));
    let why = "nand.meta_superblocks = 100: must be at least 101 for 20068 units of metadata: \
        segments, segment bitmaps, records, journal";
    assert_eq!(with(100), Err(why.into()));
}
