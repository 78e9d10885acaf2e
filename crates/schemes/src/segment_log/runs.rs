//! `first_level = "runs"`: the first level of a compressed table.
//!
//! Shipped devices keep a table of two levels, and an entry of the first one names the place of a whole region if its
//! data lie together, as a huge page does ("Unleashing Zoned UFS", FAST 2026, Sec. 2). Here the region is a map unit.
//! Its addresses all have places one after another, so the first place tells every entry: no read of the unit is needed
//! for a lookup, a map flush or a valid page search. One write somewhere in the region breaks it. Data that come to lie
//! together again, because the host writes them in order or GC copies them so, mend it with the next map flush.
//!
//! The unit itself is written with every change all the same: a power cut then loses nothing that the other table would
//! keep, and recovery, which reads all units, finds the runs again. A device that writes only units that are no runs
//! saves one program of 4 KiB for 4 MiB of data. What it can not save is told by the entry's size: a place and a first
//! place, 4 bytes each.

use units::{Lpa, MapUnit, Ppa};

use super::updates::Update;
use ftl::seat::{Core, Loaded, MapUnits, Piece, Programmed, ProgrammedSet};

/// Bytes of a first place.
const ENTRY_BYTES: u64 = 4;

units::kinds! {
    /// What the first level of the table says of a map unit.
    pub FirstLevel {
        /// Its place on flash only.
        Places = "places";
        /// Also the place of its data, if these lie together: then no read of it is needed, as for a huge page.
        Runs = "runs";
    }
}

/// The map units whose data lie together.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Runs {
    /// The first place of each, packed; 0 = they do not.
    firsts: Vec<u32>,
}

impl Runs {
    /// Of a new device, on which nothing is written.
    pub fn new(units: MapUnits) -> Runs {
        Runs { firsts: vec![0; units.count() as usize] }
    }

    /// As it follows from the map units, all of which recovery has read.
    pub fn restored(core: &Core) -> Runs {
        let units = (0..core.units().count()).map(MapUnit);
        Runs { firsts: units.map(|unit| Ppa::pack(core.restored_run(unit))).collect() }
    }

    /// SRAM that it takes.
    pub fn table_bytes(&self) -> u64 {
        self.firsts.len() as u64 * ENTRY_BYTES
    }

    /// Map units whose data lie together.
    pub fn count(&self) -> u64 {
        self.firsts.iter().filter(|&&first| first != 0).count() as u64
    }

    fn first(&self, unit: MapUnit) -> Option<Ppa> {
        Ppa::unpack(self.firsts[unit.index()])
    }

    /// True if it tells all entries of a map unit.
    #[inline]
    pub fn tells(&self, unit: MapUnit) -> bool {
        self.firsts[unit.index()] != 0
    }

    /// The place of an address, if it tells that.
    #[inline]
    pub fn place(&self, units: MapUnits, lpa: Lpa) -> Option<Ppa> {
        self.first(units.of(lpa)).map(|first| first.offset(units.slot(lpa)))
    }

    /// The content of a map unit, made of its first place.
    pub fn made(&self, core: &Core, unit: MapUnit) -> Option<Loaded> {
        self.first(unit).map(|first| core.made_of_run(unit, first))
    }

    /// The map units of a round were programmed, with these updates.
    pub fn round_programmed(&mut self, core: &Core, programmed: &ProgrammedSet, updates: &[Update]) {
        let mut at = 0;
        for of_unit in updates.chunk_by(|a, b| a.rank == b.rank) {
            let changed = of_unit[0].lpa;
            if let Some(programmed) = programmed.next(&mut at, Piece::of(core.units().of(changed))) {
                self.programmed(core, programmed, changed);
            }
        }
    }

    /// A map unit was programmed with a change of this address: whether its data lie together now.
    pub fn programmed(&mut self, core: &Core, programmed: &Programmed, changed: Lpa) {
        let first = core.programmed_run(programmed, changed);
        if first.is_some() || !core.keeps_stale_runs() {
            self.firsts[programmed.piece().0 as usize] = Ppa::pack(first);
        }
    }
}
