//! A connection in memory, with an end for the client and one for the server.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use files::Simulated;
use serve::Wire;

#[derive(Default)]
struct State {
    /// From the client to the server.
    up: VecDeque<u8>,
    /// From the server to the client.
    down: VecDeque<u8>,
    /// Bytes that `down` takes.
    room: usize,
    /// The client sends no more.
    up_ended: bool,
    /// The server reads no more, as if the client had said all.
    reading_ended: bool,
    /// The server has closed it.
    closed: bool,
    /// The client has closed it.
    gone: bool,
}

/// A connection in memory. What has been sent when it is closed still arrives.
pub struct Line {
    state: Mutex<State>,
    /// A process that has been killed sends nothing.
    process: Simulated,
}

impl Line {
    /// A connection to a process whose death `process` knows.
    pub fn new(process: Simulated) -> Arc<Line> {
        Arc::new(Line { state: Mutex::default(), process })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client sends bytes.
    pub fn send(&self, bytes: &[u8]) {
        self.state().up.extend(bytes);
    }

    /// The client sends no more.
    pub fn end(&self) {
        self.state().up_ended = true;
    }

    /// The client closes its end.
    pub fn leave(&self) {
        let mut state = self.state();
        (state.up_ended, state.gone) = (true, true);
        state.down.clear();
    }

    /// The client takes so many bytes at most.
    pub fn take(&self, most: usize) -> Vec<u8> {
        let mut state = self.state();
        let count = most.min(state.down.len());
        state.down.drain(..count).collect()
    }

    /// True for the client, if nothing comes any more.
    pub fn is_over(&self) -> bool {
        let state = self.state();
        state.closed && state.down.is_empty()
    }

    /// The buffer on the way to the client holds so many bytes in all.
    pub fn set_buffer(&self, bytes: usize) {
        let mut state = self.state();
        state.room = bytes.saturating_sub(state.down.len());
    }

    /// The server reads: the number of bytes, none at the end; `None` if it has to wait.
    pub fn read(&self, bytes: &mut [u8], most: usize) -> Option<usize> {
        let mut state = self.state();
        let count = bytes.len().min(most.max(1)).min(state.up.len());
        if count == 0 {
            return (state.up_ended || state.reading_ended || state.closed).then_some(0);
        }
        for (to, from) in bytes.iter_mut().zip(state.up.drain(..count)) {
            *to = from;
        }
        Some(count)
    }

    /// The process at the other end has died.
    pub fn die(&self) {
        self.state().closed = true;
    }
}

impl Wire for Line {
    fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        if state.gone || state.closed || self.process.is_killed() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(state.room);
        state.room -= count;
        state.down.extend(&bytes[..count]);
        Ok(count)
    }

    fn end_reading(&self) {
        self.state().reading_ended = true;
    }

    fn close(&self) {
        self.state().closed = true;
    }
}
