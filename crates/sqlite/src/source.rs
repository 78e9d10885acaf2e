//! The database as a [`Source`] of requests.

use std::collections::VecDeque;

use units::{Lpa, Nanos, SimTime};
use workload::report::{Operations, Report};
use workload::{
    Fault, Flags, Footprint, GroupId, GroupInfo, Issued, Next, Progress, Source, Ticket, WorkOp, WorkRequest,
    named_stream,
};

use crate::block::{Block, Io};
use crate::coroutine::{Answer, Ask, Coroutine, Returned, Want};
use crate::database::DatabaseError;
use crate::life::{Found, inspect};
use crate::script::Player;
use crate::spec::{Operation, SpecError, SqliteSpec};
use crate::versions::Versions;

/// Requests of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// Reads.
    pub reads: u64,
    /// Units read.
    pub units_read: u64,
    /// Writes.
    pub writes: u64,
    /// Units written.
    pub units_written: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes with FUA; a flush comes before each.
    pub fua_writes: u64,
}

/// The transactions of one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transactions {
    /// Their operation.
    pub operation: Operation,
    /// Simulated time from the statement to its return, one entry for each transaction.
    pub latencies_ns: Vec<u64>,
    /// When each began, by a clock that has begun at a random part of a second.
    pub called: Vec<SimTime>,
    /// How many programs they come from.
    pub programs: usize,
    /// Simulated time from the first statement to the last return, summed over the programs.
    pub duration: Nanos,
    /// Their requests.
    pub requests: Requests,
    /// What part of a second the clock had begun with.
    phase: Nanos,
    /// The last program, when it began, and the time of those before it.
    last: Option<(usize, SimTime, Nanos)>,
}

/// A request of the batch under way.
#[derive(Debug)]
struct Pending {
    io: Io,
    bytes: u64,
    completed: bool,
}

/// What the source waits for.
enum State {
    /// The first call.
    New,
    /// The time at which the database submits its next batch.
    Until(SimTime),
    /// The completion of all requests of the batch.
    Batch,
    /// Nothing: the database has ended.
    Ended,
}

/// Where the requests come from.
enum Origin {
    /// The database, which waits for what it reads.
    Live(Coroutine),
    /// What it has asked for once.
    Played(Player),
}

/// SQLite on a file system as a workload.
pub struct SqliteSource {
    spec: SqliteSpec,
    origin: Origin,
    state: State,
    phase: Option<usize>,
    /// Requests of the batch that have not been issued.
    waiting: VecDeque<Io>,
    /// Requests of the batch by ticket, in the order of issue. They stay until the last has completed.
    batch: Vec<Pending>,
    outstanding: usize,
    versions: Versions,
    transactions: Vec<Transactions>,
    /// Time at which each writing transaction returned.
    written_at: Vec<SimTime>,
    outcome: Option<Result<(), String>>,
    groups: Vec<GroupInfo>,
    progress: Progress,
    line: u64,
}

impl SqliteSource {
    /// Prepares a workload for a device of `capacity_units` units of 4 KiB.
    ///
    /// # Errors
    /// If its volume does not fit, or its operations have too few rows.
    pub fn new(spec: &SqliteSpec, capacity_units: u32) -> Result<SqliteSource, SpecError> {
        spec.check()?;
        spec.check_capacity(capacity_units)?;
        let fill = GroupInfo { name: "fill".into(), measured: false, options: Default::default() };
        let measured = |operation: Operation| GroupInfo {
            name: operation.name().into(),
            measured: true,
            options: Default::default(),
        };
        Ok(SqliteSource {
            spec: spec.clone(),
            origin: if spec.programs == 0 {
                Origin::Live(Coroutine::start(spec))
            } else {
                Origin::Played(Player::new(spec))
            },
            state: State::New,
            phase: None,
            waiting: VecDeque::new(),
            batch: Vec::new(),
            outstanding: 0,
            versions: Versions::default(),
            transactions: spec.operations.iter().map(|&operation| Transactions::none(operation, spec)).collect(),
            written_at: Vec::new(),
            outcome: None,
            groups: std::iter::once(fill).chain(spec.operations.iter().copied().map(measured)).collect(),
            progress: Progress::default(),
            line: 0,
        })
    }

    /// How the database has ended; `None` before that. It is an error of SQLite if the volume was too small.
    pub fn outcome(&self) -> Option<&Result<(), String>> {
        self.outcome.as_ref()
    }

    /// Measured transactions, by operation, as in [`SqliteSpec::operations`].
    pub fn transactions(&self) -> &[Transactions] {
        &self.transactions
    }

    /// Number of writing transactions that had returned at a moment, including those of the fill.
    pub fn written_by(&self, moment: SimTime) -> u64 {
        self.written_at.partition_point(|&at| at <= moment) as u64
    }

