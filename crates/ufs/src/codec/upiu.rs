//! UPIUs: COMMAND, DATA OUT, DATA IN and RESPONSE.
//!
//! Big-endian; JESD220 clause 10.6.2 (basic header, bytes 0-11) and the clauses named below. There is one logical unit,
//! LUN 0, unless a host controller puts others in ([`Luns`]), and one initiator, IID 0. Reserved bytes are written as 0
//! and must be 0.
//!
//! # COMMAND (10.7.1), 32 bytes, then 8 of [`CommandExtension`] if the command set type says so
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | 01h |
//! | 1 | 1 | flags: bit 6 R (data to host), bit 5 W (data to device), bit 2 CP (ignored), bits 1-0 task attribute |
//! | 2 | 1 | LUN, 0 |
//! | 3 | 1 | task tag |
//! | 4 | 1 | bits 7-4 IID, 0; bits 3-0 command set type: 0h SCSI, 8h and 9h SCSI with the extension of HP-UFS |
//! | 5 | 3 | 0 |
//! | 8 | 1 | total EHS length, 0 |
//! | 9 | 1 | 0 |
//! | 10 | 2 | data segment length, 0 |
//! | 12 | 4 | expected data transfer length in bytes; without R and W it means nothing |
//! | 16 | 16 | CDB, filled up with 0 |
//! | 32 | 8 | extension, see [`super::hpufs`] |
//!
//! CP is the command priority. The task attribute is 0, simple.
//!
//! # DATA OUT (10.7.3) and DATA IN (10.7.4), 32 bytes and a data segment
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | 02h out, 22h in |
//! | 1 | 1 | flags: 0, or 01h for a stand-in, see [`super::data`] |
//! | 2 | 1 | LUN, 0 |
//! | 3 | 1 | task tag of the command |
//! | 4 | 6 | 0 |
//! | 10 | 2 | data segment length, 4 to [`MAX_DATA_SEGMENT`] |
//! | 12 | 4 | data buffer offset: bytes sent before this UPIU; data goes in order |
//! | 16 | 4 | data transfer count = data segment length |
//! | 20 | 12 | 0 |
//! | 32 | n | data segment, a multiple of 4 bytes |
//!
//! # RESPONSE (10.7.2), 32 bytes and a data segment
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | 21h |
//! | 1 | 1 | flags: bit 5 U, set when the residual is not 0 |
//! | 2 | 1 | LUN, 0 |
//! | 3 | 1 | task tag of the command |
//! | 4 | 2 | 0: IID and SCSI; reserved |
//! | 6 | 1 | response, 0 = target success |
//! | 7 | 1 | status: 00h GOOD, 02h CHECK CONDITION |
//! | 8 | 1 | total EHS length, 0 |
//! | 9 | 1 | device information: bits 1 and 2 see [`super::hpb`], others 0 |
//! | 10 | 2 | data segment length: 20 for sense data, 20 for an HPB notice |
//! | 12 | 4 | residual transfer count: expected minus sent bytes of DATA IN; 0 for a command that sends data |
//! | 16 | 16 | piggyback, see [`super::hpufs`] (reserved by JESD220) |
//! | 32 | 20 | sense data, if CHECK CONDITION |
//! | 32 or 52 | 20 | HPB notice, if the device information says so |
//!
//! Sense data is 0012h, its length, and 18 bytes in fixed format (SPC-4 clause 4.5.3): 70h at 0, sense key at 2, 0Ah
//! (additional length) at 7, ASC at 12, ASCQ at 13; other bytes 0 and ignored. Keys and codes are those that [`Status`]
//! names.

use units::Seq;

use super::bytes::Reader;
use super::data::{Payload, STAND_IN};
use super::error::{Allowed, DecodeError, EncodeError};
use super::hpb::HPB_NOTICE_BYTES;
use super::hpufs::{COMMAND_EXTENSION_BYTES, CommandExtension, ExtensionAddress, PIGGYBACK_BYTES};
use super::{Luns, hpb, hpufs};
use crate::command::Tag;
use crate::info::DeviceInfo;
use crate::response::{HpbNotice, PiggyBack, Status};

