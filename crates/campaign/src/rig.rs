//! A bench that couples a driver and a device directly, so that its user can reach into either while they run: falsify
//! the host's tables, slow the link down, check sums at any time, cut the power.
//!
//! The bench has its own oracle, which is simpler than that of `lab`: two requests to the same unit are never in flight
//! together, so every read has exactly one right answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use device::{Device, DeviceConfig, DeviceEvent, Moment, Sabotage};
use host::{Completion, Driver, HostConfig, Request, RequestOp};
use lab::profile::Profile;
use lab::{CacheOf, Parts};
use nand::Faults;
use ufs::{Command, Content, DataIn, Response, Status};
use units::{AppId, Lpa, Nanos, SimTime};

use crate::rng::Rng;
use crate::versions::Versions;

/// An event on the bench.
pub(crate) enum Event {
    Command(Command),
    Response(Response),
    Device(DeviceEvent),
    Driver,
}

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

/// A driver and a device with a clock.
pub struct Rig {
    /// The driver, open to tests.
    pub driver: Driver,
    config: HostConfig,
    /// `None` only while the power is off.
    powered: Option<Device>,
    faults: Faults,
    /// Reads under way that may fail: a fault was injected into a page that they are about.
    excused: BTreeSet<u32>,
    /// Stamps that refused requests would have written, by unit.
    half_written: BTreeMap<u32, Vec<u32>>,
    /// The versions that each unit may hold after a power cut.
    versions: Versions,
    /// Number of acknowledgements before each flush under way, by request.
    flushes: BTreeMap<u32, u64>,
    /// True while everything is read after a power cut; see [`Rig::power_cut`].
    surveying: bool,
    /// Allowed results of reads from now on.
    pub expect: Expect,
    /// Counts of the results so far.
    pub outcomes: Outcomes,
    delay: Nanos,
    pub(crate) now: SimTime,
    queue: BinaryHeap<Reverse<(SimTime, u64)>>,
    events: BTreeMap<u64, Event>,
    order: u64,
    pub(crate) requests: BTreeMap<u32, Request>,
    pub(crate) next_id: u32,
    pub(crate) stamp: u32,
    pub(crate) acked: Vec<u32>,
    driver_wake: Option<SimTime>,
    quiet: u32,
}

impl Rig {
    /// A system from a profile. The link takes `delay` each way.
    pub fn new(profile: &Profile, parts: Parts, delay: Nanos) -> Rig {
        Rig::defective(profile, parts, delay, Defects::default())
    }

    /// A system from a profile, whose device has defects.
    pub fn defective(profile: &Profile, parts: Parts, delay: Nanos, defects: Defects) -> Rig {
        let Defects { faults, sabotage } = defects;
        let config = DeviceConfig { faults, sabotage, ..profile.device_config([3, 5]) };
        let device = Device::new(config, parts.mapping);
        let info = device.info();
        let config = profile.host_config(parts);
        Rig {
            driver: Driver::new(config, info),
            config,
            powered: Some(device),
            faults,
            excused: BTreeSet::new(),
            half_written: BTreeMap::new(),
            versions: Versions::default(),
            flushes: BTreeMap::new(),
            surveying: false,
            expect: Expect::Right,
            outcomes: Outcomes::default(),
            delay,
            now: SimTime::START,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            order: 0,
            requests: BTreeMap::new(),
            next_id: 0,
            stamp: 0,
            acked: vec![0; info.capacity_units as usize],
            driver_wake: None,
            quiet: 0,
        }
    }

    /// The device, open to tests.
    pub fn device(&mut self) -> &mut Device {
        self.powered.as_mut().expect("the power is on between calls")
    }

    /// Cuts the power now and switches it on. Up to `again` times it is cut again while the device recovers. Requests
    /// under way are lost. Then reads everything: each unit must hold a version that it may hold, and keep it. Gives
    /// what the device was doing at each cut.
    pub fn power_cut(&mut self, rng: &mut Rng, again: u32) -> Vec<Moment> {
        let moments = self.cut_and_recover(rng, again);
        self.attach();
        self.surveying = true;
        self.read_all();
        self.surveying = false;
        self.versions.settle(&self.acked);
        moments
    }

    /// Attaches a new driver to a device that has recovered.
    pub fn attach(&mut self) {
        let device = self.powered.as_ref().expect("the power is on between calls");
        self.driver = Driver::after_power_cut(self.config, device.info(), device.applied());
        self.driver_wake = None;
    }

