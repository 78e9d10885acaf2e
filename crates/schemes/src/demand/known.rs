//! What the device knows of the mapping: entry cache, page cache, log (changes in neither cache), translation pages on
//! flash.
//!
//! The newest entry of an address is in the first of these that has one. A change of an address in no cache, by GC or a
//! trim, goes into the log. It is settled when the translation page is next in SRAM. Only then does the device see the
//! old entry, which tells whether the host has overtaken a copy, and which page has become invalid.

use std::ops::Range;

use units::{Lpa, MapUnit, Ppa, Seq, Superblock};

use super::Demand;
use super::entries::EntryCache;
use ftl::seat::{Change, Core, Loaded};

impl<C: EntryCache, const TWO_LEVELS: bool> Demand<C, TWO_LEVELS> {
    /// The entry of an address, if one of the caches holds it.
    pub(super) fn in_cache(&self, core: &Core, lpa: Lpa) -> Option<Option<Ppa>> {
        self.cmt.get(lpa).or_else(|| self.ctp.get(core, lpa))
    }

    /// The mapping of an address. It must be in a cache, or its translation page must be `loaded`.
    pub(super) fn mapping_of(&self, core: &Core, lpa: Lpa, loaded: Option<&Loaded>) -> Option<Ppa> {
        self.in_cache(core, lpa).unwrap_or_else(|| {
            let loaded = loaded.expect("an address that is in no cache is looked up in its translation page");
            core.over_log(lpa, core.view(loaded).entry(lpa))
        })
    }

    /// True if one of the caches holds the entry of this address.
    pub(super) fn is_cached(&self, core: &Core, lpa: Lpa) -> bool {
        self.cmt.is_cached(lpa) || self.ctp.holds(core.units().of(lpa))
    }

    /// Changes an entry that is in a cache. Counts the new page as valid and the old one as invalid.
    pub(super) fn change(&mut self, core: &mut Core, lpa: Lpa, ppa: Option<Ppa>) {
        let (old, counted) = if self.cmt.is_cached(lpa) {
            if let Some(stale) = self.ctp.forget_change(lpa) {
                self.overtaken(core, stale, ppa);
            }
            self.cmt.set(lpa, ppa)
        } else {
            self.ctp.set(core, lpa, ppa)
        };
        if counted {
            self.overtaken(core, old, ppa);
        }
        self.count(core, ppa);
        if let Some(new) = ppa {
            self.valid.add(core.superblock_of(new));
        }
        self.release(core, old);
    }

    /// Counts a changed entry that names this page and is not on flash: recovery has to scan the page's superblock.
    pub(super) fn count(&mut self, core: &Core, ppa: Option<Ppa>) {
        if let Some(ppa) = ppa {
            self.changed_in[core.superblock_of(ppa).index()] += 1;
        }
    }

    /// A changed entry changes again before it is on flash. A power cut may lose that change if it is a trim.
    fn overtaken(&mut self, core: &mut Core, old: Option<Ppa>, new: Option<Ppa>) {
        self.uncount(core, old);
        if let (Some(old), None) = (old, new) {
            core.hold_for_trims(core.superblock_of(old));
        }
    }

    /// Undoes [`Self::count`]: the entry is on flash now, or has changed again.
    pub(super) fn uncount(&mut self, core: &Core, ppa: Option<Ppa>) {
        if let Some(ppa) = ppa {
            self.changed_in[core.superblock_of(ppa).index()] -= 1;
        }
    }

    /// The page that has held a unit until now becomes invalid.
    fn release(&mut self, core: &mut Core, ppa: Option<Ppa>) {
        if let Some(ppa) = ppa {
            self.valid.release(core, ppa);
        }
    }

    /// Logs a change of an address that is in no cache. The page of a copy counts as valid until the change is settled.
    pub(super) fn log_change(&mut self, core: &mut Core, change: Change) {
        let before = core.log().get(change.lpa).and_then(|logged| logged.ppa);
        if core.log_change(change) {
            if let Some(ppa) = change.ppa {
                self.valid.add(core.superblock_of(ppa));
            }
            self.release(core, before);
        }
    }

