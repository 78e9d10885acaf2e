//! What is on its way out of a connection: the requests that are under way, and replies that wait to be sent.
//!
//! Who has a reply sends it at once, as far as the client takes it without waiting: another thread would have to wake
//! up first, which takes as long as a flash read on a busy machine. What the client does not take stays here until
//! there is room on the wire ([`Outbox::go_on`]), so that a slow client holds up nobody.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attach::{Answer, Failure, Mailbox, Moment, Wall};
use hdrhistogram::Histogram;

use crate::budget::Budget;
use crate::nbd::errno;
use crate::nbd::handshake::Form;
use crate::nbd::reply::{Reply, Told};
use crate::wire::Wire;

/// Requests of a connection that may be under way at a time.
const MAX_UNDER_WAY: usize = 1024;

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
    form: Form,
    /// When replies have left goes here, once it is known which export it is about.
    lateness: Option<Lateness>,
    under: Vec<Option<Under>>,
    free: Vec<usize>,
    /// Bytes of requests that have not left as replies.
    bytes: usize,
    replies: Vec<(Reply, usize, Option<Moment>)>,
    /// What the client has not taken yet.
    leaving: Leaving,
    /// Somebody sends.
    sending: bool,
    /// The client has not taken everything, since then.
    stuck: Option<Moment>,
    /// The payload of a request is coming; the last bytes came then.
    filling: Option<Moment>,
    /// The reader waits for room.
    crowded: bool,
    /// The client sends no more.
    ends: bool,
    /// Its host has lost its power: no reply follows those that are here.
    power_lost: bool,
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
    due: Vec<Moment>,
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

    /// True if nothing is to be sent any more.
    fn is_over(&self) -> bool {
        let answered = self.under_way() == 0 && !self.has_replies() && !self.sending;
        self.broken || answered && (self.ends || self.power_lost)
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
    wire: Arc<dyn Wire>,
    budget: Arc<Budget>,
    wall: Arc<dyn Wall>,
}

