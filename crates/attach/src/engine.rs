//! The run loop: read this page first.
//!
//! ```text
//!   ask --submit--> driver --command--> link --> device --> flash
//!                     ^                            |  '-- programmed --> contents --> store
//!   answer <--done----'--------response--- link <--'
//! ```
//!
//! It differs from the loop of the laboratory in that nobody yields the next request: a caller brings it, with the time
//! at which it arrives. All events up to that time are handled before it, so what happens depends on nothing but the
//! arrivals.

use std::collections::VecDeque;

use host::{Completion, Driver, HostConfig, Request, RequestOp};
use lab::oracle::Oracle;
use lab::{Digest, Machine, Recorder, Stack, Turn, assemble_stack, of_data};
use ledger::{Ledger, Span, Version};
use ufs::{Command, Status, Tag};
use units::{AppId, Lpa, Seq, SimTime};
use workload::Rng;

use crate::UNIT;
use crate::arrivals::ArrivalLog;
use crate::ask::{Answer, Ask, FLUSH, Failure, WRITE};
use crate::contents::Contents;
use crate::hole::Hole;
use crate::outside::{Outside, own_command};
use crate::saving::Saving;
use crate::stats::Tally;
use crate::store::Store;

/// More events than any legitimate pause has: the firmware or the driver goes round in circles.
const STUCK_AFTER: u64 = 2_000_000;
/// Numbers of versions have 31 bits.
const LAST_STAMP: u32 = (1 << 31) - 1;

/// A request under way.
#[derive(Debug)]
struct Under {
    token: u64,
    /// Index into [`Ask::KINDS`].
    kind: usize,
    op: RequestOp,
    span: Span,
    /// Its number, of writes and trims.
    stamp: u32,
    arrival: SimTime,
    /// A flush follows, when this has ended.
    flush_follows: bool,
    /// Acknowledgements before a flush.
    until: u64,
    /// The command, if a host outside has made it; gone when it has been sent.
    command: Option<Command>,
}

impl Under {
    fn version(&self) -> Option<Version> {
        Version::made_by(&self.request(0))
    }

    fn request(&self, id: u32) -> Request {
        let &Under { op, span: Span { lpa, len }, stamp, .. } = self;
        Request { id, op, lpa, len, stamp, app: AppId::SYSTEM }
    }
}

/// A device that answers requests from outside.
pub struct Engine {
    /// `None` only while the power is off.
    pub(crate) stack: Option<Stack>,
    pub(crate) driver_config: HostConfig,
    /// What is kept for a host outside; `None` if the driver is ours.
    pub(crate) outside: Option<Outside>,
    pub(crate) contents: Contents,
    under: Vec<Option<Under>>,
    free: Vec<u32>,
    /// Requests that wait until the device has recovered, or its state has been saved.
    pub(crate) waiting: Vec<u32>,
    /// How far a state is from being saved.
    pub(crate) saving: Saving,
    /// Since when the device recovers.
    pub(crate) recovering: Option<SimTime>,
    /// The last change that it found on flash then.
    pub(crate) found: Seq,
    last_stamp: u32,
    done: VecDeque<Answer>,
    /// Everything up to here has been handled.
    horizon: SimTime,
    pub(crate) last_completion: u64,
    pub(crate) dice: Rng,
    pub(crate) tally: Tally,
    digest: Digest,
    pub(crate) log: Option<ArrivalLog>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) sabotage: Option<Hole>,
    /// It was filled with what a store had.
    filled: bool,
}

impl Engine {
    /// A new device of a machine. If the store has data, the device is filled with it, in simulated time.
    ///
    /// # Errors
    /// If the driver's settings do not fit the device.
    pub fn new(machine: &Machine, seed: u64, store: Box<dyn Store>) -> Result<Engine, lab::LabError> {
        let Machine { parts, profile } = machine;
        let stack = assemble_stack(profile, *parts, seed)?;
        let contents = Contents::new(Ledger::new(stack.device.info().capacity_units), store);
        let mut engine = Engine::of(stack, profile.host_config(*parts), None, seed, contents);
        engine.refill();
        engine.filled = engine.last_stamp > 0;
        Ok(engine)
    }

