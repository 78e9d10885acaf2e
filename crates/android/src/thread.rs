//! A thread that computes, reads, and waits for what it reads: a launch, or the loading of a game.
//!
//! Its time = computing + time blocked on reads + time stalled for memory. It computes a slice, wants the next read of
//! its plan, waits until that has completed, and so on. It issues reads of its plan ahead of need, as many as may be
//! outstanding.

use std::ops::Range;

use units::{Nanos, SimTime};

use crate::access::Extent;
use crate::recorded::LaunchRead;

/// A thread and how far it is in its plan.
#[derive(Clone, Debug)]
pub struct Thread {
    plan: Vec<Extent>,
    /// Computing time before each read and after the last. A single value holds for all.
    slices: Vec<Nanos>,
    parallel: usize,
    /// Number of reads issued.
    issued: usize,
    /// Index of the read that the thread wants next.
    wanted: usize,
    done: Vec<bool>,
    blocked_since: Option<SimTime>,
    /// Time stalled for memory that the next slice has yet to include.
    debt: Nanos,
    /// Time blocked on reads so far.
    pub blocked: Nanos,
    /// Time stalled for memory so far.
    pub stalled: Nanos,
}

/// What a thread does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Issue these reads of the plan, then wait for a completion.
    Block(Range<usize>),
    /// Issue these reads of the plan, and step again at this time.
    Compute(Range<usize>, SimTime),
    /// Its plan is done.
    End,
}

impl Thread {
    /// A thread with a total computing time of `compute`, in slices of equal length.
    pub fn new(plan: Vec<Extent>, compute: Nanos, parallel: u32) -> Thread {
        let slices = plan.len() as u64 + 1;
        let mut thread = Thread::of(plan, vec![Nanos(compute.0 / slices)], parallel);
        // The first slice includes the remainder of the division.
        thread.debt = Nanos(compute.0 % slices);
        thread
    }

    /// A thread that computes before each read as recorded, and for `tail` after the last.
    pub fn recorded(reads: &[LaunchRead], tail: Nanos, parallel: u32) -> Thread {
        let slices = reads.iter().map(|read| read.compute).chain([tail]).collect();
        Thread::of(reads.iter().map(|read| read.extent).collect(), slices, parallel)
    }

    fn of(plan: Vec<Extent>, slices: Vec<Nanos>, parallel: u32) -> Thread {
        Thread {
            slices,
            debt: Nanos::ZERO,
            done: vec![false; plan.len()],
            plan,
            parallel: parallel as usize,
            issued: 0,
            wanted: 0,
            blocked_since: None,
            blocked: Nanos::ZERO,
            stalled: Nanos::ZERO,
        }
    }

    /// Starts the thread. Returns when its first slice ends.
    pub fn begin(&mut self, now: SimTime) -> SimTime {
        now + self.next_slice()
    }

    /// A slice has ended: what the thread does next.
    pub fn step(&mut self, now: SimTime) -> Step {
        if self.debt > Nanos::ZERO && self.wanted == self.plan.len() {
            return Step::Compute(0..0, now + std::mem::take(&mut self.debt));
        }
        if self.wanted == self.plan.len() {
            return Step::End;
        }
        let upto = (self.wanted + self.parallel).min(self.plan.len());
        let issue = self.issued..upto;
        self.issued = upto;
        if self.done[self.wanted] {
            self.wanted += 1;
            return Step::Compute(issue, now + self.next_slice());
        }
        self.blocked_since = Some(now);
        Step::Block(issue)
    }

    /// Read `index` of the plan has completed. Returns the end of the next slice if the thread has waited for it.
    pub fn completed(&mut self, index: usize, now: SimTime) -> Option<SimTime> {
        self.done[index] = true;
        let since = self.blocked_since.filter(|_| index == self.wanted)?;
        self.blocked_since = None;
        self.blocked += now.since(since);
        self.wanted += 1;
        Some(now + self.next_slice())
    }

    /// Adds time stalled for memory while the thread computed.
    pub fn stall(&mut self, time: Nanos) {
        self.debt += time;
        self.stalled += time;
    }

    /// True while it waits for a read. It then needs no memory.
    pub fn is_blocked(&self) -> bool {
        self.blocked_since.is_some()
    }

    /// A read of the plan.
    pub fn extent(&self, index: usize) -> Extent {
        self.plan[index]
    }

