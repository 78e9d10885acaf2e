//! Requests and completions of the block layer.

use std::hash::{Hash, Hasher};

use ufs::{DataIn, Status};
use units::{AppId, Lpa, SimTime};

/// Kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestOp {
    /// Read.
    Read,
    /// Write. With `fua` it completes only when the data is on flash.
    Write { fua: bool },
    /// Completes when everything acknowledged before is on flash. Address and length are ignored.
    Flush,
    /// Discard.
    Unmap,
}

/// A request of the block layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Number for the completion; the driver does not interpret it.
    pub id: u32,
    /// Kind of the request.
    pub op: RequestOp,
    /// First 4 KiB unit.
    pub lpa: Lpa,
    /// Length in 4 KiB units.
    pub len: u32,
    /// For writes: the number of the write, from 1. It stands for the data.
    pub stamp: u32,
    /// The app that has issued it: the UID that the block layer passes on (HPBvalve Sec. 5.2).
    pub app: AppId,
}

/// The end of a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Completion {
    /// Number of the request.
    pub id: u32,
    /// [`Status::Good`], or the first other status among the commands of the request.
    pub status: Status,
    /// For a read that succeeded: its units in order ([`DataIn::One`] if there is one, else [`DataIn::Many`]).
    pub data: DataIn,
    /// When its first command was sent; `None` if there was none.
    pub dispatched: Option<SimTime>,
}

impl Completion {
    /// To be filled in its place.
    pub(crate) const BLANK: Completion =
        Completion { id: 0, status: Status::Good, data: DataIn::None, dispatched: None };
}

/// Times are no part of the driver's state: nothing depends on them.
impl Hash for Completion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Completion { id, status, data, dispatched: _ } = self;
        (id, status, data).hash(state);
    }
}

/// A time for reports. It is no part of a state, because nothing depends on it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Noted(pub Option<SimTime>);

impl Hash for Noted {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What the driver knew of the mapping of a read when it sent it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostMapping {
    /// The mapping was sent with the command.
    Known,
    /// The mapping was sent with the command, but the request has waited until the booster had fetched it.
    Fetched,
    /// The driver knew nothing; the device has to find the mapping.
    Unknown,
}

/// A command of a request that the device has under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InFlight {
    /// The request to which it belongs.
    pub request: u32,
    /// What the driver knew of the mapping, of reads.
    pub mapping: Option<HostMapping>,
}

/// The piece of a request that still has to be sent. Schedulers order parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Part {
    /// Index in the request table.
    pub request: u32,
    /// Kind of the request.
    pub op: RequestOp,
    /// First unit not yet sent.
    pub lpa: Lpa,
    /// Units not yet sent; 1 for a flush.
    pub len: u32,
    /// The app that has issued the request.
    pub app: AppId,
    /// Set by the booster: the lookup of the first unit has been counted.
    pub counted: bool,
    /// Set by the booster: the part keeps the cached segment of its first unit from being evicted.
    pub pinned: bool,
}

impl Part {
    /// To be filled in its place.
    pub const BLANK: Part =
        Part { request: 0, op: RequestOp::Read, lpa: Lpa(0), len: 0, app: AppId(0), counted: false, pinned: false };

    /// The part that is left after the first `units` have been sent.
    pub fn after(mut self, units: u32) -> Part {
        assert!(units > 0 && units < self.len, "a command of {units} units was cut from a part of {}", self.len);
        self.len -= units;
        self.lpa = self.lpa.offset(units);
        self
    }
}
