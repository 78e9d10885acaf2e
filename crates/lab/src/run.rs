//! The run loop. Read this page first: everything that happens in a simulation happens in `System::step`.
//!
//! ```text
//!   workload --request--> driver --command--> link --> device --> flash
//!      ^                    |  ^                         |
//!      '----completion------'  '-----response-- link <---'
//! ```
//!
//! Nobody but the queue knows the time. The driver, the link and the device are told it, and say what they want
//! done later; the loop puts that into the queue. The oracle stands between workload and driver and checks every
//! read.
//!
//! Most of what every request passes through, here as in the driver and the firmware, is `#[inline(always)]`, so that
//! it becomes a few large functions; what is rare is kept out of them. The compiler can not know which is which, and
//! calls were a tenth of a run.

mod faults;
mod read_back;

use std::ops::ControlFlow;

use device::{Device, DeviceEvent};
use host::{AppSignal, Completion, Driver, Request, RequestOp};
use thiserror::Error;
use ufs::{Link, Response, Status, Tag, wire_bytes, wire_bytes_response};
use units::{Lpa, Nanos, Seq, SimTime};
use workload::{DriverCall, Footprint, Next, Progress, Source, Ticket, WorkOp};

use self::faults::{failed, has_excuse};
use crate::cache::CacheOf;
use crate::digest;
use crate::measure::{Measure, Snapshot};
use crate::oracle::{Oracle, Violation};
use crate::queue::EventQueue;
use crate::reads::{self, ReadRecord};
use crate::requests::{Requests, Slot};
use crate::sweep::Sweep;
use crate::tags::ByTag;

/// The caller of a run is asked after every this many events whether to go on.
const WATCH_EVERY: u64 = 1 << 14;
/// More events than any legitimate pause has: the firmware or the driver goes round in circles.
const STUCK_AFTER: u64 = 2_000_000;
/// A device that has nothing to do goes quiet sooner than this.
const SETTLE_LIMIT: Nanos = Nanos(60_000_000_000);

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The workload may have a request now.
    Source,
    /// The driver may have a command now.
    Driver,
    /// A command has crossed the link.
    CommandAtDevice(Tag),
    /// The device asked to be woken.
    Device(DeviceEvent),
    /// A response has crossed the link.
    ResponseAtHost(Tag),
}

/// Why a run ended early.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Stop {
    /// The caller asked for it.
    #[error("interrupted")]
    Interrupted,
    /// A read returned something it must not return.
    #[error("wrong data: {0}")]
    WrongData(Violation),
    /// A request failed although it was within the device and nothing was made to fail.
    #[error("{kind} of {len} units at {lpa} ended with {status:?}")]
    Failed { kind: &'static str, lpa: Lpa, len: u32, status: Status },
}

/// Asked now and then how far the run is; answers whether to go on.
pub type Watch<'a> = dyn FnMut(Progress, SimTime) -> ControlFlow<()> + 'a;

/// A phone's storage stack with a clock.
pub struct System {
    driver: Driver,
    link: Link,
    device: Device,
    queue: EventQueue<Event>,
    oracle: Oracle,
    requests: Requests,
    responses: ByTag<Response>,
    measure: Measure,
    /// For each read it is found out where its mapping came from.
    notes_outcomes: bool,
    /// The log of reads, if it is wanted.
    reads: Option<Vec<ReadRecord>>,
    reads_to_note: Vec<Ticket>,
    now: SimTime,
    events: u64,
    last_completion: u64,
    source_done: bool,
    /// Flash operations are made to fail, so requests may.
    faulty: bool,
    /// Earliest pending [`Event::Source`] and [`Event::Driver`], so that the queue does not fill with copies.
    source_wake: Option<SimTime>,
    driver_wake: Option<SimTime>,
}

impl System {
    /// A system at time 0.
    pub fn new(driver: Driver, link: Link, device: Device) -> System {
        let capacity = device.info().capacity_units;
        System {
            driver,
            link,
            device,
            queue: EventQueue::default(),
            oracle: Oracle::new(capacity),
            requests: Requests::default(),
            responses: ByTag::default(),
            measure: Measure::default(),
            notes_outcomes: false,
            reads: None,
            reads_to_note: Vec::new(),
            now: SimTime::START,
            events: 0,
            last_completion: 0,
            source_done: false,
            faulty: false,
            source_wake: None,
            driver_wake: None,
        }
    }

