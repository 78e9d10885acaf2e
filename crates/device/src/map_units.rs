//! Map units: the part of the mapping table that one piece of metadata holds.
//!
//! A segment of 1024 entries of 4 bytes is one (HP-UFS), DFTL's translation page of 512 entries of 8 bytes is another.
//! Everything that only moves pieces around, or rebuilds them, asks here which addresses belong to which.
//!
//! A piece need not be as large as a flash unit of 4 KiB: a translation page may have 8 or 16 KiB, a mapping segment 1 or
//! 2 KiB (MSFTL Sec. 3.1).

use std::ops::Range;

use units::{Lpa, SEGMENT_ENTRIES, SegmentId, UNIT_BYTES};

/// Smallest map unit: ECC protects no less at once (MSFTL Sec. 3.1).
const LEAST_BYTES: u32 = 1024;

/// Entries and bytes of a map unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapShape {
    /// Entries of the table: a power of two.
    pub entries: u32,
    /// Bytes on flash: a power of two from 1 KiB to 16 KiB.
    pub bytes: u32,
}

impl MapShape {
    /// An L2P segment: 1024 entries of 4 bytes.
    pub const SEGMENT: MapShape = MapShape { entries: SEGMENT_ENTRIES, bytes: UNIT_BYTES as u32 };

    /// A part of a segment, or a whole one: entries of 4 bytes.
    pub fn part_of_segment(bytes: u32) -> MapShape {
        MapShape { entries: bytes / 4, bytes }
    }
}

/// How the mapping table is divided. A [`SegmentId`] is the number of a map unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapUnits {
    capacity_units: u32,
    shift: u32,
    bytes: u32,
    has_bitmaps: bool,
}

impl MapUnits {
    /// A table of `capacity_units` entries in pieces of this shape.
    ///
    /// # Panics
    /// If the shape is not as [`MapShape`] says.
    pub fn new(capacity_units: u32, shape: MapShape) -> MapUnits {
        let MapShape { entries, bytes } = shape;
        let allowed = LEAST_BYTES..=16 * LEAST_BYTES;
        assert!(entries.is_power_of_two(), "{entries} entries in a map unit: must be a power of two");
        assert!(bytes.is_power_of_two() && allowed.contains(&bytes), "{bytes} bytes in a map unit");
        MapUnits { capacity_units, shift: entries.trailing_zeros(), bytes, has_bitmaps: false }
    }

    /// The same table, for a scheme that writes with every data superblock which map units it concerns.
    pub fn with_bitmaps(self) -> MapUnits {
        MapUnits { has_bitmaps: true, ..self }
    }

    /// Flash units of a bitmap with a bit for every map unit: the smaller these, the larger it is. Schemes that write none have
    /// a place for one all the same.
    pub fn bitmap_parts(self) -> u32 {
        if self.has_bitmaps { self.count().div_ceil(8 * UNIT_BYTES as u32) } else { 1 }
    }

    /// Flash units that a map unit takes, 1 if it shares one.
    #[inline]
    pub fn flash_units(self) -> u32 {
        self.bytes.div_ceil(UNIT_BYTES as u32)
    }

    /// Map units that share a flash unit, 1 if none do.
    #[inline]
    pub fn per_flash_unit(self) -> u32 {
        (UNIT_BYTES as u32 / self.bytes).max(1)
    }

    /// Is a map unit as large as a flash unit?
    #[inline]
    pub fn is_plain(self) -> bool {
        self.bytes == UNIT_BYTES as u32
    }

    /// Buffers of 4 KiB that hold `n` map units side by side.
    pub fn buffers(self, n: u32) -> u32 {
        (n * self.flash_units()).div_ceil(self.per_flash_unit())
    }

    /// Map units that fit so many buffers.
    pub fn fitting(self, buffers: u32) -> u32 {
        buffers / self.flash_units() * self.per_flash_unit()
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
        for entries in [256, 512, 1024, 2048, 4096] {
            let units = MapUnits::new(2500, MapShape { entries, bytes: 4 * entries });
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

    #[test]
    fn small_units_share_flash_units_and_large_ones_take_several() {
        let units = |bytes| MapUnits::new(10_000, MapShape { entries: bytes / 4, bytes });
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).flash_units()), [1, 1, 1, 2, 4]);
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).per_flash_unit()), [4, 2, 1, 1, 1]);
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).buffers(5)), [2, 3, 5, 10, 20]);
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).fitting(7)), [28, 14, 7, 3, 1]);
    }

    #[test]
    fn a_bitmap_has_a_bit_for_every_map_unit() {
        let parts = |gib: u32, bytes| {
            MapUnits::new(gib << 18, MapShape::part_of_segment(bytes)).with_bitmaps().bitmap_parts()
        };
        assert_eq!([4096, 2048, 1024].map(|bytes| parts(128, bytes)), [1, 2, 4], "4, 8 and 16 KiB");
        assert_eq!([4096, 2048, 1024].map(|bytes| parts(1, bytes)), [1, 1, 1]);
        assert_eq!(MapUnits::new(128 << 18, MapShape::part_of_segment(1024)).bitmap_parts(), 1);
    }
}
