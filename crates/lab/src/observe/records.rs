//! Requests of a log, stored in little memory, and their columns.
//!
//! A store has the marks of each path and not the time in each stage: whoever reads it adds them up, perhaps in
//! another thread, and the simulation goes on meanwhile. Few bytes for each request, because a log of a fast run writes
//! hundreds of megabytes a second, and these drive what the simulation uses out of the processor's caches.

use std::ops::Deref;

use ufs::Status;
use units::{Lpa, Nanos, SimTime};
use workload::report::columns::{Column, Declared, Word, columns};
use workload::{ReadOutcome, WorkOp, WorkRequest, column};

use super::stages::{Mark, STAGE_COLUMNS, STAGES, spent};
use crate::report::requests::Slot;

/// A request that has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestRecord {
    /// As the workload gave it; its latency counts from its arrival.
    pub request: WorkRequest,
    /// Whether the run's statistics count it.
    pub measured: bool,
    /// How it ended.
    pub status: Status,
    /// Where the mapping of a read came from; `None` for others, and if the driver refused it, so that no device was
    /// asked.
    pub outcome: Option<ReadOutcome>,
    /// First 4 KiB unit.
    pub lpa: Lpa,
    /// Length in 4 KiB units.
    pub len: u32,
    /// When its first command was sent; `None` if none was.
    pub dispatched: Option<SimTime>,
    /// When it completed.
    pub completed: SimTime,
    /// Number of marks on its path.
    marks: u32,
}

impl RequestRecord {
    /// From its arrival to its completion.
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.request.arrival)
    }

    /// A request of a trace that nobody has run.
    fn of_trace(request: WorkRequest) -> RequestRecord {
        RequestRecord {
            request,
            measured: false,
            status: Status::Good,
            outcome: None,
            lpa: Lpa(0),
            len: 0,
            dispatched: None,
            completed: request.arrival,
            marks: 0,
        }
    }
}

/// A row of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRow {
    record: RequestRecord,
    /// Time in each stage; together its latency.
    pub stages: [Nanos; STAGES],
    /// From when on its times count.
    start: SimTime,
}

impl Deref for LogRow {
    type Target = RequestRecord;

    fn deref(&self) -> &RequestRecord {
        &self.record
    }
}

impl LogRow {
    fn since_start(&self, at: SimTime) -> u64 {
        at.since(self.start).0
    }
}

/// What a workload says of a request.
const ASKED: &[Declared<LogRow>] = &[
    column!("arrival_ns": u64, "ns", "from the beginning of the workload on", |row| {
        row.since_start(row.request.arrival)
    }),
    column!("kind": Word in WorkOp::NAMES, "", "read, write, flush or trim", |row| Word(Some(row.request.op as u16))),
    column!("sector": u64, "512 B", "first sector, as the workload gave it", |row| row.request.sector),
    column!("bytes": u64, "B", "length, as the workload gave it", |row| row.request.bytes),
    column!("fua": bool, "", "flag of the request: force unit access", |row| row.request.flags.fua),
    column!("sync": bool, "", "flag of the request: somebody waits for it", |row| row.request.flags.sync),
    column!("meta": bool, "", "flag of the request: metadata of the file system", |row| row.request.flags.meta),
    column!("readahead": bool, "", "flag of the request: read ahead", |row| row.request.flags.readahead),
    column!("preflush": bool, "", "flag of the request: a flush comes before it", |row| row.request.flags.preflush),
    column!("process": Word, "", "who asked; empty where the workload does not say", |row| {
        Word(Some(row.request.process.0))
    }),
    column!("file": u64, "", "number of its file of the trace", |row| u64::from(row.request.stream.0)),
    column!("line": u64, "", "where it stands in that file", |row| row.request.line),
    column!("recorded_ns": f64, "ns", "what the traced device took; missing where that is not known", |row| {
        or_missing(row.request.phone_latency)
    }),
];

/// What became of it.
const DONE: &[Declared<LogRow>] = &[
    column!("completion_ns": u64, "ns", "from the beginning of the workload on", |row| row.since_start(row.completed)),
    column!("latency_ns": u64, "ns", "from arrival to completion", |row| row.latency().0),
    column!("lba_units": u64, "4 KiB", "first unit on the device", |row| u64::from(row.lpa.0)),
    column!("units": u64, "4 KiB", "length on the device", |row| u64::from(row.len)),
    column!("measured": bool, "", "the run's statistics count it", |row| row.measured),
    column!("failed": bool, "", "it ended with an error", |row| row.status != Status::Good),
    column!(
        "outcome": Word in ReadOutcome::NAMES,
        "",
        "where the mapping of a read came from: host, sram, or map (flash); missing for others",
        |row| Word(row.outcome.map(|outcome| outcome as u16))
    ),
    column!("waiting_ns": f64, "ns", "until its first command was sent; missing if none was", |row| {
        or_missing(row.dispatched.map(|at| at.since(row.request.arrival)))
    }),
];

/// A time; what is no number if there is none.
fn or_missing(time: Option<Nanos>) -> f64 {
    time.map_or(f64::NAN, |time| time.0 as f64)
}

/// All columns of a log.
pub(crate) fn log_columns() -> impl Iterator<Item = &'static Declared<LogRow>> {
    ASKED.iter().chain(DONE).chain(&STAGE_COLUMNS)
}

/// The first columns of a log, of requests of a trace, with times from its beginning on.
pub(crate) fn trace_columns(requests: &[WorkRequest]) -> Vec<Column> {
    let row = |&request: &WorkRequest| LogRow {
        record: RequestRecord::of_trace(request),
        stages: [Nanos::ZERO; STAGES],
        start: SimTime::START,
    };
    columns(ASKED, requests.iter().map(row))
}

/// Requests in the order in which they completed.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    records: Vec<RequestRecord>,
    /// The marks of one request after another. Behind them may be those of one that has not completed.
    pub marks: Vec<Mark>,
}

impl Records {
    /// Number of requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Adds a request that completes at `completed`; the last so many marks are its own.
    #[inline]
    pub fn push(&mut self, request: WorkRequest, slot: &Slot, marks: usize, completed: SimTime) {
        let Slot { measured, lpa, len, dispatched, status, outcome, .. } = *slot;
        let marks = marks as u32;
        self.records.push(RequestRecord { request, measured, status, outcome, lpa, len, dispatched, completed, marks });
    }

    /// An empty store with room for as much as this one has.
    pub fn as_large(&self) -> Records {
        Records { records: Vec::with_capacity(self.records.len()), marks: Vec::with_capacity(self.marks.len()) }
    }

    fn rows(&self, start: SimTime) -> impl Iterator<Item = LogRow> {
        let mut marks = &self.marks[..];
        self.records.iter().map(move |&record| {
            let (own, later) = marks.split_at(record.marks as usize);
            marks = later;
            LogRow { record, stages: spent(own, record.request.arrival, record.completed), start }
        })
    }
}

/// Requests of a log: all that it has kept, or a part that is handed over as it grows.
#[derive(Clone, Debug, Default)]
pub struct LogPart {
    pub(super) records: Records,
    /// From when on times count.
    pub(super) start: SimTime,
    /// Names of processes, as far as they are known.
    pub processes: Vec<String>,
    /// Requests that completed after the log was full.
    pub left_out: u64,
}

impl LogPart {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row for each, in the order of completion.
    pub fn rows(&self) -> impl Iterator<Item = LogRow> {
        self.records.rows(self.start)
    }

    /// The same in columns.
    pub fn columns(&self) -> Vec<Column> {
        columns(log_columns(), self.rows())
    }
}