    /// The versions that every unit may hold. Writes are numbered from 1 in the order in which [`Source::next`] issued
    /// them, with one number for a request. The run loop's oracle numbers writes and trims in the same way: stamp =
    /// number + writes and trims submitted before this source.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Inspects the database as reads see it, outside simulated time. After the end it must be intact, with all
    /// transactions.
    ///
    /// # Errors
    /// See [`inspect`].
    pub fn inspect(&self) -> Result<Found, DatabaseError> {
        let written = self.written_at.len() as u64;
        inspect(&self.spec, self.versions.latest_image(), written, written)
    }

    /// Inspects the disk after a power cut at `moment`. `survived` gives the number of the write that each unit holds,
    /// 0 for none of this source's. Transactions may be missing as far as SQLite allows it ([`SqliteSpec::may_lose`]).
    ///
    /// # Errors
    /// If a unit can not hold that write; see also [`inspect`]. A cut while the file system is being made leaves
    /// nothing to mount; it is complete when [`SqliteSource::written_by`] is above 0.
    pub fn inspect_cut(&self, moment: SimTime, survived: impl FnMut(Lpa) -> u32) -> Result<Found, DatabaseError> {
        let image = self.versions.image(survived).map_err(|error| DatabaseError::of(&error))?;
        let written = self.written_by(moment);
        let fewest = self.spec.may_lose().map_or(0, |lost| written.saturating_sub(lost));
        // The transaction under way may have become durable.
        inspect(&self.spec, image, fewest, written + 1)
    }

    /// Lets the database run until its next message.
    fn resume(&mut self, now: SimTime) {
        let ranges = self.batch.drain(..).filter_map(|pending| read_range(&pending.io));
        let ask = match &mut self.origin {
            Origin::Live(coroutine) => {
                let units = ranges.flat_map(|(first, count)| (0..count).map(move |i| first.offset(i)));
                let data: Vec<Block> = units.map(|lpa| self.versions.latest(lpa)).collect();
                coroutine.resume(Answer { now, data })
            }
            Origin::Played(player) => {
                drop(ranges);
                player.resume(now)
            }
        };
        self.note(&ask);
        self.phase = ask.phase;
        self.state = match ask.want {
            Want::Requests(batch) => {
                // The block layer sends a preflush as a separate flush, and the data when that has completed.
                let flush = batch.iter().any(|io| matches!(io, Io::Write { barrier: true, .. }));
                let all = flush.then_some(Io::Flush).into_iter().chain(batch);
                self.waiting =
                    if self.spec.barriers { all.collect() } else { all.filter_map(without_barrier).collect() };
                State::Until(ask.at)
            }
            Want::Nothing(outcome) => {
                self.outcome = Some(outcome);
                State::Ended
            }
        };
    }

    fn note(&mut self, ask: &Ask) {
        for returned in &ask.returned {
            if returned.writes {
                self.written_at.push(returned.ended);
            }
            if let Some(phase) = returned.phase {
                let operation = self.operation_of(phase);
                self.transactions[operation].returned(phase, returned);
            }
        }
    }

    /// The position of a phase's operation.
    fn operation_of(&self, phase: usize) -> usize {
        phase / self.spec.programs.max(1) as usize
    }

    fn issue(&mut self, io: Io, now: SimTime) -> Issued {
        let ticket = Ticket(self.batch.len() as u32);
        let group = GroupId(self.phase.map_or(0, |phase| 1 + self.operation_of(phase) as u16));
        self.line += 1;
        let (op, first, count, flags) = self.describe(&io);
        let request = WorkRequest {
            arrival: now,
            line: self.line,
            flags,
            ..WorkRequest::plain(op, first.0.into(), count.into())
        };
        self.batch.push(Pending { io, bytes: request.bytes, completed: false });
        self.outstanding += 1;
        Issued { ticket, group, measured: self.phase.is_some(), request }
    }

    /// Counts and numbers a request. Gives its form for the block layer.
    fn describe(&mut self, io: &Io) -> (WorkOp, Lpa, u32, Flags) {
        let mut unmeasured = Requests::default();
        let operation = self.phase.map(|phase| self.operation_of(phase));
        let counts = operation.map_or(&mut unmeasured, |operation| &mut self.transactions[operation].requests);
        let sync = Flags { sync: true, ..Flags::default() };
        match io {
            Io::Read { first, count } => {
                counts.reads += 1;
                counts.units_read += u64::from(*count);
                (WorkOp::Read, *first, *count, sync)
            }
            Io::Write { first, blocks, meta, barrier } => {
                counts.writes += 1;
                counts.units_written += blocks.len() as u64;
                counts.fua_writes += u64::from(*barrier);
                if let Origin::Live(_) = self.origin {
                    self.versions.write(*first, blocks);
                }
                let flags = Flags { meta: *meta, fua: *barrier, ..sync };
                (WorkOp::Write, *first, blocks.len() as u32, flags)
            }
            Io::Flush => {
                counts.flushes += 1;
                (WorkOp::Flush, Lpa(0), 0, sync)
            }
        }
    }
}

