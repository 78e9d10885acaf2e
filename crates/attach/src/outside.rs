//! A host outside that makes its own commands, such as a kernel with a driver of its own.
//!
//! Its commands pass through the engine like requests: those that move or order data of the user are checked against
//! the ledger, and their data is kept. The device sees each of them as it was made.

use std::collections::VecDeque;

use host::{Driver, RequestOp};
use ufs::{Command, DataIn, DataOut, HpbNotice, Op, PiggyBack, Response, Status, Tag};
use units::{Lpa, Seq, SimTime};

use crate::ask::Failure;

/// Tags of UFS (JESD220C clause 10.7.1: an UTRD list of 32).
pub(crate) const TAGS: usize = 32;
/// The tag of commands that the engine makes itself; nobody gets the responses.
const OWN: Tag = Tag(u8::MAX);

/// The end of a command from outside.
#[derive(Clone, PartialEq, Debug)]
pub struct Relayed {
    /// When the response came to the host, in simulated time.
    pub at: SimTime,
    /// The response, under the tag of the command. It has the data of commands that move none of the user's.
    pub response: Response,
    /// The user's data, of a read that succeeded.
    pub data: Vec<u8>,
}

/// What is kept for a host outside.
#[derive(Default)]
pub(crate) struct Outside {
    /// Responses to commands whose requests have not ended, by tag.
    answered: [Option<Response>; TAGS],
    ended: VecDeque<Relayed>,
}

impl Outside {
    /// Takes over what the driver has got back.
    pub fn collect(&mut self, driver: &mut Driver, is_request: impl Fn(Tag) -> bool, at: SimTime) {
        while let Some(response) = driver.relayed() {
            match response.tag {
                OWN => {}
                tag if is_request(tag) => self.answered[usize::from(tag.0)] = Some(response),
                _ => self.ended.push_back(Relayed { at, response, data: Vec::new() }),
            }
        }
    }

    /// A request has ended.
    pub fn ended(&mut self, tag: Tag, result: Result<Vec<u8>, Failure>, at: SimTime) {
        let response = self.answered[usize::from(tag.0)].take().unwrap_or_else(|| unsent(tag));
        let (status, data) = match result {
            Ok(data) => (Status::Good, data),
            // What the device itself has refused, it has said best.
            Err(_) if response.status != Status::Good => (response.status, Vec::new()),
            Err(failure) => (status_of(failure), Vec::new()),
        };
        self.ended.push_back(Relayed { at, response: Response { status, ..response }, data });
    }

    /// The next command that has ended.
    pub fn next(&mut self) -> Option<Relayed> {
        self.ended.pop_front()
    }

    /// The host has gone, and with it everything that it waited for.
    pub fn forget(&mut self) {
        *self = Outside::default();
    }
}

/// The response to a command that was never sent.
fn unsent(tag: Tag) -> Response {
    Response { tag, status: Status::Good, data: DataIn::None, hpb: HpbNotice::None, piggyback: PiggyBack::default() }
}

/// How a device says what the engine has refused.
fn status_of(failure: Failure) -> Status {
    match failure {
        Failure::OutOfRange => Status::OutOfRange,
        Failure::Unreadable | Failure::Store => Status::UnrecoveredRead,
        Failure::ReadOnly | Failure::NoSpace | Failure::PowerCut => Status::WriteProtected,
    }
}

/// The command of a request that the engine makes for itself.
pub(crate) fn own_command(op: RequestOp, lpa: Lpa, len: u32) -> Command {
    let op = match op {
        RequestOp::Read => Op::Read { lpa, len },
        RequestOp::Write { fua } => Op::Write { lpa, len, fua },
        RequestOp::Unmap => Op::Unmap { lpa, len },
        RequestOp::Flush => Op::Flush,
    };
    Command { tag: OWN, op, host_seq: Seq(0), freed: None, data: DataOut::None }
}
