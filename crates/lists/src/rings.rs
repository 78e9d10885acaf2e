//! Several rings over the same slots.

use std::hash::{Hash, Hasher};
use std::ops::{Index, IndexMut};

use crate::SlotNumber;

/// `N` rings of slots that are numbered by `S`, with a value `T` for each slot. Rings are numbered from 0.
#[derive(Clone, Debug)]
pub struct Rings<S, const N: usize, T = ()> {
    /// The anchors, then the slots. `next` of an anchor is its newest slot, `prev` its oldest. Links of a slot in no
    /// ring mean nothing.
    nodes: Vec<Node<S, T>>,
}

/// The slots of each ring in order, with their values. Slots in no ring are left out, because their links mean nothing;
/// an owner that keeps values there has to add them to its own hash.
impl<S: SlotNumber + Hash, const N: usize, T: Hash> Hash for Rings<S, N, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for ring in 0..N {
            for slot in self.oldest_first(ring) {
                (slot, &self[slot]).hash(state);
            }
            state.write_u8(u8::MAX);
        }
    }
}

/// Links of a slot, and its value beside them, so that one memory access gets both.
#[derive(Clone, Copy, Debug)]
struct Node<S, T> {
    prev: S,
    next: S,
    value: T,
}

impl<S: SlotNumber, const N: usize, T: Default> Default for Rings<S, N, T> {
    fn default() -> Rings<S, N, T> {
        Rings::new()
    }
}

impl<S: SlotNumber, const N: usize, T: Default> Rings<S, N, T> {
    /// Empty rings without slots.
    pub fn new() -> Rings<S, N, T> {
        Rings::with_slots(0)
    }

    /// Empty rings, with `slots` slots to begin with.
    pub fn with_slots(slots: usize) -> Rings<S, N, T> {
        let mut rings = Rings { nodes: Vec::with_capacity(N + slots) };
        rings.grow(N + slots);
        rings
    }

    /// Adds a slot, which must be in no ring, as the newest of a ring.
    #[inline(always)]
    pub fn push_newest(&mut self, ring: usize, slot: S) {
        self.make_node(slot);
        self.link_newest(ring, slot);
    }

    /// Adds a slot, which must be in no ring, as the oldest of a ring.
    #[inline(always)]
    pub fn push_oldest(&mut self, ring: usize, slot: S) {
        self.make_node(slot);
        let oldest = self.nodes[ring].prev;
        self.link(oldest, self.node(slot), S::new(ring));
    }

    #[inline(always)]
    fn make_node(&mut self, slot: S) {
        if self.nodes.len() <= self.node(slot) {
            self.grow(self.node(slot) + 1);
        }
    }

    #[cold]
    fn grow(&mut self, nodes: usize) {
        assert!(nodes <= S::COUNT, "{nodes} slots and anchors, but only {} numbers", S::COUNT);
        for at in self.nodes.len()..nodes {
            self.nodes.push(Node { prev: S::new(at), next: S::new(at), value: T::default() });
        }
    }
}

impl<S: SlotNumber, const N: usize, T> Rings<S, N, T> {
    /// Number of slots, in rings or not.
    #[inline(always)]
    pub fn slots(&self) -> usize {
        self.nodes.len() - N
    }

    /// Makes a new slot in no ring. Gives its number.
    pub fn add(&mut self, value: T) -> S {
        let (node, slot) = (self.nodes.len(), self.slots());
        assert!(node < S::COUNT, "{slot} slots are as many as there are numbers");
        self.nodes.push(Node { prev: S::new(node), next: S::new(node), value });
        S::new(slot)
    }

    /// Like [`Rings::push_newest`], for a slot that exists already.
    ///
    /// # Panics
    /// If the slot does not exist.
    #[inline(always)]
    pub fn link_newest(&mut self, ring: usize, slot: S) {
        let newest = self.nodes[ring].next;
        self.link(S::new(ring), self.node(slot), newest);
    }

    /// Removes a slot from its ring.
    #[inline(always)]
    pub fn remove(&mut self, slot: S) {
        let Node { prev, next, .. } = self.nodes[self.node(slot)];
        self.nodes[prev.index()].next = next;
        self.nodes[next.index()].prev = prev;
    }

    /// Moves a slot from its ring to the newest end of `ring`.
    #[inline(always)]
    pub fn touch(&mut self, ring: usize, slot: S) {
        if self.nodes[ring].next.index() != self.node(slot) {
            self.remove(slot);
            self.link_newest(ring, slot);
        }
    }

    /// Moves all slots of ring `from` to the newest end of ring `to`, in their order. Takes constant time.
    pub fn move_all(&mut self, from: usize, to: usize) {
        let Node { prev: oldest, next: newest, .. } = self.nodes[from];
        if newest.index() == from || from == to {
            return;
        }
        let behind = self.nodes[to].next;
        self.nodes[to].next = newest;
        self.nodes[newest.index()].prev = S::new(to);
        self.nodes[oldest.index()].next = behind;
        self.nodes[behind.index()].prev = oldest;
        self.nodes[from].prev = S::new(from);
        self.nodes[from].next = S::new(from);
    }

    /// The oldest slot of a ring.
    #[inline(always)]
    pub fn oldest(&self, ring: usize) -> Option<S> {
        self.slot(self.nodes[ring].prev)
    }

    /// The newest slot of a ring.
    #[inline(always)]
    pub fn newest(&self, ring: usize) -> Option<S> {
        self.slot(self.nodes[ring].next)
    }

    /// Removes the oldest slot of a ring, and gives it.
    #[inline(always)]
    pub fn pop_oldest(&mut self, ring: usize) -> Option<S> {
        let slot = self.oldest(ring)?;
        self.remove(slot);
        Some(slot)
    }

    /// True if a ring has no slot.
    #[inline(always)]
    pub fn is_empty(&self, ring: usize) -> bool {
        self.nodes[ring].next.index() == ring
    }

    /// The slots of a ring, oldest first.
    pub fn oldest_first(&self, ring: usize) -> impl Iterator<Item = S> + '_ {
        std::iter::successors(self.oldest(ring), |&slot| self.slot(self.nodes[self.node(slot)].prev))
    }

    /// The slots of a ring, newest first.
    pub fn newest_first(&self, ring: usize) -> impl Iterator<Item = S> + '_ {
        std::iter::successors(self.newest(ring), |&slot| self.slot(self.nodes[self.node(slot)].next))
    }

    /// The values of all slots, in rings or not, in order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.nodes[N..].iter().map(|node| &node.value)
    }

    #[inline(always)]
    fn node(&self, slot: S) -> usize {
        slot.index() + N
    }

    /// The slot of a node; `None` for an anchor.
    #[inline(always)]
    fn slot(&self, node: S) -> Option<S> {
        node.index().checked_sub(N).map(S::new)
    }

    #[inline(always)]
    fn link(&mut self, prev: S, node: usize, next: S) {
        let links = &mut self.nodes[node];
        (links.prev, links.next) = (prev, next);
        self.nodes[prev.index()].next = S::new(node);
        self.nodes[next.index()].prev = S::new(node);
    }
}

/// The value of a slot.
impl<S: SlotNumber, const N: usize, T> Index<S> for Rings<S, N, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, slot: S) -> &T {
        &self.nodes[self.node(slot)].value
    }
}

/// The value of a slot.
impl<S: SlotNumber, const N: usize, T> IndexMut<S> for Rings<S, N, T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: S) -> &mut T {
        let node = self.node(slot);
        &mut self.nodes[node].value
    }
}

#[cfg(test)]
#[path = "rings_tests.rs"]
mod tests;