impl Transactions {
    fn operations(&self) -> Operations {
        let r = self.requests;
        let requests = vec![
            ("reads", r.reads),
            ("units_read", r.units_read),
            ("writes", r.writes),
            ("units_written", r.units_written),
            ("flushes", r.flushes),
            ("fua_writes", r.fua_writes),
        ];
        Operations {
            name: self.operation.name().into(),
            latencies_ns: self.latencies_ns.clone(),
            called: self.called.clone(),
            programs: self.programs,
            duration: self.duration,
            requests,
        }
    }

    fn none(operation: Operation, spec: &SqliteSpec) -> Transactions {
        Transactions {
            operation,
            latencies_ns: Vec::new(),
            called: Vec::new(),
            programs: spec.programs.max(1) as usize,
            duration: Nanos::ZERO,
            requests: Requests::default(),
            phase: Nanos(named_stream(spec.seed, "sqlite clock", 0).below(1_000_000_000)),
            last: None,
        }
    }

    /// Notes a transaction. The duration includes the time between transactions: think time and the kernel's own work.
    fn returned(&mut self, phase: usize, returned: &Returned) {
        let (_, began, before) = *self.last.insert(self.last.filter(|last| last.0 == phase).unwrap_or((
            phase,
            returned.started,
            self.duration,
        )));
        self.latencies_ns.push(returned.ended.since(returned.started).0);
        self.called.push(returned.started + self.phase);
        self.duration = Nanos(before.0 + returned.ended.since(began).0);
    }
}

/// The request on a file system that is mounted without barriers; `None` for a flush.
fn without_barrier(io: Io) -> Option<Io> {
    match io {
        Io::Flush => None,
        Io::Write { first, blocks, meta, .. } => Some(Io::Write { first, blocks, meta, barrier: false }),
        read @ Io::Read { .. } => Some(read),
    }
}

fn read_range(io: &Io) -> Option<(Lpa, u32)> {
    match io {
        Io::Read { first, count } => Some((*first, *count)),
        _ => None,
    }
}

impl Source for SqliteSource {
    fn next(&mut self, now: SimTime) -> Next {
        if matches!(self.state, State::New) {
            self.resume(now);
        }
        while let State::Until(at) = self.state {
            if at > now {
                return Next::Wait(at);
            }
            self.state = State::Batch;
            // If only a flush was dropped, there is nothing to wait for.
            if self.waiting.is_empty() {
                self.resume(now);
            }
        }
        if self.outstanding > 0 && self.waiting.front().is_some_and(Io::is_barrier) {
            return Next::Blocked;
        }
        match self.waiting.pop_front() {
            Some(io) => Next::Request(self.issue(io, now)),
            None if matches!(self.state, State::Ended) => Next::Done,
            None => Next::Blocked,
        }
    }

    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        let pending = self.batch.get_mut(ticket.index()).filter(|pending| !pending.completed);
        let pending = pending.expect("completion of a request that is not outstanding");
        pending.completed = true;
        self.progress.done += pending.bytes;
        match &pending.io {
            _ if matches!(self.origin, Origin::Played(_)) => {}
            // The flush was alone, so everything before it had completed.
            Io::Flush => self.versions.flushed(),
            Io::Write { first, blocks, barrier: true, .. } => self.versions.durable(*first, blocks.len() as u32),
            // Without barriers nothing is promised, and nothing else would ever settle the versions.
            Io::Write { first, blocks, .. } if !self.spec.barriers => {
                self.versions.durable(*first, blocks.len() as u32);
            }
            Io::Read { .. } | Io::Write { .. } => {}
        }
        self.outstanding -= 1;
        if self.outstanding == 0 && self.waiting.is_empty() {
            self.resume(now);
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    /// The workload reads only what it has written before.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn preconditioning_ranges(&self) -> Footprint {
        Footprint::from_ranges([(Lpa(0), self.spec.geometry().units)])
    }

    fn report(&mut self) -> Report {
        let operations = self.transactions.iter().map(Transactions::operations).collect();
        Report { operations, ..Report::default() }
    }

    /// SQLite's own check of integrity, and whether every row is present.
    fn verdict(&self) -> Result<(), Fault> {
        if let Some(Err(what)) = &self.outcome {
            return Err(Fault::Wish(what.clone()));
        }
        if matches!(self.origin, Origin::Played(_)) {
            return Ok(());
        }
        let found = self.inspect().map_err(|error| Fault::Data(error.to_string()))?;
        if found.integrity != "ok" {
            return Err(Fault::Data(format!("PRAGMA integrity_check: {}", found.integrity)));
        }
        match found.transactions {
            Some(_) => Ok(()),
            None => Err(Fault::Data("the tables do not hold the rows that were written".into())),
        }
    }
}
