//! The seat of a host outside: it has made its commands itself, and they go out as they are.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use ufs::{Command, DataIn, Op, Response, Tag};
use units::{NoCounters, Seq, SimTime, Superblock};

use super::seat::{Apps, Booster, Counted, HostMemory, Internal, OwnCommands, Step, Tamper};
use crate::config::LIST_SLOTS;
use crate::request::Part;

/// What a command has on it beside its operation.
#[derive(Clone, Copy, Default)]
struct Label {
    /// The tag that the host outside gave it.
    outside: Tag,
    host_seq: Seq,
    freed: Option<Superblock>,
}

impl Label {
    fn of(command: &Command) -> Label {
        Label { outside: command.tag, host_seq: command.host_seq, freed: command.freed }
    }
}

/// Commands of a host outside, and the responses to them.
#[derive(Clone, Default)]
pub(crate) struct Relay {
    /// Commands of requests, in the order of the requests.
    users: VecDeque<Command>,
    /// Other commands.
    own: VecDeque<Command>,
    /// Of the command that goes out next.
    going: Label,
    /// By our tag.
    in_flight: [Label; LIST_SLOTS as usize],
    responses: VecDeque<Response>,
}

impl Relay {
    /// The command of the request that is submitted next.
    pub fn user(&mut self, command: Command) {
        self.users.push_back(command);
    }

    /// A command that belongs to no request.
    pub fn own(&mut self, command: Command) {
        self.own.push_back(command);
    }

    /// The next response, under the tag of the host outside. User data is left out: it is in the completion.
    pub fn response(&mut self) -> Option<Response> {
        self.responses.pop_front()
    }
}

/// Tests that enumerate states have no host outside.
impl Hash for Relay {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Booster for Relay {
    /// One command for each request, however long: the host outside has split it already.
    fn plan(&mut self, _: SimTime, part: &mut Part, _: u32) -> Step {
        let command = self.users.pop_front().expect("a request of a host outside has a command");
        self.going = Label::of(&command);
        Step::Send { op: command.op, units: part.len }
    }

    fn stamp(&mut self, command: &mut Command) {
        let label = std::mem::take(&mut self.going);
        (command.host_seq, command.freed) = (label.host_seq, label.freed);
        self.in_flight[usize::from(command.tag.0)] = label;
    }

    fn on_response(&mut self, _: SimTime, op: &Op, response: &mut Response, _: &mut VecDeque<Part>) {
        let tag = self.in_flight[usize::from(response.tag.0)].outside;
        let data = if op.is_user() { DataIn::None } else { std::mem::take(&mut response.data) };
        let Response { status, hpb, piggyback, .. } = *response;
        self.responses.push_back(Response { tag, status, data, hpb, piggyback });
    }
}

impl OwnCommands for Relay {
    fn urgent(&mut self) -> Option<Internal> {
        let command = self.own.pop_front()?;
        self.going = Label::of(&command);
        Some(Internal { op: command.op, data: command.data })
    }
}

impl Counted for Relay {
    type Counters = (NoCounters,);

    fn counters(&self) -> Self::Counters {
        (NoCounters {},)
    }
}

impl HostMemory for Relay {}

impl Apps for Relay {}

impl Tamper for Relay {}