    /// A device that begins as a stack with its driver is, as after ageing. `expected` is what its units hold; those
    /// that were written before have no bytes, and read as zeroes.
    ///
    /// # Panics
    /// If the store has data.
    pub fn aged(stack: Stack, expected: &Oracle, driver: HostConfig, seed: u64, store: Box<dyn Store>) -> Engine {
        assert!(store.held().is_empty(), "an aged device begins with an empty store");
        let (ledger, last_stamp) = expected.to_ledger();
        Engine { last_stamp, ..Engine::of(stack, driver, None, seed, Contents::new(ledger, store)) }
    }

    /// An engine for a host outside that makes its own commands ([`Engine::relay`]), on a stack whose driver is
    /// replaced.
    /// `expected` is what its units hold; those that were written before have no bytes, and read as zeroes.
    ///
    /// # Panics
    /// If the store has data.
    pub fn for_outside(mut stack: Stack, expected: &Oracle, seed: u64, store: Box<dyn Store>) -> Engine {
        assert!(store.held().is_empty(), "a host outside begins with an empty store");
        stack.driver = Driver::relay(stack.device.info());
        let (ledger, last_stamp) = expected.to_ledger();
        let contents = Contents::new(ledger, store);
        let host = HostConfig::default();
        Engine { last_stamp, ..Engine::of(stack, host, Some(Outside::default()), seed, contents) }
    }

    fn of(
        mut stack: Stack,
        driver_config: HostConfig,
        outside: Option<Outside>,
        seed: u64,
        contents: Contents,
    ) -> Engine {
        stack.device.note_programmed();
        let horizon = stack.now();
        let (last_completion, found) = (stack.events(), stack.device.applied());
        Engine {
            stack: Some(stack),
            driver_config,
            outside,
            contents,
            under: Vec::new(),
            free: Vec::new(),
            waiting: Vec::new(),
            saving: Saving::No,
            recovering: None,
            found,
            last_stamp: 0,
            done: VecDeque::new(),
            horizon,
            last_completion,
            dice: Rng::from_seed(workload::named_seed(seed, "power cut", 0)),
            tally: Tally::new(),
            digest: Digest::default(),
            log: None,
            recorder: None,
            sabotage: None,
            filled: false,
        }
    }

    /// Records from now on what a host outside asks for.
    pub fn record(&mut self, at: SimTime, recorder: impl FnOnce(&mut Stack) -> Recorder) {
        self.arrive(at);
        self.recorder = Some(recorder(self.stack()));
    }

    /// Ends the record, and gives it with the stack that it is about.
    pub fn take_record(&mut self) -> Option<(Recorder, &mut Stack)> {
        let recorder = self.recorder.take()?;
        Some((recorder, self.stack()))
    }

    /// Breaks a promise from now on.
    pub fn sabotage(&mut self, hole: Option<Hole>) {
        self.sabotage = hole;
        self.contents.sabotage = hole;
    }

