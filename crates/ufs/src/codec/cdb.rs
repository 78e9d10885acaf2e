//! Command descriptor blocks of SCSI, and the choice among all CDBs.
//!
//! Big-endian; SBC-4 and SPC-4 as JESD220 clause 11.3 adopts them. A CDB of 10 bytes fills the 16 of the UPIU with
//! zeroes. Blocks are 4096 bytes. Bits that only advise the device are ignored when read and 0 when written (DPO, FUA
//! of a read, group number). Bits that would change what the command does, and that no device here supports, must be 0.
//!
//! | command | 0 | 1 | 2-5 | 6 | 7-8 | 9 | data |
//! |---|---|---|---|---|---|---|---|
//! | READ(10) | 28h | bit 4 DPO, bit 3 FUA: ignored | LBA | group number: ignored | blocks | 0 | in: the blocks |
//! | WRITE(10) | 2Ah | bit 4 DPO: ignored; bit 3 FUA | LBA | group number: ignored | blocks | 0 | out: the blocks |
//! | SYNCHRONIZE CACHE(10) | 35h | 0 (no IMMED) | LBA: ignored | group number: ignored | blocks: ignored | 0 | none |
//! | UNMAP | 42h | 0 (no ANCHOR) | 0 | group number: ignored | parameter list length, 24 | 0 | out: parameter list |
//!
//! SYNCHRONIZE CACHE here always covers the whole logical unit, written as LBA 0 and 0 blocks. That also fulfils a
//! request for a part. READ(10) and WRITE(10) move at most 65535 blocks.
//!
//! # UNMAP parameter list, 24 bytes
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 2 | 22: bytes after this field |
//! | 2 | 2 | 16: bytes of block descriptors, hence one |
//! | 4 | 4 | 0 |
//! | 8 | 8 | LBA, at most FFFFFFFFh |
//! | 16 | 4 | blocks |
//! | 20 | 4 | 0 |
//!
//! The commands of HPB are in [`super::hpb`], the commands of HP-UFS in [`super::hpufs`], those of MAP+ in
//! [`super::mapplus`].

use units::{Lpa, UNIT_BYTES};

use super::bytes::Reader;
use super::error::{Allowed, DecodeError, EncodeError};
use super::{hpb, hpufs, mapplus};
use crate::command::{Command, Op};
use crate::data::{DataOut, Quarters};
use crate::info::DeviceInfo;

/// Operation code of READ(10).
pub const READ_10: u8 = 0x28;
/// Operation code of WRITE(10).
pub const WRITE_10: u8 = 0x2A;
/// Operation code of SYNCHRONIZE CACHE(10).
pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
/// Operation code of UNMAP.
pub const UNMAP: u8 = 0x42;

/// Bytes of an UNMAP parameter list with one descriptor.
pub const UNMAP_LIST_BYTES: u32 = 24;

/// Most blocks of one READ(10) or WRITE(10).
pub const MAX_BLOCKS_10: u32 = 65535;

const DPO: u8 = 0x10;
const FUA: u8 = 0x08;

/// Bits of a read's second byte that the model ignores.
pub(super) const READ_HINTS: u8 = DPO | FUA;

/// Direction of a command's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// No data.
    None,
    /// Device to host.
    In,
    /// Host to device.
    Out,
}

/// Direction of the data of `op`.
pub(super) fn direction(op: &Op) -> Direction {
    match op {
        Op::Flush | Op::HpbInactivate { .. } => Direction::None,
        Op::Write { .. } | Op::Unmap { .. } | Op::SegmentWrite { .. } | Op::ValidBitmap { .. } => Direction::Out,
        Op::BatchNotice { .. } => Direction::Out,
        _ => Direction::In,
    }
}

/// Content of a CDB, without the operand of UNMAP, which is in its data.
#[derive(Clone, Copy)]
pub(super) enum Parsed {
    Op(Op),
    /// A writeback of these quarters of a segment.
    SegmentParts(Op, Quarters),
    Unmap,
}

/// Most bytes that a reading command may transfer, as its CDB says.
pub(super) fn data_in_bytes(op: &Op, info: &DeviceInfo) -> Result<u32, EncodeError> {
    match *op {
        Op::Read { len, .. } | Op::MappedRead { len, .. } => block_bytes(len),
        Op::HpbRead { len, .. } => block_bytes(len),
        Op::HpbReadBuffer { group } => group_bytes(group, info),
        Op::SegmentRead { .. } => Ok(hpufs::SEGMENT_BYTES),
        Op::EntryTransfer | Op::EntriesAgain => Ok(hpufs::ENTRY_TRANSFER_BYTES),
        Op::CacheQuery => Ok(mapplus::CACHE_QUERY_BYTES),
        _ => Ok(0),
    }
}

