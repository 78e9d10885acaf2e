//! The part of a device that answers without flash: descriptors, attributes, flags, and SCSI commands about the unit.

mod booster;
mod bytes;
mod descriptors;
pub mod logical_units;
mod query;
pub mod scsi;
pub mod sense;

use ufs::codec::hpufs::PowerOn;
use ufs::{Booster, BoosterControl, BoosterFlags, DeviceInfo, Health, HpbNotice};

use crate::description::Description;
use booster::Persistent;
use logical_units::{Attention, Notices, Placed, WELL_KNOWN};
use query::{Attributes, Flags};

/// What the device remembers.
#[derive(Debug)]
pub struct Device {
    description: Description,
    attributes: Attributes,
    flags: Flags,
    persistent: Persistent,
    /// Logical units that have not yet told of the last reset.
    attention: Attention,
    /// What they have yet to tell of HPB.
    notices: Notices,
    /// Of HP-UFS; up to date when a query begins.
    pub power_on: PowerOn,
}

/// What the medium tells for a query.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Its sizes.
    pub info: &'a DeviceInfo,
    /// False while it recovers.
    pub ready: bool,
    /// WriteBooster, if the device has it.
    pub booster: Option<Booster>,
    /// How worn it is.
    pub health: Health,
}

impl Device {
    pub fn new(description: Description) -> Device {
        Device {
            description,
            attributes: Attributes::default(),
            flags: Flags::default(),
            persistent: Persistent::default(),
            attention: Attention::default(),
            notices: Notices::default(),
            power_on: PowerOn::default(),
        }
    }

    /// Power has been cut, or the device has been reset. Gives what WriteBooster is told then.
    pub fn reset(&mut self) -> [BoosterControl; 3] {
        *self = Device { persistent: self.persistent, ..Device::new(self.description.clone()) };
        [BoosterControl::Flags(BoosterFlags::default()), BoosterControl::Hibernate(false), self.persistent.control()]
    }

    /// A logical unit, as its driver sees it; `None` if it is none, or a well-known one.
    pub fn unit(&self, lun: u8, info: &DeviceInfo) -> Option<Placed> {
        Placed::of(self.description.logical_units, lun, info)
    }

    /// True if there is a unit of this number, a well-known one included.
    pub fn has_unit(&self, lun: u8) -> bool {
        lun < self.description.logical_units.count() || WELL_KNOWN.contains(&lun)
    }

    /// What the response to the next command tells of HPB, and of which unit; `notice` is what the device has to say.
    pub fn notice(&mut self, notice: HpbNotice, info: &DeviceInfo) -> (u8, HpbNotice) {
        self.notices.pass(notice, self.description.logical_units, info)
    }

    /// A logical unit has been reset by a task management request.
    pub fn reset_unit(&mut self, lun: u8) {
        self.attention.raise(lun);
    }
}

/// Sizes that HPB descriptors need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HpbShape {
    /// Of a region and a subregion, as powers of two of 512 bytes.
    region: u8,
    subregion: u8,
    regions: u16,
}

impl Device {
    /// True if it announces HPB.
    pub fn announces_hpb(&self, info: &DeviceInfo) -> bool {
        self.hpb_shape(info).is_some()
    }

    /// How HPB 2.0 describes the device; `None` if it announces none, or its sizes are none that the standard can say.
    fn hpb_shape(&self, info: &DeviceInfo) -> Option<HpbShape> {
        let bytes = |groups: u32| u64::from(info.hpb_group_entries) * u64::from(groups) * units::UNIT_BYTES;
        let power = |bytes: u64| bytes.is_power_of_two().then(|| (bytes / 512).trailing_zeros() as u8);
        if !self.description.hpb || info.has_plain_entries() {
            return None;
        }
        Some(HpbShape {
            region: power(bytes(info.hpb_region_groups))?,
            subregion: power(bytes(1))?,
            regions: u16::try_from(info.hpb_regions()).unwrap_or(u16::MAX),
        })
    }
}
