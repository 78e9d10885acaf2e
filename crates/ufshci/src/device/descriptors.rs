//! Descriptors (JESD220E clause 14.1). Fields that are not named here are 0.

use ufs::Health;
use ufs::codec::hpufs;
use units::{LogicalUnits, UNIT_BYTES};

use super::booster::{describe, describe_geometry, describe_unit};
use super::bytes::put;
use super::logical_units::Placed;
use super::{Device, Told};
use crate::registers::SLOTS;

const DEVICE: u8 = 0x00;
const UNIT: u8 = 0x02;
const INTERCONNECT: u8 = 0x04;
const STRING: u8 = 0x05;
const GEOMETRY: u8 = 0x07;
const POWER: u8 = 0x08;
const HEALTH: u8 = 0x09;

/// Logical units that the device has room for (bMaxNumberLU = 0).
const UNITS: u8 = LogicalUnits::MOST as u8;
/// Bits of dExtendedUFSFeaturesSupport.
const HPB: u32 = 1 << 7;
const WRITE_BOOSTER: u32 = 1 << 8;
/// Index of the RPMB well-known unit.
const RPMB: u8 = 0xC4;
/// Names of the string descriptors: manufacturer, product, serial number, OEM, revision.
const VENDOR_STRING: u8 = 1;
const PRODUCT_STRING: u8 = 2;
const SERIAL_STRING: u8 = 3;
const OEM_STRING: u8 = 4;
const REVISION_STRING: u8 = 5;

/// Revision of the product.
pub const REVISION: &str = "0001";

fn empty(kind: u8, len: u8) -> Vec<u8> {
    let mut bytes = vec![0; len.into()];
    (bytes[0], bytes[1]) = (len, kind);
    bytes
}

/// Clause 14.1.4.10.
fn health_descriptor(health: &Health) -> Vec<u8> {
    let mut bytes = empty(HEALTH, 0x25);
    put(&mut bytes, 0x02, &[health.pre_eol, health.life_time_slc, health.life_time_data]);
    bytes
}

/// Clause 14.1.4.6. Linux asks for the queue depth of this unit, too.
fn rpmb_descriptor() -> Vec<u8> {
    let mut bytes = empty(UNIT, 0x23);
    (bytes[0x02], bytes[0x0A]) = (RPMB, 8); // blocks of 256 bytes
    bytes
}

impl Device {
    /// A descriptor; `None` if there is none of this name and index.
    pub fn descriptor(&self, idn: u8, index: u8, told: &Told<'_>) -> Option<Vec<u8>> {
        let info = told.info;
        match (idn, index) {
            (DEVICE, 0) => Some(self.device_descriptor(told)),
            (UNIT, 0..UNITS) => Some(self.unit_descriptor(index, told)),
            (UNIT, RPMB) => Some(rpmb_descriptor()),
            (INTERCONNECT, 0) => Some(vec![6, INTERCONNECT, 0x01, 0x80, 0x04, 0x10]),
            (STRING, _) => self.string_descriptor(index),
            (GEOMETRY, 0) => Some(self.geometry_descriptor(told)),
            (POWER, 0) => Some(empty(POWER, 0x62)),
            (HEALTH, 0) => Some(health_descriptor(&told.health)),
            // Clause 3.1 of the HP-UFS protocol.
            (hpufs::DESCRIPTOR_IDN, 0) if self.description.hp_ufs => {
                Some(hpufs::descriptor(info, self.power_on).to_vec())
            }
            _ => None,
        }
    }

