//! A driver and a device without a clock: whatever is pending may happen next.
//!
//! # Time
//! Every duration is zero, so the time stands still, and all that is pending is due at any moment. The order in which
//! an explorer lets things happen stands for all durations: an operation of flash that has not ended is a long one. So
//! the orders that are explored are those that any timing of flash, firmware, link and host could lead to, and more.
//! Only the driver's poll has a time of its own, because it waits for silence ([`Step::Poll`]).
//!
//! # Link
//! A command reaches the device as it is sent. That leaves no order out: neither host nor device can tell a command
//! that is still on its way from a request that was submitted later, and lanes keep the order of what they carry.
//! Responses wait on their lane until [`Step::Response`].

use std::collections::VecDeque;

use ftl::{Device, DeviceConfig, DeviceEvent, Unpowered};
use host::{Blind, Completion, Driver, HostConfig, Request, RequestOp};
use nand::NandEvent;
use ufs::{DataIn, Response};
use units::{Lpa, SimTime};

use crate::dice::Dice;
use crate::oracle::Oracle;

const NOW: SimTime = SimTime::START;

/// Most steps until everything is at rest; more mean that it never will be.
const PATIENCE: u32 = 100_000;

/// Something that may happen next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A request is submitted.
    Submit(RequestOp, Lpa),
    /// An event that the device waits for: an operation of flash ends, or a timer.
    Device(DeviceEvent),
    /// The oldest response reaches the host.
    Response,
    /// The host has heard nothing for so long that it asks.
    Poll,
    /// The power is cut. The dice decide what is left of programs under way.
    Cut(Dice),
    /// The power comes back.
    PowerOn,
    /// The device is ready after a power cut: a host attaches to it, and everything is read.
    Survey,
}

/// What the power is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Power {
    /// On, and a host uses the device.
    On,
    /// Cut: only flash is left.
    Off,
    /// Back after a cut; the device recovers.
    Recovering,
    /// The device has recovered, and nobody has looked at it yet.
    Recovered,
}

/// A system under exploration. A copy of it is independent of the original.
#[derive(Clone)]
pub struct System {
    /// `None` while the power is off.
    device: Option<Device>,
    /// The device while the power is off.
    unpowered: Option<Unpowered>,
    driver: Option<Driver>,
    host: HostConfig,
    /// Events that the device waits for, in a fixed order.
    wakes: Vec<DeviceEvent>,
    responses: VecDeque<Response>,
    oracle: Oracle,
    power: Power,
}

/// Everything that decides what can happen: firmware, flash, driver, what is on its way, and the oracle's expectations.
impl std::hash::Hash for System {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let System { device, unpowered, driver, host: _, wakes, responses, oracle, power } = self;
        (device, unpowered, driver, wakes.len()).hash(state);
        wakes.iter().for_each(|&wake| order_of(wake).hash(state));
        (responses, oracle, power).hash(state);
    }
}

/// A number for each event; smaller ones stand first in [`System::wakes`].
fn order_of(event: DeviceEvent) -> (u8, u16) {
    match event {
        DeviceEvent::Nand(NandEvent::Die(die)) => (0, die),
        DeviceEvent::Nand(NandEvent::Channel(channel)) => (1, channel),
        DeviceEvent::Firmware => (2, 0),
        DeviceEvent::IdleFlush => (3, 0),
        DeviceEvent::Quiet => (4, 0),
        DeviceEvent::IdleGc => (5, 0),
    }
}

impl System {
    /// A new device, and a host attached to it.
    pub fn new(device: DeviceConfig, mapping: ftl::MappingKind, host: HostConfig) -> System {
        let capacity = device.capacity_units;
        let device = Device::new(device, mapping);
        System {
            driver: Some(Driver::new(host, device.info())),
            device: Some(device),
            unpowered: None,
            host,
            wakes: Vec::new(),
            responses: VecDeque::new(),
            oracle: Oracle::new(capacity),
            power: Power::On,
        }
    }

    /// What the power is at.
    pub fn power(&self) -> Power {
        self.power
    }

    /// Requests under way, and contents.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The device. The power must not be off.
    pub fn device(&self) -> &Device {
        self.device.as_ref().expect("the power is on")
    }

    fn device_mut(&mut self) -> &mut Device {
        self.device.as_mut().expect("the power is on")
    }

    fn driver(&mut self) -> &mut Driver {
        self.driver.as_mut().expect("a host is attached while the power is on")
    }

    /// All that can happen next by itself: without a new request, and without a power cut.
    pub fn pending(&self) -> Vec<Step> {
        match self.power {
            Power::Off => return vec![Step::PowerOn],
            Power::Recovered => return vec![Step::Survey],
            Power::On | Power::Recovering => {}
        }
        let mut steps: Vec<Step> = self.wakes.iter().map(|&event| Step::Device(event)).collect();
        if self.power == Power::Recovering && self.device().only_reads() {
            // Recovery goes on when all reads of a part have ended, and nobody sees their order. A power cut between
            // them leaves the same flash.
            steps.truncate(1);
        }
        if !self.responses.is_empty() {
            steps.push(Step::Response);
        }
        // A host polls only after silence.
        if self.responses.is_empty() && self.driver.as_ref().is_some_and(|driver| driver.next_wake().is_some()) {
            steps.push(Step::Poll);
        }
        steps
    }

