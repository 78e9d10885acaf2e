//! What is on its way out of a connection: the requests that are under way, and replies that wait to be written.
//!
//! The engine's thread writes its answers at once, as far as the client takes them without waiting: another thread
//! would have to wake up first, which takes as long as a flash read on a busy machine. What the client does not take,
//! and answers from elsewhere, are left to a thread of the connection, so that a slow client holds up nobody.

#![expect(clippy::disallowed_types, reason = "when replies were due, and when they have left")]

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use attach::{Answer, Failure, Mailbox};
use hdrhistogram::Histogram;

use crate::nbd::errno;
use crate::nbd::handshake::Form;
use crate::nbd::reply::{Reply, Told};
use crate::stream::Stream;

/// Requests of a connection that may be under way at a time, and their bytes.
const MAX_UNDER_WAY: usize = 1024;
const MAX_BYTES: usize = 64 << 20;

/// A request under way.
#[derive(Clone, Copy)]
struct Under {
    cookie: u64,
    offset: u64,
    bytes: usize,
    reads: bool,
}

#[derive(Default)]
struct State {
    under: Vec<Option<Under>>,
    free: Vec<usize>,
    /// Bytes of requests that have not left as replies.
    bytes: usize,
    replies: Vec<(Reply, usize, Option<Instant>)>,
    /// What the client has not taken yet.
    leaving: Leaving,
    /// Somebody writes.
    writing: bool,
    /// The reader waits for room.
    crowded: bool,
    /// The client sends no more.
    ends: bool,
    /// The client takes no more.
    broken: bool,
}

/// Replies as bytes.
#[derive(Default)]
struct Leaving {
    bytes: Vec<u8>,
    /// So many of them have been sent.
    sent: usize,
    /// Bytes of the requests.
    of_requests: usize,
    /// When they were to leave, on the real clock.
    due: Vec<Instant>,
    /// The client takes no more.
    broken: bool,
}

impl Leaving {
    /// What has not been sent.
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.due.clear();
        (self.sent, self.of_requests) = (0, 0);
    }
}

impl State {
    fn has_replies(&self) -> bool {
        !self.replies.is_empty() || !self.leaving.bytes().is_empty()
    }

    fn under_way(&self) -> usize {
        self.under.len() - self.free.len()
    }

    /// True if a request of so many bytes has to wait for others.
    fn is_full(&self, bytes: usize) -> bool {
        let crowded = self.under_way() + self.replies.len() >= MAX_UNDER_WAY;
        crowded || self.bytes > 0 && self.bytes + bytes > MAX_BYTES
    }
}

/// When replies have left, on the real clock.
#[derive(Clone, Debug)]
pub struct Departures {
    /// By how many nanoseconds too late.
    pub late: Histogram<u64>,
    /// Replies that have left too early, which none may.
    pub early: u64,
}

impl Default for Departures {
    fn default() -> Departures {
        Departures { late: Histogram::new(3).expect("3 digits are allowed"), early: 0 }
    }
}

/// Those of all connections of an export.
pub type Lateness = Arc<Mutex<Departures>>;

/// What is on its way out of a connection.
pub struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
    /// Where answers go that the client takes at once.
    direct: Stream,
    form: Form,
    lateness: Lateness,
}

