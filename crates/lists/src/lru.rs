//! One list with the names of an order of use.

use std::hash::{Hash, Hasher};
use std::ops::{Index, IndexMut};

use crate::{Rings, SlotNumber};

/// Least recently used order over slots that are numbered by `S`, with a value `T` for each.
#[derive(Clone, Debug)]
pub struct Lru<S, T = ()> {
    order: Rings<S, 1, T>,
}

impl<S: SlotNumber, T: Default> Default for Lru<S, T> {
    fn default() -> Lru<S, T> {
        Lru::new()
    }
}

impl<S: SlotNumber, T: Default> Lru<S, T> {
    /// An empty order without slots.
    pub fn new() -> Lru<S, T> {
        Lru { order: Rings::new() }
    }

    /// An empty order, with `slots` slots to begin with.
    pub fn with_slots(slots: usize) -> Lru<S, T> {
        Lru { order: Rings::with_slots(slots) }
    }

    /// Adds a slot, which must not be in the order, as the most recently used one.
    #[inline]
    pub fn insert(&mut self, slot: S) {
        self.order.push_newest(0, slot);
    }

    /// Makes a new slot outside the order. Gives its number.
    pub fn add(&mut self, value: T) -> S {
        self.order.add(value)
    }

    /// Makes a slot, which must be in the order, the most recently used one.
    #[inline(always)]
    pub fn touch(&mut self, slot: S) {
        self.order.touch(0, slot);
    }

    /// Removes a slot, which must be in the order.
    #[inline]
    pub fn remove(&mut self, slot: S) {
        self.order.remove(slot);
    }

    /// The least recently used slot.
    #[inline]
    pub fn oldest(&self) -> Option<S> {
        self.order.oldest(0)
    }

    /// The slots in the order, least recently used first.
    pub fn oldest_first(&self) -> impl Iterator<Item = S> + '_ {
        self.order.oldest_first(0)
    }

    /// The slots in the order, most recently used first.
    pub fn newest_first(&self) -> impl Iterator<Item = S> + '_ {
        self.order.newest_first(0)
    }
}

/// The slots in the order, with their values. As with [`Rings`], slots outside the order are left out.
impl<S: SlotNumber + Hash, T: Hash> Hash for Lru<S, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.order.hash(state);
    }
}

/// The value of a slot.
impl<S: SlotNumber, T> Index<S> for Lru<S, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, slot: S) -> &T {
        &self.order[slot]
    }
}

/// The value of a slot.
impl<S: SlotNumber, T> IndexMut<S> for Lru<S, T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: S) -> &mut T {
        &mut self.order[slot]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lru: &Lru<u32>) -> Vec<u32> {
        let order: Vec<u32> = lru.oldest_first().collect();
        assert!(lru.newest_first().eq(order.iter().rev().copied()));
        order
    }

    #[test]
    fn use_moves_to_the_newest_end() {
        let mut lru = Lru::new();
        assert_eq!(order(&lru), []);
        (0..4).for_each(|slot| lru.insert(slot));
        assert_eq!(order(&lru), [0, 1, 2, 3]);
        lru.touch(1);
        lru.touch(1);
        assert_eq!(order(&lru), [0, 2, 3, 1]);
        lru.remove(2);
        lru.remove(0);
        assert_eq!((order(&lru), lru.oldest()), (vec![3, 1], Some(3)));
        lru.insert(2);
        assert_eq!(order(&lru), [3, 1, 2]);
        (1..4).for_each(|slot| lru.remove(slot));
        assert_eq!((order(&lru), lru.oldest()), (vec![], None));
    }
}
