//! `lru`: "the host system software can simulate a counterpart of the device-side mapping cache"; "we propose to employ the
//! basic LRU algorithm"; "this design requires only the mapping cache size" (MAP+ Sec. V-D.1).

use units::Lpa;

use super::CacheView;
use crate::lru::Lru;

/// Entries by last use.
pub(crate) struct Simulated {
    /// Place of an address in `held`, plus one; 0 = not cached. Memory only for the parts of the device that are used.
    place: Vec<u32>,
    held: Vec<Lpa>,
    entries: usize,
    order: Lru,
}

impl Simulated {
    /// An empty cache of `entries` entries for a device of `capacity_units`.
    pub fn new(entries: u32, capacity_units: u32) -> Simulated {
        let place = table::zeroed(capacity_units as usize);
        Simulated { place, held: Vec::new(), entries: entries as usize, order: Lru::new() }
    }

    /// The entries of these units are used, and cached from now on.
    #[inline(never)]
    pub fn access(&mut self, lpa: Lpa, units: u32) {
        (0..units).for_each(|i| self.use_entry(lpa.offset(i)));
    }

    #[inline]
    fn use_entry(&mut self, lpa: Lpa) {
        if let Some(index) = self.place[lpa.index()].checked_sub(1) {
            self.order.touch(index);
            return;
        }
        let index = if self.held.len() < self.entries {
            self.held.push(lpa);
            self.held.len() as u32 - 1
        } else {
            let oldest = self.order.oldest_first().next().expect("a full cache has an oldest entry");
            self.order.remove(oldest);
            self.place[self.held[oldest as usize].index()] = 0;
            self.held[oldest as usize] = lpa;
            oldest
        };
        self.place[lpa.index()] = index + 1;
        self.order.insert(index);
    }
}

impl CacheView for Simulated {
    fn cached(&self, lpa: Lpa, len: u32) -> bool {
        self.place[lpa.index()..][..len as usize].iter().all(|&place| place != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_gives_way() {
        let mut cache = Simulated::new(3, 100);
        assert!(!cache.cached(Lpa(10), 1));
        cache.access(Lpa(10), 3);
        cache.access(Lpa(10), 1);
        assert!(cache.cached(Lpa(10), 3));
        cache.access(Lpa(50), 1);
        let cached = |lpa| cache.cached(Lpa(lpa), 1);
        assert_eq!([cached(10), cached(11), cached(12), cached(50)], [true, false, true, true]);
    }
}
