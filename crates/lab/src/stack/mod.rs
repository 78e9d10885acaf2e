//! Driver, link and device with one clock. Every loop that couples them is this one: that of a run, that of a live
//! device, and the bench of the power-cut campaign.

pub(crate) mod assemble;
pub(crate) mod cache;
pub(crate) mod power;
pub(crate) mod queue;
pub mod system;
pub(crate) mod tags;

use ftl::{Device, DeviceEvent, Scope, Unpowered};
use host::Driver;
use ufs::{
    DeviceWork, Link, Power, PowerAccount, PowerConfig, PowerSpan, PowerState, Response, Tag, Waker, wire_bytes,
    wire_bytes_response,
};
use units::{Nanos, SimTime};

use self::cache::CacheOf;
use self::queue::EventQueue;
use self::tags::ByTag;

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The caller asked to be woken.
    Caller,
    /// The driver may have a command now.
    Driver,
    /// A command has crossed the link.
    CommandAtDevice(Tag),
    /// The device asked to be woken.
    Device(DeviceEvent),
    /// A response has crossed the link.
    ResponseAtHost(Tag),
}

/// What the caller has to do after an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// The caller's wake is due.
    Caller,
    /// A response has crossed the link. The caller has to [deliver](Stack::deliver) it.
    Response(Tag),
    /// Nothing: the event has been handled.
    None,
}

/// What a power cut would find on the link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OnLink {
    /// Commands that have not reached the device.
    pub commands: u32,
    /// Responses that have left the device and not reached the host.
    pub responses: u32,
    /// Messages of which a part is on the wire, and a part has not left yet.
    pub partial: u32,
}

/// Something that driver, link or device have done, for those who watch. In the order in which it was done, but for
/// stays in power states, which come last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Seen {
    /// The driver has sent a command.
    Sent {
        /// The command.
        tag: Tag,
        /// When it began to get the mapping into the host's cache; when it was sent if it need not.
        fetching: SimTime,
        /// When.
        sent: SimTime,
    },
    /// A command is at the device.
    Arrived {
        /// The command.
        tag: Tag,
        /// When.
        at: SimTime,
    },
    /// A message has been put on the wire. Those of a direction do not overlap.
    Message {
        /// It goes to the host.
        up: bool,
        /// Its command.
        op: &'static str,
        /// When its first byte leaves.
        began: SimTime,
        /// When its last byte leaves.
        ended: SimTime,
    },
    /// The device has done something.
    Device(ftl::Event),
    /// Link and device have been in a power state.
    Power(PowerSpan),
}

/// A driver and a device on a link.
pub struct Stack {
    /// The host's end.
    pub driver: Driver,
    /// The other end.
    pub device: Device,
    link: Link,
    /// What becomes of the link in idle time; `None` if it is always up.
    power: Option<Box<Power>>,
    /// When the last event of the device was handled.
    device_at: SimTime,
    queue: EventQueue<Event>,
    responses: ByTag<Response>,
    /// What has been done and nobody has taken out; `None` if nobody watches.
    seen: Option<Vec<Seen>>,
    /// How much is noted.
    scope: Scope,
    now: SimTime,
    events: u64,
    /// Earliest pending [`Event::Caller`] and [`Event::Driver`], so that the queue does not fill with copies.
    caller_wake: Option<SimTime>,
    driver_wake: Option<SimTime>,
}

impl Stack {
    /// A stack at time 0.
    pub fn new(driver: Driver, link: Link, device: Device) -> Stack {
        Stack {
            driver,
            device,
            link,
            power: None,
            device_at: SimTime::START,
            queue: EventQueue::default(),
            responses: ByTag::default(),
            seen: None,
            scope: Scope::Nothing,
            now: SimTime::START,
            events: 0,
            caller_wake: None,
            driver_wake: None,
        }
    }

    /// A stack at time 0 whose link and device have power states.
    #[must_use]
    pub fn with_power(self, config: PowerConfig) -> Stack {
        Stack { power: config.any().then(|| Box::new(Power::new(config, self.now))), ..self }
    }

    /// Notes from now on so much of what driver, link and device do: the ways of commands, or everything.
    pub fn watch(&mut self, scope: Scope) {
        self.device.watch(scope);
        self.power.iter_mut().for_each(|power| power.note_spans(scope == Scope::All));
        self.seen = (scope > Scope::Nothing).then(|| self.seen.take().unwrap_or_default());
        self.scope = scope;
    }

    /// Takes out what has been done since the last call.
    pub fn take_seen(&mut self, into: &mut Vec<Seen>) {
        let Some(seen) = &mut self.seen else { return };
        into.append(seen);
        into.extend(self.power.iter_mut().flat_map(|power| power.take_spans()).map(Seen::Power));
    }

