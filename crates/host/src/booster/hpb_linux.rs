//! HPB 2.0 as the Linux 6.1 driver does it, modelled after its behaviour: what it counts, fetches and drops, and when.
//!
//! A region has several subregions; a subregion is a group of the crate `ufs`. In *host control mode* the host counts
//! reads and writes. It fetches a subregion after `activation_thld` reads of it without a write between them. It tells
//! the device which regions it drops, and checks periodically which have not been read for long. In *device control
//! mode* it follows the device's recommendations, and drops regions without telling. Parameters and counters have their
//! names in sysfs (`hpb_params`, `hpb_stats`).
//!
//! Counts put subregions on a list; what is on the lists is done in *turns*. One begins when the device has recommended
//! something, and in host control mode with every look at the timeouts, so a subregion that is read often waits up to
//! `timeout_polling_interval_ms`. A turn ends with the first subregion that cannot be fetched, because
//! `inflight_map_req` fetches are under way, it is loading, or its region may not enter: it stays first on the list.
//! In device control mode any number of fetches may be under way.
//!
//! The driver's gaps are modelled, too. It does not note writes while a subregion is loading, so it may send a stale
//! entry afterwards. It treats a failed READ BUFFER as valid. After a subregion has passed the threshold, it is not
//! fetched again before a write or a normalization has brought its count below. docs/explanation/two-hosts.md compares
//! it with the driver itself.

use super::subregion::params::{MemoryParams, SubregionParams};
use std::collections::VecDeque;

use lists::Lru;
use params::ParamError;
use ufs::{DeviceInfo, Op, Recommendation};
use units::{Lpa, NoCounters, SimTime};

use super::subregion::{
    Access, Choice, FetchRequest, Lookup, Policy, Quirks, Retention, Setup, State, SubregionBooster, SubregionCache,
    Urgency,
};

params::params! {
    /// `hpb-linux`: when subregions are fetched and regions dropped, and the memory for them.
    pub Params {
        with subregions: SubregionParams;
        with memory: MemoryParams;
        /// Reads that a region needs to replace another one.
        eviction_thld_enter: count(1 to 1048576) = 256, "Linux 6.1, ufshpb: its default";
        /// A region with more reads than this is not replaced.
        eviction_thld_exit: count(0 to 1048576) = 128, "Linux 6.1, ufshpb: its default";
    }
}

pub(crate) use super::hpb::SPEAKS;

/// One region.
pub(crate) fn smallest_limit(info: &DeviceInfo) -> u64 {
    super::hpb::smallest_limit(info) * u64::from(info.hpb_region_groups)
}

/// A region may be replaced only by one with more reads.
pub(crate) fn check(own: &Params) -> Result<(), ParamError> {
    if own.eviction_thld_exit < own.eviction_thld_enter {
        return Ok(());
    }
    let allowed = format!("below eviction_thld_enter = {}", own.eviction_thld_enter);
    Err(ParamError::must_be("hpb-linux", "eviction_thld_exit", &own.eviction_thld_exit.into(), allowed))
}

/// A booster for a device that has just been attached. It may use at most `limit` bytes.
pub(crate) fn attach(own: &Params, limit: u64, info: &DeviceInfo) -> HpbLinux {
    let mut booster = HpbLinux::new(own, limit, info);
    if booster.policy.host_control {
        booster.cache.start_clock();
    }
    booster
}

/// The Linux HPB driver.
pub(crate) type HpbLinux = SubregionBooster<Regions>;

#[derive(Clone, Copy, Hash, Default)]
struct Region {
    /// It may have cached subregions. It is in the order of eviction.
    active: bool,
    /// It is on the list of regions to drop.
    listed_to_drop: bool,
    /// Host control: the host has written to it since a subregion of it was fetched.
    dirty: bool,
    /// Host control: it is in `counted`.
    counted: bool,
    /// Host control: sum of the counts of its subregions.
    reads: u32,
    /// Host control: end of the present time without reads, and the number of such times that may still pass.
    timeout: SimTime,
    expiries: u32,
}

/// The policy of Linux: whole regions are given memory.
#[derive(Clone, Hash)]
pub(crate) struct Regions {
    host_control: bool,
    params: Params,
    region_groups: u32,
    group_entries: u32,
    regions: Vec<Region>,
    /// Reads by subregion since the last write to it, normalized.
    reads: Vec<u32>,
    /// Regions with reads.
    counted: Vec<u32>,
    to_inactivate: VecDeque<u32>,
    /// A turn is due.
    turn: bool,
    /// Active regions in the order of their last activation.
    lru: Lru<u32>,
    active: usize,
    max_active: usize,
}

impl Policy for Regions {
    const QUIRKS: Quirks = Quirks {
        notes_writes_during_fetch: false,
        drops_failed_fetch: false,
        takes_single_entries: false,
        fetches_all_at_once: true,
    };

    type Counters = NoCounters;

    fn counters(&self) -> NoCounters {
        NoCounters {}
    }

    type Params = Params;

