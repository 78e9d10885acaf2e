//! WriteBooster as QUERY REQUESTs show it (JESD220G clauses 13.4.18, 14.1.4.2 to 14.1.4.5, 14.2, 14.3): a buffer that
//! all logical units share, or that one has, with resize and FIFO partial flush; no pinned data.

use ufs::codec::query::QueryRequest;
use ufs::{Booster, BoosterControl, BoosterFlags, ResizeHint, UserSpace};
use units::{MIB, UNIT_BYTES};

use super::bytes::put;
use super::query::{Found, failure};

/// An allocation unit: dSegmentSize of 4 MiB times bAllocationUnitSize of 1.
const ALLOCATION_UNITS: u32 = (4 * MIB / UNIT_BYTES) as u32;

/// Flags.
const ENABLED: u8 = 0x0E;
const FLUSH: u8 = 0x0F;
const FLUSH_IN_HIBERNATION: u8 = 0x10;

/// Attributes.
const FLUSH_STATUS: u8 = 0x1C;
const AVAILABLE: u8 = 0x1D;
const LIFE_TIME: u8 = 0x1E;
const CURRENT: u8 = 0x1F;
const RESIZE_HINT: u8 = 0x3C;
const RESIZE: u8 = 0x3D;
const RESIZE_STATUS: u8 = 0x3E;
const PARTIAL_FLUSH_MODE: u8 = 0x3F;
const MAX_FIFO: u8 = 0x40;
const CURRENT_FIFO: u8 = 0x41;

/// Bits of wExceptionEventStatus (clause 13.4.12): WRITEBOOSTER_FLUSH_NEEDED, WRITEBOOSTER_RESIZE_HINT.
const FLUSH_NEEDED: u32 = 1 << 5;
const RESIZE_HINTED: u32 = 1 << 8;

/// Bits of wExtendedWriteBoosterSupport: resize, FIFO partial flush.
const CAN_RESIZE: u16 = 1;
const HAS_FIFO: u16 = 1 << 1;

/// What a host has set for good: it outlives resets and power cuts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Persistent {
    /// bWriteBoosterBufferPartialFlushMode: 0, or 1 for FIFO.
    mode: u32,
    /// dMaxFIFOSizeForWriteBoosterPartialFlushMode, in allocation units.
    max_fifo: u32,
}

impl Persistent {
    /// What the device has to do for it.
    pub fn control(&self) -> BoosterControl {
        BoosterControl::Keep { units: self.mode * self.max_fifo * ALLOCATION_UNITS }
    }
}

/// A query's value, and what the device has to do for it.
pub type Asked = Result<(u32, Option<BoosterControl>), u8>;

/// True if these are an attribute of WriteBooster.
pub fn has_attribute(idn: u8) -> bool {
    matches!(idn, FLUSH_STATUS..=CURRENT | RESIZE_HINT..=CURRENT_FIFO)
}

/// True if this is a flag of WriteBooster.
pub fn has_flag(idn: u8) -> bool {
    matches!(idn, ENABLED | FLUSH | FLUSH_IN_HIBERNATION)
}

/// Where a buffer is shared, the index says nothing (Table 14.28, note 15); of one that is dedicated it is the LUN.
/// What belongs to the device has the index 0.
fn check_place(query: &QueryRequest, dedicated: Option<u8>) -> Result<(), u8> {
    match (query.idn, query.index, query.selector) {
        (PARTIAL_FLUSH_MODE, 1.., _) => Err(failure::INVALID_INDEX),
        (idn, index, _) if idn != PARTIAL_FLUSH_MODE && dedicated.is_some_and(|lun| lun != index) => {
            Err(failure::INVALID_INDEX)
        }
        (.., 1..) => Err(failure::INVALID_SELECTOR),
        _ => Ok(()),
    }
}

/// Reads a flag.
pub fn flag(query: &QueryRequest, booster: &Booster, dedicated: Option<u8>) -> Found {
    check_place(query, dedicated)?;
    let BoosterFlags { enabled, flush, flush_in_hibernation } = booster.flags;
    match query.idn {
        ENABLED => Ok(u32::from(enabled)),
        FLUSH => Ok(u32::from(flush)),
        _ => Ok(u32::from(flush_in_hibernation)),
    }
}

/// Sets a flag.
pub fn set_flag(query: &QueryRequest, booster: &Booster, value: bool) -> BoosterControl {
    let mut flags = booster.flags;
    match query.idn {
        ENABLED => flags.enabled = value,
        FLUSH => flags.flush = value,
        _ => flags.flush_in_hibernation = value,
    }
    BoosterControl::Flags(flags)
}

