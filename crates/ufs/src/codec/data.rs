//! Data of DATA OUT and DATA IN UPIUs.
//!
//! | data | bytes |
//! |---|---|
//! | L2P segment | 1024 x 4, packed PPAs (0 = unmapped, else PPA + 1), big-endian |
//! | quarters of an L2P segment | 256 x 4 for each, likewise |
//! | multi-entry transfer | 16 per entry, laid out as the piggyback (see [`super::hpufs`]) |
//! | valid page bitmap | 8 per word; byte n holds units 8n to 8n + 7 in fill order, least significant bit first |
//! | sealed HPB entries | 8 per block, big-endian, 0 = unmapped |
//! | plain HPB entries | 4 per block, packed PPA, big-endian |
//! | runs of logical blocks | 8 per run (see [`super::mapplus`]) |
//! | UNMAP parameter list | see [`super::cdb`] |
//!
//! # User data
//! User data itself has no bytes in the simulator: a stamp stands for it. A codec that wrote 4096 real bytes per unit
//! would only invent them, and one that wrote nothing could not decode a message. So user data is encoded as a
//! *stand-in*, in DATA UPIUs whose flags byte is 01h ([`STAND_IN`], a reserved bit of JESD220) and whose offset and
//! count fields count stand-in bytes. No device or host outside the simulator sends or accepts these UPIUs. The time on
//! the link does not depend on the stand-in's size: [`crate::link::wire_bytes`] counts 4096 bytes per unit.
//!
//! | stand-in | bytes |
//! |---|---|
//! | DATA OUT | 4: stamp of all units of the write, big-endian |
//! | DATA IN | 8 per unit: LPA, stamp; stamp 0 is a unit that reads as zeroes, its LPA is 0 |

use live::{SegmentImage, SegmentState};
use units::{Lpa, Seq};

use super::bytes::Reader;
use super::error::{Allowed, DecodeError, EncodeError};
use super::{cdb, hpufs, mapplus};
use crate::command::Op;
use crate::data::{Content, DataIn, DataOut, Quarters};
use crate::info::DeviceInfo;
use crate::response::Status;

/// Flag of a DATA UPIU whose data segment stands for user data; only used in the simulator.
pub const STAND_IN: u8 = 0x01;

const STAMP_BYTES: usize = 4;
const CONTENT_BYTES: usize = 8;

/// The data of a message, for DATA UPIUs.
pub(super) struct Payload {
    pub(super) bytes: Vec<u8>,
    /// True if it stands for user data.
    pub(super) stand_in: bool,
}

impl Payload {
    pub(super) fn exact(bytes: Vec<u8>) -> Payload {
        Payload { bytes, stand_in: false }
    }

    fn reader(&self) -> Reader<'_> {
        Reader::data(&self.bytes)
    }

    /// Refuses a payload that does not have `want` bytes of the right kind.
    fn expect(&self, want: usize, stand_in: bool) -> Result<Reader<'_>, DecodeError> {
        let reader = self.reader();
        reader.exactly(0, "data length", self.bytes.len() as u64, want as u64)?;
        self.kind(stand_in)?;
        Ok(reader)
    }

    fn kind(&self, stand_in: bool) -> Result<(), DecodeError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.reader().exactly(0, "stand-in flag", u64::from(self.stand_in), u64::from(stand_in))
    }
}

fn segment_bytes(entries: &[u32]) -> Vec<u8> {
    entries.iter().flat_map(|entry| entry.to_be_bytes()).collect()
}

fn quarter_bytes(quarters: Quarters, image: &SegmentImage) -> Vec<u8> {
    quarters.ranges().flat_map(|range| segment_bytes(&image[range])).collect()
}

fn decode_quarters(quarters: Quarters, data: Reader<'_>) -> Result<Box<SegmentImage>, DecodeError> {
    let mut image: Box<SegmentImage> = Box::new([0; units::SEGMENT_ENTRIES as usize]);
    for (at, i) in quarters.ranges().flatten().enumerate() {
        image[i] = data.u32(4 * at, "segment entry")?;
    }
    Ok(image)
}

fn decode_segment(data: Reader<'_>) -> Result<Box<SegmentImage>, DecodeError> {
    let mut image: Box<SegmentImage> = Box::new([0; units::SEGMENT_ENTRIES as usize]);
    for (i, entry) in image.iter_mut().enumerate() {
        *entry = data.u32(4 * i, "segment entry")?;
    }
    Ok(image)
}

