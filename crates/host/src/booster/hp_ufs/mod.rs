//! HP-UFS (Sec. III): the host caches L2P segments and applies the changes that the device sends. From these changes it
//! also knows which pages on flash are valid.
//!
//! Every change has a sequence number. `host_seq` is the last one applied here, and every command carries it. Changes
//! are applied in order and without gaps. A change whose segment is not cached waits for it, so the flash copy of a
//! segment that is not cached is never older than `host_seq`. That is why the host can attest a clean or absent segment
//! without sending it. It is also why a read must always go through the cache: the flash copy of a *dirty* segment is
//! out of date, and the device has forgotten the changes up to `host_seq`.
//!
//! # Invariants and their reasons
//! - The device forgets a change only when a command proves that the host has applied it. So the device's log and the
//!   host's table together always give the true mapping.
//! - A copy made by GC names its source block. It is applied only where the mapping still names that block. So a host
//!   write that overtook the copy wins although its number is smaller.
//! - The host names a block as freed only after it has applied everything ever placed in it. The device believes it
//!   only then.
//! - The device can speak only in responses. If requests are outstanding and nothing comes for 200 us, the driver polls
//!   with an entry transfer. Its response carries what the device could not send before. It also polls in idle time, at
//!   growing distances, if the device says that it collects garbage then.
//! - The driver reserves tags for internal commands. So writes that wait for room in the device's log cannot block the
//!   commands that make room.
//!
//! # Files
//! - `state`: all of the state. `requests`: what is sent for a request. `changes`: what arrives from the device.
//! - `commands`: which internal command goes next. `pending`: internal work under way or to be done.
//! - `segment_cache`: the cached segments. `wants`: segments to load, and the parts that wait for them.
//! - `reorder`: changes that came too early. `validity`: valid page bitmap and counts. `freed`: empty blocks.
//! - `expiry`: gives up segments that no request has used for long. `at_once`: a wrong model that delays no writeback.
//! - `survey`: finds the valid pages after a power cut. `apps` and `app_state`: HPBvalve's rules on this cache. `bits`:
//!   sets of small numbers.

mod app_state;
mod apps;
mod at_once;
mod changes;
mod commands;
mod expiry;
mod freed;
mod pending;
mod reorder;
mod requests;
mod segment_cache;
mod state;
mod survey;
mod validity;
mod wants;

use std::collections::VecDeque;

use params::ParamError;
use ufs::{Command, DeviceInfo, Op, Protocol, Response};
use units::{AppId, Lpa, Ppa, Seq, SimTime, Superblock, UNIT_BYTES};

use self::app_state::AppState;
use self::segment_cache::Lookup;
use self::survey::Survey;
use super::profiles::AppCounters;
use super::seat::{
    Apps, BlockValidity, Booster, Counted, HostMemory, Internal, OwnCommands, Step, Tamper, Usage, plain,
};
use crate::app::AppSignal;
use crate::request::{Part, RequestOp};

pub(crate) use self::state::HpUfs;

params::params! {
    /// `hp-ufs`: the reorder buffer, and when the cache gives up segments.
    pub Params {
        /// Entries of the reorder buffer.
        reorder_entries: count(64 to 1048576) = 2048, "HP-UFS Sec. IV-A: 2K entries";
        /// Segments are given up while a phone is short of memory.
        shrinks: switch = true, "HP-UFS Sec. III-D: the cache shrinks due to memory shortage";
        /// Segments that no request has used for about this time are given up. It is looked at eight times as often.
        unused_ms: count_or("keep" 1 to 1000000) = "keep",
            "HP-UFS Sec. III-F: a timer can be applied; the paper measures without";
        /// A wrong model, to compare with: after so many changes all changed segments are written back, as a map flush
        /// of UFS and HPB writes those in its log, and not when the device asks.
        write_after_entries: count_or("asked" 1 to 65535) = "asked",
            "HP-UFS Sec. III-D: segments are written when the device asks for them, or to make room";
    }
}

