//! Whole translation pages below the single entries, replaced by LRU.
//!
//! With `cdftl` (Qin et al., RTAS 2011, Sec. 3) a page takes its 4 KiB. With `sftl` (Jiang et al., MSST 2011) it takes
//! what its runs need, where places follow each other as addresses do: one place for each run, and a bit for each entry
//! that tells whether it begins one. A page that runs would not make smaller takes its 4 KiB. Each has a header.

use lists::Rings;
use units::{Lpa, MapUnit, Ppa, UNIT_BYTES};

use super::page::Page;
use ftl::seat::{Core, Loaded, MapUnits};

/// Bytes of a compressed page beside its bits and places: its number, its length, two neighbours in the list.
const HEADER: u64 = 8;

/// Cached translation pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Ctp {
    /// Bytes for all pages, and those that are taken.
    limit: u64,
    taken: u64,
    compressed: bool,
    units: MapUnits,
    /// In order of use. A page that has left keeps its memory for the next one.
    pages: Rings<u32, 1, Page>,
    free: Vec<u32>,
    /// Slot of a page plus one.
    slot_of: Vec<u32>,
    /// Number of runs of each page on flash, if pages are compressed; 0 = not counted. An index of the simulator;
    /// firmware would count while it takes the page in.
    runs_on_flash: Vec<u16>,
    /// Number of entries that differ from flash, in all pages.
    changes: usize,
}

impl Ctp {
    /// Room for `bytes`.
    pub fn new(bytes: u64, units: MapUnits, compressed: bool) -> Ctp {
        let most = u64::from(units.count()) * most_bytes(compressed);
        let limit = bytes.min(most);
        let pages = if limit > 0 { units.count() } else { 0 };
        Ctp {
            limit,
            taken: 0,
            compressed,
            units,
            pages: Rings::new(),
            free: Vec::new(),
            slot_of: vec![0; pages as usize],
            runs_on_flash: vec![0; if compressed { pages as usize } else { 0 }],
            changes: 0,
        }
    }

    /// Bytes of SRAM for pages.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Pages that fit, whatever they hold.
    pub fn whole_pages(&self) -> u64 {
        self.limit / most_bytes(self.compressed)
    }

    /// True if so many pages can be inserted now, whatever they hold.
    pub fn fits(&self, pages: u64) -> bool {
        self.taken + pages * most_bytes(self.compressed) <= self.limit
    }

    /// True if the change of an entry leaves the pages within their limit. It may tear a run into three.
    pub fn may_grow(&self) -> bool {
        !self.compressed || self.taken + 2 * self.place_bytes() <= self.limit
    }

    /// True if changes have made pages grow beyond their limit.
    pub fn is_over(&self) -> bool {
        self.taken > self.limit
    }

    /// Drops pages without changes, the least recently used ones first, until the others are within their limit.
    pub fn shrink(&mut self) {
        while self.is_over() {
            let unchanged = self.pages.oldest_first(0).find(|&slot| self.pages[slot].changed() == 0);
            let Some(slot) = unchanged else { return };
            self.remove(self.pages[slot].unit());
        }
    }

    /// True if this translation page is cached.
    #[inline]
    pub fn holds(&self, unit: MapUnit) -> bool {
        self.slot(unit).is_some()
    }

    /// The entry of an address, if its page is cached.
    #[inline]
    pub fn get(&self, core: &Core, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slot(self.units.of(lpa))?;
        Some(Ppa::unpack(self.pages[slot].entry(core, self.units, lpa)))
    }

    /// Notes a use of a page, for replacement.
    pub fn touch(&mut self, unit: MapUnit) {
        if let Some(slot) = self.slot(unit) {
            self.pages.touch(0, slot);
        }
    }

    /// Inserts a page that is loaded. False if it does not fit.
    pub fn insert(&mut self, core: &Core, loaded: &Loaded) -> bool {
        let (unit, view) = (loaded.unit(), core.view(loaded));
        assert!(!self.holds(unit), "translation page {unit} enters the cache again");
        let slot = self.free.pop().unwrap_or_else(|| self.pages.add(Page::default()));
        self.pages[slot].begin(self.units, unit, &view);
        if self.compressed {
            self.pages[slot].runs = u32::from(match self.runs_on_flash[unit.index()] {
                counted if counted > 0 && view.is_newest() => counted,
                _ => runs(&view.entries()),
            });
            if view.is_newest() {
                self.runs_on_flash[unit.index()] = self.pages[slot].runs as u16;
            }
        }
        let bytes = self.bytes(slot);
        if self.taken + bytes > self.limit {
            self.free.push(slot);
            return false;
        }
        self.taken += bytes;
        self.slot_of[unit.index()] = slot + 1;
        self.pages.link_newest(0, slot);
        true
    }

    /// The least recently used page.
    pub fn victim(&self) -> Option<MapUnit> {
        self.pages.oldest(0).map(|slot| self.pages[slot].unit())
    }

    /// Drops a page without changes.
    pub fn remove(&mut self, unit: MapUnit) {
        if let Some(slot) = self.slot(unit) {
            self.taken -= self.bytes(slot);
            let changed = self.pages[slot].changed();
            assert!(changed == 0, "translation page {unit} leaves the cache with changes");
            self.slot_of[unit.index()] = 0;
            self.pages.remove(slot);
            self.free.push(slot);
        }
    }

