//! Requested fetches of subregions, by urgency.

use std::collections::VecDeque;

/// How urgent a fetch is, the most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Urgency {
    /// An app in the foreground has missed it.
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

/// A subregion to fetch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FetchRequest {
    pub group: u32,
    pub urgency: Urgency,
}

/// Fetches to send: the most urgent first, equally urgent ones in order of request.
#[derive(Clone, Hash)]
pub(crate) struct Fetches {
    queues: [VecDeque<u32>; 4],
    /// Number of entries in all queues.
    queued: usize,
    /// The urgency of each requested group. A group that became more urgent is in several queues; only this urgency
    /// counts.
    wanted: Vec<Option<Urgency>>,
    in_flight: u32,
    limit: u32,
}

impl Fetches {
    /// No requests. At most `limit` fetches are under way at a time.
    pub fn new(groups: u32, limit: u32) -> Fetches {
        Fetches { queues: Default::default(), queued: 0, wanted: vec![None; groups as usize], in_flight: 0, limit }
    }

    /// Requests a fetch. True if it was not requested before, or less urgently.
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

    /// Cancels the fetch of a group.
    pub fn cancel(&mut self, group: u32) {
        self.wanted[group as usize] = None;
    }

    /// Cancels all fetches with this urgency.
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

    /// Takes the next group to fetch, if another fetch may be sent.
    #[inline]
    pub fn pop(&mut self) -> Option<FetchRequest> {
        if self.queued == 0 || self.in_flight >= self.limit {
            return None;
        }
        for (queue, urgency) in self.queues.iter_mut().zip(Urgency::ALL) {
            while let Some(group) = queue.pop_front() {
                self.queued -= 1;
                let wanted = &mut self.wanted[group as usize];
                if *wanted == Some(urgency) {
                    *wanted = None;
                    return Some(FetchRequest { group, urgency });
                }
            }
        }
        None
    }

    /// Puts back what was taken last: it is the first of its urgency again.
    pub fn put_back(&mut self, FetchRequest { group, urgency }: FetchRequest) {
        self.wanted[group as usize] = Some(urgency);
        self.queues[urgency as usize].push_front(group);
        self.queued += 1;
    }

    /// Fetches under way.
    pub fn under_way(&self) -> u32 {
        self.in_flight
    }

    /// A fetch has been sent.
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
        fetches.pop().map(|request| (request.group, request.urgency))
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
        let second = fetches.pop().expect("another one");
        fetches.put_back(second);
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
