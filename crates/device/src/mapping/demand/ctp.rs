//! The second level of CDFTL: whole translation pages, replaced by LRU (Qin et al., RTAS 2011, Sec. 3).

use std::collections::{BTreeMap, BTreeSet};

use units::{Lpa, Ppa, SegmentId};

use crate::map_units::MapUnits;

#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
struct Page {
    /// Packed PPAs, by position in the page.
    entries: Vec<u32>,
    /// Entries that differ from flash.
    changed: BTreeSet<Lpa>,
    used: u64,
}

/// Cached translation pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Ctp {
    limit: u64,
    units: MapUnits,
    pages: BTreeMap<SegmentId, Page>,
    /// Pages by the time of their last use.
    order: BTreeMap<u64, SegmentId>,
    uses: u64,
    /// Number of changed entries in all pages.
    changes: usize,
}

impl Ctp {
    /// Room for `limit` pages.
    pub fn new(limit: u64, units: MapUnits) -> Ctp {
        Ctp { limit, units, pages: BTreeMap::new(), order: BTreeMap::new(), uses: 0, changes: 0 }
    }

    /// Number of pages that can be inserted now.
    pub fn room(&self) -> u64 {
        self.limit - self.pages.len() as u64
    }

    /// True if this translation page is cached.
    pub fn holds(&self, unit: SegmentId) -> bool {
        self.pages.contains_key(&unit)
    }

    /// The entry of an address, if its page is cached.
    pub fn get(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        let unit = self.units.of(lpa);
        let at = lpa.0 - self.units.range(unit).start;
        self.pages.get(&unit).map(|page| Ppa::unpack(page.entries[at as usize]))
    }

    /// Notes a use of a page, for replacement.
    pub fn touch(&mut self, unit: SegmentId) {
        if let Some(page) = self.pages.get_mut(&unit) {
            self.uses += 1;
            self.order.remove(&page.used);
            page.used = self.uses;
            self.order.insert(self.uses, unit);
        }
    }

    /// Inserts a page with its content on flash. The cache must have room.
    pub fn insert(&mut self, unit: SegmentId, entries: Vec<u32>) {
        assert!(self.room() > 0, "translation page {unit} enters a full cache of {} pages", self.limit);
        self.uses += 1;
        self.order.insert(self.uses, unit);
        self.pages.insert(unit, Page { entries, changed: BTreeSet::new(), used: self.uses });
    }

    /// The least recently used page.
    pub fn victim(&self) -> Option<SegmentId> {
        self.order.first_key_value().map(|(_, &unit)| unit)
    }

    /// Drops a page without changes.
    pub fn remove(&mut self, unit: SegmentId) {
        if let Some(page) = self.pages.remove(&unit) {
            assert!(page.changed.is_empty(), "translation page {unit} leaves the cache with changes");
            self.order.remove(&page.used);
        }
    }

    /// Changes an entry of a cached page. Gives its value before, and whether it differed from flash.
    pub fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let before = self.get(lpa).flatten();
        self.note(lpa, ppa);
        let page = self.pages.get_mut(&self.units.of(lpa));
        let was_changed = page.is_some_and(|page| !page.changed.insert(lpa));
        self.changes += usize::from(!was_changed);
        (before, was_changed)
    }

    /// The entry of an address has this value on flash now. Updates the page of the address, if it is cached.
    pub fn note(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        let unit = self.units.of(lpa);
        let at = lpa.0 - self.units.range(unit).start;
        if let Some(page) = self.pages.get_mut(&unit) {
            page.entries[at as usize] = Ppa::pack(ppa);
        }
    }

    /// Drops the mark of a changed entry. Gives the entry if it was marked.
    pub fn forget_change(&mut self, lpa: Lpa) -> Option<Option<Ppa>> {
        let page = self.pages.get_mut(&self.units.of(lpa))?;
        let changed = page.changed.remove(&lpa);
        self.changes -= usize::from(changed);
        changed.then(|| self.get(lpa).flatten())
    }

    /// True if any entry differs from flash.
    pub fn is_changed(&self) -> bool {
        self.changes > 0
    }

    /// Changed entries of a page, in order.
    pub fn changed_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        self.pages.get(&unit).into_iter().flat_map(|page| page.changed.iter().copied())
    }

    /// The least recently used page with changes.
    pub fn coldest_changed(&self) -> Option<SegmentId> {
        self.order.values().copied().find(|&unit| self.changed_in(unit).next().is_some())
    }

    /// Cached pages, in order.
    pub fn units(&self) -> impl Iterator<Item = SegmentId> {
        self.pages.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_units::{MapShape, Numbered};

    #[test]
    fn pages_leave_in_order_of_use_and_changes_are_known() {
        let mut ctp =
            Ctp::new(2, MapUnits::new(4096, MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory }));
        ctp.insert(SegmentId(0), vec![0; 512]);
        ctp.insert(SegmentId(3), vec![0; 512]);
        ctp.touch(SegmentId(0));
        assert_eq!((ctp.victim(), ctp.room()), (Some(SegmentId(3)), 0));
        assert!(!ctp.is_changed());
        let lpa = Lpa(3 * 512 + 7);
        assert_eq!(ctp.set(lpa, Some(Ppa(5))), (None, false));
        assert_eq!(ctp.set(lpa, Some(Ppa(6))), (Some(Ppa(5)), true));
        assert_eq!((ctp.get(lpa), ctp.coldest_changed()), (Some(Some(Ppa(6))), Some(SegmentId(3))));
        assert!(ctp.is_changed());
        assert_eq!((ctp.forget_change(lpa), ctp.forget_change(lpa)), (Some(Some(Ppa(6))), None));
        assert!(!ctp.is_changed(), "one entry has changed, however often");
        ctp.remove(SegmentId(3));
        assert_eq!((ctp.get(lpa), ctp.room()), (None, 1));
    }
}
