//! `hp-ufs`, seen from a host without a driver.

mod kit;

use kit::{Bench, tiny};
use nand::Geometry;
use ufs::{Content, DataIn, DataOut, Notice, Op, Quarters, SegmentImage, SegmentState, Status};
use ufsim_device::{DeviceConfig, MappingKind};
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
    let mut bench = Bench::new(tiny(), MappingKind::HpUfs);
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
    cfg.mappings.HpUfs.segment_kib = bytes / 1024;
    Bench::new(cfg, MappingKind::HpUfs)
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
        let DataIn::Segment(image) = &bench.responses.last().expect("a read is answered").data else {
            panic!("no segment")
        };
        let mut expected = [0; 1024];
        for (&slot, places) in slots.iter().zip(&places) {
            expected[slot as usize] = Ppa::pack(Some(places[segment as usize]));
        }
        assert_eq!(**image, expected);
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
    assert_eq!(bench.responses.last().expect("a read is answered").data, DataIn::Segment(Box::new([7; 1024])));
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
