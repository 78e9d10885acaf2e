//! The thread that owns an engine and gives it a clock.
//!
//! On the real clock the thread sleeps until shortly before the next event and then looks at the clock without
//! sleeping, because a sleeping thread wakes up late by more than a flash read takes. It also stays awake for a moment
//! after a request or an answer: a client that keeps the device busy finds it awake, and the thread that sends the
//! request does not have to wake it up on its own processor.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Pace;
use crate::desk::{Desk, Turn};
use crate::engine::Engine;
use crate::inbox::{Inbox, Sender};
use crate::wall::{Moment, Wall};

/// A sleep ends so much before the next event.
const AWAKE_BEFORE: Duration = Duration::from_micros(120);
/// A sleep begins so much after the last request or answer at the earliest.
const AWAKE_AFTER: Duration = Duration::from_micros(200);

/// Why an engine has not ended in an ordinary way.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndError {
    /// A defect of the simulator.
    #[error("{0}")]
    Defect(String),
    /// The store could not keep everything.
    #[error("store: {0}")]
    Store(String),
}

/// A running engine.
pub struct Runner {
    sender: Sender,
    thread: JoinHandle<Result<(), EndError>>,
}

impl Runner {
    /// Starts a thread for an engine.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start(engine: Engine, pace: Pace, wall: Arc<dyn Wall>) -> std::io::Result<Runner> {
        let desk = Desk::new(engine, pace, wall);
        let sender = desk.sender();
        let inbox = desk.inbox().clone();
        let builder = std::thread::Builder::new().name("ufsim engine".into());
        let thread = builder.spawn(move || {
            let ended = guarded(|| run(desk));
            inbox.abandon(ended.as_ref().err().map(ToString::to_string));
            ended
        })?;
        Ok(Runner { sender, thread })
    }

    /// For requests to it.
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// Ends it in an ordinary way: requests under way end, everything comes to flash, the store is closed.
    ///
    /// # Errors
    /// Why the engine has ended before, or the store could not be closed.
    pub fn end(self) -> Result<(), EndError> {
        self.sender.0.end();
        self.thread.join().unwrap_or_else(|_| Err(EndError::Defect("the engine's thread has ended".into())))
    }
}

/// Turns a panic into a value.
fn guarded(run: impl FnOnce() -> std::io::Result<()>) -> Result<(), EndError> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(ended) => ended.map_err(|error| EndError::Store(error.to_string())),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(EndError::Defect(text.unwrap_or("a panic without a message").into()))
        }
    }
}

fn run(mut desk: Desk) -> std::io::Result<()> {
    let inbox = desk.inbox().clone();
    // No sleep before this.
    let mut awake_until = inbox.wall.now();
    loop {
        let turn = desk.turn(usize::MAX);
        if desk.was_active() {
            awake_until = inbox.wall.now().after(AWAKE_AFTER);
        }
        match turn {
            Turn::Again => {}
            Turn::Ended(result) => return result,
            Turn::Until(due) if desk.is_real() => wait(&inbox, due, awake_until),
            Turn::Until(_) => inbox.sleep(None),
        }
    }
}

/// On the real clock: until something comes, or an event is due.
fn wait(inbox: &Inbox, due: Option<Moment>, awake_until: Moment) {
    while !inbox.full.load(Ordering::Acquire) {
        let now = inbox.wall.now();
        if due.is_some_and(|due| now >= due) {
            return;
        }
        let is_far = due.is_none_or(|due| due.since(now) > AWAKE_BEFORE);
        if is_far && now >= awake_until {
            return inbox.sleep(due.map(|due| due.since(now) - AWAKE_BEFORE));
        }
        std::hint::spin_loop();
    }
}
