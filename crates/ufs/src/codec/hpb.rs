//! HPB: three commands and a notice.
//!
//! Big-endian. CDBs and the frame of the notice: HPB 2.0 (JESD220-3A) as the Linux 6.1 driver `ufshpb` sends and reads
//! them. Meaning of the flag: HPB 2017 Sec. 3.1.
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
//! # READ(16) of the 2017 paper, 88h, 16 bytes
//! Where entries are plain, in place of HPB READ. The address field of 8 bytes holds both (HPB 2017 Sec. 3.1, Fig. 5).
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | 88h |
//! | 1 | 1 | bit 4 DPO and bit 3 FUA are ignored, the others 0 |
//! | 2 | 4 | LBA of the first block |
//! | 6 | 4 | plain entry of the first block: packed PPA (0 = unmapped, else PPA + 1) |
//! | 10 | 4 | blocks, here at most 65535 |
//! | 14 | 1 | group number, ignored |
//! | 15 | 1 | 0 |
//!
//! # HPB READ BUFFER, F9h, 10 bytes
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | F9h |
//! | 1 | 1 | 01h, the buffer that holds the L2P entries |
//! | 2 | 2 | region: group / subregions of a region |
//! | 4 | 2 | subregion within the region: group % subregions of a region; 0 where a group is a region |
//! | 6 | 3 | allocation length = entries of the group x 8, or x 4 where they are plain; the last group can be smaller |
//! | 9 | 1 | control, 0 |
//! | 10 | 6 | 0 |
//!
//! Its DATA IN is one big-endian entry per block of the group, 8 bytes if sealed, 4 if plain.
//!
//! # HPB WRITE BUFFER, FAh, 10 bytes, no data
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 1 | FAh |
//! | 1 | 1 | 01h: inactivate a region |
//! | 2 | 2 | region |
//! | 4 | 12 | 0 |
//!
//! # Notice in the data segment of a response, 20 bytes
//! The frame is that of an HPB 2.0 recommendation. A dirty group is encoded as the recommendation to activate the
//! region again. The host of the 2017 paper does the same: it reads the group's entries before it uses any. Bit 1 of
//! the device information (HPB_UPDATE_ALERT) says that there is a notice. Bit 2, reserved by JESD220, is the flag of
//! the 2017 paper: if it is 0, the notice is a dirty group; if it is 1, it is the new entry of a page.
//!
//! | offset | size | dirty group, recommendation | new entry |
//! |---|---|---|---|
//! | 0 | 2 | 0012h: length of what follows | same |
//! | 2 | 1 | 80h: descriptor type | same |
//! | 3 | 1 | 10h: additional length | same |
//! | 4 | 1 | 01h: update of regions | F0h: this model's own |
//! | 5 | 1 | LUN of the unit that it is about, 0 where there is one | same |
//! | 6 | 1 | subregions to activate, 0 to 2 | 0 |
//! | 7 | 1 | regions to inactivate, 0 to 2 | 0 |
//! | 8 | 4 | first to activate: region (2), subregion (2) | LPA (4 bytes) |
//! | 12 | 4 | second to activate | sealed entry, 8 bytes; or plain one, 4 bytes, |
//! | 16 | 4 | first and second region to inactivate | and 0 |
//!
//! The frame has one size, so a plain entry makes it no shorter.
//! One subregion to activate and nothing else is a dirty group. Fields beyond the counts are 0.

use units::{Lpa, Seq, UNIT_BYTES};

use super::bytes::Reader;
use super::data::{Payload, blocks_in, decode_blocks_in};
use super::error::{Allowed, DecodeError, EncodeError};
use super::scsi::block_bytes;
use super::set::SetCodec;
use crate::command::Op;
use crate::data::{DataIn, DataOut};
use crate::info::DeviceInfo;
use crate::response::{HpbNotice, Recommendation};

/// Operation code of HPB READ.
pub const HPB_READ: u8 = 0xF8;

/// Operation code of READ(16), which carries a plain entry.
pub const READ_16: u8 = 0x88;

/// Operation code of HPB READ BUFFER.
pub const HPB_READ_BUFFER: u8 = 0xF9;

