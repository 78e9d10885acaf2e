//! What is on its way out of a connection: the requests that are under way, and replies that wait for the writer.

#![expect(clippy::disallowed_types, reason = "when replies were due, and when they have left")]

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use attach::{Answer, Failure, Mailbox};
use hdrhistogram::Histogram;

use crate::nbd::errno;
use crate::nbd::handshake::Form;
use crate::nbd::reply::{Reply, Told};

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
    /// The client sends no more.
    ends: bool,
    /// The client takes no more.
    broken: bool,
}

impl State {
    fn under_way(&self) -> usize {
        self.under.len() - self.free.len()
    }

    /// True if a request of so many bytes has to wait for others.
    fn is_full(&self, bytes: usize) -> bool {
        let crowded = self.under_way() + self.replies.len() >= MAX_UNDER_WAY;
        crowded || self.bytes > 0 && self.bytes + bytes > MAX_BYTES
    }
}

/// Times in nanoseconds by which replies have left too late, over all connections of an export.
pub type Lateness = Arc<Mutex<Histogram<u64>>>;

/// What is on its way out of a connection.
pub struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
    form: Form,
    lateness: Lateness,
}

impl Outbox {
    pub fn new(form: Form, lateness: Lateness) -> Outbox {
        Outbox { state: Mutex::default(), changed: Condvar::new(), form, lateness }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a request of so many bytes; waits until there is some. Gives its number.
    pub fn enter(&self, cookie: u64, offset: u64, bytes: usize, reads: bool) -> u64 {
        let mut state = self.lock();
        let full = |state: &mut State| state.is_full(bytes) && !state.broken;
        state = self.changed.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
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

    /// Writes replies until the client has all of them and sends no more, or takes no more.
    pub fn write_to(&self, stream: &mut impl Write) {
        let mut bytes = Vec::new();
        let mut replies = Vec::new();
        loop {
            let state = self.lock();
            let idle = |state: &mut State| state.replies.is_empty() && !(state.ends && state.under_way() == 0);
            let mut state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            if state.replies.is_empty() {
                return;
            }
            std::mem::swap(&mut state.replies, &mut replies);
            let broken = state.broken;
            drop(state);
            bytes.clear();
            replies.iter().for_each(|(reply, ..)| reply.write(self.form, &mut bytes));
            let broke = broken || stream.write_all(&bytes).is_err();
            self.note_lateness(replies.iter().filter_map(|(.., due)| *due));
            let mut state = self.lock();
            state.bytes -= replies.drain(..).map(|(_, bytes, _)| bytes).sum::<usize>();
            state.broken |= broke;
            drop(state);
            self.changed.notify_all();
        }
    }

    /// True if the client takes no more.
    pub fn is_broken(&self) -> bool {
        self.lock().broken
    }

    fn note_lateness(&self, due: impl Iterator<Item = Instant>) {
        let now = Instant::now();
        let mut lateness = None;
        for due in due {
            let late = now.saturating_duration_since(due).as_nanos() as u64;
            let times = lateness.get_or_insert_with(|| self.lateness.lock().unwrap_or_else(PoisonError::into_inner));
            times.record(late).expect("histograms resize");
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
        self.changed.notify_all();
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
