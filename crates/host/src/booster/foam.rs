//! HPB with FOAM's eviction: what HPBvalve (Sec. 6.1) compares itself with, as "UFS+HPB".
//!
//! Subregions are fetched as Linux does it in host control mode, by counts of reads ([`ReadCounts`]). The memory has a
//! fixed maximum. When it is full, the oldest subregion of the first non-empty partition is evicted. There are four
//! partitions (HPBvalve Sec. 3), by the last reference: from an app in the foreground or background, by read or write.
//! The section names the order of eviction as "BR, BW, FR, and FW" although it also says that reads precede writes;
//! here the order that it spells out is used. A timer drops what no app has referenced for `read_timeout_ms` times
//! `read_timeout_expiries` (Sec. 6.2.2: "a simple timer-based eviction policy").

use super::subregion::params::{MemoryParams, SubregionParams};
use lists::Rings;
use params::ParamError;
use ufs::{DeviceInfo, Recommendation};
use units::{AppId, Nanos, SimTime};

use super::subregion::{
    Access, Choice, FetchRequest, Lookup, Policy, Quirks, ReadCounts, Retention, Setup, SubregionBooster,
    SubregionCache, Urgency,
};
use crate::app::AppSignal;

params::params! {
    /// `foam`: when subregions are fetched and dropped, and the memory for them.
    pub Params {
        with subregions: SubregionParams;
        with memory: MemoryParams;
    }
}

units::counters! {
    /// What only `foam` counts.
    FoamCounters
    /// Subregions dropped because they had not been used for long.
    subregions_expired,
}

pub(crate) use super::hpb::{SPEAKS, smallest_limit};

/// Every combination of values is allowed.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster for a device that has just been attached. It may use at most `limit` bytes.
pub(crate) fn attach(own: &Params, limit: u64, info: &DeviceInfo) -> Foam {
    Foam::new(own, limit, info)
}

/// HPB with FOAM's eviction.
pub(crate) type Foam = SubregionBooster<Partitions>;

/// Partitions in the order of eviction: BR, BW, FR, FW.
const PARTITIONS: usize = 4;

fn partition(foreground: bool, write: bool) -> u8 {
    2 * u8::from(foreground) + u8::from(write)
}

/// State of a slot.
#[derive(Clone, Copy, Hash, Default)]
struct Use {
    /// True if the slot is in the list of its partition. False while it is loading.
    listed: bool,
    /// Time of the last reference.
    at: SimTime,
}

/// FOAM's policy.
#[derive(Clone, Hash)]
pub(crate) struct Partitions {
    read_counts: ReadCounts,
    foreground: Option<AppId>,
    lists: Rings<u32, PARTITIONS>,
    uses: Vec<Use>,
    /// Partition of each subregion, by its last reference.
    partitions: Vec<u8>,
    /// Time without reference after which a subregion is dropped.
    lifetime: Nanos,
    stats: FoamCounters,
}

impl Policy for Partitions {
    const QUIRKS: Quirks = Quirks {
        notes_writes_during_fetch: true,
        drops_failed_fetch: true,
        takes_single_entries: true,
        fetches_all_at_once: false,
    };

    type Counters = FoamCounters;

    fn counters(&self) -> FoamCounters {
        self.stats
    }

    type Params = Params;

    fn setup(own: &Params) -> Setup {
        own.subregions.setup(&own.memory)
    }

    fn new(own: &Params, info: &DeviceInfo, subregions: u32) -> Partitions {
        let params = own.subregions;
        Partitions {
            read_counts: ReadCounts::new(subregions, &params, info.hpb_group_entries),
            foreground: None,
            lists: Rings::new(),
            uses: Vec::new(),
            partitions: vec![0; subregions as usize],
            lifetime: Nanos(params.read_timeout().0 * u64::from(params.read_timeout_expiries)),
            stats: FoamCounters::default(),
        }
    }

