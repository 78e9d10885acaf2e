//! The state that the booster and its policy share.

use std::collections::VecDeque;

use ufs::{DeviceInfo, Op};
use units::{Nanos, SimTime};

use super::fetches::Fetches;
use super::slots::Subregions;
use crate::booster::hpb::HpbCounters;
use crate::booster::seat::Usage;

units::counters! {
    /// What boosters with subregions count. The first have their names in `hpb_stats` of Linux.
    SubregionCounters
    /// Reads sent with an entry.
    hit_cnt,
    /// Reads of a supported length sent without.
    miss_cnt,
    /// Recommendations received.
    rcmd_noti_cnt,
    /// Subregions put on the list of subregions to fetch, recommended by the device or not.
    rcmd_active_cnt,
    /// Regions put on the list of those to be dropped.
    rcmd_inactive_cnt,
    /// READ BUFFER commands sent.
    map_req_cnt,
    /// WRITE BUFFER commands sent to drop a region.
    umap_req_cnt,
    /// Subregions evicted for another one.
    subregions_evicted,
    /// Fetches given up because nothing could be evicted.
    subregions_refused,
}

/// Settings of the cache.
pub(crate) struct Setup {
    /// READ BUFFER commands under way at a time (`inflight_map_req`).
    pub fetches_at_a_time: u32,
    /// Memory that is taken from boot on, used or not. `None`: all that the limit allows.
    pub reserved_bytes: Option<u64>,
    /// Subregions are dropped while a phone is short of memory.
    pub shrinks: bool,
    /// Time between two ticks of the polling clock.
    pub polling_interval: Nanos,
}

/// The state that the booster lends to its policy.
#[derive(Clone, Hash)]
pub(crate) struct SubregionCache {
    /// The time of the last request, response or tick. Signals of apps do not count.
    pub now: SimTime,
    pub subregions: Subregions,
    pub fetches: Fetches,
    /// Commands that have been decided on, in order.
    pub commands: VecDeque<Op>,
    pub stats: SubregionCounters,
    pub hpb: HpbCounters,
    /// Hits and misses.
    pub usage: Usage,
    reserved: Option<u64>,
    pub shrinks: bool,
    polling_interval: Nanos,
    next_tick: Option<SimTime>,
}

impl SubregionCache {
    /// Nothing is cached or requested, and the clock is stopped.
    pub fn new(info: &DeviceInfo, setup: &Setup, notes_writes_during_fetch: bool) -> SubregionCache {
        let subregions = Subregions::new(info, notes_writes_during_fetch);
        SubregionCache {
            now: SimTime::START,
            fetches: Fetches::new(subregions.count(), setup.fetches_at_a_time),
            subregions,
            commands: VecDeque::new(),
            stats: SubregionCounters::default(),
            hpb: HpbCounters::default(),
            usage: Usage::default(),
            reserved: setup.reserved_bytes,
            shrinks: setup.shrinks,
            polling_interval: setup.polling_interval,
            next_tick: None,
        }
    }

    /// Starts the polling clock, unless it runs already.
    pub fn start_clock(&mut self) {
        self.next_tick.get_or_insert(self.now + self.polling_interval);
    }

    /// Stops the polling clock.
    pub fn stop_clock(&mut self) {
        self.next_tick = None;
    }

    /// Restarts the polling clock.
    pub fn restart_clock(&mut self) {
        self.next_tick = Some(self.now + self.polling_interval);
    }

    /// Time of the next tick of the polling clock.
    pub fn next_tick(&self) -> Option<SimTime> {
        self.next_tick
    }

    /// Makes room for a subregion if it needs any. `evict` drops one and tells whether it did. True if there is room.
    pub fn find_room(&mut self, group: u32, evict: impl FnOnce(&mut SubregionCache) -> bool) -> bool {
        if self.subregions.has_room_for(group) {
            return true;
        }
        let evicted = evict(self);
        self.stats.subregions_evicted += u64::from(evicted);
        self.stats.subregions_refused += u64::from(!evicted);
        evicted
    }

    /// The device has reported changed entries of a subregion; they are not used any more. True if they were used until
    /// now and the host has not written there itself: then the policy may fetch them again.
    pub fn invalidated(&mut self, group: u32) -> bool {
        self.stats.rcmd_noti_cnt += 1;
        self.hpb.hpb_dirty_notices += 1;
        group < self.subregions.count() && self.subregions.invalidate(group) && !self.subregions.is_dirty(group)
    }

    /// Bytes that are taken from the phone.
    pub fn memory_bytes(&self) -> u64 {
        self.subregions.bytes_taken(self.reserved)
    }
}
