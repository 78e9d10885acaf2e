//! HPB 2.0 as the Linux 6.1 driver does it, described by its behaviour: what it counts, fetches and drops, and when.
//!
//! A region has some subregions; a subregion is a group of the crate `ufs`. In *host control mode* the host counts reads and
//! writes, fetches a subregion after `activation_thld` reads of it without a write between them, tells the device which
//! regions it drops, and looks now and then at which have not been read for long. In *device control mode* it does what the
//! device recommends, and drops regions silently. Parameters and counters have their names in sysfs (`hpb_params`,
//! `hpb_stats`).
//!
//! What it does not do belongs to the behaviour, too: it does not note writes while a subregion is on its way, so that it may
//! send a stale entry afterwards; it takes for valid what a failed READ BUFFER leaves; once a subregion has passed the
//! threshold, it is not fetched again before a write or a normalization has brought its count below.

use std::collections::VecDeque;

use ufs::{DeviceInfo, HpbNotice, Op, Recommendation, Response};
use units::{Lpa, SimTime};

use super::fetches::Fetches;
use super::seat::{self, Apps, Booster, HostMemory, Internal, OwnCommands, Step, plain};
use super::subregions::{State, Subregions};
use super::tamper::Tamper;
use crate::config::{HostConfig, HpbParams};
use crate::lru::Lru;
use crate::request::{Part, RequestOp};
use crate::stats::HostStats;

#[derive(Clone, Copy, Default)]
struct Region {
    /// It may have cached subregions, and is in the order of eviction.
    active: bool,
    /// It is on the list of those to be dropped.
    leaves: bool,
    /// Host control: written since a subregion of it was fetched.
    dirty: bool,
    /// Host control: it is in `counted`.
    counted: bool,
    /// Host control: sum of the counts of its subregions.
    reads: u32,
    /// Host control: when the time without reads is over, and how often that may still happen.
    timeout: SimTime,
    expiries: u32,
}

/// The Linux HPB driver.
pub(crate) struct HpbLinux {
    host_control: bool,
    params: HpbParams,
    region_groups: u32,
    group_entries: u32,
    subregions: Subregions,
    /// Memory taken from boot on; `None` for all that the limit allows.
    reserved: Option<u64>,
    regions: Vec<Region>,
    /// Reads by subregion since the last write to it, normalized.
    reads: Vec<u32>,
    /// Regions with reads.
    counted: Vec<u32>,
    fetches: Fetches<1>,
    to_inactivate: VecDeque<u32>,
    /// Commands that have been decided on.
    commands: VecDeque<Op>,
    /// There may be something to do.
    work: bool,
    /// Active regions in the order of their last activation.
    lru: Lru,
    active: usize,
    max_active: usize,
    next_poll: Option<SimTime>,
    /// As told last.
    now: SimTime,
    stats: HostStats,
}

impl Booster for HpbLinux {
    fn attach(config: &HostConfig, info: &DeviceInfo) -> HpbLinux {
        let subregions = Subregions::new(info, false);
        let groups = subregions.count();
        let mut hpb = HpbLinux {
            host_control: !info.hpb_device_control,
            params: config.hpb_params,
            region_groups: info.hpb_region_groups,
            group_entries: info.hpb_group_entries,
            subregions,
            reserved: config.hpb_reserved_bytes,
            regions: vec![Region::default(); info.hpb_regions() as usize],
            reads: vec![0; groups as usize],
            counted: Vec::new(),
            fetches: Fetches::new(groups, config.hpb_params.inflight_map_req.into()),
            to_inactivate: VecDeque::new(),
            commands: VecDeque::new(),
            work: false,
            lru: Lru::new(),
            active: 0,
            max_active: 0,
            next_poll: None,
            now: SimTime::START,
            stats: HostStats::default(),
        };
        hpb.set_limit(config.memory_limit_bytes.unwrap_or(u64::MAX));
        hpb
    }

    #[inline]
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step {
        self.now = now;
        let len = part.len.min(max_units);
        match part.op {
            RequestOp::Read => {
                if let Some(entry) = self.read(part.lpa, len) {
                    return Step::Send { op: Op::HpbRead { lpa: part.lpa, len, entry }, units: len };
                }
            }
            RequestOp::Write { .. } | RequestOp::Unmap => self.changed(part.lpa, len),
            RequestOp::Flush => {}
        }
        plain(part, max_units)
    }

    #[inline]
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, _: &mut VecDeque<Part>) {
        self.now = now;
        if let Op::HpbReadBuffer { group } = *op {
            let sealed = seat::sealed_in(response).unwrap_or_default();
            self.fetches.answered();
            self.subregions.loaded(group, Some(sealed));
            self.make_room();
            self.work = true;
        }
        match response.hpb {
            // The new entries of HPB 2017 are unknown here.
            HpbNotice::None | HpbNotice::Entry { .. } => {}
            HpbNotice::DirtyGroup(group) => {
                self.recommended(&Recommendation { activate: [Some(group), None], inactivate: [None; 2] });
            }
            HpbNotice::Recommend(recommendation) => self.recommended(&recommendation),
        }
    }

    fn report(&self, stats: &mut HostStats) {
        stats.add(&self.stats);
        self.subregions.report(stats);
    }
}

