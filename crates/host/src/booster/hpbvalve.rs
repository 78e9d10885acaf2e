//! HPBvalve (FAST 2023, Sec. 5): the app in the foreground comes first, and memory is given back before an app is killed.
//!
//! - **Lists** (L2P-Manager): see [`super::app_lists`]. A subregion of BG or IFG that the foreground app references is promoted to AFG; one of IFG
//!   that another app references goes to IFG's young end if that app is one of those used last, else to BG.
//! - **Fetches**. What the foreground app misses is fetched at once; then the launch list of an app that is being launched,
//!   then its running list; then what the counters of Linux ask for. What was prefetched enters AFG at its *old* end.
//! - **Profiles** (FG-Profiler): see [`super::profiles`].
//! - **Eviction**: the oldest of BG, then of IFG. AFG is never evicted; a fetch that finds nothing else is given up.
//! - **Reclaim** (HPB-Regulator): when an app that was used lately is about to be killed, as many bytes as its end would bring
//!   are given back from BG and IFG; for any other app nothing is.

use std::collections::VecDeque;

use ufs::{DeviceInfo, HpbNotice, Op, Response};
use units::{AppId, Lpa, SimTime};

use super::app_lists::{AFG, AppLists, BG, IFG};
use super::counters::Counters;
use super::fetches::Fetches;
use super::profiles::{Phase, Profiles};
use super::seat::{self, Apps, Booster, HostMemory, Internal, OwnCommands, Step, plain};
use super::subregions::{State, Subregions};
use super::tamper::Tamper;
use crate::app::AppSignal;
use crate::config::HostConfig;
use crate::request::{Part, RequestOp};
use crate::stats::HostStats;

/// Classes of fetches in the order of urgency.
const MISS: usize = 0;
const LAUNCH: usize = 1;
const RUNNING: usize = 2;
const COUNTED: usize = 3;

/// A fetch under way.
#[derive(Clone, Copy, Debug)]
struct Loading {
    group: u32,
    class: usize,
    /// Which app was in the foreground when it belonged to one; `None` for what goes into BG.
    session: Option<u32>,
}

/// HPBvalve.
pub(crate) struct Hpbvalve {
    subregions: Subregions,
    counters: Counters,
    fetches: Fetches<4>,
    loading: Vec<Loading>,
    phase: Phase,
    lists: AppLists,
    profiles: Profiles,
    stats: HostStats,
}

impl Booster for Hpbvalve {
    fn attach(config: &HostConfig, info: &DeviceInfo) -> Hpbvalve {
        let subregions = Subregions::new(info, true);
        let (groups, params) = (subregions.count(), config.hpb_params);
        let mut hpbvalve = Hpbvalve {
            subregions,
            counters: Counters::new(groups, &params, info.hpb_group_entries),
            fetches: Fetches::new(groups, params.inflight_map_req.into()),
            loading: Vec::new(),
            phase: Phase::Running,
            lists: AppLists::new(),
            profiles: Profiles::new(config.hpbvalve),
            stats: HostStats::default(),
        };
        hpbvalve.set_limit(config.memory_limit_bytes.unwrap_or(u64::MAX));
        hpbvalve
    }

    #[inline]
    fn plan(&mut self, _: SimTime, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        match part.op {
            RequestOp::Read => {
                if let Some(entry) = self.read(part.lpa, len, part.app) {
                    return Step::Send { op: Op::HpbRead { lpa: part.lpa, len, entry }, units: len };
                }
            }
            RequestOp::Write { .. } | RequestOp::Unmap => self.changed(part.lpa, len, part.app),
            RequestOp::Flush => {}
        }
        plain(part, max_units)
    }

    #[inline]
    fn on_response(&mut self, _: SimTime, op: &Op, response: &mut Response, _: &mut VecDeque<Part>) {
        if let Op::HpbReadBuffer { group } = *op {
            let sealed = seat::sealed_in(response);
            self.loaded(group, sealed);
        }
        match response.hpb {
            HpbNotice::None => {}
            HpbNotice::Entry { lpa, entry } => {
                self.stats.hpb_entries += 1;
                self.subregions.take_entry(lpa, entry);
            }
            HpbNotice::DirtyGroup(group) => self.invalidated(group),
            HpbNotice::Recommend(next) => next.activate.into_iter().flatten().for_each(|group| self.invalidated(group)),
        }
    }

