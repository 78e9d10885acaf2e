//! Slots sorted by a number; slots with the same number are in order of arrival.

/// Slots in the order of their keys. A pending queue is short, so moving entries costs less than the pointers of a
/// tree.
#[derive(Clone, Hash)]
pub(super) struct Sorted {
    /// In reverse order: the first slot is last, where it can be removed without moving others.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Hash)]
struct Entry {
    key: u32,
    slot: u16,
}

impl Sorted {
    /// An order for up to `slots` slots.
    pub fn new(slots: u16) -> Sorted {
        Sorted { entries: Vec::with_capacity(slots.into()) }
    }

    /// Adds a slot.
    #[inline]
    pub fn insert(&mut self, key: u32, slot: u16) {
        let at = self.entries.partition_point(|entry| entry.key > key);
        self.entries.insert(at, Entry { key, slot });
    }

    /// Removes a slot that was added with this key.
    #[inline]
    pub fn remove(&mut self, key: u32, slot: u16) {
        let from = self.entries.partition_point(|entry| entry.key > key);
        let equals = self.entries[from..].iter();
        let at = equals.take_while(|entry| entry.key == key).position(|entry| entry.slot == slot);
        self.entries.remove(from + at.expect("a slot stays in until it is taken out"));
    }

    /// The first slot whose key is at least `key`.
    #[inline]
    pub fn first_from(&self, key: u32) -> Option<u16> {
        let at = self.entries.partition_point(|entry| entry.key >= key).checked_sub(1)?;
        Some(self.entries[at].slot)
    }

    /// Removes the slot with the smallest key.
    #[inline]
    pub fn pop_first(&mut self) -> Option<u16> {
        self.entries.pop().map(|entry| entry.slot)
    }

    /// True if there is no slot.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_by_key_and_then_in_order_of_arrival() {
        let mut sorted = Sorted::new(8);
        for (slot, key) in [(0, 7), (1, 3), (2, 7), (3, 3), (4, 9)] {
            sorted.insert(key, slot);
        }
        assert_eq!((sorted.first_from(3), sorted.first_from(4), sorted.first_from(10)), (Some(1), Some(0), None));
        sorted.remove(7, 0);
        let all: Vec<u16> = std::iter::from_fn(|| sorted.pop_first()).collect();
        assert_eq!(all, [1, 3, 2, 4]);
        assert!(sorted.is_empty());
    }
}
