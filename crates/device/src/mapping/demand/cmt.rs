//! The cached mapping table of DFTL: single L2P entries, replaced by segmented LRU (Gupta et al., ASPLOS 2009, Sec.
//! 3.2).
//!
//! A new entry is probationary; one that is used again becomes protected. What the protected part has no room for
//! becomes probationary again, as its most recently used; what leaves the cache is the least recently used probationary
//! one. MAP+ Sec. V-D: protected to probationary is 1:7.

use std::collections::BTreeSet;

use units::{Lpa, Ppa, SegmentId};

use crate::map_units::MapUnits;

/// The protected part of the cache is one of this many (MAP+ Sec. V-D).
const PROTECTED_ONE_IN: u64 = 8;

const PROBATIONARY: usize = 0;
const PROTECTED: usize = 1;

/// One cached entry. `prev` and `next` are slots of its list plus one; 0 = none.
#[derive(Clone, Copy, Debug)]
struct Slot {
    lpa: u32,
    ppa: u32,
    prev: u32,
    next: u32,
    /// Changes up to this number are in the entry, as far as writes under way are concerned.
    seq: u64,
    /// Writes under way.
    pins: u16,
    list: u8,
    dirty: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct List {
    first: u32,
    last: u32,
    len: u64,
}

/// The cache. It knows nothing of flash; whoever uses it keeps room free.
#[derive(Debug)]
pub struct Cmt {
    capacity: u64,
    units: MapUnits,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slot of an address plus one: an index of the simulator, where firmware would hash.
    slot_of: Vec<u32>,
    lists: [List; 2],
    /// Cached and dirty entries of every translation page.
    cached: Vec<u16>,
    dirty: Vec<u16>,
    dirty_units: BTreeSet<SegmentId>,
}

impl Cmt {
    /// Room for `capacity` entries of a table.
    pub fn new(capacity: u64, units: MapUnits) -> Cmt {
        Cmt {
            capacity,
            units,
            slots: Vec::new(),
            free: Vec::new(),
            slot_of: table::zeroed(units.capacity_units() as usize),
            lists: [List::default(); 2],
            cached: vec![0; units.count() as usize],
            dirty: vec![0; units.count() as usize],
            dirty_units: BTreeSet::new(),
        }
    }

    /// Entries held.
    #[inline]
    pub fn len(&self) -> u64 {
        self.lists[PROBATIONARY].len + self.lists[PROTECTED].len
    }

    /// Entries that still fit.
    #[inline]
    pub fn room(&self) -> u64 {
        self.capacity - self.len()
    }

    /// Is the entry of this address here?
    #[inline]
    pub fn is_cached(&self, lpa: Lpa) -> bool {
        self.slot_of[lpa.index()] != 0
    }

    /// The entry of an address, if it is here.
    #[inline]
    pub fn get(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        let at = self.slot_of[lpa.index()].checked_sub(1)?;
        Some(Ppa::unpack(self.slots[at as usize].ppa))
    }

    /// The entry of an address is used: true if it is here.
    #[inline]
    pub fn touch(&mut self, lpa: Lpa) -> bool {
        let id = self.slot_of[lpa.index()];
        if id == 0 {
            return false;
        }
        self.unlink(id);
        self.link_first(id, PROTECTED);
        if self.lists[PROTECTED].len > self.capacity / PROTECTED_ONE_IN {
            let demoted = self.lists[PROTECTED].last;
            self.unlink(demoted);
            self.link_first(demoted, PROBATIONARY);
        }
        true
    }