/// The data that `op` sends.
pub(super) fn out(op: &Op, data: &DataOut) -> Result<Payload, EncodeError> {
    let refuse = |allowed| Err(EncodeError::Data { op: op.name(), allowed });
    match (op, data) {
        (Op::Write { len: 1.., .. }, DataOut::Stamp(stamp)) => {
            Ok(Payload { bytes: stamp.to_be_bytes().to_vec(), stand_in: true })
        }
        (Op::Write { len: 0, .. }, DataOut::None) => Ok(Payload::exact(Vec::new())),
        (Op::Write { .. }, _) => refuse("a stamp, or nothing when it writes no block"),
        (Op::SegmentWrite { .. }, DataOut::Segment(state)) => Ok(Payload::exact(segment_bytes(&state.image()[..]))),
        (Op::SegmentWrite { .. }, DataOut::SegmentParts(quarters, image)) => {
            Ok(Payload::exact(quarter_bytes(*quarters, image)))
        }
        (Op::SegmentWrite { .. }, DataOut::None) => Ok(Payload::exact(Vec::new())),
        (Op::SegmentWrite { .. }, _) => refuse("a segment or quarters of it, or nothing to attest"),
        (Op::ValidBitmap { .. }, DataOut::Bitmap(words)) => {
            Ok(Payload::exact(words.iter().flat_map(|word| word.to_le_bytes()).collect()))
        }
        (Op::ValidBitmap { .. }, _) => refuse("a bitmap"),
        (Op::BatchNotice { .. }, DataOut::Runs(runs)) => {
            mapplus::runs(runs, mapplus::MAX_BATCH_RUNS).map(Payload::exact)
        }
        (Op::BatchNotice { .. }, _) => refuse("runs"),
        (Op::Unmap { lpa, len }, DataOut::None) => Ok(Payload::exact(cdb::unmap_list(*lpa, *len).to_vec())),
        (_, DataOut::None) => Ok(Payload::exact(Vec::new())),
        _ => refuse("no data"),
    }
}

/// Inverse of [`out`]. Gives the operation, completed if it is UNMAP, and its data. `expected` is the length in the
/// CDB.
pub(super) fn decode_out(parsed: cdb::Parsed, payload: &Payload, expected: u32) -> Result<(Op, DataOut), DecodeError> {
    let expected = expected as usize;
    let op = match parsed {
        cdb::Parsed::Unmap => {
            let list = payload.expect(expected, false)?;
            return Ok((cdb::decode_unmap_list(list)?, DataOut::None));
        }
        cdb::Parsed::SegmentParts(op, quarters) => {
            let image = decode_quarters(quarters, payload.expect(expected, false)?)?;
            return Ok((op, DataOut::SegmentParts(quarters, image)));
        }
        cdb::Parsed::Op(op) => op,
    };
    let data = match op {
        Op::Write { len: 1.., .. } => DataOut::Stamp(payload.expect(STAMP_BYTES, true)?.u32(0, "stamp")?),
        Op::SegmentWrite { .. } if expected > 0 => {
            let image = decode_segment(payload.expect(expected, false)?)?;
            DataOut::Segment(SegmentState::of(&image))
        }
        Op::ValidBitmap { .. } => {
            let bytes = payload.expect(expected, false)?;
            let word = |i| bytes.u64(8 * i, "bitmap word").map(u64::swap_bytes);
            DataOut::Bitmap((0..expected / 8).map(word).collect::<Result<_, _>>()?)
        }
        Op::BatchNotice { .. } => {
            let bytes = payload.expect(expected, false)?;
            let run = |i| mapplus::decode_run(bytes.tail(mapplus::RUN_BYTES * i));
            DataOut::Runs((0..expected / mapplus::RUN_BYTES).map(run).collect::<Result<_, _>>()?)
        }
        _ => {
            payload.expect(0, false)?;
            DataOut::None
        }
    };
    Ok((op, data))
}

fn content_bytes(content: Option<Content>) -> Result<[u8; CONTENT_BYTES], EncodeError> {
    let Some(content) = content else {
        return Ok([0; CONTENT_BYTES]);
    };
    if content.stamp == 0 {
        let allowed = Allowed::Range { min: 1, max: u64::from(u32::MAX) };
        return Err(EncodeError::Value { field: "stamp", value: 0, allowed });
    }
    let mut bytes = [0; CONTENT_BYTES];
    bytes[..4].copy_from_slice(&content.lpa.0.to_be_bytes());
    bytes[4..].copy_from_slice(&content.stamp.to_be_bytes());
    Ok(bytes)
}

fn decode_content(unit: Reader<'_>) -> Result<Option<Content>, DecodeError> {
    let lpa = Lpa(unit.u32(0, "LPA of a unit")?);
    let stamp = unit.u32(4, "stamp of a unit")?;
    if stamp == 0 {
        unit.exactly(0, "LPA of a unit that reads as zeroes", u64::from(lpa.0), 0)?;
        return Ok(None);
    }
    Ok(Some(Content { lpa, stamp }))
}

