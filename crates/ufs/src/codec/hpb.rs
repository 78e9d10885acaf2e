//! HPB: two commands and a notice.
//!
//! Big-endian. Layouts of the CDBs and of the notice's frame: HPB 2.0 (JESD220-3A) as the Linux 6.1 driver `ufshpb`
//! sends and reads them; the meaning of the flag: HPB 2017 Sec. 3.1.
//!
//! # HPB READ, F8h, 16 bytes
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | F8h |
//! | 1 | 1 | as in READ(10): bit 4 DPO and bit 3 FUA are ignored, the others 0 |
//! | 2 | 4 | LBA of the first block |
//! | 6 | 8 | sealed entry of the first block, byte for byte as the device published it |
//! | 14 | 1 | blocks, hence at most 255 |
//! | 15 | 1 | 0 |
//!
//! # HPB READ BUFFER, F9h, 10 bytes
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | F9h |
//! | 1 | 1 | 01h, the buffer that holds the L2P entries |
//! | 2 | 2 | region = group (hence at most 65536 groups) |
//! | 4 | 2 | subregion = 0: a group is a region of one subregion |
//! | 6 | 3 | allocation length = entries of the group x 8; the last group can be smaller than the others |
//! | 9 | 1 | control, 0 |
//! | 10 | 6 | 0 |
//!
//! Its DATA IN is one big-endian 8-byte sealed entry per block of the group.
//!
//! # Notice in the data segment of a response, 20 bytes
//! The frame is that of an HPB 2.0 recommendation. A dirty group reads exactly as the recommendation to activate the
//! region again, which is what the host of the 2017 paper does too: it reads the group's entries before it uses any.
//! Bit 1 of the device information (HPB_UPDATE_ALERT) says that there is a notice. Bit 2, reserved by JESD220, is the
//! flag of the 2017 paper: clear, the notice is a dirty group; set, it is the new entry of a page.
//!
//! | offset | size | dirty group | new entry |
//! |---|---|---|---|
//! | 0 | 2 | 0012h: length of what follows | same |
//! | 2 | 1 | 80h: descriptor type | same |
//! | 3 | 1 | 10h: additional length | same |
//! | 4 | 1 | 01h: update of regions | F0h: this model's own |
//! | 5 | 1 | LUN, 0 | LUN, 0 |
//! | 6 | 1 | 1: regions to activate | 0 |
//! | 7 | 1 | 0: regions to inactivate | 0 |
//! | 8 | 2 | region = group | LPA (4 bytes) |
//! | 10 | 2 | subregion, 0 | |
//! | 12 | 8 | 0 | sealed entry |

use units::Lpa;

use super::bytes::Reader;
use super::error::{Allowed, DecodeError, EncodeError};
use crate::command::Op;
use crate::response::HpbNotice;

/// Operation code of HPB READ.
pub const HPB_READ: u8 = 0xF8;

/// Operation code of HPB READ BUFFER.
pub const HPB_READ_BUFFER: u8 = 0xF9;

/// Bytes of a sealed entry.
pub const SEALED_ENTRY_BYTES: u32 = 8;

/// Bytes of an HPB notice in the data segment of a response.
pub const HPB_NOTICE_BYTES: usize = 20;

/// Device information, HPB 2.0: the data segment holds a notice.
pub(super) const UPDATE_ALERT: u8 = 0x02;

/// Device information, HPB 2017 Sec. 3.1: the notice is an entry, not a dirty group.
pub(super) const ENTRY_FLAG: u8 = 0x04;

const FRAME: [u8; 4] = [0x00, 0x12, 0x80, 0x10];
const REGION_UPDATE: u8 = 0x01;
const NEW_ENTRY: u8 = 0xF0;

pub(super) fn read(lpa: Lpa, len: u32, entry: u64) -> Result<[u8; 16], EncodeError> {
    EncodeError::limit("HPB READ transfer length", u64::from(len), 255)?;
    let mut cdb = [0; 16];
    cdb[0] = HPB_READ;
    cdb[2..6].copy_from_slice(&lpa.0.to_be_bytes());
    cdb[6..14].copy_from_slice(&entry.to_be_bytes());
    cdb[14] = len as u8;
    Ok(cdb)
}

pub(super) fn decode_read(cdb: Reader<'_>) -> Result<Op, DecodeError> {
    let flags = cdb.u8(1, "HPB READ flags")?;
    cdb.exactly(1, "HPB READ flags", u64::from(flags & !super::cdb::READ_HINTS), 0)?;
    cdb.zeroes(15, 16)?;
    Ok(Op::HpbRead {
        lpa: Lpa(cdb.u32(2, "HPB READ LBA")?),
        len: u32::from(cdb.u8(14, "HPB READ transfer length")?),
        entry: cdb.u64(6, "HPB READ entry")?,
    })
}

pub(super) fn read_buffer(group: u32, bytes: u32) -> Result<[u8; 16], EncodeError> {
    EncodeError::limit("HPB READ BUFFER region", u64::from(group), 0xFFFF)?;
    EncodeError::limit("HPB READ BUFFER allocation length", u64::from(bytes), 0xFF_FFFF)?;
    let mut cdb = [0; 16];
    cdb[0] = HPB_READ_BUFFER;
    cdb[1] = 0x01;
    cdb[2..4].copy_from_slice(&(group as u16).to_be_bytes());
    cdb[6..9].copy_from_slice(&bytes.to_be_bytes()[1..]);
    Ok(cdb)
}