    /// The simulated time.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Cuts the power like [`Rig::power_cut`], up to the moment when the device is ready. No driver is attached to it
    /// yet.
    pub fn cut_and_recover(&mut self, rng: &mut Rng, again: u32) -> Vec<Moment> {
        let mut moments = vec![self.device().moment()];
        self.cut_and_boot(rng);
        for _ in 0..again {
            for _ in 0..rng.below(400) {
                if !self.device().is_ready() {
                    self.step();
                }
            }
            if !self.device().is_ready() {
                moments.push(self.device().moment());
                self.cut_and_boot(rng);
            }
        }
        while !self.device().is_ready() {
            self.step();
        }
        moments
    }

    fn cut_and_boot(&mut self, rng: &mut Rng) {
        let device = self.powered.take().expect("the power is on between calls");
        let unpowered = device.power_cut(self.now, &mut |n| rng.below(n));
        self.queue.clear();
        self.events.clear();
        self.requests.clear();
        self.excused.clear();
        self.flushes.clear();
        self.powered = Some(Device::power_on(unpowered, self.now));
        self.drain_device();
    }

    /// Handles `n` events, or fewer if there are none left.
    pub fn run(&mut self, n: u32) {
        for _ in 0..n {
            if !self.queue.is_empty() {
                self.step();
            }
        }
    }

