//! The commands of SCSI.
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

use units::{Lpa, Seq, UNIT_BYTES};

use super::bytes::Reader;
use super::data::{Payload, blocks_in, decode_blocks_in};
use super::error::{DecodeError, EncodeError};
use super::set::SetCodec;
use crate::command::{Op, UNMAP_LIST_BYTES};
use crate::data::{DataIn, DataOut};
use crate::info::DeviceInfo;

/// Operation code of READ(10).
pub const READ_10: u8 = 0x28;
/// Operation code of WRITE(10).
pub const WRITE_10: u8 = 0x2A;
/// Operation code of SYNCHRONIZE CACHE(10).
pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
/// Operation code of UNMAP.
pub const UNMAP: u8 = 0x42;

/// Most blocks of one READ(10) or WRITE(10).
pub const MAX_BLOCKS_10: u32 = 65535;

/// Bytes of the stand-in of a write.
const STAMP_BYTES: usize = 4;

const DPO: u8 = 0x10;
const FUA: u8 = 0x08;

/// Bits of a read's second byte that the model ignores.
pub(super) const READ_HINTS: u8 = DPO | FUA;

/// READ, WRITE, SYNCHRONIZE CACHE and UNMAP; a mapped read is a READ with the extension of HP-UFS.
pub(super) struct Scsi;

impl SetCodec for Scsi {
    fn opcodes(&self, _: &DeviceInfo) -> &'static str {
        "28h, 2Ah, 35h, 42h"
    }

    fn bytes_in(&self, op: &Op, _: &DeviceInfo) -> Result<u32, EncodeError> {
        match *op {
            Op::Read { len, .. } | Op::MappedRead { len, .. } => block_bytes(len),
            _ => Ok(0),
        }
    }

    fn out(&self, op: &Op, data: &DataOut) -> Result<Payload, EncodeError> {
        let refuse = |allowed| Err(EncodeError::Data { op: op.name(), allowed });
        match (op, data) {
            (Op::Write { len: len @ 1.., .. }, DataOut::Stamp(stamp)) => {
                block_bytes(*len)?;
                Ok(Payload { bytes: stamp.to_be_bytes().to_vec(), stand_in: true })
            }
            (Op::Write { len: 0, .. }, DataOut::None) => Ok(Payload::exact(Vec::new())),
            (Op::Write { .. }, _) => refuse("a stamp, or nothing when it writes no block"),
            (Op::Unmap { lpa, len }, DataOut::None) => Ok(Payload::exact(unmap_list(*lpa, *len).to_vec())),
            (_, DataOut::None) => Ok(Payload::exact(Vec::new())),
            _ => refuse("no data"),
        }
    }

    fn cdb(&self, op: &Op, _: &DataOut, _: u32, _: &DeviceInfo) -> Result<[u8; 16], EncodeError> {
        Ok(match *op {
            Op::Write { lpa, len, fua } => blocks(WRITE_10, if fua { FUA } else { 0 }, lpa, len),
            Op::Flush => blocks(SYNCHRONIZE_CACHE_10, 0, Lpa(0), 0),
            Op::Unmap { .. } => blocks(UNMAP, 0, Lpa(0), UNMAP_LIST_BYTES),
            Op::Read { lpa, len } | Op::MappedRead { lpa, len, .. } => blocks(READ_10, 0, lpa, len),
            _ => unreachable!("a command of another set"),
        })
    }

    /// A read gives [`Op::Read`]; the extension makes it a mapped read. The operand of UNMAP is in its data.
    fn decode_cdb(&self, cdb: Reader<'_>, _: &DeviceInfo) -> Result<Option<(Op, u32)>, DecodeError> {
        let opcode = cdb.u8(0, "operation code")?;
        if ![READ_10, WRITE_10, SYNCHRONIZE_CACHE_10, UNMAP].contains(&opcode) {
            return Ok(None);
        }
        let flags = cdb.u8(1, "CDB flags")?;
        let lpa = Lpa(cdb.u32(2, "LBA")?);
        let len = u32::from(cdb.u16(7, "transfer length")?);
        let known = match opcode {
            READ_10 | WRITE_10 => READ_HINTS,
            _ => 0,
        };
        cdb.exactly(1, "CDB flags without DPO and FUA", u64::from(flags & !known), 0)?;
        cdb.zeroes(9, 16)?;
        Ok(Some(match opcode {
            READ_10 => (Op::Read { lpa, len }, len * UNIT_BYTES as u32),
            WRITE_10 => (Op::Write { lpa, len, fua: flags & FUA != 0 }, len * UNIT_BYTES as u32),
            SYNCHRONIZE_CACHE_10 => (Op::Flush, 0),
            _ => {
                cdb.zeroes(2, 6)?;
                cdb.exactly(7, "UNMAP parameter list length", u64::from(len), u64::from(UNMAP_LIST_BYTES))?;
                (Op::Unmap { lpa: Lpa(0), len: 0 }, UNMAP_LIST_BYTES)
            }
        }))
    }

    fn decode_out(
        &self,
        op: Op,
        _: Reader<'_>,
        payload: &Payload,
        expected: usize,
    ) -> Result<(Op, DataOut), DecodeError> {
        match op {
            Op::Write { len: 1.., .. } => Ok((op, DataOut::Stamp(payload.expect(STAMP_BYTES, true)?.u32(0, "stamp")?))),
            Op::Unmap { .. } => Ok((decode_unmap_list(payload.expect(expected, false)?)?, DataOut::None)),
            _ => payload.expect(0, false).map(|_| (op, DataOut::None)),
        }
    }

    fn data_in(&self, op: &Op, data: &DataIn, _: &DeviceInfo) -> Result<Option<Payload>, EncodeError> {
        match op {
            Op::Read { .. } | Op::MappedRead { .. } => blocks_in(data),
            _ => Ok(None),
        }
    }

    fn decode_in(
        &self,
        op: &Op,
        payload: &Payload,
        _: bool,
        _: &DeviceInfo,
        _: Seq,
    ) -> Result<Option<DataIn>, DecodeError> {
        match op {
            Op::Read { .. } | Op::MappedRead { .. } => decode_blocks_in(payload).map(Some),
            _ => Ok(None),
        }
    }
}

pub(super) fn block_bytes(len: u32) -> Result<u32, EncodeError> {
    EncodeError::limit("transfer length", u64::from(len), u64::from(MAX_BLOCKS_10))?;
    Ok(len * UNIT_BYTES as u32)
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

/// The parameter list of an UNMAP.
fn unmap_list(lpa: Lpa, len: u32) -> [u8; UNMAP_LIST_BYTES as usize] {
    let mut list = [0; UNMAP_LIST_BYTES as usize];
    list[1] = 22;
    list[3] = 16;
    list[12..16].copy_from_slice(&lpa.0.to_be_bytes());
    list[16..20].copy_from_slice(&len.to_be_bytes());
    list
}

fn decode_unmap_list(list: Reader<'_>) -> Result<Op, DecodeError> {
    list.exactly(0, "UNMAP data length", u64::from(list.u16(0, "UNMAP data length")?), 22)?;
    let descriptors = list.u16(2, "UNMAP block descriptor length")?;
    list.exactly(2, "UNMAP block descriptor length", u64::from(descriptors), 16)?;
    list.zeroes(4, 8)?;
    let lba = list.u64(8, "UNMAP LBA")?;
    list.range(8, "UNMAP LBA", lba, 0..=u64::from(u32::MAX))?;
    list.zeroes(20, 24)?;
    Ok(Op::Unmap { lpa: Lpa(lba as u32), len: list.u32(16, "UNMAP blocks")? })
}
