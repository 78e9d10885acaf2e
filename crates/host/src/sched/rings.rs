//! Ring lists of slots, linked through one array: a slot is in at most one ring, and leaves it without being searched.

/// Some ring lists over the same slots.
pub(super) struct Rings {
    /// One node per slot, then one anchor per ring.
    nodes: Vec<Node>,
    slots: u16,
}

#[derive(Clone, Copy)]
struct Node {
    prev: u16,
    next: u16,
}

impl Rings {
    /// `rings` empty rings for `slots` slots.
    pub fn new(slots: u16, rings: u16) -> Rings {
        Rings { nodes: (0..slots + rings).map(|at| Node { prev: at, next: at }).collect(), slots }
    }

    /// Adds a slot that is in no ring at the end of one.
    #[inline]
    pub fn push_back(&mut self, ring: u16, slot: u16) {
        let anchor = self.slots + ring;
        let last = self.nodes[usize::from(anchor)].prev;
        self.nodes[usize::from(slot)] = Node { prev: last, next: anchor };
        self.nodes[usize::from(last)].next = slot;
        self.nodes[usize::from(anchor)].prev = slot;
    }

    /// Takes a slot out of its ring.
    #[inline]
    pub fn remove(&mut self, slot: u16) {
        let Node { prev, next } = self.nodes[usize::from(slot)];
        self.nodes[usize::from(prev)].next = next;
        self.nodes[usize::from(next)].prev = prev;
    }

    /// The slot that has been in a ring longest.
    #[inline]
    pub fn first(&self, ring: u16) -> Option<u16> {
        self.after(self.slots + ring)
    }

    /// Takes that slot out.
    #[inline]
    pub fn pop_front(&mut self, ring: u16) -> Option<u16> {
        let slot = self.first(ring)?;
        self.remove(slot);
        Some(slot)
    }

    /// True if a ring has no slot.
    #[inline]
    pub fn is_empty(&self, ring: u16) -> bool {
        self.first(ring).is_none()
    }

    /// The slots of a ring, oldest first.
    pub fn iter(&self, ring: u16) -> impl Iterator<Item = u16> + '_ {
        std::iter::successors(self.first(ring), |&slot| self.after(slot))
    }

    #[inline]
    fn after(&self, node: u16) -> Option<u16> {
        Some(self.nodes[usize::from(node)].next).filter(|&next| next < self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_keep_their_order_and_share_their_slots() {
        let mut rings = Rings::new(5, 2);
        (0..5).for_each(|slot| rings.push_back(slot % 2, slot));
        rings.remove(2);
        assert_eq!(rings.iter(0).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(rings.iter(1).collect::<Vec<_>>(), [1, 3]);
        rings.push_back(1, 2);
        assert_eq!(rings.pop_front(1), Some(1));
        assert_eq!(rings.iter(1).collect::<Vec<_>>(), [3, 2]);
        assert_eq!((rings.pop_front(0), rings.pop_front(0), rings.pop_front(0)), (Some(0), Some(4), None));
        assert!(rings.is_empty(0) && !rings.is_empty(1));
    }
}