    /// Schedules an event.
    pub(crate) fn at(&mut self, at: SimTime, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order)));
        self.events.insert(self.order, event);
    }

    fn overlaps(&self, lpa: Lpa, len: u32) -> bool {
        self.requests.values().any(|r| r.lpa.0 < lpa.0 + len && lpa.0 < r.lpa.0 + r.len)
    }

    /// Submits a request, when fewer than `depth` are outstanding and none of them overlaps it.
    pub fn submit(&mut self, op: RequestOp, lpa: Lpa, len: u32, depth: usize) {
        while self.requests.len() >= depth || self.overlaps(lpa, len) {
            self.step();
        }
        self.next_id += 1;
        self.stamp += 1;
        let request = Request { id: self.next_id, op, lpa, len, stamp: self.stamp, app: AppId::SYSTEM };
        self.requests.insert(request.id, request);
        match op {
            RequestOp::Write { .. } => self.versions.submitted(&request, request.stamp),
            RequestOp::Unmap => self.versions.submitted(&request, 0),
            RequestOp::Flush => {
                self.flushes.insert(request.id, self.versions.acknowledged());
            }
            RequestOp::Read => {}
        }
        self.driver.submit(self.now, request);
        self.host_turn();
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
        while !self.requests.is_empty() {
            self.step();
        }
        let limit = self.now + Nanos::from_millis(200);
        while self.queue.peek().is_some_and(|Reverse((at, _))| *at <= limit) {
            self.step();
        }
        self.device().check();
    }

    /// Waits for all requests.
    pub fn wait(&mut self) {
        while !self.requests.is_empty() {
            self.step();
        }
    }

    /// Reads everything, with flash faults switched off.
    pub fn read_all(&mut self) {
        self.device().set_faults(Faults::default());
        for lpa in (0..self.acked.len() as u32).step_by(16) {
            self.submit(RequestOp::Read, Lpa(lpa), 16, 4);
        }
        self.settle();
        let faults = self.faults;
        self.device().set_faults(faults);
    }

    /// Handles the next event.
    pub(crate) fn step(&mut self) {
        let Reverse((at, order)) = self.queue.pop().expect("requests outstanding, but nothing will ever happen");
        self.now = at;
        self.quiet += 1;
        if self.quiet >= 200_000 {
            panic!("nothing completes: {:?}, {:?}", self.device().stats(), self.driver.stats());
        }
        match self.events.remove(&order).expect("an event happens once") {
            Event::Command(command) => {
                self.device().command(at, command);
                self.drain_device();
            }
            Event::Device(event) => {
                self.device().wake(at, event);
                self.drain_device();
            }
            Event::Response(response) => {
                self.driver.on_response(at, response);
                self.host_turn();
            }
            Event::Driver => {
                self.driver_wake = None;
                self.host_turn();
            }
        }
    }

    fn drain_device(&mut self) {
        self.note_failed_reads();
        let effects = self.device().effects();
        let (wakes, responses) = (std::mem::take(&mut effects.wakes), std::mem::take(&mut effects.responses));
        for (at, event) in wakes {
            self.at(at, Event::Device(event));
        }
        for (at, response) in responses {
            self.at(at + self.delay, Event::Response(response));
        }
    }

    /// Notes which reads under way may fail. Reads of other pages must succeed, and so must all while faults are
    /// switched off, as they are after a power cut.
    fn note_failed_reads(&mut self) {
        for lpa in self.device().take_failed_reads() {
            let about = self.requests.values().filter(|r| r.lpa <= lpa && lpa.0 - r.lpa.0 < r.len);
            self.excused.extend(about.map(|r| r.id));
        }
    }

    fn host_turn(&mut self) {
        let mut ended = VecDeque::new();
        while let Some(completion) = self.driver.pop_completion() {
            ended.push_back(completion);
        }
        for completion in ended {
            self.digest(completion);
        }
        let device = self.powered.as_ref().expect("the power is on between calls");
        let mut commands = VecDeque::new();
        while let Some(command) = self.driver.next_command_seeing(self.now, &CacheOf(device)) {
            commands.push_back(command);
        }
        for command in commands {
            let at = self.now + self.delay;
            self.at(at, Event::Command(command));
        }
        if let Some(at) = self.driver.next_wake()
            && at > self.now
            && self.driver_wake.is_none_or(|wake| at < wake)
        {
            self.driver_wake = Some(at);
            self.at(at, Event::Driver);
        }
    }

    fn digest(&mut self, completion: Completion) {
        self.quiet = 0;
        let request = self.requests.remove(&completion.id).expect("a request completes once");
        let excused = self.excused.remove(&completion.id);
        let units = request.lpa.index()..request.lpa.index() + request.len as usize;
        if completion.status == Status::WriteProtected {
            assert!(self.device().is_read_only(), "{request:?}: refused by a device that is not worn out");
            self.outcomes.refused += 1;
            // Some commands of a request may have been accepted before another was refused.
            let stamp = if request.op == RequestOp::Unmap { 0 } else { request.stamp };
            for lpa in request.lpa.0..request.lpa.0 + request.len {
                self.half_written.entry(lpa).or_default().push(stamp);
            }
            return;
        }
        match request.op {
            RequestOp::Read => self.check_read(&request, &completion, excused),
            RequestOp::Write { fua } => {
                self.acked[units].fill(request.stamp);
                self.versions.acked(&request, fua);
            }
            RequestOp::Unmap => {
                self.acked[units].fill(0);
                self.versions.acked(&request, false);
            }
            RequestOp::Flush => {
                let until = self.flushes.remove(&request.id).expect("noted when it was submitted");
                self.versions.flushed(until);
            }
        }
        let failed = completion.status != Status::Good;
        assert!(!failed || request.op == RequestOp::Read, "{request:?}: {:?}", completion.status);
    }

    /// `excused` is true if a fault was injected into a page that the read is about.
    fn check_read(&mut self, request: &Request, completion: &Completion, excused: bool) {
        if completion.status != Status::Good {
            let fault = excused && completion.status == Status::UnrecoveredRead;
            assert!(fault || self.expect != Expect::Right, "{request:?}: {:?}", completion.status);
            self.outcomes.errors += 1;
            return;
        }
        let check = |rig: &mut Rig, i: u32, content: Option<Content>| rig.check_unit(request.lpa.offset(i), content);
        match &completion.data {
            DataIn::One(content) => check(self, 0, *content),
            DataIn::Many(contents) => {
                assert_eq!(contents.len(), request.len as usize, "{request:?}");
                contents.iter().enumerate().for_each(|(i, content)| check(self, i as u32, *content));
            }
            other => panic!("{request:?} gave {other:?}"),
        }
    }

    fn check_unit(&mut self, lpa: Lpa, content: Option<Content>) {
        assert!(content.is_none_or(|c| c.lpa == lpa), "read of {lpa} gave data of another address: {content:?}");
        let stamp = content.map_or(0, |c| c.stamp);
        if self.surveying {
            let allowed = self.versions.allowed(lpa, self.acked[lpa.index()]);
            assert!(allowed.contains(&stamp), "after the power cut {lpa} holds write {stamp}, not one of {allowed:?}");
            self.acked[lpa.index()] = stamp;
        }
        if self.half_written.get(&lpa.0).is_some_and(|stamps| stamps.contains(&stamp)) {
            self.acked[lpa.index()] = stamp;
        }
        let right = stamp == self.acked[lpa.index()];
        assert!(
            right || self.expect == Expect::OwnOrError,
            "read of {lpa} gave {content:?} instead of write {}",
            self.acked[lpa.index()]
        );
        self.outcomes.right += u64::from(right);
        self.outcomes.stale += u64::from(!right);
    }
}
