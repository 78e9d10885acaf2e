//! HP-UFS: eight extra command bytes, sixteen response bytes, four commands.
//!
//! The bytes are those of `docs/reference/hp-ufs-protocol.md`, clauses 2.1 (command extension), 2.2 (response
//! piggyback) and 2.3 (commands). HP-UFS Sec. IV-A gives the fields and their sizes; byte order, operation codes and
//! flag values are chosen here. The piggyback uses bytes of the RESPONSE UPIU that JESD220 reserves ("the unused 16
//! bytes of the command response packet"), so it makes no response longer. The codes are in the range that SPC-4 leaves
//! to vendors (C0h-FFh, of which HPB uses F8h-FAh).

use live::{SegmentImage, SegmentState};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock, UNIT_BYTES};

use super::bytes::Reader;
use super::data::Payload;
use super::error::{Allowed, DecodeError, EncodeError};
use super::set::SetCodec;
use crate::command::{BitmapFor, Command, Op};
use crate::data::{DataIn, DataOut, Quarters};
use crate::info::DeviceInfo;
use crate::response::{L2pEntry, Notice, PiggyBack};
use crate::victims::VictimPolicy;

/// Bytes that the extension adds to a command.
pub const COMMAND_EXTENSION_BYTES: usize = 8;

/// Bytes of the piggyback, and of each entry of a multi-entry transfer.
pub const PIGGYBACK_BYTES: usize = L2pEntry::BYTES;

/// Number of superblocks that the 16-bit block field of the piggyback can encode: 0 to 65534, because 0 in the field
/// means none.
pub const MAX_SUPERBLOCKS: u32 = 65535;

/// Most entries in one multi-entry transfer: 32 KiB, one full DATA IN UPIU and the whole L2P reorder buffer of the host
/// (HP-UFS Sec. IV-A: 2K entries of 16 bytes).
pub const MAX_TRANSFER_ENTRIES: u32 = 2048;

/// Longest entry (see [`L2pEntry::len`]).
pub const MAX_ENTRY_UNITS: u32 = 32;

/// Operation code of the L2P segment read.
pub const SEGMENT_READ: u8 = 0xC0;
/// Operation code of the L2P segment writeback.
pub const SEGMENT_WRITE: u8 = 0xC1;
/// Operation code of the multi L2P entry transfer.
pub const ENTRY_TRANSFER: u8 = 0xC2;
/// Operation code of the valid page bitmap transfer.
pub const VALID_BITMAP: u8 = 0xC3;

pub(crate) const SEGMENT_BYTES: u32 = UNIT_BYTES as u32;
const ENTRY_TRANSFER_BYTES: u32 = MAX_TRANSFER_ENTRIES * PIGGYBACK_BYTES as u32;

const KIND_ENTRY: u8 = 1;
const KIND_WRITE_SEGMENT: u8 = 2;
const KIND_BITMAP_OF: u8 = 3;
const WANT_ENTRIES: u8 = 0x10;
const WANT_VICTIM: u8 = 0x20;
const WORKS_WHEN_IDLE: u8 = 0x40;

/// Descriptor IDN of HP-UFS (clause 3.1), one of those that JESD220E reserves.
pub const DESCRIPTOR_IDN: u8 = 0xF0;
/// Bytes of the HP-UFS descriptor.
pub const DESCRIPTOR_BYTES: usize = 32;
/// Version of the protocol.
const VERSION: u16 = 0x0100;

/// What a device has found when it was switched on (clause 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PowerOn {
    /// How often it has been switched on, this time included.
    pub count: u32,
    /// Number of the last change on flash.
    pub last_change: Seq,
}

/// The HP-UFS descriptor (clause 3.1).
pub fn descriptor(info: &DeviceInfo, power_on: PowerOn) -> [u8; DESCRIPTOR_BYTES] {
    let mut bytes = [0; DESCRIPTOR_BYTES];
    (bytes[0], bytes[1]) = (DESCRIPTOR_BYTES as u8, DESCRIPTOR_IDN);
    bytes[2..4].copy_from_slice(&VERSION.to_be_bytes());
    bytes[4..8].copy_from_slice(&info.superblocks.to_be_bytes());
    bytes[8..12].copy_from_slice(&info.superblock_units.to_be_bytes());
    bytes[12..14].copy_from_slice(&(info.map_page_entries as u16).to_be_bytes());
    bytes[14..16].copy_from_slice(&(info.victims.choices as u16).to_be_bytes());
    bytes[16] = match info.victims.policy {
        VictimPolicy::Greedy => 0,
        VictimPolicy::CostBenefit => 1,
        VictimPolicy::Fifo => 2,
        VictimPolicy::Choices => 3,
    };
    bytes[20..24].copy_from_slice(&power_on.count.to_be_bytes());
    bytes[24..32].copy_from_slice(&power_on.last_change.0.to_be_bytes());
    bytes
}