    fn setup(own: &Params) -> Setup {
        // How many there may be is decided in `choose`.
        Setup { fetches_at_a_time: u32::MAX, ..own.subregions.setup(&own.memory) }
    }

    fn new(own: &Params, info: &DeviceInfo, subregions: u32) -> Regions {
        Regions {
            host_control: !info.hpb_device_control,
            params: *own,
            region_groups: info.hpb_region_groups,
            group_entries: info.hpb_group_entries,
            regions: vec![Region::default(); info.hpb_regions() as usize],
            reads: vec![0; subregions as usize],
            counted: Vec::new(),
            to_inactivate: VecDeque::new(),
            turn: false,
            lru: Lru::new(),
            active: 0,
            max_active: 0,
        }
    }

    #[inline]
    fn on_read(&mut self, cache: &mut SubregionCache, read: Access, lookup: Lookup) {
        if self.host_control && lookup != Lookup::TooLong {
            self.count_read(cache, read.lpa, read.len);
        }
    }

    fn on_change(&mut self, cache: &mut SubregionCache, change: Access) {
        if !self.host_control {
            return;
        }
        for group in cache.subregions.of(change.lpa, change.len) {
            let region = &mut self.regions[(group / self.region_groups) as usize];
            region.reads -= std::mem::take(&mut self.reads[group as usize]);
            region.dirty = true;
        }
    }

    /// In host control mode, recommendations are ignored for regions that the host has written or does not have, and no
    /// region is dropped because the device says so.
    fn on_recommendation(&mut self, cache: &mut SubregionCache, recommendation: &Recommendation) {
        cache.stats.rcmd_noti_cnt += 1;
        cache.hpb.hpb_dirty_notices += 1;
        self.turn = true;
        let (groups, regions) = (cache.subregions.count(), self.regions.len() as u32);
        for group in recommendation.activate.into_iter().flatten().filter(|&group| group < groups) {
            let region = self.regions[(group / self.region_groups) as usize];
            if !self.host_control || region.active && !region.dirty {
                self.want(cache, group);
                cache.subregions.invalidate(group);
            }
        }
        if self.host_control {
            return;
        }
        for number in recommendation.inactivate.into_iter().flatten().filter(|&region| region < regions) {
            self.list_inactive(cache, number);
            for group in self.groups_of(number) {
                cache.subregions.invalidate(group);
            }
        }
    }

    /// Drops listed regions before any fetch of a turn.
    fn before_fetch(&mut self, cache: &mut SubregionCache) -> bool {
        let begun = std::mem::take(&mut self.turn);
        if begun {
            self.drop_listed(cache);
        }
        begun
    }

    fn choose(&mut self, cache: &mut SubregionCache, FetchRequest { group, .. }: FetchRequest) -> Choice {
        if !self.activate(cache, group / self.region_groups) || !cache.subregions.has_room_for(group) {
            return Choice::Later;
        }
        if cache.subregions.state(group) == State::Loading {
            // The load may bring old entries, so the subregion has to be fetched again afterwards.
            return Choice::Later;
        }
        if self.host_control && cache.fetches.under_way() >= self.params.subregions.inflight_map_req {
            cache.subregions.invalidate(group);
            return Choice::Later;
        }
        Choice::Fetch
    }

    fn on_fetch(&mut self, _: &mut SubregionCache, request: FetchRequest, _: u32) {
        self.regions[(request.group / self.region_groups) as usize].dirty = false;
    }

    fn on_fetched(&mut self, _: &mut SubregionCache, _: u32, _: Option<u32>) {}
}

impl Retention for Regions {
    /// A multiple of the size of a region.
    fn usable_bytes(&mut self, cache: &SubregionCache, bytes: u64) -> u64 {
        let region = cache.subregions.bytes_each() * u64::from(self.region_groups);
        self.max_active = (bytes / region).clamp(1, self.regions.len() as u64) as usize;
        self.max_active as u64 * region
    }

    fn make_room(&mut self, cache: &mut SubregionCache) {
        while self.active > self.max_active {
            let idle = |&number: &u32| !self.is_loading(cache, number);
            let Some(victim) = self.lru.oldest_first().find(idle) else { return };
            self.evict(cache, victim);
        }
    }

    /// Drops regions that have not been read for long, and written regions that have not been read for a shorter time.
    fn on_tick(&mut self, cache: &mut SubregionCache) -> bool {
        let now = cache.now;
        let mut expired = Vec::new();
        for number in self.lru.oldest_first() {
            let region = &mut self.regions[number as usize];
            if now > region.timeout {
                region.expiries = region.expiries.saturating_sub(1);
                region.timeout = now + self.params.subregions.read_timeout();
                if region.dirty || region.expiries == 0 {
                    expired.push(number);
                }
            }
        }
        expired.into_iter().for_each(|number| self.list_inactive(cache, number));
        self.turn = true;
        true
    }
}

