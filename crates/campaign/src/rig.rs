//! A bench with a driver and a device, so that its user can reach into either while they run: falsify the host's
//! tables, slow the link down, check sums at any time, cut the power. What couples the two is the [`Stack`] of `lab`.
//!
//! The bench has its own oracle, the [`Ledger`]: unlike that of `lab` it knows what a power cut may leave.

use std::collections::BTreeMap;

use ftl::{Device, DeviceConfig, GcCopy, Moment, Sabotage};
use host::{AppSignal, Completion, Driver, HostConfig, Request, RequestOp};
use lab::profile::Profile;
use lab::{OnLink, Parts, Stack, Turn};
use ledger::{Expected, Ledger, Span, Version};
use nand::Faults;
use ufs::{Content, DataIn, Link, LinkConfig, Status};
use units::{AppId, Lpa, Nanos, SimTime};

use crate::report::Doing;
use crate::rng::Rng;

/// More events than any legitimate pause has.
const STUCK_AFTER: u64 = 200_000;
/// A device that has nothing to do goes quiet sooner than this.
const SETTLE_LIMIT: Nanos = Nanos::from_millis(200);
/// Units of each read of everything, and how many of these reads are outstanding.
const READ_UNITS: u32 = 32;
const READ_DEPTH: usize = 8;

/// Allowed results of a read when the host's tables have been falsified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// The right data.
    Right,
    /// The right data, or an error.
    RightOrError,
    /// Data of the right address, or an error.
    OwnOrError,
}

/// Counts of results.
#[derive(Clone, Copy, Default, Debug)]
pub struct Outcomes {
    /// Reads with right data.
    pub right: u64,
    /// Reads that ended with an error.
    pub errors: u64,
    /// Reads of an older version of the right address.
    pub stale: u64,
    /// Writes and trims that a worn out device has refused.
    pub refused: u64,
}

/// Defects of a device.
#[derive(Clone, Copy, Default, Debug)]
pub struct Defects {
    /// Flash operations that fail.
    pub faults: Faults,
    /// A promise that the firmware breaks.
    pub sabotage: Option<Sabotage>,
}

/// A request under way.
#[derive(Debug)]
struct Outstanding {
    request: Request,
    /// What a read may give.
    expected: Option<Expected>,
    /// Acknowledgements before a flush.
    until: u64,
    /// It may fail: a fault was injected into a page that it is about.
    excused: bool,
}

/// A driver and a device with a clock.
pub struct Rig {
    config: HostConfig,
    /// `None` only while the power is off.
    stack: Option<Stack>,
    faults: Faults,
    ledger: Ledger,
    /// Allowed results of reads from now on.
    pub expect: Expect,
    /// Counts of the results so far.
    pub outcomes: Outcomes,
    outstanding: BTreeMap<u32, Outstanding>,
    /// Number of the last request; that of a write or trim is its stamp.
    last: u32,
    /// Flushes and FUA writes that have completed.
    durable: u64,
    last_completion: u64,
}

impl Rig {
    /// A system from a profile. The link takes `delay` each way, however long the message.
    pub fn new(profile: &Profile, parts: Parts, delay: Nanos) -> Rig {
        Rig::defective(profile, parts, delay, Defects::default())
    }

    /// A system from a profile, whose device has defects.
    pub fn defective(profile: &Profile, parts: Parts, delay: Nanos, defects: Defects) -> Rig {
        let link = LinkConfig { down_bytes_per_us: 0, up_bytes_per_us: 0, upiu_latency: delay };
        Rig::linked(profile, parts, link, defects)
    }

    /// The same with a link of its own.
    pub fn linked(profile: &Profile, parts: Parts, link: LinkConfig, defects: Defects) -> Rig {
        let Defects { faults, sabotage } = defects;
        let profile = &profile.for_parts(parts);
        let config = DeviceConfig { faults, sabotage, ..profile.device_of(parts, [3, 5]) };
        let device = Device::new(config, parts.mapping);
        let info = device.info();
        let config = profile.host_config(parts);
        Rig {
            config,
            stack: Some(Stack::new(Driver::new(config, info), Link::new(link), device)),
            faults,
            ledger: Ledger::new(info.capacity_units),
            expect: Expect::Right,
            outcomes: Outcomes::default(),
            outstanding: BTreeMap::new(),
            last: 0,
            durable: 0,
            last_completion: 0,
        }
    }

    pub(crate) fn stack(&mut self) -> &mut Stack {
        self.stack.as_mut().expect("the power is on between calls")
    }

