//! The thread that owns an engine and gives it a clock.
//!
//! Whoever has a [`Sender`] puts letters into the inbox: requests, and things to do with the engine. Each carries the
//! moment at which it was sent, which is the arrival on the real clock. Answers go to the sender's [`Mailbox`].
//!
//! On the real clock the thread sleeps until shortly before the next event and then looks at the clock without
//! sleeping, because a sleeping thread wakes up late by more than a flash read takes. It also stays awake for a moment
//! after a request or an answer: a client that keeps the device busy finds it awake, and the thread that sends the
//! request does not have to wake it up on its own processor.

#![expect(clippy::disallowed_types, reason = "the border to the wall clock")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use units::{Nanos, SimTime};

use crate::ask::{Answer, Ask};
use crate::clock::{Clock, Pace};
use crate::engine::Engine;
use crate::stats::Stats;

/// A sleep ends so much before the next event.
const AWAKE_BEFORE: Duration = Duration::from_micros(120);
/// A sleep begins so much after the last request or answer at the earliest.
const AWAKE_AFTER: Duration = Duration::from_micros(200);
/// Answers that the free clock gathers before they leave.
const GATHERED: usize = 64;

/// Takes answers.
pub trait Mailbox: Send + Sync {
    /// An answer to a request of this mailbox. `due` is the moment at which it was to leave, on the real clock.
    fn deliver(&self, answer: Answer, due: Option<Instant>);

    /// All answers that were ready have been delivered.
    fn wake(&self);
}

/// Something to do with the engine at a time.
pub type Task = Box<dyn FnOnce(&mut Engine, SimTime) + Send>;

/// What is put into the inbox.
enum Letter {
    Ask(Ask, u64, Arc<dyn Mailbox>),
    Task(Task),
}

#[derive(Default)]
struct State {
    letters: Vec<(Instant, Letter)>,
    /// Who waits until the device has recovered.
    waiting: Vec<mpsc::Sender<Nanos>>,
    /// The engine is gone; the reason, if it was a defect.
    gone: Option<Option<String>>,
}

#[derive(Default)]
struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
    /// True if there may be something new in it. The engine's thread looks at this, and at what follows, all the time;
    /// it takes the lock only if there is something, because who has the lock may have lost its processor.
    full: AtomicBool,
    /// Somebody may wait until the device has recovered.
    awaited: AtomicBool,
    /// The engine is to end.
    ends: AtomicBool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why nothing comes back: the engine has ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the device is gone{}", .0.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
pub struct Gone(pub Option<String>);

/// Puts letters into the inbox of a runner.
#[derive(Clone)]
pub struct Sender(Arc<Inbox>);

impl Sender {
    /// Sends requests that have arrived now, with a number each. Their answers go to `to`.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn ask(&self, asks: impl IntoIterator<Item = (u64, Ask)>, to: &Arc<dyn Mailbox>) -> Result<(), Gone> {
        let now = Instant::now();
        let letters = asks.into_iter().map(|(token, ask)| (now, Letter::Ask(ask, token, to.clone())));
        self.put(letters)
    }

    fn put(&self, letters: impl Iterator<Item = (Instant, Letter)>) -> Result<(), Gone> {
        let mut state = self.0.lock();
        if let Some(why) = &state.gone {
            return Err(Gone(why.clone()));
        }
        let before = state.letters.len();
        state.letters.extend(letters);
        self.0.full.store(true, Ordering::Release);
        drop(state);
        if before == 0 {
            self.0.changed.notify_one();
        }
        Ok(())
    }

    /// Does something with the engine, and waits for what comes of it.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine, SimTime) -> T + Send + 'static,
    ) -> Result<T, Gone> {
        let (tell, told) = mpsc::channel();
        let task: Task = Box::new(move |engine, at| {
            // Nobody may wait any more.
            let _ = tell.send(work(engine, at));
        });
        self.put(std::iter::once((Instant::now(), Letter::Task(task))))?;
        told.recv().map_err(|_| self.why())
    }

    /// The state of the device.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn stats(&self) -> Result<Stats, Gone> {
        self.with(|engine, at| {
            engine.run_until(at);
            engine.stats()
        })
    }

    /// Cuts the power, and waits until the device has recovered. Gives the simulated time that this took.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn cut(&self) -> Result<Nanos, Gone> {
        let (tell, told) = mpsc::channel();
        let inbox = self.0.clone();
        self.with(move |engine, at| {
            engine.cut(at);
            inbox.lock().waiting.push(tell);
            inbox.awaited.store(true, Ordering::Release);
        })?;
        told.recv().map_err(|_| self.why())
    }

    /// True when the engine has ended.
    pub fn is_gone(&self) -> bool {
        self.0.lock().gone.is_some()
    }

    pub(crate) fn why(&self) -> Gone {
        Gone(self.0.lock().gone.clone().flatten())
    }
}

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
    inbox: Arc<Inbox>,
    thread: JoinHandle<Result<(), EndError>>,
}