    /// Length of the slice before the wanted read, with the time stalled for memory.
    fn next_slice(&mut self) -> Nanos {
        let slice = if self.slices.len() == 1 { self.slices[0] } else { self.slices[self.wanted] };
        slice + std::mem::take(&mut self.debt)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Lpa;

    use super::*;

    /// Runs a thread on a device that takes `latency` for each read, whatever the number outstanding.
    fn run(reads: usize, compute: u64, parallel: u32, latency: u64) -> (SimTime, Thread) {
        let mut thread = Thread::new(vec![(Lpa(0), 1); reads], Nanos(compute), parallel);
        let mut under_way: Vec<(u64, usize)> = Vec::new();
        let mut now = thread.begin(SimTime(0));
        loop {
            let issue = |range: Range<usize>, now: SimTime, under_way: &mut Vec<(u64, usize)>| {
                under_way.extend(range.map(|index| (now.0 + latency, index)));
                assert!(under_way.iter().filter(|(end, _)| *end > now.0).count() <= parallel as usize);
            };
            let mut ends = None;
            match thread.step(now) {
                Step::End => return (now, thread),
                Step::Compute(range, then) => {
                    issue(range, now, &mut under_way);
                    ends = Some(then);
                }
                Step::Block(range) => issue(range, now, &mut under_way),
            }
            while ends.is_none_or(|end| under_way.iter().any(|&(at, _)| at <= end.0)) {
                under_way.sort_unstable();
                let (at, index) = under_way.remove(0);
                let resumed = thread.completed(index, SimTime(at));
                assert!(resumed.is_none() || ends.is_none(), "a thread that computes was woken");
                ends = ends.or(resumed);
            }
            now = ends.unwrap();
        }
    }

    #[test]
    fn one_read_at_a_time_takes_the_sum_of_all() {
        let (end, thread) = run(10, 1_003, 1, 50);
        assert_eq!((end.0, thread.blocked.0), (1_003 + 500, 500));
    }

    #[test]
    fn nothing_to_read_takes_only_computing() {
        assert_eq!(run(0, 77, 1, 50).0, SimTime(77));
    }

    #[test]
    fn reads_ahead_overlap_with_computing() {
        // Slices of 100, reads of 50: the thread waits only for the first read.
        let (end, thread) = run(9, 1_000, 2, 50);
        assert_eq!((end.0, thread.blocked.0), (1_050, 50));
    }

    #[test]
    fn a_stall_lengthens_it() {
        let mut thread = Thread::new(vec![(Lpa(0), 1)], Nanos(100), 1);
        assert_eq!(thread.begin(SimTime(0)), SimTime(50));
        thread.stall(Nanos(7));
        assert_eq!(thread.step(SimTime(50)), Step::Block(0..1));
        assert_eq!(thread.completed(0, SimTime(60)), Some(SimTime(60 + 50 + 7)));
        thread.stall(Nanos(3));
        assert_eq!(thread.step(SimTime(117)), Step::Compute(0..0, SimTime(120)), "what came in the last slice");
        assert_eq!(thread.step(SimTime(120)), Step::End);
    }

    #[test]
    fn a_recorded_thread_computes_as_it_did() {
        let read = |compute| LaunchRead { compute: Nanos(compute), extent: (Lpa(0), 1) };
        let mut thread = Thread::recorded(&[read(5), read(0)], Nanos(7), 1);
        assert_eq!(thread.begin(SimTime(0)), SimTime(5));
        assert_eq!(thread.step(SimTime(5)), Step::Block(0..1));
        assert_eq!(thread.completed(0, SimTime(9)), Some(SimTime(9)));
        assert_eq!(thread.step(SimTime(9)), Step::Block(1..2));
        assert_eq!(thread.completed(1, SimTime(12)), Some(SimTime(19)));
        assert_eq!((thread.step(SimTime(19)), thread.blocked), (Step::End, Nanos(7)));
    }

    proptest! {
        #[test]
        fn its_time_is_computing_and_blocking(
            reads in 0usize..40,
            compute in 0u64..5000,
            parallel in 1u32..6,
            latency in 1u64..90,
        ) {
            let (end, thread) = run(reads, compute, parallel, latency);
            prop_assert_eq!(end.0, compute + thread.blocked.0);
            prop_assert!(thread.blocked.0 <= reads as u64 * latency);
        }
    }
}
