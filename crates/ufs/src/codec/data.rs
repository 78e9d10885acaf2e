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
//! | UNMAP parameter list | see [`super::scsi`] |
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

use units::Lpa;

use super::bytes::Reader;
use super::error::{Allowed, DecodeError, EncodeError};
use crate::data::{Content, DataIn};

/// Flag of a DATA UPIU whose data segment stands for user data; only used in the simulator.
pub const STAND_IN: u8 = 0x01;

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

    /// Reads it as units or entries of `size`, one after the other.
    pub(super) fn each<T>(
        &self,
        size: usize,
        entry: impl Fn(Reader<'_>) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.whole(size)?;
        (0..count).map(|i| entry(self.reader().tail(i * size))).collect()
    }

    /// Number of its units or entries of `size`.
    fn whole(&self, size: usize) -> Result<usize, DecodeError> {
        let len = self.bytes.len();
        if len.is_multiple_of(size) {
            return Ok(len / size);
        }
        let rule = Allowed::Rule("a whole number of units or entries");
        Err(self.reader().fault(0, "data length", len as u64, rule))
    }

    fn reader(&self) -> Reader<'_> {
        Reader::data(&self.bytes)
    }

    /// Refuses a payload that does not have `want` bytes of the right kind.
    pub(super) fn expect(&self, want: usize, stand_in: bool) -> Result<Reader<'_>, DecodeError> {
        let reader = self.reader();
        reader.exactly(0, "data length", self.bytes.len() as u64, want as u64)?;
        self.kind(stand_in)?;
        Ok(reader)
    }

    pub(super) fn kind(&self, stand_in: bool) -> Result<(), DecodeError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.reader().exactly(0, "stand-in flag", u64::from(self.stand_in), u64::from(stand_in))
    }
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

/// The data of a read, which stand for the blocks.
pub(super) fn blocks_in(data: &DataIn) -> Result<Option<Payload>, EncodeError> {
    let units = match data {
        DataIn::One(unit) => std::slice::from_ref(unit),
        DataIn::Many(units) => units,
        _ => return Ok(None),
    };
    let mut bytes = Vec::with_capacity(units.len() * CONTENT_BYTES);
    for unit in units {
        bytes.extend_from_slice(&content_bytes(*unit)?);
    }
    Ok(Some(Payload { bytes, stand_in: true }))
}

/// Inverse of [`blocks_in`].
pub(super) fn decode_blocks_in(payload: &Payload) -> Result<DataIn, DecodeError> {
    payload.kind(true)?;
    let units = payload.each(CONTENT_BYTES, decode_content)?;
    Ok(match units[..] {
        [] => DataIn::None,
        [unit] => DataIn::One(unit),
        _ => DataIn::Many(units),
    })
}

/// Bytes on a real link of a payload to the host.
pub(super) fn real_bytes(len: usize, stand_in: bool) -> u64 {
    if stand_in { (len / CONTENT_BYTES) as u64 * units::UNIT_BYTES } else { len as u64 }
}