/// The address in a command extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtensionAddress {
    /// A block without valid pages (command set type 8h).
    Freed(Option<Superblock>),
    /// The first block of a mapped read (command set type 9h).
    Mapped(Option<Ppa>),
}

/// The eight extra bytes of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandExtension {
    /// Freed block, or address of a mapped read.
    pub address: ExtensionAddress,
    /// Host sequence number, low 32 bits.
    pub host_seq: u32,
}

/// True if the command needs the extension: a mapped read, or a command with a sequence number or a freed block.
#[inline]
pub fn has_extension(command: &Command) -> bool {
    command.host_seq.0 != 0 || command.freed.is_some() || matches!(command.op, Op::MappedRead { .. })
}

impl CommandExtension {
    /// The extension of a command; `None` if it needs none.
    ///
    /// # Errors
    /// A mapped read has no room for a freed block.
    pub fn of(command: &Command) -> Result<Option<CommandExtension>, EncodeError> {
        if !has_extension(command) {
            return Ok(None);
        }
        let address = match (command.op, command.freed) {
            (Op::MappedRead { ppa, .. }, None) => ExtensionAddress::Mapped(ppa),
            (Op::MappedRead { .. }, Some(block)) => {
                let allowed = Allowed::Rule("none: a mapped read's address field holds its PPA");
                return Err(EncodeError::Value { field: "freed block", value: u64::from(block.0), allowed });
            }
            (_, freed) => ExtensionAddress::Freed(freed),
        };
        Ok(Some(CommandExtension { address, host_seq: command.host_seq.wire() }))
    }

    /// The bytes.
    ///
    /// # Errors
    /// The address has no packed form.
    pub fn encode(&self) -> Result<[u8; COMMAND_EXTENSION_BYTES], EncodeError> {
        let address = match self.address {
            ExtensionAddress::Freed(block) => u32::from(pack_block("freed block", block)?),
            ExtensionAddress::Mapped(ppa) => pack_ppa(ppa)?,
        };
        let mut bytes = [0; COMMAND_EXTENSION_BYTES];
        bytes[..4].copy_from_slice(&address.to_be_bytes());
        bytes[4..].copy_from_slice(&self.host_seq.to_be_bytes());
        Ok(bytes)
    }

    pub(super) fn decode(bytes: Reader<'_>, mapped: bool) -> Result<Self, DecodeError> {
        let raw = bytes.u32(0, "extension address")?;
        let address = if mapped {
            ExtensionAddress::Mapped(Ppa::unpack(raw))
        } else {
            bytes.range(0, "freed block", u64::from(raw), 0..=u64::from(MAX_SUPERBLOCKS))?;
            ExtensionAddress::Freed(raw.checked_sub(1).map(Superblock))
        };
        Ok(CommandExtension { address, host_seq: bytes.u32(4, "host sequence number")? })
    }
}

fn pack_ppa(ppa: Option<Ppa>) -> Result<u32, EncodeError> {
    if let Some(ppa) = ppa {
        EncodeError::limit("PPA", u64::from(ppa.0), u64::from(u32::MAX - 1))?;
    }
    Ok(Ppa::pack(ppa))
}

fn pack_block(field: &'static str, block: Option<Superblock>) -> Result<u16, EncodeError> {
    let Some(block) = block else { return Ok(0) };
    EncodeError::limit(field, u64::from(block.0), u64::from(MAX_SUPERBLOCKS) - 1)?;
    Ok((block.0 + 1) as u16)
}

/// A field of an entry that breaks the rules of [`L2pEntry`]: offset, name, value, what is allowed.
fn entry_fault(entry: &L2pEntry) -> Option<(usize, &'static str, u64, Allowed)> {
    let len = u32::from(entry.len);
    let last = len.wrapping_sub(1);
    // Longest entry that stays in its segment and below the highest address and number.
    let in_segment = SEGMENT_ENTRIES - entry.lpa.slot() as u32;
    let max = MAX_ENTRY_UNITS.min(in_segment);
    if !(1..=max).contains(&len) {
        return Some((14, "entry length", u64::from(len), Allowed::Range { min: 1, max: u64::from(max) }));
    }
    if let Some(ppa) = entry.ppa.filter(|ppa| ppa.0 > u32::MAX - 1 - last) {
        let max = u64::from(u32::MAX - 1 - last);
        return Some((4, "entry PPA", u64::from(ppa.0), Allowed::Range { min: 0, max }));
    }
    let max = u64::MAX - u64::from(last);
    if entry.seq.0 == 0 || entry.seq.0 > max {
        return Some((8, "entry sequence number", entry.seq.0, Allowed::Range { min: 1, max }));
    }
    None
}

