//! A client that knows what it may hold, and checks every byte that it gets.

use std::sync::Arc;

use campaign::Rng;
use ledger::Span;
use units::Lpa;

use crate::judge::{Judge, UNITS};
use crate::page;
use crate::wire::Line;

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISC: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const ZEROES: u16 = 6;
const FUA: u16 = 1;
const NO_HOLE: u16 = 2;

/// What the server says before requests: its greeting, and the answer to the option EXPORT_NAME.
const GREETING: usize = 18;
const ANSWER: usize = 10;
/// The header of a reply.
const REPLY: usize = 16;
/// The longest request of this client.
const MOST_UNITS: u32 = 8;
/// Requests that it has under way at most.
const DEPTH: usize = 12;

/// The client's words up to the first request.
pub fn hello() -> Vec<u8> {
    let mut words = 3u32.to_be_bytes().to_vec();
    words.extend(b"IHAVEOPT");
    words.extend(1u32.to_be_bytes());
    words.extend(0u32.to_be_bytes());
    words
}

/// A request as bytes.
pub fn request(kind: u16, flags: u16, cookie: u64, (offset, len): (u64, u32)) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(kind.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(len.to_be_bytes());
    bytes
}

/// A read as bytes.
pub fn read(cookie: u64, span: Span) -> Vec<u8> {
    request(READ, 0, cookie, range(span))
}

fn range(span: Span) -> (u64, u32) {
    (u64::from(span.lpa.0) * page::BYTES as u64, span.len * page::BYTES as u32)
}

/// A client.
pub struct Client {
    /// Its connection.
    pub number: u64,
    pub line: Arc<Line>,
    /// Received, and not read yet.
    bytes: Vec<u8>,
    serving: bool,
    cookies: u64,
    under_way: usize,
    /// It has said that it leaves.
    leaving: bool,
    /// Requests that have ended.
    pub answered: u64,
}

impl Client {
    pub fn new(number: u64, line: Arc<Line>) -> Client {
        line.send(&hello());
        let bytes = Vec::new();
        Client { number, line, bytes, serving: false, cookies: 0, under_way: 0, leaving: false, answered: 0 }
    }

    /// Requests that have not been answered.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// True if it sends requests.
    pub fn is_serving(&self) -> bool {
        self.serving && !self.leaving
    }

    fn begin(&mut self) -> (u64, u64) {
        self.cookies += 1;
        self.under_way += 1;
        (self.number, self.cookies)
    }

    /// Sends a request of any kind, if it may.
    pub fn act(&mut self, dice: &mut Rng, judge: &mut Judge) {
        if !self.is_serving() || self.under_way >= DEPTH {
            return;
        }
        let len = 1 + dice.below(MOST_UNITS);
        let span = Span { lpa: Lpa(dice.below(UNITS - len + 1)), len };
        let fua = dice.below(4) == 0;
        match dice.below(20) {
            0..=7 => self.read(span, judge),
            8..=14 if judge.may_change(span) => self.write(span, fua, judge),
            15 if judge.may_change(span) => self.clear(TRIM, span, fua, judge),
            16 if judge.may_change(span) => self.clear(ZEROES, span, fua, judge),
            17..=18 => self.flush(judge),
            _ => {}
        }
    }

    /// Reads units.
    pub fn read(&mut self, span: Span, judge: &mut Judge) {
        let of = self.begin();
        judge.reads(of, span);
        self.line.send(&read(of.1, span));
    }

    fn write(&mut self, span: Span, fua: bool, judge: &mut Judge) {
        let of = self.begin();
        let number = judge.changes(of, span, (false, fua));
        let flags = if fua { FUA } else { 0 };
        let mut bytes = request(WRITE, flags, of.1, range(span));
        (span.lpa.0..span.lpa.0 + span.len).for_each(|unit| bytes.extend(page::of(number, unit)));
        self.line.send(&bytes);
    }

    /// Makes units read as zeroes, in one of two ways; one of them writes zeroes half of the time.
    fn clear(&mut self, kind: u16, span: Span, fua: bool, judge: &mut Judge) {
        let of = self.begin();
        // Zeroes that are allocated are a write, whose content nobody can tell from that of a trim.
        judge.changes(of, span, (true, fua));
        let allocates = kind == ZEROES && of.1.is_multiple_of(2);
        let flags = if fua { FUA } else { 0 } | if allocates { NO_HOLE } else { 0 };
        self.line.send(&request(kind, flags, of.1, range(span)));
    }

    fn flush(&mut self, judge: &mut Judge) {
        let of = self.begin();
        judge.flushes(of);
        self.line.send(&request(FLUSH, 0, of.1, (0, 0)));
    }

    /// Says that it leaves, and still takes replies.
    pub fn say_goodbye(&mut self) {
        if self.serving && !self.leaving {
            self.leaving = true;
            self.line.send(&request(DISC, 0, 0, (0, 0)));
        }
    }

    /// Takes what has come, so many bytes at most, and looks at each reply.
    ///
    /// # Errors
    /// A promise that has been broken.
    pub fn receive(&mut self, most: usize, judge: &mut Judge) -> Result<(), String> {
        self.bytes.extend(self.line.take(most));
        if !self.serving {
            if self.bytes.len() < GREETING + ANSWER {
                return Ok(());
            }
            self.bytes.drain(..GREETING + ANSWER);
            self.serving = true;
        }
        while self.reply(judge)? {}
        Ok(())
    }

    /// Looks at the next reply, if it is whole.
    fn reply(&mut self, judge: &mut Judge) -> Result<bool, String> {
        let Some(header) = self.bytes.get(..REPLY) else { return Ok(false) };
        let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
        if word(0) != 0x6744_6698 {
            return Err(format!("connection {} gets no reply but {:#010x}", self.number, word(0)));
        }
        let (error, cookie) = (word(4), u64::from(word(8)) << 32 | u64::from(word(12)));
        let of = (self.number, cookie);
        let Some(back) = judge.bytes_back(of) else {
            return Err(format!("connection {} gets a reply to {cookie}, which it has not sent", self.number));
        };
        let data = if error == 0 { back } else { 0 };
        if self.bytes.len() < REPLY + data {
            return Ok(false);
        }
        if error == 0 {
            judge.succeeded(of, &self.bytes[REPLY..REPLY + data])?;
        } else {
            judge.failed(of);
        }
        self.bytes.drain(..REPLY + data);
        self.under_way -= 1;
        self.answered += 1;
        Ok(true)
    }
}
