//! Which cached entries differ from flash, by translation page.

use std::collections::BTreeSet;

use units::{Lpa, SegmentId};

use super::bits::Bits;
use crate::map_units::MapUnits;

/// The dirty entries of a cache.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Dirty {
    units: MapUnits,
    lpas: Bits,
    /// Number of dirty entries, by translation page.
    counts: Vec<u16>,
    pages: BTreeSet<SegmentId>,
}

impl Dirty {
    /// All entries are clean.
    pub fn new(units: MapUnits) -> Dirty {
        let (lpas, counts) = (Bits::new(units.capacity_units()), vec![0; units.count() as usize]);
        Dirty { units, lpas, counts, pages: BTreeSet::new() }
    }

    /// True if the entry of an address is dirty.
    #[inline]
    pub fn contains(&self, lpa: Lpa) -> bool {
        self.lpas.contains(lpa.0)
    }

    /// Adds the entry of an address, which must be clean.
    #[inline]
    pub fn add(&mut self, lpa: Lpa) {
        self.lpas.insert(lpa.0);
        let unit = self.units.of(lpa);
        self.counts[unit.index()] += 1;
        if self.counts[unit.index()] == 1 {
            self.pages.insert(unit);
        }
    }

    /// Takes the entry of an address away. It must be dirty.
    #[inline]
    pub fn remove(&mut self, lpa: Lpa) {
        self.lpas.remove(lpa.0);
        let unit = self.units.of(lpa);
        self.counts[unit.index()] -= 1;
        if self.counts[unit.index()] == 0 {
            self.pages.remove(&unit);
        }
    }

    /// Number of dirty entries of a translation page.
    #[inline]
    pub fn count(&self, unit: SegmentId) -> u32 {
        self.counts[unit.index()].into()
    }

    /// The addresses of a translation page whose entries are dirty, in order.
    pub fn within(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        self.lpas.within(if self.count(unit) > 0 { self.units.range(unit) } else { 0..0 }).map(Lpa)
    }

    /// Translation pages with dirty entries, in order.
    pub fn pages(&self) -> &BTreeSet<SegmentId> {
        &self.pages
    }
}