/// Operation code of HPB WRITE BUFFER.
pub const HPB_WRITE_BUFFER: u8 = 0xFA;

/// Bytes of an HPB notice in the data segment of a response.
pub const HPB_NOTICE_BYTES: usize = 20;

/// Device information, HPB 2.0: the data segment holds a notice.
pub(super) const UPDATE_ALERT: u8 = 0x02;

/// Where the LUN of a notice stands.
pub(super) const NOTICE_LUN: usize = 5;

/// Device information, HPB 2017 Sec. 3.1: the notice is an entry, not a dirty group.
pub(super) const ENTRY_FLAG: u8 = 0x04;

const FRAME: [u8; 4] = [0x00, 0x12, 0x80, 0x10];
const REGION_UPDATE: u8 = 0x01;
const NEW_ENTRY: u8 = 0xF0;

/// The three commands.
pub(super) struct Hpb;

impl SetCodec for Hpb {
    fn opcodes(&self, info: &DeviceInfo) -> &'static str {
        if info.has_plain_entries() { "88h, F9h, FAh" } else { "F8h-FAh" }
    }

    fn bytes_in(&self, op: &Op, info: &DeviceInfo) -> Result<u32, EncodeError> {
        match *op {
            Op::HpbRead { len, .. } => block_bytes(len),
            Op::HpbReadBuffer { group } => group_bytes(group, info),
            _ => Ok(0),
        }
    }

    fn cdb(&self, op: &Op, _: &DataOut, bytes: u32, info: &DeviceInfo) -> Result<[u8; 16], EncodeError> {
        match *op {
            Op::HpbRead { lpa, len, entry } if info.has_plain_entries() => read_16(lpa, len, entry),
            Op::HpbRead { lpa, len, entry } => read(lpa, len, entry),
            Op::HpbReadBuffer { group } => read_buffer(group, bytes, info),
            Op::HpbInactivate { region } => inactivate(region),
            _ => unreachable!("a command of another set"),
        }
    }

    fn decode_cdb(&self, cdb: Reader<'_>, info: &DeviceInfo) -> Result<Option<(Op, u32)>, DecodeError> {
        let found = match cdb.u8(0, "operation code")? {
            READ_16 if info.has_plain_entries() => {
                let (op, len) = decode_read_16(cdb)?;
                (op, len * UNIT_BYTES as u32)
            }
            HPB_READ if !info.has_plain_entries() => {
                let blocks = u32::from(cdb.u8(14, "HPB READ transfer length")?);
                (decode_read(cdb)?, blocks * UNIT_BYTES as u32)
            }
            HPB_READ_BUFFER => decode_read_buffer(cdb, info)?,
            HPB_WRITE_BUFFER => (decode_inactivate(cdb, info)?, 0),
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    fn data_in(&self, op: &Op, data: &DataIn, info: &DeviceInfo) -> Result<Option<Payload>, EncodeError> {
        let bytes = match (op, data) {
            (Op::HpbRead { .. }, data) => return blocks_in(data),
            (Op::HpbReadBuffer { .. }, DataIn::Sealed(entries)) if !info.has_plain_entries() => {
                entries.iter().flat_map(|entry| entry.to_be_bytes()).collect()
            }
            (Op::HpbReadBuffer { .. }, DataIn::Plain(entries)) if info.has_plain_entries() => {
                entries.iter().flat_map(|entry| entry.to_be_bytes()).collect()
            }
            _ => return Ok(None),
        };
        Ok(Some(Payload::exact(bytes)))
    }

    fn decode_in(
        &self,
        op: &Op,
        payload: &Payload,
        good: bool,
        info: &DeviceInfo,
        _: Seq,
    ) -> Result<Option<DataIn>, DecodeError> {
        match op {
            Op::HpbRead { .. } => decode_blocks_in(payload).map(Some),
            Op::HpbReadBuffer { .. } if good || !payload.bytes.is_empty() => {
                payload.kind(false)?;
                let size = info.hpb_entry_bytes as usize;
                Ok(Some(match info.has_plain_entries() {
                    true => DataIn::Plain(payload.each(size, |entry| entry.u32(0, "plain entry"))?),
                    false => DataIn::Sealed(payload.each(size, |entry| entry.u64(0, "sealed entry"))?),
                }))
            }
            _ => Ok(None),
        }
    }
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

fn read(lpa: Lpa, len: u32, entry: u64) -> Result<[u8; 16], EncodeError> {
    EncodeError::limit("HPB READ transfer length", u64::from(len), 255)?;
    let mut cdb = [0; 16];
    cdb[0] = HPB_READ;
    cdb[2..6].copy_from_slice(&lpa.0.to_be_bytes());
    cdb[6..14].copy_from_slice(&entry.to_be_bytes());
    cdb[14] = len as u8;
    Ok(cdb)
}

fn decode_read(cdb: Reader<'_>) -> Result<Op, DecodeError> {
    let flags = cdb.u8(1, "HPB READ flags")?;
    cdb.exactly(1, "HPB READ flags", u64::from(flags & !super::scsi::READ_HINTS), 0)?;
    cdb.zeroes(15, 16)?;
    Ok(Op::HpbRead {
        lpa: Lpa(cdb.u32(2, "HPB READ LBA")?),
        len: u32::from(cdb.u8(14, "HPB READ transfer length")?),
        entry: cdb.u64(6, "HPB READ entry")?,
    })
}

/// A plain entry, which the rest of the model keeps in 64 bits.
fn plain(entry: u64) -> Result<[u8; 4], EncodeError> {
    EncodeError::limit("plain HPB entry", entry, u32::MAX.into())?;
    Ok((entry as u32).to_be_bytes())
}

fn read_16(lpa: Lpa, len: u32, entry: u64) -> Result<[u8; 16], EncodeError> {
    let mut cdb = [0; 16];
    cdb[0] = READ_16;
    cdb[2..6].copy_from_slice(&lpa.0.to_be_bytes());
    cdb[6..10].copy_from_slice(&plain(entry)?);
    cdb[10..14].copy_from_slice(&len.to_be_bytes());
    Ok(cdb)
}

/// The operation and its number of blocks.
fn decode_read_16(cdb: Reader<'_>) -> Result<(Op, u32), DecodeError> {
    let flags = cdb.u8(1, "READ(16) flags")?;
    cdb.exactly(1, "READ(16) flags", u64::from(flags & !super::scsi::READ_HINTS), 0)?;
    let len = cdb.u32(10, "READ(16) transfer length")?;
    cdb.range(10, "READ(16) transfer length", u64::from(len), 0..=u64::from(super::scsi::MAX_BLOCKS_10))?;
    cdb.zeroes(15, 16)?;
    let entry = u64::from(cdb.u32(6, "READ(16) entry")?);
    Ok((Op::HpbRead { lpa: Lpa(cdb.u32(2, "READ(16) LBA")?), len, entry }, len))
}

/// Region and subregion of a group, as encoded.
fn place(group: u32, info: &DeviceInfo) -> Result<[u8; 4], EncodeError> {
    let (region, subregion) = (group / info.hpb_region_groups, group % info.hpb_region_groups);
    EncodeError::limit("HPB region", u64::from(region), 0xFFFF)?;
    EncodeError::limit("HPB subregion", u64::from(subregion), 0xFFFF)?;
    Ok((region << 16 | subregion).to_be_bytes())
}

/// The group whose region and subregion are at `at`.
fn group_at(field: Reader<'_>, at: usize, info: &DeviceInfo) -> Result<u32, DecodeError> {
    let region = u32::from(field.u16(at, "HPB region")?);
    let subregion = u32::from(field.u16(at + 2, "HPB subregion")?);
    let last = u64::from(info.hpb_region_groups) - 1;
    field.range(at + 2, "HPB subregion", u64::from(subregion), 0..=last)?;
    let group = u64::from(region) * u64::from(info.hpb_region_groups) + u64::from(subregion);
    field.range(at, "HPB group", group, 0..=u64::from(info.hpb_groups().max(1)) - 1)?;
    Ok(group as u32)
}

fn region_at(field: Reader<'_>, at: usize, info: &DeviceInfo) -> Result<u32, DecodeError> {
    let region = field.u16(at, "HPB region")?;
    field.range(at, "HPB region", u64::from(region), 0..=u64::from(info.hpb_regions().max(1)) - 1)?;
    Ok(region.into())
}

fn read_buffer(group: u32, bytes: u32, info: &DeviceInfo) -> Result<[u8; 16], EncodeError> {
    EncodeError::limit("HPB READ BUFFER allocation length", u64::from(bytes), 0xFF_FFFF)?;
    let mut cdb = [0; 16];
    cdb[0] = HPB_READ_BUFFER;
    cdb[1] = 0x01;
    cdb[2..6].copy_from_slice(&place(group, info)?);
    cdb[6..9].copy_from_slice(&bytes.to_be_bytes()[1..]);
    Ok(cdb)
}

/// The operation and its allocation length.
fn decode_read_buffer(cdb: Reader<'_>, info: &DeviceInfo) -> Result<(Op, u32), DecodeError> {
    cdb.exactly(1, "HPB READ BUFFER id", u64::from(cdb.u8(1, "HPB READ BUFFER id")?), 1)?;
    let group = group_at(cdb, 2, info)?;
    let bytes = cdb.u24(6, "HPB READ BUFFER allocation length")?;
    if !bytes.is_multiple_of(info.hpb_entry_bytes) {
        let rule = Allowed::Rule("a multiple of the size of an entry");
        return Err(cdb.fault(6, "HPB READ BUFFER allocation length", u64::from(bytes), rule));
    }
    cdb.zeroes(9, 16)?;
    Ok((Op::HpbReadBuffer { group }, bytes))
}

fn inactivate(region: u32) -> Result<[u8; 16], EncodeError> {
    EncodeError::limit("HPB region", u64::from(region), 0xFFFF)?;
    let mut cdb = [0; 16];
    cdb[0] = HPB_WRITE_BUFFER;
    cdb[1] = 0x01;
    cdb[2..4].copy_from_slice(&(region as u16).to_be_bytes());
    Ok(cdb)
}

fn decode_inactivate(cdb: Reader<'_>, info: &DeviceInfo) -> Result<Op, DecodeError> {
    cdb.exactly(1, "HPB WRITE BUFFER id", u64::from(cdb.u8(1, "HPB WRITE BUFFER id")?), 1)?;
    cdb.zeroes(4, 16)?;
    Ok(Op::HpbInactivate { region: region_at(cdb, 2, info)? })
}

/// The bytes of a notice, and the bits that it sets in the device information.
pub(super) fn notice(
    notice: &HpbNotice,
    info: &DeviceInfo,
) -> Result<Option<(u8, [u8; HPB_NOTICE_BYTES])>, EncodeError> {
    let mut bytes = [0; HPB_NOTICE_BYTES];
    bytes[..4].copy_from_slice(&FRAME);
    match *notice {
        HpbNotice::None => Ok(None),
        HpbNotice::DirtyGroup(group) => {
            let recommendation = Recommendation { activate: [Some(group), None], inactivate: [None; 2] };
            recommend(&recommendation, info, &mut bytes)?;
            Ok(Some((UPDATE_ALERT, bytes)))
        }
        HpbNotice::Recommend(recommendation) => {
            recommend(&recommendation, info, &mut bytes)?;
            Ok(Some((UPDATE_ALERT, bytes)))
        }
        HpbNotice::Entry { lpa, entry } => {
            bytes[4] = NEW_ENTRY;
            bytes[8..12].copy_from_slice(&lpa.0.to_be_bytes());
            match info.has_plain_entries() {
                true => bytes[12..16].copy_from_slice(&plain(entry)?),
                false => bytes[12..20].copy_from_slice(&entry.to_be_bytes()),
            }
            Ok(Some((UPDATE_ALERT | ENTRY_FLAG, bytes)))
        }
    }
}

fn recommend(
    recommendation: &Recommendation,
    info: &DeviceInfo,
    bytes: &mut [u8; HPB_NOTICE_BYTES],
) -> Result<(), EncodeError> {
    bytes[4] = REGION_UPDATE;
    for (i, group) in recommendation.activate.into_iter().flatten().enumerate() {
        bytes[6] += 1;
        bytes[8 + 4 * i..12 + 4 * i].copy_from_slice(&place(group, info)?);
    }
    for (i, region) in recommendation.inactivate.into_iter().flatten().enumerate() {
        EncodeError::limit("HPB region", u64::from(region), 0xFFFF)?;
        bytes[7] += 1;
        bytes[16 + 2 * i..18 + 2 * i].copy_from_slice(&(region as u16).to_be_bytes());
    }
    Ok(())
}

/// Decodes a notice; `is_entry` is the flag of the device information.
pub(super) fn decode_notice(field: Reader<'_>, is_entry: bool, info: &DeviceInfo) -> Result<HpbNotice, DecodeError> {
    let frame = field.u32(0, "HPB notice frame")?;
    field.exactly(0, "HPB notice frame", u64::from(frame), u64::from(u32::from_be_bytes(FRAME)))?;
    let operation = if is_entry { NEW_ENTRY } else { REGION_UPDATE };
    let found = field.u8(4, "HPB notice operation")?;
    field.exactly(4, "HPB notice operation", u64::from(found), u64::from(operation))?;
    field.exactly(NOTICE_LUN, "HPB notice LUN", u64::from(field.u8(NOTICE_LUN, "HPB notice LUN")?), 0)?;
    if is_entry {
        field.zeroes(6, 8)?;
        let lpa = Lpa(field.u32(8, "HPB notice LPA")?);
        if info.has_plain_entries() {
            field.zeroes(16, HPB_NOTICE_BYTES)?;
            return Ok(HpbNotice::Entry { lpa, entry: field.u32(12, "HPB notice entry")?.into() });
        }
        return Ok(HpbNotice::Entry { lpa, entry: field.u64(12, "HPB notice entry")? });
    }
    let counts = [field.u8(6, "HPB notice active count")?, field.u8(7, "HPB notice inactive count")?].map(usize::from);
    field.range(6, "HPB notice active count", counts[0] as u64, 0..=2)?;
    field.range(7, "HPB notice inactive count", counts[1] as u64, 0..=2)?;
    let mut recommendation = Recommendation::default();
    for (i, group) in recommendation.activate.iter_mut().enumerate().take(counts[0]) {
        *group = Some(group_at(field, 8 + 4 * i, info)?);
    }
    for (i, region) in recommendation.inactivate.iter_mut().enumerate().take(counts[1]) {
        *region = Some(region_at(field, 16 + 2 * i, info)?);
    }
    field.zeroes(8 + 4 * counts[0], 16)?;
    field.zeroes(16 + 2 * counts[1], HPB_NOTICE_BYTES)?;
    match recommendation {
        Recommendation { activate: [Some(group), None], inactivate: [None, None] } => Ok(HpbNotice::DirtyGroup(group)),
        _ => Ok(HpbNotice::Recommend(recommendation)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Groups that are regions.
    pub(in crate::codec) const INFO: DeviceInfo =
        DeviceInfo { capacity_units: u32::MAX, superblocks: 1, superblock_units: 64, ..DeviceInfo::USUAL };

    /// 1 TiB with subregions of 2 MiB in regions of 16 MiB.
    const LARGE: DeviceInfo =
        DeviceInfo { capacity_units: 1 << 28, hpb_group_entries: 512, hpb_region_groups: 8, ..INFO };

    #[test]
    fn hpb_read_has_the_bytes_of_the_standard() {
        let cdb = read(Lpa(0x0102_0304), 9, 0xA1A2_A3A4_A5A6_A7A8).unwrap();
        let golden = [0xF8, 0, 0x01, 0x02, 0x03, 0x04, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0x09, 0];
        assert_eq!(cdb, golden);
    }

    #[test]
    fn a_plain_entry_lies_in_the_address_field_of_a_read_16() {
        let cdb = read_16(Lpa(0x0102_0304), 9, 0xA1A2_A3A4).unwrap();
        assert_eq!(cdb, [0x88, 0, 0x01, 0x02, 0x03, 0x04, 0xA1, 0xA2, 0xA3, 0xA4, 0, 0, 0, 9, 0, 0]);
        let op = Op::HpbRead { lpa: Lpa(0x0102_0304), len: 9, entry: 0xA1A2_A3A4 };
        assert_eq!(decode_read_16(Reader::message(&cdb)), Ok((op, 9)));
        assert!(read_16(Lpa(0), 1, 1 << 32).is_err(), "a sealed entry does not fit");
    }

    #[test]
    fn a_plain_entry_fills_half_of_a_notices_entry() {
        let info = DeviceInfo { hpb_entry_bytes: 4, ..INFO };
        let entry = HpbNotice::Entry { lpa: Lpa(0x0102_0304), entry: 0xA1A2_A3A4 };
        let (flags, bytes) = notice(&entry, &info).unwrap().unwrap();
        let golden = [0, 0x12, 0x80, 0x10, 0xF0, 0, 0, 0, 1, 2, 3, 4, 0xA1, 0xA2, 0xA3, 0xA4, 0, 0, 0, 0];
        assert_eq!((flags, bytes), (0x06, golden));
        assert_eq!(decode_notice(Reader::message(&bytes), true, &info), Ok(entry));
        let sealed = HpbNotice::Entry { lpa: Lpa(1), entry: 1 << 32 };
        assert!(notice(&sealed, &info).is_err());
    }

    #[test]
    fn hpb_read_buffer_has_the_bytes_of_the_standard() {
        let cdb = read_buffer(0x0203, 4096 * 8, &INFO).unwrap();
        assert_eq!(cdb, [0xF9, 0x01, 0x02, 0x03, 0, 0, 0x00, 0x80, 0x00, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_dirty_group_reads_as_an_hpb_2_recommendation() {
        let (flags, bytes) = notice(&HpbNotice::DirtyGroup(0x0203), &INFO).unwrap().unwrap();
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
        let large = DeviceInfo { hpb_region_groups: 1, ..LARGE };
        let beyond = EncodeError::Value { field: "HPB region", value: 65536, allowed: range(65535) };
        assert_eq!(read_buffer(65536, 8, &large), Err(beyond));
        assert!(notice(&HpbNotice::DirtyGroup(65536), &large).is_err());
        assert!(inactivate(65536).is_err());
    }

    #[test]
    fn the_last_subregion_of_a_terabyte_has_a_number() {
        let cdb = read_buffer((1 << 19) - 1, 4096, &LARGE).unwrap();
        assert_eq!(cdb[..9], [0xF9, 0x01, 0xFF, 0xFF, 0, 7, 0x00, 0x10, 0x00]);
        let read = |cdb: &[u8; 16]| decode_read_buffer(Reader::message(cdb), &LARGE);
        assert_eq!(read(&cdb), Ok((Op::HpbReadBuffer { group: (1 << 19) - 1 }, 4096)));
        let mut wrong = cdb;
        wrong[5] = 8;
        assert!(read(&wrong).is_err(), "a region has subregions 0 to 7");
    }

    #[test]
    fn a_recommendation_has_the_bytes_of_the_standard() {
        let both = Recommendation { activate: [Some(9), Some(0x0203 * 8)], inactivate: [Some(0x0405), Some(7)] };
        let (flags, bytes) = notice(&HpbNotice::Recommend(both), &LARGE).unwrap().unwrap();
        assert_eq!(flags, 0x02);
        let golden = [0, 0x12, 0x80, 0x10, 1, 0, 2, 2, 0, 1, 0, 1, 0x02, 0x03, 0, 0, 0x04, 0x05, 0, 7];
        assert_eq!(bytes, golden);
        assert_eq!(decode_notice(Reader::message(&bytes), false, &LARGE), Ok(HpbNotice::Recommend(both)));
    }

    #[test]
    fn hpb_write_buffer_has_the_bytes_of_the_standard() {
        let cdb = inactivate(0x0203).unwrap();
        assert_eq!(cdb, [0xFA, 0x01, 0x02, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let op = decode_inactivate(Reader::message(&cdb), &LARGE);
        assert_eq!(op, Ok(Op::HpbInactivate { region: 0x0203 }));
    }
}
