//! QUERY REQUESTs (JESD220E clauses 10.7.8, 14.2, 14.3).

use ufs::codec::query::QueryRequest;
use ufs::{Booster, BoosterControl};

use super::booster::{self, Asked};
use super::{Device, Told};

const READ: u8 = 0x01;
const WRITE: u8 = 0x81;

/// Why a query fails (JESD220E Table 10.34).
pub mod failure {
    pub const NOT_READABLE: u8 = 0xF6;
    pub const NOT_WRITEABLE: u8 = 0xF7;
    pub const INVALID_VALUE: u8 = 0xFA;
    pub const INVALID_SELECTOR: u8 = 0xFB;
    pub const INVALID_INDEX: u8 = 0xFC;
    pub const INVALID_IDN: u8 = 0xFD;
    pub const INVALID_OPCODE: u8 = 0xFE;
    pub const GENERAL: u8 = 0xFF;
}

/// Flag fDeviceInit: the host sets it, the device clears it when it is ready.
const DEVICE_INIT: u8 = 0x01;
/// Flag fHPBReset: clears itself, for the device keeps nothing of what the host holds.
const HPB_RESET: u8 = 0x11;
/// Flag fHPBEn.
const HPB_EN: u8 = 0x12;
/// Flags that a host can change: background operations, life span mode, write protection until power-off.
const FREE_FLAGS: [u8; 3] = [0x03, 0x04, 0x05];
/// Flags that are there and 0: permanent write protection, purge, removal of resources, a busy clock.
const STILL_FLAGS: [u8; 4] = [0x02, 0x06, 0x08, 0x09];

/// Attribute bMAX_DATA_SIZE_FOR_HPB_SINGLE_CMD, minus one.
const MAX_HPB_SINGLE: u8 = 0x01;
/// Attribute bCurrentPowerMode.
pub const POWER_MODE: u8 = 0x02;
/// Attributes wExceptionEventControl and wExceptionEventStatus.
const EVENT_CONTROL: u8 = 0x0D;
const EVENT_STATUS: u8 = 0x0E;
/// Attributes that are there: name, first value, whether a host can write them.
const ATTRIBUTES: [(u8, u32, bool); 17] = [
    (0x00, 0, true),           // bBootLunEn
    (POWER_MODE, 0x11, false), // bCurrentPowerMode: active
    (0x03, 0, true),           // bActiveICCLevel
    (0x04, 0, true),           // bOutOfOrderDataEn
    (0x05, 0, false),          // bBackgroundOpStatus
    (0x06, 0, false),          // bPurgeStatus
    (0x07, 0x40, true),        // bMaxDataInSize
    (0x08, 0x40, true),        // bMaxDataOutSize
    (0x09, 0, false),          // dDynCapNeeded
    (0x0A, 1, true),           // bRefClkFreq: 26 MHz
    (0x0B, 0, true),           // bConfigDescrLock
    (0x0C, 2, true),           // bMaxNumOfRTT
    (EVENT_CONTROL, 0, true),  // wExceptionEventControl
    (EVENT_STATUS, 0, false),  // wExceptionEventStatus
    (0x0F, 0, true),           // dSecondsPassed
    (0x14, 0, false),          // bDeviceFFUStatus
    (0x17, 1, false),          // bRefClkGatingWaitTime
];

/// Values of attributes.
#[derive(Debug)]
pub struct Attributes([u32; ATTRIBUTES.len()]);

impl Default for Attributes {
    fn default() -> Attributes {
        Attributes(ATTRIBUTES.map(|(_, value, _)| value))
    }
}

impl Attributes {
    fn get(&self, idn: u8) -> Found {
        place(idn).map(|at| self.0[at]).ok_or(failure::INVALID_IDN)
    }

    /// Sets one that is there.
    pub fn set(&mut self, idn: u8, value: u32) {
        if let Some(at) = place(idn) {
            self.0[at] = value;
        }
    }
}

fn place(idn: u8) -> Option<usize> {
    ATTRIBUTES.iter().position(|(one, ..)| *one == idn)
}

/// Values of the flags that a host can change, as bits.
#[derive(Default, Debug)]
pub struct Flags {
    set: u32,
}

/// A value, or why there is none.
pub type Found = Result<u32, u8>;

