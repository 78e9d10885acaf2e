//! Completions over time, in every result: a fixed number of intervals at most, whatever the length of the run.

use units::{Nanos, SimTime};

use crate::report::measure::KINDS;
use crate::report::requests::Slot;

/// Intervals at most. When the time is longer, pairs of intervals become one.
const MOST: usize = 256;
/// Length of the first intervals. They double as often as it takes.
const SHORTEST: Nanos = Nanos(1_000_000);

/// Requests of one kind that completed in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Requests.
    pub requests: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_ns: u64,
    /// The largest of their latencies in nanoseconds.
    pub most_ns: u64,
}

impl Interval {
    fn add(&mut self, other: Interval) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.latency_ns += other.latency_ns;
        self.most_ns = self.most_ns.max(other.most_ns);
    }
}

/// Measured completions by interval and kind.
#[derive(Clone, Debug)]
pub struct Intervals {
    began: SimTime,
    length: Nanos,
    /// The intervals before the last one.
    closed: Vec<[Interval; KINDS]>,
    /// The last interval, beside the others because every completion adds to it.
    open: [Interval; KINDS],
    /// End of the last interval; equal to `began` if there is none yet.
    end: SimTime,
}

impl Default for Intervals {
    fn default() -> Intervals {
        Intervals {
            began: SimTime::START,
            length: SHORTEST,
            closed: Vec::new(),
            open: [Interval::default(); KINDS],
            end: SimTime::START,
        }
    }
}

impl Intervals {
    /// The first interval begins now.
    pub fn begin(&mut self, now: SimTime) {
        *self = Intervals { began: now, end: now, ..Intervals::default() };
    }

    /// A request has completed.
    #[inline(always)]
    pub fn completed(&mut self, slot: &Slot, now: SimTime) {
        if now >= self.end {
            self.reach(now);
        }
        let latency = now.since(slot.arrival).0;
        // Completions come in the order of time: the last interval is the one.
        self.open[slot.kind as usize].add(Interval {
            requests: 1,
            bytes: slot.bytes,
            latency_ns: latency,
            most_ns: latency,
        });
    }

    /// Adds empty intervals until the last one contains `now`.
    #[cold]
    fn reach(&mut self, now: SimTime) {
        if self.end > self.began {
            self.closed.push(self.open);
        }
        while now.since(self.began).0 / self.length.0 >= MOST as u64 {
            self.halve();
        }
        let number = now.since(self.began).0 / self.length.0 + 1;
        self.closed.resize(number as usize, [Interval::default(); KINDS]);
        self.open = self.closed.pop().expect("there is at least one");
        self.end = self.began + Nanos(number * self.length.0);
    }

    /// Makes one interval of every two.
    fn halve(&mut self) {
        let pairs = self.closed.chunks(2).map(|pair| {
            let mut sum = pair[0];
            for other in &pair[1..] {
                sum.iter_mut().zip(other).for_each(|(sum, &kind)| sum.add(kind));
            }
            sum
        });
        self.closed = pairs.collect();
        self.length = Nanos(self.length.0 * 2);
    }

    /// Length of an interval.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// The intervals in the order of time; the last one may have ended early.
    pub fn all(&self) -> impl Iterator<Item = &[Interval; KINDS]> + Clone {
        let last = (self.end > self.began).then_some(&self.open);
        self.closed.iter().chain(last)
    }
}

#[cfg(test)]
mod tests {
    use workload::{GroupId, Issued, Ticket, WorkOp, WorkRequest};

    use super::*;
    use crate::report::requests::Requests;

    /// Writes of 4 KiB that arrived at 0 and completed at these times.
    fn intervals(began: SimTime, times: &[u64]) -> Intervals {
        let request = WorkRequest { arrival: began, ..WorkRequest::plain(WorkOp::Write, 0, 1) };
        let mut requests = Requests::default();
        let slot = requests.enter(&Issued { ticket: Ticket(0), group: GroupId(0), measured: true, request });
        let mut intervals = Intervals::default();
        intervals.begin(began);
        times.iter().for_each(|&at| intervals.completed(slot, began + Nanos(at)));
        intervals
    }

    fn counts(intervals: &Intervals) -> Vec<u64> {
        intervals.all().map(|kinds| kinds[WorkOp::Write as usize].requests).collect()
    }

    #[test]
    fn completions_are_counted_in_the_interval_in_which_they_fall() {
        let intervals = intervals(SimTime(5_000_000_000), &[0, 999_999, 1_000_000, 3_500_000]);
        assert_eq!(counts(&intervals), [2, 1, 0, 1]);
        let first = intervals.all().next().expect("there are four")[WorkOp::Write as usize];
        assert_eq!(first, Interval { requests: 2, bytes: 8192, latency_ns: 999_999, most_ns: 999_999 });
    }

    #[test]
    fn a_long_run_has_longer_intervals_and_loses_nothing() {
        let times: Vec<u64> = (0..1000).map(|i| i * 10_000_000).chain([7 * 86_400_000_000_000]).collect();
        let intervals = intervals(SimTime(1), &times);
        assert!((MOST / 2 + 1..=MOST).contains(&intervals.all().count()));
        assert_eq!(counts(&intervals).iter().sum::<u64>(), 1001);
        assert_eq!(counts(&intervals)[0], 1000, "10 s lie within one interval of a week's 256");
        assert_eq!(intervals.length().0 % SHORTEST.0, 0);
    }
}
