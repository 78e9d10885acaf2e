//! What the block layer hands in and gets back.

use ufs::{DataIn, Status};
use units::{AppId, Lpa};

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestOp {
    /// Read.
    Read,
    /// Write; with `fua` it completes only when it is on flash.
    Write { fua: bool },
    /// Everything acknowledged before is on flash when this completes. Address and length are ignored.
    Flush,
    /// Discard.
    Unmap,
}

/// A request of the block layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Comes back in the completion; the driver does not look at it.
    pub id: u32,
    /// What is asked.
    pub op: RequestOp,
    /// First 4 KiB unit.
    pub lpa: Lpa,
    /// Length in 4 KiB units.
    pub len: u32,
    /// For writes: number of the write, from 1; stands for the data.
    pub stamp: u32,
    /// Who asked: the caller's UID as the block layer carries it along (HPBvalve Sec. 5.2).
    pub app: AppId,
}

/// The end of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Completion {
    /// From the request.
    pub id: u32,
    /// [`Status::Good`], or the first other status among the commands of the request.
    pub status: Status,
    /// For a read that ended well: its units in order ([`DataIn::One`] if there is one, else [`DataIn::Many`]).
    pub data: DataIn,
}

/// What the driver knew of the mapping of a read when it sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostMapping {
    /// It went along with the command.
    Known,
    /// It went along, but the request has waited until the booster had fetched it.
    Fetched,
    /// Nothing: the device has to find it.
    Unknown,
}

/// The piece of a request that still has to be sent. The scheduler orders these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Index in the request table.
    pub request: u32,
    /// What is asked.
    pub op: RequestOp,
    /// First unit not yet sent.
    pub lpa: Lpa,
    /// Units not yet sent; 1 for a flush.
    pub len: u32,
    /// Who asked.
    pub app: AppId,
    /// The booster's note: the lookup for the first unit is in the statistics already.
    pub counted: bool,
    /// The booster's note: this part keeps the cached segment of its first unit from being evicted.
    pub pinned: bool,
}

impl Part {
    /// What is left once the first `units` have been sent.
    pub fn rest(mut self, units: u32) -> Option<Part> {
        assert!(units > 0 && units <= self.len, "a command of {units} units was cut from a part of {}", self.len);
        self.len -= units;
        if self.len == 0 {
            return None;
        }
        self.lpa = self.lpa.offset(units);
        Some(self)
    }
}