    #[inline]
    fn on_read(&mut self, cache: &mut SubregionCache, read: Access, lookup: Lookup) {
        if lookup == Lookup::TooLong {
            return;
        }
        let partition = partition(self.foreground == Some(read.app), false);
        for group in cache.subregions.of(read.lpa, read.len) {
            self.reference(cache, group, partition);
            let lacking = lookup == Lookup::Missing && cache.subregions.lacks(group);
            if self.read_counts.read(group) && lacking && cache.fetches.want(group, Urgency::Counted) {
                cache.stats.rcmd_active_cnt += 1;
            }
        }
    }

    fn on_change(&mut self, cache: &mut SubregionCache, change: Access) {
        let partition = partition(self.foreground == Some(change.app), true);
        for group in cache.subregions.of(change.lpa, change.len) {
            self.read_counts.reset(group);
            self.reference(cache, group, partition);
        }
    }

    /// The device's recommendation is ignored for subregions that the host has written, as in Linux.
    fn on_recommendation(&mut self, cache: &mut SubregionCache, recommendation: &Recommendation) {
        for group in recommendation.activate.into_iter().flatten() {
            if cache.invalidated(group) {
                cache.stats.rcmd_active_cnt += 1;
                cache.fetches.want(group, Urgency::Counted);
            }
        }
    }

    fn choose(&mut self, cache: &mut SubregionCache, request: FetchRequest) -> Choice {
        Choice::by_room(cache.find_room(request.group, |cache| self.evict(cache)))
    }

    fn on_fetch(&mut self, _: &mut SubregionCache, _: FetchRequest, slot: u32) {
        if self.uses.len() <= slot as usize {
            self.uses.resize(slot as usize + 1, Use::default());
        }
        self.unlist(slot);
    }

    fn on_fetched(&mut self, cache: &mut SubregionCache, group: u32, slot: Option<u32>) {
        let Some(slot) = slot else { return };
        self.uses[slot as usize] = Use { listed: true, at: cache.now };
        self.lists.push_newest(self.partitions[group as usize].into(), slot);
        cache.start_clock();
    }
}

impl Retention for Partitions {
    fn make_room(&mut self, cache: &mut SubregionCache) {
        while cache.subregions.is_over() && self.evict(cache) {}
    }

    /// Drops what no app has referenced for the lifetime. Each partition is in the order of references, so only its
    /// oldest slots have to be examined.
    fn on_tick(&mut self, cache: &mut SubregionCache) -> bool {
        for partition in 0..PARTITIONS {
            while let Some(slot) = self.lists.oldest(partition)
                && self.uses[slot as usize].at + self.lifetime <= cache.now
            {
                self.stats.subregions_expired += 1;
                self.release(cache, slot);
            }
        }
        cache.subregions.bytes() > 0
    }

    fn signal(&mut self, _: &mut SubregionCache, signal: AppSignal) {
        match signal {
            AppSignal::LaunchStart(app) => self.foreground = Some(app),
            AppSignal::Ended(app) if self.foreground == Some(app) => self.foreground = None,
            AppSignal::LaunchEnd(_) | AppSignal::Ended(_) => {}
        }
    }
}

impl Partitions {
    /// Moves a subregion to the young end of the partition of its last reference.
    fn reference(&mut self, cache: &SubregionCache, group: u32, partition: u8) {
        self.partitions[group as usize] = partition;
        let Some(slot) = cache.subregions.slot(group) else { return };
        let known = &mut self.uses[slot as usize];
        known.at = cache.now;
        if known.listed {
            self.lists.remove(slot);
            self.lists.push_newest(partition.into(), slot);
        }
    }

    /// Drops the subregion with the lowest priority. False if there is none.
    fn evict(&mut self, cache: &mut SubregionCache) -> bool {
        let oldest = (0..PARTITIONS).find_map(|partition| self.lists.oldest(partition));
        oldest.inspect(|&slot| self.release(cache, slot)).is_some()
    }

    fn release(&mut self, cache: &mut SubregionCache, slot: u32) {
        let group = cache.subregions.group(slot);
        self.unlist(slot);
        cache.subregions.release(group);
        self.read_counts.reset(group);
    }

    fn unlist(&mut self, slot: u32) {
        if std::mem::take(&mut self.uses[slot as usize].listed) {
            self.lists.remove(slot);
        }
    }
}

#[cfg(test)]
#[path = "foam_tests.rs"]
mod tests;