impl Outbox {
    pub fn new(direct: Stream, form: Form, lateness: Lateness) -> Outbox {
        Outbox { state: Mutex::default(), changed: Condvar::new(), direct, form, lateness }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a request of so many bytes; waits until there is some. Gives its number.
    pub fn enter(&self, cookie: u64, offset: u64, bytes: usize, reads: bool) -> u64 {
        let mut state = self.lock();
        while state.is_full(bytes) && !state.broken {
            state.crowded = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.crowded = false;
        state.bytes += bytes;
        let under = Some(Under { cookie, offset, bytes, reads });
        match state.free.pop() {
            Some(at) => {
                state.under[at] = under;
                at as u64
            }
            None => {
                state.under.push(under);
                state.under.len() as u64 - 1
            }
        }
    }

    /// True if there is room for a request of so many bytes now.
    pub fn has_room(&self, bytes: usize) -> bool {
        !self.lock().is_full(bytes)
    }

    /// A request ends with something else than an answer of the engine.
    pub fn reply(&self, number: u64, told: Told) {
        self.put(number, None, |_| told);
        self.changed.notify_all();
    }

    fn put(&self, number: u64, due: Option<Instant>, told: impl FnOnce(Under) -> Told) {
        let mut state = self.lock();
        let Some(under) = state.under[number as usize].take() else { return };
        state.free.push(number as usize);
        let reply = Reply { cookie: under.cookie, offset: under.offset, told: told(under) };
        state.replies.push((reply, under.bytes, due));
    }

    /// No request follows.
    pub fn end(&self) {
        self.lock().ends = true;
        self.changed.notify_all();
    }

    /// Writes what the client does not take at once, until it has all replies and sends no more, or takes no more.
    pub fn write_to(&self, stream: &mut impl Write) {
        loop {
            let state = self.lock();
            let idle = |state: &mut State| {
                let ended = state.ends && state.under_way() == 0;
                state.writing || !state.has_replies() && !ended
            };
            let mut state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            if !state.has_replies() {
                return;
            }
            let mut left = self.begin(&mut state);
            let broken = state.broken;
            drop(state);
            left.broken = broken || stream.write_all(left.bytes()).is_err();
            left.sent = left.bytes.len();
            self.written(left);
        }
    }

    /// Writes what the client takes at once, unless somebody is writing already.
    fn write_now(&self) {
        let mut state = self.lock();
        if state.broken {
            drop(state);
            // The other thread throws them away.
            return self.changed.notify_all();
        }
        if state.writing || !state.has_replies() {
            return;
        }
        let mut left = self.begin(&mut state);
        drop(state);
        match self.direct.send_now(left.bytes()) {
            Ok(more) => left.sent += more,
            Err(_) => left.broken = true,
        }
        self.written(left);
    }

    /// Takes what is to be written. Nobody else writes until [`Outbox::written`].
    fn begin(&self, state: &mut State) -> Leaving {
        state.writing = true;
        let mut leaving = std::mem::take(&mut state.leaving);
        if leaving.bytes().is_empty() {
            leaving.clear();
            for (reply, bytes, due) in state.replies.drain(..) {
                reply.write(self.form, &mut leaving.bytes);
                leaving.of_requests += bytes;
                leaving.due.extend(due);
            }
        }
        leaving
    }

    /// What was taken has been written, perhaps in part.
    fn written(&self, mut leaving: Leaving) {
        let whole = leaving.broken || leaving.bytes().is_empty();
        if whole {
            self.note_departures(leaving.due.drain(..));
        }
        let mut state = self.lock();
        state.writing = false;
        state.broken |= leaving.broken;
        if whole {
            state.bytes -= leaving.of_requests;
            leaving.clear();
        }
        state.leaving = leaving;
        // The other thread has nothing to do as long as the client takes everything.
        let wanted = state.has_replies() || state.ends || state.broken || state.crowded;
        drop(state);
        if wanted {
            self.changed.notify_all();
        }
    }

    /// True if the client takes no more.
    pub fn is_broken(&self) -> bool {
        self.lock().broken
    }

    fn note_departures(&self, due: impl ExactSizeIterator<Item = Instant>) {
        if due.len() == 0 {
            return;
        }
        let now = Instant::now();
        let mut departures = self.lateness.lock().unwrap_or_else(PoisonError::into_inner);
        for due in due {
            match now.checked_duration_since(due) {
                Some(late) => departures.late.record(late.as_nanos() as u64).expect("histograms resize"),
                None => departures.early += 1,
            }
        }
    }
}

impl Mailbox for Outbox {
    fn deliver(&self, answer: Answer, due: Option<Instant>) {
        self.put(answer.token, due, |under| match answer.result {
            Ok(data) if under.reads => Told::Data(data),
            Ok(_) => Told::Done,
            Err(failure) => Told::Error(errno_of(failure), failure.to_string()),
        });
    }

    fn wake(&self) {
        self.write_now();
    }
}

fn errno_of(failure: Failure) -> u32 {
    match failure {
        Failure::OutOfRange => errno::EINVAL,
        Failure::Unreadable | Failure::Store => errno::EIO,
        Failure::ReadOnly => errno::EPERM,
        Failure::NoSpace => errno::ENOSPC,
        Failure::PowerCut => errno::ESHUTDOWN,
    }
}
