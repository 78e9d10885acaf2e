//! HPBvalve (FAST 2023, Sec. 5): the app in the foreground has priority, and memory is given back before an app is
//! killed.
//!
//! - **Lists** (L2P-Manager): see [`super::app_lists`]. A subregion of BG or IFG that the foreground app references
//!   moves to AFG. A subregion of IFG that another app references moves to IFG's young end if that app was used
//!   recently, else to BG.
//! - **Fetches**, in this order: misses of the foreground app; the launch list of an app that is being launched; its
//!   running list; subregions that the counters of Linux select. Prefetched subregions enter AFG at its *old* end.
//! - **Profiles** (FG-Profiler): see [`super::profiles`].
//! - **Eviction**: the oldest of BG, then of IFG. AFG is never evicted; a fetch that finds no other victim is given up.
//! - **Reclaim** (HPB-Regulator): when an app that was used recently is about to be killed, BG and IFG give back as
//!   many bytes as its end would free. For any other app they give back nothing.

use super::subregion::params::{MemoryParams, SubregionParams};
use params::ParamError;
use ufs::{DeviceInfo, Recommendation};
use units::AppId;

use super::app_lists::{AFG, AppLists, BG, IFG};
use super::profiles::{AppCounters, Phase, ProfileParams, Profiles};
use super::subregion::{
    Access, Choice, FetchRequest, Lookup, Policy, Quirks, ReadCounts, Retention, Setup, State, SubregionBooster,
    SubregionCache, Urgency,
};
use crate::app::AppSignal;

params::params! {
    /// `hpbvalve`: when subregions are fetched, and what is remembered of apps.
    pub Params {
        with subregions: SubregionParams;
        with profiles: ProfileParams;
        /// The lists of an app are fetched when it is launched. Off: what it misses in front, and nothing beforehand.
        prefetch: switch = true, "HPBvalve Sec. 5.2: the launch list, then the running list";
        /// Entries of an app stay when it leaves the front. Off: they are dropped.
        keeps_left: switch = true, "HPBvalve Sec. 5.2: they go to the list of inactive apps";
        /// Memory is given back when an app is about to be killed.
        gives_back: switch = true, "HPBvalve Sec. 5.3";
    }
}

pub(crate) use super::hpb::{SPEAKS, smallest_limit};

/// Every combination of values is allowed.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster for a device that has just been attached. It may use at most `limit` bytes.
pub(crate) fn attach(own: &Params, limit: u64, info: &DeviceInfo) -> Hpbvalve {
    Hpbvalve::new(own, limit, info)
}

/// HPBvalve.
pub(crate) type Hpbvalve = SubregionBooster<Valve>;

/// A fetch under way.
#[derive(Clone, Copy, Hash, Debug)]
struct Loading {
    group: u32,
    /// No app has referenced it since the fetch was requested.
    prefetched: bool,
    /// The session in the foreground to which it belongs; `None` for subregions that go into BG.
    session: Option<u32>,
}

/// HPBvalve's policy.
#[derive(Clone, Hash)]
pub(crate) struct Valve {
    read_counts: ReadCounts,
    loading: Vec<Loading>,
    phase: Phase,
    lists: AppLists,
    profiles: Profiles,
    prefetches: bool,
    keeps_left: bool,
    gives_back: bool,
    stats: AppCounters,
}

fn is_prefetch(urgency: Urgency) -> bool {
    matches!(urgency, Urgency::Launch | Urgency::Running)
}

impl Policy for Valve {
    const QUIRKS: Quirks = Quirks {
        notes_writes_during_fetch: true,
        drops_failed_fetch: true,
        takes_single_entries: true,
        fetches_all_at_once: false,
    };

    type Counters = AppCounters;

    fn counters(&self) -> AppCounters {
        AppCounters { hpbvalve_profile_bytes: self.profiles.bytes(), ..self.stats }
    }

    type Params = Params;

    fn setup(own: &Params) -> Setup {
        own.subregions.setup(&MemoryParams::NONE)
    }

