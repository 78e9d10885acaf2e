//! Which slot of a cache holds the entry of an address. An index of the simulator; firmware would hash.

use lists::Index;
use units::Lpa;

/// A cache of fewer entries than one in so many addresses is found by hashing: the table is small enough for the
/// processor's own caches, and a miss of the simulated one does not become a miss of these.
const HASHED_ONE_IN: u64 = 256;

/// Slots by address.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub enum Slots {
    /// Slot of each address plus one.
    Direct(Vec<u32>),
    /// Slot of each address that is cached.
    Hashed(Index),
}

impl Slots {
    /// For a cache of `capacity` entries of `addresses`.
    pub fn new(capacity: u64, addresses: u32) -> Slots {
        match capacity < u64::from(addresses) / HASHED_ONE_IN {
            true => Slots::Hashed(Index::new(capacity as usize)),
            false => Slots::Direct(table::zeroed(addresses as usize)),
        }
    }

    /// The slot of an address, if its entry is cached.
    #[inline]
    pub fn of(&self, lpa: Lpa) -> Option<u32> {
        match self {
            Slots::Direct(slots) => slots[lpa.index()].checked_sub(1),
            Slots::Hashed(slots) => slots.find(lpa.0),
        }
    }

    /// Prefetches what [`Slots::of`] looks at, if that is in memory.
    #[inline]
    pub fn prefetch(&self, lpa: Lpa) {
        if let Slots::Direct(slots) = self {
            table::prefetch(&slots[lpa.index()]);
        }
    }

    /// The entry of an address, which is not cached, comes into a slot.
    #[inline]
    pub fn insert(&mut self, lpa: Lpa, slot: u32) {
        match self {
            Slots::Direct(slots) => slots[lpa.index()] = slot + 1,
            Slots::Hashed(slots) => slots.insert(lpa.0, slot),
        }
    }

    /// The entry of an address leaves its slot. Gives the slot.
    #[inline]
    pub fn take(&mut self, lpa: Lpa) -> Option<u32> {
        match self {
            Slots::Direct(slots) => std::mem::take(&mut slots[lpa.index()]).checked_sub(1),
            Slots::Hashed(slots) => slots.remove(lpa.0),
        }
    }
}

/// The slots follow from the entries of the cache, and where a table has them, from its past.
#[cfg(feature = "explore")]
impl std::hash::Hash for Slots {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_find_what_is_cached() {
        let mut kinds = [Slots::new(4, 2048), Slots::new(2048, 2048)];
        assert!(matches!(kinds, [Slots::Hashed(_), Slots::Direct(_)]));
        for slots in &mut kinds {
            for (lpa, slot) in [(7, 2), (900, 0), (8, 3), (1023, 1)] {
                slots.insert(Lpa(lpa), slot);
            }
            assert_eq!(slots.take(Lpa(8)), Some(3));
            assert_eq!(slots.take(Lpa(8)), None);
            let found = [7, 900, 8, 1023, 0].map(|lpa| slots.of(Lpa(lpa)));
            assert_eq!(found, [Some(2), Some(0), None, Some(1), None]);
        }
    }
}
