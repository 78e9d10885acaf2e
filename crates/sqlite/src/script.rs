//! What a database asks of its disk, recorded once and played for many devices.
//!
//! Which blocks programs of Mobibench read and write hangs on SQLite and the file system alone, and not on how long the
//! device takes, but for the work that the kernel does between transactions, every some seconds. So their requests are
//! recorded on a disk of its own with a clock of its own ([`BATCH_TIME`]), and whichever device is simulated gets them
//! one after another, as it completes them. Devices that are compared share a recording.

use std::sync::{Arc, Mutex, PoisonError};

use units::{Lpa, Nanos, SimTime};

use crate::block::{Block, Disk, Halted, Image, Io, zeroes};
use crate::coroutine::{Ask, Returned, Want};
use crate::life::{self, Watch};
use crate::plan::Step;
use crate::spec::SqliteSpec;

/// How long a batch of requests takes while it is recorded. Only the kernel's own work between transactions knows of
/// it: it commits every five seconds.
const BATCH_TIME: Nanos = Nanos(100_000);
/// Recordings that are kept for the next source: for as many as are wanted at a time.
const KEPT: usize = 2;

/// What happens, one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// A phase begins.
    Phase(Option<usize>),
    /// A transaction is called; its processor time passes.
    Called,
    /// It has returned.
    Returned { writes: bool },
    /// Time passes without I/O.
    Pass(Nanos),
    /// The next so many requests, in parallel.
    Batch(u32),
}

/// A request without its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    Read { first: Lpa, count: u32 },
    Write { first: Lpa, count: u32, meta: bool, barrier: bool },
    Flush,
}

impl Request {
    fn of(io: &Io) -> Request {
        match io {
            &Io::Read { first, count } => Request::Read { first, count },
            Io::Write { first, blocks, meta, barrier } => {
                Request::Write { first: *first, count: blocks.len() as u32, meta: *meta, barrier: *barrier }
            }
            Io::Flush => Request::Flush,
        }
    }

    fn io(self) -> Io {
        match self {
            Request::Read { first, count } => Io::Read { first, count },
            Request::Write { first, count, meta, barrier } => {
                Io::Write { first, blocks: vec![zeroes(); count as usize], meta, barrier }
            }
            Request::Flush => Io::Flush,
        }
    }
}

/// A recording.
#[derive(Default, Debug)]
struct Script {
    events: Vec<Event>,
    requests: Vec<Request>,
    /// How the database has ended, and what is wrong with what it has left.
    outcome: Option<Result<(), String>>,
}

impl Script {
    /// The recording of a specification; the last ones are kept.
    fn of(spec: &SqliteSpec) -> Arc<Script> {
        static LAST: Mutex<Vec<(SqliteSpec, Arc<Script>)>> = Mutex::new(Vec::new());
        // Keys at which only the playing looks make no other recording.
        let key = SqliteSpec { barriers: true, transaction_cpu_ns: 0, ..spec.clone() };
        let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().iter().find(|(own, _)| *own == key).map(|(_, script)| script.clone());
        known.unwrap_or_else(|| {
            let script = Arc::new(Script::record(&key));
            let mut kept = last();
            kept.insert(0, (key, script.clone()));
            kept.truncate(KEPT);
            script
        })
    }

    fn record(spec: &SqliteSpec) -> Script {
        let recorder = Shared::default();
        let ended = life::run(spec, Box::new(recorder.clone()), &mut recorder.clone());
        let Recorder { mut script, image, written, .. } = std::mem::take(&mut *recorder.lock());
        let found = ended.and_then(|()| life::inspect(spec, image, written, written));
        script.outcome = Some(match found {
            Ok(found) if found.integrity != "ok" => Err(format!("PRAGMA integrity_check: {}", found.integrity)),
            Ok(found) if found.transactions.is_none() => Err("the tables do not hold what was written".into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        });
        script
    }
}

/// The disk on which is recorded.
#[derive(Default)]
struct Recorder {
    script: Script,
    image: Image,
    now: SimTime,
    written: u64,
}

/// The recorder, which is both the disk of a database and its watch.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Recorder>>);

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Recorder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, event: Event) {
        self.lock().script.events.push(event);
    }
}

impl Disk for Shared {
    fn run(&mut self, batch: Vec<Io>) -> Result<Vec<Block>, Halted> {
        let mut own = self.lock();
        own.script.events.push(Event::Batch(batch.len() as u32));
        own.script.requests.extend(batch.iter().map(Request::of));
        own.now = own.now + BATCH_TIME;
        own.image.run(batch)
    }

    fn now(&self) -> SimTime {
        self.lock().now
    }

    fn pass(&mut self, time: Nanos) {
        if time > Nanos::ZERO {
            self.note(Event::Pass(time));
            let mut own = self.lock();
            own.now = own.now + time;
        }
    }
}

impl Watch for Shared {
    fn phase(&mut self, phase: Option<usize>) {
        self.note(Event::Phase(phase));
    }

    fn called(&mut self) {
        self.note(Event::Called);
    }

    fn returned(&mut self, step: &Step, _started: SimTime, _ended: SimTime) {
        let writes = step.writes();
        self.note(Event::Returned { writes });
        self.lock().written += u64::from(writes);
    }
}

/// A recording that is played.
pub(crate) struct Player {
    spec: SqliteSpec,
    /// `None` before the first answer.
    script: Option<Arc<Script>>,
    /// The next event, and the next request.
    at: (usize, usize),
    phase: Option<usize>,
    started: SimTime,
}

impl Player {
    /// The recording of a specification, which is made when it is first asked for something.
    pub fn new(spec: &SqliteSpec) -> Player {
        Player { spec: spec.clone(), script: None, at: (0, 0), phase: None, started: SimTime::START }
    }

    /// What the database asks for next, after all before it has completed.
    pub fn resume(&mut self, now: SimTime) -> Ask {
        let script = self.script.get_or_insert_with(|| Script::of(&self.spec)).clone();
        let (mut now, mut returned) = (now, Vec::new());
        while let Some(&event) = script.events.get(self.at.0) {
            self.at.0 += 1;
            match event {
                Event::Phase(phase) => self.phase = phase,
                Event::Called => {
                    self.started = now;
                    now = now + self.spec.transaction_time();
                }
                Event::Returned { writes } => {
                    returned.push(Returned { writes, phase: self.phase, started: self.started, ended: now });
                }
                Event::Pass(time) => now = now + time,
                Event::Batch(count) => {
                    let next = self.at.1 + count as usize;
                    let batch = script.requests[self.at.1..next].iter().map(|request| request.io()).collect();
                    self.at.1 = next;
                    return Ask { at: now, phase: self.phase, returned, want: Want::Requests(batch) };
                }
            }
        }
        let outcome = script.outcome.clone().expect("a recording has an end");
        Ask { at: now, phase: self.phase, returned, want: Want::Nothing(outcome) }
    }
}
