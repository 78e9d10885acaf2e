//! Which cached entries differ from flash, by translation page.

use lists::Bits;
use units::{Lpa, MapUnit};

use ftl::seat::MapUnits;

/// The dirty entries of a cache.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Dirty {
    units: MapUnits,
    lpas: Bits,
    /// Number of dirty entries, by translation page.
    counts: Vec<u16>,
    /// Translation pages with dirty entries, and their number.
    pages: Bits,
    held: u32,
}

impl Dirty {
    /// All entries are clean.
    pub fn new(units: MapUnits) -> Dirty {
        let (lpas, counts) = (Bits::new(units.capacity_units()), vec![0; units.count() as usize]);
        Dirty { units, lpas, counts, pages: Bits::new(units.count()), held: 0 }
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
            self.pages.insert(unit.0);
            self.held += 1;
        }
    }

    /// Prefetches what [`Dirty::add`] looks at.
    #[inline]
    pub fn prefetch(&self, lpa: Lpa) {
        self.lpas.prefetch(lpa.0);
    }

    /// Takes the entry of an address away. It must be dirty.
    #[inline]
    pub fn remove(&mut self, lpa: Lpa) {
        self.lpas.remove(lpa.0);
        let unit = self.units.of(lpa);
        self.counts[unit.index()] -= 1;
        if self.counts[unit.index()] == 0 {
            self.pages.remove(unit.0);
            self.held -= 1;
        }
    }

    /// Number of dirty entries of a translation page.
    #[inline]
    pub fn count(&self, unit: MapUnit) -> u32 {
        self.counts[unit.index()].into()
    }

    /// The addresses of a translation page whose entries are dirty, in order.
    pub fn within(&self, unit: MapUnit) -> impl Iterator<Item = Lpa> {
        self.lpas.within(if self.count(unit) > 0 { self.units.range(unit) } else { 0..0 }).map(Lpa)
    }

    /// True if no entry is dirty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Translation pages with dirty entries, in order.
    pub fn pages(&self) -> impl Iterator<Item = MapUnit> {
        self.pages.within(if self.is_empty() { 0..0 } else { 0..self.units.count() }).map(MapUnit)
    }
}
