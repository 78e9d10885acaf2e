//! Map units: the part of the mapping table that one piece of metadata holds.
//!
//! A segment of 1024 entries of 4 bytes is one (HP-UFS), DFTL's translation page of 512 entries of 8 bytes is another.
//! Everything that only moves pieces around, or rebuilds them, asks here which addresses belong to which.

use std::ops::Range;

use units::{Lpa, SEGMENT_ENTRIES, SegmentId};

/// How the mapping table is divided. A [`SegmentId`] is the number of a map unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapUnits {
    capacity_units: u32,
    shift: u32,
}

impl MapUnits {
    /// A table of `capacity_units` entries, so many of them in a piece.
    ///
    /// # Panics
    /// If `entries` is not a power of two of at most 1024.
    pub fn new(capacity_units: u32, entries: u32) -> MapUnits {
        assert!(
            entries.is_power_of_two() && entries <= SEGMENT_ENTRIES,
            "{entries} entries in a map unit: must be a power of two of at most {SEGMENT_ENTRIES}"
        );
        MapUnits { capacity_units, shift: entries.trailing_zeros() }
    }

    /// Entries of the table.
    pub fn capacity_units(self) -> u32 {
        self.capacity_units
    }

    /// Entries of a map unit.
    pub fn entries(self) -> u32 {
        1 << self.shift
    }

    /// Map units of the table.
    pub fn count(self) -> u32 {
        self.capacity_units.div_ceil(1 << self.shift)
    }

    /// The map unit of an address.
    #[inline]
    pub fn of(self, lpa: Lpa) -> SegmentId {
        SegmentId(lpa.0 >> self.shift)
    }

    /// The addresses of a map unit.
    #[inline]
    pub fn range(self, unit: SegmentId) -> Range<u32> {
        let first = unit.0 << self.shift;
        first..self.capacity_units.min(first.saturating_add(1 << self.shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_cover_the_table_without_overlap() {
        for entries in [256, 512, 1024] {
            let units = MapUnits::new(2500, entries);
            let mut next = 0;
            for unit in (0..units.count()).map(SegmentId) {
                let range = units.range(unit);
                assert_eq!(range.start, next);
                assert!(range.clone().all(|lpa| units.of(Lpa(lpa)) == unit));
                next = range.end;
            }
            assert_eq!(next, 2500);
        }
    }
}