    fn new(own: &Params, info: &DeviceInfo, subregions: u32) -> Valve {
        Valve {
            read_counts: ReadCounts::new(subregions, &own.subregions, info.hpb_group_entries),
            loading: Vec::new(),
            phase: Phase::Running,
            lists: AppLists::new(),
            profiles: Profiles::new(own.profiles.limits()),
            prefetches: own.prefetch,
            keeps_left: own.keeps_left,
            gives_back: own.gives_back,
            stats: AppCounters::default(),
        }
    }

    #[inline]
    fn on_read(&mut self, cache: &mut SubregionCache, read: Access, lookup: Lookup) {
        let in_front = self.lists.foreground() == Some(read.app);
        for group in cache.subregions.of(read.lpa, read.len) {
            let counted = self.read_counts.read(group);
            self.reference(cache, group, read.app);
            if in_front {
                self.profiles.record(self.phase, group);
            }
            if lookup == Lookup::Missing && cache.subregions.lacks(group) {
                if in_front {
                    cache.fetches.want(group, Urgency::Missed);
                } else if counted && cache.fetches.want(group, Urgency::Counted) {
                    cache.stats.rcmd_active_cnt += 1;
                }
            }
        }
    }

    fn on_change(&mut self, cache: &mut SubregionCache, change: Access) {
        for group in cache.subregions.of(change.lpa, change.len) {
            self.read_counts.reset(group);
            self.reference(cache, group, change.app);
        }
    }

    /// A subregion with changes is fetched again when it is needed. One of the foreground app, unless the host has
    /// written there itself, is fetched at once.
    fn on_recommendation(&mut self, cache: &mut SubregionCache, recommendation: &Recommendation) {
        for group in recommendation.activate.into_iter().flatten() {
            if cache.invalidated(group) && cache.subregions.slot(group).is_some_and(|slot| self.lists.is_active(slot)) {
                cache.fetches.want(group, Urgency::Missed);
            }
        }
    }

    fn choose(&mut self, cache: &mut SubregionCache, FetchRequest { group, urgency }: FetchRequest) -> Choice {
        let usable = cache.subregions.state(group) == State::Valid && !cache.subregions.is_dirty(group);
        if is_prefetch(urgency) && usable {
            return Choice::Skip;
        }
        Choice::by_room(cache.find_room(group, |cache| self.evict(cache)))
    }

    fn on_fetch(&mut self, _: &mut SubregionCache, FetchRequest { group, urgency }: FetchRequest, slot: u32) {
        // A refresh does not change the session.
        let session = match urgency {
            Urgency::Counted => self.lists.session_of(slot),
            _ => Some(self.lists.session()),
        };
        self.lists.unlist(slot);
        self.loading.push(Loading { group, prefetched: is_prefetch(urgency), session });
        match urgency {
            Urgency::Missed => self.stats.hpbvalve_miss_fetches += 1,
            Urgency::Launch => self.stats.hpbvalve_launch_fetches += 1,
            Urgency::Running => self.stats.hpbvalve_running_fetches += 1,
            Urgency::Counted => {}
        }
    }

    fn on_fetched(&mut self, _: &mut SubregionCache, group: u32, slot: Option<u32>) {
        let at = self.loading.iter().position(|loading| loading.group == group);
        let loading = self.loading.swap_remove(at.expect("what comes has been asked for"));
        let Some(slot) = slot else { return };
        match loading.session {
            Some(session) if self.lists.is_current(session) => self.lists.place(slot, AFG, loading.prefetched),
            Some(_) => self.lists.place(slot, IFG, false),
            None => self.lists.place(slot, BG, false),
        }
    }
}

impl Retention for Valve {
    /// Under a lowered limit AFG is evicted, too.
    fn make_room(&mut self, cache: &mut SubregionCache) {
        while cache.subregions.is_over() {
            if !self.evict(cache) {
                let Some(slot) = self.lists.oldest(AFG) else { return };
                self.release(cache, slot);
            }
        }
    }