/// Bytes of every UPIU before extension and data segment.
pub const UPIU_BYTES: usize = 32;

/// Bytes of sense data in the data segment of a response: 2 of length and 18 of fixed-format sense.
pub const SENSE_BYTES: usize = 20;

/// Most bytes in the segment of one DATA UPIU. A device states its own in bMaxDataInSize and bMaxDataOutSize
/// (attributes 07h and 08h, JESD220 clause 14.3, units of 512 bytes); the 16-bit length field ends below 64 KiB. This
/// is 40h units, the largest power of two that fits.
pub const MAX_DATA_SEGMENT: u32 = 32 * 1024;

/// Transaction code of a COMMAND UPIU (10.6.2).
pub const COMMAND: u8 = 0x01;
pub(super) const DATA_OUT: u8 = 0x02;
pub(super) const RESPONSE: u8 = 0x21;
pub(super) const DATA_IN: u8 = 0x22;

const FLAG_R: u8 = 0x40;
const FLAG_W: u8 = 0x20;
const FLAG_CP: u8 = 0x04;
const FLAG_UNDERFLOW: u8 = 0x20;
const SET_SCSI: u8 = 0x0;
const SET_FREED: u8 = 0x8;
const SET_MAPPED: u8 = 0x9;
const GOOD: u8 = 0x00;
const CHECK_CONDITION: u8 = 0x02;
const BUSY: u8 = 0x08;

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

/// A COMMAND UPIU with its extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandUpiu {
    /// Task tag.
    pub tag: Tag,
    /// R and W flags.
    pub direction: Direction,
    /// Expected data transfer length in bytes; 0 without direction.
    pub expected_bytes: u32,
    /// Command descriptor block.
    pub cdb: [u8; 16],
    /// The eight extra bytes of HP-UFS.
    pub extension: Option<CommandExtension>,
}

impl CommandUpiu {
    /// Appends the 32 bytes, or 40 with extension.
    ///
    /// # Errors
    /// The extension's address has no packed form; `out` is unchanged.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let extension = self.extension.map(|extension| extension.encode()).transpose()?;
        let mut bytes = [0; UPIU_BYTES];
        bytes[0] = COMMAND;
        bytes[1] = match self.direction {
            Direction::None => 0,
            Direction::In => FLAG_R,
            Direction::Out => FLAG_W,
        };
        bytes[3] = self.tag.0;
        bytes[4] = match self.extension.map(|extension| extension.address) {
            None => SET_SCSI,
            Some(ExtensionAddress::Freed(_)) => SET_FREED,
            Some(ExtensionAddress::Mapped(_)) => SET_MAPPED,
        };
        bytes[12..16].copy_from_slice(&self.expected_bytes.to_be_bytes());
        bytes[16..].copy_from_slice(&self.cdb);
        out.extend_from_slice(&bytes);
        out.extend_from_slice(extension.as_ref().map_or(&[], |bytes| bytes.as_slice()));
        Ok(())
    }

    /// Decodes a COMMAND UPIU at the start of `bytes`. Also gives its number of bytes.
    ///
    /// # Errors
    /// The first field that no command of this model has.
    pub fn decode(bytes: &[u8]) -> Result<(CommandUpiu, usize), DecodeError> {
        let upiu = Reader::message(bytes);
        let tag = decode_header(upiu, COMMAND)?;
        let flags = upiu.u8(1, "flags")?;
        let direction = match flags & !FLAG_CP {
            0 => Direction::None,
            FLAG_R => Direction::In,
            FLAG_W => Direction::Out,
            _ => {
                let rule = Allowed::Rule("00h, 20h (W) or 40h (R), with or without 04h (CP)");
                return Err(upiu.fault(1, "flags", u64::from(flags), rule));
            }
        };
        let set = upiu.u8(4, "command set type")?;
        upiu.zeroes(5, 12)?;
        let expected_bytes = upiu.u32(12, "expected data transfer length")?;
        let mut cdb = [0; 16];
        cdb.copy_from_slice(upiu.slice(16, 16, "CDB")?);
        let (extension, len) = match set {
            SET_SCSI => (None, UPIU_BYTES),
            SET_FREED | SET_MAPPED => {
                let extension = CommandExtension::decode(upiu.tail(UPIU_BYTES), set == SET_MAPPED)?;
                (Some(extension), UPIU_BYTES + COMMAND_EXTENSION_BYTES)
            }
            _ => {
                let rule = Allowed::Rule("0h (SCSI), 8h or 9h (HP-UFS), with IID 0");
                return Err(upiu.fault(4, "command set type", u64::from(set), rule));
            }
        };
        let expected_bytes = if direction == Direction::None { 0 } else { expected_bytes };
        Ok((CommandUpiu { tag, direction, expected_bytes, cdb, extension }, len))
    }
}

