//! Single L2P entries in SRAM, as a device caches them that has far less SRAM than addresses (HPBvalve Sec. 2.1, Fig.
//! 1: on a hit "the hit L2P entry moves to the head of the list", on a miss the entry at the tail leaves).
//!
//! What is cached is always what stands on flash, changed along with it in a map flush, so that only addresses are kept
//! here.

use std::collections::BTreeMap;

use units::Lpa;

/// Bytes of an entry. HPBvalve Sec. 2.1: 512 KB hold 0.05% of the table of 1 TB.
const ENTRY_BYTES: u64 = 4;

/// Least recently used order over addresses.
#[derive(Debug)]
pub struct EntryCache {
    capacity: usize,
    /// Node of an address: an index of the simulator, where firmware would hash.
    node_of: BTreeMap<u32, u32>,
    /// Ring of nodes; node 0 is the anchor, its successor the most recently used.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    lpa: u32,
    prev: u32,
    next: u32,
}

impl EntryCache {
    /// Room for as many entries as fit so many bytes.
    pub fn new(bytes: u64) -> EntryCache {
        let anchor = Node { lpa: 0, prev: 0, next: 0 };
        EntryCache { capacity: (bytes / ENTRY_BYTES) as usize, node_of: BTreeMap::new(), nodes: vec![anchor] }
    }

    /// Is the entry here?
    pub fn holds(&self, lpa: Lpa) -> bool {
        self.node_of.contains_key(&lpa.0)
    }

    /// The same; it then becomes the most recently used.
    pub fn touch(&mut self, lpa: Lpa) -> bool {
        let Some(&node) = self.node_of.get(&lpa.0) else { return false };
        self.unlink(node);
        self.link_first(node);
        true
    }

    /// Takes an entry in, in place of the least recently used one if there is no room.
    pub fn insert(&mut self, lpa: Lpa) {
        if self.touch(lpa) || self.capacity == 0 {
            return;
        }
        let node = if self.node_of.len() < self.capacity {
            self.nodes.push(Node { lpa: lpa.0, prev: 0, next: 0 });
            (self.nodes.len() - 1) as u32
        } else {
            let last = self.nodes[0].prev;
            self.unlink(last);
            self.node_of.remove(&self.nodes[last as usize].lpa);
            self.nodes[last as usize].lpa = lpa.0;
            last
        };
        self.node_of.insert(lpa.0, node);
        self.link_first(node);
    }

    /// Every address, in order.
    pub fn addresses(&self) -> impl Iterator<Item = Lpa> + '_ {
        self.node_of.keys().map(|&lpa| Lpa(lpa))
    }

    fn unlink(&mut self, node: u32) {
        let Node { prev, next, .. } = self.nodes[node as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
    }

    fn link_first(&mut self, node: u32) {
        let first = self.nodes[0].next;
        (self.nodes[node as usize].prev, self.nodes[node as usize].next) = (0, first);
        self.nodes[first as usize].prev = node;
        self.nodes[0].next = node;
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
