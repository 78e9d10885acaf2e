//! Requests that have completed, stored in little memory.
//!
//! A request takes few of all stages, so a store has the times of those that it took, and no zeros. A log of a fast run
//! writes hundreds of megabytes a second otherwise, and these drive what the simulation uses out of the processor's
//! caches.

use ufs::Status;
use units::{Lpa, Nanos, SimTime};
use workload::{ReadOutcome, WorkRequest};

use crate::requests::Slot;
use crate::stages::{Path, STAGES, spread, stages_of};

/// A request that has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestRecord {
    /// As the workload gave it; its latency counts from its arrival.
    pub request: WorkRequest,
    /// Whether the run's statistics count it.
    pub measured: bool,
    /// First 4 KiB unit.
    pub lpa: Lpa,
    /// Length in 4 KiB units.
    pub len: u32,
    /// When its first command was sent; `None` if none was.
    pub dispatched: Option<SimTime>,
    /// When it completed.
    pub completed: SimTime,
    /// How it ended.
    pub status: Status,
    /// Where the mapping of a read came from; `None` for others, and if the driver refused it, so that no device was
    /// asked.
    pub outcome: Option<ReadOutcome>,
    /// Time in each stage; together its latency.
    pub stages: [Nanos; STAGES],
}

impl RequestRecord {
    /// From its arrival to its completion.
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.request.arrival)
    }
}

/// A [`RequestRecord`] without the times of its stages.
#[derive(Debug)]
pub(crate) struct Entry {
    pub request: WorkRequest,
    pub measured: bool,
    pub status: Status,
    pub outcome: Option<ReadOutcome>,
    pub lpa: Lpa,
    pub len: u32,
    pub dispatched: Option<SimTime>,
    pub completed: SimTime,
    /// The stages that took time: bit by stage.
    pub taken: u32,
}

/// Records in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Records {
    entries: Vec<Entry>,
    /// The times of the stages that took time, one request after another, each in order of the stages; after them
    /// places of no meaning, so that there is one look for room in a request.
    times: Vec<Nanos>,
    /// How many times there are.
    used: usize,
}

impl Records {
    /// Number of requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a request that completes at `completed` and has gone this path.
    #[inline]
    pub fn push(&mut self, request: &WorkRequest, slot: &Slot, path: &Path, completed: SimTime) {
        let Slot { measured, lpa, len, dispatched, status, outcome, .. } = *slot;
        let (request, taken) = (*request, path.taken());
        self.add_times(path.times());
        self.entries.push(Entry { request, measured, status, outcome, lpa, len, dispatched, completed, taken });
    }

    /// Adds a record.
    pub fn add(&mut self, record: &RequestRecord) {
        let RequestRecord { request, measured, lpa, len, dispatched, completed, status, outcome, stages } = *record;
        let taken = (0..STAGES).filter(|&stage| stages[stage] > Nanos::ZERO).fold(0, |taken, stage| taken | 1 << stage);
        self.add_times(stages_of(taken).map(|stage| stages[stage]));
        self.entries.push(Entry { request, measured, status, outcome, lpa, len, dispatched, completed, taken });
    }

    /// All of them, without the times of their stages.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The times of the stages that took time, one request after another, each in order of the stages.
    pub fn times(&self) -> impl Iterator<Item = Nanos> {
        self.times[..self.used].iter().copied()
    }

    /// Adds at most as many times as there are stages.
    #[inline]
    fn add_times(&mut self, times: impl Iterator<Item = Nanos>) {
        let need = self.used + STAGES;
        if self.times.len() < need {
            self.times.resize(2 * need, Nanos::ZERO);
        }
        let mut count = 0;
        for (to, time) in self.times[self.used..need].iter_mut().zip(times) {
            *to = time;
            count += 1;
        }
        self.used += count;
    }

    /// Forgets all of them; the memory stays.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.used = 0;
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = RequestRecord> {
        let mut times = &self.times[..self.used];
        self.entries.iter().map(move |entry| {
            let (of_entry, later) = times.split_at(entry.taken.count_ones() as usize);
            times = later;
            let &Entry { request, measured, status, outcome, lpa, len, dispatched, completed, taken } = entry;
            let stages = spread(taken, of_entry);
            RequestRecord { request, measured, lpa, len, dispatched, completed, status, outcome, stages }
        })
    }
}