    /// Changes an entry of a cached page. Gives its value before, and whether it differed from flash.
    pub fn set(&mut self, core: &Core, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let slot = self.slot(self.units.of(lpa)).expect("only an entry of a cached page is changed");
        let before = self.put(core, slot, lpa, Ppa::pack(ppa));
        let newly = self.pages[slot].mark(self.units.slot(lpa));
        self.changes += usize::from(newly);
        (Ppa::unpack(before), !newly)
    }

    /// The entry of an address gets this value on flash next. Updates the page of the address, if it is cached.
    pub fn comes_to_flash(&mut self, core: &Core, lpa: Lpa, ppa: Option<Ppa>) {
        let unit = self.units.of(lpa);
        if let Some(runs) = self.runs_on_flash.get_mut(unit.index()).filter(|runs| **runs > 0) {
            let entry = |lpa| Ppa::pack(core.unchanged_entry(lpa));
            let around = around(self.units, lpa, entry);
            *runs = *runs + begun(around, Ppa::pack(ppa)) as u16 - begun(around, entry(lpa)) as u16;
        }
        if let Some(slot) = self.slot(unit) {
            self.put(core, slot, lpa, Ppa::pack(ppa));
            self.pages[slot].on_flash(self.units.slot(lpa));
        }
    }

    /// Drops the mark of a changed entry. Gives the entry if it was marked.
    pub fn forget_change(&mut self, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slot(self.units.of(lpa))?;
        let marked = self.pages[slot].unmark(self.units.slot(lpa))?;
        self.changes -= 1;
        Some(Ppa::unpack(marked))
    }

    /// True if any entry differs from flash.
    pub fn is_changed(&self) -> bool {
        self.changes > 0
    }

    /// Number of changed entries of a page.
    pub fn changes_of(&self, unit: MapUnit) -> u32 {
        self.slot(unit).map_or(0, |slot| self.pages[slot].changed())
    }

    /// Changed entries of a page, in order.
    pub fn changed_in(&self, unit: MapUnit) -> impl Iterator<Item = Lpa> {
        let first = self.units.range(unit).start;
        let positions = self.slot(unit).map(|slot| self.pages[slot].changes());
        positions.into_iter().flatten().map(move |at| Lpa(first + at))
    }

    /// The least recently used page with changes.
    pub fn coldest_changed(&self) -> Option<MapUnit> {
        let mut pages = self.pages.oldest_first(0).map(|slot| &self.pages[slot]);
        pages.find(|page| page.changed() > 0).map(|page| page.unit())
    }

    /// Cached pages, the least recently used one first.
    pub fn units(&self) -> impl Iterator<Item = MapUnit> {
        self.pages.oldest_first(0).map(|slot| self.pages[slot].unit())
    }

    /// Changes an entry. Gives its value before.
    fn put(&mut self, core: &Core, slot: u32, lpa: Lpa, packed: u32) -> u32 {
        let entry = |lpa| self.pages[slot].entry(core, self.units, lpa);
        let (before, at) = (entry(lpa), self.units.slot(lpa));
        if self.compressed {
            let around = around(self.units, lpa, entry);
            let runs = self.pages[slot].runs + begun(around, packed) - begun(around, before);
            self.taken -= self.bytes(slot);
            self.pages[slot].runs = runs;
            self.taken += self.bytes(slot);
        }
        self.pages[slot].put(at, packed);
        before
    }

    /// Bytes that a page takes.
    fn bytes(&self, slot: u32) -> u64 {
        if !self.compressed {
            return UNIT_BYTES;
        }
        let page = &self.pages[slot];
        let bits = u64::from(page.len().div_ceil(8));
        HEADER + (bits + self.place_bytes() * u64::from(page.runs)).min(UNIT_BYTES)
    }

    /// Bytes of a place, as on flash.
    fn place_bytes(&self) -> u64 {
        UNIT_BYTES / u64::from(self.units.entries())
    }

    #[inline]
    fn slot(&self, unit: MapUnit) -> Option<u32> {
        self.slot_of.get(unit.index())?.checked_sub(1)
    }
}

/// Bytes that a page takes at most.
fn most_bytes(compressed: bool) -> u64 {
    if compressed { HEADER + UNIT_BYTES } else { UNIT_BYTES }
}

/// Number of runs in a page of at most 1024 entries.
fn runs(entries: &[u32]) -> u16 {
    let pairs = entries.iter().zip(&entries[1..]);
    1 + pairs.map(|(&before, &entry)| u16::from(!continues(before, entry))).sum::<u16>()
}

/// The entries before and behind that of an address in its page.
#[inline]
fn around(units: MapUnits, lpa: Lpa, entry: impl Fn(Lpa) -> u32) -> [Option<u32>; 2] {
    let page = units.range(units.of(lpa));
    let neighbours = [lpa.0.wrapping_sub(1), lpa.0 + 1];
    neighbours.map(|lpa| page.contains(&lpa).then(|| entry(Lpa(lpa))))
}

/// How many runs begin at an entry and at the one behind it.
#[inline]
fn begun([before, behind]: [Option<u32>; 2], entry: u32) -> u32 {
    let here = before.is_none_or(|before| !continues(before, entry));
    let next = behind.is_some_and(|behind| !continues(entry, behind));
    u32::from(here) + u32::from(next)
}

/// True if an entry continues the run of the one before. Entries are packed, so that 0 is unmapped.
#[inline]
fn continues(before: u32, entry: u32) -> bool {
    entry == before.wrapping_add(u32::from(before != 0))
}

#[cfg(test)]
#[path = "ctp_tests.rs"]
mod tests;
