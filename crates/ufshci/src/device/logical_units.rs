//! Logical units: their numbers, which have yet to tell that they were reset, and the device's addresses behind theirs.
//!
//! This is the one place between the addresses of a unit and those of the device: [`Placed::place`] takes what a
//! command names to the device, [`Notices`] take what the device tells back to the units.

use std::collections::VecDeque;

use ufs::{Command, DeviceInfo, HpbNotice, Op, Recommendation};
use units::{LogicalUnit, LogicalUnits, Lpa};

use super::sense::{INVALID_FIELD, OUT_OF_RANGE, Sense};

/// Well-known units as UPIUs name them (JESD220E clause 10.8.5): REPORT LUNS, boot, RPMB, UFS device.
const REPORT_LUNS: u8 = 0x81;
const BOOT: u8 = 0xB0;
const RPMB: u8 = 0xC4;
pub const DEVICE: u8 = 0xD0;
/// All of those.
pub const WELL_KNOWN: [u8; 4] = [REPORT_LUNS, BOOT, RPMB, DEVICE];

/// Room for every unit that there can be.
const PLACES: usize = LogicalUnits::MOST + WELL_KNOWN.len();

/// Units that have yet to tell that they were reset. After power-on that are all (SAM-5 clause 5.14).
#[derive(Clone, Copy, Debug)]
pub struct Attention([bool; PLACES]);

impl Default for Attention {
    fn default() -> Attention {
        Attention([true; PLACES])
    }
}

impl Attention {
    fn of(&mut self, lun: u8) -> Option<&mut bool> {
        let well_known = || Some(LogicalUnits::MOST + WELL_KNOWN.iter().position(|&unit| unit == lun)?);
        let at = Some(usize::from(lun)).filter(|&lun| lun < LogicalUnits::MOST).or_else(well_known)?;
        Some(&mut self.0[at])
    }

    /// A unit has been reset.
    pub fn raise(&mut self, lun: u8) {
        if let Some(waits) = self.of(lun) {
            *waits = true;
        }
    }

    /// True once after each reset of a unit.
    pub fn take(&mut self, lun: u8) -> bool {
        self.of(lun).is_some_and(std::mem::take)
    }
}

/// A unit, and the sizes of its device.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub unit: LogicalUnit,
    /// True if it is the only one.
    alone: bool,
    /// Those of the device, but the capacity is the unit's: what a driver of the unit sees.
    pub info: DeviceInfo,
}

impl Placed {
    /// A unit of a device with these sizes; `None` if it is not there.
    pub fn of(units: LogicalUnits, lun: u8, info: &DeviceInfo) -> Option<Placed> {
        let unit = units.get(lun)?;
        Some(Placed { unit, alone: units.count() == 1, info: DeviceInfo { capacity_units: unit.units, ..*info } })
    }

    /// What a command asks of the device.
    ///
    /// # Errors
    /// It reaches beyond the unit's end, or names addresses of the device, which are a unit's only if it is the only
    /// one: commands of HP-UFS and MAP+.
    pub fn place(&self, command: &Command) -> Result<Op, Sense> {
        let at = |lpa: Lpa, len| self.unit.place(lpa.0, len).ok_or(OUT_OF_RANGE);
        match command.op {
            _ if command.freed.is_some() && !self.alone => Err(INVALID_FIELD),
            Op::Read { lpa, len } => Ok(Op::Read { lpa: at(lpa, len)?, len }),
            Op::HpbRead { lpa, len, entry } => Ok(Op::HpbRead { lpa: at(lpa, len)?, len, entry }),
            Op::Write { lpa, len, fua } => Ok(Op::Write { lpa: at(lpa, len)?, len, fua }),
            Op::Unmap { lpa, len } => Ok(Op::Unmap { lpa: at(lpa, len)?, len }),
            Op::Flush => Ok(Op::Flush),
            Op::HpbReadBuffer { group } => Ok(Op::HpbReadBuffer { group: group + self.first_of(self.group_units())? }),
            Op::HpbInactivate { region } => {
                Ok(Op::HpbInactivate { region: region + self.first_of(self.region_units())? })
            }
            Op::MappedRead { lpa, len, ppa } if self.alone => Ok(Op::MappedRead { lpa: at(lpa, len)?, len, ppa }),
            own if self.alone => Ok(own),
            _ => Err(INVALID_FIELD),
        }
    }

    fn group_units(&self) -> u32 {
        self.info.hpb_group_entries
    }

    fn region_units(&self) -> u32 {
        self.info.hpb_group_entries.saturating_mul(self.info.hpb_region_groups)
    }

    /// The number of the unit's first part, of parts of so many addresses. A unit in the middle of one has none.
    fn first_of(&self, units: u32) -> Result<u32, Sense> {
        let first = self.unit.first.0;
        if first.is_multiple_of(units) { Ok(first / units) } else { Err(INVALID_FIELD) }
    }
}

/// HPB notices on their way to the host. A notice tells of one unit, and a response carries one notice; the device's
/// recommendations may be of several units, so some wait for the next response.
#[derive(Default, Debug)]
pub struct Notices {
    waiting: VecDeque<(u8, HpbNotice)>,
}

impl Notices {
    /// Takes what the device tells of its addresses; gives what the next response tells, and of which unit.
    pub fn pass(&mut self, notice: HpbNotice, units: LogicalUnits, info: &DeviceInfo) -> (u8, HpbNotice) {
        self.waiting.extend(of_units(notice, units, info));
        self.waiting.pop_front().unwrap_or_default()
    }
}

/// What a notice of the device tells of each of its units.
fn of_units(notice: HpbNotice, units: LogicalUnits, info: &DeviceInfo) -> Vec<(u8, HpbNotice)> {
    let told = |placed: &Placed| match notice {
        HpbNotice::None => HpbNotice::None,
        HpbNotice::DirtyGroup(group) => {
            part_of(placed, group, placed.group_units()).map_or(HpbNotice::None, HpbNotice::DirtyGroup)
        }
        HpbNotice::Recommend(Recommendation { activate, inactivate }) => {
            let activate = together(activate.map(|group| part_of(placed, group?, placed.group_units())));
            let inactivate = together(inactivate.map(|region| part_of(placed, region?, placed.region_units())));
            let mine = Recommendation { activate, inactivate };
            if mine == Recommendation::default() { HpbNotice::None } else { HpbNotice::Recommend(mine) }
        }
        HpbNotice::Entry { lpa, entry } => {
            part_of(placed, lpa.0, 1).map_or(HpbNotice::None, |lba| HpbNotice::Entry { lpa: Lpa(lba), entry })
        }
    };
    let of_unit = |unit: LogicalUnit| {
        let placed = Placed::of(units, unit.lun, info)?;
        Some((unit.lun, told(&placed))).filter(|(_, told)| *told != HpbNotice::None)
    };
    units.all().filter_map(of_unit).collect()
}

/// The unit's number of a part of the device, of parts of so many addresses; `None` if the part is another unit's.
fn part_of(placed: &Placed, part: u32, units: u32) -> Option<u32> {
    let first = u64::from(part) * u64::from(units);
    let range = u64::from(placed.unit.first.0)..u64::from(placed.unit.end());
    range.contains(&first).then(|| part - placed.unit.first.0 / units)
}

/// The same without gaps.
fn together([first, second]: [Option<u32>; 2]) -> [Option<u32>; 2] {
    if first.is_none() { [second, None] } else { [first, second] }
}
