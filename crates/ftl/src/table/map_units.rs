//! Map units: the part of the mapping table that one piece of metadata holds.
//!
//! HP-UFS has segments of 1024 entries of 4 bytes; DFTL has translation pages of 512 entries of 8 bytes. Code that only
//! moves or rebuilds pieces asks here which addresses a map unit has.
//!
//! A piece need not be as large as a flash unit of 4 KiB: a translation page may have 8 or 16 KiB, a mapping segment 1
//! or 2 KiB (MSFTL Sec. 3.1). [`MapShape`] gives the size. A piece of several flash units is never split between
//! programs: the size of a program is a multiple of it (`Meta::program_units`), and recovery uses the piece only if all
//! of its units can be read. Smaller pieces share a flash unit. `Placing` is the only rule for that, and
//! `Pages::labels` stands for the spare areas of the unit's ECC codewords.

use std::ops::Range;

use ufs::QUARTER_ENTRIES;
use units::{Lpa, MapUnit, SEGMENT_ENTRIES, SegmentId, UNIT_BYTES};

/// Smallest map unit: one ECC codeword (MSFTL Sec. 3.1).
const LEAST_BYTES: u32 = 1024;

/// Where a map unit's sequence number is stored. The map unit is complete up to this number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Numbered {
    /// In SRAM and in every snapshot of the directory, 4 bytes beside the map unit's place. No read of the unit is
    /// needed to know it.
    Directory,
    /// Only in the spare area of the map unit. The directory is half as large, but recovery has to read every map unit
    /// that may lack a change. MSFTL's directory holds "the locations of the MSTs" (Sec. 3.3).
    Spare,
}

/// Entries and bytes of a map unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MapShape {
    /// Entries of the table: a power of two.
    pub entries: u32,
    /// Bytes on flash: a power of two from 1 KiB to 16 KiB.
    pub bytes: u32,
    /// Where its sequence number is stored.
    pub numbered: Numbered,
}

impl MapShape {
    /// An L2P segment: 1024 entries of 4 bytes.
    pub const SEGMENT: MapShape =
        MapShape { entries: SEGMENT_ENTRIES, bytes: UNIT_BYTES as u32, numbered: Numbered::Directory };

    /// A part of a segment, or a whole one: entries of 4 bytes.
    pub fn part_of_segment(bytes: u32) -> MapShape {
        MapShape { entries: bytes / 4, bytes, numbered: Numbered::Directory }
    }
}

/// Consecutive map units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UnitRun {
    /// The first unit.
    pub first: MapUnit,
    /// Number of units.
    pub n: u32,
}

impl UnitRun {
    /// All units, in order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = MapUnit> {
        (self.first.0..self.first.0 + self.n).map(MapUnit)
    }
}

/// Some map units of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UnitSet {
    /// The first unit, if there is any.
    first: u32,
    /// Bit `i` is set if unit `first + i` is in the set.
    bits: u8,
}

impl UnitSet {
    /// A set of one unit.
    #[inline]
    pub fn one(unit: MapUnit) -> UnitSet {
        UnitSet { first: unit.0, bits: 1 }
    }

    /// Adds a unit. It must come after all others.
    pub fn add(&mut self, unit: MapUnit) {
        if self.bits == 0 {
            *self = UnitSet::one(unit);
        } else {
            self.bits |= 1 << (unit.0 - self.first);
        }
    }

    /// Number of units in the set.
    #[inline]
    pub fn len(self) -> usize {
        self.bits.count_ones() as usize
    }

    /// True if the set is empty.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// All units, in order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = MapUnit> {
        // Most sets have one unit: only bits that are set are looked at.
        let left = std::iter::successors(Some(self.bits), |bits| Some(bits & bits.wrapping_sub(1)));
        left.take_while(|&bits| bits != 0).map(move |bits| MapUnit(self.first + bits.trailing_zeros()))
    }
}

/// The division of the mapping table into map units. A [`MapUnit`] is the number of a map unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MapUnits {
    capacity_units: u32,
    shift: u32,
    bytes: u32,
    numbered: Numbered,
    has_bitmaps: bool,
}

impl MapUnits {
    /// A table of `capacity_units` entries in map units of this shape.
    ///
    /// # Panics
    /// If the shape breaks a rule of [`MapShape`].
    pub fn new(capacity_units: u32, shape: MapShape) -> MapUnits {
        let MapShape { entries, bytes, numbered } = shape;
        let allowed = LEAST_BYTES..=16 * LEAST_BYTES;
        assert!(entries.is_power_of_two(), "{entries} entries in a map unit: must be a power of two");
        assert!(bytes.is_power_of_two() && allowed.contains(&bytes), "{bytes} bytes in a map unit");
        MapUnits { capacity_units, shift: entries.trailing_zeros(), bytes, numbered, has_bitmaps: false }
    }

    /// Where the sequence number of a map unit is stored.
    #[inline]
    pub fn numbered(self) -> Numbered {
        self.numbered
    }

    /// The same table for a scheme with segment bitmaps: one for every data superblock, with a bit for each map unit
    /// that its pages concern.
    pub fn with_bitmaps(self) -> MapUnits {
        MapUnits { has_bitmaps: true, ..self }
    }

    /// True if every data superblock has a segment bitmap.
    pub fn has_bitmaps(self) -> bool {
        self.has_bitmaps
    }

    /// Flash units of a segment bitmap. The smaller the map units, the larger the bitmap. Schemes without bitmaps have
    /// a place for one all the same, except those whose paper says what their directory holds (MSFTL Sec. 3.3).
    pub fn bitmap_parts(self) -> u32 {
        match (self.has_bitmaps, self.numbered) {
            (true, _) => self.count().div_ceil(8 * UNIT_BYTES as u32),
            (false, Numbered::Directory) => 1,
            (false, Numbered::Spare) => 0,
        }
    }