    /// Whether what arrives can be logged: a device that was filled from a store is not what a replay begins with.
    ///
    /// # Errors
    /// If it was.
    pub fn can_log(&self) -> Result<(), &'static str> {
        if self.filled {
            return Err("a log of arrivals begins with a new device, and this one has data from its store");
        }
        Ok(())
    }

    /// Logs what arrives from now on.
    ///
    /// # Panics
    /// If the device was filled from a store.
    pub fn log_arrivals(&mut self, log: ArrivalLog) {
        self.can_log().expect("it was asked before");
        self.log = Some(log);
    }

    pub(crate) fn stack(&mut self) -> &mut Stack {
        self.stack.as_mut().expect("the power is on between calls")
    }

    /// Driver, link and device, for reports.
    pub fn stack_ref(&self) -> &Stack {
        self.stack.as_ref().expect("the power is on between calls")
    }

    /// The device's size in units.
    pub fn units(&self) -> u32 {
        self.contents.units()
    }

    /// Everything up to this time has been handled.
    pub fn now(&self) -> SimTime {
        self.horizon
    }

    /// When the next event is due; `None` if nothing is left to happen.
    pub fn next_time(&self) -> Option<SimTime> {
        self.stack_ref().next_time()
    }

    /// Requests that have not been answered.
    pub fn outstanding(&self) -> usize {
        self.under.len() - self.free.len()
    }

    /// True if something goes on that somebody waits for: requests, a recovery, or a state that is to be saved.
    pub fn is_busy(&self) -> bool {
        self.outstanding() > 0 || self.recovering.is_some() || self.saving.is_wanted()
    }

    /// A fingerprint of everything that has ended: kind, range, status, data and time, in order.
    pub fn digest(&self) -> String {
        self.digest.hex()
    }

    /// The next request that has ended.
    pub fn answer(&mut self) -> Option<Answer> {
        self.done.pop_front()
    }

    /// Requests that have ended and wait to be taken.
    pub fn answers(&self) -> usize {
        self.done.len()
    }

    /// Handles everything up to a time.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn run_until(&mut self, at: SimTime) {
        while self.next_time().is_some_and(|next| next <= at) {
            self.step();
        }
        self.horizon = self.horizon.max(at);
    }

    /// Lets the clock of the stack come to a time. What arrives then has been preceded by all events of that time.
    pub(crate) fn arrive(&mut self, at: SimTime) {
        let at = at.max(self.horizon);
        self.run_until(at);
        let stack = self.stack();
        if stack.now() < at {
            stack.wake_caller(at);
            let turn = stack.step();
            assert_eq!(turn, Some(Turn::Caller), "everything before was handled");
        }
    }

    /// A request arrives at a time; if that has passed, now. `token` is the asker's number for it.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn submit(&mut self, at: SimTime, token: u64, ask: Ask) {
        self.enter_ask(at, token, ask, None);
    }

    /// [`Engine::submit`], perhaps with the command that a host outside has made of it.
    pub(crate) fn enter_ask(&mut self, at: SimTime, token: u64, ask: Ask, command: Option<Command>) {
        self.arrive(at);
        let (kind, (first, len)) = (ask.kind(), ask.span());
        let checked = self.check(&ask);
        if let Some(log) = &mut self.log {
            match checked {
                Err(Failure::NoSpace) => log.refused(self.horizon, kind),
                _ => log.arrived(self.horizon, &ask),
            }
        }
        if let Err(failure) = checked {
            self.tally.refused(kind);
            return self.give(token, Err(failure), units::Nanos::ZERO);
        }
        let span = Span { lpa: Lpa(first), len: len as u32 };
        let op = match ask {
            Ask::Read { .. } => RequestOp::Read,
            Ask::Write { fua, .. } => RequestOp::Write { fua },
            Ask::Trim { .. } => RequestOp::Unmap,
            Ask::Flush => RequestOp::Flush,
        };
        let stamp = if matches!(kind, 1 | 2) { self.take_stamp() } else { 0 };
        let flush_follows = matches!(ask, Ask::Trim { fua: true, .. });
        if let Ask::Write { data, .. } = ask {
            self.contents.write_submitted(span, stamp, data);
        } else if op == RequestOp::Unmap {
            self.contents.trim_submitted(span, stamp);
        }
        let arrival = self.horizon;
        let id = self.enter(Under { token, kind, op, span, stamp, arrival, flush_follows, until: 0, command });
        if let (Some(recorder), Some(stack)) = (&mut self.recorder, &mut self.stack) {
            recorder.entered(id, op, span.lpa, span.len, stack);
        }
        if self.recovering.is_some() || self.saving.is_wanted() {
            self.waiting.push(id);
        } else {
            self.begin(id);
            self.host_turn();
        }
    }

    fn check(&mut self, ask: &Ask) -> Result<(), Failure> {
        let (first, len) = ask.span();
        let whole = !matches!(ask, Ask::Write { data, .. } if !data.len().is_multiple_of(UNIT));
        let inside = len > 0 && u64::from(first) + len <= u64::from(self.units());
        if *ask != Ask::Flush && !(whole && inside) {
            return Err(Failure::OutOfRange);
        }
        let changes = matches!(ask, Ask::Write { .. } | Ask::Trim { .. });
        if changes && self.last_stamp == LAST_STAMP {
            return Err(Failure::NoSpace);
        }
        // What the store has refused is still in memory; more must not come to it.
        if matches!(ask, Ask::Write { .. }) { self.contents.save_all() } else { Ok(()) }
    }

    fn take_stamp(&mut self) -> u32 {
        self.last_stamp += 1;
        self.last_stamp
    }

    /// The last write or trim that has been handed to the driver; later ones wait.
    pub(crate) fn last_begun(&self) -> u32 {
        let waiting = self.waiting.iter().filter_map(|&id| self.under[id as usize].as_ref()).map(|under| under.stamp);
        waiting.filter(|&stamp| stamp > 0).min().map_or(self.last_stamp, |stamp| stamp - 1)
    }

    fn enter(&mut self, under: Under) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.under[id as usize] = Some(under);
                id
            }
            None => {
                self.under.push(Some(under));
                self.under.len() as u32 - 1
            }
        }
    }

    /// Hands a request to the driver.
    pub(crate) fn begin(&mut self, id: u32) {
        let Engine { stack, contents, under, outside, .. } = self;
        let stack = stack.as_mut().expect("the power is on between calls");
        let under = under[id as usize].as_mut().expect("the request is under way");
        match under.op {
            RequestOp::Read => contents.read_submitted(id, under.span),
            RequestOp::Flush => under.until = contents.acknowledgements(),
            RequestOp::Write { .. } | RequestOp::Unmap => {}
        }
        let request = under.request(id);
        if outside.is_some() {
            let own = || own_command(under.op, under.span.lpa, under.span.len);
            let command = under.command.take().unwrap_or_else(own);
            stack.driver.relay_command(stack.now(), Some(request), command);
        } else {
            stack.driver.submit(stack.now(), request);
        }
    }

    /// Handles the next event.
    ///
    /// # Panics
    /// If nothing is left to happen, or nothing completes any more, or the device gives wrong data: defects of the
    /// simulator.
    pub fn step(&mut self) {
        let stack = self.stack.as_mut().expect("the power is on between calls");
        if let Some(recorder) = &mut self.recorder {
            recorder.look(stack);
        }
        let turn = stack.step().expect("requests are under way, but nothing will ever happen");
        self.horizon = self.horizon.max(stack.now());
        if let Some(programmed) = stack.device.programmed().filter(|programmed| !programmed.is_empty()) {
            self.contents.programmed(programmed.drain(..));
        }
        if self.under.len() > self.free.len() && stack.events() - self.last_completion > STUCK_AFTER {
            panic!("nothing completes: {:?}, {:?}", stack.device.stats(), stack.driver.stats());
        }
        match turn {
            Turn::None if self.recovering.is_some() => self.attach_if_ready(),
            Turn::None => {}
            Turn::Caller => self.host_turn(),
            Turn::Response(tag) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.response(tag, stack);
                }
                stack.deliver(tag);
                self.host_turn();
            }
        }
        self.save_if_quiet();
    }

    /// Completions to the asker, commands to the link, until there is neither.
    pub(crate) fn host_turn(&mut self) {
        loop {
            self.collect_relayed();
            while let Some(completion) = self.stack().driver.pop_completion() {
                self.completed(&completion);
            }
            self.stack().send_commands();
            if self.stack().driver.completion().is_none() {
                return;
            }
        }
    }

    /// Takes over what a host outside is to get. A command that none of the requests under way has is one without.
    fn collect_relayed(&mut self) {
        let Engine { stack: Some(stack), outside: Some(outside), under, .. } = self else { return };
        let is_request = |tag: Tag| under.iter().flatten().any(|under| under.token == u64::from(tag.0));
        let now = stack.now();
        outside.collect(&mut stack.driver, is_request, now);
    }

    fn completed(&mut self, completion: &Completion) {
        let id = completion.id;
        self.last_completion = self.stack().events();
        let under = self.under[id as usize].take().expect("a request completes once");
        let (span, now) = (under.span, self.stack_ref().now());
        let content = of_data(&completion.data);
        self.digest.completion(under.kind, completion.status, (span.lpa, span.len), content, now);
        if let (Some(recorder), Some(stack)) = (&mut self.recorder, &mut self.stack) {
            recorder.completed(completion, stack);
        }
        let result = self.result_of(id, &under, completion);
        if under.flush_follows && result.is_ok() {
            let flush = Under { op: RequestOp::Flush, flush_follows: false, ..under };
            self.under[id as usize] = Some(flush);
            return self.begin(id);
        }
        self.free.push(id);
        self.answered(&under, result);
    }

    fn result_of(&mut self, id: u32, under: &Under, completion: &Completion) -> Result<Vec<u8>, Failure> {
        let span = under.span;
        match (completion.status, under.op) {
            (Status::Good, RequestOp::Read) => return self.contents.read_done(id, &completion.data),
            (Status::Good, RequestOp::Flush) => {
                self.contents.flushed(under.until);
                self.contents.save_all()?;
            }
            (Status::Good, RequestOp::Write { .. } | RequestOp::Unmap) => {
                let durable = under.op == RequestOp::Write { fua: true };
                let version = under.version().expect("a write or a trim makes a version");
                self.contents.acked(span, version, durable);
                if durable {
                    self.contents.save_all()?;
                }
            }
            (Status::UnrecoveredRead, RequestOp::Read) => {
                self.contents.read_failed(id);
                self.stack().device.take_failed_reads();
                return Err(Failure::Unreadable);
            }
            (Status::WriteProtected, _) => return Err(Failure::ReadOnly),
            (Status::OutOfRange | Status::InvalidField, op) if self.outside.is_some() => {
                if op == RequestOp::Read {
                    self.contents.read_failed(id);
                }
                return Err(Failure::OutOfRange);
            }
            (status, op) => panic!("{op:?} of {span:?} ended with {status:?}"),
        }
        Ok(Vec::new())
    }

    fn answered(&mut self, under: &Under, result: Result<Vec<u8>, Failure>) {
        let latency = self.horizon.since(under.arrival);
        if under.token != INTERNAL {
            self.tally.answered(under.kind, under.span.len, latency, result.is_ok());
            self.give(under.token, result, latency);
        }
    }

    /// Gives a result to whom has asked.
    fn give(&mut self, token: u64, result: Result<Vec<u8>, Failure>, latency: units::Nanos) {
        let at = self.horizon;
        match &mut self.outside {
            Some(outside) => outside.ended(Tag(token as u8), result, at),
            None => self.done.push_back(Answer { token, result, at, latency }),
        }
    }

    /// The requests under way.
    pub(crate) fn under_way(&self) -> Vec<u32> {
        (0..).zip(&self.under).filter(|(_, under)| under.is_some()).map(|(id, _)| id).collect()
    }

    /// Every request under way ends without having been done.
    pub(crate) fn fail_all(&mut self, failure: Failure) {
        for id in 0..self.under.len() {
            if let Some(under) = self.under[id].take() {
                self.free.push(id as u32);
                self.answered(&under, Err(failure));
            }
        }
        self.waiting.clear();
    }

    /// Writes to a new device what the store has, then flushes, so that nothing of it is pending.
    fn refill(&mut self) {
        for (first, len) in self.contents.held() {
            for begin in (first..first + len).step_by(REFILL_UNITS as usize) {
                let span = Span { lpa: Lpa(begin), len: REFILL_UNITS.min(first + len - begin) };
                let stamp = self.take_stamp();
                self.contents.refill(span, stamp);
                self.internal(WRITE, RequestOp::Write { fua: false }, span, stamp);
                while self.outstanding() > REFILL_DEPTH {
                    self.step();
                }
            }
        }
        if self.last_stamp > 0 {
            self.internal(FLUSH, RequestOp::Flush, Span { lpa: Lpa(0), len: 0 }, 0);
        }
        while self.outstanding() > 0 {
            self.step();
        }
    }

    pub(crate) fn internal(&mut self, kind: usize, op: RequestOp, span: Span, stamp: u32) {
        // A record is of what comes from outside; who wants it has taken it.
        self.recorder = None;
        let arrival = self.horizon;
        let under =
            Under { token: INTERNAL, kind, op, span, stamp, arrival, flush_follows: false, until: 0, command: None };
        let id = self.enter(under);
        self.begin(id);
        self.host_turn();
    }

    /// Runs of `len` units from `first` on that hold data or none: number of units, and whether they are a hole.
    pub fn extents(&self, first: u32, len: u32, most: usize) -> Vec<(u32, bool)> {
        let mut extents: Vec<(u32, bool)> = Vec::new();
        for unit in first..first + len {
            let hole = self.contents.is_hole(unit);
            let found = extents.len();
            match extents.last_mut() {
                Some((run, same)) if *same == hole => *run += 1,
                _ if found == most => break,
                _ => extents.push((1, hole)),
            }
        }
        extents
    }

    /// An ordinary end: everything that was written comes to flash, and the store to disk.
    ///
    /// # Errors
    /// If the store cannot keep it.
    pub fn close(mut self) -> std::io::Result<()> {
        while self.recovering.is_some() || self.saving.is_wanted() {
            self.step();
        }
        self.internal(FLUSH, RequestOp::Flush, Span { lpa: Lpa(0), len: 0 }, 0);
        while self.outstanding() > 0 {
            self.step();
        }
        let logged = self.log.take().map_or(Ok(()), ArrivalLog::finish);
        self.contents.close().and(logged)
    }
}

/// The token of requests of the engine itself.
const INTERNAL: u64 = u64::MAX;
/// Units of each write that fills a device, and how many of these are under way.
const REFILL_UNITS: u32 = 128;
const REFILL_DEPTH: usize = 8;