    /// Keeps a log of every read that completes from now on.
    pub fn log_reads(&mut self) {
        self.notes_outcomes = true;
        self.reads.get_or_insert_default();
    }

    /// The log of reads so far, in the order of their completion; the next call gives what comes after.
    pub fn take_reads(&mut self) -> Vec<ReadRecord> {
        self.reads.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Runs a workload to its end: every request issued and completed.
    ///
    /// # Errors
    /// Wrong data, a failed request, or the wish of `watch`.
    ///
    /// # Panics
    /// If requests are outstanding and nothing is left to happen, or nothing completes any more.
    pub fn run(&mut self, source: &mut dyn Source, watch: &mut Watch) -> Result<(), Stop> {
        self.source_done = false;
        self.notes_outcomes = self.reads.is_some() || source.wants_read_outcomes();
        self.measure.name_groups(source.groups());
        self.host_turn(source)?;
        while !self.source_done || self.requests.outstanding() > 0 {
            let outstanding = self.requests.outstanding();
            assert!(!self.queue.is_empty(), "nothing is left to happen with {outstanding} requests outstanding");
            self.step(source)?;
            if self.events.is_multiple_of(WATCH_EVERY) {
                let stuck = self.events - self.last_completion > STUCK_AFTER;
                assert!(
                    !stuck,
                    "{STUCK_AFTER} events without a completion with {outstanding} requests outstanding; {:?}; {:?}",
                    self.device.stats(),
                    self.driver.stats()
                );
                if watch(source.progress(), self.now).is_break() {
                    return Err(Stop::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Lets the device and the driver finish what they do in idle time.
    ///
    /// # Errors
    /// See [`System::run`].
    pub fn settle(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        let limit = self.now + SETTLE_LIMIT;
        while self.queue.next_time().is_some_and(|at| at <= limit) {
            self.step_once(source)?;
        }
        Ok(())
    }

    /// The next event, outside of [`System::run`].
    #[inline(never)]
    fn step_once(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        self.step(source)
    }

    /// The next event.
    #[inline(always)]
    fn step(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        let Some((at, event)) = self.queue.pop() else { return Ok(()) };
        debug_assert!(at >= self.now, "the queue went back in time");
        self.now = at;
        self.events += 1;
        match event {
            Event::Source => {
                self.source_wake = self.source_wake.filter(|&wake| wake > at);
            }
            Event::Driver => {
                self.driver_wake = self.driver_wake.filter(|&wake| wake > at);
                self.send_commands();
                return Ok(());
            }
            Event::CommandAtDevice(tag) => {
                self.device.command(at, self.driver.fetch(tag));
                self.schedule_device();
                return Ok(());
            }
            Event::Device(event) => {
                self.device.wake(at, event);
                self.schedule_device();
                return Ok(());
            }
            Event::ResponseAtHost(tag) => {
                if self.notes_outcomes {
                    self.note_translation(tag);
                }
                self.driver.on_response(at, self.responses.take(tag));
            }
        }
        self.host_turn(source)
    }

    /// For the log of reads and for sources that want to know: asks both ends of the link how the command has been
    /// translated.
    #[inline(never)]
    fn note_translation(&mut self, tag: Tag) {
        if let Some(read) = self.driver.read_in_flight(tag) {
            let outcome = reads::outcome(read.mapping, self.device.translation(tag));
            let slot = self.requests.get(Ticket(read.request));
            slot.outcome = slot.outcome.max(Some(outcome));
        }
    }

    /// The host's turn: ended requests to the workload, new ones to the driver, commands to the link.
    #[inline(always)]
    fn host_turn(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        self.hand_back(source)?;
        self.take_requests(source);
        self.send_commands();
        self.note_reads();
        // What the driver refuses, it completes at once.
        if self.driver.completion().is_some() { self.hand_back_refused(source) } else { Ok(()) }
    }

    /// Schedules what the device wants done later.
    #[inline(always)]
    fn schedule_device(&mut self) {
        if self.faulty {
            self.note_faults();
        }
        let effects = self.device.effects();
        for &(at, event) in &effects.wakes {
            self.queue.push(at, Event::Device(event));
        }
        effects.wakes.clear();
        if effects.responses.is_empty() {
            return;
        }
        for (at, response) in effects.responses.drain(..) {
            // The device hands responses over in the order of their times, so the link can be booked ahead.
            let tag = response.tag;
            let at = self.link.send_up(at, wire_bytes_response(&response));
            self.responses.put(tag, response);
            self.queue.push(at, Event::ResponseAtHost(tag));
        }
    }

    #[inline(always)]
    fn send_commands(&mut self) {
        while let Some(tag) = self.driver.issue(self.now, &CacheOf(&self.device)) {
            let at = self.link.send_down(self.now, wire_bytes(self.driver.command(tag)));
            self.queue.push(at, Event::CommandAtDevice(tag));
        }
        if let Some(at) = self.driver.next_wake()
            && at > self.now
            && self.driver_wake.is_none_or(|wake| at < wake)
        {
            self.driver_wake = Some(at);
            self.queue.push(at, Event::Driver);
        }
    }

    #[inline(always)]
    fn take_requests(&mut self, source: &mut dyn Source) {
        loop {
            // Borrow: moving the fresh `Next` is slow.
            match &source.next(self.now) {
                Next::Request(issued) => {
                    if issued.measured && !self.measure.began() {
                        self.measure.begin(self.now, self.snapshot(), self.requests.outstanding());
                    }
                    let slot = self.requests.enter(issued);
                    self.measure.submitted(slot, issued.request.is_aligned());
                    let empty = slot.len == 0 && slot.kind != WorkOp::Flush;
                    match empty {
                        true => self.finish_empty(issued.ticket, source),
                        false => self.submit(issued.ticket),
                    }
                }
                &Next::Wait(at) => {
                    if self.source_wake.is_none_or(|wake| at < wake) {
                        self.source_wake = Some(at);
                        self.queue.push(at, Event::Source);
                    }
                    return;
                }
                Next::Blocked => return,
                &Next::Driver(call) => {
                    let answer = self.call_driver(call);
                    source.answered(answer, self.now);
                }
                Next::Done => {
                    self.source_done = true;
                    return;
                }
            }
        }
    }

    /// What the phone's operating system tells the driver, or asks of it.
    fn call_driver(&mut self, call: DriverCall) -> u64 {
        match call {
            DriverCall::LaunchStart(app) => self.driver.signal(self.now, AppSignal::LaunchStart(app)),
            DriverCall::LaunchEnd(app) => self.driver.signal(self.now, AppSignal::LaunchEnd(app)),
            DriverCall::Ended(app) => self.driver.signal(self.now, AppSignal::Ended(app)),
            DriverCall::Reclaim(app, bytes) => return self.driver.reclaim(self.now, app, bytes),
            DriverCall::Memory => return self.driver.memory_bytes(),
        }
        0
    }

    /// Hands a request, or the flush before it, to the driver.
    #[inline(always)]
    fn submit(&mut self, ticket: Ticket) {
        let slot = self.requests.get(ticket);
        let op = slot.driver_op();
        match op {
            RequestOp::Read => {
                self.oracle.read_announced(slot.lpa);
                self.reads_to_note.push(ticket);
            }
            RequestOp::Write { .. } => slot.number = self.oracle.write_submitted(slot.lpa, slot.len),
            RequestOp::Unmap => slot.number = self.oracle.trim_submitted(slot.lpa, slot.len),
            RequestOp::Flush => {}
        }
        let request = Request { id: ticket.0, op, lpa: slot.lpa, len: slot.len, stamp: slot.number, app: slot.app };
        self.driver.submit(self.now, request);
    }

    /// [`System::submit`] after the flush before a request, out of the way of those without one.
    #[inline(never)]
    fn submit_data(&mut self, ticket: Ticket) {
        self.submit(ticket);
    }

    /// Notes what has been acknowledged for the reads just submitted: after the commands have been sent, so that the
    /// memory has had time to answer, and before anything else can be acknowledged.
    #[inline(always)]
    fn note_reads(&mut self) {
        while let Some(ticket) = self.reads_to_note.pop() {
            let slot = self.requests.get(ticket);
            self.oracle.read_submitted(slot.lpa, slot.len, &mut slot.memory);
        }
    }

    /// [`System::hand_back`], out of the way: what is sent is refused only if it reaches beyond the device.
    #[cold]
    fn hand_back_refused(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        self.hand_back(source)
    }

    #[inline(always)]
    fn hand_back(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        while let Some(completion) = self.driver.completion() {
            let ticket = Ticket(completion.id);
            let slot = self.requests.get(ticket);
            if self.faulty && has_excuse(slot, completion.status, &self.device) {
                failed(&mut self.oracle, slot);
                self.measure.failed += u64::from(slot.measured);
            } else {
                check(&mut self.oracle, slot, completion)?;
            }
            (slot.status, slot.content) = (completion.status, digest::of_data(&completion.data));
            self.driver.pop_completion();
            if slot.data_follows {
                slot.data_follows = false;
                self.submit_data(ticket);
            } else {
                self.finish(ticket, source);
            }
        }
        Ok(())
    }

    /// Ends a request that asks for nothing.
    #[cold]
    fn finish_empty(&mut self, ticket: Ticket, source: &mut dyn Source) {
        self.finish(ticket, source);
    }

    #[inline(always)]
    fn finish(&mut self, ticket: Ticket, source: &mut dyn Source) {
        self.last_completion = self.events;
        let slot = self.requests.get(ticket);
        self.measure.completed(slot, self.now);
        if let Some(outcome) = slot.outcome {
            source.read_outcome(ticket, outcome);
        }
        if slot.kind == WorkOp::Read
            && let Some(reads) = &mut self.reads
        {
            reads.push(ReadRecord::new(slot, self.now));
        }
        self.requests.leave(ticket);
        source.completed(ticket, self.now);
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            host: self.driver.stats(),
            host_schemes: self.driver.scheme_counters(),
            device: self.device.stats(),
            mapping: self.device.scheme_counters(),
            nand: *self.device.nand_counters(),
        }
    }

    /// What is left when the clock is taken away.
    pub(crate) fn into_parts(self) -> (Device, Oracle, SimTime) {
        (self.device, self.oracle, self.now)
    }

    /// After power-on: lets the device rebuild its mapping, attaches the driver that `attach` gives for the last change
    /// on flash, and lets it find out what it needs to know.
    pub(crate) fn recover(&mut self, oracle: Oracle, attach: impl FnOnce(Seq) -> Driver) {
        self.oracle = oracle;
        let mut nothing = Sweep::reading(Footprint::default());
        self.schedule_device();
        while !self.device.is_ready() {
            assert!(!self.queue.is_empty(), "the device stands still during its recovery");
            self.step_once(&mut nothing).expect("nothing is requested yet");
        }
        self.driver = attach(self.device.applied());
        self.send_commands();
        self.settle(&mut nothing).expect("nothing is requested yet");
    }

    /// What has been measured, and the state of the counters now.
    pub fn outcome(&self) -> (&Measure, Snapshot) {
        (&self.measure, self.snapshot())
    }

    /// Time now.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }
}

/// Checks a completion against the oracle.
#[inline(always)]
fn check(oracle: &mut Oracle, slot: &Slot, completion: &Completion) -> Result<(), Stop> {
    let (lpa, len) = (slot.lpa, slot.len);
    if completion.status != Status::Good {
        return Err(Stop::Failed { kind: slot.kind.name(), lpa, len, status: completion.status });
    }
    match slot.driver_op() {
        RequestOp::Read => oracle.read_done(lpa, len, &slot.memory, &completion.data).map_err(Stop::WrongData)?,
        RequestOp::Write { .. } => oracle.write_acked(lpa, len, slot.number),
        RequestOp::Unmap => oracle.trim_acked(lpa, len, slot.number),
        RequestOp::Flush => {}
    }
    Ok(())
}
