//! The event queue: earliest first, and in the order of insertion where times are equal.

use units::SimTime;

/// Pending events, the latest first, so that the next one is at the end.
///
/// A run has a few dozen at once (one per tag and die). For so few a sorted list beats a heap: an insertion is one
/// search and one move of a few hundred bytes, and the processor seldom guesses a branch wrong.
#[derive(Debug)]
pub struct EventQueue<E> {
    sorted: Vec<(SimTime, E)>,
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { sorted: Vec::with_capacity(256) }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Time of the earliest event.
    #[inline]
    pub fn next_time(&self) -> Option<SimTime> {
        self.sorted.last().map(|&(at, _)| at)
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: SimTime, event: E) {
        let mut place = self.sorted.len();
        self.sorted.push((at, event));
        while place > 0 && self.sorted[place - 1].0 <= at {
            self.sorted[place] = self.sorted[place - 1];
            place -= 1;
        }
        self.sorted[place] = (at, event);
    }

    /// Everything that is pending, the latest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(SimTime, E)> {
        self.sorted.iter()
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.sorted.pop()
    }
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
        fn it_sorts_by_time_then_insertion(
            ops in prop::collection::vec(prop::option::weighted(0.6, 0u64..20), 1..300),
        ) {
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
                prop_assert_eq!(queue.iter().count(), model.len());
            }
        }
    }
}