fn allocation_units(units: u32) -> u32 {
    units.div_ceil(ALLOCATION_UNITS)
}

/// Reads an attribute.
pub fn attribute(query: &QueryRequest, booster: &Booster, dedicated: Option<u8>, persistent: &Persistent) -> Asked {
    check_place(query, dedicated)?;
    let value = match query.idn {
        FLUSH_STATUS => return Ok((booster.flush as u32, Some(BoosterControl::FlushStatusRead))),
        AVAILABLE => booster.available_tenths(),
        LIFE_TIME => booster.life_time.into(),
        CURRENT => allocation_units(booster.current_units),
        RESIZE_HINT => booster.hint as u32,
        RESIZE_STATUS => return Ok((booster.resize as u32, Some(BoosterControl::ResizeStatusRead))),
        PARTIAL_FLUSH_MODE => persistent.mode,
        MAX_FIFO => persistent.max_fifo,
        CURRENT_FIFO => allocation_units(booster.kept_units),
        _ => return Err(failure::NOT_READABLE),
    };
    Ok((value, None))
}

/// Writes an attribute.
pub fn set_attribute(
    query: &QueryRequest,
    booster: &Booster,
    dedicated: Option<u8>,
    persistent: &mut Persistent,
) -> Asked {
    let value = query.value;
    let control = match query.idn {
        RESIZE | PARTIAL_FLUSH_MODE | MAX_FIFO => {
            check_place(query, dedicated)?;
            match (query.idn, value) {
                // Clause 13.4.18.6.
                (RESIZE, _) if booster.user_space == UserSpace::Reduced => return Err(failure::GENERAL),
                (RESIZE, 0) => None,
                (RESIZE, 1 | 2) => Some(BoosterControl::Resize { larger: value == 2 }),
                (PARTIAL_FLUSH_MODE, 0 | 1) => {
                    persistent.mode = value;
                    Some(persistent.control())
                }
                // Clause 13.4.18.7.1.
                (MAX_FIFO, _) if value <= allocation_units(booster.configured_units) => {
                    persistent.max_fifo = value;
                    Some(persistent.control())
                }
                _ => return Err(failure::INVALID_VALUE),
            }
        }
        _ => return Err(failure::NOT_WRITEABLE),
    };
    Ok((value, control))
}

/// Its bits of wExceptionEventStatus.
pub fn events(booster: &Booster) -> u32 {
    let mut events = 0;
    if booster.needs_flush() {
        events |= FLUSH_NEEDED;
    }
    if booster.hint != ResizeHint::Keep {
        events |= RESIZE_HINTED;
    }
    events
}

/// Its fields of the device descriptor, beside the bit of dExtendedUFSFeaturesSupport.
pub fn describe(bytes: &mut [u8], booster: &Booster, dedicated: Option<u8>) {
    let preserves = booster.user_space == UserSpace::Preserved;
    let support = HAS_FIFO | if preserves { CAN_RESIZE } else { 0 };
    put(bytes, 0x4D, &support.to_be_bytes()); // wExtendedWriteBoosterSupport
    bytes[0x53] = u8::from(preserves); // bWriteBoosterBufferPreserveUserSpaceEn
    if dedicated.is_none() {
        bytes[0x54] = 1; // bWriteBoosterBufferType: shared
        // dNumSharedWriteBoosterBufferAllocUnits
        put(bytes, 0x55, &allocation_units(booster.configured_units).to_be_bytes());
    }
}

/// Its field of the descriptor of the logical unit that has it.
pub fn describe_unit(bytes: &mut [u8], booster: &Booster) {
    // dLUNumWriteBoosterBufferAllocUnits
    put(bytes, 0x29, &allocation_units(booster.configured_units).to_be_bytes());
}

/// Its fields of the geometry descriptor.
pub fn describe_geometry(bytes: &mut [u8], booster: &Booster, dedicated: Option<u8>) {
    put(bytes, 0x4F, &allocation_units(booster.configured_units).to_be_bytes()); // dWriteBoosterBufferMaxNAllocUnits
    bytes[0x53] = 1; // bDeviceMaxWriteBoosterLUs
    bytes[0x54] = booster.capacity_factor as u8; // bWriteBoosterBufferCapAdjFac
    // bSupportedWriteBoosterBufferUserSpaceReductionTypes: what the device was provisioned with, and nothing else.
    bytes[0x55] = u8::from(booster.user_space == UserSpace::Preserved);
    bytes[0x56] = u8::from(dedicated.is_none()); // bSupportedWriteBoosterBufferTypes, likewise
}
