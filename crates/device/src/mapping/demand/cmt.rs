//! The cached mapping table of DFTL: single L2P entries, replaced by segmented LRU (Gupta et al., ASPLOS 2009, Sec.
//! 3.2).
//!
//! A new entry is probationary. An entry that is used again becomes protected. If the protected part is full, its least
//! recently used entry becomes the most recently used probationary one. The least recently used probationary entry
//! leaves the cache first. The protected part is one eighth, so protected to probationary is 1:7 (MAP+ Sec. V-D).

use std::collections::BTreeSet;

use lists::Rings;
use units::{Lpa, Ppa, SegmentId};

use super::addresses::Addresses;
use crate::map_units::MapUnits;

/// The protected part of the cache is one of this many (MAP+ Sec. V-D).
const PROTECTED_ONE_IN: u64 = 8;

const PROBATIONARY: usize = 0;
const PROTECTED: usize = 1;

/// One cached entry.
#[derive(Clone, Copy, Hash, Default, Debug)]
struct Entry {
    lpa: u32,
    ppa: u32,
    /// Number of the newest change in the entry, or of the newest trim; kept while writes of the address are under way.
    seq: u64,
    /// Number of writes under way.
    pins: u16,
    list: u8,
    dirty: bool,
}

/// The cache. It does no flash I/O; its caller makes room before inserting.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Cmt {
    capacity: u64,
    units: MapUnits,
    /// The two lists, in order of use.
    entries: Rings<u32, 2, Entry>,
    /// Length of each list.
    held: [u64; 2],
    free: Vec<u32>,
    /// Slot of an address plus one. An index of the simulator; firmware would hash.
    slot_of: Vec<u32>,
    /// Number of cached entries, and of dirty ones, by translation page.
    cached: Vec<u16>,
    dirty: Vec<u16>,
    dirty_units: BTreeSet<SegmentId>,
    /// Addresses whose entries are dirty.
    dirty_lpas: Addresses,
}

impl Cmt {
    /// Room for `capacity` entries of a table.
    pub fn new(capacity: u64, units: MapUnits) -> Cmt {
        Cmt {
            capacity,
            units,
            entries: Rings::new(),
            held: [0; 2],
            free: Vec::new(),
            slot_of: table::zeroed(units.capacity_units() as usize),
            cached: vec![0; units.count() as usize],
            dirty: vec![0; units.count() as usize],
            dirty_units: BTreeSet::new(),
            dirty_lpas: Addresses::new(units.capacity_units()),
        }
    }

    /// Number of entries in the cache.
    #[inline]
    pub fn len(&self) -> u64 {
        self.held[PROBATIONARY] + self.held[PROTECTED]
    }

    /// Number of entries that can be inserted now.
    #[inline]
    pub fn room(&self) -> u64 {
        self.capacity - self.len()
    }

    /// True if the entry of this address is cached.
    #[inline]
    pub fn is_cached(&self, lpa: Lpa) -> bool {
        self.slot_of[lpa.index()] != 0
    }

    /// The entry of an address, if it is cached.
    #[inline]
    pub fn get(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slot(lpa)?;
        Some(Ppa::unpack(self.entries[slot].ppa))
    }

    /// Notes a use of the entry of an address, for replacement. True if the entry is cached.
    #[inline]
    pub fn touch(&mut self, lpa: Lpa) -> bool {
        let Some(slot) = self.slot(lpa) else { return false };
        self.make_newest(slot, PROTECTED);
        if self.held[PROTECTED] > self.capacity / PROTECTED_ONE_IN
            && let Some(demoted) = self.entries.oldest(PROTECTED)
        {
            self.make_newest(demoted, PROBATIONARY);
        }
        true
    }