/// The data of a response to `op`, and the bytes that it has on a real link.
pub(super) fn data_in(op: &Op, data: &DataIn, info: &DeviceInfo) -> Result<(Payload, u64), EncodeError> {
    let payload = match (op, data) {
        (_, DataIn::None) => Payload::exact(Vec::new()),
        (Op::Read { .. } | Op::HpbRead { .. } | Op::MappedRead { .. }, DataIn::One(unit)) => {
            Payload { bytes: content_bytes(*unit)?.to_vec(), stand_in: true }
        }
        (Op::Read { .. } | Op::HpbRead { .. } | Op::MappedRead { .. }, DataIn::Many(units)) => {
            let mut bytes = Vec::with_capacity(units.len() * CONTENT_BYTES);
            for unit in units {
                bytes.extend_from_slice(&content_bytes(*unit)?);
            }
            Payload { bytes, stand_in: true }
        }
        (Op::SegmentRead { .. }, DataIn::Segment(sent)) => Payload::exact(segment_bytes(&sent.image()[..])),
        (Op::EntryTransfer | Op::EntriesAgain, DataIn::Entries(entries)) => {
            let mut bytes = Vec::with_capacity(entries.len() * hpufs::PIGGYBACK_BYTES);
            for entry in entries {
                bytes.extend_from_slice(&hpufs::transfer_entry(entry)?);
            }
            Payload::exact(bytes)
        }
        (Op::HpbReadBuffer { .. }, DataIn::Sealed(entries)) if !info.has_plain_entries() => {
            Payload::exact(entries.iter().flat_map(|entry| entry.to_be_bytes()).collect())
        }
        (Op::HpbReadBuffer { .. }, DataIn::Plain(entries)) if info.has_plain_entries() => {
            Payload::exact(segment_bytes(entries))
        }
        (Op::CacheQuery, DataIn::Runs(runs)) => Payload::exact(mapplus::runs(runs, mapplus::MAX_CACHED_RUNS)?),
        _ => {
            let allowed = "data of the kind that it reads, or none";
            return Err(EncodeError::Data { op: op.name(), allowed });
        }
    };
    let real = real_bytes(payload.bytes.len(), payload.stand_in);
    Ok((payload, real))
}

/// Bytes on a real link of a payload to the host.
pub(super) fn real_bytes(len: usize, stand_in: bool) -> u64 {
    if stand_in { (len / CONTENT_BYTES) as u64 * units::UNIT_BYTES } else { len as u64 }
}

/// Inverse of [`data_in`].
pub(super) fn decode_in(
    op: &Op,
    payload: &Payload,
    status: Status,
    info: &DeviceInfo,
    near: Seq,
) -> Result<DataIn, DecodeError> {
    let good = status == Status::Good;
    let len = payload.bytes.len();
    let data = payload.reader();
    let whole = |size: usize| {
        let rule = Allowed::Rule("a whole number of units or entries");
        if len.is_multiple_of(size) { Ok(len / size) } else { Err(data.fault(0, "data length", len as u64, rule)) }
    };
    match op {
        Op::Read { .. } | Op::HpbRead { .. } | Op::MappedRead { .. } => {
            payload.kind(true)?;
            match whole(CONTENT_BYTES)? {
                0 => Ok(DataIn::None),
                1 => decode_content(data).map(DataIn::One),
                count => {
                    let unit = |i| decode_content(data.tail(i * CONTENT_BYTES));
                    (0..count).map(unit).collect::<Result<_, _>>().map(DataIn::Many)
                }
            }
        }
        Op::SegmentRead { .. } if len > 0 => {
            decode_segment(payload.expect(4096, false)?).map(|image| DataIn::Segment(image.into()))
        }
        Op::EntryTransfer | Op::EntriesAgain if len > 0 || good => {
            payload.kind(false)?;
            let size = hpufs::PIGGYBACK_BYTES;
            let entry = |i| hpufs::decode_transfer_entry(data.tail(i * size), near);
            (0..whole(size)?).map(entry).collect::<Result<_, _>>().map(DataIn::Entries)
        }
        Op::HpbReadBuffer { .. } if len > 0 || good => {
            payload.kind(false)?;
            let size = info.hpb_entry_bytes as usize;
            if info.has_plain_entries() {
                let entry = |i| data.u32(i * size, "plain entry");
                return (0..whole(size)?).map(entry).collect::<Result<_, _>>().map(DataIn::Plain);
            }
            let entry = |i| data.u64(i * size, "sealed entry");
            (0..whole(size)?).map(entry).collect::<Result<_, _>>().map(DataIn::Sealed)
        }
        Op::CacheQuery if len > 0 || good => {
            payload.kind(false)?;
            let size = mapplus::RUN_BYTES;
            let run = |i| mapplus::decode_run(data.tail(i * size));
            (0..whole(size)?).map(run).collect::<Result<_, _>>().map(DataIn::Runs)
        }
        _ => {
            payload.expect(0, false)?;
            Ok(DataIn::None)
        }
    }
}