    fn report(&self, stats: &mut HostStats) {
        stats.add(&self.stats);
        stats.hpbvalve_profile_bytes = self.profiles.bytes();
        self.subregions.report(stats);
    }
}

impl OwnCommands for Hpbvalve {
    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        while let Some((group, class)) = self.fetches.pop() {
            let prefetch = class == LAUNCH || class == RUNNING;
            if prefetch && self.subregions.state(group) == State::Valid && !self.subregions.is_dirty(group) {
                continue;
            }
            if self.make_place(group) {
                return Some(self.fetch(group, class));
            }
            self.stats.subregions_refused += 1;
        }
        None
    }
}

impl HostMemory for Hpbvalve {
    fn set_limit(&mut self, bytes: u64) {
        self.subregions.set_limit(bytes);
        self.shrink();
    }

    fn memory_bytes(&self) -> u64 {
        self.subregions.bytes() + self.profiles.bytes()
    }
}

impl Apps for Hpbvalve {
    fn signal(&mut self, _: SimTime, signal: AppSignal) {
        match signal {
            AppSignal::LaunchStart(app) => self.launch(app),
            AppSignal::LaunchEnd(app) if self.lists.foreground() == Some(app) => self.phase = Phase::Running,
            AppSignal::Ended(app) if self.lists.foreground() == Some(app) => self.leave(),
            AppSignal::LaunchEnd(_) | AppSignal::Ended(_) => {}
        }
    }

    /// Sec. 5.3: "if the victim app is not found in the per-app L2P profiling list [...] the signal is ignored".
    fn reclaim(&mut self, _: SimTime, victim: AppId, bytes: u64) -> u64 {
        if !self.profiles.knows(victim) {
            return 0;
        }
        let each = self.subregions.bytes_each();
        let mut freed = 0;
        while freed < bytes && self.evict() {
            freed += each;
        }
        self.stats.hpbvalve_reclaimed_bytes += freed;
        self.stats.hpbvalve_reclaims_short += u64::from(freed < bytes);
        freed
    }
}

impl Tamper for Hpbvalve {
    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        self.subregions.tamper_sealed(lpa, entry)
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        self.subregions.sealed(lpa)
    }
}

/// Requests of the block layer.
impl Hpbvalve {
    fn read(&mut self, lpa: Lpa, len: u32, app: AppId) -> Option<u64> {
        let supported = self.subregions.supports(len);
        let entry = if supported { self.subregions.entry_for(lpa, len) } else { None };
        let in_front = self.lists.foreground() == Some(app);
        for group in self.subregions.of(lpa, len) {
            let counted = self.counters.read(group);
            self.reference(group, app);
            if in_front {
                self.profiles.record(self.phase, group);
            }
            if entry.is_none() && supported && self.lacks(group) {
                if in_front {
                    self.fetches.want(group, MISS);
                } else if counted && self.fetches.want(group, COUNTED) {
                    self.stats.rcmd_active_cnt += 1;
                }
            }
        }
        match supported {
            true => super::counters::count_lookup(&mut self.stats, entry.is_some()),
            false => self.stats.booster_misses += 1,
        }
        entry
    }

    /// Would a fetch bring anything that the host has not got?
    fn lacks(&self, group: u32) -> bool {
        match self.subregions.state(group) {
            State::Absent | State::Invalid => true,
            State::Valid => self.subregions.is_dirty(group),
            State::Loading => false,
        }
    }

    fn changed(&mut self, lpa: Lpa, len: u32, app: AppId) {
        self.subregions.changed(lpa, len);
        for group in self.subregions.of(lpa, len) {
            self.counters.reset(group);
            self.reference(group, app);
        }
    }

    /// The device has said that entries have changed. They are fetched again when they are needed; those of the foreground
    /// app, unless it has written there itself, at once.
    fn invalidated(&mut self, group: u32) {
        self.stats.rcmd_noti_cnt += 1;
        self.stats.hpb_dirty_notices += 1;
        if group >= self.subregions.count() || !self.subregions.invalidate(group) {
            return;
        }
        let active = self.subregions.slot(group).is_some_and(|slot| self.lists.is_active(slot));
        if active && !self.subregions.is_dirty(group) {
            self.fetches.want(group, MISS);
        }
    }
}

