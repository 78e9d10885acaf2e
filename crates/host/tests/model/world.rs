//! Driver, link and model device, with a block layer that checks completions.

use std::collections::{BTreeMap, VecDeque};

use host::{BoosterKind, Driver, HostConfig, Request, RequestOp};
use ufs::{Command, DataIn, HpbNotice, Op, Status};
use ufsim_host as host;
use units::{AppId, Lpa, SimTime};

use super::{Device, Nature, Random};

pub struct World {
    pub driver: Driver,
    pub device: Device,
    pub random: Random,
    config: HostConfig,
    link: VecDeque<Command>,
    /// Requests that have not completed, by id.
    outstanding: BTreeMap<u32, Request>,
    next_id: u32,
    pub now: SimTime,
    /// HPB groups that the host must not use, as far as it has been told.
    dirty_groups: Vec<bool>,
    pub most_dram: u64,
    /// The app that issues the next requests.
    pub app: AppId,
}

impl World {
    pub fn new(config: HostConfig, info: ufs::DeviceInfo, nature: Nature, seed: u64) -> World {
        let logs = matches!(config.booster, BoosterKind::HpUfs | BoosterKind::HpbvalveHpUfs);
        World {
            driver: Driver::new(config, info),
            device: Device::new(info, nature, logs, seed),
            random: Random::new(seed ^ 0xABCD),
            config,
            link: VecDeque::new(),
            outstanding: BTreeMap::new(),
            next_id: 0,
            now: SimTime::START,
            dirty_groups: vec![false; info.capacity_units.div_ceil(info.hpb_group_entries) as usize],
            most_dram: 0,
            app: AppId::SYSTEM,
        }
    }

    pub fn submit(&mut self, op: RequestOp, lpa: u32, len: u32) {
        self.next_id += 1;
        let request = Request { id: self.next_id, op, lpa: Lpa(lpa), len, stamp: self.next_id, app: self.app };
        self.outstanding.insert(self.next_id, request);
        self.driver.submit(self.now, request);
        self.pump();
    }

    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Takes all commands and completions from the driver.
    pub fn pump(&mut self) {
        while let Some(command) = self.driver.next_command(self.now) {
            self.check_sent(&command);
            self.link.push_back(command);
        }
        self.collect();
    }

    fn check_sent(&mut self, command: &Command) {
        // Linux continues to use entries of regions that it has written, whatever the device says.
        if let Op::HpbRead { lpa, .. } = command.op
            && self.config.booster != BoosterKind::HpbLinux
        {
            let group = lpa.0 / self.device.info.hpb_group_entries;
            assert!(!self.dirty_groups[group as usize], "group {group} may not be used");
        }
        assert!(u16::from(command.tag.0) < self.config.tags, "tag {} of {}", command.tag.0, self.config.tags);
        let (users, internals) = self.device.in_flight();
        let new = |user| self.link.iter().chain([command]).filter(|c| c.op.is_user() == user).count();
        let (users, internals) = (users + new(true), internals + new(false));
        let user_tags = usize::from(self.config.tags - self.config.internal_tags);
        assert!(users <= user_tags, "{users} user commands have {user_tags} tags");
        assert!(users + internals <= usize::from(self.config.tags));
        let stats = self.driver.stats();
        self.most_dram = self.most_dram.max(stats.dram_bytes_used);
    }

    fn collect(&mut self) {
        while let Some(done) = self.driver.pop_completion() {
            let request = self.outstanding.remove(&done.id).expect("a request completed twice, or was never made");
            assert_eq!(done.status, Status::Good, "{request:?}");
            let contents = match done.data {
                DataIn::One(content) if request.op == RequestOp::Read => vec![content],
                DataIn::Many(contents) if request.op == RequestOp::Read => contents,
                DataIn::None if request.op != RequestOp::Read => continue,
                data => panic!("{request:?} got {data:?}"),
            };
            assert_eq!(contents.len(), request.len as usize);
            for (content, lpa) in contents.iter().zip(request.lpa.0..) {
                assert!(content.is_none_or(|content| content.lpa.0 == lpa), "LPA {lpa} got {content:?}");
            }
        }
    }

    /// Moves the oldest command over the link.
    pub fn deliver(&mut self) -> bool {
        let Some(command) = self.link.pop_front() else { return false };
        self.device.arrive(command);
        true
    }

    /// Lets the device answer a command that `wanted` accepts.
    pub fn answer(&mut self, wanted: impl Fn(&Op) -> bool) -> bool {
        let Some((op, response)) = self.device.answer(wanted) else { return false };
        if let Op::HpbReadBuffer { group } = op {
            self.dirty_groups[group as usize] = false;
        }
        if let HpbNotice::DirtyGroup(group) = response.hpb {
            self.dirty_groups[group as usize] = true;
        }
        self.now = SimTime(self.now.0 + 1000);
        self.driver.on_response(self.now, response);
        self.pump();
        true
    }

    /// Does one random thing.
    pub fn step(&mut self) {
        match self.random.below(5) {
            0 | 1 => drop(self.deliver()),
            2 | 3 => drop(self.answer(|_| true)),
            _ if self.device.can_copy() => self.device.copy_one(),
            _ => {}
        }
    }

    /// Runs until every request has completed.
    pub fn drain(&mut self) {
        self.pump();
        loop {
            while self.deliver() {}
            if self.device.can_copy() && self.random.percent(50) {
                self.device.copy_one();
            } else if !self.answer(|_| true) && !self.sleep() {
                break;
            }
        }
        assert_eq!(self.outstanding(), 0, "driver and device wait for each other: {:?}", self.driver.stats());
    }

    /// Lets time pass until the driver has something to do.
    fn sleep(&mut self) -> bool {
        let Some(wake) = self.driver.next_wake() else { return false };
        self.now = self.now.max(wake);
        self.pump();
        !self.link.is_empty()
    }

    /// Runs until the host has received every change.
    pub fn settle(&mut self) {
        self.drain();
        self.device.stop_hints();
        for _ in 0..100_000 {
            self.drain();
            if self.device.settled() {
                break;
            }
            self.submit(RequestOp::Flush, 0, 0);
        }
        assert!(self.device.settled(), "the host never hears of the last changes: {:?}", self.driver.stats());
        // One command names one freed block.
        for _ in 0..self.device.info.superblocks {
            self.submit(RequestOp::Flush, 0, 0);
        }
        self.drain();
    }
}
