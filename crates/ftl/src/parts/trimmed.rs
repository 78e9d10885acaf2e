//! Trims of a scheme whose table is in DRAM. They must survive a power cut, and the journal has few pages. When it is
//! nearly full, the segments with trims are written to flash. Nothing else of such a table is ever written.

use std::collections::BTreeSet;

use units::{MapUnit, Seq};

use crate::core::Core;
use crate::knowledge::ProgrammedSet;
use crate::parts::unit_writes::UnitWrites;
use crate::sram::pool::Owner;

/// Segments with trims that are not on flash.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct TrimmedSegments {
    touched: BTreeSet<MapUnit>,
    /// True if a flush is wanted.
    pub wanted: bool,
    writes: UnitWrites,
    held: u16,
    /// The last change that the present flush covers.
    seq: Seq,
    flushing: bool,
}

impl TrimmedSegments {
    /// A unit of this segment has been trimmed.
    pub fn touch(&mut self, segment: MapUnit) {
        self.touched.insert(segment);
    }

    /// Writes the segments, as many at a time as there are buffers. `table` has the whole mapping, packed, by LPA. True
    /// when all segments are on flash.
    pub fn flush(&mut self, core: &mut Core, table: &[u32]) -> bool {
        if core.programs_in_flight() > 0 {
            return false;
        }
        if !self.flushing {
            self.flushing = true;
            self.seq = Seq(core.next_seq().0 - 1);
        }
        let programmed = core.take_programmed();
        self.writes.finish(core, &programmed);
        core.give_buffers(Owner::Map, std::mem::take(&mut self.held));
        let mut images = Vec::new();
        while core.buffers_available(Owner::Map) > 0
            && let Some(segment) = self.touched.pop_first()
        {
            let taken = core.take_buffers(Owner::Map, 1);
            assert!(taken, "asked just now");
            self.held += 1;
            let range = core.units().range(segment);
            images.push((segment, table[range.start as usize..range.end as usize].to_vec()));
        }
        if images.is_empty() {
            core.trims_covered(self.seq.plus(1));
            (self.wanted, self.flushing) = (false, false);
            return true;
        }
        self.writes.write(core, images, self.seq);
        false
    }

    /// The power is gone. Makes the segments whose programs survived the content of flash.
    pub fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.writes.finish(core, survived);
    }

    /// State after recovery: the segments of the trims that the journal still holds.
    pub fn restored(core: &mut Core) -> TrimmedSegments {
        let mut trims = TrimmedSegments::default();
        let units = core.units();
        for trim in core.take_restored_trims() {
            let last = units.of(trim.lpa.offset(trim.len - 1));
            trims.touched.extend((units.of(trim.lpa).0..=last.0).map(MapUnit));
        }
        trims
    }
}

#[cfg(test)]
mod tests {
    use units::Lpa;

    use super::*;
    use crate::knowledge::TrimRecord;
    use crate::table::map_units::{MapShape, MapUnits};
    use crate::testing::small;

    /// The segments, of 1024 addresses each, that are written for these trims of (first address, length).
    fn segments_of(trims: &[(u32, u32)]) -> Vec<u32> {
        let mut core = Core::in_test(small(), MapUnits::new(4096, MapShape::SEGMENT));
        let record = |&(lpa, len): &(u32, u32)| TrimRecord { lpa: Lpa(lpa), len, seq: Seq(9) };
        core.trims_in_test().restore(0, &trims.iter().map(record).collect::<Vec<_>>());
        TrimmedSegments::restored(&mut core).touched.into_iter().map(|segment| segment.0).collect()
    }

    #[test]
    fn after_recovery_the_segments_of_the_trims_in_the_journal_are_written_and_no_others() {
        assert_eq!(segments_of(&[]), []);
        assert_eq!(segments_of(&[(1000, 24), (4095, 1)]), [0, 3], "the ends of a segment and of the device");
        assert_eq!(segments_of(&[(2047, 1026), (1024, 1)]), [1, 2, 3]);
    }
}
