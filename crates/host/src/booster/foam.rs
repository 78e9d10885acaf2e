//! HPB with FOAM's eviction: what HPBvalve (Sec. 6.1) compares itself with, as "UFS+HPB".
//!
//! Subregions are fetched as Linux does it in host control mode, by counts of reads ([`super::counters`]). The memory has a
//! fixed maximum. When it is full, the subregion goes that stands oldest in the first of four partitions that holds one
//! (HPBvalve Sec. 3): by who referenced it last, an app in the foreground or in the background, and whether by read or
//! write. The section names the order of eviction as "BR, BW, FR, and FW" although it also says that reads precede writes; the
//! order that it spells out is taken. A timer drops what nobody has referenced for
//! `read_timeout_ms` times `read_timeout_expiries` (Sec. 6.2.2: "a simple timer-based eviction policy").

use std::collections::VecDeque;

use ufs::{DeviceInfo, HpbNotice, Op, Response};
use units::{AppId, Lpa, Nanos, SimTime};

use super::counters::Counters;
use super::fetches::Fetches;
use super::lists::Lists;
use super::seat::{self, Apps, Booster, HostMemory, Internal, OwnCommands, Step, plain};
use super::subregions::{State, Subregions};
use super::tamper::Tamper;
use crate::app::AppSignal;
use crate::config::HostConfig;
use crate::request::{Part, RequestOp};
use crate::stats::HostStats;

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

/// HPB with FOAM's eviction.
pub(crate) struct Foam {
    subregions: Subregions,
    /// Memory taken from boot on; `None` for all that the limit allows.
    reserved: Option<u64>,
    counters: Counters,
    fetches: Fetches<1>,
    foreground: Option<AppId>,
    lists: Lists<PARTITIONS>,
    uses: Vec<Use>,
    /// Partition of each subregion by its last reference.
    partitions: Vec<u8>,
    /// Time without reference after which a subregion is dropped.
    lifetime: Nanos,
    interval: Nanos,
    next_poll: Option<SimTime>,
    stats: HostStats,
}

impl Booster for Foam {
    fn attach(config: &HostConfig, info: &DeviceInfo) -> Foam {
        let subregions = Subregions::new(info, true);
        let (groups, params) = (subregions.count(), config.hpb_params);
        let mut foam = Foam {
            subregions,
            reserved: config.hpb_reserved_bytes,
            counters: Counters::new(groups, &params, info.hpb_group_entries),
            fetches: Fetches::new(groups, params.inflight_map_req.into()),
            foreground: None,
            lists: Lists::new(),
            uses: Vec::new(),
            partitions: vec![0; groups as usize],
            lifetime: Nanos(params.read_timeout.0 * u64::from(params.read_timeout_expiries)),
            interval: params.timeout_polling_interval,
            next_poll: None,
            stats: HostStats::default(),
        };
        foam.set_limit(config.memory_limit_bytes.unwrap_or(u64::MAX));
        foam
    }

    #[inline]
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        let foreground = self.foreground == Some(part.app);
        match part.op {
            RequestOp::Read => {
                if let Some(entry) = self.read(now, part.lpa, len, foreground) {
                    return Step::Send { op: Op::HpbRead { lpa: part.lpa, len, entry }, units: len };
                }
            }
            RequestOp::Write { .. } | RequestOp::Unmap => self.changed(now, part.lpa, len, foreground),
            RequestOp::Flush => {}
        }
        plain(part, max_units)
    }

    #[inline]
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, _: &mut VecDeque<Part>) {
        if let Op::HpbReadBuffer { group } = *op {
            let sealed = seat::sealed_in(response);
            self.loaded(now, group, sealed);
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
        self.subregions.report(stats);
    }
}

impl OwnCommands for Foam {
    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        while let Some((group, _)) = self.fetches.pop() {
            if self.make_place(group) {
                return Some(self.fetch(group));
            }
            self.stats.subregions_refused += 1;
        }
        None
    }

    /// The look at the clock.
    fn lazy(&mut self, now: SimTime, _: Option<SimTime>) -> Option<Internal> {
        if self.next_poll.is_some_and(|at| at <= now) {
            self.expire(now);
        }
        None
    }

    fn next_wake(&self, _: Option<SimTime>) -> Option<SimTime> {
        self.next_poll
    }
}

impl HostMemory for Foam {
    fn set_limit(&mut self, bytes: u64) {
        self.subregions.set_limit(bytes);
        while self.subregions.is_over() && self.evict() {}
    }

    /// What is reserved is taken, used or not.
    fn memory_bytes(&self) -> u64 {
        self.subregions.bytes_taken(self.reserved)
    }
}

