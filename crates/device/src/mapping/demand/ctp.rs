//! Whole translation pages below the single entries, replaced by LRU.
//!
//! With `cdftl` (Qin et al., RTAS 2011, Sec. 3) a page takes its 4 KiB. With `sftl` (Jiang et al., MSST 2011) it takes
//! what its runs need, where places follow each other as addresses do: one place for each run, and a bit for each entry
//! that tells whether it begins one. A page that runs would not make smaller takes its 4 KiB. Each has a header.

use lists::Rings;
use units::{Lpa, Ppa, SegmentId, UNIT_BYTES};

use super::bits::Bits;
use crate::map_units::MapUnits;

/// Bytes of a compressed page beside its bits and places: its number, its length, two neighbours in the list.
const HEADER: u64 = 8;

#[derive(Clone, Hash, Default, Debug)]
struct Page {
    unit: u32,
    /// Packed PPAs, by position in the page.
    entries: Vec<u32>,
    /// Number of entries that differ from flash, and their positions.
    changed: u32,
    which: Bits,
    /// Number of runs, if pages are compressed.
    runs: u32,
}

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
    /// Number of runs of each page on flash, if pages are compressed; 0 = not counted since it was written. An index of
    /// the simulator; firmware would count while it takes the page in.
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
            let unchanged = self.pages.oldest_first(0).find(|&slot| self.pages[slot].changed == 0);
            let Some(slot) = unchanged else { return };
            self.remove(SegmentId(self.pages[slot].unit));
        }
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

    /// Inserts a page with its content on flash, which `read` puts into an empty list. False if it does not fit.
    pub fn insert(&mut self, unit: SegmentId, read: impl FnOnce(&mut Vec<u32>)) -> bool {
        assert!(!self.holds(unit), "translation page {unit} enters the cache again");
        let new = || Page { which: Bits::new(self.units.entries()), ..Page::default() };
        let slot = self.free.pop().unwrap_or_else(|| self.pages.add(new()));
        let page = &mut self.pages[slot];
        page.unit = unit.0;
        read(&mut page.entries);
        if let Some(on_flash) = self.runs_on_flash.get_mut(unit.index()) {
            if *on_flash == 0 {
                *on_flash = runs(&page.entries);
            }
            debug_assert_eq!(*on_flash, runs(&page.entries), "page {unit} on flash has changed");
            page.runs = u32::from(*on_flash);
        }
        let bytes = self.bytes(slot);
        if self.taken + bytes > self.limit {
            self.pages[slot].entries.clear();
            self.free.push(slot);
            return false;
        }
        self.taken += bytes;
        self.slot_of[unit.index()] = slot + 1;
        self.pages.link_newest(0, slot);
        true
    }

    /// The least recently used page.
    pub fn victim(&self) -> Option<SegmentId> {
        self.pages.oldest(0).map(|slot| SegmentId(self.pages[slot].unit))
    }

    /// Drops a page without changes.
    pub fn remove(&mut self, unit: SegmentId) {
        if let Some(slot) = self.slot(unit) {
            self.taken -= self.bytes(slot);
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
        let at = self.units.slot(lpa);
        let before = self.put(slot, at as usize, Ppa::pack(ppa));
        let page = &mut self.pages[slot];
        let was_changed = page.which.contains(at);
        if !was_changed {
            page.which.insert(at);
            page.changed += 1;
            self.changes += 1;
        }
        (Ppa::unpack(before), was_changed)
    }

    /// A translation page has been written to flash.
    pub fn written(&mut self, unit: SegmentId) {
        if let Some(runs) = self.runs_on_flash.get_mut(unit.index()) {
            *runs = 0;
        }
    }

    /// The entry of an address has this value on flash now. Updates the page of the address, if it is cached.
    pub fn note(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        if let Some(slot) = self.slot(self.units.of(lpa)) {
            self.put(slot, self.units.slot(lpa) as usize, Ppa::pack(ppa));
        }
    }

    /// Drops the mark of a changed entry. Gives the entry if it was marked.
    pub fn forget_change(&mut self, lpa: Lpa) -> Option<Option<Ppa>> {
        let slot = self.slot(self.units.of(lpa))?;
        let (page, at) = (&mut self.pages[slot], self.units.slot(lpa));
        if !page.which.contains(at) {
            return None;
        }
        page.which.remove(at);
        page.changed -= 1;
        self.changes -= 1;
        Some(Ppa::unpack(page.entries[at as usize]))
    }

    /// True if any entry differs from flash.
    pub fn is_changed(&self) -> bool {
        self.changes > 0
    }

    /// Number of changed entries of a page.
    pub fn changes_of(&self, unit: SegmentId) -> u32 {
        self.slot(unit).map_or(0, |slot| self.pages[slot].changed)
    }

    /// Changed entries of a page, in order.
    pub fn changed_in(&self, unit: SegmentId) -> impl Iterator<Item = Lpa> {
        let page = self.slot(unit).map(|slot| &self.pages[slot]).filter(|page| page.changed > 0);
        let first = self.units.range(unit).start;
        let positions = page.map(|page| page.which.within(0..self.units.entries()));
        positions.into_iter().flatten().map(move |at| Lpa(first + at))
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

    /// Changes an entry. Gives its value before.
    fn put(&mut self, slot: u32, at: usize, packed: u32) -> u32 {
        if !self.compressed {
            return std::mem::replace(&mut self.pages[slot].entries[at], packed);
        }
        self.taken -= self.bytes(slot);
        let Page { entries, runs, .. } = &mut self.pages[slot];
        let last = entries.len().min(at + 2);
        let begun = |entries: &[u32]| (at..last).filter(|&at| begins(entries, at)).count() as u32;
        let fewer = begun(entries);
        let before = std::mem::replace(&mut entries[at], packed);
        *runs = *runs + begun(entries) - fewer;
        self.taken += self.bytes(slot);
        before
    }

    /// Bytes that a page takes.
    fn bytes(&self, slot: u32) -> u64 {
        if !self.compressed {
            return UNIT_BYTES;
        }
        let Page { entries, runs, .. } = &self.pages[slot];
        let bits = entries.len().div_ceil(8) as u64;
        HEADER + (bits + self.place_bytes() * u64::from(*runs)).min(UNIT_BYTES)
    }

    /// Bytes of a place, as on flash.
    fn place_bytes(&self) -> u64 {
        UNIT_BYTES / u64::from(self.units.entries())
    }

    #[inline]
    fn slot(&self, unit: SegmentId) -> Option<u32> {
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

/// True if an entry begins a run.
#[inline]
fn begins(entries: &[u32], at: usize) -> bool {
    at == 0 || !continues(entries[at - 1], entries[at])
}

/// True if an entry continues the run of the one before. Entries are packed, so that 0 is unmapped.
#[inline]
fn continues(before: u32, entry: u32) -> bool {
    entry == before.wrapping_add(u32::from(before != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_units::{MapShape, Numbered};

    #[test]
    fn pages_leave_in_order_of_use_and_changes_are_known() {
        let mut ctp = Ctp::new(
            8192,
            MapUnits::new(4096, MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory }),
            false,
        );
        ctp.insert(SegmentId(0), |entries| entries.resize(512, 0));
        ctp.insert(SegmentId(3), |entries| entries.resize(512, 0));
        ctp.touch(SegmentId(0));
        assert_eq!((ctp.victim(), ctp.fits(1)), (Some(SegmentId(3)), false));
        assert!(!ctp.is_changed());
        let lpa = Lpa(3 * 512 + 7);
        assert_eq!(ctp.set(lpa, Some(Ppa(5))), (None, false));
        assert_eq!(ctp.set(lpa, Some(Ppa(6))), (Some(Ppa(5)), true));
        assert_eq!((ctp.get(lpa), ctp.coldest_changed()), (Some(Some(Ppa(6))), Some(SegmentId(3))));
        assert!(ctp.is_changed());
        assert_eq!((ctp.forget_change(lpa), ctp.forget_change(lpa)), (Some(Some(Ppa(6))), None));
        assert!(!ctp.is_changed(), "one entry has changed, however often");
        ctp.remove(SegmentId(3));
        assert_eq!((ctp.get(lpa), ctp.fits(1), ctp.fits(2)), (None, true, false));
    }

    /// A header of 8 bytes, 64 of bits, and 8 for each run.
    #[test]
    fn a_compressed_page_takes_what_its_runs_need() {
        let shape = MapShape { entries: 512, bytes: 4096, numbered: Numbered::Directory };
        let mut ctp = Ctp::new(8192, MapUnits::new(4096, shape), true);
        let run = |first: u32| move |entries: &mut Vec<u32>| entries.extend(first..first + 512);
        assert!(ctp.insert(SegmentId(0), run(1000)));
        assert_eq!(ctp.taken, 72 + 8);
        ctp.set(Lpa(7), Some(Ppa(5)));
        assert_eq!(ctp.taken, 72 + 24, "a run is torn into three");
        ctp.set(Lpa(0), None);
        assert_eq!(ctp.taken, 72 + 32);
        ctp.set(Lpa(1), None);
        assert_eq!(ctp.taken, 72 + 32, "unmapped entries are a run, too");
        ctp.note(Lpa(7), Ppa::unpack(1007));
        assert_eq!(ctp.taken, 72 + 16);
        [0, 1, 7].into_iter().for_each(|lpa| _ = ctp.forget_change(Lpa(lpa)));
        assert!(ctp.insert(SegmentId(1), |entries| entries.extend((0..512).map(|at| 3 * at + 9))));
        assert_eq!(ctp.taken, 72 + 16 + 8 + 4096, "no longer than on flash");
        assert!(!ctp.insert(SegmentId(2), |entries| entries.extend((0..512).map(|at| 3 * at + 9))));
        assert!(!ctp.holds(SegmentId(2)) && !ctp.fits(1) && ctp.may_grow() && !ctp.is_over());
        assert!(ctp.insert(SegmentId(3), run(5)));
        ctp.limit = 4200;
        assert!(ctp.is_over() && !ctp.may_grow());
        ctp.set(Lpa(0), None);
        ctp.shrink();
        assert_eq!(ctp.units().collect::<Vec<_>>(), [0, 3].map(SegmentId), "page 0 has changed");
        assert_eq!(ctp.taken, 72 + 16 + 72 + 8);
    }
}
