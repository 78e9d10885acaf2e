//! The traits of a policy over cached subregions: when to fetch ([`Policy`]) and what to drop ([`Retention`]).

use ufs::{DeviceInfo, Recommendation};
use units::{AppId, CounterSet, Lpa};

use super::cache::{Setup, SubregionCache};
use super::fetches::FetchRequest;
use crate::app::AppSignal;

/// Differences of the modelled drivers beyond fetching and dropping.
#[derive(Clone, Hash)]
pub(crate) struct Quirks {
    /// Blocks that the host writes during a READ BUFFER are dirty afterwards.
    pub notes_writes_during_fetch: bool,
    /// A failed READ BUFFER drops the subregion. Otherwise it counts as one without entries.
    pub drops_failed_fetch: bool,
    /// The host uses single entries in responses (HPB 2017).
    pub takes_single_entries: bool,
    /// All fetches that may be sent are decided on at once. Otherwise it is the next one when a command may go out.
    pub fetches_all_at_once: bool,
}

/// A request of the block layer, or a part of it that fits a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub lpa: Lpa,
    pub len: u32,
    /// The app that has issued it.
    pub app: AppId,
}

/// What the host has cached for a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    /// An entry, which is sent with the read.
    Entry,
    /// No entry, or not entries for all blocks.
    Missing,
    /// The read is longer than HPB supports.
    TooLong,
}

/// Decision about the next fetch in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// It is fetched now. It has a slot, or one is free.
    Fetch,
    /// It is not fetched. The next one may be.
    Skip,
    /// It stays the first of its queue, and nothing is fetched now.
    Later,
}

impl Choice {
    /// Fetch if there is room, else skip.
    pub fn by_room(room: bool) -> Choice {
        if room { Choice::Fetch } else { Choice::Skip }
    }
}

/// Decisions when to fetch. The policy requests fetches in `cache.fetches`; the booster sends them.
pub(crate) trait Policy: Retention + Sized {
    const QUIRKS: Quirks;

    /// Its own counters; declared with [`units::counters!`].
    type Counters: CounterSet;

    /// The present values of its own counters.
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

    /// The device has reported changed entries, or recommends what to cache.
    fn on_recommendation(&mut self, cache: &mut SubregionCache, recommendation: &Recommendation);

    /// Asked before each fetch. False if nothing is to be fetched now.
    fn before_fetch(&mut self, _cache: &mut SubregionCache) -> bool {
        true
    }

    /// Decides about the next fetch. Before it gives [`Choice::Fetch`], it makes room if the subregion needs any.
    fn choose(&mut self, cache: &mut SubregionCache, request: FetchRequest) -> Choice;

    /// READ BUFFER has been sent for the subregion in this slot.
    fn on_fetch(&mut self, cache: &mut SubregionCache, request: FetchRequest, slot: u32);

    /// READ BUFFER has been answered. `slot` is `None` if the subregion has been dropped.
    fn on_fetched(&mut self, cache: &mut SubregionCache, group: u32, slot: Option<u32>);
}

/// Decisions what to drop.
pub(crate) trait Retention {
    /// The part of a limit of `bytes` that the policy can use.
    fn usable_bytes(&mut self, _cache: &SubregionCache, bytes: u64) -> u64 {
        bytes
    }

    /// Drops what the limit does not allow any more, as far as possible now. Called again after each fetch.
    fn make_room(&mut self, cache: &mut SubregionCache);

    /// The polling clock has ticked. True if it has to continue.
    fn on_tick(&mut self, _cache: &mut SubregionCache) -> bool {
        false
    }

    /// The state of an app has changed.
    fn signal(&mut self, _cache: &mut SubregionCache, _signal: AppSignal) {}

    /// See [`Apps::reclaim`](crate::booster::Apps::reclaim).
    fn reclaim(&mut self, _cache: &mut SubregionCache, _victim: AppId, _bytes: u64) -> u64 {
        0
    }

    /// Memory that the policy takes from the phone beside the cache, in bytes.
    fn memory_bytes(&self) -> u64 {
        0
    }
}
