//! Room in the caches: which entries and pages leave, and what has to be written before they can.

use units::{Lpa, MapUnit};

use super::Demand;
use super::entries::EntryCache;
use super::settings::Own;
use ftl::seat::Core;

/// A page leaves behind at most one of this many parts of the buffer.
const SPARSE_ONE_IN: u64 = 4;

impl<C: EntryCache, const TWO_LEVELS: bool> Demand<C, TWO_LEVELS> {
    /// Makes room for `n` entries. False if a translation page has to be written first, or if writes under way have to
    /// end first.
    pub(super) fn make_room(&mut self, core: &mut Core, n: u64) -> bool {
        while self.cmt.room() < self.loading + n {
            if !self.drop_victim(core) {
                return false;
            }
        }
        true
    }

    fn drop_victim(&mut self, core: &mut Core) -> bool {
        let Some(victim) = self.cmt.victim() else { return false };
        let unit = core.units().of(victim);
        if self.cmt.is_dirty(victim) {
            if !self.ctp.holds(unit) || !self.ctp.may_grow() {
                self.wanted.evict = Some(unit);
                return false;
            }
            self.change_page(core, victim);
        }
        self.cmt.remove(victim);
        true
    }

    /// A write has ended: what it has changed goes into the cached page, if there is one, and its entry is free.
    pub(super) fn put_into_page(&mut self, core: &Core, lpa: Lpa) {
        if *self.cmt.writes(lpa).1 > 0 || !self.ctp.holds(core.units().of(lpa)) || !self.ctp.may_grow() {
            return;
        }
        if self.cmt.is_dirty(lpa) {
            self.change_page(core, lpa);
        }
        self.cmt.remove(lpa);
    }

    /// Moves the change of an entry into its cached page. It still differs from flash.
    fn change_page(&mut self, core: &Core, lpa: Lpa) {
        let entry = self.cmt.get(lpa).flatten();
        self.cmt.clean(lpa);
        self.ctp.set(core, lpa, entry);
    }

    /// Makes room for a translation page.
    pub(super) fn make_page_room(&mut self, core: &mut Core, unit: MapUnit) -> bool {
        if self.loading_pages.contains(&unit) {
            return true;
        }
        while !self.ctp.fits(self.loading_pages.len() as u64 + 1) {
            let Some(victim) = self.ctp.victim() else { return false };
            if !self.leave_changes_behind(core, victim) {
                return false;
            }
            self.ctp.remove(victim);
        }
        self.loading_pages.push(unit);
        true
    }

    /// A translation page has been loaded. True if there is room for it in the page cache, which it may take now.
    pub(super) fn page_arrives(&mut self, unit: MapUnit) -> bool {
        let at = self.loading_pages.iter().position(|&loading| loading == unit);
        at.map(|at| self.loading_pages.swap_remove(at)).is_some()
    }

    /// Puts the changed entries of a cached page among the single entries, if they are few. True if the page has no
    /// changes then. Else it, or what keeps the buffer full, has to be written first, or writes under way have to end.
    fn leave_changes_behind(&mut self, core: &mut Core, unit: MapUnit) -> bool {
        let most = (self.own.sparse_entries() as u64).min(self.cmt.capacity() / SPARSE_ONE_IN);
        let changes = u64::from(self.ctp.changes_of(unit));
        if changes == 0 {
            return true;
        }
        // The entry that is being looked up needs room as well.
        if changes <= most && !self.make_room(core, 1 + most) {
            return false;
        }
        // An entry that made room may have gone into this page.
        let changes = self.ctp.changes_of(unit);
        if u64::from(changes) > most {
            self.wanted.evict = Some(unit);
            return false;
        }
        self.counters.cmt_entries_left += u64::from(changes);
        for _ in 0..changes {
            let lpa = self.ctp.changed_in(unit).next().expect("that many entries have changed");
            let entry = self.ctp.forget_change(lpa).flatten();
            if !self.cmt.is_cached(lpa) {
                self.cmt.insert(lpa, entry);
            }
            self.cmt.set(lpa, entry);
        }
        true
    }
}