    /// Inserts an entry. The cache must have room.
    pub fn insert(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        assert!(self.room() > 0 && !self.is_cached(lpa), "{lpa} enters a mapping cache of {} entries", self.len());
        let entry = Entry { lpa: lpa.0, ppa: Ppa::pack(ppa), ..Entry::default() };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot] = entry;
                slot
            }
            None => self.entries.add(entry),
        };
        self.slot_of[lpa.index()] = slot + 1;
        self.cached[self.units.of(lpa).index()] += 1;
        self.held[PROBATIONARY] += 1;
        self.entries.link_newest(PROBATIONARY, slot);
    }

    /// Drops a clean entry.
    pub fn remove(&mut self, lpa: Lpa) {
        let slot = std::mem::take(&mut self.slot_of[lpa.index()]) - 1;
        let Entry { dirty, pins, list, .. } = self.entries[slot];
        assert!(!dirty && pins == 0, "{lpa} leaves the mapping cache while it is needed");
        self.cached[self.units.of(lpa).index()] -= 1;
        self.held[usize::from(list)] -= 1;
        self.entries.remove(slot);
        self.free.push(slot);
    }

    /// The entry that leaves next: the least recently used one that no write under way needs.
    pub fn victim(&self) -> Option<Lpa> {
        self.in_order_of_eviction().find(|entry| entry.pins == 0).map(|entry| Lpa(entry.lpa))
    }

    /// Every entry, in the order in which they would leave.
    fn in_order_of_eviction(&self) -> impl Iterator<Item = &Entry> {
        let slots = [PROBATIONARY, PROTECTED].into_iter().flat_map(|list| self.entries.oldest_first(list));
        slots.map(|slot| &self.entries[slot])
    }

    /// The translation page to write first. It is the page of the first dirty entry among the `look` entries that leave
    /// next, else any page with dirty entries.
    pub fn coldest_dirty(&self, look: usize) -> Option<SegmentId> {
        let first_dirty = self.in_order_of_eviction().take(look).find(|entry| entry.dirty);
        first_dirty.map(|entry| self.units.of(Lpa(entry.lpa))).or_else(|| self.dirty_units.first().copied())
    }

    /// Changes a cached entry. Gives its value before, and whether it was dirty.
    #[inline]
    pub fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let entry = self.entry(lpa);
        let old = Ppa::unpack(std::mem::replace(&mut entry.ppa, Ppa::pack(ppa)));
        let was_dirty = std::mem::replace(&mut entry.dirty, true);
        if !was_dirty {
            self.dirty_lpas.insert(lpa);
            let unit = self.units.of(lpa);
            self.dirty[unit.index()] += 1;
            if self.dirty[unit.index()] == 1 {
                self.dirty_units.insert(unit);
            }
        }
        (old, was_dirty)
    }

    /// Marks an entry as clean: its change is now on flash or in another cache.
    pub fn clean(&mut self, lpa: Lpa) {
        let entry = self.entry(lpa);
        if std::mem::take(&mut entry.dirty) {
            self.dirty_lpas.remove(lpa);
            let unit = self.units.of(lpa);
            self.dirty[unit.index()] -= 1;
            if self.dirty[unit.index()] == 0 {
                self.dirty_units.remove(&unit);
            }
        }
    }

    /// True if the entry of an address is cached and dirty.
    #[inline]
    pub fn is_dirty(&self, lpa: Lpa) -> bool {
        self.dirty_lpas.contains(lpa)
    }

    /// A write of this address begins. Its entry must not leave before [`Cmt::unpin`].
    #[inline]
    pub fn pin(&mut self, lpa: Lpa) {
        self.entry(lpa).pins += 1;
    }

    /// The write with number `seq` has ended. True if the entry holds nothing newer.
    #[inline]
    pub fn unpin(&mut self, lpa: Lpa, seq: u64) -> bool {
        let entry = self.entry(lpa);
        entry.pins -= 1;
        let newest = seq > entry.seq;
        entry.seq = entry.seq.max(seq);
        newest
    }

    /// A trim with this number. Writes under way with lower numbers no longer count.
    pub fn trimmed(&mut self, lpa: Lpa, seq: u64) {
        let entry = self.entry(lpa);
        entry.seq = entry.seq.max(seq);
    }

    /// The addresses of a translation page whose entries are cached, in order.
    pub fn cached_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        let range = if self.cached[unit.index()] > 0 { self.units.range(unit) } else { 0..0 };
        range.map(Lpa).filter(|&lpa| self.is_cached(lpa))
    }

    /// The addresses of a translation page whose entries are cached and dirty, in order.
    pub fn dirty_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        let range = if self.dirty[unit.index()] > 0 { self.units.range(unit) } else { 0..0 };
        self.dirty_lpas.within(range)
    }

    /// The translation pages of the dirty entries whose place is one that `named` holds for, in no order, and some of
    /// them several times.
    pub fn dirty_pages(&self, named: impl Fn(Ppa) -> bool) -> impl Iterator<Item = SegmentId> {
        // In the order in which they lie in memory: the other two orders would jump.
        let dirty = self.entries.values().filter(|entry| entry.dirty);
        let naming = dirty.filter(move |entry| Ppa::unpack(entry.ppa).is_some_and(&named));
        naming.map(|entry| self.units.of(Lpa(entry.lpa)))
    }

    /// Number of entries that fit the cache in all.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Translation pages with changed entries, in order.
    pub fn dirty_units(&self) -> &BTreeSet<SegmentId> {
        &self.dirty_units
    }

    #[inline]
    fn slot(&self, lpa: Lpa) -> Option<u32> {
        self.slot_of[lpa.index()].checked_sub(1)
    }

    /// The entry of an address that is cached.
    #[inline]
    fn entry(&mut self, lpa: Lpa) -> &mut Entry {
        &mut self.entries[self.slot_of[lpa.index()] - 1]
    }

    /// Makes an entry the most recently used of a list.
    #[inline]
    fn make_newest(&mut self, slot: u32, list: usize) {
        let before = std::mem::replace(&mut self.entries[slot].list, list as u8);
        self.held[usize::from(before)] -= 1;
        self.held[list] += 1;
        self.entries.touch(list, slot);
    }
}

#[cfg(test)]
#[path = "cmt_tests.rs"]
mod tests;
