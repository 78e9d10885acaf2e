//! Messages with bytes written out by hand, and sizes.

use crate::common::{INFO, bytes_of, command, good, response_bytes};
use ufsim_ufs::codec::hpufs::{COMMAND_EXTENSION_BYTES, PIGGYBACK_BYTES};
use ufsim_ufs::codec::upiu::UPIU_BYTES;
use ufsim_ufs::codec::{decode_command, decode_response, encode_command, encode_response};
use ufsim_ufs::*;
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

#[test]
fn an_hpb_read_on_the_link() {
    let op = Op::HpbRead { lpa: Lpa(0x0102_0304), len: 2, entry: 0xA1A2_A3A4_A5A6_A7A8 };
    #[rustfmt::skip]
    let golden = [
        0x01, 0x40, 0x00, 0x1F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
        0xF8, 0x00, 0x01, 0x02, 0x03, 0x04, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0x02, 0x00,
    ];
    assert_eq!(bytes_of(&command(op)), golden);
}

#[test]
fn an_hpb_read_buffer_on_the_link_and_its_smaller_last_group() {
    #[rustfmt::skip]
    let golden = [
        0x01, 0x40, 0x00, 0x1F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00,
        0xF9, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ];
    assert_eq!(bytes_of(&command(Op::HpbReadBuffer { group: 1 })), golden);
    // 10000 - 2 x 4096 = 1808 entries = 14464 bytes = 3880h.
    assert_eq!(bytes_of(&command(Op::HpbReadBuffer { group: 2 }))[22..25], [0x00, 0x38, 0x80]);
    assert!(encode_command(&command(Op::HpbReadBuffer { group: 3 }), &INFO, &mut Vec::new()).is_err());
}

#[test]
fn a_mapped_read_is_a_read_10_with_eight_more_bytes() {
    let op = Op::MappedRead { lpa: Lpa(0x0102_0304), len: 0x20, ppa: Some(Ppa(0x0A0B_0C0D)) };
    let mapped = Command { host_seq: Seq(0x7_1122_3344), ..command(op) };
    #[rustfmt::skip]
    let golden = [
        0x01, 0x40, 0x00, 0x1F, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00,
        0x28, 0x00, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x0A, 0x0B, 0x0C, 0x0E, 0x11, 0x22, 0x33, 0x44,
    ];
    assert_eq!(bytes_of(&mapped), golden);
    assert_eq!(decode_command(&golden, &INFO, Seq(0x7_0000_0000)), Ok(mapped));
    let plain = bytes_of(&command(Op::Read { lpa: Lpa(0x0102_0304), len: 0x20 }));
    assert_eq!(plain[16..32], golden[16..32]);
    assert_eq!(golden.len() - plain.len(), 8);
}

#[test]
fn a_forced_write_carries_its_freed_block_and_a_stand_in() {
    let op = Op::Write { lpa: Lpa(5), len: 1, fua: true };
    let write = Command { host_seq: Seq(6), freed: Some(Superblock(8)), data: DataOut::Stamp(0x51), ..command(op) };
    #[rustfmt::skip]
    let golden = [
        0x01, 0x20, 0x00, 0x1F, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
        0x2A, 0x08, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x06,
        0x02, 0x01, 0x00, 0x1F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x51,
    ];
    assert_eq!(bytes_of(&write), golden);
}

#[test]
fn an_unmap_has_one_descriptor() {
    let bytes = bytes_of(&command(Op::Unmap { lpa: Lpa(0x0102_0304), len: 0x0506 }));
    assert_eq!(bytes[16..26], [0x42, 0, 0, 0, 0, 0, 0, 0, 24, 0]);
    #[rustfmt::skip]
    let list = [
        0x00, 0x16, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04,
        0x00, 0x00, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00,
    ];
    assert_eq!(bytes[64..], list);
}