    /// Lets something happen. Of [`Step::Cut`], the dice are thrown on the way.
    ///
    /// # Errors
    /// A promise that was broken.
    pub fn take(&mut self, step: &mut Step) -> Result<(), String> {
        match step {
            Step::Submit(op, lpa) => {
                let len = if *op == RequestOp::Flush { 0 } else { 1 };
                let request = self.oracle.submit(*op, *lpa, len);
                self.driver().submit(NOW, request);
            }
            Step::Device(event) => {
                let at = self.wakes.iter().position(|wake| wake == event).expect("a pending event");
                self.wakes.remove(at);
                self.device_mut().wake(NOW, *event);
            }
            Step::Response => {
                let response = self.responses.pop_front().expect("a response is on its way");
                self.driver().on_response(NOW, response);
            }
            Step::Poll => {
                let due = self.driver().next_wake().expect("a poll is to come");
                return self.host_turn(due);
            }
            Step::Cut(dice) => {
                self.cut(dice);
                return Ok(());
            }
            Step::PowerOn => {
                let unpowered = self.unpowered.take().expect("the power is off");
                self.device = Some(Device::power_on(unpowered, NOW));
                self.power = Power::Recovering;
            }
            Step::Survey => return self.survey(),
        }
        self.collect_effects();
        match self.power {
            Power::On => self.host_turn(NOW),
            _ => {
                if self.device().is_ready() {
                    self.power = Power::Recovered;
                }
                Ok(())
            }
        }
    }

    fn cut(&mut self, dice: &mut Dice) {
        let device = self.device.take().expect("the power is on");
        self.unpowered = Some(device.power_cut(NOW, &mut |n| dice.throw(n)));
        self.wakes.clear();
        self.responses.clear();
        self.driver = None;
        self.oracle.power_lost();
        self.power = Power::Off;
    }

    /// Attaches a host, and looks at everything. Looking is done on a copy, so it leaves no trace.
    fn survey(&mut self) -> Result<(), String> {
        let device = self.device();
        self.driver = Some(Driver::after_power_cut(self.host, device.info(), device.applied()));
        self.power = Power::On;
        self.host_turn(NOW)?;
        let data = self.clone().read_all()?;
        self.oracle.surveyed(&data)
    }

    /// Checks that everything can be read as it was acknowledged. No request may be under way.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_contents(&self) -> Result<(), String> {
        let mut copy = self.clone();
        let data = copy.read_all()?;
        copy.oracle.check_all(&data)
    }

    /// Reads everything, and waits for the answer.
    fn read_all(&mut self) -> Result<DataIn, String> {
        let len = self.device().info().capacity_units;
        let request =
            Request { id: u32::MAX, op: RequestOp::Read, lpa: Lpa(0), len, stamp: 0, app: Default::default() };
        self.driver().submit(NOW, request);
        let mut answers = self.exchange(NOW);
        for _ in 0..PATIENCE {
            if let Some(at) = answers.iter().position(|answer| answer.id == u32::MAX) {
                let answer = answers.swap_remove(at);
                return match answer.status {
                    ufs::Status::Good => Ok(answer.data),
                    status => Err(format!("the read of everything ends with {status:?}")),
                };
            }
            match self.pending().into_iter().next() {
                Some(Step::Device(event)) => {
                    self.wakes.remove(0);
                    self.device_mut().wake(NOW, event);
                    self.collect_effects();
                }
                Some(Step::Response) => {
                    let response = self.responses.pop_front().expect("a response is on its way");
                    self.driver().on_response(NOW, response);
                    answers.extend(self.exchange(NOW));
                }
                Some(Step::Poll) => {
                    let due = self.driver().next_wake().expect("a poll is to come");
                    answers.extend(self.exchange(due));
                }
                _ => return Err("the read of everything never ends".into()),
            }
        }
        Err(format!("the read of everything takes more than {PATIENCE} steps"))
    }

    /// Lets everything happen that is pending, in a fixed order, until nothing is.
    ///
    /// # Errors
    /// A promise that was broken.
    pub fn settle(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            if !self.take_next()? {
                return Ok(());
            }
        }
        Err(format!("nothing comes to rest in {PATIENCE} steps"))
    }

    /// Lets the first thing happen that is pending. False if there is none.
    ///
    /// # Errors
    /// A promise that was broken.
    pub fn take_next(&mut self) -> Result<bool, String> {
        // A poll changes nothing unless a request waits for it.
        let next = self.pending().into_iter().find(|s| *s != Step::Poll || !self.oracle.under_way().is_empty());
        next.map_or(Ok(false), |mut step| self.take(&mut step).map(|()| true))
    }

    /// Moves what the device wants done to the lists of what is pending.
    fn collect_effects(&mut self) {
        let effects = self.device.as_mut().expect("the power is on").effects();
        for (at, wake) in effects.wakes.drain(..) {
            assert!(at == NOW, "{wake:?} is due at {at}, although every duration is zero");
            self.wakes.push(wake);
        }
        self.responses.extend(effects.responses.drain(..).map(|(_, response)| response));
        self.wakes.sort_unstable_by_key(|&wake| order_of(wake));
    }

    /// Hands the driver's commands to the device, and its completions to the oracle.
    fn host_turn(&mut self, now: SimTime) -> Result<(), String> {
        let completions = self.exchange(now);
        completions.into_iter().try_for_each(|completion| self.oracle.complete(completion))
    }

    /// Hands the driver's commands to the device. Gives the completions.
    fn exchange(&mut self, now: SimTime) -> Vec<Completion> {
        let mut completions = Vec::new();
        while let Some(completion) = self.driver().pop_completion() {
            completions.push(completion);
        }
        while let Some(command) = self.driver().next_command_seeing(now, &Blind) {
            self.device_mut().command(NOW, command);
        }
        self.collect_effects();
        completions
    }
}
