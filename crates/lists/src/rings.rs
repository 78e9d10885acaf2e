//! Several rings over the same slots.

use std::ops::{Index, IndexMut};

use crate::SlotNumber;

/// How many rings there are.
pub trait Anchors: Copy {
    /// That number.
    fn count(self) -> usize;
}

/// As many rings as `N`, known to the compiler.
#[derive(Clone, Copy, Default, Debug)]
pub struct Fixed<const N: usize>;

impl<const N: usize> Anchors for Fixed<N> {
    #[inline(always)]
    fn count(self) -> usize {
        N
    }
}

/// A number of rings that is known when they are made.
#[derive(Clone, Copy, Debug)]
pub struct Counted(pub usize);

impl Anchors for Counted {
    #[inline(always)]
    fn count(self) -> usize {
        self.0
    }
}

/// Rings of slots that are numbered by `S`, with a value `T` for each slot. Rings are numbered from 0.
#[derive(Clone, Debug)]
pub struct Rings<S, T = (), A = Fixed<1>> {
    /// First the anchors, then the slots. `next` of an anchor is its newest slot, `prev` its oldest. A node of a slot
    /// that is in no ring has any links.
    nodes: Vec<Node<S, T>>,
    anchors: A,
}

/// Links, and the value beside them so that one look at memory gets both.
#[derive(Clone, Copy, Debug)]
struct Node<S, T> {
    prev: S,
    next: S,
    value: T,
}

impl<S: SlotNumber, T: Default, const N: usize> Default for Rings<S, T, Fixed<N>> {
    fn default() -> Rings<S, T, Fixed<N>> {
        Rings::new()
    }
}

impl<S: SlotNumber, T: Default, const N: usize> Rings<S, T, Fixed<N>> {
    /// `N` empty rings, and no slots yet.
    pub fn new() -> Rings<S, T, Fixed<N>> {
        Rings::with_slots(Fixed, 0)
    }
}

impl<S: SlotNumber, T: Default, A: Anchors> Rings<S, T, A> {
    /// Empty rings, with `slots` slots to begin with.
    pub fn with_slots(anchors: A, slots: usize) -> Rings<S, T, A> {
        let mut rings = Rings { nodes: Vec::with_capacity(anchors.count() + slots), anchors };
        rings.grow(anchors.count() + slots);
        rings
    }

    /// Adds a slot that is in no ring as the newest of one.
    #[inline(always)]
    pub fn push_newest(&mut self, ring: usize, slot: S) {
        self.make_node(slot);
        self.link_newest(ring, slot);
    }

    /// Adds a slot that is in no ring as the oldest of one.
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

impl<S: SlotNumber, T, A: Anchors> Rings<S, T, A> {
    /// How many slots there are, in rings or not.
    #[inline(always)]
    pub fn slots(&self) -> usize {
        self.nodes.len() - self.anchors.count()
    }

    /// Makes another slot, which is in no ring, and gives its number.
    pub fn add(&mut self, value: T) -> S {
        let (node, slot) = (self.nodes.len(), self.slots());
        assert!(node < S::COUNT, "{slot} slots are as many as there are numbers");
        self.nodes.push(Node { prev: S::new(node), next: S::new(node), value });
        S::new(slot)
    }

    /// The same as [`Rings::push_newest`] for a slot that has been seen before.
    ///
    /// # Panics
    /// If there is no such slot yet.
    #[inline(always)]
    pub fn link_newest(&mut self, ring: usize, slot: S) {
        let newest = self.nodes[ring].next;
        self.link(S::new(ring), self.node(slot), newest);
    }

    /// Takes a slot that is in a ring out of it.
    #[inline(always)]
    pub fn remove(&mut self, slot: S) {
        let Node { prev, next, .. } = self.nodes[self.node(slot)];
        self.nodes[prev.index()].next = next;
        self.nodes[next.index()].prev = prev;
    }

    /// Makes a slot that is in a ring the newest of that one or of another one.
    #[inline(always)]
    pub fn touch(&mut self, ring: usize, slot: S) {
        if self.nodes[ring].next.index() != self.node(slot) {
            self.remove(slot);
            self.link_newest(ring, slot);
        }
    }

    /// Everything in ring `from` becomes newer than anything in ring `to`, in the order it has. Takes as long for many
    /// slots as for few.
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

    /// Takes the oldest slot of a ring out of it.
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

    #[inline(always)]
    fn node(&self, slot: S) -> usize {
        slot.index() + self.anchors.count()
    }

    /// The slot of a node, unless it is an anchor.
    #[inline(always)]
    fn slot(&self, node: S) -> Option<S> {
        node.index().checked_sub(self.anchors.count()).map(S::new)
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
impl<S: SlotNumber, T, A: Anchors> Index<S> for Rings<S, T, A> {
    type Output = T;

    #[inline(always)]
    fn index(&self, slot: S) -> &T {
        &self.nodes[self.node(slot)].value
    }
}

/// The value of a slot.
impl<S: SlotNumber, T, A: Anchors> IndexMut<S> for Rings<S, T, A> {
    #[inline(always)]
    fn index_mut(&mut self, slot: S) -> &mut T {
        let node = self.node(slot);
        &mut self.nodes[node].value
    }
}

#[cfg(test)]
#[path = "rings_tests.rs"]
mod tests;
