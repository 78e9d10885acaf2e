//! Input: a byte for the kind of message, a number that the reader knows, and the bytes of the message.

use ufs::codec::{decode_command, decode_response, encode_command, encode_response};
use ufs::{BitmapFor, DataIn, DeviceInfo, Op};
use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use super::input::Input;

/// The largest device that addresses allow, so that every group exists.
const INFO: DeviceInfo =
    DeviceInfo { capacity_units: u32::MAX, superblocks: 65535, superblock_units: 65536, ..DeviceInfo::USUAL };

/// The same with plain HPB entries.
const PLAIN: DeviceInfo = DeviceInfo { hpb_entry_bytes: 4, ..INFO };

/// Commands that a response may answer.
const OPS: [Op; 16] = [
    Op::Read { lpa: Lpa(1), len: 1 },
    Op::Read { lpa: Lpa(7), len: 3 },
    Op::HpbRead { lpa: Lpa(3), len: 2, entry: 2 },
    Op::MappedRead { lpa: Lpa(3), len: 1, ppa: Some(Ppa(9)) },
    Op::Write { lpa: Lpa(1), len: 1, fua: false },
    Op::Flush,
    Op::Unmap { lpa: Lpa(2), len: 4 },
    Op::HpbReadBuffer { group: 4 },
    Op::SegmentRead { segment: SegmentId(2) },
    Op::SegmentWrite { segment: SegmentId(2) },
    Op::EntryTransfer,
    Op::ValidBitmap { block: Superblock(3), reason: BitmapFor::Gc },
    Op::CacheQuery,
    Op::BatchNotice { write: false, packed: false, requests: 2 },
    Op::HpbInactivate { region: 3 },
    Op::EntriesAgain,
];

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = input.u8();
    let near = match input.u8() {
        0 => Seq(input.u64()),
        n => Seq(1 << (n % 64)),
    };
    let message = input.rest();
    for info in [&INFO, &PLAIN] {
        match OPS.get(usize::from(kind)) {
            Some(op) => response(message, info, near, op),
            None => command(message, info, near),
        }
    }
}

fn command(bytes: &[u8], info: &DeviceInfo, near: Seq) {
    let Ok(command) = decode_command(bytes, info, near) else { return };
    let mut again = Vec::new();
    encode_command(&command, info, &mut again).expect("what has been read has bytes");
    assert_eq!(decode_command(&again, info, near).as_ref(), Ok(&command));
    no_longer(&again, bytes);
}

fn response(bytes: &[u8], info: &DeviceInfo, near: Seq, op: &Op) {
    let Ok(response) = decode_response(bytes, info, near, op) else { return };
    let mut again = Vec::new();
    let result = encode_response(&response, op, info, &mut again);
    // A reader does not know the length of a group; a writer does.
    let entries = match &response.data {
        DataIn::Sealed(entries) => entries.len(),
        DataIn::Plain(entries) => entries.len(),
        _ => 0,
    };
    if entries > info.hpb_group_entries as usize {
        assert!(result.is_err() && again.is_empty(), "{entries} entries");
        return;
    }
    result.expect("what has been read has bytes");
    assert_eq!(decode_response(&again, info, near, op).as_ref(), Ok(&response));
    no_longer(&again, bytes);
}

/// Checks that encoding is not longer. The codec writes the shortest form; a reader also accepts data in many small
/// UPIUs, and an extension without content.
fn no_longer(again: &[u8], bytes: &[u8]) {
    assert!(again.len() <= bytes.len(), "{} bytes have become {}", bytes.len(), again.len());
}