    fn signal(&mut self, cache: &mut SubregionCache, signal: AppSignal) {
        match signal {
            AppSignal::LaunchStart(app) => self.launch(cache, app),
            AppSignal::LaunchEnd(app) if self.lists.foreground() == Some(app) => self.phase = Phase::Running,
            AppSignal::Ended(app) if self.lists.foreground() == Some(app) => self.leave(cache),
            AppSignal::LaunchEnd(_) | AppSignal::Ended(_) => {}
        }
    }

    /// Sec. 5.3: "if the victim app is not found in the per-app L2P profiling list [...] the signal is ignored".
    fn reclaim(&mut self, cache: &mut SubregionCache, victim: AppId, bytes: u64) -> u64 {
        if !self.gives_back || !self.profiles.knows(victim) {
            return 0;
        }
        let each = cache.subregions.bytes_each();
        let mut freed = 0;
        while freed < bytes && self.evict(cache) {
            freed += each;
        }
        self.stats.hpbvalve_reclaimed_bytes += freed;
        self.stats.hpbvalve_reclaims_short += u64::from(freed < bytes);
        freed
    }

    fn memory_bytes(&self) -> u64 {
        self.profiles.bytes()
    }
}

/// The three lists.
impl Valve {
    fn reference(&mut self, cache: &SubregionCache, group: u32, app: AppId) {
        let Some(slot) = cache.subregions.slot(group) else { return };
        if cache.subregions.state(group) != State::Loading {
            let profiles = &self.profiles;
            self.lists.reference(slot, app, || profiles.knows(app));
        } else if self.lists.foreground() == Some(app)
            && let Some(loading) = self.loading.iter_mut().find(|loading| loading.group == group)
        {
            loading.prefetched = false;
            loading.session = Some(self.lists.session());
        }
    }

    /// Drops the oldest subregion of BG, else of IFG. False if there is none.
    fn evict(&mut self, cache: &mut SubregionCache) -> bool {
        let oldest = self.lists.oldest(BG).or_else(|| self.lists.oldest(IFG));
        oldest.inspect(|&slot| self.release(cache, slot)).is_some()
    }

    fn release(&mut self, cache: &mut SubregionCache, slot: u32) {
        let group = cache.subregions.group(slot);
        self.lists.unlist(slot);
        cache.subregions.release(group);
        self.read_counts.reset(group);
    }
}

/// Apps.
impl Valve {
    fn launch(&mut self, cache: &mut SubregionCache, app: AppId) {
        if self.lists.enter(app) {
            cancel_app_fetches(cache);
            while !self.keeps_left
                && let Some(slot) = self.lists.oldest(IFG)
            {
                self.release(cache, slot);
            }
        }
        self.phase = Phase::Launch;
        self.profiles.launched(app);
        if !self.prefetches {
            return;
        }
        for (phase, urgency) in [(Phase::Launch, Urgency::Launch), (Phase::Running, Urgency::Running)] {
            let listed: Vec<u32> = self.profiles.list(phase).collect();
            listed.into_iter().for_each(|group| self.prefetch(cache, FetchRequest { group, urgency }));
        }
    }

    fn leave(&mut self, cache: &mut SubregionCache) {
        self.lists.leave();
        self.phase = Phase::Running;
        self.profiles.left();
        cancel_app_fetches(cache);
    }

    /// Requests a fetch of a subregion of an app that is being launched. If it is cached already, it moves to AFG.
    fn prefetch(&mut self, cache: &mut SubregionCache, FetchRequest { group, urgency }: FetchRequest) {
        if cache.subregions.lacks(group) {
            cache.fetches.want(group, urgency);
        }
        if let Some(slot) = cache.subregions.slot(group)
            && cache.subregions.state(group) != State::Loading
            && !self.lists.is_active(slot)
        {
            self.lists.place(slot, AFG, true);
        }
    }
}

/// Cancels the fetches for the app that was in the foreground.
fn cancel_app_fetches(cache: &mut SubregionCache) {
    [Urgency::Missed, Urgency::Launch, Urgency::Running]
        .into_iter()
        .for_each(|urgency| cache.fetches.cancel_all(urgency));
}

#[cfg(test)]
#[path = "hpbvalve_tests.rs"]
mod tests;