impl OwnCommands for HpbLinux {
    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        if self.work && self.commands.is_empty() {
            self.drop_listed();
            self.fetch_next();
            self.work = !self.commands.is_empty();
        }
        self.commands.pop_front().map(Internal::from)
    }

    /// The look at the timeouts; what it leads to goes with the next commands.
    fn lazy(&mut self, now: SimTime, _: Option<SimTime>) -> Option<Internal> {
        if self.next_poll? > now {
            return None;
        }
        self.now = now;
        self.poll();
        self.urgent()
    }

    fn next_wake(&self, _: Option<SimTime>) -> Option<SimTime> {
        self.next_poll
    }
}

impl HostMemory for HpbLinux {
    fn set_limit(&mut self, bytes: u64) {
        let region = self.subregions.bytes_each() * u64::from(self.region_groups);
        self.max_active = (bytes / region).clamp(1, self.regions.len() as u64) as usize;
        self.subregions.set_limit(self.max_active as u64 * region);
        self.make_room();
    }

    /// What is reserved is taken, used or not.
    fn memory_bytes(&self) -> u64 {
        self.subregions.bytes_taken(self.reserved)
    }
}

impl Apps for HpbLinux {}

impl Tamper for HpbLinux {
    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        self.subregions.tamper_sealed(lpa, entry)
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        self.subregions.sealed(lpa)
    }
}

/// Requests of the block layer.
impl HpbLinux {
    fn read(&mut self, lpa: Lpa, len: u32) -> Option<u64> {
        if !self.subregions.supports(len) {
            self.stats.booster_misses += 1;
            return None;
        }
        if self.host_control {
            self.count_read(lpa, len);
        }
        let entry = self.subregions.entry_for(lpa, len);
        super::counters::count_lookup(&mut self.stats, entry.is_some());
        entry
    }

    fn count_read(&mut self, lpa: Lpa, len: u32) {
        let groups = self.subregions.of(lpa, len);
        let first = groups.start() / self.region_groups;
        for group in groups {
            let number = group / self.region_groups;
            let region = &mut self.regions[number as usize];
            if region.active {
                region.timeout = self.now + self.params.read_timeout;
                region.expiries = self.params.read_timeout_expiries;
            }
            region.reads += 1;
            if !std::mem::replace(&mut region.counted, true) {
                self.counted.push(number);
            }
            let reads = &mut self.reads[group as usize];
            *reads += 1;
            if *reads == self.params.activation_thld {
                self.want(group);
            }
        }
        if self.regions[first as usize].reads > self.group_entries {
            self.normalize();
        }
    }

    /// Divides all counts. An active region that has none left is dropped.
    fn normalize(&mut self) {
        let mut counted = std::mem::take(&mut self.counted);
        counted.retain(|&number| {
            let groups = self.groups_of(number);
            let reads = &mut self.reads[groups.start as usize..groups.end as usize];
            reads.iter_mut().for_each(|reads| *reads >>= self.params.normalization_factor);
            let sum: u32 = reads.iter().sum();
            let region = &mut self.regions[number as usize];
            (region.reads, region.counted) = (sum, sum > 0);
            sum > 0
        });
        self.counted = counted;
        let unread: Vec<u32> = self.lru.oldest_first().filter(|&r| self.regions[r as usize].reads == 0).collect();
        unread.into_iter().for_each(|region| self.list_inactive(region));
    }

    fn changed(&mut self, lpa: Lpa, len: u32) {
        self.subregions.changed(lpa, len);
        if !self.host_control {
            return;
        }
        for group in self.subregions.of(lpa, len) {
            let region = &mut self.regions[(group / self.region_groups) as usize];
            region.reads -= std::mem::take(&mut self.reads[group as usize]);
            region.dirty = true;
        }
    }

    fn groups_of(&self, region: u32) -> std::ops::Range<u32> {
        let first = region * self.region_groups;
        first..(first + self.region_groups).min(self.subregions.count())
    }
}

/// Lists of what is to be done.
impl HpbLinux {
    /// A subregion is to be fetched; its region is not to be dropped any more.
    fn want(&mut self, group: u32) {
        self.stats.rcmd_active_cnt += 1;
        self.regions[(group / self.region_groups) as usize].leaves = false;
        self.fetches.want(group, 0);
        self.work = true;
    }

    /// A region is to be dropped; none of its subregions is to be fetched any more.
    fn list_inactive(&mut self, number: u32) {
        self.stats.rcmd_inactive_cnt += 1;
        for group in self.groups_of(number) {
            self.fetches.cancel(group);
        }
        if !std::mem::replace(&mut self.regions[number as usize].leaves, true) {
            self.to_inactivate.push_back(number);
        }
        self.work = true;
    }

