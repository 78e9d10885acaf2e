//! Segments to load, and the parts that wait for them.

use std::collections::VecDeque;

use lists::Bits;
use units::SegmentId;

use crate::request::Part;

/// Queued loads, in order, and parked parts by segment.
#[derive(Clone, Hash)]
pub(crate) struct Wants {
    queue: VecDeque<SegmentId>,
    queued: Bits,
    /// Per segment: 0, or the index plus one of the part that was parked last.
    last_parked: Vec<u32>,
    parked: Vec<Parked>,
    free: Vec<u32>,
}

#[derive(Clone, Hash)]
struct Parked {
    part: Part,
    /// 0, or the index plus one of the part parked before.
    before: u32,
}

impl Wants {
    /// No loads.
    pub fn new(segments: u32) -> Wants {
        Wants {
            queue: VecDeque::new(),
            queued: Bits::new(segments),
            last_parked: vec![0; segments as usize],
            parked: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Queues a load. False if it is queued already.
    pub fn want(&mut self, segment: SegmentId) -> bool {
        let fresh = self.queued.insert(segment.0);
        if fresh {
            self.queue.push_back(segment);
        }
        fresh
    }

    /// The next load.
    pub fn first(&self) -> Option<SegmentId> {
        self.queue.front().copied()
    }

    /// Removes the next load.
    pub fn pop(&mut self) {
        if let Some(segment) = self.queue.pop_front() {
            self.queued.remove(segment.0);
        }
    }

    /// Stores a part until its segment is loaded.
    pub fn park(&mut self, segment: SegmentId, part: Part) {
        let last = &mut self.last_parked[segment.index()];
        let entry = Parked { part, before: *last };
        *last = match self.free.pop() {
            Some(index) => {
                self.parked[index as usize] = entry;
                index + 1
            }
            None => {
                self.parked.push(entry);
                self.parked.len() as u32
            }
        };
    }

    /// Moves the parts that wait for a segment to `ready`, in the order in which they were parked. Gives their number.
    pub fn wake(&mut self, segment: SegmentId, pinned: bool, ready: &mut VecDeque<Part>) -> u32 {
        let start = ready.len();
        let mut next = std::mem::take(&mut self.last_parked[segment.index()]);
        while let Some(index) = next.checked_sub(1) {
            let parked = &self.parked[index as usize];
            ready.push_back(Part { pinned, ..parked.part });
            self.free.push(index);
            next = parked.before;
        }
        ready.make_contiguous()[start..].reverse();
        (ready.len() - start) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestOp;
    use units::{AppId, Lpa};

    fn part(request: u32) -> Part {
        Part { request, op: RequestOp::Read, lpa: Lpa(0), len: 1, app: AppId::SYSTEM, counted: false, pinned: false }
    }

    #[test]
    fn parts_wake_in_the_order_in_which_they_were_parked() {
        let mut wants = Wants::new(4);
        for (segment, request) in [(1, 10), (2, 20), (1, 11), (1, 12)] {
            wants.park(SegmentId(segment), part(request));
        }
        let mut ready = VecDeque::from([part(1)]);
        assert_eq!(wants.wake(SegmentId(1), true, &mut ready), 3);
        let woken: Vec<_> = ready.iter().map(|p| (p.request, p.pinned)).collect();
        assert_eq!(woken, [(1, false), (10, true), (11, true), (12, true)]);
        assert_eq!(wants.wake(SegmentId(1), true, &mut ready), 0);
        assert_eq!(wants.wake(SegmentId(2), false, &mut ready), 1);
    }

    #[test]
    fn a_load_is_queued_once() {
        let mut wants = Wants::new(4);
        assert!(wants.want(SegmentId(3)));
        assert!(!wants.want(SegmentId(3)));
        assert!(wants.want(SegmentId(1)));
        assert_eq!(wants.first(), Some(SegmentId(3)));
        wants.pop();
        assert!(wants.want(SegmentId(3)));
        assert_eq!(wants.first(), Some(SegmentId(1)));
    }
}