/// Checks transaction type and LUN. Gives the tag.
fn decode_header(upiu: Reader<'_>, kind: u8) -> Result<Tag, DecodeError> {
    upiu.exactly(0, "transaction type", u64::from(upiu.u8(0, "transaction type")?), u64::from(kind))?;
    upiu.exactly(2, "LUN", u64::from(upiu.u8(2, "LUN")?), 0)?;
    Ok(Tag(upiu.u8(3, "task tag")?))
}

/// Appends DATA UPIUs of type `kind` for a payload; none if it is empty.
pub(super) fn push_data(out: &mut Vec<u8>, kind: u8, tag: Tag, payload: &Payload) {
    for (i, segment) in payload.bytes.chunks(MAX_DATA_SEGMENT as usize).enumerate() {
        let mut header = [0; UPIU_BYTES];
        header[0] = kind;
        header[1] = if payload.stand_in { STAND_IN } else { 0 };
        header[3] = tag.0;
        header[10..12].copy_from_slice(&(segment.len() as u16).to_be_bytes());
        header[12..16].copy_from_slice(&(i as u32 * MAX_DATA_SEGMENT).to_be_bytes());
        header[16..20].copy_from_slice(&(segment.len() as u32).to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(segment);
    }
}

/// Decodes DATA UPIUs of type `kind` from `at` on, as long as there are any. Gives the tag of the first, the payload,
/// and its end.
pub(super) fn take_data(
    message: Reader<'_>,
    mut at: usize,
    kind: u8,
) -> Result<(Option<Tag>, Payload, usize), DecodeError> {
    let mut tag = None;
    let mut payload = Payload { bytes: Vec::new(), stand_in: false };
    while at < message.len() && message.u8(at, "transaction type")? == kind {
        let upiu = message.tail(at);
        let found = decode_header(upiu, kind)?;
        let flags = upiu.u8(1, "flags")?;
        upiu.range(1, "flags", u64::from(flags), 0..=u64::from(STAND_IN))?;
        match tag {
            None => {
                tag = Some(found);
                payload.stand_in = flags == STAND_IN;
            }
            Some(tag) => {
                upiu.exactly(3, "task tag", u64::from(found.0), u64::from(tag.0))?;
                upiu.exactly(1, "flags", u64::from(flags), u64::from(payload.stand_in))?;
            }
        }
        upiu.zeroes(4, 10)?;
        let len = upiu.u16(10, "data segment length")?;
        upiu.range(10, "data segment length", u64::from(len), 1..=u64::from(MAX_DATA_SEGMENT))?;
        let offset = upiu.u32(12, "data buffer offset")?;
        upiu.exactly(12, "data buffer offset", u64::from(offset), payload.bytes.len() as u64)?;
        let count = upiu.u32(16, "data transfer count")?;
        upiu.exactly(16, "data transfer count", u64::from(count), u64::from(len))?;
        upiu.zeroes(20, UPIU_BYTES)?;
        payload.bytes.extend_from_slice(upiu.slice(UPIU_BYTES, usize::from(len), "data segment")?);
        at += UPIU_BYTES + usize::from(len);
    }
    Ok((tag, payload, at))
}

/// A RESPONSE UPIU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResponseUpiu {
    /// Task tag.
    pub tag: Tag,
    /// SCSI status and sense.
    pub status: Status,
    /// Bytes of DATA IN that the command expected and did not get.
    pub residual: u32,
    /// HPB notice.
    pub hpb: HpbNotice,
    /// HP-UFS piggyback.
    pub piggyback: PiggyBack,
}