    /// In host control mode the host decides by itself about regions that it has written or has not got, and drops none
    /// because the device says so.
    fn recommended(&mut self, recommendation: &Recommendation) {
        self.stats.rcmd_noti_cnt += 1;
        self.stats.hpb_dirty_notices += 1;
        let known = |&number: &u32, count: u32| number < count;
        let groups = self.subregions.count();
        for group in recommendation.activate.into_iter().flatten().filter(|group| known(group, groups)) {
            let region = self.regions[(group / self.region_groups) as usize];
            if !self.host_control || region.active && !region.dirty {
                self.want(group);
                self.subregions.invalidate(group);
            }
        }
        let regions = self.regions.len() as u32;
        for number in recommendation.inactivate.into_iter().flatten().filter(|region| known(region, regions)) {
            if !self.host_control {
                self.list_inactive(number);
                for group in self.groups_of(number) {
                    self.subregions.invalidate(group);
                }
            }
        }
    }

    /// Drops the regions on the list; those with a fetch under way stay on it.
    fn drop_listed(&mut self) {
        for _ in 0..self.to_inactivate.len() {
            let Some(number) = self.to_inactivate.pop_front() else { break };
            if !self.regions[number as usize].leaves {
                continue;
            }
            if self.is_loading(number) {
                self.to_inactivate.push_back(number);
                continue;
            }
            self.regions[number as usize].leaves = false;
            if self.regions[number as usize].active {
                self.evict(number);
            }
        }
    }

    fn fetch_next(&mut self) {
        while let Some((group, _)) = self.fetches.pop() {
            if self.subregions.state(group) == State::Loading {
                // What it brings may be out of date already: once more afterwards.
                self.fetches.want(group, 0);
                return;
            }
            let room = self.subregions.slot(group).is_some() || !self.subregions.is_full();
            if self.activate(group / self.region_groups) && room {
                self.subregions.start_load(group);
                self.regions[(group / self.region_groups) as usize].dirty = false;
                self.fetches.sent();
                self.stats.map_req_cnt += 1;
                self.stats.hpb_read_buffers += 1;
                self.commands.push_back(Op::HpbReadBuffer { group });
                return;
            }
        }
    }

    /// Makes a region active, if need be in place of another one. False if it may not be.
    fn activate(&mut self, number: u32) -> bool {
        if self.regions[number as usize].active {
            self.lru.touch(number);
            return true;
        }
        if self.active >= self.max_active {
            if self.host_control && self.regions[number as usize].reads < self.params.eviction_thld_enter {
                return false;
            }
            let may_go = |&victim: &u32| {
                let quiet = self.regions[victim as usize].reads <= self.params.eviction_thld_exit;
                !self.is_loading(victim) && (quiet || !self.host_control)
            };
            let Some(victim) = self.lru.oldest_first().find(may_go) else { return false };
            self.evict(victim);
        }
        self.lru.insert(number);
        self.active += 1;
        let region = &mut self.regions[number as usize];
        region.active = true;
        region.timeout = self.now + self.params.read_timeout;
        region.expiries = self.params.read_timeout_expiries;
        if self.host_control {
            self.next_poll.get_or_insert(self.now + self.params.timeout_polling_interval);
        }
        true
    }

    fn is_loading(&self, number: u32) -> bool {
        self.groups_of(number).any(|group| self.subregions.state(group) == State::Loading)
    }

    fn evict(&mut self, number: u32) {
        for group in self.groups_of(number) {
            if self.subregions.slot(group).is_some() {
                self.subregions.release(group);
            }
        }
        self.lru.remove(number);
        self.active -= 1;
        self.regions[number as usize].active = false;
        if self.active == 0 {
            self.next_poll = None;
        }
        if self.host_control {
            self.stats.umap_req_cnt += 1;
            self.commands.push_back(Op::HpbInactivate { region: number });
        }
    }

    /// After the limit has shrunk.
    fn make_room(&mut self) {
        while self.active > self.max_active {
            let Some(victim) = self.lru.oldest_first().find(|&number| !self.is_loading(number)) else { return };
            self.evict(victim);
        }
    }

    /// Regions that have not been read for long, or not for a shorter time but written, are dropped.
    fn poll(&mut self) {
        let now = self.now;
        self.next_poll = Some(now + self.params.timeout_polling_interval);
        let mut expired = Vec::new();
        for number in self.lru.oldest_first() {
            let region = &mut self.regions[number as usize];
            if now > region.timeout {
                region.expiries = region.expiries.saturating_sub(1);
                region.timeout = now + self.params.read_timeout;
                if region.dirty || region.expiries == 0 {
                    expired.push(number);
                }
            }
        }
        expired.into_iter().for_each(|number| self.list_inactive(number));
    }
}

#[cfg(test)]
#[path = "hpb_linux_tests.rs"]
mod tests;
