//! The second level of CDFTL: whole translation pages, replaced by LRU (Qin et al., RTAS 2011, Sec. 3).

use lists::Rings;
use units::{Lpa, Ppa, SegmentId};

use super::addresses::Addresses;
use crate::map_units::MapUnits;

#[derive(Clone, Hash, Default, Debug)]
struct Page {
    unit: u32,
    /// Packed PPAs, by position in the page.
    entries: Vec<u32>,
    /// Number of entries that differ from flash.
    changed: u32,
}

/// Cached translation pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Ctp {
    limit: u64,
    units: MapUnits,
    /// In order of use. A page that has left keeps its memory for the next one.
    pages: Rings<u32, 1, Page>,
    free: Vec<u32>,
    /// Slot of a page plus one.
    slot_of: Vec<u32>,
    /// Addresses of entries that differ from flash.
    changed: Addresses,
    /// Their number, in all pages.
    changes: usize,
}

impl Ctp {
    /// Room for `limit` pages.
    pub fn new(limit: u64, units: MapUnits) -> Ctp {
        let (pages, addresses) = if limit > 0 { (units.count(), units.capacity_units()) } else { (0, 0) };
        Ctp {
            limit,
            units,
            pages: Rings::new(),
            free: Vec::new(),
            slot_of: vec![0; pages as usize],
            changed: Addresses::new(addresses),
            changes: 0,
        }
    }

    /// Number of pages that can be inserted now.
    pub fn room(&self) -> u64 {
        self.limit - (self.pages.slots() - self.free.len()) as u64
    }

    /// True if this translation page is cached.
    #[inline]
    pub fn holds(&self, unit: SegmentId) -> bool {
        self.slot(unit).is_some()
    }

    /// The entry of an address, if its page is cached.
    #[inline]
    pub fn get(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slot(self.units.of(lpa))?;
        Some(Ppa::unpack(self.pages[slot].entries[self.units.slot(lpa) as usize]))
    }

    /// Notes a use of a page, for replacement.
    pub fn touch(&mut self, unit: SegmentId) {
        if let Some(slot) = self.slot(unit) {
            self.pages.touch(0, slot);
        }
    }

    /// Inserts a page with its content on flash, which `read` puts into an empty list. The cache must have room.
    pub fn insert(&mut self, unit: SegmentId, read: impl FnOnce(&mut Vec<u32>)) {
        assert!(self.room() > 0 && !self.holds(unit), "translation page {unit} enters a cache of {} pages", self.limit);
        let slot = self.free.pop().unwrap_or_else(|| self.pages.add(Page::default()));
        let page = &mut self.pages[slot];
        page.unit = unit.0;
        read(&mut page.entries);
        self.slot_of[unit.index()] = slot + 1;
        self.pages.link_newest(0, slot);
    }

    /// The least recently used page.
    pub fn victim(&self) -> Option<SegmentId> {
        self.pages.oldest(0).map(|slot| SegmentId(self.pages[slot].unit))
    }

    /// Drops a page without changes.
    pub fn remove(&mut self, unit: SegmentId) {
        if let Some(slot) = self.slot(unit) {
            let page = &mut self.pages[slot];
            assert!(page.changed == 0, "translation page {unit} leaves the cache with changes");
            page.entries.clear();
            self.slot_of[unit.index()] = 0;
            self.pages.remove(slot);
            self.free.push(slot);
        }
    }

    /// Changes an entry of a cached page. Gives its value before, and whether it differed from flash.
    pub fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let slot = self.slot(self.units.of(lpa)).expect("only an entry of a cached page is changed");
        let page = &mut self.pages[slot];
        let entry = &mut page.entries[self.units.slot(lpa) as usize];
        let before = Ppa::unpack(std::mem::replace(entry, Ppa::pack(ppa)));
        let was_changed = self.changed.contains(lpa);
        if !was_changed {
            self.changed.insert(lpa);
            page.changed += 1;
            self.changes += 1;
        }
        (before, was_changed)
    }

    /// The entry of an address has this value on flash now. Updates the page of the address, if it is cached.
    pub fn note(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        if let Some(slot) = self.slot(self.units.of(lpa)) {
            self.pages[slot].entries[self.units.slot(lpa) as usize] = Ppa::pack(ppa);
        }
    }

    /// Drops the mark of a changed entry. Gives the entry if it was marked.
    pub fn forget_change(&mut self, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slot(self.units.of(lpa))?;
        if !self.changed.contains(lpa) {
            return None;
        }
        self.changed.remove(lpa);
        self.pages[slot].changed -= 1;
        self.changes -= 1;
        self.get(lpa)
    }

    /// True if any entry differs from flash.
    pub fn is_changed(&self) -> bool {
        self.changes > 0
    }

    /// Changed entries of a page, in order.
    pub fn changed_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        let changed = self.slot(unit).is_some_and(|slot| self.pages[slot].changed > 0);
        self.changed.within(if changed { self.units.range(unit) } else { 0..0 })
    }

    /// The least recently used page with changes.
    pub fn coldest_changed(&self) -> Option<SegmentId> {
        let mut pages = self.pages.oldest_first(0).map(|slot| &self.pages[slot]);
        pages.find(|page| page.changed > 0).map(|page| SegmentId(page.unit))
    }

    /// Cached pages, the least recently used one first.
    pub fn units(&self) -> impl Iterator<Item = SegmentId> {
        self.pages.oldest_first(0).map(|slot| SegmentId(self.pages[slot].unit))
    }

    #[inline]
    fn slot(&self, unit: SegmentId) -> Option<u32> {
        self.slot_of.get(unit.index())?.checked_sub(1)
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
        ctp.insert(SegmentId(0), |entries| entries.resize(512, 0));
        ctp.insert(SegmentId(3), |entries| entries.resize(512, 0));
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