impl Apps for Foam {
    fn signal(&mut self, _: SimTime, signal: AppSignal) {
        match signal {
            AppSignal::LaunchStart(app) => self.foreground = Some(app),
            AppSignal::Ended(app) if self.foreground == Some(app) => self.foreground = None,
            AppSignal::LaunchEnd(_) | AppSignal::Ended(_) => {}
        }
    }
}

impl Tamper for Foam {
    fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        self.subregions.tamper_sealed(lpa, entry)
    }

    fn sealed(&self, lpa: Lpa) -> Option<u64> {
        self.subregions.sealed(lpa)
    }
}

impl Foam {
    fn read(&mut self, now: SimTime, lpa: Lpa, len: u32, foreground: bool) -> Option<u64> {
        if !self.subregions.supports(len) {
            self.stats.booster_misses += 1;
            return None;
        }
        let entry = self.subregions.entry_for(lpa, len);
        for group in self.subregions.of(lpa, len) {
            self.reference(now, group, partition(foreground, false));
            let lacking = entry.is_none()
                && match self.subregions.state(group) {
                    State::Absent | State::Invalid => true,
                    State::Valid => self.subregions.is_dirty(group),
                    State::Loading => false,
                };
            if self.counters.read(group) && lacking && self.fetches.want(group, 0) {
                self.stats.rcmd_active_cnt += 1;
            }
        }
        super::counters::count_lookup(&mut self.stats, entry.is_some());
        entry
    }

    fn changed(&mut self, now: SimTime, lpa: Lpa, len: u32, foreground: bool) {
        self.subregions.changed(lpa, len);
        for group in self.subregions.of(lpa, len) {
            self.counters.reset(group);
            self.reference(now, group, partition(foreground, true));
        }
    }

    /// A subregion goes to the young end of the partition of its last reference.
    fn reference(&mut self, now: SimTime, group: u32, partition: u8) {
        self.partitions[group as usize] = partition;
        let Some(slot) = self.subregions.slot(group) else { return };
        let known = &mut self.uses[slot as usize];
        known.at = now;
        if known.listed {
            self.lists.remove(slot);
            self.lists.push_newest(partition.into(), slot);
        }
    }

    /// The device has said that entries have changed. As in Linux, the host decides by itself about what it has written.
    fn invalidated(&mut self, group: u32) {
        self.stats.rcmd_noti_cnt += 1;
        self.stats.hpb_dirty_notices += 1;
        if group < self.subregions.count() && self.subregions.invalidate(group) && !self.subregions.is_dirty(group) {
            self.stats.rcmd_active_cnt += 1;
            self.fetches.want(group, 0);
        }
    }

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

    /// Drops the subregion that has the lowest priority.
    fn evict(&mut self) -> bool {
        let oldest = (0..PARTITIONS).find_map(|partition| self.lists.oldest(partition));
        oldest.inspect(|&slot| self.release(slot)).is_some()
    }

    fn release(&mut self, slot: u32) {
        let group = self.subregions.group(slot);
        self.unlist(slot);
        self.subregions.release(group);
        self.counters.reset(group);
    }

    fn unlist(&mut self, slot: u32) {
        if std::mem::take(&mut self.uses[slot as usize].listed) {
            self.lists.remove(slot);
        }
    }

    fn fetch(&mut self, group: u32) -> Internal {
        let slot = self.subregions.start_load(group);
        if self.uses.len() <= slot as usize {
            self.uses.resize(slot as usize + 1, Use::default());
        }
        self.unlist(slot);
        self.fetches.sent();
        self.stats.map_req_cnt += 1;
        self.stats.hpb_read_buffers += 1;
        Op::HpbReadBuffer { group }.into()
    }

    fn loaded(&mut self, now: SimTime, group: u32, sealed: Option<Vec<u64>>) {
        self.fetches.answered();
        let Some(slot) = self.subregions.loaded(group, sealed) else { return };
        self.uses[slot as usize] = Use { listed: true, at: now };
        self.lists.push_newest(self.partitions[group as usize].into(), slot);
        self.next_poll.get_or_insert(now + self.interval);
        while self.subregions.is_over() && self.evict() {}
    }

    /// Each partition is in the order of references, so only its oldest ones have to be looked at.
    fn expire(&mut self, now: SimTime) {
        for partition in 0..PARTITIONS {
            while let Some(slot) = self.lists.oldest(partition)
                && self.uses[slot as usize].at + self.lifetime <= now
            {
                self.stats.subregions_expired += 1;
                self.release(slot);
            }
        }
        self.next_poll = (self.subregions.bytes() > 0).then_some(now + self.interval);
    }
}

#[cfg(test)]
#[path = "foam_tests.rs"]
mod tests;
