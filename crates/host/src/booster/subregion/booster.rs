//! The booster that caches subregions as its policy decides.

use std::collections::VecDeque;

use ufs::{DeviceInfo, HpbNotice, Op, Recommendation, Response};
use units::{AppId, Lpa, SimTime};

use super::cache::{SubregionCache, SubregionCounters};
use super::fetches::FetchRequest;
use super::policy::{Access, Choice, Lookup, Policy};
use crate::app::AppSignal;
use crate::booster::hpb::HpbCounters;
use crate::booster::seat::{
    Apps, Booster, Counted, HostMemory, Internal, OwnCommands, Step, Tamper, Usage, entries_in, plain,
};
use crate::request::{Part, RequestOp};

/// A booster with policy `P`.
#[derive(Clone, Hash)]
pub(crate) struct SubregionBooster<P> {
    pub(crate) cache: SubregionCache,
    pub(crate) policy: P,
}

impl<P: Policy> Booster for SubregionBooster<P> {
    #[inline]
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step {
        self.cache.now = now;
        let access = Access { lpa: part.lpa, len: part.len.min(max_units), app: part.app };
        match part.op {
            RequestOp::Read => {
                if let Some(entry) = self.read(access) {
                    let Access { lpa, len, .. } = access;
                    return Step::Send { op: Op::HpbRead { lpa, len, entry }, units: len };
                }
            }
            RequestOp::Write { .. } | RequestOp::Unmap => {
                self.cache.subregions.changed(access.lpa, access.len);
                self.policy.on_change(&mut self.cache, access);
            }
            RequestOp::Flush => {}
        }
        plain(part, max_units)
    }

    #[inline]
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, _: &mut VecDeque<Part>) {
        self.cache.now = now;
        if let Op::HpbReadBuffer { group } = *op {
            let sealed = entries_in(response);
            self.fetched(group, sealed);
        }
        match response.hpb {
            HpbNotice::None => {}
            HpbNotice::Entry { lpa, entry } if P::QUIRKS.takes_single_entries => {
                self.cache.hpb.hpb_entries += 1;
                self.cache.subregions.take_entry(lpa, entry);
            }
            HpbNotice::Entry { .. } => {}
            HpbNotice::DirtyGroup(group) => {
                let recommendation = Recommendation { activate: [Some(group), None], inactivate: [None; 2] };
                self.policy.on_recommendation(&mut self.cache, &recommendation);
            }
            HpbNotice::Recommend(recommendation) => {
                self.policy.on_recommendation(&mut self.cache, &recommendation);
            }
        }
    }
}

impl<P: Policy> Counted for SubregionBooster<P> {
    type Counters = (HpbCounters, SubregionCounters, P::Counters);

    fn counters(&self) -> Self::Counters {
        (self.cache.hpb, self.cache.stats, self.policy.counters())
    }

    fn usage(&self) -> Usage {
        let (dram_bytes, dram_bytes_limit) = (self.cache.subregions.bytes(), self.cache.subregions.limit_bytes());
        Usage { dram_bytes, dram_bytes_limit, ..self.cache.usage }
    }
}

impl<P: Policy> SubregionBooster<P> {
    /// A booster for a device that has just been attached. It may use at most `limit` bytes.
    pub fn new(own: &P::Params, limit: u64, info: &DeviceInfo) -> SubregionBooster<P> {
        let cache = SubregionCache::new(info, &P::setup(own), P::QUIRKS.notes_writes_during_fetch);
        let policy = P::new(own, info, cache.subregions.count());
        let mut booster = SubregionBooster { cache, policy };
        booster.set_limit(limit);
        booster
    }

    /// The entry to send with a read.
    #[inline]
    fn read(&mut self, read: Access) -> Option<u64> {
        let Access { lpa, len, .. } = read;
        if !self.cache.subregions.supports(len) {
            self.cache.usage.misses += 1;
            self.policy.on_read(&mut self.cache, read, Lookup::TooLong);
            return None;
        }
        let entry = self.cache.subregions.entry_for(lpa, len);
        let lookup = if entry.is_some() { Lookup::Entry } else { Lookup::Missing };
        self.policy.on_read(&mut self.cache, read, lookup);
        count_lookup(&mut self.cache, entry.is_some());
        entry
    }