/// Sense key and additional sense code; `None` for GOOD. The code qualifier is 0 for all.
fn sense(status: Status) -> Option<(u8, u8)> {
    match status {
        Status::Good => None,
        Status::OutOfRange => Some((0x05, 0x21)),
        Status::InvalidField => Some((0x05, 0x24)),
        Status::UnrecoveredRead => Some((0x03, 0x11)),
        Status::WriteProtected => Some((0x07, 0x27)),
    }
}

fn sense_bytes(key: u8, asc: u8) -> [u8; SENSE_BYTES] {
    let mut data = [0; SENSE_BYTES];
    (data[1], data[2], data[4], data[9], data[14]) = (SENSE_BYTES as u8 - 2, 0x70, key, 0x0A, asc);
    data
}

/// A RESPONSE UPIU of any logical unit to a command that this model's device does not pass on: 32 bytes and sense data.
/// `residual` counts the bytes of data that were expected and not sent; `sense` are sense key and additional sense code
/// of a CHECK CONDITION.
pub fn plain_response(lun: u8, tag: Tag, residual: u32, sense: Option<(u8, u8)>) -> Vec<u8> {
    let mut bytes = vec![0; UPIU_BYTES];
    (bytes[0], bytes[2], bytes[3]) = (RESPONSE, lun, tag.0);
    bytes[1] = if residual > 0 { FLAG_UNDERFLOW } else { 0 };
    bytes[12..16].copy_from_slice(&residual.to_be_bytes());
    if let Some((key, asc)) = sense {
        (bytes[7], bytes[11]) = (CHECK_CONDITION, SENSE_BYTES as u8);
        bytes.extend_from_slice(&sense_bytes(key, asc));
    }
    bytes
}

/// Puts the units of a response into its bytes, in which they are 0.
pub(super) fn name_units(response: &mut [u8], luns: Luns) {
    response[2] = luns.command;
    if response[9] & hpb::UPDATE_ALERT != 0 {
        let notice = response.len() - HPB_NOTICE_BYTES;
        response[notice + hpb::NOTICE_LUN] = luns.notice;
    }
}

/// A RESPONSE UPIU with status BUSY: nothing has been done, and the host is to ask again later (SAM-5 clause 5.3.1).
pub fn busy(lun: u8, tag: Tag) -> Vec<u8> {
    let mut bytes = plain_response(lun, tag, 0, None);
    bytes[7] = BUSY;
    bytes
}

fn decode_sense(sense: Reader<'_>) -> Result<Status, DecodeError> {
    let len = sense.u16(0, "sense data length")?;
    sense.exactly(0, "sense data length", u64::from(len), SENSE_BYTES as u64 - 2)?;
    sense.exactly(2, "sense response code", u64::from(sense.u8(2, "sense response code")?), 0x70)?;
    sense.exactly(9, "additional sense length", u64::from(sense.u8(9, "additional sense length")?), 0x0A)?;
    let codes = [sense.u8(4, "sense key")?, sense.u8(14, "ASC")?, sense.u8(15, "ASCQ")?];
    match codes {
        [0x05, 0x21, 0] => Ok(Status::OutOfRange),
        [0x05, 0x24, 0] => Ok(Status::InvalidField),
        [0x03, 0x11, 0] => Ok(Status::UnrecoveredRead),
        [0x07, 0x27, 0] => Ok(Status::WriteProtected),
        [key, asc, ascq] => {
            let value = u64::from(u32::from_be_bytes([0, key, asc, ascq]));
            let rule = Allowed::Rule("052100h, 052400h, 031100h, 072700h");
            Err(sense.fault(4, "sense key, ASC and ASCQ", value, rule))
        }
    }
}

