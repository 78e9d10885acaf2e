//! Clients that misbehave. They change nothing on the device.

use std::sync::Arc;

use campaign::Rng;
use ledger::Span;
use units::Lpa;

use crate::client::{hello, read, request};
use crate::wire::Line;

/// How a client misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It says nothing.
    Silent,
    /// It asks for much and takes no reply.
    Deaf,
    /// It sends bytes of no meaning.
    Babbling,
    /// It announces a payload that does not come.
    Stopping,
    /// It asks in the handshake for ever.
    Asking,
    /// It says all it has to say, and only listens.
    Listening,
}

impl Way {
    pub const ALL: [Way; 6] = [Way::Silent, Way::Deaf, Way::Babbling, Way::Stopping, Way::Asking, Way::Listening];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Silent => "silent client",
            Way::Deaf => "client that takes no replies",
            Way::Babbling => "violation of the protocol",
            Way::Stopping => "half a request",
            Way::Asking => "endless handshake",
            Way::Listening => "half-closed connection",
        }
    }
}

/// Units of its reads: more than the share of a connection.
const UNITS: u32 = 40;

/// A client that misbehaves.
pub struct Rogue {
    pub line: Arc<Line>,
    way: Way,
    cookies: u64,
}

impl Rogue {
    pub fn new(line: Arc<Line>, way: Way) -> Rogue {
        if matches!(way, Way::Deaf | Way::Stopping | Way::Listening) {
            line.send(&hello());
        }
        Rogue { line, way, cookies: 0 }
    }

    /// Does more of what it does.
    pub fn act(&mut self, dice: &mut Rng) {
        self.cookies += 1;
        let span = Span { lpa: Lpa(0), len: 1 + dice.below(UNITS) };
        match self.way {
            Way::Silent => {}
            Way::Deaf if self.cookies < 8 => (0..8).for_each(|_| self.line.send(&read(self.cookies, span))),
            Way::Babbling => {
                let bytes: Vec<u8> = (0..1 + dice.below(64)).map(|_| dice.below(256) as u8).collect();
                self.line.send(&bytes);
            }
            // A write, far from the units that others look at, without its data.
            Way::Stopping if self.cookies == 1 => self.line.send(&request(1, 0, 1, (1 << 20, 128 << 10))),
            Way::Asking if self.cookies < 300 => {
                let mut option = if self.cookies == 1 { 3u32.to_be_bytes().to_vec() } else { Vec::new() };
                option.extend(b"IHAVEOPT");
                option.extend(3u32.to_be_bytes());
                option.extend(0u32.to_be_bytes());
                self.line.send(&option);
            }
            Way::Listening if self.cookies < 4 => self.line.send(&read(self.cookies, span)),
            Way::Listening => {
                self.line.end();
                drop(self.line.take(1 << 20));
            }
            Way::Deaf | Way::Stopping | Way::Asking => {}
        }
    }
}
