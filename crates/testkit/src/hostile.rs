//! A device and a host that sends it anything: well-formed commands without sense, and power cuts. The device must not
//! panic, its sums must hold, every command must have one answer, and no read may give the data of another address.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ftl::{Device, DeviceConfig, DeviceEvent, MappingKind};
use ufs::{Command, Content, DataIn, HpbNotice, L2pEntry, Notice, Op, Response};
use units::{Lpa, Nanos, Seq, SimTime};

/// After this time everything is answered and the device is idle.
const PATIENCE: Nanos = Nanos::from_millis(100_000);

/// Longest recovery of a small device, with a large margin.
const RECOVERY: Nanos = Nanos::from_millis(10_000);

/// A device with a clock, and a host without a driver.
pub struct Hostile {
    /// `None` only while the power is off.
    powered: Option<Device>,
    kind: MappingKind,
    now: SimTime,
    queue: BinaryHeap<Reverse<(SimTime, usize)>>,
    events: Vec<DeviceEvent>,
    /// Commands under way, by tag.
    under_way: [Option<Op>; 256],
    /// HPB entries that the device has given, oldest first.
    published: Vec<u64>,
    /// The latest change that the device has told the host.
    told: Seq,
}

impl Hostile {
    /// A device fresh from the factory.
    pub fn new(config: DeviceConfig, kind: MappingKind) -> Hostile {
        Hostile {
            powered: Some(Device::new(config, kind)),
            kind,
            now: SimTime::START,
            queue: BinaryHeap::new(),
            events: Vec::new(),
            under_way: [const { None }; 256],
            published: Vec::new(),
            told: Seq(0),
        }
    }

    fn device(&mut self) -> &mut Device {
        self.powered.as_mut().expect("the power is on between calls")
    }

    /// An HPB entry that the device has given; `back` = 0 is the latest. `None` before the first.
    pub fn published(&self, back: usize) -> Option<u64> {
        self.published.iter().rev().cycle().nth(back).copied()
    }

    /// The latest change that the device has told the host.
    pub fn told(&self) -> Seq {
        self.told
    }

    /// Lets time pass.
    pub fn pause(&mut self, time: Nanos) {
        let until = self.now + time;
        while let Some(&Reverse((at, event))) = self.queue.peek()
            && at <= until
        {
            self.queue.pop();
            self.now = at;
            let event = self.events[event];
            self.device().wake(at, event);
            self.drain();
        }
        self.now = until;
    }

    /// The host sends a command.
    pub fn send(&mut self, command: Command) {
        // The device drops a command whose tag is in use.
        self.under_way[usize::from(command.tag.0)].get_or_insert(command.op);
        let now = self.now;
        self.device().command(now, command);
        self.drain();
    }

    /// Cuts the power and switches it on at once. `dice` decide what is left of operations in flight. Later commands
    /// wait until the device has recovered.
    pub fn power_cut(&mut self, dice: &mut dyn FnMut(u32) -> u32) {
        let device = self.powered.take().expect("the power is on between calls");
        let unpowered = device.power_cut(self.now, dice);
        self.queue.clear();
        self.events.clear();
        self.under_way.fill(None);
        self.powered = Some(Device::power_on(unpowered, self.now));
        self.drain();
    }

    /// Waits for all answers, then cuts the power once more and lets the device recover.
    ///
    /// # Panics
    /// If an answer is missing, sums do not hold, or the device does not recover.
    pub fn end(mut self) {
        self.pause(PATIENCE);
        self.device().check();
        // An HP-UFS device stops if its host does not take the entries.
        let waits_for_host = |op: &Op| {
            self.kind == MappingKind::of::<schemes::HpUfs>()
                && matches!(op, Op::Write { .. } | Op::Unmap { .. } | Op::Flush)
        };
        let unanswered: Vec<_> = self.under_way.iter().flatten().filter(|op| !waits_for_host(op)).collect();
        assert!(unanswered.is_empty(), "never answered: {unanswered:?}");
        self.power_cut(&mut |n| n / 2);
        self.pause(RECOVERY);
        assert!(self.device().is_ready(), "no recovery within {RECOVERY:?}");
        self.device().check();
    }

    fn drain(&mut self) {
        let effects = self.device().effects();
        let (wakes, responses) = (std::mem::take(&mut effects.wakes), std::mem::take(&mut effects.responses));
        for (at, event) in wakes {
            self.queue.push(Reverse((at, self.events.len())));
            self.events.push(event);
        }
        for (_, response) in responses {
            let op = self.under_way[usize::from(response.tag.0)].take().expect("a response answers a command");
            check_addresses(&op, &response);
            self.learn(&response);
        }
    }

    fn learn(&mut self, response: &Response) {
        match &response.data {
            DataIn::Sealed(entries) => self.published.extend(entries.iter().filter(|&&entry| entry != 0)),
            DataIn::Plain(entries) => {
                self.published.extend(entries.iter().filter(|&&entry| entry != 0).map(|&entry| u64::from(entry)));
            }
            DataIn::Entries(entries) => entries.iter().for_each(|entry| self.note_seq(entry)),
            _ => {}
        }
        if let HpbNotice::Entry { entry, .. } = response.hpb {
            self.published.push(entry);
        }
        if let Notice::Entry(entry) = &response.piggyback.notice {
            self.note_seq(entry);
        }
    }

    fn note_seq(&mut self, entry: &L2pEntry) {
        self.told = self.told.max(entry.last_seq());
    }
}

/// Checks that a read gives no data of another address.
fn check_addresses(op: &Op, response: &Response) {
    let (Op::Read { lpa, .. } | Op::HpbRead { lpa, .. } | Op::MappedRead { lpa, .. }) = *op else { return };
    let own = |lpa: Lpa, content: &Option<Content>| content.is_none_or(|c| c.lpa == lpa);
    match &response.data {
        DataIn::One(content) => assert!(own(lpa, content), "{op:?} gave {content:?}"),
        DataIn::Many(contents) => {
            let foreign = (0..).zip(contents).find(|(i, content)| !own(lpa.offset(*i), content));
            assert!(foreign.is_none(), "{op:?} gave {foreign:?}");
        }
        _ => {}
    }
}
