//! Preconditioning and read-back: workloads that write or read a set of units once, in ascending order.

use units::{SimTime, UNIT_BYTES};
use workload::{Footprint, GroupId, GroupInfo, Issued, Next, Progress, Source, Ticket, UnitRange, WorkOp, WorkRequest};

/// Units of one request: 512 KiB, the usual limit of one UFS command.
const REQUEST_UNITS: u32 = 128;
/// Requests under way.
const DEPTH: u32 = 8;

/// Writes or reads every unit of a footprint once. None of it is measured.
#[derive(Debug)]
pub struct Sweep {
    op: WorkOp,
    footprint: Footprint,
    groups: [GroupInfo; 1],
    range: usize,
    /// Units of the range requested so far.
    requested: u32,
    free: Vec<Ticket>,
    bytes: [u64; DEPTH as usize],
    progress: Progress,
}

impl Sweep {
    /// Prepares to write `footprint`.
    pub fn writing(footprint: Footprint) -> Sweep {
        Sweep::new(WorkOp::Write, "precondition", footprint)
    }

    /// Prepares to read `footprint`.
    pub fn reading(footprint: Footprint) -> Sweep {
        Sweep::new(WorkOp::Read, "verify", footprint)
    }

    fn new(op: WorkOp, name: &str, footprint: Footprint) -> Sweep {
        Sweep {
            op,
            progress: Progress { done: 0, total: Some(footprint.units() * UNIT_BYTES) },
            footprint,
            groups: [GroupInfo { name: name.into(), measured: false, options: Default::default() }],
            range: 0,
            requested: 0,
            free: (0..DEPTH).rev().map(Ticket).collect(),
            bytes: [0; DEPTH as usize],
        }
    }

    /// The next stretch to request.
    fn take(&mut self) -> Option<UnitRange> {
        let range = self.footprint.ranges().get(self.range)?;
        let count = REQUEST_UNITS.min(range.count - self.requested);
        let stretch = UnitRange { first: range.first.offset(self.requested), count };
        self.requested += count;
        if self.requested == range.count {
            (self.range, self.requested) = (self.range + 1, 0);
        }
        Some(stretch)
    }
}

impl Source for Sweep {
    fn next(&mut self, now: SimTime) -> Next {
        if self.range == self.footprint.ranges().len() {
            return Next::Done;
        }
        let Some(ticket) = self.free.pop() else { return Next::Blocked };
        let Some(UnitRange { first, count }) = self.take() else { return Next::Done };
        let bytes = u64::from(count) * UNIT_BYTES;
        self.bytes[ticket.index()] = bytes;
        let request = WorkRequest { arrival: now, bytes, ..WorkRequest::plain(self.op, first.0.into(), 0) };
        Next::Request(Issued { ticket, group: GroupId(0), measured: false, request })
    }

    fn completed(&mut self, ticket: Ticket, _now: SimTime) {
        self.progress.done += self.bytes[ticket.index()];
        self.free.push(ticket);
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        Footprint::default()
    }
}

#[cfg(test)]
mod tests {
    use units::Lpa;

    use super::*;

    #[test]
    fn every_unit_is_requested_once_in_order_at_a_fixed_depth() {
        every_unit_once(WorkOp::Write, Sweep::writing);
        every_unit_once(WorkOp::Read, Sweep::reading);
    }

    fn every_unit_once(op: WorkOp, sweep: fn(Footprint) -> Sweep) {
        let mut sweep = sweep(Footprint::from_ranges([(Lpa(3), 1), (Lpa(10), 1300), (Lpa(5000), 128)]));
        let mut requested = Vec::new();
        let mut under_way = std::collections::VecDeque::new();
        loop {
            match sweep.next(SimTime(0)) {
                Next::Request(issued) => {
                    let (lpa, len) = issued.request.units();
                    requested.extend(lpa.0..lpa.0 + len);
                    under_way.push_back(issued.ticket);
                    assert!(
                        issued.request.op == op
                            && !issued.measured
                            && under_way.len() <= DEPTH as usize
                            && len <= REQUEST_UNITS
                    );
                }
                Next::Blocked => sweep.completed(under_way.pop_front().unwrap(), SimTime(0)),
                Next::Done => break,
                Next::Wait(_) | Next::Driver(_) => panic!("a sweep never waits"),
            }
        }
        let expected: Vec<u32> = (3..4).chain(10..1310).chain(5000..5128).collect();
        assert_eq!(requested, expected);
        under_way.into_iter().for_each(|ticket| sweep.completed(ticket, SimTime(0)));
        assert_eq!(sweep.progress().done, sweep.progress().total.unwrap());
    }

    #[test]
    fn nothing_to_request_is_done_at_once() {
        assert_eq!(Sweep::reading(Footprint::default()).next(SimTime(0)), Next::Done);
    }
}
