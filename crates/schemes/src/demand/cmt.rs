//! The cached mapping table of DFTL: single L2P entries, replaced by segmented LRU (Gupta et al., ASPLOS 2009, Sec.
//! 3.2).
//!
//! A new entry is probationary. An entry that is used again becomes protected. If the protected part is full, its least
//! recently used entry becomes the most recently used probationary one. The least recently used probationary entry
//! leaves the cache first. The protected part is one eighth unless a profile says otherwise, so protected to
//! probationary is 1:7 (MAP+ Sec. V-D). Without a protected part the cache is a plain LRU, as the buffer of `sftl` is.

use std::fmt::Debug;
use std::marker::PhantomData;

use lists::Rings;
use units::{Lpa, MapUnit, Ppa};

use super::dirty::Dirty;
use super::entries::EntryCache;
use super::settings::{CmtParams, Own};
use super::slots::Slots;
use ftl::seat::MapUnits;

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
pub struct Cmt<O = CmtParams> {
    own: PhantomData<O>,
    capacity: u64,
    /// Most entries of the protected part; with none, a plain LRU.
    protected: u64,
    units: MapUnits,
    /// The two lists, in order of use.
    entries: Rings<u32, 2, Entry>,
    /// Length of each list.
    held: [u64; 2],
    free: Vec<u32>,
    slots: Slots,
    /// Number of cached entries, by translation page.
    cached: Vec<u16>,
    dirty: Dirty,
}

impl<O: Own> Cmt<O> {
    /// Room for `capacity` entries of a table. One of `protected_one_in` is protected, or none with 0.
    fn with_entries(capacity: u64, units: MapUnits, protected_one_in: u32) -> Cmt<O> {
        Cmt {
            own: PhantomData,
            capacity,
            protected: capacity.checked_div(protected_one_in.into()).unwrap_or(0),
            units,
            entries: Rings::new(),
            held: [0; 2],
            free: Vec::new(),
            slots: Slots::new(capacity, units.capacity_units()),
            cached: vec![0; units.count() as usize],
            dirty: Dirty::new(units),
        }
    }

    /// Entries of the table that fit into so many bytes.
    fn fitting(own: &O, bytes: u64, units: MapUnits) -> u64 {
        (bytes / u64::from(own.most_entry_bytes())).min(units.capacity_units().into())
    }

    /// Number of entries in the cache.
    #[inline]
    pub fn len(&self) -> u64 {
        self.held[PROBATIONARY] + self.held[PROTECTED]
    }

    /// Every entry, in the order in which they would leave.
    fn in_order_of_eviction(&self) -> impl Iterator<Item = &Entry> {
        let slots = [PROBATIONARY, PROTECTED].into_iter().flat_map(|list| self.entries.oldest_first(list));
        slots.map(|slot| &self.entries[slot])
    }

