//! The database as a coroutine.
//!
//! SQLite calls its file system and expects the answer when the call returns. The run loop asks for requests and calls
//! back when they have completed. So the database runs on its own thread, and the two pass control to each other: the
//! sender of a message waits for the answer before it continues. Exactly one of them runs at any time, and results do
//! not depend on how the operating system schedules threads.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use units::{Nanos, SimTime};

use crate::block::{Block, Disk, Halted, Io};
use crate::life::{self, Watch};
use crate::plan::Step;
use crate::spec::SqliteSpec;

/// A transaction that has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Returned {
    pub writes: bool,
    /// The phase of a measured transaction.
    pub phase: Option<usize>,
    pub started: SimTime,
    pub ended: SimTime,
}

/// What the database waits for.
#[derive(Debug)]
pub(crate) enum Want {
    /// These requests, in parallel. The answer comes when all have completed.
    Requests(Vec<Io>),
    /// Nothing: the database has ended, with this result.
    Nothing(Result<(), String>),
}

/// A message of the database.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Time of the message: the database may have worked or slept since the last answer.
    pub at: SimTime,
    /// The present phase; `None` during the fill and the closing.
    pub phase: Option<usize>,
    /// Transactions that have returned since the last message.
    pub returned: Vec<Returned>,
    pub want: Want,
}

/// An answer of the run loop.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Time now.
    pub now: SimTime,
    /// Contents of the units that were read.
    pub data: Vec<Block>,
}

/// The run loop's end of the database. Dropping it ends the database: its file system gives errors from then on.
pub(crate) struct Coroutine {
    answers: Option<SyncSender<Answer>>,
    asks: Receiver<Ask>,
    thread: Option<JoinHandle<()>>,
}

impl Coroutine {
    /// A database that starts with the first answer.
    pub fn start(spec: &SqliteSpec) -> Coroutine {
        let (answers, answer_queue) = sync_channel(1);
        let (ask_queue, asks) = sync_channel(1);
        let spec = spec.clone();
        #[expect(clippy::disallowed_methods, reason = "a coroutine: one of the two threads always waits for the other")]
        let thread = std::thread::spawn(move || work(&spec, answer_queue, ask_queue));
        Coroutine { answers: Some(answers), asks, thread: Some(thread) }
    }

    /// Passes an answer, lets the database run, and gives its next message. A panic of the database continues here.
    pub fn resume(&mut self, answer: Answer) -> Ask {
        let answers = self.answers.as_ref().expect("present until the coroutine is dropped");
        let sent = answers.send(answer).is_ok();
        match self.asks.recv() {
            Ok(ask) if sent => ask,
            _ => match self.thread.take().map(JoinHandle::join) {
                Some(Err(panic)) => resume_unwind(panic),
                _ => unreachable!("the database says when it ends, and is not asked afterwards"),
            },
        }
    }
}

impl Drop for Coroutine {
    fn drop(&mut self) {
        drop(self.answers.take());
        if let Some(thread) = self.thread.take() {
            // A panic now comes from an interrupted database, and there is nobody to report it to.
            let _ = thread.join();
        }
    }
}

/// The database's end.
struct Port {
    answers: Receiver<Answer>,
    asks: SyncSender<Ask>,
    now: SimTime,
    phase: Option<usize>,
    returned: Vec<Returned>,
    /// True if the run loop's end is gone.
    halted: bool,
}

impl Port {
    fn ask(&mut self, want: Want) -> Result<(), Halted> {
        let ask = Ask { at: self.now, phase: self.phase, returned: std::mem::take(&mut self.returned), want };
        self.asks.send(ask).map_err(|_| Halted)
    }

    fn answer(&mut self) -> Result<Vec<Block>, Halted> {
        let answer = self.answers.recv().map_err(|_| Halted)?;
        self.now = answer.now;
        Ok(answer.data)
    }
}

/// The port as disk and as watch; both share it.
#[derive(Clone)]
struct Shared(Rc<RefCell<Port>>);

impl Disk for Shared {
    fn run(&mut self, batch: Vec<Io>) -> Result<Vec<Block>, Halted> {
        let mut port = self.0.borrow_mut();
        if port.halted {
            return Err(Halted);
        }
        let result = port.ask(Want::Requests(batch)).and_then(|()| port.answer());
        port.halted = result.is_err();
        result
    }

    fn now(&self) -> SimTime {
        self.0.borrow().now
    }

    fn pass(&mut self, time: Nanos) {
        let mut port = self.0.borrow_mut();
        port.now = port.now + time;
    }
}

impl Watch for Shared {
    fn phase(&mut self, phase: Option<usize>) {
        self.0.borrow_mut().phase = phase;
    }

    fn returned(&mut self, step: &Step, started: SimTime, ended: SimTime) {
        self.0.borrow_mut().returned.push(Returned { writes: step.writes(), phase: step.phase(), started, ended });
    }
}

fn work(spec: &SqliteSpec, answers: Receiver<Answer>, asks: SyncSender<Ask>) {
    let port = Port { answers, asks, now: SimTime::START, phase: None, returned: Vec::new(), halted: false };
    let mut shared = Shared(Rc::new(RefCell::new(port)));
    if shared.0.borrow_mut().answer().is_err() {
        return;
    }
    let result = life::run(spec, Box::new(shared.clone()), &mut shared);
    let mut port = shared.0.borrow_mut();
    if !port.halted {
        // If this fails, there is nobody to report it to.
        let _ = port.ask(Want::Nothing(result.map_err(|error| error.to_string())));
    }
}