fn put_entry(bytes: &mut [u8; PIGGYBACK_BYTES], entry: &L2pEntry) -> Result<(), EncodeError> {
    if let Some((_, field, value, allowed)) = entry_fault(entry) {
        return Err(EncodeError::Value { field, value, allowed });
    }
    bytes[..4].copy_from_slice(&entry.lpa.0.to_be_bytes());
    bytes[4..8].copy_from_slice(&pack_ppa(entry.ppa)?.to_be_bytes());
    bytes[8..12].copy_from_slice(&entry.seq.wire().to_be_bytes());
    bytes[12..14].copy_from_slice(&pack_block("entry source block", entry.source)?.to_be_bytes());
    bytes[14] = entry.len;
    bytes[15] |= KIND_ENTRY;
    Ok(())
}

fn decode_entry(bytes: Reader<'_>, near: Seq) -> Result<L2pEntry, DecodeError> {
    let entry = L2pEntry {
        lpa: Lpa(bytes.u32(0, "entry LPA")?),
        ppa: Ppa::unpack(bytes.u32(4, "entry PPA")?),
        len: bytes.u8(14, "entry length")?,
        seq: bytes.seq(8, near)?,
        source: bytes.u16(12, "entry source block")?.checked_sub(1).map(|block| Superblock(u32::from(block))),
    };
    match entry_fault(&entry) {
        Some((at, field, value, allowed)) => Err(bytes.fault(at, field, value, allowed)),
        None => Ok(entry),
    }
}

/// The 16 bytes of a response.
pub(super) fn piggyback(piggyback: &PiggyBack) -> Result<[u8; PIGGYBACK_BYTES], EncodeError> {
    let mut bytes = [0; PIGGYBACK_BYTES];
    match piggyback.notice {
        Notice::None => {}
        Notice::Entry(entry) => put_entry(&mut bytes, &entry)?,
        Notice::WriteSegment(segment) => {
            bytes[..4].copy_from_slice(&segment.0.to_be_bytes());
            bytes[15] = KIND_WRITE_SEGMENT;
        }
        Notice::BitmapOf(block) => {
            bytes[12..14].copy_from_slice(&pack_block("hint block", Some(block))?.to_be_bytes());
            bytes[15] = KIND_BITMAP_OF;
        }
    }
    if piggyback.want_entries {
        bytes[15] |= WANT_ENTRIES;
    }
    if piggyback.want_victim {
        bytes[15] |= WANT_VICTIM;
    }
    if piggyback.works_when_idle {
        bytes[15] |= WORKS_WHEN_IDLE;
    }
    Ok(bytes)
}

pub(super) fn decode_piggyback(bytes: Reader<'_>, near: Seq) -> Result<PiggyBack, DecodeError> {
    let raw = bytes.u8(15, "piggyback type")?;
    let notice = match raw & 0x0F {
        0 => {
            bytes.zeroes(0, 15)?;
            Notice::None
        }
        KIND_ENTRY => Notice::Entry(decode_entry(bytes, near)?),
        KIND_WRITE_SEGMENT => {
            bytes.zeroes(4, 15)?;
            Notice::WriteSegment(SegmentId(bytes.u32(0, "hint segment")?))
        }
        KIND_BITMAP_OF => {
            bytes.zeroes(0, 12)?;
            bytes.zeroes(14, 15)?;
            let block = bytes.u16(12, "hint block")?;
            bytes.range(12, "hint block", u64::from(block), 1..=u64::from(MAX_SUPERBLOCKS))?;
            Notice::BitmapOf(Superblock(u32::from(block) - 1))
        }
        kind => {
            return Err(bytes.fault(15, "piggyback kind", u64::from(kind), Allowed::Range { min: 0, max: 3 }));
        }
    };
    bytes.exactly(15, "piggyback type, bit 7", u64::from(raw >> 7), 0)?;
    let has = |hint: u8| raw & hint != 0;
    let (want_entries, want_victim) = (has(WANT_ENTRIES), has(WANT_VICTIM));
    Ok(PiggyBack { notice, want_entries, want_victim, works_when_idle: has(WORKS_WHEN_IDLE) })
}