    /// Sends the next fetch for which the policy finds room. False if there is none.
    fn fetch_next(&mut self) -> bool {
        while let Some(request) = self.cache.fetches.pop() {
            match self.policy.choose(&mut self.cache, request) {
                Choice::Fetch => {
                    self.fetch(request);
                    return true;
                }
                Choice::Skip => {}
                Choice::Later => {
                    self.cache.fetches.put_back(request);
                    return false;
                }
            }
        }
        false
    }

    fn fetch(&mut self, request: FetchRequest) {
        let slot = self.cache.subregions.start_load(request.group);
        self.cache.fetches.sent();
        self.cache.stats.map_req_cnt += 1;
        self.cache.hpb.hpb_read_buffers += 1;
        self.policy.on_fetch(&mut self.cache, request, slot);
        self.cache.commands.push_back(Op::HpbReadBuffer { group: request.group });
    }

    /// READ BUFFER has ended; `None` if it has failed.
    fn fetched(&mut self, group: u32, sealed: Option<Vec<u64>>) {
        self.cache.fetches.answered();
        let sealed = if P::QUIRKS.drops_failed_fetch { sealed } else { Some(sealed.unwrap_or_default()) };
        let slot = self.cache.subregions.loaded(group, sealed);
        self.policy.on_fetched(&mut self.cache, group, slot);
        self.policy.make_room(&mut self.cache);
    }
}

/// Counts a read of a length that HPB supports, as sent with an entry or without.
#[inline]
fn count_lookup(cache: &mut SubregionCache, hit: bool) {
    let (hit, miss) = (u64::from(hit), u64::from(!hit));
    cache.stats.hit_cnt += hit;
    cache.hpb.hpb_reads += hit;
    cache.usage.hits += hit;
    cache.stats.miss_cnt += miss;
    cache.usage.misses += miss;
}

impl<P: Policy> OwnCommands for SubregionBooster<P> {
    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        if self.cache.commands.is_empty() && self.policy.before_fetch(&mut self.cache) {
            while self.fetch_next() && P::QUIRKS.fetches_all_at_once {}
        }
        self.cache.commands.pop_front().map(Internal::from)
    }

    /// Advances the polling clock. Resulting commands are sent next.
    fn lazy(&mut self, now: SimTime, _: Option<SimTime>) -> Option<Internal> {
        if self.cache.next_tick()? > now {
            return None;
        }
        self.cache.now = now;
        if self.policy.on_tick(&mut self.cache) {
            self.cache.restart_clock();
        } else {
            self.cache.stop_clock();
        }
        self.urgent()
    }

    fn next_wake(&self, _: Option<SimTime>) -> Option<SimTime> {
        self.cache.next_tick()
    }
}

impl<P: Policy> HostMemory for SubregionBooster<P> {
    fn set_limit(&mut self, bytes: u64) {
        let usable = self.policy.usable_bytes(&self.cache, bytes);
        self.cache.subregions.set_limit(usable);
        self.policy.make_room(&mut self.cache);
    }

    fn memory_bytes(&self) -> u64 {
        self.cache.memory_bytes() + self.policy.memory_bytes()
    }

    fn fixed_bytes(&self) -> u64 {
        self.policy.memory_bytes()
    }

    fn follows_pressure(&self) -> bool {
        self.cache.shrinks
    }
}

impl<P: Policy> Apps for SubregionBooster<P> {
    fn signal(&mut self, _: SimTime, signal: AppSignal) {
        self.policy.signal(&mut self.cache, signal);
    }

    fn reclaim(&mut self, _: SimTime, victim: AppId, bytes: u64) -> u64 {
        self.policy.reclaim(&mut self.cache, victim, bytes)
    }
}

impl<P: Policy> Tamper for SubregionBooster<P> {
    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        self.cache.subregions.tamper_sealed(lpa, entry)
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        self.cache.subregions.sealed(lpa)
    }
}
