//! A heap of nodes by average: which node was used least, over all that it holds.

/// What the heap asks of a node.
pub trait Node {
    /// Sum over what it holds.
    fn sum(&self) -> u64;
    /// Number of what it holds; not 0.
    fn len(&self) -> u32;
    /// Decides between equal averages: the lower one comes first.
    fn tie(&self) -> u32;
    /// Its place in the heap.
    fn place(&mut self) -> &mut u32;
}

/// Numbers of nodes; the one with the lowest average comes first. Nodes know their places.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Coldest {
    heap: Vec<u32>,
}

impl Coldest {
    /// The node with the lowest average.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.heap.first().copied()
    }

    /// All nodes, roughly by average: none comes after one that it is to come before in the tree of the heap.
    pub fn roughly(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().copied()
    }

    /// Adds a node.
    pub fn push(&mut self, nodes: &mut [impl Node], node: u32) {
        self.heap.push(node);
        *nodes[node as usize].place() = self.heap.len() as u32 - 1;
        self.rise(nodes, self.heap.len() - 1);
    }

    /// Takes a node away.
    pub fn remove(&mut self, nodes: &mut [impl Node], node: u32) {
        let at = *nodes[node as usize].place() as usize;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            *nodes[self.heap[at] as usize].place() = at as u32;
            self.moved(nodes, self.heap[at]);
        }
    }

    /// The average of a node has changed.
    #[inline]
    pub fn moved(&mut self, nodes: &mut [impl Node], node: u32) {
        let at = *nodes[node as usize].place() as usize;
        if self.rise(nodes, at) == at {
            self.sink(nodes, at);
        }
    }

    /// Brings a node forward as far as it belongs. Gives its place.
    #[inline]
    fn rise(&mut self, nodes: &mut [impl Node], mut at: usize) -> usize {
        while at > 0 {
            let above = (at - 1) / 2;
            if !before(nodes, self.heap[at], self.heap[above]) {
                break;
            }
            self.swap(nodes, at, above);
            at = above;
        }
        at
    }

    fn sink(&mut self, nodes: &mut [impl Node], mut at: usize) {
        loop {
            let mut least = at;
            for below in [2 * at + 1, 2 * at + 2] {
                if below < self.heap.len() && before(nodes, self.heap[below], self.heap[least]) {
                    least = below;
                }
            }
            if least == at {
                return;
            }
            self.swap(nodes, at, least);
            at = least;
        }
    }

    #[inline]
    fn swap(&mut self, nodes: &mut [impl Node], a: usize, b: usize) {
        self.heap.swap(a, b);
        *nodes[self.heap[a] as usize].place() = a as u32;
        *nodes[self.heap[b] as usize].place() = b as u32;
    }
}

/// True if node `a` has a lower average than `b`.
#[inline]
pub fn before(nodes: &[impl Node], a: u32, b: u32) -> bool {
    let (a, b) = (&nodes[a as usize], &nodes[b as usize]);
    let (left, right) = (u128::from(a.sum()) * u128::from(b.len()), u128::from(b.sum()) * u128::from(a.len()));
    (left, a.tie()) < (right, b.tie())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Default)]
    struct Held(u64, u32, u32, u32);

    impl Node for Held {
        fn sum(&self) -> u64 {
            self.0
        }
        fn len(&self) -> u32 {
            self.1
        }
        fn tie(&self) -> u32 {
            self.2
        }
        fn place(&mut self) -> &mut u32 {
            &mut self.3
        }
    }

    proptest! {
        /// Compared with a search of all nodes.
        #[test]
        fn the_first_has_the_lowest_average(steps in prop::collection::vec((0u32..12, 0u64..40, 0u32..4), 1..200)) {
            let mut nodes: Vec<Held> = (0..12).map(|tie| Held(0, 0, tie, 0)).collect();
            let mut heap = Coldest::default();
            for (node, sum, len) in steps {
                let held = &mut nodes[node as usize];
                let was = held.1 > 0;
                if len == 0 && was {
                    heap.remove(&mut nodes, node);
                    nodes[node as usize].1 = 0;
                } else if len > 0 {
                    (held.0, held.1) = (sum, len);
                    if was { heap.moved(&mut nodes, node) } else { heap.push(&mut nodes, node) }
                }
                let held = (0..12u32).filter(|&node| nodes[node as usize].1 > 0);
                let least = held.clone().reduce(|a, b| if before(&nodes, b, a) { b } else { a });
                prop_assert_eq!(heap.first(), least);
                prop_assert_eq!(heap.roughly().count(), held.count());
            }
        }
    }
}
