//! `lru`: "the host system software can simulate a counterpart of the device-side mapping cache"; "we propose to employ the
//! basic LRU algorithm"; "this design requires only the mapping cache size" (MAP+ Sec. V-D.1).

use units::Lpa;

use super::CacheView;
use crate::lru::Lru;

/// Requests between two comparisons with the device's cache.
const COMPARE_EVERY: u32 = 1000;

/// Entries by last use.
pub(crate) struct Simulated {
    /// Place of an address in `held`, plus one; 0 = not cached. Memory only for the parts of the device that are used.
    place: Vec<u32>,
    held: Vec<Lpa>,
    entries: usize,
    order: Lru,
    /// Requests since the last comparison.
    requests: u32,
}

impl Simulated {
    /// An empty cache of `entries` entries for a device of `capacity_units`.
    pub fn new(entries: u32, capacity_units: u32) -> Simulated {
        let place = table::zeroed(capacity_units as usize);
        Simulated { place, held: Vec::new(), entries: entries as usize, order: Lru::new(), requests: 0 }
    }

    pub fn requested(&mut self) {
        self.requests += 1;
    }

    /// After every [`COMPARE_EVERY`] requests: the number of entries, and of those that are in the device's cache, too. A
    /// laboratory can look there; nothing is decided by it.
    pub fn compare(&mut self, device: &dyn CacheView) -> Option<(u64, u64)> {
        if self.requests < COMPARE_EVERY {
            return None;
        }
        self.requests = 0;
        let right = self.held.iter().filter(|&&lpa| device.cached(lpa, 1)).count();
        Some((self.held.len() as u64, right as u64))
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

    #[test]
    fn it_is_compared_with_the_device_every_thousand_requests() {
        struct Even;
        impl CacheView for Even {
            fn cached(&self, lpa: Lpa, _len: u32) -> bool {
                lpa.0.is_multiple_of(2)
            }
        }
        let mut cache = Simulated::new(8, 100);
        cache.access(Lpa(10), 5);
        (1..COMPARE_EVERY).for_each(|_| cache.requested());
        assert_eq!(cache.compare(&Even), None);
        cache.requested();
        assert_eq!(cache.compare(&Even), Some((5, 3)));
        assert_eq!(cache.compare(&Even), None);
    }
}