fn block_bytes(len: u32) -> Result<u32, EncodeError> {
    EncodeError::limit("transfer length", u64::from(len), u64::from(MAX_BLOCKS_10))?;
    Ok(len * UNIT_BYTES as u32)
}

/// Bytes of the entries of a group; the last group ends with the device.
fn group_bytes(group: u32, info: &DeviceInfo) -> Result<u32, EncodeError> {
    let first = u64::from(group) * u64::from(info.hpb_group_entries);
    let capacity = u64::from(info.capacity_units);
    if first >= capacity {
        let allowed = Allowed::Rule("a group that begins within the device's capacity");
        return Err(EncodeError::Value { field: "HPB group", value: u64::from(group), allowed });
    }
    let entries = u64::from(info.hpb_group_entries).min(capacity - first);
    let max = u64::from(0xFF_FFFF / info.hpb_entry_bytes);
    EncodeError::limit("HPB group entries", entries, max)?;
    Ok(entries as u32 * info.hpb_entry_bytes)
}

/// Bytes of data that a command sends or may receive, and its CDB.
pub(super) fn encode(command: &Command, info: &DeviceInfo) -> Result<(u32, [u8; 16]), EncodeError> {
    let bytes = match (&command.op, &command.data) {
        (Op::Write { len, .. }, _) => block_bytes(*len)?,
        (Op::Unmap { .. }, _) => UNMAP_LIST_BYTES,
        (Op::SegmentWrite { .. }, DataOut::Segment(_)) => hpufs::SEGMENT_BYTES,
        (Op::SegmentWrite { .. }, DataOut::SegmentParts(quarters, _)) => 4 * quarters.entries(),
        (Op::ValidBitmap { .. }, DataOut::Bitmap(words)) => {
            let bytes = words.len() as u64 * 8;
            EncodeError::limit("bitmap length in bytes", bytes, 0xFF_FFF8)?;
            bytes as u32
        }
        (Op::BatchNotice { .. }, DataOut::Runs(runs)) => {
            let (len, max) = (runs.len() as u64, u64::from(mapplus::MAX_BATCH_RUNS));
            if !(1..=max).contains(&len) {
                return Err(EncodeError::Value { field: "runs", value: len, allowed: Allowed::Range { min: 1, max } });
            }
            (runs.len() * mapplus::RUN_BYTES) as u32
        }
        (op, _) => data_in_bytes(op, info)?,
    };
    let cdb = match command.op {
        Op::Read { lpa, len } | Op::MappedRead { lpa, len, .. } => blocks(READ_10, 0, lpa, len),
        Op::Write { lpa, len, fua } => blocks(WRITE_10, if fua { FUA } else { 0 }, lpa, len),
        Op::Flush => blocks(SYNCHRONIZE_CACHE_10, 0, Lpa(0), 0),
        Op::Unmap { .. } => blocks(UNMAP, 0, Lpa(0), UNMAP_LIST_BYTES),
        Op::HpbRead { lpa, len, entry } if info.has_plain_entries() => hpb::read_16(lpa, len, entry)?,
        Op::HpbRead { lpa, len, entry } => hpb::read(lpa, len, entry)?,
        Op::HpbReadBuffer { group } => hpb::read_buffer(group, bytes, info)?,
        Op::HpbInactivate { region } => hpb::inactivate(region)?,
        Op::SegmentRead { .. }
        | Op::SegmentWrite { .. }
        | Op::EntryTransfer
        | Op::EntriesAgain
        | Op::ValidBitmap { .. } => {
            let quarters = match &command.data {
                DataOut::SegmentParts(quarters, _) => Some(*quarters),
                _ => None,
            };
            hpufs::cdb(&command.op, bytes, quarters)?
        }
        Op::CacheQuery | Op::BatchNotice { .. } => mapplus::cdb(&command.op, bytes),
    };
    Ok((bytes, cdb))
}

/// The common form of the 10-byte CDBs; `length` has been checked to fit 16 bits.
fn blocks(opcode: u8, flags: u8, lpa: Lpa, length: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = opcode;
    cdb[1] = flags;
    cdb[2..6].copy_from_slice(&lpa.0.to_be_bytes());
    cdb[7..9].copy_from_slice(&(length as u16).to_be_bytes());
    cdb
}