/// Counts of reads.
impl Regions {
    fn count_read(&mut self, cache: &mut SubregionCache, lpa: Lpa, len: u32) {
        let groups = cache.subregions.of(lpa, len);
        let first = groups.start() / self.region_groups;
        for group in groups {
            let number = group / self.region_groups;
            let region = &mut self.regions[number as usize];
            if region.active {
                region.timeout = cache.now + self.params.subregions.read_timeout();
                region.expiries = self.params.subregions.read_timeout_expiries;
            }
            region.reads += 1;
            if !std::mem::replace(&mut region.counted, true) {
                self.counted.push(number);
            }
            let reads = &mut self.reads[group as usize];
            *reads += 1;
            if *reads == self.params.subregions.activation_thld {
                self.want(cache, group);
            }
        }
        if self.regions[first as usize].reads > self.group_entries {
            self.normalize(cache);
        }
    }

    /// Divides all counts. An active region without reads is put on the list of regions to drop.
    fn normalize(&mut self, cache: &mut SubregionCache) {
        let mut counted = std::mem::take(&mut self.counted);
        counted.retain(|&number| {
            let groups = self.groups_of(number);
            let reads = &mut self.reads[groups.start as usize..groups.end as usize];
            reads.iter_mut().for_each(|reads| *reads >>= self.params.subregions.normalization_factor);
            let sum: u32 = reads.iter().sum();
            let region = &mut self.regions[number as usize];
            (region.reads, region.counted) = (sum, sum > 0);
            sum > 0
        });
        self.counted = counted;
        let unread: Vec<u32> = self.lru.oldest_first().filter(|&r| self.regions[r as usize].reads == 0).collect();
        unread.into_iter().for_each(|region| self.list_inactive(cache, region));
    }

    fn groups_of(&self, region: u32) -> std::ops::Range<u32> {
        let first = region * self.region_groups;
        first..(first + self.region_groups).min(self.reads.len() as u32)
    }
}

/// Lists of regions to fetch and to drop.
impl Regions {
    /// Requests a fetch of a subregion. Its region stays.
    fn want(&mut self, cache: &mut SubregionCache, group: u32) {
        cache.stats.rcmd_active_cnt += 1;
        self.regions[(group / self.region_groups) as usize].listed_to_drop = false;
        cache.fetches.want(group, Urgency::Counted);
    }

    /// Puts a region on the list of regions to drop, and cancels the fetches of its subregions.
    fn list_inactive(&mut self, cache: &mut SubregionCache, number: u32) {
        cache.stats.rcmd_inactive_cnt += 1;
        for group in self.groups_of(number) {
            cache.fetches.cancel(group);
        }
        if !std::mem::replace(&mut self.regions[number as usize].listed_to_drop, true) {
            self.to_inactivate.push_back(number);
        }
    }

    /// Drops the regions on the list. Regions with a fetch under way stay on it.
    fn drop_listed(&mut self, cache: &mut SubregionCache) {
        for _ in 0..self.to_inactivate.len() {
            let Some(number) = self.to_inactivate.pop_front() else { break };
            if !self.regions[number as usize].listed_to_drop {
                continue;
            }
            if self.is_loading(cache, number) {
                self.to_inactivate.push_back(number);
                continue;
            }
            self.regions[number as usize].listed_to_drop = false;
            if self.regions[number as usize].active {
                self.evict(cache, number);
            }
        }
    }
}

/// Active regions.
impl Regions {
    /// Makes a region active, in place of another one if necessary. False if it may not be.
    fn activate(&mut self, cache: &mut SubregionCache, number: u32) -> bool {
        if self.regions[number as usize].active {
            self.lru.touch(number);
            return true;
        }
        if self.active >= self.max_active {
            if self.host_control && self.regions[number as usize].reads < self.params.eviction_thld_enter {
                return false;
            }
            let evictable = |&victim: &u32| {
                let quiet = self.regions[victim as usize].reads <= self.params.eviction_thld_exit;
                !self.is_loading(cache, victim) && (quiet || !self.host_control)
            };
            let Some(victim) = self.lru.oldest_first().find(evictable) else { return false };
            self.evict(cache, victim);
        }
        self.lru.insert(number);
        self.active += 1;
        let region = &mut self.regions[number as usize];
        region.active = true;
        region.timeout = cache.now + self.params.subregions.read_timeout();
        region.expiries = self.params.subregions.read_timeout_expiries;
        true
    }

    fn is_loading(&self, cache: &SubregionCache, number: u32) -> bool {
        self.groups_of(number).any(|group| cache.subregions.state(group) == State::Loading)
    }

    fn evict(&mut self, cache: &mut SubregionCache, number: u32) {
        for group in self.groups_of(number) {
            if cache.subregions.slot(group).is_some() {
                cache.subregions.release(group);
            }
        }
        self.lru.remove(number);
        self.active -= 1;
        self.regions[number as usize].active = false;
        if self.host_control {
            cache.stats.umap_req_cnt += 1;
            cache.commands.push_back(Op::HpbInactivate { region: number });
        }
    }
}

#[cfg(test)]
#[path = "hpb_linux_tests.rs"]
mod tests;
