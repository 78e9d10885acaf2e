//! The run loop. Read this page first: everything that happens in a simulation happens in `System::step` and, for what
//! passes between driver and device, in `Stack::step`.
//!
//! ```text
//!   workload --request--> driver --command--> link --> device --> flash
//!      ^                    |  ^                         |
//!      '----completion------'  '-----response-- link <---'
//! ```
//!
//! Nobody but the queue of the stack knows the time. The driver, the link and the device are told it, and say what they
//! want done later; the stack puts that into the queue. The oracle stands between workload and driver and checks every
//! read.
//!
//! Most of what every request passes through, here as in the driver and the firmware, is `#[inline(always)]`, so that
//! it becomes a few large functions; what is rare is kept out of them. The compiler can not know which is which, and
//! calls were a tenth of a run.

mod cut;
mod faults;
mod host_time;
pub(crate) mod progress;
mod read_back;
pub(crate) mod recorder;
pub mod session;
pub(crate) mod simulate;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use ftl::Device;
use host::block::Block;
use host::{AppSignal, Completion, Driver, HostConfigError, InFlight, Request, RequestOp};
use thiserror::Error;
use ufs::{Link, PowerConfig, Status, Tag};
use units::{Lpa, Nanos, Seq, SimTime};
use workload::{DriverCall, Footprint, Issued, Next, Progress, Source, Ticket, WorkOp};

use self::faults::{failed, has_excuse};
use crate::observe::{self, Event, LogPart, Observe, Scene, Watchers};
use crate::open::sweep::Sweep;
use crate::options::memory_plan::MemoryPlan;
use crate::oracle::{Oracle, Violation};
use crate::report::digest;
use crate::report::measure::{Measure, Snapshot};
use crate::report::requests::{Requests, Slot};
use crate::stack::{Stack, Turn};

/// The caller of a run is asked after every this many events whether to go on.
const WATCH_EVERY: u64 = 1 << 14;
/// More events than any legitimate pause has: the firmware or the driver goes round in circles.
const STUCK_AFTER: u64 = 2_000_000;
/// A device that has nothing to do goes quiet sooner than this.
const SETTLE_LIMIT: Nanos = Nanos(60_000_000_000);

/// Why a run ended early.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Stop {
    /// The caller asked for it.
    #[error("interrupted")]
    Interrupted,
    /// A read returned something it must not return.
    #[error("wrong data: {0}")]
    WrongData(Violation),
    /// It was to end with a power cut.
    #[error("the power was cut")]
    PowerCut,
    /// A request failed although it was within the device and nothing was made to fail.
    #[error("{kind} of {len} units at {lpa} ended with {status:?}")]
    Failed { kind: &'static str, lpa: Lpa, len: u32, status: Status },
}

/// Asked now and then how far the run is; answers whether to go on.
pub type Watch<'a> = dyn FnMut(Progress, SimTime) -> ControlFlow<()> + 'a;

/// A phone's storage stack with a clock.
pub struct System {
    stack: Stack,
    /// What takes time on the host; `None` if nothing does.
    block: Option<Box<Block>>,
    oracle: Oracle,
    requests: Requests,
    measure: Measure,
    /// For each read it is found out where its mapping came from.
    notes_outcomes: bool,
    /// Those who look on, if anybody does.
    watchers: Option<Box<Watchers>>,
    reads_to_note: Vec<Ticket>,
    /// The source merges neighbouring requests.
    merges: bool,
    /// What is merged with a request that is being taken in.
    riders: Vec<Issued>,
    last_completion: u64,
    source_done: bool,
    /// Flash operations are made to fail, so requests may.
    faulty: bool,
    /// What becomes of the limit of host memory when the measured part has begun, and when.
    memory_plan: MemoryPlan,
    memory_due: VecDeque<(SimTime, u64)>,
    /// How long after the beginning of the measured part the power is cut, and when that is.
    cut_after: Option<Nanos>,
    cut_due: Option<SimTime>,
}

impl System {
    /// A system at time 0.
    pub fn new(driver: Driver, link: Link, device: Device) -> System {
        System::of(Stack::new(driver, link, device))
    }