/// The three lists.
impl Hpbvalve {
    fn reference(&mut self, group: u32, app: AppId) {
        let Some(slot) = self.subregions.slot(group) else { return };
        let in_front = self.lists.foreground() == Some(app);
        if self.subregions.state(group) == State::Loading {
            // What was being prefetched has been referenced.
            let loading = self.loading.iter_mut().find(|loading| loading.group == group && in_front);
            loading
                .into_iter()
                .for_each(|loading| (loading.class, loading.session) = (MISS, Some(self.lists.session())));
        } else {
            let profiles = &self.profiles;
            self.lists.reference(slot, app, || profiles.knows(app));
        }
    }

    /// Drops the oldest subregion of BG or else of IFG.
    fn evict(&mut self) -> bool {
        let oldest = self.lists.oldest(BG).or_else(|| self.lists.oldest(IFG));
        oldest.inspect(|&slot| self.release(slot)).is_some()
    }

    fn release(&mut self, slot: u32) {
        let group = self.subregions.group(slot);
        self.lists.unlist(slot);
        self.subregions.release(group);
        self.counters.reset(group);
    }

    /// The limit has been lowered: now AFG may have to go as well.
    fn shrink(&mut self) {
        while self.subregions.is_over() {
            if !self.evict() {
                let Some(slot) = self.lists.oldest(AFG) else { return };
                self.release(slot);
            }
        }
    }
}

/// Apps.
impl Hpbvalve {
    fn launch(&mut self, app: AppId) {
        if self.lists.enter(app) {
            self.forget_wishes();
        }
        self.phase = Phase::Launch;
        self.profiles.launched(app);
        for (phase, class) in [(Phase::Launch, LAUNCH), (Phase::Running, RUNNING)] {
            let listed: Vec<u32> = self.profiles.list(phase).collect();
            listed.into_iter().for_each(|group| self.prefetch(group, class));
        }
    }

    fn leave(&mut self) {
        self.lists.leave();
        self.phase = Phase::Running;
        self.profiles.left();
        self.forget_wishes();
    }

    /// What the app that was in the foreground wanted is not urgent any more.
    fn forget_wishes(&mut self) {
        [MISS, LAUNCH, RUNNING].into_iter().for_each(|class| self.fetches.cancel_class(class));
    }

    /// What is cached already is kept for the app from now on.
    fn prefetch(&mut self, group: u32, class: usize) {
        if self.lacks(group) {
            self.fetches.want(group, class);
        }
        if let Some(slot) = self.subregions.slot(group)
            && self.subregions.state(group) != State::Loading
            && !self.lists.is_active(slot)
        {
            self.lists.place(slot, AFG, true);
        }
    }
}

/// READ BUFFER.
impl Hpbvalve {
    /// Makes room if the subregion needs any. False if there is none.
    fn make_place(&mut self, group: u32) -> bool {
        let cached = self.subregions.slot(group).is_some();
        if cached || !self.subregions.is_full() {
            return true;
        }
        let evicted = self.evict();
        self.stats.subregions_evicted += u64::from(evicted);
        evicted
    }

    fn fetch(&mut self, group: u32, class: usize) -> Internal {
        let slot = self.subregions.start_load(group);
        // What only has to be refreshed stays what it was.
        let own = if class == COUNTED { self.lists.session_of(slot) } else { Some(self.lists.session()) };
        self.lists.unlist(slot);
        self.fetches.sent();
        self.loading.push(Loading { group, class, session: own });
        let by_class = match class {
            MISS => &mut self.stats.hpbvalve_miss_fetches,
            LAUNCH => &mut self.stats.hpbvalve_launch_fetches,
            RUNNING => &mut self.stats.hpbvalve_running_fetches,
            _ => &mut self.stats.map_req_cnt,
        };
        *by_class += 1;
        self.stats.map_req_cnt += u64::from(class != COUNTED);
        self.stats.hpb_read_buffers += 1;
        Op::HpbReadBuffer { group }.into()
    }

    fn loaded(&mut self, group: u32, sealed: Option<Vec<u64>>) {
        self.fetches.answered();
        let at = self.loading.iter().position(|loading| loading.group == group);
        let loading = self.loading.swap_remove(at.expect("what comes has been asked for"));
        let Some(slot) = self.subregions.loaded(group, sealed) else { return };
        match loading.session {
            Some(session) if self.lists.is_now(session) => {
                self.lists.place(slot, AFG, loading.class == LAUNCH || loading.class == RUNNING);
            }
            Some(_) => self.lists.place(slot, IFG, false),
            None => self.lists.place(slot, BG, false),
        }
        self.shrink();
    }
}

#[cfg(test)]
#[path = "hpbvalve_tests.rs"]
mod tests;
