//! The logical units of a device: one behind the other in the range of its addresses.
//!
//! A device has one table of mappings, from its first address to its last, and its logical units are parts of that
//! range (JESD220G clause 5.2 leaves it to the device). So firmware, schemes and flash know no logical units: who takes
//! an address of one for the device adds the unit's first, and that is all.

use crate::Lpa;

/// A logical unit: `units` addresses from `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogicalUnit {
    /// Its number.
    pub lun: u8,
    /// Its address 0, among those of the device.
    pub first: Lpa,
    /// Its size in units of 4 KiB.
    pub units: u32,
}

impl LogicalUnit {
    /// The device's address of `lba`, the first of `len` blocks; `None` if the last one lies beyond the unit's end.
    pub fn place(&self, lba: u32, len: u32) -> Option<Lpa> {
        let end = u64::from(lba) + u64::from(len);
        (end <= u64::from(self.units)).then(|| self.first.offset(lba))
    }

    /// The end of its range.
    pub fn end(&self) -> u32 {
        self.first.0 + self.units
    }
}

/// All logical units of a device, from number 0 on. Well-known ones have no addresses, and are not among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogicalUnits {
    sizes: [u32; LogicalUnits::MOST],
    count: u8,
}

impl LogicalUnits {
    /// Most logical units of a device that says 0 in bMaxNumberLU (JESD220G clause 14.1.4.4).
    pub const MOST: usize = 8;

    /// One, that is as large as the device.
    pub fn one(units: u32) -> LogicalUnits {
        LogicalUnits::of(units, &[])
    }

    /// Those of a device of so many units of 4 KiB: `further` are the sizes of number 1 and above, at the end of the
    /// range, and number 0 has the rest.
    ///
    /// # Panics
    /// If there are too many, or they leave nothing for number 0.
    pub fn of(units: u32, further: &[u32]) -> LogicalUnits {
        assert!(further.len() < LogicalUnits::MOST, "{} logical units beside the first", further.len());
        let taken = further.iter().try_fold(0, |sum: u32, &size| sum.checked_add(size));
        let rest = taken.and_then(|taken| units.checked_sub(taken)).filter(|&rest| rest > 0);
        let mut sizes = [0; LogicalUnits::MOST];
        sizes[0] = rest.unwrap_or_else(|| panic!("{further:?} leave nothing of {units} units"));
        sizes[1..=further.len()].copy_from_slice(further);
        LogicalUnits { sizes, count: further.len() as u8 + 1 }
    }

    /// How many there are.
    pub fn count(&self) -> u8 {
        self.count
    }

    /// All of them.
    pub fn all(self) -> impl Iterator<Item = LogicalUnit> {
        let units = self.sizes.into_iter().zip(0..self.count);
        units.scan(0, |next, (units, lun)| {
            let first = Lpa(*next);
            *next += units;
            Some(LogicalUnit { lun, first, units })
        })
    }

    /// One of them.
    pub fn get(self, lun: u8) -> Option<LogicalUnit> {
        self.all().nth(lun.into())
    }

    /// The first, which every device has.
    pub fn main(self) -> LogicalUnit {
        LogicalUnit { lun: 0, first: Lpa(0), units: self.sizes[0] }
    }

    /// The one that an address of the device belongs to.
    pub fn holding(self, lpa: Lpa) -> Option<LogicalUnit> {
        self.all().find(|unit| lpa.0 < unit.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_lie_one_behind_the_other_and_the_first_has_the_rest() {
        let units = LogicalUnits::of(100, &[8, 2]);
        let all: Vec<_> = units.all().map(|unit| (unit.lun, unit.first.0, unit.units)).collect();
        assert_eq!(all, [(0, 0, 90), (1, 90, 8), (2, 98, 2)]);
        assert_eq!((units.count(), units.main(), units.get(3)), (3, units.get(0).unwrap(), None));
        let holding = [0, 89, 90, 97, 98, 99].map(|lpa| units.holding(Lpa(lpa)).unwrap().lun);
        assert_eq!((holding, units.holding(Lpa(100))), ([0, 0, 1, 1, 2, 2], None));
        assert_eq!(LogicalUnits::one(7).all().count(), 1);
    }

    #[test]
    fn an_address_beyond_a_unit_has_no_place() {
        let unit = LogicalUnits::of(100, &[8, 2]).get(1).unwrap();
        let places =
            [(0, 8), (7, 1), (0, 9), (8, 0), (8, 1), (u32::MAX, u32::MAX)].map(|(lba, len)| unit.place(lba, len));
        assert_eq!(places, [Some(Lpa(90)), Some(Lpa(97)), None, Some(Lpa(98)), None, None]);
    }

    #[test]
    #[should_panic(expected = "leave nothing of 10 units")]
    fn the_first_is_never_empty() {
        LogicalUnits::of(10, &[4, 6]);
    }
}
