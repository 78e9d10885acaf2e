//! Subregions that are to be fetched, in classes of urgency.

use std::collections::VecDeque;

/// Fetches to come, in `N` classes: all of class 0 goes before class 1, and so on; each class in the order of arrival.
pub(super) struct Fetches<const N: usize> {
    queues: [VecDeque<u32>; N],
    /// Per group: 0, or its class plus one. A group stands in several queues if it became more urgent; only this one counts.
    wanted: Vec<u8>,
    in_flight: u32,
    limit: u32,
}

impl<const N: usize> Fetches<N> {
    /// Nothing is wanted; at most `limit` fetches are under way at a time (`inflight_map_req`).
    pub fn new(groups: u32, limit: u32) -> Fetches<N> {
        Fetches {
            queues: std::array::from_fn(|_| VecDeque::new()),
            wanted: vec![0; groups as usize],
            in_flight: 0,
            limit,
        }
    }

    /// A group is wanted, unless it is already in this class or a more urgent one. True if that is new.
    pub fn want(&mut self, group: u32, class: usize) -> bool {
        let wanted = &mut self.wanted[group as usize];
        if *wanted != 0 && usize::from(*wanted) <= class + 1 {
            return false;
        }
        *wanted = class as u8 + 1;
        self.queues[class].push_back(group);
        true
    }

    /// A group is not wanted any more.
    pub fn cancel(&mut self, group: u32) {
        self.wanted[group as usize] = 0;
    }

    /// Nothing of this class is wanted any more.
    pub fn cancel_class(&mut self, class: usize) {
        for group in self.queues[class].drain(..) {
            let wanted = &mut self.wanted[group as usize];
            if usize::from(*wanted) == class + 1 {
                *wanted = 0;
            }
        }
    }

    /// Takes out the group that comes next and its class, if another fetch may be sent.
    pub fn pop(&mut self) -> Option<(u32, usize)> {
        if self.in_flight >= self.limit {
            return None;
        }
        for (class, queue) in self.queues.iter_mut().enumerate() {
            while let Some(group) = queue.pop_front() {
                let wanted = &mut self.wanted[group as usize];
                if usize::from(*wanted) == class + 1 {
                    *wanted = 0;
                    return Some((group, class));
                }
            }
        }
        None
    }

    /// A fetch is being sent.
    pub fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// A fetch has been answered.
    pub fn answered(&mut self) {
        self.in_flight -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_ones_go_first_and_nothing_goes_twice() {
        let mut fetches = Fetches::<3>::new(10, 2);
        for (group, class) in [(1, 2), (2, 1), (3, 2), (4, 1)] {
            assert!(fetches.want(group, class));
        }
        assert!(!fetches.want(2, 2), "it is wanted more urgently already");
        assert!(fetches.want(3, 0), "it has become urgent");
        fetches.cancel(4);
        assert_eq!(fetches.pop(), Some((3, 0)));
        assert_eq!(fetches.pop(), Some((2, 1)));
        assert_eq!(fetches.pop(), Some((1, 2)));
        assert_eq!(fetches.pop(), None);
    }

    #[test]
    fn so_many_at_a_time() {
        let mut fetches = Fetches::<1>::new(10, 1);
        fetches.want(1, 0);
        fetches.want(2, 0);
        assert_eq!(fetches.pop(), Some((1, 0)));
        fetches.sent();
        assert_eq!(fetches.pop(), None);
        fetches.answered();
        assert_eq!(fetches.pop(), Some((2, 0)));
    }

    #[test]
    fn a_class_is_forgotten_as_a_whole() {
        let mut fetches = Fetches::<2>::new(10, 1);
        fetches.want(1, 1);
        fetches.want(2, 1);
        fetches.want(2, 0);
        fetches.cancel_class(1);
        assert_eq!(fetches.pop(), Some((2, 0)), "it was wanted more urgently");
        assert!(fetches.want(1, 1), "it may be wanted again");
    }
}