impl Device {
    /// Answers a query. Gives what the medium has to do for it, too.
    pub fn query(&mut self, query: &QueryRequest, told: &Told<'_>) -> (Vec<u8>, Option<BoosterControl>) {
        let asked = match (query.opcode, query.function) {
            (1, READ) => return (self.read_descriptor(query, told), None),
            (2, WRITE) => Err(failure::NOT_WRITEABLE),
            (3, READ) => self.read_attribute(query, told),
            (4, WRITE) => self.write_attribute(query, told),
            (5, READ) => self.flag(query, told).map(|value| (value, None)),
            (6, WRITE) => self.change_flag(query, told, |_| true),
            (7, WRITE) => self.change_flag(query, told, |_| false),
            (8, WRITE) => self.change_flag(query, told, |was| !was),
            (0, _) => Ok((0, None)),
            _ => Err(failure::INVALID_OPCODE),
        };
        match asked {
            Ok((value, control)) => (query.respond(0, value, &[]), control),
            Err(failure) => (query.respond(failure, 0, &[]), None),
        }
    }

    /// True if an exception event has happened that the host wants to hear of (JESD220G clause 13.4.12).
    pub fn has_event(&self, booster: Option<&Booster>) -> bool {
        self.attributes.get(EVENT_CONTROL).is_ok_and(|wanted| wanted & events(booster) != 0)
    }

    fn read_descriptor(&self, query: &QueryRequest, told: &Told<'_>) -> Vec<u8> {
        match self.descriptor(query.idn, query.index, told) {
            None if self.descriptor(query.idn, 0, told).is_some() => query.respond(failure::INVALID_INDEX, 0, &[]),
            None => query.respond(failure::INVALID_IDN, 0, &[]),
            Some(bytes) => query.respond(0, 0, &bytes[..bytes.len().min(query.length.into())]),
        }
    }

    fn read_attribute(&self, query: &QueryRequest, told: &Told<'_>) -> Asked {
        match (query.idn, &told.booster) {
            (idn, Some(one)) if booster::has_attribute(idn) => {
                booster::attribute(query, one, self.description.boosted_lun, &self.persistent)
            }
            (MAX_HPB_SINGLE, _) if self.hpb_shape(told.info).is_some() => Ok((told.info.hpb_max_blocks - 1, None)),
            (EVENT_STATUS, one) => Ok((events(one.as_ref()), None)),
            (idn, _) => self.attributes.get(idn).map(|value| (value, None)),
        }
    }

    fn write_attribute(&mut self, query: &QueryRequest, told: &Told<'_>) -> Asked {
        if let Some(one) = &told.booster
            && booster::has_attribute(query.idn)
        {
            return booster::set_attribute(query, one, self.description.boosted_lun, &mut self.persistent);
        }
        let at = place(query.idn).ok_or(failure::INVALID_IDN)?;
        if !ATTRIBUTES[at].2 {
            return Err(failure::NOT_WRITEABLE);
        }
        self.attributes.0[at] = query.value;
        Ok((query.value, None))
    }

    fn flag(&self, query: &QueryRequest, told: &Told<'_>) -> Found {
        let hpb = self.hpb_shape(told.info).is_some();
        match (query.idn, &told.booster) {
            (DEVICE_INIT, _) => Ok(u32::from(!told.ready)),
            (HPB_RESET, _) if hpb => Ok(0),
            (HPB_EN, _) if hpb => Ok(1),
            (idn, Some(one)) if booster::has_flag(idn) => booster::flag(query, one, self.description.boosted_lun),
            (idn, _) if FREE_FLAGS.contains(&idn) => Ok(self.flags.set >> idn & 1),
            (idn, _) if STILL_FLAGS.contains(&idn) => Ok(0),
            _ => Err(failure::INVALID_IDN),
        }
    }

    fn change_flag(&mut self, query: &QueryRequest, told: &Told<'_>, change: impl Fn(bool) -> bool) -> Asked {
        let was = self.flag(query, &Told { ready: true, ..*told })? != 0;
        let (idn, new) = (query.idn, change(was));
        let mut control = None;
        match (idn, &told.booster) {
            (DEVICE_INIT | HPB_RESET | HPB_EN, _) if new => {}
            (_, Some(one)) if booster::has_flag(idn) => control = Some(booster::set_flag(query, one, new)),
            _ if FREE_FLAGS.contains(&idn) => self.flags.set = self.flags.set & !(1 << idn) | u32::from(new) << idn,
            _ => return Err(failure::NOT_WRITEABLE),
        }
        Ok((u32::from(new), control))
    }
}

/// wExceptionEventStatus.
fn events(booster: Option<&Booster>) -> u32 {
    booster.map_or(0, booster::events)
}