    /// A system of a stack at time 0.
    pub(crate) fn of(stack: Stack) -> System {
        let capacity = stack.device.info().capacity_units;
        System {
            stack,
            block: None,
            oracle: Oracle::new(capacity),
            requests: Requests::default(),
            measure: Measure::default(),
            notes_outcomes: false,
            watchers: None,
            reads_to_note: Vec::new(),
            merges: false,
            riders: Vec::new(),
            last_completion: 0,
            source_done: false,
            faulty: false,
            memory_plan: MemoryPlan::default(),
            memory_due: VecDeque::new(),
            cut_after: None,
            cut_due: None,
        }
    }

    /// A system at time 0 whose link and device have power states.
    #[must_use]
    pub fn with_power(self, config: PowerConfig) -> System {
        System { stack: self.stack.with_power(config), ..self }
    }

    /// Changes the limit of host memory during the measured part of the next run.
    ///
    /// # Errors
    /// If the booster can not work with one of the limits.
    pub(crate) fn plan_memory(&mut self, plan: MemoryPlan) -> Result<(), HostConfigError> {
        plan.limits().try_for_each(|bytes| self.stack.driver.check_memory_limit(bytes))?;
        self.memory_plan = plan;
        Ok(())
    }

    /// Lets the machine finish what it has begun, and forgets what it has measured: the run begins here.
    ///
    /// # Errors
    /// See [`System::run`].
    pub(crate) fn rest(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        self.settle(source)?;
        self.measure = Measure::default();
        Ok(())
    }

    /// Changes of the limit of host memory that are still to come.
    pub(crate) fn memory_changes_left(&self) -> usize {
        self.memory_due.len()
    }

    /// What is on flash now has lain for the retention age of the profile.
    pub fn age_data(&mut self) {
        self.stack.device.rest();
    }

    /// Shows the workload that begins now to those who want to see.
    pub fn observe(&mut self, wanted: Observe) {
        self.watchers = Watchers::new(wanted, &mut self.stack);
    }

    /// The workload has ended: everything has been seen. False if whoever takes a log wants no more.
    pub fn end_observation(&mut self, processes: &[String]) -> bool {
        let mut scene = Scene { stack: &mut self.stack, requests: &mut self.requests, processes };
        self.watchers.as_mut().is_none_or(|watchers| watchers.end(&mut scene))
    }

    /// Those who have looked on.
    pub(crate) fn take_watchers(&mut self) -> Option<Box<Watchers>> {
        self.watchers.take()
    }