    fn stack_ref(&self) -> &Stack {
        self.stack.as_ref().expect("the power is on between calls")
    }

    /// The device, open to tests.
    pub fn device(&mut self) -> &mut Device {
        &mut self.stack().device
    }

    /// The driver, open to tests.
    pub fn driver(&mut self) -> &mut Driver {
        &mut self.stack().driver
    }

    /// The simulated time.
    pub fn now(&self) -> SimTime {
        self.stack_ref().now()
    }

    /// Units of the device.
    pub fn units(&self) -> u32 {
        self.ledger.units()
    }

    /// What the device is doing now.
    pub fn moment(&self) -> Moment {
        self.stack_ref().device.moment()
    }

    /// What the device is doing now, and whether GC programs a copy of which a newer version is durable.
    pub(crate) fn doing(&self) -> Doing {
        let device = &self.stack_ref().device;
        let is_old = |copy: &GcCopy| copy.programming && self.ledger.is_past(copy.lpa, copy.stamp);
        Doing { device: device.moment(), overtaken: device.copies().iter().any(is_old) }
    }

    /// What a power cut now would find on the link.
    pub fn on_link(&self) -> OnLink {
        self.stack_ref().on_link()
    }

    /// True while the driver finds out what the device holds, and requests wait.
    pub fn is_surveying(&self) -> bool {
        self.stack_ref().driver.is_surveying()
    }

    /// Number of requests under way.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Number of flushes and FUA writes that have completed.
    pub fn made_durable(&self) -> u64 {
        self.durable
    }

    /// True if the request of this number is under way.
    pub fn is_outstanding(&self, number: u32) -> bool {
        self.outstanding.contains_key(&number)
    }

    /// True if two requests under way have a unit in common and one of them changes it.
    pub fn has_overlap(&self) -> bool {
        let changes = |request: &Request| matches!(request.op, RequestOp::Write { .. } | RequestOp::Unmap);
        let requests = || self.outstanding.values().map(|outstanding| &outstanding.request);
        let meets = |a: &Request| requests().any(|b| a.id != b.id && Span::of(a).meets(Span::of(b)));
        requests().any(|request| changes(request) && meets(request))
    }

    /// Cuts the power now and switches it on. Up to `again` times it is cut again while the device recovers. Requests
    /// under way are lost. Then reads everything: each unit must hold a version that it may hold, and keep it. Gives
    /// what the device was doing at each cut.
    pub fn power_cut(&mut self, rng: &mut Rng, again: u32) -> Vec<Moment> {
        let moments = self.cut_and_recover(rng, again);
        self.attach();
        self.read_all();
        moments
    }

    /// Attaches a new driver to a device that has recovered.
    pub fn attach(&mut self) {
        let config = self.config;
        let stack = self.stack();
        stack.driver = Driver::after_power_cut(config, stack.device.info(), stack.device.applied());
        self.last_completion = self.stack().events();
        self.stack().send_commands();
    }

    /// Cuts the power like [`Rig::power_cut`], up to the moment when the device is ready. No driver is attached to it
    /// yet.
    pub fn cut_and_recover(&mut self, rng: &mut Rng, again: u32) -> Vec<Moment> {
        let mut moments = vec![self.moment()];
        self.cut_and_boot(rng);
        for _ in 0..again {
            self.recover_for(rng.below(400));
            if !self.device().is_ready() {
                moments.push(self.moment());
                self.cut_and_boot(rng);
            }
        }
        self.recover_for(u32::MAX);
        moments
    }

    /// Lets so many events of a recovery happen, or all of them if there are fewer.
    pub fn recover_for(&mut self, events: u32) {
        for _ in 0..events {
            if self.device().is_ready() {
                return;
            }
            self.step();
        }
    }

    /// Cuts the power now and switches it on. The device begins to recover.
    pub fn cut_and_boot(&mut self, rng: &mut Rng) {
        self.outstanding.clear();
        self.ledger.power_cut();
        let stack = self.stack.take().expect("the power is on between calls");
        self.stack = Some(stack.reboot(&mut |n| rng.below(n)));
        self.last_completion = self.stack().events();
    }

    /// Handles `n` events, or fewer if there are none left.
    pub fn run(&mut self, n: u32) {
        for _ in 0..n {
            if self.has_events() {
                self.step();
            }
        }
    }

    /// True if anything is left to happen.
    pub fn has_events(&self) -> bool {
        self.stack_ref().next_time().is_some()
    }

