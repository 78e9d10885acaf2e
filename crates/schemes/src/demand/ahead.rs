//! What a scheduler may ask and announce: which entries are cached, and which entries requests will need soon (MAP+
//! Sec. V-A, V-B).

use units::{Lpa, MapUnit};

use super::Demand;
use super::entries::EntryCache;
use super::settings::Own;
use ftl::seat::{Core, Loaded};

impl<C: EntryCache, const TWO_LEVELS: bool> Demand<C, TWO_LEVELS> {
    /// The addresses whose entries need no flash read, in order.
    pub(super) fn in_caches<'a>(&'a self, core: &'a Core) -> impl Iterator<Item = Lpa> + 'a {
        let units = core.units();
        (0..units.count()).map(MapUnit).flat_map(move |unit| {
            let page = if self.ctp.holds(unit) { units.range(unit) } else { 0..0 };
            let entries = (page.is_empty()).then(|| self.cmt.cached_in(unit));
            page.map(Lpa).chain(entries.into_iter().flatten())
        })
    }

    /// Replaces the set of announced addresses: these will be read or written soon. When one of them misses, the cache
    /// also takes in the others of its translation page.
    pub(super) fn load_ahead(&mut self, lpas: impl IntoIterator<Item = Lpa>) {
        self.expected.clear();
        // `sftl` takes in the page as a whole.
        if self.own.ahead_one_in().is_none() {
            return;
        }
        self.expected.extend(lpas.into_iter().filter(|&lpa| !self.cmt.is_cached(lpa)));
    }

    /// Adds the addresses that the cache would take in with a missed one.
    pub(super) fn expect_with(&mut self, lpa: Lpa) {
        let ahead = self.cmt.ahead(lpa).map(Lpa);
        self.expected.extend(ahead.filter(|&lpa| !self.cmt.is_cached(lpa)));
    }

    /// The number of entries that will be taken in beside a missed one of this translation page.
    pub(super) fn expected_with(&self, core: &Core, unit: MapUnit) -> u64 {
        let Some(one_in) = self.own.ahead_one_in() else { return 0 };
        let range = core.units().range(unit);
        let expected = self.expected.range(Lpa(range.start)..Lpa(range.end)).count() as u64;
        expected.min(self.cmt.capacity() / u64::from(one_in))
    }

    /// Takes in the announced entries of a translation page that has just been read, as far as the cache has room.
    pub(super) fn take_expected(&mut self, core: &mut Core, loaded: &Loaded) {
        if self.expected.is_empty() {
            return;
        }
        let range = core.units().range(loaded.unit());
        let wanted: Vec<Lpa> = self.expected.range(Lpa(range.start)..Lpa(range.end)).copied().collect();
        for lpa in wanted {
            self.expected.remove(&lpa);
            if !self.cmt.is_cached(lpa) && self.cmt.room() > self.loading {
                self.cache(core, loaded, lpa);
                self.counters.cmt_prefetched += 1;
            }
        }
    }
}
