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

/// A node in the heap, with its average. Most comparisons end here, without a look at the node itself.
#[cfg_attr(feature = "explore", derive(Hash))]
#[derive(Clone, Copy, Debug)]
struct Placed {
    sum: u64,
    len: u32,
    node: u32,
}

impl Placed {
    #[inline]
    fn of(nodes: &[impl Node], node: u32) -> Placed {
        let held = &nodes[node as usize];
        Placed { sum: held.sum(), len: held.len(), node }
    }

    /// True if this one has the lower average.
    #[inline]
    fn is_before(self, other: Placed, nodes: &[impl Node]) -> bool {
        let left = u128::from(self.sum) * u128::from(other.len);
        let right = u128::from(other.sum) * u128::from(self.len);
        let tie = |placed: Placed| nodes[placed.node as usize].tie();
        left < right || left == right && tie(self) < tie(other)
    }
}

/// The nodes; the one with the lowest average comes first. Nodes know their places.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Coldest {
    heap: Vec<Placed>,
}

impl Coldest {
    /// The node with the lowest average.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        Some(self.heap.first()?.node)
    }

    /// All nodes, roughly by average: none comes after one that it is to come before in the tree of the heap.
    pub fn roughly(&self) -> impl Iterator<Item = u32> {
        self.heap.iter().map(|placed| placed.node)
    }

    /// Adds a node.
    pub fn push(&mut self, nodes: &mut [impl Node], node: u32) {
        self.heap.push(Placed::of(nodes, node));
        self.settle(nodes, self.heap.len() - 1);
    }

    /// Takes a node away.
    pub fn remove(&mut self, nodes: &mut [impl Node], node: u32) {
        let at = *nodes[node as usize].place() as usize;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.settle(nodes, at);
        }
    }

    /// The average of a node has changed.
    #[inline]
    pub fn moved(&mut self, nodes: &mut [impl Node], node: u32) {
        let at = *nodes[node as usize].place() as usize;
        self.heap[at] = Placed::of(nodes, node);
        self.settle(nodes, at);
    }

    /// Brings the node at a place to where it belongs.
    fn settle(&mut self, nodes: &mut [impl Node], at: usize) {
        let placed = self.heap[at];
        let place = self.rise(nodes, placed, at);
        let place = if place == at { self.sink(nodes, placed, at) } else { place };
        self.put(nodes, place, placed);
    }

    /// Makes room for a node as far to the front as it belongs. Gives its place.
    #[inline]
    fn rise(&mut self, nodes: &mut [impl Node], placed: Placed, mut at: usize) -> usize {
        while at > 0 {
            let above = (at - 1) / 2;
            if !placed.is_before(self.heap[above], nodes) {
                break;
            }
            self.put(nodes, at, self.heap[above]);
            at = above;
        }
        at
    }

    /// Makes room for a node as far to the back as it belongs. Gives its place.
    #[inline]
    fn sink(&mut self, nodes: &mut [impl Node], placed: Placed, mut at: usize) -> usize {
        while 2 * at + 1 < self.heap.len() {
            let (left, right) = (2 * at + 1, (2 * at + 2).min(self.heap.len() - 1));
            // No branch: it would be guessed wrongly every other time.
            let least = left + usize::from(self.heap[right].is_before(self.heap[left], nodes));
            if !self.heap[least].is_before(placed, nodes) {
                break;
            }
            self.put(nodes, at, self.heap[least]);
            at = least;
        }
        at
    }

    #[inline]
    fn put(&mut self, nodes: &mut [impl Node], at: usize, placed: Placed) {
        self.heap[at] = placed;
        *nodes[placed.node as usize].place() = at as u32;
    }
}

/// True if node `a` has a lower average than `b`.
#[inline]
pub fn before(nodes: &[impl Node], a: u32, b: u32) -> bool {
    Placed::of(nodes, a).is_before(Placed::of(nodes, b), nodes)
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
