//! Letters to an engine, and who sends them.
//!
//! Whoever has a [`Sender`] puts letters into the inbox: requests, and things to do with the engine. Each carries the
//! moment at which it was sent, which is the arrival on the real clock. Answers to requests go to a [`Mailbox`].
//! Nothing here waits but [`Sender::with`] and what is made of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use units::{Nanos, SimTime};

use crate::ask::{Answer, Ask};
use crate::engine::Engine;
use crate::promise::Promise;
use crate::stats::Stats;
use crate::wall::{Moment, Wall};

/// Takes answers.
pub trait Mailbox: Send + Sync {
    /// An answer to a request of this mailbox. `due` is the moment at which it was to leave, on the real clock.
    fn deliver(&self, answer: Answer, due: Option<Moment>);

    /// All answers that were ready have been delivered.
    fn wake(&self);

    /// Nobody takes answers any more: requests that have not begun need not be done.
    fn is_gone(&self) -> bool {
        false
    }
}

/// Something to do with the engine at a time.
pub type Task = Box<dyn FnOnce(&mut Engine, SimTime) + Send>;

/// A power cut, and who is told of it.
pub struct Cut {
    /// Called with the epoch that begins, when all requests have failed and before the next letter is read.
    pub lost: Box<dyn FnOnce(u64) + Send>,
    /// The simulated time that the recovery has taken.
    pub recovered: Promise<Nanos>,
}

/// What is put into the inbox.
pub(crate) enum Letter {
    Ask(Parcel),
    Task(Task),
    Cut(Cut),
}

/// A request with its number, where its answer goes, and the epoch of its host.
pub(crate) struct Parcel {
    pub ask: Ask,
    pub token: u64,
    pub mailbox: Arc<dyn Mailbox>,
    pub epoch: u64,
}

#[derive(Default)]
pub(crate) struct State {
    pub letters: Vec<(Moment, Letter)>,
    /// The engine is gone; the reason, if it was a defect.
    pub gone: Option<Option<String>>,
}

pub(crate) struct Inbox {
    state: Mutex<State>,
    pub changed: Condvar,
    /// True if there may be something new in it. The engine's thread looks at this all the time; it takes the lock only
    /// if there is something, because who has the lock may have lost its processor.
    pub full: AtomicBool,
    /// The engine is to end.
    pub ends: AtomicBool,
    /// Power cuts so far.
    pub epoch: AtomicU64,
    pub wall: Arc<dyn Wall>,
}

impl Inbox {
    pub fn new(wall: Arc<dyn Wall>) -> Inbox {
        Inbox {
            state: Mutex::default(),
            changed: Condvar::new(),
            full: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            wall,
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine ends when it has done what is under way.
    pub fn end(&self) {
        // With the lock, so that it does not happen between the engine's last look and its sleep.
        let state = self.lock();
        self.ends.store(true, Ordering::Release);
        self.full.store(true, Ordering::Release);
        drop(state);
        self.changed.notify_one();
    }

    /// Nobody takes letters any more. Whoever waits for what has not been done learns that it never will be.
    pub fn abandon(&self, why: Option<String>) {
        let mut state = self.lock();
        state.gone = Some(why);
        let letters = std::mem::take(&mut state.letters);
        drop(state);
        // Without the lock: what is dropped may tell others.
        drop(letters);
    }

    /// Sleeps until a letter comes, or for a time.
    pub fn sleep(&self, most: Option<Duration>) {
        let state = self.lock();
        if !state.letters.is_empty() || self.ends.load(Ordering::Acquire) {
            return;
        }
        match most {
            Some(most) => drop(self.changed.wait_timeout(state, most)),
            None => drop(self.changed.wait(state)),
        }
    }
}

/// Why nothing comes back: the engine has ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the device is gone{}", .0.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
pub struct Gone(pub Option<String>);

/// Puts letters into the inbox of an engine.
#[derive(Clone)]
pub struct Sender(pub(crate) Arc<Inbox>);

impl Sender {
    /// Power cuts so far. A host that begins to send requests now has lived through none of those that follow.
    pub fn epoch(&self) -> u64 {
        self.0.epoch.load(Ordering::Acquire)
    }

    /// The wall's clock.
    pub fn wall(&self) -> &Arc<dyn Wall> {
        &self.0.wall
    }

    /// Sends requests that have arrived now, with a number each, of a host that has begun in an epoch: if the power has
    /// been cut since, they fail. Their answers go to `to`.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn ask(
        &self,
        asks: impl IntoIterator<Item = (u64, Ask)>,
        epoch: u64,
        to: &Arc<dyn Mailbox>,
    ) -> Result<(), Gone> {
        let now = self.0.wall.now();
        let parcel = |(token, ask)| Parcel { ask, token, mailbox: to.clone(), epoch };
        self.put(asks.into_iter().map(|one| (now, Letter::Ask(parcel(one)))))
    }

    fn put(&self, letters: impl Iterator<Item = (Moment, Letter)>) -> Result<(), Gone> {
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

    fn post(&self, letter: Letter) -> Result<(), Gone> {
        self.put(std::iter::once((self.0.wall.now(), letter)))
    }

    /// Has something done with the engine, and does not wait for it. If the engine ends before, `work` is dropped.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn task(&self, work: impl FnOnce(&mut Engine, SimTime) + Send + 'static) -> Result<(), Gone> {
        self.post(Letter::Task(Box::new(work)))
    }

    /// Cuts the power, and does not wait.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn begin_cut(&self, cut: Cut) -> Result<(), Gone> {
        self.post(Letter::Cut(cut))
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
        self.task(move |engine, at| {
            // Nobody may wait any more.
            let _ = tell.send(work(engine, at));
        })?;
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
        let recovered = Promise::new(move |took: Option<Nanos>| {
            // Nobody may wait any more.
            let _ = took.map(|took| tell.send(took));
        });
        self.begin_cut(Cut { lost: Box::new(|_| {}), recovered })?;
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
