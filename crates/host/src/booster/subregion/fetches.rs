//! Subregions that are to be fetched, by urgency.

use std::collections::VecDeque;

/// How soon a subregion is to be fetched, the most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Urgency {
    /// An app that the user sees has missed it.
    Missed,
    /// An app that is being launched has read it during launches.
    Launch,
    /// An app that is being launched has read it while it ran.
    Running,
    /// It has been read often, or the device recommends it.
    Counted,
}

impl Urgency {
    const ALL: [Urgency; 4] = [Urgency::Missed, Urgency::Launch, Urgency::Running, Urgency::Counted];
}

/// A subregion that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wish {
    pub group: u32,
    pub urgency: Urgency,
}

/// Fetches to come: the most urgent first, equally urgent ones in the order of arrival.
pub(crate) struct Fetches {
    queues: [VecDeque<u32>; 4],
    /// How many entries the queues have in all.
    queued: usize,
    /// The urgency of each group that is wanted. A group stands in several queues if it became more urgent; only this
    /// one counts.
    wanted: Vec<Option<Urgency>>,
    in_flight: u32,
    limit: u32,
}

impl Fetches {
    /// Nothing is wanted. At most `limit` fetches are under way at a time.
    pub fn new(groups: u32, limit: u32) -> Fetches {
        Fetches { queues: Default::default(), queued: 0, wanted: vec![None; groups as usize], in_flight: 0, limit }
    }

    /// A group is wanted. True if it was not wanted before, or less urgently.
    pub fn want(&mut self, group: u32, urgency: Urgency) -> bool {
        let wanted = &mut self.wanted[group as usize];
        if wanted.is_some_and(|before| before <= urgency) {
            return false;
        }
        *wanted = Some(urgency);
        self.queues[urgency as usize].push_back(group);
        self.queued += 1;
        true
    }

    /// A group is not wanted any more.
    pub fn cancel(&mut self, group: u32) {
        self.wanted[group as usize] = None;
    }

    /// Nothing is wanted with this urgency any more.
    pub fn cancel_all(&mut self, urgency: Urgency) {
        let queue = &mut self.queues[urgency as usize];
        self.queued -= queue.len();
        for group in queue.drain(..) {
            let wanted = &mut self.wanted[group as usize];
            if *wanted == Some(urgency) {
                *wanted = None;
            }
        }
    }

    /// Takes out the group that comes next, if another fetch may be sent.
    #[inline]
    pub fn pop(&mut self) -> Option<Wish> {
        if self.queued == 0 || self.in_flight >= self.limit {
            return None;
        }
        for (queue, urgency) in self.queues.iter_mut().zip(Urgency::ALL) {
            while let Some(group) = queue.pop_front() {
                self.queued -= 1;
                let wanted = &mut self.wanted[group as usize];
                if *wanted == Some(urgency) {
                    *wanted = None;
                    return Some(Wish { group, urgency });
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
    use super::Urgency::{Counted, Launch, Missed};
    use super::*;

    fn pop(fetches: &mut Fetches) -> Option<(u32, Urgency)> {
        fetches.pop().map(|wish| (wish.group, wish.urgency))
    }

    #[test]
    fn urgent_ones_go_first_and_nothing_goes_twice() {
        let mut fetches = Fetches::new(10, 2);
        for (group, urgency) in [(1, Counted), (2, Launch), (3, Counted), (4, Launch)] {
            assert!(fetches.want(group, urgency));
        }
        assert!(!fetches.want(2, Counted), "it is wanted more urgently already");
        assert!(fetches.want(3, Missed), "it has become urgent");
        fetches.cancel(4);
        assert_eq!(pop(&mut fetches), Some((3, Missed)));
        assert_eq!(pop(&mut fetches), Some((2, Launch)));
        assert_eq!(pop(&mut fetches), Some((1, Counted)));
        assert_eq!(pop(&mut fetches), None);
        assert_eq!(fetches.queued, 0);
    }

    #[test]
    fn so_many_at_a_time() {
        let mut fetches = Fetches::new(10, 1);
        fetches.want(1, Counted);
        fetches.want(2, Counted);
        assert_eq!(pop(&mut fetches), Some((1, Counted)));
        fetches.sent();
        assert_eq!(pop(&mut fetches), None);
        fetches.answered();
        assert_eq!(pop(&mut fetches), Some((2, Counted)));
    }

    #[test]
    fn all_of_an_urgency_are_forgotten_at_once() {
        let mut fetches = Fetches::new(10, 1);
        fetches.want(1, Launch);
        fetches.want(2, Launch);
        fetches.want(2, Missed);
        fetches.cancel_all(Launch);
        assert_eq!(pop(&mut fetches), Some((2, Missed)), "it was wanted more urgently");
        assert!(fetches.want(1, Launch), "it may be wanted again");
    }
}