/// Decodes a CDB: the command and the length of its data. A read gives [`Op::Read`]; the extension makes it a mapped
/// read.
pub(super) fn decode(cdb: Reader<'_>, info: &DeviceInfo) -> Result<(Parsed, u32), DecodeError> {
    let opcode = cdb.u8(0, "operation code")?;
    if let Some(vendor) = hpufs::decode_cdb(cdb)? {
        return Ok(vendor);
    }
    if let Some((op, bytes)) = mapplus::decode_cdb(cdb)? {
        return Ok((Parsed::Op(op), bytes));
    }
    match opcode {
        hpb::READ_16 if info.has_plain_entries() => {
            let (op, len) = hpb::decode_read_16(cdb)?;
            Ok((Parsed::Op(op), len * UNIT_BYTES as u32))
        }
        hpb::HPB_READ if !info.has_plain_entries() => {
            let op = hpb::decode_read(cdb)?;
            let blocks = u32::from(cdb.u8(14, "HPB READ transfer length")?);
            Ok((Parsed::Op(op), blocks * UNIT_BYTES as u32))
        }
        hpb::HPB_READ_BUFFER => hpb::decode_read_buffer(cdb, info).map(|(op, bytes)| (Parsed::Op(op), bytes)),
        hpb::HPB_WRITE_BUFFER => Ok((Parsed::Op(hpb::decode_inactivate(cdb, info)?), 0)),
        READ_10 | WRITE_10 | SYNCHRONIZE_CACHE_10 | UNMAP => decode_scsi(cdb, opcode),
        _ => {
            let rule = match info.has_plain_entries() {
                true => Allowed::Rule("28h, 2Ah, 35h, 42h, 88h, C0h-C5h, F9h, FAh"),
                false => Allowed::Rule("28h, 2Ah, 35h, 42h, C0h-C5h, F8h-FAh"),
            };
            Err(cdb.fault(0, "operation code", u64::from(opcode), rule))
        }
    }
}

fn decode_scsi(cdb: Reader<'_>, opcode: u8) -> Result<(Parsed, u32), DecodeError> {
    let flags = cdb.u8(1, "CDB flags")?;
    let lpa = Lpa(cdb.u32(2, "LBA")?);
    let len = u32::from(cdb.u16(7, "transfer length")?);
    let known = match opcode {
        READ_10 | WRITE_10 => READ_HINTS,
        _ => 0,
    };
    cdb.exactly(1, "CDB flags without DPO and FUA", u64::from(flags & !known), 0)?;
    cdb.zeroes(9, 16)?;
    Ok(match opcode {
        READ_10 => (Parsed::Op(Op::Read { lpa, len }), len * UNIT_BYTES as u32),
        WRITE_10 => (Parsed::Op(Op::Write { lpa, len, fua: flags & FUA != 0 }), len * UNIT_BYTES as u32),
        SYNCHRONIZE_CACHE_10 => (Parsed::Op(Op::Flush), 0),
        _ => {
            cdb.zeroes(2, 6)?;
            cdb.exactly(7, "UNMAP parameter list length", u64::from(len), u64::from(UNMAP_LIST_BYTES))?;
            (Parsed::Unmap, UNMAP_LIST_BYTES)
        }
    })
}

/// The parameter list of an UNMAP.
pub(super) fn unmap_list(lpa: Lpa, len: u32) -> [u8; UNMAP_LIST_BYTES as usize] {
    let mut list = [0; UNMAP_LIST_BYTES as usize];
    list[1] = 22;
    list[3] = 16;
    list[12..16].copy_from_slice(&lpa.0.to_be_bytes());
    list[16..20].copy_from_slice(&len.to_be_bytes());
    list
}

pub(super) fn decode_unmap_list(list: Reader<'_>) -> Result<Op, DecodeError> {
    list.exactly(0, "UNMAP data length", u64::from(list.u16(0, "UNMAP data length")?), 22)?;
    let descriptors = list.u16(2, "UNMAP block descriptor length")?;
    list.exactly(2, "UNMAP block descriptor length", u64::from(descriptors), 16)?;
    list.zeroes(4, 8)?;
    let lba = list.u64(8, "UNMAP LBA")?;
    list.range(8, "UNMAP LBA", lba, 0..=u64::from(u32::MAX))?;
    list.zeroes(20, 24)?;
    Ok(Op::Unmap { lpa: Lpa(lba as u32), len: list.u32(16, "UNMAP blocks")? })
}