impl ResponseUpiu {
    /// Appends 32 bytes and the data segment.
    ///
    /// # Errors
    /// Piggyback or notice do not fit their fields; `out` is unchanged.
    pub fn encode(&self, info: &DeviceInfo, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let piggyback: [u8; PIGGYBACK_BYTES] = hpufs::piggyback(&self.piggyback)?;
        let notice = hpb::notice(&self.hpb, info)?;
        let mut bytes = [0; UPIU_BYTES];
        bytes[0] = RESPONSE;
        bytes[1] = if self.residual > 0 { FLAG_UNDERFLOW } else { 0 };
        bytes[3] = self.tag.0;
        bytes[12..16].copy_from_slice(&self.residual.to_be_bytes());
        bytes[16..].copy_from_slice(&piggyback);
        let mut segment = Vec::new();
        if let Some((key, asc)) = sense(self.status) {
            bytes[7] = CHECK_CONDITION;
            segment.extend_from_slice(&sense_bytes(key, asc));
        }
        if let Some((flags, notice)) = notice {
            bytes[9] = flags;
            segment.extend_from_slice(&notice);
        }
        bytes[11] = segment.len() as u8;
        out.extend_from_slice(&bytes);
        out.extend_from_slice(&segment);
        Ok(())
    }

    /// Decodes a RESPONSE UPIU that fills `bytes`. `near` is a sequence number within 2^31 of those in it.
    ///
    /// # Errors
    /// The first field that no response of this model has.
    pub fn decode(bytes: &[u8], info: &DeviceInfo, near: Seq) -> Result<ResponseUpiu, DecodeError> {
        ResponseUpiu::read(Reader::message(bytes), info, near)
    }

    pub(super) fn read(upiu: Reader<'_>, info: &DeviceInfo, near: Seq) -> Result<ResponseUpiu, DecodeError> {
        let tag = decode_header(upiu, RESPONSE)?;
        upiu.zeroes(4, 7)?;
        let residual = upiu.u32(12, "residual transfer count")?;
        let flags = if residual > 0 { FLAG_UNDERFLOW } else { 0 };
        upiu.exactly(1, "flags", u64::from(upiu.u8(1, "flags")?), u64::from(flags))?;
        let raw_status = upiu.u8(7, "status")?;
        if ![GOOD, CHECK_CONDITION].contains(&raw_status) {
            return Err(upiu.fault(7, "status", u64::from(raw_status), Allowed::Rule("00h, 02h")));
        }
        upiu.zeroes(8, 9)?;
        let information = upiu.u8(9, "device information")?;
        let (alert, is_entry) = match information {
            0 => (false, false),
            hpb::UPDATE_ALERT => (true, false),
            flags if flags == hpb::UPDATE_ALERT | hpb::ENTRY_FLAG => (true, true),
            _ => {
                let rule = Allowed::Rule("00h, 02h, 06h");
                return Err(upiu.fault(9, "device information", u64::from(information), rule));
            }
        };
        let piggyback = hpufs::decode_piggyback(upiu.tail(16), near)?;
        let sense_bytes = if raw_status == GOOD { 0 } else { SENSE_BYTES };
        let notice_bytes = if alert { hpb::HPB_NOTICE_BYTES } else { 0 };
        let len = upiu.u16(10, "data segment length")?;
        upiu.exactly(10, "data segment length", u64::from(len), (sense_bytes + notice_bytes) as u64)?;
        upiu.exactly(0, "length of the message's last UPIU", upiu.len() as u64, UPIU_BYTES as u64 + u64::from(len))?;
        let status = if raw_status == GOOD { Status::Good } else { decode_sense(upiu.tail(UPIU_BYTES))? };
        let notice = upiu.tail(UPIU_BYTES + sense_bytes);
        let hpb = if alert { hpb::decode_notice(notice, is_entry, info)? } else { HpbNotice::None };
        Ok(ResponseUpiu { tag, status, residual, hpb, piggyback })
    }
}