    // The next three are out of the way of runs that nobody watches.

    /// Notes what the device has done.
    #[cold]
    #[inline(never)]
    fn see_device(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.extend(self.device.take_events().map(Seen::Device));
        }
    }

    /// Notes that the link carries a command of so many bytes, which arrives at `at`.
    #[cold]
    #[inline(never)]
    fn see_sent(&mut self, tag: Tag, at: SimTime, bytes: u64) {
        let Some(seen) = &mut self.seen else { return };
        let fetching = self.driver.waited_since().unwrap_or(self.now);
        seen.push(Seen::Sent { tag, fetching, sent: self.now });
        if self.scope == Scope::All {
            let (op, sent) = (self.driver.command(tag).op.name(), self.link.leaves_down(at, bytes));
            seen.push(Seen::Message { up: false, op, began: sent.start, ended: sent.end });
        }
    }

    /// Notes that a command has arrived.
    #[cold]
    #[inline(never)]
    fn see_arrived(&mut self, tag: Tag) {
        let at = self.now;
        self.seen.iter_mut().for_each(|seen| seen.push(Seen::Arrived { tag, at }));
    }

    /// True if link and device have power states.
    pub fn has_power_states(&self) -> bool {
        self.power.is_some()
    }

    /// The stays in power states that have not ended, as if the last of them ended at `at`, before the next event.
    pub fn open_power_spans(&self, at: SimTime) -> Vec<PowerSpan> {
        let work = device_work(&self.queue, self.device_at);
        self.power.iter().flat_map(|power| power.open_spans(at, work)).collect()
    }

    /// The time now.
    #[inline(always)]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Events so far.
    #[inline(always)]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Time of the next event; `None` if nothing is left to happen.
    #[inline(always)]
    pub fn next_time(&self) -> Option<SimTime> {
        self.queue.next_time()
    }

    /// No response comes to the host before this time, unless it sends a command; `None` if nothing is left to happen.
    pub fn responses_from(&self) -> Option<SimTime> {
        let [_, up] = self.link.least_times();
        let from = self.next_time()? + up;
        let mut before = self.queue.iter().rev().take_while(|&&(at, _)| at < from);
        let response = before.find(|(_, event)| matches!(event, Event::ResponseAtHost(_)));
        Some(response.map_or(from, |&(at, _)| at))
    }

    /// The least time from a command to its response.
    pub fn least_round_trip(&self) -> Nanos {
        let [down, up] = self.link.least_times();
        down + up
    }

    /// Handles the next event; `None` if there is none. After a turn of the caller, and after requests have been
    /// submitted, [`Stack::send_commands`] has to be called.
    #[inline(always)]
    pub fn step(&mut self) -> Option<Turn> {
        let (at, event) = self.queue.pop()?;
        debug_assert!(at >= self.now, "the queue went back in time");
        self.now = at;
        self.events += 1;
        match event {
            Event::Caller => {
                self.caller_wake = self.caller_wake.filter(|&wake| wake > at);
                return Some(Turn::Caller);
            }
            Event::Driver => {
                self.driver_wake = self.driver_wake.filter(|&wake| wake > at);
                self.send_commands();
            }
            Event::CommandAtDevice(tag) => {
                if self.seen.is_some() {
                    self.see_arrived(tag);
                }
                self.device.command(at, self.driver.fetch(tag));
                self.schedule_device();
            }
            Event::Device(event) => {
                self.device_at = at;
                self.device.wake(at, event);
                self.schedule_device();
            }
            Event::ResponseAtHost(tag) => return Some(Turn::Response(tag)),
        }
        Some(Turn::None)
    }

    /// Hands a response that has crossed the link to the driver. Requests may have completed then.
    #[inline(always)]
    pub fn deliver(&mut self, tag: Tag) {
        self.driver.on_response(self.now, self.responses.take(tag));
        if let Some(power) = &mut self.power {
            power.answered(self.now);
        }
    }

    /// Puts on the link what the driver has to send.
    #[inline(always)]
    pub fn send_commands(&mut self) {
        while let Some(tag) = self.driver.issue(self.now, &CacheOf(&self.device)) {
            let up = if self.power.is_some() { self.wake_link() } else { self.now };
            let bytes = wire_bytes(self.driver.command(tag));
            let at = self.link.send_down(up, bytes);
            if self.seen.is_some() {
                self.see_sent(tag, at, bytes);
            }
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

    /// When the link can carry a command that is to go out now.
    #[inline(never)]
    fn wake_link(&mut self) -> SimTime {
        let Stack { power, driver, queue, device_at, now, .. } = self;
        let Some(power) = power else { return *now };
        let waker = if driver.has_requests() { Waker::Request(driver.requests()) } else { Waker::Driver };
        power.send(*now, waker, || device_work(queue, *device_at))
    }

    /// The power state now; `None` if there are none.
    pub fn power_state(&self) -> Option<PowerState> {
        let work = device_work(&self.queue, self.device_at);
        self.power.as_ref().map(|power| power.state(self.now, work))
    }

    /// Times in power states up to now; `None` if there are none.
    pub fn power_account(&self) -> Option<PowerAccount> {
        let work = device_work(&self.queue, self.device_at);
        self.power.as_ref().map(|power| power.account(self.now, work))
    }

    /// Schedules what the device wants done later; for a device that was called from outside.
    #[inline(always)]
    pub fn schedule_device(&mut self) {
        if self.seen.is_some() {
            self.see_device();
        }
        let effects = self.device.effects();
        for &(at, event) in &effects.wakes {
            self.queue.push(at, Event::Device(event));
        }
        effects.wakes.clear();
        // Most often there is one: to take it from the end is quicker than a drain.
        if effects.responses.len() > 1 {
            effects.responses.reverse();
        }
        while let Some((at, response)) = effects.responses.pop() {
            // The device hands responses over in the order of their times, so the link can be booked ahead.
            let tag = response.tag;
            let bytes = wire_bytes_response(&response);
            let at = self.link.send_up(at, bytes);
            if let Some(seen) = &mut self.seen
                && self.scope == Scope::All
            {
                seen.push(answer_on_link(&self.driver, &self.link, tag, at, bytes));
            }
            self.responses.put(tag, response);
            self.queue.push(at, Event::ResponseAtHost(tag));
        }
    }

    /// Asks for a [`Turn::Caller`] at this time, or sooner if an earlier one is pending.
    #[inline(always)]
    pub fn wake_caller(&mut self, at: SimTime) {
        if self.caller_wake.is_none_or(|wake| at < wake) {
            self.caller_wake = Some(at);
            self.queue.push(at, Event::Caller);
        }
    }

    /// Cuts the power now and switches it on. `dice` decide what is left of operations in flight; see
    /// [`Device::power_cut`]. What is on the link is lost. The driver is the one of before; the caller has to replace
    /// it when the device is ready.
    pub fn reboot(self, dice: &mut dyn FnMut(u32) -> u32) -> Stack {
        self.restart(dice, |device| device)
    }

    /// The same, with something done to the device while it is off.
    pub fn restart(self, dice: &mut dyn FnMut(u32) -> u32, off: impl FnOnce(Unpowered) -> Unpowered) -> Stack {
        let now = self.now;
        let work = device_work(&self.queue, self.device_at);
        let mut power = self.power;
        power.iter_mut().for_each(|power| power.cut(now, work));
        let device = Device::power_on(off(self.device.power_cut(now, dice)), now);
        let fresh = Stack::new(self.driver, self.link.idle(), device);
        let mut stack = Stack { now, events: self.events, power, device_at: now, ..fresh };
        stack.schedule_device();
        stack
    }

    /// What a power cut now would find on the link.
    pub fn on_link(&self) -> OnLink {
        let mut found = OnLink::default();
        for &(arrival, event) in self.queue.iter() {
            let leaving = match event {
                Event::CommandAtDevice(tag) => {
                    found.commands += 1;
                    self.link.leaves_down(arrival, wire_bytes(self.driver.command(tag)))
                }
                Event::ResponseAtHost(tag) => {
                    let leaving = self.link.leaves_up(arrival, wire_bytes_response(self.responses.get(tag)));
                    // The device may have booked the link ahead.
                    found.responses += u32::from(leaving.start <= self.now);
                    leaving
                }
                _ => continue,
            };
            found.partial += u32::from(leaving.contains(&self.now));
        }
        found
    }
}

/// A response of so many bytes that the link carries, and that arrives at `at`.
#[cold]
#[inline(never)]
fn answer_on_link(driver: &Driver, link: &Link, tag: Tag, at: SimTime, bytes: u64) -> Seen {
    let (op, sent) = (driver.command(tag).op.name(), link.leaves_up(at, bytes));
    Seen::Message { up: true, op, began: sent.start, ended: sent.end }
}

/// Whether the device has work: as it acts in its events alone, it has some while one is pending.
fn device_work(queue: &EventQueue<Event>, last: SimTime) -> DeviceWork {
    match queue.iter().any(|(_, event)| matches!(event, Event::Device(_))) {
        true => DeviceWork::Now,
        false => DeviceWork::EndedAt(last),
    }
}

#[cfg(test)]
mod tests {
    use ftl::Stay;
    use host::{Request, RequestOp};
    use units::{AppId, Lpa};

    use self::system::schemes;
    use super::*;
    use crate::profile::{Profile, parse_override};

    fn profile() -> Profile {
        let set = parse_override("link.down_mib_per_s=100").expect("a well formed override");
        Profile::load("tiny", &[set]).expect("a value within its limits")
    }

    fn driver(device: &Device) -> Driver {
        Driver::new(profile().host_config(schemes()[0].parts), device.info())
    }

    fn stack() -> Stack {
        let device = Device::new(profile().device_config([3, 5]), schemes()[0].parts.mapping);
        Stack::new(driver(&device), Link::new(profile().link_config()), device)
    }

    fn submit(stack: &mut Stack, op: RequestOp, len: u32) {
        let request = Request { id: 1, op, lpa: Lpa(0), len, stamp: 1, app: AppId::SYSTEM };
        stack.driver.submit(stack.now(), request);
        stack.send_commands();
    }

    #[test]
    fn what_is_on_the_link_is_told_until_it_has_crossed_it() {
        let mut stack = stack();
        submit(&mut stack, RequestOp::Write { fua: false }, 32);
        let time = stack.next_time().expect("a command is on its way");
        assert_eq!(stack.on_link(), OnLink { commands: 1, responses: 0, partial: 1 });
        let data = Nanos(32 * 4096 * 1000 / 105);
        assert!(time > stack.now() + data, "128 KiB take their time");
        assert_eq!(stack.step(), Some(Turn::None));
        assert_eq!(stack.on_link(), OnLink::default());
        let turn = std::iter::from_fn(|| stack.step()).find(|turn| *turn != Turn::None);
        let Some(Turn::Response(tag)) = turn else { panic!("{turn:?}") };
        stack.deliver(tag);
        assert!(stack.driver.completion().is_some());
    }

    /// Before each event it is told until when no response comes, and by then none has come.
    #[test]
    fn no_response_comes_before_the_time_that_is_told() {
        let mut stack = stack();
        for round in 0..200 {
            let sent = stack.now();
            let op = [RequestOp::Write { fua: round % 7 == 0 }, RequestOp::Read, RequestOp::Flush][round % 3];
            submit(&mut stack, op, 8);
            let mut told = sent + stack.least_round_trip();
            while stack.driver.pop_completion().is_none() {
                told = told.max(stack.responses_from().expect("a response is to come"));
                if let Some(Turn::Response(tag)) = stack.step() {
                    assert!(stack.now() >= told, "{op:?}: a response at {} and not from {told} on", stack.now());
                    stack.deliver(tag);
                }
            }
        }
    }

    #[test]
    fn what_comes_while_the_mapping_is_rebuilt_waits_for_that() {
        let mut stack = stack();
        for _ in 0..200 {
            submit(&mut stack, RequestOp::Write { fua: true }, 8);
            while stack.driver.pop_completion().is_none() {
                if let Some(Turn::Response(tag)) = stack.step() {
                    stack.deliver(tag);
                }
            }
        }
        let mut stack = stack.reboot(&mut |_| 0);
        stack.driver = driver(&stack.device);
        stack.watch(Scope::Waits);
        submit(&mut stack, RequestOp::Read, 1);
        let mut ready = None;
        let turns = std::iter::from_fn(|| {
            let turn = stack.step();
            if stack.device.is_ready() {
                ready.get_or_insert(stack.now());
            }
            turn
        });
        turns.into_iter().find(|turn| *turn != Turn::None).expect("an answer");
        let ready = ready.expect("it has recovered");
        let mut seen = Vec::new();
        stack.take_seen(&mut seen);
        let arrived = seen.iter().find_map(|one| match one {
            Seen::Arrived { at, .. } => Some(*at),
            _ => None,
        });
        let stays: Vec<_> = seen
            .iter()
            .filter_map(|one| match one {
                Seen::Device(ftl::Event::Stayed { stay, until, .. }) => Some((*stay, *until)),
                _ => None,
            })
            .collect();
        let arrived = arrived.expect("a command is at the device");
        assert_eq!(stays[..2], [(Stay::Queue, arrived), (Stay::Recovery, ready)]);
        assert!(ready > arrived);
    }

    #[test]
    fn a_power_cut_takes_what_is_on_the_link() {
        let mut stack = stack();
        submit(&mut stack, RequestOp::Write { fua: false }, 32);
        let mut stack = stack.reboot(&mut |_| 0);
        assert_eq!(stack.on_link(), OnLink::default());
        while stack.step().is_some() {}
        assert!(stack.device.is_ready());
        assert_eq!(stack.device.stats().host_units_written, 0);
    }
}