units::counters! {
    /// What only this booster counts.
    HpUfsCounters
    /// Segments of writes and unmaps that were cached or on their way.
    write_hits: always,
    /// Segments of writes and unmaps that had to be fetched.
    write_misses: always,
    /// MappedRead commands sent.
    mapped_reads: always,
    /// SegmentRead commands sent.
    segment_reads: always,
    /// SegmentRead commands that failed and were repeated.
    segment_read_failures: always,
    /// SegmentWrite commands with data.
    segment_writebacks: always,
    /// Of these, sent to make room.
    segment_writebacks_evict: always,
    /// SegmentWrite commands without data.
    attests: always,
    /// Segments dropped from the cache.
    segments_dropped: always,
    /// EntryTransfer commands sent.
    entry_transfers: always,
    /// Of these, sent only to tell the device the host sequence number.
    entry_transfers_to_report: always,
    /// Of these, sent because nothing had come for a while, in idle time included.
    polls: always,
    /// Valid page bitmaps sent.
    bitmaps_sent: always,
    /// Of these, refused by the device.
    bitmaps_refused: always,
    /// Freed blocks named in commands.
    freed_sent: always,
    /// L2P entries received.
    entries_received: always,
    /// L2P entries that had come before.
    entries_duplicate: always,
    /// Changes (4 KiB units) applied to the cached table.
    units_applied: always,
    /// Changes discarded by the source check (Sec. III-E).
    units_discarded: always,
    /// Segments given up because no request had used them for long.
    segments_expired,
    /// Times the reorder buffer had to wait for the segment of its first entry.
    reorder_stalls: always,
    /// Most entries in the reorder buffer.
    reorder_peak: gauge always,
    /// Latest change applied.
    host_seq: gauge always,
    /// Size of the valid page bitmaps, in bytes.
    valid_bitmap_bytes: gauge always,
    /// Size of the valid page counts, in bytes.
    valid_count_bytes: gauge always,
    /// Size of the reorder buffer, in bytes, at 16 bytes per entry (Sec. IV-A).
    reorder_buffer_bytes: gauge always,
}

/// The booster keeps the mapping, so it needs HP-UFS.
pub(crate) const SPEAKS: Protocol = Protocol::HpUfs;

/// Two segments.
pub(crate) fn smallest_limit(_info: &DeviceInfo) -> u64 {
    2 * UNIT_BYTES
}

/// Every combination of values is allowed.
pub(crate) fn check(_own: &Params) -> Result<(), ParamError> {
    Ok(())
}

/// A booster for a device that has just been attached. It may use at most `limit` bytes.
pub(crate) fn attach(own: &Params, limit: u64, info: &DeviceInfo) -> HpUfs {
    let mut hp_ufs = HpUfs::new(own, info);
    hp_ufs.set_limit(limit);
    hp_ufs
}

impl Booster for HpUfs {
    /// Prefetches the cached entry of the address: a read or a change will need it.
    #[inline]
    fn prefetch(&self, lpa: Lpa, changes: bool) {
        self.cache.prefetch(lpa, changes);
    }

    #[inline]
    fn plan(&mut self, _: SimTime, part: &mut Part, max_units: u32) -> Step {
        match part.op {
            RequestOp::Read => self.plan_read(part, max_units),
            RequestOp::Write { .. } | RequestOp::Unmap => self.plan_change(part, max_units),
            RequestOp::Flush => plain(part, max_units),
        }
    }

    #[inline(always)]
    fn stamp(&mut self, command: &mut Command) {
        command.host_seq = self.host_seq;
        self.reported_seq = self.host_seq;
        if !matches!(command.op, Op::MappedRead { .. }) {
            command.freed = self.freed.pop(&self.validity);
            self.stats.freed_sent += u64::from(command.freed.is_some());
        }
    }

    #[inline]
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>) {
        self.last_activity = now;
        if !op.is_user() {
            self.internal_response(op, response, ready);
        }
        self.take_piggyback(&response.piggyback);
    }
}

impl Counted for HpUfs {
    type Counters = (HpUfsCounters, AppCounters);