    /// Takes an entry in. There must be room.
    pub fn insert(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        assert!(self.room() > 0 && !self.is_cached(lpa), "{lpa} enters a mapping cache of {} entries", self.len());
        let slot = Slot { lpa: lpa.0, ppa: Ppa::pack(ppa), prev: 0, next: 0, seq: 0, pins: 0, list: 0, dirty: false };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize - 1] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32
            }
        };
        self.slot_of[lpa.index()] = id;
        self.cached[self.units.of(lpa).index()] += 1;
        self.link_first(id, PROBATIONARY);
    }

    /// Drops a clean entry.
    pub fn remove(&mut self, lpa: Lpa) {
        let id = std::mem::take(&mut self.slot_of[lpa.index()]);
        let slot = &self.slots[id as usize - 1];
        assert!(!slot.dirty && slot.pins == 0, "{lpa} leaves the mapping cache while it is needed");
        self.cached[self.units.of(lpa).index()] -= 1;
        self.unlink(id);
        self.free.push(id);
    }

    /// What leaves next: the least recently used entry that no write needs.
    pub fn victim(&self) -> Option<Lpa> {
        self.coldest_first().find(|slot| slot.pins == 0).map(|slot| Lpa(slot.lpa))
    }

    /// Every entry, those that leave first at the front.
    fn coldest_first(&self) -> impl Iterator<Item = &Slot> {
        [PROBATIONARY, PROTECTED].into_iter().flat_map(move |list| {
            let at = |id: u32| id.checked_sub(1).map(|at| &self.slots[at as usize]);
            std::iter::successors(at(self.lists[list].last), move |slot| at(slot.prev))
        })
    }

    /// A translation page with changed entries, that of the coldest one if it is among the next `look` to leave.
    pub fn coldest_dirty(&self, look: usize) -> Option<SegmentId> {
        let cold = self.coldest_first().take(look).find(|slot| slot.dirty);
        cold.map(|slot| self.units.of(Lpa(slot.lpa))).or_else(|| self.dirty_units.first().copied())
    }

    /// Changes an entry that is here: gives what it was before, and whether it was dirty.
    #[inline]
    pub fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let slot = &mut self.slots[self.slot_of[lpa.index()] as usize - 1];
        let old = Ppa::unpack(std::mem::replace(&mut slot.ppa, Ppa::pack(ppa)));
        let was_dirty = std::mem::replace(&mut slot.dirty, true);
        if !was_dirty {
            let unit = self.units.of(lpa);
            self.dirty[unit.index()] += 1;
            if self.dirty[unit.index()] == 1 {
                self.dirty_units.insert(unit);
            }
        }
        (old, was_dirty)
    }

    /// A dirty entry is known elsewhere now.
    pub fn clean(&mut self, lpa: Lpa) {
        let slot = &mut self.slots[self.slot_of[lpa.index()] as usize - 1];
        if std::mem::take(&mut slot.dirty) {
            let unit = self.units.of(lpa);
            self.dirty[unit.index()] -= 1;
            if self.dirty[unit.index()] == 0 {
                self.dirty_units.remove(&unit);
            }
        }
    }

    /// Is the entry of an address here and changed?
    #[inline]
    pub fn is_dirty(&self, lpa: Lpa) -> bool {
        let id = self.slot_of[lpa.index()];
        id != 0 && self.slots[id as usize - 1].dirty
    }

    /// A write of this address begins: its entry stays until [`Cmt::unpin`].
    #[inline]
    pub fn pin(&mut self, lpa: Lpa) {
        let id = self.slot_of[lpa.index()];
        self.slots[id as usize - 1].pins += 1;
    }

    /// That write is over. It had number `seq`: true if nothing newer is in the entry.
    #[inline]
    pub fn unpin(&mut self, lpa: Lpa, seq: u64) -> bool {
        let slot = &mut self.slots[self.slot_of[lpa.index()] as usize - 1];
        slot.pins -= 1;
        let newest = seq > slot.seq;
        slot.seq = slot.seq.max(seq);
        newest
    }

    /// A trim of this number: writes under way with lower ones count no more.
    pub fn trimmed(&mut self, lpa: Lpa, seq: u64) {
        let slot = &mut self.slots[self.slot_of[lpa.index()] as usize - 1];
        slot.seq = slot.seq.max(seq);
    }

    /// The addresses of a translation page whose entries are here, in order.
    pub fn cached_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        let range = if self.cached[unit.index()] > 0 { self.units.range(unit) } else { 0..0 };
        range.map(Lpa).filter(|&lpa| self.is_cached(lpa))
    }

    /// The addresses of a translation page whose entries are here and changed, in order.
    pub fn dirty_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        let range = if self.dirty[unit.index()] > 0 { self.units.range(unit) } else { 0..0 };
        range.map(Lpa).filter(|&lpa| self.is_dirty(lpa))
    }

    /// Entries that it has room for in all.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Translation pages with changed entries, in order.
    pub fn dirty_units(&self) -> &BTreeSet<SegmentId> {
        &self.dirty_units
    }

    fn unlink(&mut self, id: u32) {
        let Slot { prev, next, list, .. } = self.slots[id as usize - 1];
        let list = &mut self.lists[usize::from(list)];
        list.len -= 1;
        match prev {
            0 => list.first = next,
            _ => self.slots[prev as usize - 1].next = next,
        }
        match next {
            0 => list.last = prev,
            _ => self.slots[next as usize - 1].prev = prev,
        }
    }

    fn link_first(&mut self, id: u32, number: usize) {
        let list = &mut self.lists[number];
        let next = std::mem::replace(&mut list.first, id);
        list.len += 1;
        match next {
            0 => list.last = id,
            _ => self.slots[next as usize - 1].prev = id,
        }
        let slot = &mut self.slots[id as usize - 1];
        (slot.prev, slot.next, slot.list) = (0, next, number as u8);
    }
}

#[cfg(test)]
#[path = "cmt_tests.rs"]
mod tests;