/// One entry of a multi-entry transfer.
fn transfer_entry(entry: &L2pEntry) -> Result<[u8; PIGGYBACK_BYTES], EncodeError> {
    let mut bytes = [0; PIGGYBACK_BYTES];
    put_entry(&mut bytes, entry)?;
    Ok(bytes)
}

fn decode_transfer_entry(bytes: Reader<'_>, near: Seq) -> Result<L2pEntry, DecodeError> {
    let raw = bytes.u8(15, "entry type")?;
    bytes.exactly(15, "entry type", u64::from(raw), u64::from(KIND_ENTRY))?;
    decode_entry(bytes, near)
}

/// Metadata between the host's booster and the mapping.
pub(super) struct HpUfs;

impl SetCodec for HpUfs {
    fn opcodes(&self, _: &DeviceInfo) -> &'static str {
        "C0h-C3h"
    }

    fn bytes_in(&self, op: &Op, _: &DeviceInfo) -> Result<u32, EncodeError> {
        Ok(match op {
            Op::SegmentRead { .. } => SEGMENT_BYTES,
            Op::EntryTransfer | Op::EntriesAgain => ENTRY_TRANSFER_BYTES,
            _ => 0,
        })
    }

    fn out(&self, op: &Op, data: &DataOut) -> Result<Payload, EncodeError> {
        let allowed = match (op, data) {
            (Op::SegmentWrite { .. }, DataOut::Segment(state)) => {
                return Ok(Payload::exact(entries(&state.image()[..])));
            }
            (Op::SegmentWrite { .. }, DataOut::SegmentParts(quarters, image)) => {
                return Ok(Payload::exact(quarters.ranges().flat_map(|range| entries(&image[range])).collect()));
            }
            (Op::ValidBitmap { .. }, DataOut::Bitmap(words)) => {
                EncodeError::limit("bitmap length in bytes", size_of_val(&**words) as u64, 0xFF_FFF8)?;
                return Ok(Payload::exact(words.iter().flat_map(|word| word.to_le_bytes()).collect()));
            }
            (Op::ValidBitmap { .. }, _) => "a bitmap",
            (_, DataOut::None) => return Ok(Payload::exact(Vec::new())),
            (Op::SegmentWrite { .. }, _) => "a segment or quarters of it, or nothing to attest",
            _ => "no data",
        };
        Err(EncodeError::Data { op: op.name(), allowed })
    }

    fn cdb(&self, op: &Op, data: &DataOut, bytes: u32, _: &DeviceInfo) -> Result<[u8; 16], EncodeError> {
        let (opcode, flags, argument) = match *op {
            Op::SegmentRead { segment } => (SEGMENT_READ, 0, segment.0),
            Op::SegmentWrite { segment } => match data {
                DataOut::SegmentParts(quarters, _) => (SEGMENT_WRITE, quarters.bits(), segment.0),
                _ => (SEGMENT_WRITE, 0, segment.0),
            },
            Op::ValidBitmap { block, reason } => {
                pack_block("bitmap block", Some(block))?;
                (VALID_BITMAP, u8::from(reason == BitmapFor::WearLevelling), block.0)
            }
            _ => (ENTRY_TRANSFER, u8::from(*op == Op::EntriesAgain), 0),
        };
        let mut cdb = [0; 16];
        cdb[0] = opcode;
        cdb[1] = flags;
        cdb[2..6].copy_from_slice(&argument.to_be_bytes());
        cdb[6..9].copy_from_slice(&bytes.to_be_bytes()[1..]);
        Ok(cdb)
    }

    fn decode_cdb(&self, cdb: Reader<'_>, _: &DeviceInfo) -> Result<Option<(Op, u32)>, DecodeError> {
        let opcode = cdb.u8(0, "operation code")?;
        if !(SEGMENT_READ..=VALID_BITMAP).contains(&opcode) {
            return Ok(None);
        }
        let flags = cdb.u8(1, "reserved")?;
        let argument = cdb.u32(2, "segment or block")?;
        let bytes = cdb.u24(6, "data length")?;
        let segment = SegmentId(argument);
        let (op, max_flags, fits) = match opcode {
            SEGMENT_READ => (Op::SegmentRead { segment }, 0, bytes == SEGMENT_BYTES),
            SEGMENT_WRITE => {
                let fits = match Quarters::new(flags) {
                    Some(quarters) => bytes == 4 * quarters.entries(),
                    None => bytes == 0 || bytes == SEGMENT_BYTES,
                };
                (Op::SegmentWrite { segment }, Quarters::ALL_BITS - 1, fits)
            }
            ENTRY_TRANSFER => {
                cdb.zeroes(2, 6)?;
                let op = if flags == 0 { Op::EntryTransfer } else { Op::EntriesAgain };
                (op, 1, bytes == ENTRY_TRANSFER_BYTES)
            }
            _ => {
                cdb.range(2, "bitmap block", u64::from(argument), 0..=u64::from(MAX_SUPERBLOCKS) - 1)?;
                let reason = if flags == 0 { BitmapFor::Gc } else { BitmapFor::WearLevelling };
                (Op::ValidBitmap { block: Superblock(argument), reason }, 1, bytes.is_multiple_of(8))
            }
        };
        cdb.range(1, "flags", u64::from(flags), 0..=u64::from(max_flags))?;
        cdb.zeroes(9, 16)?;
        if !fits {
            let rule = Allowed::Rule(
                "4096 for a segment (1024 for each quarter, 0 to attest), 32768 for entries, \
                 a multiple of 8 for a bitmap",
            );
            return Err(cdb.fault(6, "data length", u64::from(bytes), rule));
        }
        Ok(Some((op, bytes)))
    }

    fn decode_out(
        &self,
        op: Op,
        cdb: Reader<'_>,
        payload: &Payload,
        expected: usize,
    ) -> Result<(Op, DataOut), DecodeError> {
        let quarters = Quarters::new(cdb.u8(1, "reserved")?);
        let data = match op {
            Op::SegmentWrite { .. } if expected > 0 => {
                let bytes = payload.expect(expected, false)?;
                match quarters {
                    Some(quarters) => {
                        DataOut::SegmentParts(quarters, decode_image(quarters.ranges().flatten(), bytes)?)
                    }
                    None => DataOut::Segment(SegmentState::of(&*decode_segment(bytes)?)),
                }
            }
            Op::ValidBitmap { .. } => {
                payload.expect(expected, false)?;
                DataOut::Bitmap(payload.each(8, |word| word.u64(0, "bitmap word").map(u64::swap_bytes))?.into())
            }
            _ => payload.expect(0, false).map(|_| DataOut::None)?,
        };
        Ok((op, data))
    }

    fn data_in(&self, op: &Op, data: &DataIn, _: &DeviceInfo) -> Result<Option<Payload>, EncodeError> {
        let bytes = match (op, data) {
            (Op::SegmentRead { .. }, DataIn::Segment(sent)) => entries(&sent.image()[..]),
            (Op::EntryTransfer | Op::EntriesAgain, DataIn::Entries(list)) => {
                let mut bytes = Vec::with_capacity(list.len() * PIGGYBACK_BYTES);
                for entry in list {
                    bytes.extend_from_slice(&transfer_entry(entry)?);
                }
                bytes
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
        _: &DeviceInfo,
        near: Seq,
    ) -> Result<Option<DataIn>, DecodeError> {
        let some = !payload.bytes.is_empty();
        match op {
            Op::SegmentRead { .. } if some => {
                let bytes = payload.expect(SEGMENT_BYTES as usize, false)?;
                decode_segment(bytes).map(|image| Some(DataIn::Segment(image.into())))
            }
            Op::EntryTransfer | Op::EntriesAgain if some || good => {
                payload.kind(false)?;
                let list = payload.each(PIGGYBACK_BYTES, |entry| decode_transfer_entry(entry, near))?;
                Ok(Some(DataIn::Entries(list)))
            }
            _ => Ok(None),
        }
    }
}

fn entries(entries: &[u32]) -> Vec<u8> {
    entries.iter().flat_map(|entry| entry.to_be_bytes()).collect()
}

/// The entries at these places, one after the other; all others are zeroes.
fn decode_image(places: impl Iterator<Item = usize>, data: Reader<'_>) -> Result<Box<SegmentImage>, DecodeError> {
    let mut image: Box<SegmentImage> = Box::new([0; SEGMENT_ENTRIES as usize]);
    for (at, i) in places.enumerate() {
        image[i] = data.u32(4 * at, "segment entry")?;
    }
    Ok(image)
}

fn decode_segment(data: Reader<'_>) -> Result<Box<SegmentImage>, DecodeError> {
    decode_image(0..SEGMENT_ENTRIES as usize, data)
}