    fn counters(&self) -> Self::Counters {
        let own = HpUfsCounters {
            host_seq: self.host_seq.0,
            reorder_peak: self.reorder.peak(),
            reorder_buffer_bytes: self.reorder.bytes(),
            valid_bitmap_bytes: self.validity.bitmap_bytes(),
            valid_count_bytes: self.validity.count_bytes(),
            ..self.stats
        };
        (own, self.apps.as_ref().map(AppState::counters).unwrap_or_default())
    }

    fn usage(&self) -> Usage {
        let dram_bytes_limit = self.cache.limit() as u64 * UNIT_BYTES;
        Usage { dram_bytes: self.cache.bytes_used(), dram_bytes_limit, ..self.usage }
    }
}

impl OwnCommands for HpUfs {
    fn after_power_cut(&mut self, applied: Seq) {
        (self.host_seq, self.reported_seq) = (applied, applied);
        self.survey = Some(Survey::new(self.info.segments()));
        self.pending.work = true;
    }

    #[inline]
    fn resume(&mut self, now: SimTime) {
        self.last_activity = now;
        self.pending.fruitless = self.pending.fruitless.map(|_| pending::FIRST_IDLE_POLL);
    }

    #[inline]
    fn holds_back(&self) -> bool {
        self.survey.is_some()
    }

    #[inline]
    fn urgent(&mut self) -> Option<Internal> {
        if !self.pending.work {
            return None;
        }
        if let Some(survey) = &mut self.survey {
            let next = survey.next();
            self.pending.work = next.is_some();
            self.stats.segment_reads += u64::from(next.is_some());
            return next.map(|segment| Op::SegmentRead { segment }.into());
        }
        let next = self.next_internal();
        self.pending.work = next.is_some();
        next
    }

    #[inline]
    fn lazy(&mut self, now: SimTime, idle_since: Option<SimTime>) -> Option<Internal> {
        if self.survey.is_some() {
            return None;
        }
        if self.look_for_unused(now)
            && let Some(internal) = self.urgent()
        {
            return Some(internal);
        }
        self.report_progress().or_else(|| self.poll(now, idle_since))
    }

    #[inline]
    fn next_wake(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        if self.survey.is_some() {
            return None;
        }
        match (self.poll_due(idle_since), self.expiry_due()) {
            (Some(poll), Some(expiry)) => Some(poll.min(expiry)),
            (poll, expiry) => poll.or(expiry),
        }
    }
}

impl HostMemory for HpUfs {
    fn set_limit(&mut self, bytes: u64) {
        let limit = (bytes / UNIT_BYTES).min(self.info.segments().max(2).into());
        self.cache.set_limit(limit as usize);
        self.pending.work = true;
    }

    fn memory_bytes(&self) -> u64 {
        self.cache.bytes_used() + self.fixed_bytes()
    }

    fn fixed_bytes(&self) -> u64 {
        let lists = self.apps.as_ref().map_or(0, AppState::bytes);
        lists + self.reorder.bytes() + self.validity.bitmap_bytes() + self.validity.count_bytes()
    }

    fn follows_pressure(&self) -> bool {
        self.shrinks
    }
}

impl Apps for HpUfs {
    fn signal(&mut self, _: SimTime, signal: AppSignal) {
        self.app_signal(signal);
    }

    fn reclaim(&mut self, _: SimTime, victim: AppId, bytes: u64) -> u64 {
        self.give_back(victim, bytes)
    }
}

impl Tamper for HpUfs {
    fn tamper(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> bool {
        let Lookup::Cached(_) = self.cache.lookup(lpa.segment()) else { return false };
        self.cache.tamper(lpa, Ppa::pack(ppa));
        true
    }

    fn mapping(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        match self.cache.lookup(lpa.segment()) {
            Lookup::Cached(slot) => Some(Ppa::unpack(self.cache.entry(slot, lpa))),
            _ => None,
        }
    }

    fn validity(&self, block: Superblock) -> Option<BlockValidity> {
        Some(BlockValidity { valid: self.validity.count(block), bitmap: self.validity.bitmap(block) })
    }
}