    /// Flash units of a map unit; 1 if it shares one.
    #[inline]
    pub fn flash_units(self) -> u32 {
        self.bytes.div_ceil(UNIT_BYTES as u32)
    }

    /// Map units that share a flash unit; 1 if none do.
    #[inline]
    pub fn per_flash_unit(self) -> u32 {
        (UNIT_BYTES as u32 >> self.bytes.trailing_zeros()).max(1)
    }

    /// True if a map unit is as large as a flash unit.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.bytes == UNIT_BYTES as u32
    }

    /// Buffers of 4 KiB for `n` map units, with units that share a buffer. Whatever enters or leaves the segment cache
    /// asks for them, so this divides by shifting.
    #[inline]
    pub fn buffers(self, n: u32) -> u32 {
        (u64::from(n) * u64::from(self.bytes)).div_ceil(UNIT_BYTES) as u32
    }

    /// Map units that fit `buffers` buffers.
    #[inline]
    pub fn fitting(self, buffers: u32) -> u32 {
        ((u64::from(buffers) * UNIT_BYTES) >> self.bytes.trailing_zeros()) as u32
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
    pub fn of(self, lpa: Lpa) -> MapUnit {
        MapUnit(lpa.0 >> self.shift)
    }

    /// The position of an address in its map unit.
    #[inline]
    pub fn slot(self, lpa: Lpa) -> u32 {
        lpa.0 & ((1 << self.shift) - 1)
    }

    /// The map units of an L2P segment of 1024 entries, which may have several parts.
    #[inline]
    pub fn of_segment(self, segment: SegmentId) -> UnitRun {
        let first = segment.first_lpa();
        let left = self.capacity_units.saturating_sub(first.0).min(SEGMENT_ENTRIES);
        UnitRun { first: self.of(first), n: left.div_ceil(1 << self.shift) }
    }

    /// The L2P segment of 1024 entries with the first entry of a map unit.
    #[inline]
    pub fn segment_of(self, unit: MapUnit) -> SegmentId {
        Lpa(unit.0 << self.shift).segment()
    }

    /// The quarters of its segment that a map unit holds, as bits.
    pub fn quarters(self, unit: MapUnit) -> u8 {
        let first = (unit.0 << self.shift) % SEGMENT_ENTRIES / QUARTER_ENTRIES;
        let n = (self.entries() / QUARTER_ENTRIES).clamp(1, 4);
        ((1 << n) - 1) << first
    }

    /// The addresses of a map unit.
    #[inline]
    pub fn range(self, unit: MapUnit) -> Range<u32> {
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
            let units = MapUnits::new(2500, MapShape { entries, bytes: 4 * entries, numbered: Numbered::Directory });
            let mut next = 0;
            for unit in (0..units.count()).map(MapUnit) {
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
        let units =
            |bytes| MapUnits::new(10_000, MapShape { entries: bytes / 4, bytes, numbered: Numbered::Directory });
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).flash_units()), [1, 1, 1, 2, 4]);
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).per_flash_unit()), [4, 2, 1, 1, 1]);
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).buffers(5)), [2, 3, 5, 10, 20]);
        assert_eq!([1024, 2048, 4096, 8192, 16_384].map(|b| units(b).fitting(7)), [28, 14, 7, 3, 1]);
    }

    #[test]
    fn a_segment_has_parts() {
        let units = |bytes| MapUnits::new(2500, MapShape::part_of_segment(bytes));
        let parts = |bytes, segment| units(bytes).of_segment(SegmentId(segment));
        assert_eq!(parts(4096, 1), UnitRun { first: MapUnit(1), n: 1 });
        assert_eq!(parts(2048, 1), UnitRun { first: MapUnit(2), n: 2 });
        assert_eq!(parts(1024, 1), UnitRun { first: MapUnit(4), n: 4 });
        assert_eq!(parts(1024, 2), UnitRun { first: MapUnit(8), n: 2 }, "452 entries are left");
        assert_eq!([4, 5, 6, 7].map(|unit| units(1024).quarters(MapUnit(unit))), [1, 2, 4, 8]);
        assert_eq!([4, 5].map(|unit| units(2048).quarters(MapUnit(unit))), [0b0011, 0b1100]);
        assert_eq!(units(4096).quarters(MapUnit(1)), 0b1111);
    }

    #[test]
    fn a_set_names_what_was_added() {
        let mut set = UnitSet::default();
        assert!(set.is_empty());
        [4, 5, 7].into_iter().for_each(|unit| set.add(MapUnit(unit)));
        assert!(set.iter().eq([4, 5, 7].map(MapUnit)));
        assert!(UnitSet::one(MapUnit(9)).iter().eq([MapUnit(9)]));
    }

    #[test]
    fn a_bitmap_has_a_bit_for_every_map_unit() {
        let parts =
            |gib: u32, bytes| MapUnits::new(gib << 18, MapShape::part_of_segment(bytes)).with_bitmaps().bitmap_parts();
        assert_eq!([4096, 2048, 1024].map(|bytes| parts(128, bytes)), [1, 2, 4], "4, 8 and 16 KiB");
        assert_eq!([4096, 2048, 1024].map(|bytes| parts(1, bytes)), [1, 1, 1]);
        assert_eq!(MapUnits::new(128 << 18, MapShape::part_of_segment(1024)).bitmap_parts(), 1);
    }
}