/// The operation and its allocation length.
pub(super) fn decode_read_buffer(cdb: Reader<'_>) -> Result<(Op, u32), DecodeError> {
    cdb.exactly(1, "HPB READ BUFFER id", u64::from(cdb.u8(1, "HPB READ BUFFER id")?), 1)?;
    let subregion = cdb.u16(4, "HPB READ BUFFER subregion")?;
    cdb.exactly(4, "HPB READ BUFFER subregion", u64::from(subregion), 0)?;
    let bytes = cdb.u24(6, "HPB READ BUFFER allocation length")?;
    if !bytes.is_multiple_of(SEALED_ENTRY_BYTES) {
        let rule = Allowed::Rule("a multiple of 8");
        return Err(cdb.fault(6, "HPB READ BUFFER allocation length", u64::from(bytes), rule));
    }
    cdb.zeroes(9, 16)?;
    let group = u32::from(cdb.u16(2, "HPB READ BUFFER region")?);
    Ok((Op::HpbReadBuffer { group }, bytes))
}

/// The notice and the bits it sets in the device information.
pub(super) fn notice(notice: &HpbNotice) -> Result<Option<(u8, [u8; HPB_NOTICE_BYTES])>, EncodeError> {
    let mut bytes = [0; HPB_NOTICE_BYTES];
    bytes[..4].copy_from_slice(&FRAME);
    match *notice {
        HpbNotice::None => Ok(None),
        HpbNotice::DirtyGroup(group) => {
            EncodeError::limit("HPB notice group", u64::from(group), 0xFFFF)?;
            bytes[4] = REGION_UPDATE;
            bytes[6] = 1;
            bytes[8..10].copy_from_slice(&(group as u16).to_be_bytes());
            Ok(Some((UPDATE_ALERT, bytes)))
        }
        HpbNotice::Entry { lpa, entry } => {
            bytes[4] = NEW_ENTRY;
            bytes[8..12].copy_from_slice(&lpa.0.to_be_bytes());
            bytes[12..20].copy_from_slice(&entry.to_be_bytes());
            Ok(Some((UPDATE_ALERT | ENTRY_FLAG, bytes)))
        }
    }
}

/// Reads the notice; `is_entry` is the flag of the device information.
pub(super) fn decode_notice(field: Reader<'_>, is_entry: bool) -> Result<HpbNotice, DecodeError> {
    let frame = field.u32(0, "HPB notice frame")?;
    field.exactly(0, "HPB notice frame", u64::from(frame), u64::from(u32::from_be_bytes(FRAME)))?;
    let (operation, active) = if is_entry { (NEW_ENTRY, 0) } else { (REGION_UPDATE, 1) };
    let found = field.u8(4, "HPB notice operation")?;
    field.exactly(4, "HPB notice operation", u64::from(found), u64::from(operation))?;
    field.exactly(5, "HPB notice LUN", u64::from(field.u8(5, "HPB notice LUN")?), 0)?;
    let count = field.u8(6, "HPB notice active count")?;
    field.exactly(6, "HPB notice active count", u64::from(count), active)?;
    field.zeroes(7, 8)?;
    if is_entry {
        let lpa = Lpa(field.u32(8, "HPB notice LPA")?);
        return Ok(HpbNotice::Entry { lpa, entry: field.u64(12, "HPB notice entry")? });
    }
    field.zeroes(10, HPB_NOTICE_BYTES)?;
    Ok(HpbNotice::DirtyGroup(u32::from(field.u16(8, "HPB notice group")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hpb_read_has_the_bytes_of_the_standard() {
        let cdb = read(Lpa(0x0102_0304), 9, 0xA1A2_A3A4_A5A6_A7A8).unwrap();
        let golden = [0xF8, 0, 0x01, 0x02, 0x03, 0x04, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0x09, 0];
        assert_eq!(cdb, golden);
    }

    #[test]
    fn hpb_read_buffer_has_the_bytes_of_the_standard() {
        let cdb = read_buffer(0x0203, 4096 * 8).unwrap();
        assert_eq!(cdb, [0xF9, 0x01, 0x02, 0x03, 0, 0, 0x00, 0x80, 0x00, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_dirty_group_reads_as_an_hpb_2_recommendation() {
        let (flags, bytes) = notice(&HpbNotice::DirtyGroup(0x0203)).unwrap().unwrap();
        assert_eq!(flags, 0x02);
        let golden = [0, 0x12, 0x80, 0x10, 1, 0, 1, 0, 0x02, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes, golden);
    }

    #[test]
    fn lengths_and_groups_beyond_their_fields_are_refused() {
        let range = |max| Allowed::Range { min: 0, max };
        assert_eq!(
            read(Lpa(0), 256, 0),
            Err(EncodeError::Value { field: "HPB READ transfer length", value: 256, allowed: range(255) })
        );
        assert_eq!(
            read_buffer(65536, 8),
            Err(EncodeError::Value { field: "HPB READ BUFFER region", value: 65536, allowed: range(65535) })
        );
        assert!(notice(&HpbNotice::DirtyGroup(65536)).is_err());
    }
}
