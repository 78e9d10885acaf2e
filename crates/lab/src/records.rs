//! Requests that have completed, stored in little memory.
//!
//! A store has the marks of each path and not the time in each stage: whoever reads it adds them up, perhaps in
//! another thread, and the simulation goes on meanwhile. Few bytes for each request, because a log of a fast run writes
//! hundreds of megabytes a second, and these drive what the simulation uses out of the processor's caches.

use ftl::Mark;
use ufs::Status;
use units::{Lpa, Nanos, SimTime};
use workload::{ReadOutcome, WorkRequest};

use crate::requests::Slot;
use crate::stages::{STAGES, each_time, marks_of, spent};

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
    /// Number of marks on its path.
    marks: u32,
}

impl Entry {
    /// From its arrival to its completion.
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.request.arrival)
    }
}

/// Records in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Records {
    entries: Vec<Entry>,
    /// The marks of one request after another. Behind them may be those of one that has not completed.
    pub marks: Vec<Mark>,
}

impl Records {
    /// Number of requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a request that completes at `completed`; the last so many marks are its own.
    #[inline]
    pub fn push(&mut self, request: WorkRequest, slot: &Slot, marks: usize, completed: SimTime) {
        let Slot { measured, lpa, len, dispatched, status, outcome, .. } = *slot;
        let marks = marks as u32;
        self.entries.push(Entry { request, measured, status, outcome, lpa, len, dispatched, completed, marks });
    }

    /// Adds a record.
    pub fn add(&mut self, record: &RequestRecord) {
        let RequestRecord { request, measured, lpa, len, dispatched, completed, status, outcome, stages } = *record;
        let before = self.marks.len();
        self.marks.extend(marks_of(&stages, request.arrival));
        let marks = (self.marks.len() - before) as u32;
        self.entries.push(Entry { request, measured, status, outcome, lpa, len, dispatched, completed, marks });
    }

    /// All of them, without the times of their stages.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Each with its marks.
    fn with_marks(&self) -> impl Iterator<Item = (&Entry, &[Mark])> {
        let mut marks = &self.marks[..];
        self.entries.iter().map(move |entry| {
            let (own, later) = marks.split_at(entry.marks as usize);
            marks = later;
            (entry, own)
        })
    }

    /// Calls `add` with each time of each of them: its number, the position of the stage, the time. A stage may come
    /// more than once.
    pub fn each_time(&self, mut add: impl FnMut(usize, usize, Nanos)) {
        for (number, (entry, marks)) in self.with_marks().enumerate() {
            each_time(marks, entry.request.arrival, entry.completed, |stage, time| add(number, stage, time));
        }
    }

    /// Forgets all of them; the memory stays.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.marks.clear();
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = RequestRecord> {
        self.with_marks().map(|(entry, marks)| {
            let &Entry { request, measured, status, outcome, lpa, len, dispatched, completed, .. } = entry;
            let stages = spent(marks, request.arrival, completed);
            RequestRecord { request, measured, lpa, len, dispatched, completed, status, outcome, stages }
        })
    }
}
