//! The engine at work: it takes letters, lets time pass, and sends answers. It has no thread and no clock of its own:
//! a thread ([`crate::Runner`]) or a simulation calls [`Desk::turn`] again and again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use units::{Nanos, SimTime};

use crate::ask::{Answer, Failure};
use crate::clock::{Clock, Pace};
use crate::engine::Engine;
use crate::hole::Hole;
use crate::inbox::{Cut, Inbox, Letter, Mailbox, Parcel, Sender};
use crate::promise::Promise;
use crate::turns::Turns;
use crate::wall::{Moment, Wall};

/// Answers that the free clock gathers before they leave.
const GATHERED: usize = 64;

/// Where an answer goes.
struct Asker {
    token: u64,
    mailbox: Arc<dyn Mailbox>,
    bytes: usize,
}

/// What a turn has led to.
#[derive(Debug)]
pub enum Turn {
    /// More can be done at once.
    Again,
    /// Nothing is to be done before this moment, or before a letter comes.
    Until(Option<Moment>),
    /// The engine has ended in an ordinary way.
    Ended(std::io::Result<()>),
}

/// An engine and its inbox.
pub struct Desk {
    /// `None` after its end.
    engine: Option<Engine>,
    clock: Clock,
    inbox: Arc<Inbox>,
    askers: Vec<Option<Asker>>,
    free: Vec<usize>,
    letters: Vec<(Moment, Letter)>,
    to_wake: Vec<Arc<dyn Mailbox>>,
    /// Requests that wait for their turn.
    turns: Turns,
    /// Told when the device has recovered.
    recovered: Vec<Promise<Nanos>>,
    /// Since the last look something has come or gone.
    active: bool,
}

impl Desk {
    /// The desk of an engine.
    pub fn new(engine: Engine, pace: Pace, wall: Arc<dyn Wall>) -> Desk {
        let clock = Clock::start(pace, wall.now(), engine.now());
        Desk {
            engine: Some(engine),
            clock,
            inbox: Arc::new(Inbox::new(wall)),
            askers: Vec::new(),
            free: Vec::new(),
            letters: Vec::new(),
            to_wake: Vec::new(),
            turns: Turns::default(),
            recovered: Vec::new(),
            active: false,
        }
    }

    /// For letters to it.
    pub fn sender(&self) -> Sender {
        Sender(self.inbox.clone())
    }

    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    pub(crate) fn is_real(&self) -> bool {
        self.clock.is_real()
    }

    /// True if letters or answers have come or gone since the last call.
    pub(crate) fn was_active(&mut self) -> bool {
        std::mem::take(&mut self.active)
    }

    /// The engine ends when it has done what is under way.
    pub fn end(&self) {
        self.inbox.end();
    }

    fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("no turn follows the end")
    }

    /// Takes letters, handles what is due (on the free clock, what happens until some requests have ended, `most`
    /// events at most), and sends answers.
    ///
    /// # Panics
    /// See [`Engine::step`]; and after the end.
    pub fn turn(&mut self, most: usize) -> Turn {
        let ends = self.take_letters();
        // At the end nobody waits for the right moment any more.
        if self.clock.is_real() && !ends {
            let now = self.clock.sim_at(self.inbox.wall.now()).unwrap_or_default();
            self.engine().run_until(now);
        } else {
            self.run_free(most);
        }
        self.deliver();
        self.admit();
        if self.engine().is_ready() && !self.recovered.is_empty() {
            let took = self.engine().last_recovery();
            self.recovered.drain(..).for_each(|promise| promise.keep(took));
        }
        let busy = self.engine().is_busy() || !self.turns.is_empty();
        if ends && !busy {
            return Turn::Ended(self.engine.take().expect("it is here").close());
        }
        if self.clock.is_real() && !ends {
            let next = self.engine().next_time();
            Turn::Until(next.and_then(|at| self.clock.wall_at(at)))
        } else if busy {
            Turn::Again
        } else {
            Turn::Until(None)
        }
    }

    /// On the free clock: goes on until some requests have ended, or others have come.
    fn run_free(&mut self, most: usize) {
        let Desk { engine, inbox, .. } = self;
        let engine = engine.as_mut().expect("no turn follows the end");
        let mut left = most;
        while engine.is_busy() && engine.answers() < GATHERED && left > 0 && !inbox.full.load(Ordering::Acquire) {
            engine.step();
            left -= 1;
        }
    }

    /// Takes what has come. True if the engine is to end when it has done what is under way.
    fn take_letters(&mut self) -> bool {
        // Before the letters: what was sent before the end is among them.
        let ends = self.inbox.ends.load(Ordering::Acquire);
        if self.inbox.full.swap(false, Ordering::AcqRel) {
            std::mem::swap(&mut self.inbox.lock().letters, &mut self.letters);
        }
        self.active |= !self.letters.is_empty();
        let mut letters = std::mem::take(&mut self.letters);
        for (sent, letter) in letters.drain(..) {
            let now = self.engine().now();
            let at = self.clock.sim_at(sent).unwrap_or(now);
            match letter {
                Letter::Ask(parcel) => self.take_in(at, parcel),
                Letter::Task(task) => task(self.engine(), at),
                Letter::Cut(cut) => self.cut(at, cut),
            }
        }
        self.letters = letters;
        ends
    }

    /// A request arrives. That of a host that a power cut has ended fails: it must not reach the device of the next
    /// host.
    fn take_in(&mut self, at: SimTime, parcel: Parcel) {
        let is_dead = parcel.epoch != self.engine().epoch();
        if is_dead && self.engine().sabotage != Some(Hole::DeadHosts) {
            let Parcel { token, mailbox, .. } = parcel;
            let answer = Answer { token, result: Err(Failure::PowerCut), at, latency: Nanos::ZERO };
            mailbox.deliver(answer, None);
            return self.wake_later(mailbox);
        }
        if let Some(parcel) = self.turns.pass(parcel) {
            self.submit(at, parcel);
        }
    }

    fn submit(&mut self, at: SimTime, parcel: Parcel) {
        let Parcel { ask, token, mailbox, .. } = parcel;
        let asker = Asker { token, mailbox, bytes: self.turns.begun(&ask) };
        let number = match self.free.pop() {
            Some(place) => {
                self.askers[place] = Some(asker);
                place
            }
            None => {
                self.askers.push(Some(asker));
                self.askers.len() - 1
            }
        };
        self.engine().submit(at, number as u64, ask);
    }

    /// Requests that have waited for room begin, in turns.
    fn admit(&mut self) {
        while let Some(parcel) = self.turns.next() {
            let now = self.engine().now();
            let at = self.clock.sim_at(self.inbox.wall.now()).unwrap_or(now);
            self.submit(at, parcel);
        }
    }

    /// The power is cut. All requests that have come before, also those that wait, fail before anybody is told.
    fn cut(&mut self, at: SimTime, cut: Cut) {
        self.engine().cut(at);
        let epoch = self.engine().epoch();
        self.inbox.epoch.store(epoch, Ordering::Release);
        for parcel in self.turns.clear() {
            self.take_in(at, parcel);
        }
        self.deliver();
        (cut.lost)(epoch);
        self.recovered.push(cut.recovered);
    }

    fn deliver(&mut self) {
        while let Some(answer) = self.engine.as_mut().and_then(Engine::answer) {
            let at = answer.token as usize;
            let Some(asker) = self.askers[at].take() else { continue };
            self.free.push(at);
            self.turns.ended(asker.bytes);
            let due = self.clock.wall_at(answer.at);
            asker.mailbox.deliver(Answer { token: asker.token, ..answer }, due);
            self.wake_later(asker.mailbox);
        }
        self.active |= !self.to_wake.is_empty();
        self.to_wake.drain(..).for_each(|mailbox| mailbox.wake());
    }

    fn wake_later(&mut self, mailbox: Arc<dyn Mailbox>) {
        if !self.to_wake.iter().any(|other| Arc::ptr_eq(other, &mailbox)) {
            self.to_wake.push(mailbox);
        }
    }
}