    fn overlaps(&self, lpa: Lpa, len: u32) -> bool {
        let new = Span { lpa, len };
        self.outstanding.values().any(|outstanding| Span::of(&outstanding.request).meets(new))
    }

    /// Submits a request, when fewer than `depth` are outstanding and none of them overlaps it.
    pub fn submit(&mut self, op: RequestOp, lpa: Lpa, len: u32, depth: usize) {
        while self.outstanding.len() >= depth || self.overlaps(lpa, len) {
            self.step();
        }
        self.submit_now(op, lpa, len, AppId::SYSTEM);
    }

    /// Submits a request of an app, whatever is outstanding. Gives its number.
    pub fn submit_now(&mut self, op: RequestOp, lpa: Lpa, len: u32, app: AppId) -> u32 {
        self.last += 1;
        let number = self.last;
        let request = Request { id: number, op, lpa, len, stamp: number, app };
        if let Some(version) = Version::made_by(&request) {
            self.ledger.submitted(Span::of(&request), version);
            for expected in self.outstanding.values_mut().filter_map(|o| o.expected.as_mut()) {
                expected.submitted(Span::of(&request), version);
            }
        }
        let expected = (op == RequestOp::Read).then(|| self.ledger.expected(Span::of(&request)));
        let until = self.ledger.acknowledgements();
        self.outstanding.insert(number, Outstanding { request, expected, until, excused: false });
        let stack = self.stack();
        stack.driver.submit(stack.now(), request);
        self.host_turn();
        number
    }

    /// Tells the driver that the state of an app has changed.
    pub fn signal(&mut self, signal: AppSignal) {
        let stack = self.stack();
        stack.driver.signal(stack.now(), signal);
        self.host_turn();
    }

    /// The low-memory killer asks for memory; see [`Driver::reclaim`].
    pub fn reclaim(&mut self, victim: AppId, bytes: u64) -> u64 {
        let stack = self.stack();
        let given = stack.driver.reclaim(stack.now(), victim, bytes);
        self.host_turn();
        given
    }

    /// Sets the driver's memory limit. False if that is less than it can work with; then nothing changes.
    pub fn shrink(&mut self, bytes: u64) -> bool {
        let stack = self.stack();
        let changed = stack.driver.set_memory_limit(stack.now(), bytes).is_ok();
        self.host_turn();
        changed
    }

    /// The same for this driver and all that follow it after power cuts.
    pub fn set_memory(&mut self, bytes: u64) -> bool {
        let changed = self.shrink(bytes);
        if changed {
            self.config.memory_limit_bytes = Some(bytes);
        }
        changed
    }

    /// Submits random reads, writes, trims and flushes in the first `span` units.
    pub fn churn(&mut self, rng: &mut Rng, count: u32, span: u32, depth: usize) {
        for _ in 0..count {
            let len = if rng.below(4) == 0 { 1 + rng.below(40) } else { 1 };
            let lpa = Lpa(rng.below(span - len));
            match rng.below(100) {
                0..60 => self.submit(RequestOp::Write { fua: rng.below(20) == 0 }, lpa, len, depth),
                60..92 => self.submit(RequestOp::Read, lpa, len, depth),
                92..96 => self.submit(RequestOp::Unmap, lpa, len, depth),
                _ => self.submit(RequestOp::Flush, Lpa(0), 0, depth),
            }
        }
    }

    /// Waits for all requests, then until the device is idle, and checks its sums.
    pub fn settle(&mut self) {
        self.wait();
        let limit = self.now() + SETTLE_LIMIT;
        while self.stack_ref().next_time().is_some_and(|at| at <= limit) {
            self.step();
        }
        self.device().check();
    }

    /// Waits until nothing is left to happen, however long that takes.
    pub fn rest(&mut self) {
        while self.has_events() {
            self.step();
        }
    }

    /// Waits for all requests.
    pub fn wait(&mut self) {
        while !self.outstanding.is_empty() {
            self.step();
        }
    }

    /// Reads everything, with flash faults switched off.
    pub fn read_all(&mut self) {
        self.read_ranges(&[(0, self.units())]);
    }

    /// Reads these units (first, number), with flash faults switched off. None of these reads may fail.
    pub fn read_ranges(&mut self, ranges: &[(u32, u32)]) {
        self.device().set_faults(Faults::default());
        for &(first, units) in ranges {
            for lpa in (first..first + units).step_by(READ_UNITS as usize) {
                let len = READ_UNITS.min(first + units - lpa);
                self.submit(RequestOp::Read, Lpa(lpa), len, READ_DEPTH);
            }
        }
        self.settle();
        let faults = self.faults;
        self.device().set_faults(faults);
    }

