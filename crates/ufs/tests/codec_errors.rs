//! Messages that the codec refuses, and the errors.

use crate::common::{INFO, bytes_of, command, good, response_bytes};
use ufsim_ufs::codec::{Allowed, EncodeError, Part, decode_command, decode_response, encode_command, encode_response};
use ufsim_ufs::*;
use units::{Lpa, Ppa, Seq, Superblock};

#[test]
fn what_does_not_fit_is_refused_and_leaves_no_bytes() {
    let refused = |command: &Command| {
        let mut out = vec![7];
        let error = encode_command(command, &INFO, &mut out).unwrap_err();
        assert_eq!(out, [7]);
        error.to_string()
    };
    let lpa = Lpa(0);
    let long = command(Op::Read { lpa, len: 65536 });
    assert_eq!(refused(&long), "transfer length is 65536, allowed: 0..=65535");
    let long = Command { data: DataOut::Stamp(1), ..command(Op::Write { lpa, len: 1 << 20, fua: false }) };
    assert_eq!(refused(&long), "transfer length is 1048576, allowed: 0..=65535");
    let long = command(Op::HpbRead { lpa, len: 256, entry: 0 });
    assert_eq!(refused(&long), "HPB READ transfer length is 256, allowed: 0..=255");
    let both = Command { freed: Some(Superblock(1)), ..command(Op::MappedRead { lpa, len: 1, ppa: None }) };
    assert!(refused(&both).starts_with("freed block is 1"));
    let block = Command { freed: Some(Superblock(MAX_SUPERBLOCKS)), ..command(Op::Flush) };
    assert_eq!(refused(&block), "freed block is 65535, allowed: 0..=65534");
    let ppa = command(Op::MappedRead { lpa, len: 1, ppa: Some(Ppa(u32::MAX)) });
    assert_eq!(refused(&ppa), "PPA is 4294967295, allowed: 0..=4294967294");
    let bare = command(Op::Write { lpa, len: 1, fua: false });
    assert_eq!(refused(&bare), "write goes with a stamp, or nothing when it writes no block");
    let odd = Command { data: DataOut::Stamp(1), ..command(Op::Flush) };
    assert_eq!(refused(&odd), "flush goes with no data");
}

#[test]
fn a_response_that_does_not_fit_is_refused_and_leaves_no_bytes() {
    let refused = |response: &Response, op: &Op| {
        let mut out = vec![7];
        let error = encode_response(response, op, &INFO, &mut out).unwrap_err();
        assert_eq!(out, [7]);
        error
    };
    let entry = L2pEntry { lpa: Lpa(1020), ppa: None, len: 5, seq: Seq(1), source: None };
    let with = |entry| {
        let piggyback = PiggyBack { notice: Notice::Entry(entry), ..PiggyBack::default() };
        Response { piggyback, ..good(DataIn::One(None)) }
    };
    let read = Op::Read { lpa: Lpa(0), len: 1 };
    let value = |field, value, min, max| EncodeError::Value { field, value, allowed: Allowed::Range { min, max } };
    assert_eq!(refused(&with(entry), &read), value("entry length", 5, 1, 4));
    let unnumbered = L2pEntry { len: 1, seq: Seq(0), ..entry };
    assert_eq!(refused(&with(unnumbered), &read), value("entry sequence number", 0, 1, u64::MAX));
    let many = good(DataIn::Many(vec![None; 2]));
    assert_eq!(refused(&many, &read), value("bytes of data", 8192, 0, 4096));
    let entries = good(DataIn::Entries(vec![L2pEntry { len: 1, ..entry }; 2049]));
    assert_eq!(refused(&entries, &Op::EntryTransfer), value("bytes of data", 32784, 0, 32768));
    let kind = good(DataIn::Sealed(vec![1]));
    let allowed = "data of the kind that it reads, or none";
    assert_eq!(refused(&kind, &read), EncodeError::Data { op: "read", allowed });
}

#[test]
fn errors_name_field_place_value_and_what_was_allowed() {
    let read = bytes_of(&command(Op::Read { lpa: Lpa(0), len: 1 }));
    let error = |at: usize, value| {
        let mut bytes = read.clone();
        bytes[at] = value;
        decode_command(&bytes, &INFO, Seq(0)).unwrap_err()
    };
    let e = error(2, 7);
    assert_eq!((e.field, e.offset, e.part, e.value), ("LUN", 2, Part::Message, 7));
    assert_eq!(e.allowed, Allowed::Exactly(0));
    assert_eq!(
        error(16, 0x88).to_string(),
        "operation code at byte 16 of the message is 136 (0x88), allowed: 28h, 2Ah, 35h, 42h, F8h-FAh, C0h-C3h, \
         C4h, C5h"
    );
    assert_eq!(error(14, 0x20).field, "expected data transfer length");
    assert_eq!(error(1, 0x20).field, "flags");
    assert_eq!(error(4, 0x08).field, "extension address");
    let e = decode_command(&read[..20], &INFO, Seq(0)).unwrap_err();
    assert_eq!((e.field, e.offset, e.value), ("CDB", 16, 4));
    let op = Op::Unmap { lpa: Lpa(0), len: 1 };
    let mut bytes = bytes_of(&command(op));
    bytes[64 + 3] = 32;
    let e = decode_command(&bytes, &INFO, Seq(0)).unwrap_err();
    assert_eq!((e.field, e.offset, e.part, e.value), ("UNMAP block descriptor length", 2, Part::Data, 32));
}

