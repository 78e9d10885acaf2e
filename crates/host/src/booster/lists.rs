//! Several orders of use over the same slots, linked through one array. A slot is in at most one list, leaves it without being
//! searched, and a whole list goes into another one at once: HPBvalve Sec. 6.3, "can be done in O(1) time complexity".

/// `N` lists. Each is a ring with an anchor, whose successor is the newest and whose predecessor is the oldest slot.
#[derive(Debug)]
pub(super) struct Lists<const N: usize> {
    /// First the anchors, then a node for each slot.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    prev: u32,
    next: u32,
}

impl<const N: usize> Lists<N> {
    /// Empty lists.
    pub fn new() -> Lists<N> {
        Lists { nodes: (0..N as u32).map(|at| Node { prev: at, next: at }).collect() }
    }

    /// Adds a slot that is in no list as the newest of one.
    #[inline]
    pub fn push_newest(&mut self, list: usize, slot: u32) {
        let node = self.node(slot);
        self.link(list as u32, node, self.nodes[list].next);
    }

    /// Adds a slot that is in no list as the oldest of one.
    #[inline]
    pub fn push_oldest(&mut self, list: usize, slot: u32) {
        let node = self.node(slot);
        self.link(self.nodes[list].prev, node, list as u32);
    }

    /// Takes a slot out of its list.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        let Node { prev, next } = self.nodes[slot as usize + N];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
    }

    /// Everything in `from` becomes newer than anything in `to`, in the order it has.
    pub fn move_all(&mut self, from: usize, to: usize) {
        let Node { prev: oldest, next: newest } = self.nodes[from];
        if newest == from as u32 {
            return;
        }
        let behind = self.nodes[to].next;
        self.nodes[to].next = newest;
        self.nodes[newest as usize].prev = to as u32;
        self.nodes[oldest as usize].next = behind;
        self.nodes[behind as usize].prev = oldest;
        self.nodes[from] = Node { prev: from as u32, next: from as u32 };
    }

    /// The oldest slot of a list.
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<u32> {
        self.nodes[list].prev.checked_sub(N as u32)
    }

    /// The slots of a list, oldest first.
    pub fn oldest_first(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        let before = |&slot: &u32| self.nodes[slot as usize + N].prev.checked_sub(N as u32);
        std::iter::successors(self.oldest(list), before)
    }

    fn node(&mut self, slot: u32) -> u32 {
        let node = slot + N as u32;
        while self.nodes.len() <= node as usize {
            let at = self.nodes.len() as u32;
            self.nodes.push(Node { prev: at, next: at });
        }
        node
    }

    #[inline]
    fn link(&mut self, prev: u32, node: u32, next: u32) {
        self.nodes[node as usize] = Node { prev, next };
        self.nodes[prev as usize].next = node;
        self.nodes[next as usize].prev = node;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Newest(usize, u32),
        Oldest(usize, u32),
        Remove(u32),
        MoveAll(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let (list, slot) = (0..3usize, 0..12u32);
        prop_oneof![
            3 => (list.clone(), slot.clone()).prop_map(|(l, s)| Step::Newest(l, s)),
            3 => (list.clone(), slot.clone()).prop_map(|(l, s)| Step::Oldest(l, s)),
            2 => slot.prop_map(Step::Remove),
            1 => (list.clone(), list).prop_map(|(a, b)| Step::MoveAll(a, b)),
        ]
    }

    proptest! {
        /// Against plain queues that are searched.
        #[test]
        fn lists_are_queues(steps in prop::collection::vec(step(), 0..200)) {
            let mut lists = Lists::<3>::new();
            let mut queues: [VecDeque<u32>; 3] = Default::default();
            for step in steps {
                let holder = |queues: &[VecDeque<u32>; 3], slot| queues.iter().position(|q| q.contains(&slot));
                match step {
                    Step::Newest(list, slot) if holder(&queues, slot).is_none() => {
                        lists.push_newest(list, slot);
                        queues[list].push_back(slot);
                    }
                    Step::Oldest(list, slot) if holder(&queues, slot).is_none() => {
                        lists.push_oldest(list, slot);
                        queues[list].push_front(slot);
                    }
                    Step::Remove(slot) if holder(&queues, slot).is_some() => {
                        lists.remove(slot);
                        queues.iter_mut().for_each(|queue| queue.retain(|&s| s != slot));
                    }
                    Step::MoveAll(from, to) if from != to => {
                        lists.move_all(from, to);
                        let moved = std::mem::take(&mut queues[from]);
                        queues[to].extend(moved);
                    }
                    _ => {}
                }
                for (list, queue) in queues.iter().enumerate() {
                    prop_assert_eq!(&lists.oldest_first(list).collect::<VecDeque<_>>(), queue);
                    prop_assert_eq!(lists.oldest(list), queue.front().copied());
                }
            }
        }
    }
}