impl Outbox {
    pub fn new(wire: Arc<dyn Wire>, budget: Arc<Budget>, wall: Arc<dyn Wall>) -> Outbox {
        Outbox { state: Mutex::default(), changed: Condvar::new(), wire, budget, wall }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what belongs to no request: words of the handshake.
    pub fn say(&self, words: Vec<u8>) {
        self.lock().leaving.bytes.extend(words);
        self.send();
    }

    /// The form of replies is agreed on, and the export.
    pub fn agreed(&self, form: Form, lateness: Lateness) {
        let mut state = self.lock();
        (state.form, state.lateness) = (form, Some(lateness));
    }

    /// Room for a request of so many bytes. False if it has to wait: for the client, which takes its replies, or for
    /// other connections.
    pub fn reserve(&self, bytes: usize) -> bool {
        let mut state = self.lock();
        let has_room = state.under_way() + state.replies.len() < MAX_UNDER_WAY && self.budget.take(state.bytes, bytes);
        state.crowded = !has_room;
        if has_room {
            state.bytes += bytes;
        }
        has_room
    }

    /// A request for which there is room begins. Gives its number.
    pub fn enter(&self, cookie: u64, offset: u64, bytes: usize, reads: bool) -> u64 {
        let mut state = self.lock();
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

    /// A request ends with something else than an answer of the engine.
    pub fn reply(&self, number: u64, told: Told) {
        self.put(number, None, |_| told);
        self.send();
    }

    fn put(&self, number: u64, due: Option<Moment>, told: impl FnOnce(Under) -> Told) {
        let mut state = self.lock();
        let Some(under) = state.under[number as usize].take() else { return };
        state.free.push(number as usize);
        let reply = Reply { cookie: under.cookie, offset: under.offset, told: told(under) };
        state.replies.push((reply, under.bytes, due));
    }

    /// No request follows. `unused` bytes were reserved for one that does not come.
    pub fn end(&self, unused: usize) {
        let mut state = self.lock();
        state.ends = true;
        self.free(&mut state, unused);
        drop(state);
        self.send();
    }

    /// The host has lost its power: what is here is sent as far as it goes at once, and the connection ends.
    pub fn lose_power(&self) {
        self.lock().power_lost = true;
        self.send();
        self.break_off();
    }

    /// The connection ends now, whatever is under way.
    pub fn break_off(&self) {
        let mut state = self.lock();
        state.broken = true;
        self.throw_away(&mut state);
        drop(state);
        self.wire.close();
        self.tell();
    }

    /// There is room on the wire again.
    pub fn go_on(&self) {
        self.lock().stuck = None;
        self.send();
    }

    /// Sends what the client takes at once, unless somebody does so already.
    fn send(&self) {
        let mut next = self.begin(self.lock());
        while let Some(mut leaving) = next {
            let sent = self.wire.send_now(leaving.bytes());
            leaving.sent += *sent.as_ref().unwrap_or(&0);
            next = self.sent(leaving, sent.is_err());
        }
    }

    /// Takes what is to be sent, if there is something and nobody sends. Then nobody else does until [`Outbox::sent`].
    fn begin(&self, mut state: MutexGuard<'_, State>) -> Option<Leaving> {
        if state.broken {
            self.throw_away(&mut state);
        }
        if state.sending || state.stuck.is_some() || !state.has_replies() {
            let over = state.is_over();
            drop(state);
            if over {
                self.wire.close();
                self.tell();
            }
            return None;
        }
        state.sending = true;
        let mut leaving = std::mem::take(&mut state.leaving);
        if leaving.bytes().is_empty() {
            leaving.clear();
            let form = state.form;
            for (reply, bytes, due) in state.replies.drain(..) {
                reply.write(form, &mut leaving.bytes);
                leaving.of_requests += bytes;
                leaving.due.extend(due);
            }
        }
        Some(leaving)
    }

    /// What was taken has been sent, perhaps in part. Gives what is to be sent next.
    fn sent(&self, mut leaving: Leaving, broken: bool) -> Option<Leaving> {
        let mut state = self.lock();
        state.sending = false;
        state.broken |= broken;
        if state.broken || leaving.bytes().is_empty() {
            note_departures(state.lateness.as_ref(), &*self.wall, &mut leaving.due);
            self.free(&mut state, leaving.of_requests);
            leaving.clear();
        } else {
            state.stuck = Some(self.wall.now());
            self.changed.notify_all();
        }
        state.leaving = leaving;
        if std::mem::take(&mut state.crowded) {
            self.budget.nudge();
        }
        self.begin(state)
    }

    /// The client takes no more: replies give their room back.
    fn throw_away(&self, state: &mut State) {
        let replies = std::mem::take(&mut state.replies);
        let of_replies: usize = replies.iter().map(|(_, bytes, _)| bytes).sum();
        let of_leaving = state.leaving.of_requests;
        state.leaving = Leaving::default();
        self.free(state, of_replies + of_leaving);
    }

    fn free(&self, state: &mut State, bytes: usize) {
        self.budget.give_back(state.bytes, bytes);
        state.bytes -= bytes;
    }

    /// Tells who waits for a change of this connection.
    fn tell(&self) {
        self.changed.notify_all();
        self.budget.nudge();
    }

    /// A payload has grown, or is whole.
    pub fn fills(&self, fills: bool) {
        self.lock().filling = fills.then(|| self.wall.now());
    }

    /// True if the client has for a while neither taken nor sent what memory is held for. That matters when others want
    /// the memory, or the client has said that it leaves.
    pub fn is_stalled(&self, time: Duration, wanted: bool) -> bool {
        let state = self.lock();
        let since = state.stuck.into_iter().chain(state.filling).min();
        (wanted || state.ends) && since.is_some_and(|since| self.wall.now().since(since) >= time)
    }

    /// True if everything that was said has been sent; if not, the reader waits for it.
    pub fn is_empty(&self) -> bool {
        let mut state = self.lock();
        state.crowded = state.has_replies();
        !state.crowded
    }

    /// No more is read, as if the client had said all.
    pub fn end_reading(&self) {
        self.wire.end_reading();
    }

    /// True if nothing is to be sent any more.
    pub fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    /// True if the client takes no more.
    pub fn is_broken(&self) -> bool {
        self.lock().broken
    }

    /// Bytes of requests that have not left as replies.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Waits until the wire has to have room for more. False at the end.
    pub fn wait_until_stuck(&self) -> bool {
        !self.wait_while(|state| state.stuck.is_none() && !state.is_over()).is_over()
    }

    /// Waits until nothing is to be sent any more.
    pub fn wait_until_over(&self) {
        drop(self.wait_while(|state| !state.is_over()));
    }

    fn wait_while(&self, mut condition: impl FnMut(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.changed.wait_while(self.lock(), |state| condition(state));
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        let held = self.lock().bytes;
        self.budget.give_back(held, held);
    }
}

fn note_departures(lateness: Option<&Lateness>, wall: &dyn Wall, due: &mut Vec<Moment>) {
    let Some(lateness) = lateness.filter(|_| !due.is_empty()) else { return };
    let now = wall.now();
    let mut departures = lateness.lock().unwrap_or_else(PoisonError::into_inner);
    for due in due.drain(..) {
        if now < due {
            departures.early += 1;
        } else {
            departures.late.record(now.since(due).as_nanos() as u64).expect("histograms resize");
        }
    }
}

impl Mailbox for Outbox {
    fn deliver(&self, answer: Answer, due: Option<Moment>) {
        self.put(answer.token, due, |under| match answer.result {
            Ok(data) if under.reads => Told::Data(data),
            Ok(_) => Told::Done,
            Err(failure) => Told::Error(errno_of(failure), failure.to_string()),
        });
    }

    fn wake(&self) {
        self.send();
    }

    fn is_gone(&self) -> bool {
        self.is_broken()
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