#[test]
fn a_sequence_number_before_the_first_is_refused() {
    let mut bytes = bytes_of(&Command { host_seq: Seq(3), ..command(Op::Flush) });
    assert_eq!(decode_command(&bytes, &INFO, Seq(1 << 32)).map(|c| c.host_seq), Ok(Seq((1 << 32) + 3)));
    bytes[36..40].copy_from_slice(&u32::MAX.to_be_bytes());
    let e = decode_command(&bytes, &INFO, Seq(10)).unwrap_err();
    assert_eq!((e.field, e.offset, e.value), ("sequence number", 36, u64::from(u32::MAX)));
}

#[test]
fn a_message_that_contradicts_itself_is_refused() {
    let fields = |bytes: &[u8], edits: &[(usize, u8)], op: Option<&Op>| {
        let mut bytes = bytes.to_vec();
        for &(at, value) in edits {
            bytes[at] = value;
        }
        let error = match op {
            None => decode_command(&bytes, &INFO, Seq(0)).unwrap_err(),
            Some(op) => decode_response(&bytes, &INFO, Seq(0), op).unwrap_err(),
        };
        (error.field, error.offset)
    };
    let write =
        bytes_of(&Command { data: DataOut::Stamp(1), ..command(Op::Write { lpa: Lpa(0), len: 1, fua: false }) });
    // The DATA OUT UPIU begins at 32, its stamp at 64.
    assert_eq!(fields(&write, &[(35, 3)], None), ("task tag", 35));
    assert_eq!(fields(&write, &[(33, 0)], None), ("stand-in flag", 0));
    assert_eq!(fields(&write, &[(43, 0)], None), ("data segment length", 42));
    assert_eq!(fields(&write, &[(47, 4)], None), ("data buffer offset", 44));
    assert_eq!(fields(&write, &[(51, 8)], None), ("data transfer count", 48));
    assert_eq!(fields(&write[..32], &[], None), ("data length", 0));
    assert_eq!(fields(&write, &[(32, 0)], None), ("bytes after the last UPIU", 32));
    // Mapped addresses are only allowed with READ(10).
    let flush = bytes_of(&Command { host_seq: Seq(1), ..command(Op::Flush) });
    assert_eq!(fields(&flush, &[(4, 9)], None), ("operation code", 16));

    let read = Op::Read { lpa: Lpa(0), len: 1 };
    let one = response_bytes(&good(DataIn::One(None)), &read);
    // The RESPONSE UPIU begins at 40, after a DATA IN UPIU with 8 bytes of stand-in.
    assert_eq!(fields(&one, &[(43, 3)], Some(&read)), ("task tag", 3));
    assert_eq!(fields(&one, &[(54, 0x10), (41, 0x20)], Some(&read)), ("residual transfer count", 52));
    assert_eq!(fields(&one, &[(41, 0x20)], Some(&read)), ("flags", 41));
    assert_eq!(fields(&one, &[(47, 2)], Some(&read)), ("data segment length", 50));
    assert_eq!(fields(&one, &[(47, 8)], Some(&read)), ("status", 47));
    assert_eq!(fields(&one, &[(49, 4)], Some(&read)), ("device information", 49));
    assert_eq!(fields(&one, &[(71, 4)], Some(&read)), ("piggyback kind", 71));
    assert_eq!(fields(&one, &[(71, 0x80)], Some(&read)), ("piggyback type, bit 7", 71));
    assert_eq!(fields(&one, &[(70, 1)], Some(&read)), ("reserved", 70));
    assert_eq!(fields(&one, &[], Some(&Op::Flush)), ("bytes of data before the response", 40));
    assert_eq!(fields(&one, &[], Some(&Op::EntryTransfer)), ("residual transfer count", 52));
    let none = Op::Read { lpa: Lpa(0), len: 0 };
    assert_eq!(fields(&one, &[], Some(&none)), ("bytes of data before the response", 40));
}

#[test]
fn an_entry_that_breaks_its_rules_is_refused() {
    let entry = L2pEntry { lpa: Lpa(1000), ppa: Some(Ppa(5)), len: 24, seq: Seq(1), source: None };
    let piggyback = PiggyBack { notice: Notice::Entry(entry), ..PiggyBack::default() };
    let bytes = response_bytes(&Response { piggyback, ..good(DataIn::None) }, &Op::Flush);
    let error = |edits: &[(usize, u8)]| {
        let mut bytes = bytes.clone();
        for &(at, value) in edits {
            bytes[at] = value;
        }
        let e = decode_response(&bytes, &INFO, Seq(0), &Op::Flush).unwrap_err();
        (e.field, e.offset, e.value, e.allowed)
    };
    let range = |min, max| Allowed::Range { min, max };
    assert_eq!(error(&[(30, 25)]), ("entry length", 30, 25, range(1, 24)));
    assert_eq!(error(&[(30, 0)]), ("entry length", 30, 0, range(1, 24)));
    assert_eq!(error(&[(19, 0), (30, 33)]), ("entry length", 30, 33, range(1, 32)));
    assert_eq!(error(&[(27, 0)]), ("entry sequence number", 24, 0, range(1, u64::MAX - 23)));
    let last = u64::from(u32::MAX) - 1;
    let high = [(20, 0xFF), (21, 0xFF), (22, 0xFF), (23, 0xFF)];
    assert_eq!(error(&high), ("entry PPA", 20, last, range(0, last - 23)));
}