impl Runner {
    /// Starts a thread for an engine.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start(engine: Engine, pace: Pace) -> std::io::Result<Runner> {
        let inbox = Arc::new(Inbox::default());
        let of_thread = inbox.clone();
        let builder = std::thread::Builder::new().name("ufsim engine".into());
        let thread = builder.spawn(move || {
            let ended = guarded(|| Loop::new(engine, pace, of_thread.clone()).run());
            let mut state = of_thread.lock();
            state.gone = Some(ended.as_ref().err().map(ToString::to_string));
            state.letters.clear();
            state.waiting.clear();
            ended
        })?;
        Ok(Runner { inbox, thread })
    }

    /// For requests to it.
    pub fn sender(&self) -> Sender {
        Sender(self.inbox.clone())
    }

    /// Ends it in an ordinary way: requests under way end, everything comes to flash, the store is closed.
    ///
    /// # Errors
    /// Why the engine has ended before, or the store could not be closed.
    pub fn end(self) -> Result<(), EndError> {
        // With the lock, so that it does not happen between the engine's last look and its sleep.
        let state = self.inbox.lock();
        self.inbox.ends.store(true, Ordering::Release);
        self.inbox.full.store(true, Ordering::Release);
        drop(state);
        self.inbox.changed.notify_one();
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

/// Where answers go.
struct Asker {
    token: u64,
    mailbox: Arc<dyn Mailbox>,
}

/// The state of the thread.
struct Loop {
    engine: Engine,
    clock: Clock,
    inbox: Arc<Inbox>,
    askers: Vec<Option<Asker>>,
    free: Vec<usize>,
    letters: Vec<(Instant, Letter)>,
    to_wake: Vec<Arc<dyn Mailbox>>,
    /// No sleep before this.
    awake_until: Instant,
}

impl Loop {
    fn new(engine: Engine, pace: Pace, inbox: Arc<Inbox>) -> Loop {
        let clock = Clock::start(pace, engine.now());
        let (askers, free, letters, to_wake) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Loop { engine, clock, inbox, askers, free, letters, to_wake, awake_until: Instant::now() }
    }

    fn run(mut self) -> std::io::Result<()> {
        loop {
            let ends = self.take_letters();
            if self.clock.is_real() {
                let now = self.clock.sim_at(Instant::now()).unwrap_or_default();
                self.engine.run_until(now);
            } else {
                self.run_free();
            }
            self.deliver();
            if self.engine.is_ready() {
                self.tell_recovered();
            }
            if ends && !self.engine.is_busy() {
                return self.engine.close();
            }
            self.wait();
        }
    }

    /// On the free clock: goes on until some requests have ended, or others have come.
    fn run_free(&mut self) {
        let mut gathered = 0;
        while self.engine.is_busy() && gathered < GATHERED && !self.inbox.full.load(Ordering::Acquire) {
            self.engine.step();
            gathered = self.engine.answers();
        }
    }

    /// Takes what has come. True if the engine is to end when it has done what is under way.
    fn take_letters(&mut self) -> bool {
        // Before the letters: what was sent before the end is among them.
        let ends = self.inbox.ends.load(Ordering::Acquire);
        if self.inbox.full.swap(false, Ordering::AcqRel) {
            std::mem::swap(&mut self.inbox.lock().letters, &mut self.letters);
        }
        if !self.letters.is_empty() {
            self.stay_awake();
        }
        for (sent, letter) in std::mem::take(&mut self.letters) {
            let at = self.clock.sim_at(sent).unwrap_or(self.engine.now());
            match letter {
                Letter::Ask(ask, token, mailbox) => {
                    let number = self.enter(Asker { token, mailbox });
                    self.engine.submit(at, number, ask);
                }
                Letter::Task(task) => task(&mut self.engine, at),
            }
        }
        ends
    }

    fn enter(&mut self, asker: Asker) -> u64 {
        match self.free.pop() {
            Some(at) => {
                self.askers[at] = Some(asker);
                at as u64
            }
            None => {
                self.askers.push(Some(asker));
                self.askers.len() as u64 - 1
            }
        }
    }

    fn deliver(&mut self) {
        while let Some(answer) = self.engine.answer() {
            let at = answer.token as usize;
            let Some(asker) = self.askers[at].take() else { continue };
            self.free.push(at);
            let due = self.clock.wall_at(answer.at);
            asker.mailbox.deliver(Answer { token: asker.token, ..answer }, due);
            if !self.to_wake.iter().any(|mailbox| Arc::ptr_eq(mailbox, &asker.mailbox)) {
                self.to_wake.push(asker.mailbox);
            }
        }
        if !self.to_wake.is_empty() {
            self.to_wake.drain(..).for_each(|mailbox| mailbox.wake());
            self.stay_awake();
        }
    }

    fn stay_awake(&mut self) {
        self.awake_until = Instant::now() + AWAKE_AFTER;
    }

    fn tell_recovered(&mut self) {
        if !self.inbox.awaited.swap(false, Ordering::AcqRel) {
            return;
        }
        let waiting = std::mem::take(&mut self.inbox.lock().waiting);
        for tell in waiting {
            // Nobody may wait any more.
            let _ = tell.send(self.engine.last_recovery());
        }
    }

    /// Until something comes, or an event is due.
    fn wait(&mut self) {
        if !self.clock.is_real() {
            if !self.engine.is_busy() {
                self.sleep(None);
            }
            return;
        }
        let due = self.engine.next_time().and_then(|at| self.clock.wall_at(at));
        let sleeps_from = |now: Instant| match due {
            Some(due) => due.saturating_duration_since(now) > AWAKE_BEFORE && now >= self.awake_until,
            None => now >= self.awake_until,
        };
        while !self.inbox.full.load(Ordering::Acquire) {
            let now = Instant::now();
            if due.is_some_and(|due| now >= due) {
                return;
            }
            if sleeps_from(now) {
                return self.sleep(due.map(|due| due - now - AWAKE_BEFORE));
            }
            std::hint::spin_loop();
        }
    }

    fn sleep(&self, most: Option<Duration>) {
        let state = self.inbox.lock();
        if !state.letters.is_empty() || self.inbox.ends.load(Ordering::Acquire) {
            return;
        }
        match most {
            Some(most) => drop(self.inbox.changed.wait_timeout(state, most)),
            None => drop(self.inbox.changed.wait(state)),
        }
    }
}