    /// The entry of an address whose translation page is `loaded`, with its change from the log, and whether flash
    /// lacks that change. The log forgets the change; the caller has to keep it.
    pub(super) fn settle(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa) -> (Option<Ppa>, bool) {
        let base = core.view(loaded).entry(lpa);
        let Some(logged) = core.log().get(lpa) else { return (base, false) };
        core.forget_change(lpa);
        let entry = core.logged_over(logged, base);
        let overtaken = logged.ppa.is_some() && entry != logged.ppa;
        self.release(core, if overtaken { logged.ppa } else { base });
        (entry, !overtaken)
    }

    /// Takes the entry of an address into the entry cache, if the page cache has its translation page.
    pub(super) fn cache_from_page(&mut self, core: &Core, lpa: Lpa) -> Option<Option<Ppa>> {
        let entry = self.ctp.get(core, lpa)?;
        self.cmt.insert(lpa, entry);
        Some(entry)
    }

    /// Takes the entry of an address into the entry cache, from the page cache or from the translation page, which is
    /// `loaded`.
    pub(super) fn cache(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa) -> Option<Ppa> {
        if let Some(entry) = self.cache_from_page(core, lpa) {
            return entry;
        }
        let (entry, changed) = self.settle(core, loaded, lpa);
        self.cmt.insert(lpa, entry);
        if changed {
            self.cmt.set(lpa, entry);
            self.count(core, entry);
        }
        entry
    }

    /// Takes a translation page that has just been read into the page cache.
    pub(super) fn cache_page(&mut self, core: &mut Core, loaded: &Loaded) {
        if !self.ctp.insert(core, loaded) {
            return;
        }
        for lpa in logged_in(core, loaded.unit()) {
            let (entry, changed) = self.settle(core, loaded, lpa);
            if changed {
                self.ctp.set(core, lpa, entry);
                self.count(core, entry);
            }
        }
    }

    /// Superblocks that recovery has to scan.
    pub(super) fn unsettled_blocks(&self, core: &Core) -> Vec<Superblock> {
        use ftl::seat::State;
        let logged = self.logged_blocks(core);
        let all = (0..core.blocks().count()).map(Superblock);
        let needed = |sb: &Superblock| match core.blocks().state(*sb) {
            State::Open => true,
            State::Closed => self.changed_in[sb.index()] > 0 || !core.blocks().settled(*sb) || logged.contains(sb),
            _ => false,
        };
        all.filter(needed).collect()
    }

    /// Superblocks with copies that only the log knows.
    pub(super) fn logged_blocks(&self, core: &Core) -> Vec<Superblock> {
        let mut blocks = Vec::new();
        for entry in core.log().entries() {
            for sb in entry.ppa.into_iter().map(|ppa| core.superblock_of(ppa)) {
                if !blocks.contains(&sb) {
                    blocks.push(sb);
                }
            }
        }
        blocks
    }
}

/// The addresses of a translation page with a change in the log.
pub(super) fn logged_in(core: &Core, unit: MapUnit) -> Vec<Lpa> {
    let range = core.units().range(unit);
    // Nearly all pages have none, and a flush asks for every page that it writes.
    if !core.log().may_change(range.clone()) {
        return Vec::new();
    }
    live(core, range).collect()
}

/// The addresses of a range with a change in the log.
pub(super) fn live(core: &Core, range: Range<u32>) -> impl Iterator<Item = Lpa> {
    let changes = core
        .log()
        .entries()
        .flat_map(|entry| (0..u32::from(entry.len)).map(move |i| (entry.lpa.offset(i), entry.seq.plus(i))));
    let holds = |lpa: Lpa, seq: Seq| core.log().get(lpa).is_some_and(|logged| logged.seq == seq);
    changes.filter(move |&(lpa, seq)| range.contains(&lpa.0) && holds(lpa, seq)).map(|(lpa, _)| lpa)
}
