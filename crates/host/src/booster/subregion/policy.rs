//! What a policy over cached subregions is asked: when to fetch ([`Policy`]) and what to keep ([`Keeping`]).

use ufs::{DeviceInfo, Recommendation};
use units::{AppId, CounterSet, Lpa};

use super::cache::{Setup, SubregionCache};
use super::fetches::Wish;
use crate::app::AppSignal;

/// In what the drivers that are modelled differ, beyond what they fetch and drop.
pub(crate) struct Quirks {
    /// What the host writes during a READ BUFFER is dirty afterwards.
    pub notes_writes_during_fetch: bool,
    /// A failed READ BUFFER drops the subregion. Otherwise it passes for one without entries.
    pub drops_failed_fetch: bool,
    /// Single entries in responses (HPB 2017) are taken in.
    pub takes_single_entries: bool,
}

/// A request of the block layer, or a command's length of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub lpa: Lpa,
    pub len: u32,
    /// Who asked.
    pub app: AppId,
}

/// What the host had for a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    /// An entry that goes along.
    Entry,
    /// No entry, or not of all blocks.
    Missing,
    /// The read is longer than HPB supports.
    TooLong,
}

/// What becomes of a subregion that is next in the queue of fetches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// It is fetched now. It has a slot, or one is free.
    Fetch,
    /// It is not fetched. The next one may be.
    Skip,
    /// It goes to the end of the queue, and nothing is fetched now.
    Later,
}

impl Choice {
    /// To fetch if there is room, to skip otherwise.
    pub fn by_room(room: bool) -> Choice {
        if room { Choice::Fetch } else { Choice::Skip }
    }
}

/// When to fetch. The policy wishes in `cache.fetches`; the booster sends.
pub(crate) trait Policy: Keeping + Sized {
    const QUIRKS: Quirks;

    /// What only it counts; declared with [`units::counters!`].
    type Counters: CounterSet;

    /// What only it has counted.
    fn counters(&self) -> Self::Counters;

    /// Its parameters; declared with [`params::params!`].
    type Params;

    /// The settings of the cache.
    fn setup(own: &Self::Params) -> Setup;

    /// A policy for a device with `subregions` subregions, none of which is cached.
    fn new(own: &Self::Params, info: &DeviceInfo, subregions: u32) -> Self;

    /// A read is about to be sent.
    fn on_read(&mut self, cache: &mut SubregionCache, read: Access, lookup: Lookup);

    /// A write or trim is about to be sent. Its blocks are dirty already.
    fn on_change(&mut self, cache: &mut SubregionCache, change: Access);

    /// The device has said that entries have changed, or what should be cached.
    fn on_recommendation(&mut self, cache: &mut SubregionCache, recommendation: &Recommendation);

    /// Asked before each fetch. False if nothing is to be fetched now.
    fn before_fetch(&mut self, _cache: &mut SubregionCache) -> bool {
        true
    }

    /// A subregion is next. Before [`Choice::Fetch`] the policy makes room for it if it needs any.
    fn choose(&mut self, cache: &mut SubregionCache, wish: Wish) -> Choice;

    /// READ BUFFER is sent. The subregion has this slot.
    fn on_fetch(&mut self, cache: &mut SubregionCache, wish: Wish, slot: u32);

    /// READ BUFFER has been answered. `slot` is `None` if the subregion has been dropped.
    fn on_fetched(&mut self, cache: &mut SubregionCache, group: u32, slot: Option<u32>);
}

/// What is kept in memory, and for whom.
pub(crate) trait Keeping {
    /// Bytes of a limit of `bytes` that the policy can use.
    fn usable_bytes(&mut self, _cache: &SubregionCache, bytes: u64) -> u64 {
        bytes
    }

    /// Drops what the limit does not allow any more, as far as it can be dropped now. Asked again after each fetch.
    fn make_room(&mut self, cache: &mut SubregionCache);

    /// The polling clock has run out. True if it is to run again.
    fn on_tick(&mut self, _cache: &mut SubregionCache) -> bool {
        false
    }

    /// The state of an app has changed.
    fn signal(&mut self, _cache: &mut SubregionCache, _signal: AppSignal) {}

    /// See [`Apps::reclaim`](crate::booster::Apps::reclaim).
    fn reclaim(&mut self, _cache: &mut SubregionCache, _victim: AppId, _bytes: u64) -> u64 {
        0
    }

    /// Bytes that the policy takes from the phone beside the cache.
    fn memory_bytes(&self) -> u64 {
        0
    }
}