    /// The entry of an address that is cached.
    #[inline]
    fn entry(&mut self, lpa: Lpa) -> &mut Entry {
        let slot = self.slots.of(lpa).expect("only an entry of the cache is used");
        &mut self.entries[slot]
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

impl<O: Own + Debug> EntryCache for Cmt<O> {
    type Own = O;

    fn new(own: &O, bytes: u64, units: MapUnits) -> Cmt<O> {
        Cmt::with_entries(Cmt::<O>::fitting(own, bytes, units), units, own.protected_one_in())
    }

    fn sram(own: &O, bytes: u64, units: MapUnits) -> u64 {
        Cmt::<O>::fitting(own, bytes, units) * u64::from(own.most_entry_bytes())
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline]
    fn room(&self) -> u64 {
        self.capacity - self.len()
    }

    #[inline]
    fn is_cached(&self, lpa: Lpa) -> bool {
        self.slots.of(lpa).is_some()
    }

    #[inline]
    fn get(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slots.of(lpa)?;
        Some(Ppa::unpack(self.entries[slot].ppa))
    }

    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        self.slots.prefetch(lpa);
    }

    #[inline]
    fn prefetch_entry(&self, lpa: Lpa) {
        if let Some(slot) = self.slots.of(lpa) {
            table::prefetch(&self.entries[slot]);
        }
    }

    #[inline]
    fn touch(&mut self, lpa: Lpa) -> bool {
        let Some(slot) = self.slots.of(lpa) else { return false };
        if self.protected == 0 {
            self.make_newest(slot, PROBATIONARY);
            return true;
        }
        self.make_newest(slot, PROTECTED);
        if self.held[PROTECTED] > self.protected
            && let Some(demoted) = self.entries.oldest(PROTECTED)
        {
            self.make_newest(demoted, PROBATIONARY);
        }
        true
    }

    fn insert(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        assert!(self.room() > 0 && !self.is_cached(lpa), "{lpa} enters a mapping cache of {} entries", self.len());
        let entry = Entry { lpa: lpa.0, ppa: Ppa::pack(ppa), ..Entry::default() };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot] = entry;
                slot
            }
            None => self.entries.add(entry),
        };
        self.slots.insert(lpa, slot);
        // Most entries come for a write, which changes them.
        self.dirty.prefetch(lpa);
        self.cached[self.units.of(lpa).index()] += 1;
        self.held[PROBATIONARY] += 1;
        self.entries.link_newest(PROBATIONARY, slot);
    }

    fn remove(&mut self, lpa: Lpa) {
        let slot = self.slots.take(lpa).expect("only an entry of the cache leaves it");
        let Entry { dirty, pins, list, .. } = self.entries[slot];
        assert!(!dirty && pins == 0, "{lpa} leaves the mapping cache while it is needed");
        self.cached[self.units.of(lpa).index()] -= 1;
        self.held[usize::from(list)] -= 1;
        self.entries.remove(slot);
        self.free.push(slot);
    }

    fn victim(&self) -> Option<Lpa> {
        self.in_order_of_eviction().find(|entry| entry.pins == 0).map(|entry| Lpa(entry.lpa))
    }

    fn coldest_dirty(&self, look: usize) -> Option<MapUnit> {
        let first_dirty = self.in_order_of_eviction().take(look).find(|entry| entry.dirty);
        first_dirty.map(|entry| self.units.of(Lpa(entry.lpa))).or_else(|| self.dirty.pages().next())
    }

    #[inline]
    fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let entry = self.entry(lpa);
        let old = Ppa::unpack(std::mem::replace(&mut entry.ppa, Ppa::pack(ppa)));
        let was_dirty = std::mem::replace(&mut entry.dirty, true);
        if !was_dirty {
            self.dirty.add(lpa);
        }
        (old, was_dirty)
    }

    /// The entry tells: whoever asks uses it next.
    #[inline]
    fn is_dirty(&self, lpa: Lpa) -> bool {
        self.slots.of(lpa).is_some_and(|slot| self.entries[slot].dirty)
    }

    fn clean(&mut self, lpa: Lpa) {
        if std::mem::take(&mut self.entry(lpa).dirty) {
            self.dirty.remove(lpa);
        }
    }

    #[inline]
    fn dirty(&self) -> &Dirty {
        &self.dirty
    }

    #[inline]
    fn writes(&mut self, lpa: Lpa) -> (&mut u64, &mut u16) {
        let entry = self.entry(lpa);
        (&mut entry.seq, &mut entry.pins)
    }

    fn cached_in(&self, unit: MapUnit) -> impl Iterator<Item = Lpa> {
        let range = if self.cached[unit.index()] > 0 { self.units.range(unit) } else { 0..0 };
        range.map(Lpa).filter(|&lpa| self.is_cached(lpa))
    }

    fn dirty_pages(&self, named: impl Fn(Ppa) -> bool) -> impl Iterator<Item = MapUnit> {
        // In the order in which they lie in memory: the other two orders would jump.
        let dirty = self.entries.values().filter(|entry| entry.dirty);
        let naming = dirty.filter(move |entry| Ppa::unpack(entry.ppa).is_some_and(&named));
        naming.map(|entry| self.units.of(Lpa(entry.lpa)))
    }
}

#[cfg(test)]
#[path = "cmt_tests.rs"]
mod tests;
