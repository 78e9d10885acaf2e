//! Least recently used order over the indices of an array, as an intrusive doubly linked list.

/// Order of use. Index `i` of the caller is node `i + 1`; node 0 closes the ring: its successor is the most recently
/// used one, its predecessor the least recently used one.
#[derive(Debug)]
pub(crate) struct Lru {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Node {
    prev: u32,
    next: u32,
}

impl Lru {
    /// An empty order.
    pub fn new() -> Lru {
        Lru { nodes: vec![Node::default()] }
    }

    /// Enters `index`, which must not be in, as the most recently used one.
    pub fn insert(&mut self, index: u32) {
        let needed = index as usize + 2;
        if self.nodes.len() < needed {
            self.nodes.resize(needed, Node::default());
        }
        self.link(index + 1);
    }

    /// Makes `index`, which must be in, the most recently used one.
    #[inline]
    pub fn touch(&mut self, index: u32) {
        let node = index + 1;
        if self.nodes[0].next != node {
            self.unlink(node);
            self.link(node);
        }
    }

    /// Takes out `index`, which must be in.
    pub fn remove(&mut self, index: u32) {
        self.unlink(index + 1);
    }

    /// The indices, least recently used first.
    pub fn oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        let step = |&node: &u32| Some(self.nodes[node as usize].prev).filter(|&prev| prev != 0);
        std::iter::successors(step(&0), step).map(|node| node - 1)
    }

    #[inline]
    fn link(&mut self, node: u32) {
        let first = self.nodes[0].next;
        self.nodes[node as usize] = Node { prev: 0, next: first };
        self.nodes[first as usize].prev = node;
        self.nodes[0].next = node;
    }

    #[inline]
    fn unlink(&mut self, node: u32) {
        let Node { prev, next } = self.nodes[node as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lru: &Lru) -> Vec<u32> {
        lru.oldest_first().collect()
    }

    #[test]
    fn use_moves_to_the_young_end() {
        let mut lru = Lru::new();
        assert_eq!(order(&lru), []);
        (0..4).for_each(|i| lru.insert(i));
        assert_eq!(order(&lru), [0, 1, 2, 3]);
        lru.touch(1);
        lru.touch(1);
        assert_eq!(order(&lru), [0, 2, 3, 1]);
        lru.remove(2);
        lru.remove(0);
        assert_eq!(order(&lru), [3, 1]);
        lru.insert(2);
        assert_eq!(order(&lru), [3, 1, 2]);
        (1..4).for_each(|i| lru.remove(i));
        assert_eq!(order(&lru), []);
    }
}
