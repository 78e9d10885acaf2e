//! HPB with FOAM's eviction: what HPBvalve (Sec. 6.1) compares itself with, as "UFS+HPB".
//!
//! Subregions are fetched as Linux does it in host control mode, by counts of reads ([`ReadCounts`]). The memory has a
//! fixed maximum. When it is full, the subregion goes that stands oldest in the first of four partitions that holds one
//! (HPBvalve Sec. 3): by who referenced it last, an app in the foreground or in the background, and whether by read or
//! write. The section names the order of eviction as "BR, BW, FR, and FW" although it also says that reads precede
//! writes; the order that it spells out is taken. A timer drops what nobody has referenced for `read_timeout_ms` times
//! `read_timeout_expiries` (Sec. 6.2.2: "a simple timer-based eviction policy").

use super::subregion::params::{ReservedParams, SubregionParams};
use lists::Rings;
use params::ParamError;
use ufs::{DeviceInfo, Recommendation};
use units::{AppId, Nanos, SimTime};

use super::subregion::{
    Access, Choice, Keeping, Lookup, Policy, Quirks, ReadCounts, Setup, SubregionBooster, SubregionCache, Urgency, Wish,
};
use crate::app::AppSignal;

params::params! {
    /// `foam`: when subregions are fetched and dropped, and the memory for them.
    pub Params {
        with subregions: SubregionParams;
        with memory: ReservedParams;
    }
}

units::counters! {
    /// What only `foam` counts.
    FoamCounters
    /// Subregions dropped because nobody had used them for long.
    subregions_expired,
}

pub(crate) use super::hpb::{SPEAKS, smallest_limit};

/// All values go together.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster for a device that has just been attached. At most `limit` bytes may be used.
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

/// What is known of a slot.
#[derive(Clone, Copy, Default)]
struct Use {
    /// It is in the list of its partition: not while it is loading.
    listed: bool,
    /// The last reference.
    at: SimTime,
}

/// FOAM's policy.
pub(crate) struct Partitions {
    read_counts: ReadCounts,
    foreground: Option<AppId>,
    lists: Rings<u32, PARTITIONS>,
    uses: Vec<Use>,
    /// Partition of each subregion by its last reference.
    partitions: Vec<u8>,
    /// Time without reference after which a subregion is dropped.
    lifetime: Nanos,
    stats: FoamCounters,
}

impl Policy for Partitions {
    const QUIRKS: Quirks =
        Quirks { notes_writes_during_fetch: true, drops_failed_fetch: true, takes_single_entries: true };

    type Counters = FoamCounters;

    fn counters(&self) -> FoamCounters {
        self.stats
    }

    type Params = Params;

    fn setup(own: &Params) -> Setup {
        own.subregions.setup(own.memory.bytes())
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

    /// As in Linux, the host decides by itself about what it has written.
    fn on_recommendation(&mut self, cache: &mut SubregionCache, recommendation: &Recommendation) {
        for group in recommendation.activate.into_iter().flatten() {
            if cache.invalidated(group) {
                cache.stats.rcmd_active_cnt += 1;
                cache.fetches.want(group, Urgency::Counted);
            }
        }
    }

    fn choose(&mut self, cache: &mut SubregionCache, wish: Wish) -> Choice {
        Choice::by_room(cache.find_room(wish.group, |cache| self.evict(cache)))
    }

    fn on_fetch(&mut self, _: &mut SubregionCache, _: Wish, slot: u32) {
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

impl Keeping for Partitions {
    fn make_room(&mut self, cache: &mut SubregionCache) {
        while cache.subregions.is_over() && self.evict(cache) {}
    }

    /// Drops what nobody has referenced for long. Each partition is in the order of references, so only its oldest ones
    /// have to be looked at.
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
    /// A subregion goes to the young end of the partition of its last reference.
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

    /// Drops the subregion that has the lowest priority. False if there is none.
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
