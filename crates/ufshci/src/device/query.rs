//! QUERY REQUESTs (JESD220E clauses 10.7.8, 14.2, 14.3).

use ufs::DeviceInfo;
use ufs::codec::query::QueryRequest;

use super::Device;

const READ: u8 = 0x01;
const WRITE: u8 = 0x81;

/// Why a query fails (JESD220E Table 10.34).
mod failure {
    pub const NOT_WRITEABLE: u8 = 0xF7;
    pub const INVALID_INDEX: u8 = 0xFC;
    pub const INVALID_IDN: u8 = 0xFD;
    pub const INVALID_OPCODE: u8 = 0xFE;
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
    (0x0D, 0, true),           // wExceptionEventControl
    (0x0E, 0, false),          // wExceptionEventStatus
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
type Found = Result<u32, u8>;

impl Device {
    /// Answers a query. `ready` is false while the device recovers.
    pub fn query(&mut self, query: &QueryRequest, info: &DeviceInfo, ready: bool) -> Vec<u8> {
        let found = match (query.opcode, query.function) {
            (1, READ) => return self.read_descriptor(query, info),
            (2, WRITE) => Err(failure::NOT_WRITEABLE),
            (3, READ) => self.read_attribute(query, info),
            (4, WRITE) => self.write_attribute(query),
            (5, READ) => self.flag(query.idn, info, ready),
            (6, WRITE) => self.change_flag(query.idn, info, |_| true),
            (7, WRITE) => self.change_flag(query.idn, info, |_| false),
            (8, WRITE) => self.change_flag(query.idn, info, |was| !was),
            (0, _) => Ok(0),
            _ => Err(failure::INVALID_OPCODE),
        };
        match found {
            Ok(value) => query.respond(0, value, &[]),
            Err(failure) => query.respond(failure, 0, &[]),
        }
    }

    fn read_descriptor(&self, query: &QueryRequest, info: &DeviceInfo) -> Vec<u8> {
        match self.descriptor(query.idn, query.index, info) {
            None if self.descriptor(query.idn, 0, info).is_some() => query.respond(failure::INVALID_INDEX, 0, &[]),
            None => query.respond(failure::INVALID_IDN, 0, &[]),
            Some(bytes) => query.respond(0, 0, &bytes[..bytes.len().min(query.length.into())]),
        }
    }

    fn read_attribute(&self, query: &QueryRequest, info: &DeviceInfo) -> Found {
        if query.idn == MAX_HPB_SINGLE && self.hpb_shape(info).is_some() {
            return Ok(info.hpb_max_blocks - 1);
        }
        let at = place(query.idn).ok_or(failure::INVALID_IDN)?;
        Ok(self.attributes.0[at])
    }

    fn write_attribute(&mut self, query: &QueryRequest) -> Found {
        let at = place(query.idn).ok_or(failure::INVALID_IDN)?;
        if !ATTRIBUTES[at].2 {
            return Err(failure::NOT_WRITEABLE);
        }
        self.attributes.0[at] = query.value;
        Ok(query.value)
    }

    fn flag(&self, idn: u8, info: &DeviceInfo, ready: bool) -> Found {
        let hpb = self.hpb_shape(info).is_some();
        match idn {
            DEVICE_INIT => Ok(u32::from(!ready)),
            HPB_RESET if hpb => Ok(0),
            HPB_EN if hpb => Ok(1),
            _ if FREE_FLAGS.contains(&idn) => Ok(self.flags.set >> idn & 1),
            _ if STILL_FLAGS.contains(&idn) => Ok(0),
            _ => Err(failure::INVALID_IDN),
        }
    }

    fn change_flag(&mut self, idn: u8, info: &DeviceInfo, change: impl Fn(bool) -> bool) -> Found {
        let was = self.flag(idn, info, true)? != 0;
        let new = change(was);
        match idn {
            DEVICE_INIT | HPB_RESET if new => {}
            HPB_EN if new => {}
            _ if FREE_FLAGS.contains(&idn) => self.flags.set = self.flags.set & !(1 << idn) | u32::from(new) << idn,
            _ => return Err(failure::NOT_WRITEABLE),
        }
        Ok(u32::from(new))
    }
}
