//! Preconditioning: a workload that writes a set of units once, in ascending order.

use units::{SimTime, UNIT_BYTES};
use workload::{
    Flags, Footprint, GroupId, GroupInfo, Issued, Next, ProcessId, Progress, SECTOR_BYTES, Source, StreamId, Ticket,
    UnitRange, WorkOp, WorkRequest,
};

/// Units of one write: 512 KiB, the usual limit of one UFS command.
const WRITE_UNITS: u32 = 128;
/// Writes under way.
const DEPTH: u32 = 8;

/// Writes every unit of a footprint once. None of it is measured.
#[derive(Debug)]
pub struct Fill {
    footprint: Footprint,
    groups: [GroupInfo; 1],
    range: usize,
    /// Units of the range written so far.
    written: u32,
    free: Vec<Ticket>,
    bytes: [u64; DEPTH as usize],
    progress: Progress,
}

impl Fill {
    /// Prepares to write `footprint`.
    pub fn new(footprint: Footprint) -> Fill {
        Fill {
            progress: Progress { done: 0, total: Some(footprint.units() * UNIT_BYTES) },
            footprint,
            groups: [GroupInfo { name: "precondition".into(), measured: false }],
            range: 0,
            written: 0,
            free: (0..DEPTH).rev().map(Ticket).collect(),
            bytes: [0; DEPTH as usize],
        }
    }

    /// The next stretch to write.
    fn take(&mut self) -> Option<UnitRange> {
        let range = self.footprint.ranges().get(self.range)?;
        let count = WRITE_UNITS.min(range.count - self.written);
        let stretch = UnitRange { first: range.first.offset(self.written), count };
        self.written += count;
        if self.written == range.count {
            (self.range, self.written) = (self.range + 1, 0);
        }
        Some(stretch)
    }
}

impl Source for Fill {
    fn next(&mut self, now: SimTime) -> Next {
        if self.range == self.footprint.ranges().len() {
            return Next::Done;
        }
        let Some(ticket) = self.free.pop() else { return Next::Blocked };
        let Some(UnitRange { first, count }) = self.take() else { return Next::Done };
        let bytes = u64::from(count) * UNIT_BYTES;
        self.bytes[ticket.index()] = bytes;
        let request = WorkRequest {
            arrival: now,
            sector: u64::from(first.0) * (UNIT_BYTES / SECTOR_BYTES),
            bytes,
            line: 0,
            phone_latency: None,
            op: WorkOp::Write,
            flags: Flags::default(),
            process: ProcessId(0),
            stream: StreamId(0),
        };
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
    fn every_unit_is_written_once_in_order_at_a_fixed_depth() {
        let mut fill = Fill::new(Footprint::from_ranges([(Lpa(3), 1), (Lpa(10), 1300), (Lpa(5000), 128)]));
        let mut written = Vec::new();
        let mut under_way = std::collections::VecDeque::new();
        loop {
            match fill.next(SimTime(0)) {
                Next::Request(issued) => {
                    let (lpa, len) = issued.request.units();
                    written.extend(lpa.0..lpa.0 + len);
                    under_way.push_back(issued.ticket);
                    assert!(!issued.measured && under_way.len() <= DEPTH as usize && len <= WRITE_UNITS);
                }
                Next::Blocked => fill.completed(under_way.pop_front().unwrap(), SimTime(0)),
                Next::Done => break,
                Next::Wait(_) | Next::Driver(_) => panic!("a fill never waits"),
            }
        }
        let expected: Vec<u32> = (3..4).chain(10..1310).chain(5000..5128).collect();
        assert_eq!(written, expected);
        under_way.into_iter().for_each(|ticket| fill.completed(ticket, SimTime(0)));
        assert_eq!(fill.progress().done, fill.progress().total.unwrap());
    }

    #[test]
    fn nothing_to_write_is_done_at_once() {
        assert_eq!(Fill::new(Footprint::default()).next(SimTime(0)), Next::Done);
    }
}