    /// What a log that is to be kept has since the last call.
    pub fn take_log(&mut self, processes: &[String]) -> Option<LogPart> {
        self.watchers.as_mut().and_then(|watchers| watchers.take_log(processes))
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
        self.last_completion = self.stack.events();
        let wanted = self.watchers.as_ref().is_some_and(|watchers| watchers.want_outcomes());
        self.notes_outcomes = wanted || source.wants_read_outcomes();
        self.merges = source.merges();
        self.measure.name_groups(source.groups());
        self.host_turn(source)?;
        while !self.source_done || self.requests.outstanding() > 0 {
            let outstanding = self.requests.outstanding();
            if outstanding == 0 {
                // What the device does meanwhile, such as GC in idle time, keeps nobody waiting.
                self.last_completion = self.stack.events();
            }
            assert!(
                self.stack.next_time().is_some(),
                "nothing is left to happen with {outstanding} requests outstanding"
            );
            self.step(source)?;
            if self.stack.events().is_multiple_of(WATCH_EVERY) {
                let stuck = self.stack.events() - self.last_completion > STUCK_AFTER;
                assert!(
                    !stuck,
                    "{STUCK_AFTER} events without a completion with {outstanding} requests outstanding; {:?}; {:?}",
                    self.stack.device.stats(),
                    self.stack.driver.stats()
                );
                let ended = self.watchers.as_ref().is_some_and(|watchers| watchers.have_ended());
                if ended || watch(source.progress(), self.stack.now()).is_break() {
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
        let limit = self.now() + SETTLE_LIMIT;
        while self.stack.next_time().is_some_and(|at| at <= limit) {
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
        if self.watchers.is_some() {
            self.look(source);
        }
        let turn = self.stack.step();
        if self.faulty {
            self.note_faults();
        }
        match turn {
            None | Some(Turn::None) => return Ok(()),
            Some(Turn::Caller) => {
                self.cut_turn()?;
                self.memory_turn();
            }
            Some(Turn::Response(tag)) => {
                if self.notes_outcomes {
                    self.note_response(tag, source);
                }
                self.stack.deliver(tag);
            }
        }
        self.host_turn(source)
    }

    /// Shows watchers what has happened up to the next event.
    #[cold]
    #[inline(never)]
    fn look(&mut self, source: &dyn Source) {
        if let Some(watchers) = &mut self.watchers
            && let Some(next) = self.stack.next_time()
        {
            let (stack, requests) = (&mut self.stack, &mut self.requests);
            watchers.look(&mut Scene { stack, requests, processes: source.processes() }, next);
        }
    }

    /// Tells watchers what happens, if there are any.
    #[inline(always)]
    fn tell(&mut self, event: Event<'_>, source: &dyn Source) {
        if self.watchers.is_some() {
            self.tell_watchers(event, source);
        }
    }

    /// Out of the way of runs that nobody watches.
    #[cold]
    #[inline(never)]
    fn tell_watchers(&mut self, event: Event<'_>, source: &dyn Source) {
        if let Some(watchers) = &mut self.watchers {
            let (stack, requests) = (&mut self.stack, &mut self.requests);
            watchers.tell(event, &mut Scene { stack, requests, processes: source.processes() });
        }
    }

    /// For watchers, and sources that want to know: asks both ends of the link how the command has been translated.
    #[inline(never)]
    fn note_response(&mut self, tag: Tag, source: &dyn Source) {
        let Some(InFlight { request, mapping }) = self.stack.driver.in_flight(tag) else { return };
        if let Some(mapping) = mapping {
            let slot = self.requests.get(Ticket(request));
            let translation = self.stack.device.translation(tag);
            slot.outcome = slot.outcome.max(Some(observe::outcome(mapping, translation)));
        }
        self.tell(Event::Response(Ticket(request), tag), source);
    }

    /// The host's turn: ended requests to the workload, new ones to the driver, commands to the link.
    #[inline(always)]
    fn host_turn(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        self.hand_back(source)?;
        if self.block.is_some() {
            self.block_turn(source);
        }
        self.take_requests(source);
        if self.block.is_some() {
            self.block_turn(source);
        }
        self.stack.send_commands();
        self.note_reads();
        // What the driver refuses, it completes at once.
        if self.stack.driver.completion().is_some() { self.hand_back_refused(source) } else { Ok(()) }
    }

    #[inline(always)]
    fn take_requests(&mut self, source: &mut dyn Source) {
        loop {
            // Borrow: moving the fresh `Next` is slow.
            match &source.next(self.stack.now()) {
                Next::Request(issued) => {
                    if issued.measured && !self.measure.began() {
                        self.begin_measuring(source);
                    }
                    self.tell(Event::Entered(issued), source);
                    let slot = self.requests.enter(issued);
                    self.measure.submitted(slot, issued.request.is_aligned());
                    let empty = slot.len == 0 && slot.kind != WorkOp::Flush;
                    let (lpa, changes) = (source.coming().unwrap_or(slot.lpa), slot.kind != WorkOp::Read);
                    self.prefetch(lpa, changes);
                    if self.merges {
                        self.couple(issued.ticket, source);
                    }
                    match empty {
                        true => self.finish_empty(issued.ticket, source),
                        false if self.block.is_some() => self.enter_block(issued),
                        false => self.submit(issued.ticket, source),
                    }
                }
                &Next::Wait(at) => {
                    self.stack.wake_caller(at);
                    return;
                }
                Next::Blocked => return,
                &Next::Driver(call) => {
                    let answer = self.call_driver(call);
                    source.answered(answer, self.stack.now());
                }
                Next::Done => {
                    self.source_done = true;
                    return;
                }
            }
        }
    }

    /// Lets the memory work on what a request for this address will need, which is probably of the kind of the one
    /// before it. The tables are far larger than any cache.
    #[inline(always)]
    fn prefetch(&self, lpa: Lpa, changes: bool) {
        self.oracle.prefetch(lpa);
        self.stack.driver.prefetch(lpa, changes);
        self.stack.device.prefetch(lpa, changes);
    }

    /// Takes in the requests that are merged with this one: they are one for the driver and the oracle.
    #[inline(never)]
    fn couple(&mut self, leader: Ticket, source: &mut dyn Source) {
        source.take_riders(&mut self.riders);
        let riders = std::mem::take(&mut self.riders);
        for rider in &riders {
            self.tell(Event::Entered(rider), source);
            let slot = self.requests.enter(rider);
            self.measure.submitted(slot, rider.request.is_aligned());
            self.measure.merged += u64::from(rider.measured);
        }
        if !riders.is_empty() {
            self.requests.couple(leader, &riders);
        }
        self.riders = riders;
        self.riders.clear();
    }

    #[inline(never)]
    fn begin_measuring(&mut self, source: &dyn Source) {
        self.measure.begin(self.stack.now(), self.snapshot(), self.requests.outstanding());
        let stats = self.measure.before.device;
        self.tell(Event::MeasuringBegins(&stats), source);
        self.memory_due = self.memory_plan.from(self.stack.now());
        self.cut_due = self.cut_after.map(|after| self.stack.now() + after);
        self.cut_due.into_iter().for_each(|at| self.stack.wake_caller(at));
        self.memory_turn();
    }

    /// Changes the limit of host memory if that is due, and sees to it that the next change happens.
    #[inline(always)]
    fn memory_turn(&mut self) {
        while let Some(&(at, bytes)) = self.memory_due.front() {
            if at > self.stack.now() {
                self.stack.wake_caller(at);
                return;
            }
            self.memory_due.pop_front();
            let changed = self.stack.driver.set_memory_limit(self.stack.now(), bytes);
            changed.expect("every limit was checked when the plan was made");
        }
    }

    /// What the phone's operating system tells the driver, or asks of it.
    fn call_driver(&mut self, call: DriverCall) -> u64 {
        match call {
            DriverCall::LaunchStart(app) => self.stack.driver.signal(self.stack.now(), AppSignal::LaunchStart(app)),
            DriverCall::LaunchEnd(app) => self.stack.driver.signal(self.stack.now(), AppSignal::LaunchEnd(app)),
            DriverCall::Ended(app) => self.stack.driver.signal(self.stack.now(), AppSignal::Ended(app)),
            DriverCall::Reclaim(app, bytes) => return self.stack.driver.reclaim(self.stack.now(), app, bytes),
            DriverCall::Pressed(bytes) => self.stack.driver.pressed(self.stack.now(), bytes),
            DriverCall::Relieved => self.stack.driver.relieved(self.stack.now()),
            DriverCall::Room(bytes) => self.stack.driver.set_room(bytes),
            DriverCall::Memory => return self.stack.driver.memory_bytes(),
            DriverCall::Fetches => return self.stack.driver.map_fetches(),
        }
        0
    }

    /// Hands a request, or the flush before it, to the driver.
    #[inline(always)]
    fn submit(&mut self, ticket: Ticket, source: &dyn Source) {
        if self.block.is_some() {
            self.tell(Event::ToDriver(ticket), source);
        }
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
        self.stack.driver.submit(self.stack.now(), request);
    }

    /// [`System::submit`] after the flush before a request, out of the way of those without one.
    #[inline(never)]
    fn submit_data(&mut self, ticket: Ticket, source: &dyn Source) {
        self.submit(ticket, source);
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
        self.hand_back(source)?;
        self.block_turn(source);
        Ok(())
    }

    #[inline(always)]
    fn hand_back(&mut self, source: &mut dyn Source) -> Result<(), Stop> {
        while let Some(completion) = self.stack.driver.completion() {
            let ticket = Ticket(completion.id);
            let slot = self.requests.get(ticket);
            slot.dispatched = slot.dispatched.or(completion.dispatched);
            if self.faulty && has_excuse(slot, completion.status, &self.stack.device) {
                failed(&mut self.oracle, slot);
                self.measure.failed += u64::from(slot.measured);
            } else {
                check(&mut self.oracle, slot, completion)?;
            }
            (slot.status, slot.content) = (completion.status, digest::of_data(&completion.data));
            let (unsent, data_follows) = (completion.dispatched.is_none(), slot.data_follows);
            slot.data_follows = false;
            if let Some(ended) = self.stack.driver.pop_completion() {
                ended.data.end();
            }
            if unsent {
                self.tell(Event::Unsent(ticket), source);
            }
            if data_follows {
                self.submit_data(ticket, source);
            } else if self.block.is_some() {
                self.leave_driver(ticket);
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
        self.last_completion = self.stack.events();
        match self.requests.get(ticket).rider {
            None => self.finish_one(ticket, source),
            Some(_) => self.finish_merged(ticket, source),
        }
    }

    /// Ends requests that were one, each with its own latency.
    #[inline(never)]
    fn finish_merged(&mut self, leader: Ticket, source: &mut dyn Source) {
        let mut next = self.requests.uncouple(leader);
        let Slot { status, content, outcome, dispatched, .. } = *self.requests.get(leader);
        self.finish_one(leader, source);
        while let Some(rider) = next {
            let slot = self.requests.get(rider);
            next = slot.rider.take();
            (slot.status, slot.content, slot.outcome, slot.dispatched) = (status, content, outcome, dispatched);
            self.measure.failed += u64::from(slot.measured && status != Status::Good);
            self.finish_one(rider, source);
        }
    }

    #[inline(always)]
    fn finish_one(&mut self, ticket: Ticket, source: &mut dyn Source) {
        let slot = self.requests.get(ticket);
        self.measure.completed(slot, self.stack.now());
        if let Some(outcome) = slot.outcome {
            source.read_outcome(ticket, outcome);
        }
        self.tell(Event::Completed(ticket), source);
        self.requests.leave(ticket);
        source.completed(ticket, self.stack.now());
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { host_time: self.block.as_ref().map(|block| block.account()), ..Snapshot::of(&self.stack) }
    }

    /// What is left when the clock is taken away.
    pub(crate) fn into_parts(self) -> (Device, Oracle, SimTime) {
        let now = self.now();
        (self.stack.device, self.oracle, now)
    }

    /// The stack, for who has a loop of his own, and what is expected of its device.
    pub fn into_stack(self) -> (Stack, Oracle) {
        (self.stack, self.oracle)
    }

    /// After power-on: lets the device rebuild its mapping, attaches the driver that `attach` gives for the last change
    /// on flash, and lets it find out what it needs to know.
    pub(crate) fn recover(&mut self, oracle: Oracle, attach: impl FnOnce(Seq) -> Driver) {
        self.oracle = oracle;
        let mut nothing = Sweep::reading(Footprint::default());
        self.stack.schedule_device();
        self.until_ready(&mut nothing);
        self.stack.driver = attach(self.stack.device.applied());
        self.stack.send_commands();
        self.settle(&mut nothing).expect("nothing is requested yet");
    }

    /// Lets the device rebuild its mapping after power-on.
    fn until_ready(&mut self, nothing: &mut dyn Source) {
        while !self.stack.device.is_ready() {
            assert!(self.stack.next_time().is_some(), "the device stands still during its recovery");
            self.step_once(nothing).expect("nothing is requested yet");
        }
    }

    /// What has been measured, and the state of the counters now.
    pub fn outcome(&self) -> (&Measure, Snapshot) {
        (&self.measure, self.snapshot())
    }

    /// Time now.
    pub fn now(&self) -> SimTime {
        self.stack.now()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.stack.events()
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