    /// Clause 14.1.4.2; HPB fields: JESD220-3A.
    fn device_descriptor(&self, told: &Told<'_>) -> Vec<u8> {
        let info = told.info;
        let mut bytes = empty(DEVICE, 0x59);
        bytes[0x06] = self.description.logical_units.count(); // bNumberLU
        bytes[0x07] = 4; // bNumberWLU
        bytes[0x0A] = 1; // bInitPowerMode: active
        bytes[0x0B] = 0x7F; // bHighPriorityLUN: none
        put(&mut bytes, 0x10, &[0x03, 0x10]); // wSpecVersion
        put(&mut bytes, 0x14, &[VENDOR_STRING, PRODUCT_STRING, SERIAL_STRING, OEM_STRING]);
        put(&mut bytes, 0x1A, &[0x16, 0x1A]); // place and size of units in the configuration descriptor
        bytes[0x1C] = 2; // bDeviceRTTCap
        bytes[0x21] = SLOTS; // bQueueDepth
        bytes[0x2A] = REVISION_STRING;
        let (hpb, mut features) = (self.hpb_shape(info).is_some(), 0);
        if hpb {
            bytes[0x1F] = 0x80; // bUFSFeaturesSupport: HPB (Linux looks here)
            put(&mut bytes, 0x40, &[0x02, 0x00, u8::from(info.hpb_device_control)]);
            features |= HPB;
        }
        if let Some(booster) = &told.booster {
            if !hpb {
                // Partial flush and resize came with UFS 4.1, which has no HPB.
                put(&mut bytes, 0x10, &[0x04, 0x10]);
            }
            features |= WRITE_BOOSTER;
            describe(&mut bytes, booster, self.description.boosted_lun);
        }
        put(&mut bytes, 0x4F, &features.to_be_bytes()); // dExtendedUFSFeaturesSupport
        bytes
    }

    /// Clause 14.1.4.4.
    fn geometry_descriptor(&self, told: &Told<'_>) -> Vec<u8> {
        let info = told.info;
        let mut bytes = empty(GEOMETRY, 0x57);
        let sectors = u64::from(info.capacity_units) * UNIT_BYTES / 512;
        put(&mut bytes, 0x04, &sectors.to_be_bytes()); // qTotalRawDeviceCapacity
        put(&mut bytes, 0x0D, &0x2000_u32.to_be_bytes()); // dSegmentSize: 4 MiB
        bytes[0x11] = 1; // bAllocationUnitSize
        put(&mut bytes, 0x12, &[8, 8, 8, 0x40, 0x40]); // blocks of 4 KiB; data segments of 32 KiB
        if let Some(shape) = self.hpb_shape(info) {
            let units = self.description.logical_units.count(); // bHPBNumberLU
            put(&mut bytes, 0x48, &[shape.region, units, shape.subregion]);
            put(&mut bytes, 0x4B, &shape.regions.to_be_bytes());
        }
        if let Some(booster) = &told.booster {
            describe_geometry(&mut bytes, booster, self.description.boosted_lun);
        }
        bytes
    }

    /// Clause 14.1.4.5.
    fn unit_descriptor(&self, index: u8, told: &Told<'_>) -> Vec<u8> {
        let mut bytes = empty(UNIT, 0x2D);
        bytes[0x02] = index;
        let Some(Placed { info, .. }) = self.unit(index, told.info) else { return bytes };
        let shape = self.hpb_shape(&info);
        bytes[0x03] = if shape.is_some() { 2 } else { 1 }; // bLUEnable
        bytes[0x06] = SLOTS; // bLUQueueDepth
        bytes[0x09] = 1; // bDataReliability
        bytes[0x0A] = UNIT_BYTES.trailing_zeros() as u8; // bLogicalBlockSize
        put(&mut bytes, 0x0B, &u64::from(info.capacity_units).to_be_bytes());
        put(&mut bytes, 0x13, &1_u32.to_be_bytes()); // dEraseBlockSize: any block can be unmapped
        bytes[0x17] = 3; // bProvisioningType: thin, unmapped blocks read as zeroes
        put(&mut bytes, 0x18, &u64::from(info.capacity_units).to_be_bytes());
        if let Some(shape) = shape {
            put(&mut bytes, 0x23, &shape.regions.to_be_bytes()); // wLUMaxActiveHPBRegions
        }
        if let Some(booster) = &told.booster
            && self.description.boosted_lun == Some(index)
        {
            describe_unit(&mut bytes, booster);
        }
        bytes
    }

    /// Clause 14.1.4.8: UTF-16.
    fn string_descriptor(&self, index: u8) -> Option<Vec<u8>> {
        let text = match index {
            VENDOR_STRING => &self.description.vendor,
            PRODUCT_STRING => &self.description.product,
            SERIAL_STRING => "1",
            OEM_STRING => "ufsim",
            REVISION_STRING => REVISION,
            _ => return None,
        };
        let mut bytes = vec![0, STRING];
        bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        bytes.truncate(0xFE);
        bytes[0] = bytes.len() as u8;
        Some(bytes)
    }
}
