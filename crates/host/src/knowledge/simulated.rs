//! `lru`: "the host system software can simulate a counterpart of the device-side mapping cache"; "we propose to employ
//! the basic LRU algorithm"; "this design requires only the mapping cache size" (MAP+ Sec. V-D.1). `fifo` does not
//! count a use of what is cached already.

use std::collections::VecDeque;

use lists::Index;
use units::Lpa;

use super::view::CacheView;

/// Requests between two comparisons with the device's cache.
const COMPARE_EVERY: u32 = 1000;

/// Entries by last use.
///
/// A queue has every use. A use is outdated when its address has been used again; the search for the oldest entry skips
/// outdated uses. So a use costs one search in a table as small as the cache, and no linked list is needed.
#[derive(Clone, Hash)]
pub(crate) struct Simulated {
    entries: usize,
    /// A use of a cached entry makes it the youngest.
    refreshes: bool,
    cached: usize,
    /// Number of the last use of each address.
    last_use: Index,
    /// Uses, in order; some are outdated.
    uses: VecDeque<Use>,
    next_use: u32,
    /// Requests since the last comparison.
    requests: u32,
}

/// A use of an entry.
#[derive(Clone, Copy, Hash)]
struct Use {
    lpa: Lpa,
    number: u32,
}

/// The cache that the host simulates, compared with that of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comparison {
    /// Entries in the host's simulated cache.
    pub believed: u64,
    /// Number of these entries that are in the device's cache.
    pub right: u64,
}

impl Simulated {
    /// An empty cache of `entries` entries, of which uses refresh the cached ones (LRU) or not (FIFO).
    pub fn new(entries: u32, refreshes: bool) -> Simulated {
        let entries = entries as usize;
        let last_use = Index::new(entries + 1);
        Simulated { entries, refreshes, cached: 0, last_use, uses: VecDeque::new(), next_use: 0, requests: 0 }
    }

    /// Bytes of the table and of the list of uses.
    pub fn memory_bytes(&self) -> u64 {
        self.last_use.memory_bytes() + (self.uses.capacity() * size_of::<Use>()) as u64
    }

    pub fn requested(&mut self) {
        self.requests += 1;
    }

    /// After every [`COMPARE_EVERY`] requests: the number of entries, and of those that are in the device's cache, too.
    /// For statistics only; nothing depends on it.
    pub fn compare(&mut self, device: &dyn CacheView) -> Option<Comparison> {
        if self.requests < COMPARE_EVERY {
            return None;
        }
        self.requests = 0;
        let right = self.uses.iter().filter(|&&note| self.is_current(note) && device.cached(note.lpa, 1)).count();
        Some(Comparison { believed: self.cached as u64, right: right as u64 })
    }

    /// Uses the entries of these units. They are cached from now on.
    #[inline(never)]
    pub fn access(&mut self, lpa: Lpa, units: u32) {
        (0..units).for_each(|i| self.use_entry(lpa.offset(i)));
        if self.uses.len() > 4 * self.entries + units as usize || self.next_use > u32::MAX / 2 {
            self.renumber();
        }
    }

    #[inline]
    fn use_entry(&mut self, lpa: Lpa) {
        if !self.refreshes && self.last_use.find(lpa.0).is_some() {
            return;
        }
        self.uses.push_back(Use { lpa, number: self.next_use });
        if self.last_use.replace(lpa.0, self.next_use).is_none() {
            self.cached += 1;
        }
        self.next_use += 1;
        while self.cached > self.entries {
            let oldest = self.uses.pop_front().expect("the last use of every cached address is noted");
            self.cached -= usize::from(self.last_use.remove_if(oldest.lpa.0, oldest.number));
        }
    }

    fn is_current(&self, note: Use) -> bool {
        self.last_use.find(note.lpa.0) == Some(note.number)
    }

    /// Removes outdated uses, and numbers the others from 0.
    #[cold]
    fn renumber(&mut self) {
        let uses = std::mem::take(&mut self.uses);
        let current = uses.into_iter().filter(|&note| self.is_current(note));
        let current: VecDeque<_> = current.zip(0..).map(|(note, number)| Use { number, ..note }).collect();
        self.next_use = current.len() as u32;
        self.uses = current;
        for note in &self.uses {
            self.last_use.replace(note.lpa.0, note.number);
        }
    }
}

impl CacheView for Simulated {
    fn cached(&self, lpa: Lpa, len: u32) -> bool {
        (0..len).all(|i| self.last_use.find(lpa.offset(i).0).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_gives_way() {
        let mut cache = Simulated::new(3, true);
        assert!(!cache.cached(Lpa(10), 1));
        cache.access(Lpa(10), 3);
        cache.access(Lpa(10), 1);
        assert!(cache.cached(Lpa(10), 3));
        cache.access(Lpa(50), 1);
        let cached = |lpa| cache.cached(Lpa(lpa), 1);
        assert_eq!([cached(10), cached(11), cached(12), cached(50)], [true, false, true, true]);
    }

    #[test]
    fn without_refresh_the_first_one_gives_way() {
        let mut cache = Simulated::new(3, false);
        cache.access(Lpa(10), 3);
        cache.access(Lpa(10), 1);
        cache.access(Lpa(50), 1);
        assert_eq!([10, 11, 12, 50].map(|lpa| cache.cached(Lpa(lpa), 1)), [false, true, true, true]);
    }

    /// Compared with a list in order of use, with many hits, so that uses are outdated and renumbered.
    #[test]
    fn it_holds_what_a_list_in_order_of_use_holds() {
        let mut cache = Simulated::new(20, true);
        cache.next_use = u32::MAX / 2 - 5_000;
        let mut held: Vec<u32> = Vec::new();
        let mut state = 1u32;
        for _ in 0..10_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (first, units) = ((state >> 16) % 28, 1 + (state >> 30));
            cache.access(Lpa(first), units);
            for lpa in first..first + units {
                held.retain(|&other| other != lpa);
                held.push(lpa);
            }
            held.drain(..held.len().saturating_sub(20));
            for lpa in 0..32 {
                assert_eq!(cache.cached(Lpa(lpa), 1), held.contains(&lpa));
            }
            assert!(cache.uses.len() <= 4 * 20 + 4);
        }
        assert!(cache.next_use < u32::MAX / 4, "uses are numbered anew in time");
    }

    #[test]
    fn it_is_compared_with_the_device_every_thousand_requests() {
        struct Even;
        impl CacheView for Even {
            fn cached(&self, lpa: Lpa, _len: u32) -> bool {
                lpa.0.is_multiple_of(2)
            }
        }
        let mut cache = Simulated::new(8, true);
        cache.access(Lpa(10), 5);
        (1..COMPARE_EVERY).for_each(|_| cache.requested());
        assert_eq!(cache.compare(&Even), None);
        cache.requested();
        assert_eq!(cache.compare(&Even), Some(Comparison { believed: 5, right: 3 }));
        assert_eq!(cache.compare(&Even), None);
    }
}