    /// The stamp of what a unit holds, 0 = zeroes. Valid when it has been read and nothing is under way.
    pub fn held(&self, lpa: Lpa) -> u32 {
        self.ledger.held(lpa)
    }

    /// Asks to be told nothing, but to have an event at this time: for users with a clock.
    pub fn wake_at(&mut self, at: SimTime) {
        self.stack().wake_caller(at);
    }

    /// Handles the next event.
    ///
    /// # Panics
    /// If nothing is left to happen, or nothing completes any more, or a promise is broken.
    pub fn step(&mut self) {
        let stack = self.stack.as_mut().expect("the power is on between calls");
        let turn = stack.step().expect("requests outstanding, but nothing will ever happen");
        if stack.events() - self.last_completion >= STUCK_AFTER {
            panic!("nothing completes: {:?}, {:?}", stack.device.stats(), stack.driver.stats());
        }
        match turn {
            Turn::None => return self.note_failed_reads(),
            Turn::Caller => {}
            Turn::Response(tag) => stack.deliver(tag),
        }
        self.host_turn();
    }

    /// Notes which reads under way may fail. Reads of other pages must succeed, and so must all while faults are
    /// switched off, as they are after a power cut.
    fn note_failed_reads(&mut self) {
        for lpa in self.device().take_failed_reads() {
            let page = Span { lpa, len: 1 };
            let about = self.outstanding.values_mut().filter(|outstanding| Span::of(&outstanding.request).meets(page));
            about.for_each(|outstanding| outstanding.excused = true);
        }
    }

    fn host_turn(&mut self) {
        while let Some(completion) = self.stack().driver.pop_completion() {
            self.digest(&completion);
        }
        self.stack().send_commands();
    }

    fn digest(&mut self, completion: &Completion) {
        self.last_completion = self.stack().events();
        let ended = self.outstanding.remove(&completion.id).expect("a request completes once");
        let request = &ended.request;
        if completion.status == Status::WriteProtected {
            // It may write again by now.
            assert!(self.device().has_lost_superblocks(), "{request:?}: refused by a device that is not worn out");
            self.outcomes.refused += 1;
            return;
        }
        if request.op == RequestOp::Read {
            return self.check_read(&ended, completion);
        }
        assert!(completion.status == Status::Good, "{request:?}: {:?}", completion.status);
        let durable = matches!(request.op, RequestOp::Write { fua: true } | RequestOp::Flush);
        self.durable += u64::from(durable);
        match Version::made_by(request) {
            Some(version) => self.ledger.acked(Span::of(request), version, durable),
            None => self.ledger.flushed(ended.until),
        }
    }

    fn check_read(&mut self, ended: &Outstanding, completion: &Completion) {
        let (request, expected) = (&ended.request, ended.expected.as_ref().expect("a read knows what it may give"));
        if completion.status != Status::Good {
            let fault = ended.excused && completion.status == Status::UnrecoveredRead;
            assert!(fault || self.expect != Expect::Right, "{request:?}: {:?}", completion.status);
            self.outcomes.errors += 1;
            return;
        }
        match &completion.data {
            DataIn::One(content) if request.len == 1 => self.check_unit(expected, request.lpa, *content),
            DataIn::Many(contents) => {
                assert_eq!(contents.len(), request.len as usize, "{request:?}");
                for (i, content) in contents.iter().enumerate() {
                    self.check_unit(expected, request.lpa.offset(i as u32), *content);
                }
            }
            other => panic!("{request:?} gave {other:?}"),
        }
    }

    fn check_unit(&mut self, expected: &Expected, lpa: Lpa, content: Option<Content>) {
        assert!(content.is_none_or(|c| c.lpa == lpa), "read of {lpa} gave data of another address: {content:?}");
        let stamp = content.map_or(0, |c| c.stamp);
        let read = self.ledger.read(expected, lpa, stamp);
        self.outcomes.right += u64::from(read.is_ok());
        self.outcomes.stale += u64::from(read.is_err());
        if let Err(allowed) = read
            && self.expect != Expect::OwnOrError
        {
            panic!("read of {lpa} gave write {stamp}, not one of {allowed:?} (0 = zeroes)");
        }
    }
}
