//! What is recorded of requests that come from outside of the laboratory: whoever brings them has the loop.

use host::{Completion, InFlight, RequestOp};
use ufs::Tag;
use units::Lpa;
use workload::{Flags, GroupId, GroupInfo, Issued, Ticket, WorkOp, WorkRequest};

use crate::observe::{self, Event, LogPart, Observe, Scene, Watchers};
use crate::report::digest;
use crate::report::measure::{Measure, Snapshot};
use crate::report::requests::Requests;
use crate::stack::Stack;

/// A record of requests: statistics, and what watchers keep of them. To be told everything in the order in which it
/// happens.
pub struct Recorder {
    requests: Requests,
    pub(crate) measure: Measure,
    pub(crate) watchers: Option<Box<Watchers>>,
    entered: u64,
    /// What drivers and devices have counted that power cuts have ended.
    earlier: Snapshot,
}

impl Recorder {
    /// A record that begins now. `name` is that of the requests' group.
    pub fn new(name: &str, observe: Observe, stack: &mut Stack) -> Recorder {
        let mut measure = Measure::default();
        measure.name_groups(&[GroupInfo { name: name.into(), measured: true, options: Default::default() }]);
        let watchers = Watchers::new(observe, stack);
        let mut recorder =
            Recorder { requests: Requests::default(), measure, watchers, entered: 0, earlier: Snapshot::default() };
        recorder.measure.begin(stack.now(), Snapshot::of(stack), 0);
        let stats = recorder.measure.before.device;
        recorder.tell(Event::MeasuringBegins(&stats), stack);
        recorder
    }

    /// A request enters the driver. Its ticket is free.
    pub fn entered(&mut self, ticket: u32, op: RequestOp, lpa: Lpa, len: u32, stack: &mut Stack) {
        self.entered += 1;
        let (op, fua) = match op {
            RequestOp::Read => (WorkOp::Read, false),
            RequestOp::Write { fua } => (WorkOp::Write, fua),
            RequestOp::Flush => (WorkOp::Flush, false),
            RequestOp::Unmap => (WorkOp::Trim, false),
        };
        let len = if op == WorkOp::Flush { 0 } else { len };
        let request = WorkRequest {
            arrival: stack.now(),
            line: self.entered,
            flags: Flags { fua, ..Flags::default() },
            ..WorkRequest::plain(op, lpa.0.into(), len.into())
        };
        let issued = Issued { ticket: Ticket(ticket), group: GroupId(0), measured: true, request };
        self.tell(Event::Entered(&issued), stack);
        let slot = self.requests.enter(&issued);
        self.measure.submitted(slot, true);
    }

    /// Before each event of the stack.
    pub fn look(&mut self, stack: &mut Stack) {
        if let (Some(watchers), Some(next)) = (&mut self.watchers, stack.next_time()) {
            watchers.look(&mut Scene { stack, requests: &mut self.requests, processes: &[] }, next);
        }
    }

    /// A response to a command of a request has come, and is about to be handled.
    pub fn response(&mut self, tag: Tag, stack: &mut Stack) {
        let Some(InFlight { request, mapping }) = stack.driver.in_flight(tag) else { return };
        if let Some(mapping) = mapping {
            let slot = self.requests.get(Ticket(request));
            slot.outcome = slot.outcome.max(Some(observe::outcome(mapping, stack.device.translation(tag))));
        }
        self.tell(Event::Response(Ticket(request), tag), stack);
    }

    /// A request completes.
    pub fn completed(&mut self, completion: &Completion, stack: &mut Stack) {
        let ticket = Ticket(completion.id);
        let slot = self.requests.get(ticket);
        slot.dispatched = completion.dispatched;
        (slot.status, slot.content) = (completion.status, digest::of_data(&completion.data));
        self.measure.failed += u64::from(completion.status != ufs::Status::Good);
        self.measure.completed(slot, stack.now());
        self.tell(Event::Completed(ticket), stack);
        self.requests.leave(ticket);
    }

    /// The device is about to lose its power, and with it these requests: they fail now.
    pub fn cut(&mut self, lost: impl Iterator<Item = u32>, stack: &mut Stack) {
        if let Some(watchers) = &mut self.watchers {
            watchers.cut(&mut Scene { stack, requests: &mut self.requests, processes: &[] });
        }
        for ticket in lost.map(Ticket) {
            let slot = self.requests.get(ticket);
            // No response says so; this one stands for none.
            slot.status = ufs::Status::WriteProtected;
            self.measure.failed += 1;
            self.measure.completed(slot, stack.now());
            self.tell(Event::Completed(ticket), stack);
            self.requests.leave(ticket);
        }
        let mut ended = Snapshot::of(stack);
        ended.add_device(&self.earlier);
        (self.earlier.device, self.earlier.mapping) = (ended.device, ended.mapping);
    }

    /// The device has its power again, and nobody looks at it yet.
    pub fn restarted(&mut self, stack: &mut Stack) {
        if let Some(watchers) = &mut self.watchers {
            watchers.restarted(stack);
        }
    }

    /// The driver of the stack is about to be replaced.
    pub fn driver_leaves(&mut self, stack: &Stack) {
        let mut ended = Snapshot::of(stack);
        ended.add_host(&self.earlier);
        (self.earlier.host, self.earlier.host_schemes) = (ended.host, ended.host_schemes);
    }

    /// Nothing more is recorded. Requests under way are not counted: nobody waits for them any more.
    pub fn end(&mut self, stack: &mut Stack) -> (Snapshot, Option<LogPart>) {
        self.measure.submitted = self.measure.completed;
        let mut scene = Scene { stack, requests: &mut self.requests, processes: &[] };
        let log = self.watchers.as_mut().and_then(|watchers| {
            watchers.end(&mut scene);
            watchers.take_log(&[])
        });
        let mut after = Snapshot::of(stack);
        after.add_host(&self.earlier);
        after.add_device(&self.earlier);
        (after, log)
    }

    fn tell(&mut self, event: Event<'_>, stack: &mut Stack) {
        if let Some(watchers) = &mut self.watchers {
            watchers.tell(event, &mut Scene { stack, requests: &mut self.requests, processes: &[] });
        }
    }
}
