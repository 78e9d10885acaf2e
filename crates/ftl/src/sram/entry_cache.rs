//! A cache of single L2P entries in SRAM, for a device with far less SRAM than addresses (HPBvalve Sec. 2.1, Fig. 1: on
//! a hit "the hit L2P entry moves to the head of the list", on a miss the entry at the tail leaves).
//!
//! The cache always equals flash, because a map flush changes both. So the simulator stores only the addresses.

use std::collections::BTreeMap;

use lists::Lru;
use units::Lpa;

/// Bytes of an entry. HPBvalve Sec. 2.1: 512 KB hold 0.05% of the table of 1 TB.
const ENTRY_BYTES: u64 = 4;

/// The cached addresses in order of use.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct EntryCache {
    capacity: usize,
    /// Slot of an address. An index of the simulator; firmware would hash.
    slot_of: BTreeMap<u32, u32>,
    /// The value of a slot is its address.
    order: Lru<u32, u32>,
}

impl EntryCache {
    /// A cache of `bytes` bytes.
    pub fn new(bytes: u64) -> EntryCache {
        EntryCache { capacity: (bytes / ENTRY_BYTES) as usize, slot_of: BTreeMap::new(), order: Lru::new() }
    }

    /// True if the entry is cached. Does not count as a use.
    pub fn holds(&self, lpa: Lpa) -> bool {
        self.slot_of.contains_key(&lpa.0)
    }

    /// True if the entry is cached. It becomes the most recently used.
    pub fn touch(&mut self, lpa: Lpa) -> bool {
        let Some(&slot) = self.slot_of.get(&lpa.0) else { return false };
        self.order.touch(slot);
        true
    }

    /// Inserts an entry. If the cache is full, the least recently used entry leaves.
    pub fn insert(&mut self, lpa: Lpa) {
        if self.touch(lpa) || self.capacity == 0 {
            return;
        }
        let slot = match self.order.oldest() {
            Some(oldest) if self.slot_of.len() == self.capacity => {
                self.order.remove(oldest);
                self.slot_of.remove(&self.order[oldest]);
                self.order[oldest] = lpa.0;
                oldest
            }
            _ => self.order.add(lpa.0),
        };
        self.slot_of.insert(lpa.0, slot);
        self.order.insert(slot);
    }

    /// Every address, in order.
    pub fn addresses(&self) -> impl Iterator<Item = Lpa> + '_ {
        self.slot_of.keys().map(|&lpa| Lpa(lpa))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_longest_ago_leaves() {
        let mut cache = EntryCache::new(3 * 4 + 3);
        (1..=3).for_each(|lpa| cache.insert(Lpa(lpa)));
        assert!(cache.touch(Lpa(1)) && !cache.touch(Lpa(9)));
        cache.insert(Lpa(2));
        cache.insert(Lpa(4));
        assert_eq!(cache.addresses().collect::<Vec<_>>(), [1, 2, 4].map(Lpa));
        cache.insert(Lpa(5));
        assert!(!cache.holds(Lpa(1)) && cache.holds(Lpa(2)));
        let mut none = EntryCache::new(0);
        none.insert(Lpa(1));
        assert!(!none.holds(Lpa(1)));
    }
}
