//! Drives a workload as a run does, and checks the contract of every source.

use std::collections::VecDeque;

use units::SimTime;
use workload::{Footprint, Issued, Next, Source, Ticket, WorkOp};

/// Most answers that are taken from a source that does not end.
const MOST_ANSWERS: usize = 4000;

/// Latest time of a source. A run has a clock of 64 bits of nanoseconds, and adds its own times to those of its source.
pub(super) const LATEST: SimTime = SimTime(1 << 62);

/// Result of draining a source.
pub(super) struct Drained {
    /// Number of requests.
    pub(super) requests: u64,
    /// True if the source has ended.
    pub(super) done: bool,
}

/// Takes requests from a source on a device of `capacity_units`, at most `most`. A request is completed when the source
/// waits for it, so there are always as many outstanding as it wants.
pub(super) fn drain(source: &mut impl Source, capacity_units: u32, most: u64) -> Drained {
    let (reads, all) = (source.footprint(), source.preconditioning_ranges());
    let mut now = SimTime::START;
    let mut outstanding: VecDeque<Ticket> = VecDeque::new();
    let mut requests = 0;
    for _ in 0..MOST_ANSWERS {
        match source.next(now) {
            Next::Request(issued) => {
                assert!(issued.request.arrival <= now, "{issued:?} at {now}");
                assert!(issued.group.index() < source.groups().len(), "{issued:?}");
                check_place(&issued, capacity_units, if issued.request.op == WorkOp::Read { &reads } else { &all });
                outstanding.push_back(issued.ticket);
                requests += 1;
                if requests == most {
                    return Drained { requests, done: false };
                }
            }
            Next::Wait(time) => {
                assert!(time > now && time <= LATEST, "waits at {now} until {time}");
                match outstanding.pop_front() {
                    Some(ticket) => source.completed(ticket, now),
                    None => now = time,
                }
            }
            Next::Driver(_) => unreachable!("only a phone talks to the driver"),
            Next::Blocked => {
                let ticket = outstanding.pop_front().expect("blocked with nothing outstanding");
                source.completed(ticket, now);
            }
            Next::Done => {
                outstanding.into_iter().for_each(|ticket| source.completed(ticket, now));
                assert_eq!(source.next(now), Next::Done, "after the last completion");
                let progress = source.progress();
                assert!(progress.total.is_none_or(|total| total == progress.done), "at the end: {progress:?}");
                return Drained { requests, done: true };
            }
        }
    }
    Drained { requests, done: false }
}

/// Checks that a request lies on the device, and in the footprint that the source has announced.
fn check_place(issued: &Issued, capacity_units: u32, footprint: &Footprint) {
    let request = &issued.request;
    if request.op == WorkOp::Flush {
        assert_eq!(request.bytes, 0, "{issued:?}");
        return;
    }
    assert!(request.bytes > 0, "{issued:?}");
    let (first, count) = request.units();
    let end = u64::from(first.0) + u64::from(count);
    assert!(end <= u64::from(capacity_units), "{issued:?} ends beyond {capacity_units} units");
    let inside =
        footprint.ranges().iter().any(|r| r.first <= first && end <= u64::from(r.first.0) + u64::from(r.count));
    assert!(inside, "{issued:?} is not in the announced footprint");
}
