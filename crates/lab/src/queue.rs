//! The event queue: earliest first, and in the order of insertion where times are equal.

use units::SimTime;

/// An event that is due.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    /// Time in the high half, order of insertion in the low half: one comparison orders both.
    key: u128,
    event: E,
}

/// Pending events. A run has a few dozen at once (one per tag and die), for which a binary heap without
/// indirection is as good as anything.
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    inserted: u64,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: Vec::with_capacity(256), inserted: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Time of the earliest event.
    #[inline]
    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.first().map(|e| time(e.key))
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: SimTime, event: E) {
        let key = (u128::from(at.0) << 64) | u128::from(self.inserted);
        self.inserted += 1;
        let mut hole = self.heap.len();
        self.heap.push(Entry { key, event });
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if self.heap[parent].key <= key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = Entry { key, event };
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else {
            return Some((time(last.key), last.event));
        };
        let len = self.heap.len();
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= len {
                break;
            }
            if child + 1 < len && self.heap[child + 1].key < self.heap[child].key {
                child += 1;
            }
            if last.key <= self.heap[child].key {
                break;
            }
            self.heap[hole] = self.heap[child];
            hole = child;
        }
        self.heap[hole] = last;
        Some((time(first.key), first.event))
    }
}

#[inline]
fn time(key: u128) -> SimTime {
    SimTime((key >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_keep_the_order_of_insertion() {
        let mut queue = EventQueue::default();
        for n in 0..100 {
            queue.push(SimTime(n % 3), n);
        }
        let taken: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(_, n)| n).collect();
        let expected: Vec<u64> = (0..3).flat_map(|t| (0..100).filter(move |n| n % 3 == t)).collect();
        assert_eq!(taken, expected);
    }

    proptest! {
        #[test]
        fn it_sorts_by_time_then_insertion(ops in prop::collection::vec(prop::option::weighted(0.6, 0u64..20), 1..300)) {
            let mut queue = EventQueue::default();
            let mut model: Vec<(u64, u64)> = Vec::new();
            let mut number = 0;
            for op in ops {
                match op {
                    Some(at) => {
                        queue.push(SimTime(at), number);
                        model.push((at, number));
                        number += 1;
                    }
                    None => {
                        model.sort_unstable();
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(queue.next_time().map(|t| t.0), expected.map(|e| e.0));
                        prop_assert_eq!(queue.pop().map(|(t, n)| (t.0, n)), expected);
                    }
                }
                prop_assert_eq!(queue.is_empty(), model.is_empty());
            }
        }
    }
}