#[test]
fn a_bitmap_counts_units_from_the_least_significant_bit_of_its_first_byte() {
    let op = Op::ValidBitmap { block: Superblock(0x0102), reason: BitmapFor::WearLevelling };
    let data = DataOut::Bitmap(Box::new([1 | 1 << 9, 1 << 63]));
    let bytes = bytes_of(&Command { data, ..command(op) });
    assert_eq!(bytes[16..26], [0xC3, 0x01, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x10, 0x00]);
    assert_eq!(bytes[64..], [0x01, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
}

#[test]
fn a_response_with_a_piggybacked_entry_and_both_hints() {
    let entry = L2pEntry {
        lpa: Lpa(0x0102_0300),
        ppa: Some(Ppa(0x0A0B_0C0C)),
        len: 32,
        seq: Seq(0x5_1122_3344),
        source: Some(Superblock(0x0605)),
    };
    let piggyback =
        PiggyBack { notice: Notice::Entry(entry), want_entries: true, want_victim: true, works_when_idle: false };
    let response = Response { piggyback, ..good(DataIn::None) };
    #[rustfmt::skip]
    let golden = [
        0x21, 0x00, 0x00, 0x1F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x01, 0x02, 0x03, 0x00, 0x0A, 0x0B, 0x0C, 0x0D, 0x11, 0x22, 0x33, 0x44, 0x06, 0x06, 0x20, 0x31,
    ];
    assert_eq!(response_bytes(&response, &Op::Flush), golden);
    assert_eq!(decode_response(&golden, &INFO, Seq(0x5_0000_0000), &Op::Flush), Ok(response));
}

#[test]
fn hints_with_an_argument() {
    let with = |notice| {
        let piggyback = PiggyBack { notice, ..PiggyBack::default() };
        response_bytes(&Response { piggyback, ..good(DataIn::None) }, &Op::Flush)[16..].to_vec()
    };
    let segment = with(Notice::WriteSegment(SegmentId(0x0102)));
    assert_eq!(segment, [0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    let block = with(Notice::BitmapOf(Superblock(65534)));
    assert_eq!(block, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 3]);
}

#[test]
fn a_failed_read_has_sense_data_and_a_residual() {
    let response = Response { status: Status::UnrecoveredRead, ..good(DataIn::None) };
    let op = Op::Read { lpa: Lpa(0), len: 1 };
    #[rustfmt::skip]
    let golden = [
        0x21, 0x20, 0x00, 0x1F, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x10, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x12, 0x70, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x0A, 0x00, 0x00, 0x00, 0x00, 0x11, 0x00,
        0x00, 0x00, 0x00, 0x00,
    ];
    assert_eq!(response_bytes(&response, &op), golden);
}

#[test]
fn an_hpb_entry_follows_in_the_data_segment() {
    let hpb = HpbNotice::Entry { lpa: Lpa(0x0102_0304), entry: 0xA1A2_A3A4_A5A6_A7A8 };
    let bytes = response_bytes(&Response { hpb, ..good(DataIn::None) }, &Op::Flush);
    assert_eq!(bytes[9..12], [0x06, 0x00, 0x14]);
    #[rustfmt::skip]
    let golden = [
        0x00, 0x12, 0x80, 0x10, 0xF0, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04,
        0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8,
    ];
    assert_eq!(bytes[32..], golden);
}

#[test]
fn the_papers_sizes() {
    assert_eq!((UPIU_BYTES, COMMAND_EXTENSION_BYTES, PIGGYBACK_BYTES), (32, 8, 16));
    let plain = bytes_of(&command(Op::Flush)).len();
    let extended = bytes_of(&Command { host_seq: Seq(1), ..command(Op::Flush) }).len();
    assert_eq!(extended - plain, 8);
    let entry = L2pEntry { lpa: Lpa(0), ppa: None, len: 1, seq: Seq(1), source: None };
    let entries = |n| response_bytes(&good(DataIn::Entries(vec![entry; n])), &Op::EntryTransfer).len();
    assert_eq!(entries(3) - entries(2), 16);
    let op = Op::HpbReadBuffer { group: 0 };
    let sealed = |n| response_bytes(&good(DataIn::Sealed(vec![7; n])), &op).len();
    assert_eq!(sealed(3) - sealed(2), 8);
    let plain = |n| {
        let (info, mut bytes) = (DeviceInfo { hpb_entry_bytes: 4, ..INFO }, Vec::new());
        encode_response(&good(DataIn::Plain(vec![7; n])), &op, &info, &mut bytes).unwrap();
        let back = decode_response(&bytes, &info, Seq(0), &op).unwrap();
        assert_eq!(back.data, DataIn::Plain(vec![7; n]));
        bytes.len()
    };
    assert_eq!(plain(3) - plain(2), 4);
    let op = Op::SegmentRead { segment: SegmentId(0) };
    assert_eq!(response_bytes(&good(DataIn::Segment(Box::new([1; 1024]).into())), &op).len(), 32 + 4096 + 32);
}

#[test]
fn hints_of_a_real_driver_do_not_matter() {
    let op = Op::Read { lpa: Lpa(9), len: 1 };
    let mut bytes = bytes_of(&command(op));
    (bytes[1], bytes[17], bytes[22]) = (0x44, 0x18, 0x05);
    assert_eq!(decode_command(&bytes, &INFO, Seq(0)).map(|c| c.op), Ok(op));
    // The driver's error recovery sends an HPB READ of length 0, without R.
    let op = Op::HpbRead { lpa: Lpa(0), len: 0, entry: 0 };
    let bytes = bytes_of(&command(op));
    assert_eq!(bytes[1], 0);
    assert_eq!(decode_command(&bytes, &INFO, Seq(0)).map(|c| c.op), Ok(op));
}

#[test]
fn a_batch_notice_and_a_cache_query_on_the_link() {
    let notice = Op::BatchNotice { write: true, packed: true, requests: 3 };
    let runs = [LpaRun { lpa: Lpa(0x0102_0304), len: 2 }, LpaRun { lpa: Lpa(0x0102_0400), len: 0x11 }];
    let bytes = bytes_of(&Command { data: DataOut::Runs(runs.into()), ..command(notice) });
    assert_eq!(bytes[16..26], [0xC5, 0x03, 0, 0, 0, 3, 0, 0, 0x10, 0]);
    assert_eq!(bytes[64..], [1, 2, 3, 4, 0, 0, 0, 2, 1, 2, 4, 0, 0, 0, 0, 0x11]);
    assert_eq!(bytes_of(&command(Op::CacheQuery))[16..26], [0xC4, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    let answer = response_bytes(&good(DataIn::Runs(runs.into())), &Op::CacheQuery);
    assert_eq!(answer[32..48], bytes[64..]);
}
