//! A test bench for a booster without driver and device: it passes requests, and the test answers fetches.

use std::collections::VecDeque;

use proptest::prelude::*;
use ufs::{DataIn, DeviceInfo, HpbNotice, Op, PiggyBack, Recommendation, Response, Status, Tag};
use units::{AppId, CounterSets, Lpa, SimTime};

use crate::app::AppSignal;
use crate::booster::seat::{Apps, Booster, Counted, HostMemory, OwnCommands, Step, Tamper};
use crate::request::{Part, RequestOp};

/// 64 subregions of 512 entries, in regions of 4.
pub(crate) const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 64 * 512,
    superblocks: 16,
    hpb_group_entries: 512,
    hpb_region_groups: 4,
    ..DeviceInfo::USUAL
};

/// A random event for a booster: its kind, the app, and the subregion. A number beyond the device comes from a lying
/// device.
pub(crate) type Happening = (u8, u16, u32);

/// Any sequence of events.
pub(crate) fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    prop::collection::vec((0..20u8, 0..4u16, 0..70u32), 0..400)
}

/// A booster and the time.
pub(crate) struct Bench<B> {
    pub booster: B,
    pub now: SimTime,
}

impl<B: Booster + Counted + OwnCommands + HostMemory + Apps + Tamper> Bench<B> {
    pub fn new(booster: B) -> Bench<B> {
        Bench { booster, now: SimTime::START }
    }

    fn send(&mut self, op: RequestOp, app: u16, lpa: u32, len: u32) -> Op {
        let (lpa, app) = (Lpa(lpa), AppId(app));
        let mut part = Part { request: 0, op, lpa, len, app, counted: false, pinned: false };
        match self.booster.plan(self.now, &mut part, 128) {
            Step::Send { op, .. } => op,
            step => panic!("{step:?} for {part:?}"),
        }
    }

    /// An app reads the first block of a subregion. True if the command has an entry.
    pub fn read(&mut self, app: u16, group: u32) -> bool {
        matches!(self.send(RequestOp::Read, app, group * 512, 1), Op::HpbRead { .. })
    }

    /// An app writes the first block of a subregion.
    pub fn write(&mut self, app: u16, group: u32) {
        self.send(RequestOp::Write { fua: false }, app, group * 512, 1);
    }

    pub fn signal(&mut self, signal: AppSignal) {
        self.booster.signal(self.now, signal);
    }

    /// The next command that the booster sends by itself.
    pub fn command(&mut self) -> Option<Op> {
        let next = self.booster.urgent().or_else(|| self.booster.lazy(self.now, None));
        next.map(|internal| internal.op)
    }

    pub fn answer(&mut self, op: Op, status: Status, hpb: HpbNotice) {
        let data = match op {
            Op::HpbReadBuffer { group } if status == Status::Good => {
                DataIn::Sealed((0..512).map(|i| u64::from(group * 512 + i + 1)).collect())
            }
            _ => DataIn::None,
        };
        let mut response = Response { tag: Tag(0), status, data, hpb, piggyback: PiggyBack::default() };
        self.booster.on_response(self.now, &op, &mut response, &mut VecDeque::new());
    }

    /// A notice in the response to a flush.
    pub fn notice(&mut self, notice: HpbNotice) {
        self.answer(Op::Flush, Status::Good, notice);
    }

    /// Answers commands until there are none. Gives them.
    pub fn serve(&mut self) -> Vec<Op> {
        let mut served = Vec::new();
        while let Some(op) = self.command() {
            self.answer(op, Status::Good, HpbNotice::None);
            served.push(op);
        }
        served
    }

    /// Answers commands until there are none; all must be fetches. Gives their subregions.
    pub fn fetched(&mut self) -> Vec<u32> {
        let group = |op| match op {
            Op::HpbReadBuffer { group } => group,
            op => panic!("{op:?} is no fetch"),
        };
        self.serve().into_iter().map(group).collect()
    }

    /// Applies all events. Commands are answered late, early or with errors. The booster may use at most `most` bytes.
    pub fn endure(&mut self, happenings: &[Happening], mut most: u64) {
        let mut under_way = VecDeque::new();
        for &(kind, app, group) in happenings {
            let inside = group % 64;
            match kind {
                0..9 => {
                    self.read(app, inside);
                }
                9 | 10 => self.write(app, inside),
                11 => self.signal(AppSignal::LaunchStart(AppId(app))),
                12 => self.signal(AppSignal::Ended(AppId(app))),
                13 => self.notice(HpbNotice::DirtyGroup(group)),
                14 => {
                    let (activate, inactivate) = ([Some(group), None], [Some(group / 3), Some(u32::MAX)]);
                    self.notice(HpbNotice::Recommend(Recommendation { activate, inactivate }));
                }
                15 => {
                    if let Some(op) = under_way.pop_front() {
                        let status = if group < 7 { Status::InvalidField } else { Status::Good };
                        self.answer(op, status, HpbNotice::None);
                    }
                }
                16 => self.now = self.now + units::Nanos::from_millis(u64::from(group) * 200),
                17 if group == 0 && under_way.is_empty() => {
                    most = most.min(4 * 4 * 4096);
                    self.booster.set_limit(most);
                }
                _ => under_way.extend(self.command()),
            }
            let used = self.booster.usage().dram_bytes;
            assert!(used <= most, "{used} bytes of {most} are used");
            assert_eq!(used, self.held().len() as u64 * 4096, "what is used is what is held");
        }
    }

    /// The counter of this name.
    pub fn counter(&self, name: &str) -> u64 {
        let counted = self.booster.counters().counted();
        counted.into_iter().find(|(counter, _)| counter.name == name).expect("it is declared").1
    }

    /// True if the subregion is cached.
    pub fn holds(&self, group: u32) -> bool {
        self.booster.sealed(Lpa(group * 512)).is_some()
    }

    /// All cached subregions.
    pub fn held(&self) -> Vec<u32> {
        (0..64).filter(|&group| self.holds(group)).collect()
    }
}
