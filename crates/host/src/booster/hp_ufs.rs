//! HP-UFS (Sec. III): the host caches L2P segments, keeps them up to date from the changes that the device sends, and
//! derives from these changes which pages on flash are valid.
//!
//! Three numbers order everything. Every change has a sequence number; `host_seq` is the last one applied here, and
//! travels in every command; changes are applied without gaps. A change whose segment is not cached waits for it, so
//! the flash copy of a segment that is not cached is never older than `host_seq`. That is why a clean or absent segment
//! can be attested without being sent, and why a read must always go through the cache: the flash copy of a *dirty*
//! segment is out of date, and the device has forgotten the changes up to `host_seq`.
//!
//! - `segment_cache`: which segments are held; `wants`: which are to be loaded, and who waits for them.
//! - `reorder`: changes that came too early. `validity`: valid page bitmap and counts. `freed`: empty blocks.
//! - `policy`: which internal command goes next. `survey`: what is valid, found out after a power cut. `apps`: what HPBvalve's policy
//!   notes here. `bits`: sets of small numbers.

mod apps;
mod bits;
mod freed;
mod policy;
mod reorder;
mod segment_cache;
mod survey;
mod validity;
mod wants;

use std::collections::VecDeque;

use ufs::{Command, DataIn, DeviceInfo, L2pEntry, Notice, Op, PiggyBack, Response, Status};
use units::{AppId, Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, SimTime, Superblock, UNIT_BYTES};

use self::apps::Apps;
use self::freed::Freed;
use self::policy::Pending;
use self::reorder::{ReorderBuffer, remainder};
use self::segment_cache::{Lookup, SegmentCache, SlotIndex};
use self::survey::Survey;
use self::validity::Validity;
use self::wants::Wants;
use super::app_lists::AppLists;
use super::registry::BoosterKind;
use super::seat::{self, Booster, HostMemory, Internal, OwnCommands, Step, plain};
use super::tamper::Tamper;
use crate::app::AppSignal;
use crate::config::HostConfig;
use crate::request::{Part, RequestOp};
use crate::stats::HostStats;

/// The HP-UFS booster.
pub(crate) struct HpUfs {
    info: DeviceInfo,
    cache: SegmentCache,
    wants: Wants,
    reorder: ReorderBuffer,
    validity: Validity,
    freed: Freed,
    pending: Pending,
    /// After a power cut, until it is known which pages are valid.
    survey: Option<Survey>,
    /// With HPBvalve's policy.
    apps: Option<Apps>,
    /// The latest change applied; all before it are applied too.
    host_seq: Seq,
    /// `host_seq` in the last command.
    told_seq: Seq,
    /// Last response, or first request after a pause.
    last_activity: SimTime,
    stats: HostStats,
}

impl Booster for HpUfs {
    fn attach(config: &HostConfig, info: &DeviceInfo) -> HpUfs {
        let mut hp_ufs = HpUfs {
            info: *info,
            cache: SegmentCache::new(info.segments(), 0, info.map_page_entries),
            wants: Wants::new(info.segments()),
            reorder: ReorderBuffer::new(config.reorder_entries),
            validity: Validity::new(info),
            freed: Freed::new(info.superblocks as usize),
            pending: Pending::new(info),
            survey: None,
            apps: None,
            host_seq: Seq(0),
            told_seq: Seq(0),
            last_activity: SimTime::START,
            stats: HostStats::default(),
        };
        if config.booster == BoosterKind::HpbvalveHpUfs {
            hp_ufs.apps = Some(Apps::new(config.hpbvalve));
            hp_ufs.cache.lists = Some(AppLists::new());
        }
        hp_ufs.set_limit(config.memory_limit_bytes.unwrap_or(u64::MAX));
        hp_ufs
    }

    /// A read is resolved, or a change applied, with this entry.
    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        if lpa.0 < self.info.capacity_units
            && let Lookup::Cached(slot) = self.cache.lookup(lpa.segment())
        {
            self.cache.prefetch(slot, lpa.slot());
        }
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
        self.told_seq = self.host_seq;
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

    fn report(&self, stats: &mut HostStats) {
        stats.add(&self.stats);
        stats.hpbvalve_profile_bytes = self.apps.as_ref().map_or(0, Apps::bytes);
        stats.host_seq = self.host_seq.0;
        stats.reorder_peak = self.reorder.peak();
        stats.reorder_buffer_bytes = self.reorder.bytes();
        stats.valid_bitmap_bytes = self.validity.bitmap_bytes();
        stats.valid_count_bytes = self.validity.count_bytes();
        stats.dram_bytes_used = self.cache.bytes_used();
        stats.dram_bytes_limit = self.cache.limit() as u64 * UNIT_BYTES;
    }
}

impl OwnCommands for HpUfs {
    fn after_power_cut(&mut self, applied: Seq) {
        (self.host_seq, self.told_seq) = (applied, applied);
        self.survey = Some(Survey::new(self.info.segments()));
        self.pending.work = true;
    }

    #[inline]
    fn resume(&mut self, now: SimTime) {
        self.last_activity = now;
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
        self.report_progress().or_else(|| self.poll(now, idle_since))
    }

    fn next_wake(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        if self.survey.is_some() { None } else { self.poll_due(idle_since) }
    }
}

impl HostMemory for HpUfs {
    fn set_limit(&mut self, bytes: u64) {
        let limit = (bytes / UNIT_BYTES).min(self.info.segments().max(2).into());
        self.cache.set_limit(limit as usize);
        self.pending.work = true;
    }

    fn memory_bytes(&self) -> u64 {
        let lists = self.apps.as_ref().map_or(0, Apps::bytes);
        lists
            + self.cache.bytes_used()
            + self.reorder.bytes()
            + self.validity.bitmap_bytes()
            + self.validity.count_bytes()
    }
}

impl seat::Apps for HpUfs {
    fn signal(&mut self, _: SimTime, signal: AppSignal) {
        self.app_signal(signal);
    }

    fn reclaim(&mut self, _: SimTime, victim: AppId, bytes: u64) -> u64 {
        self.give_back(victim, bytes)
    }
}

impl Tamper for HpUfs {
    fn tamper(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> bool {
        let Lookup::Cached(slot) = self.cache.lookup(lpa.segment()) else { return false };
        self.cache.tamper(slot, lpa.slot(), Ppa::pack(ppa));
        true
    }

    fn mapping(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        match self.cache.lookup(lpa.segment()) {
            Lookup::Cached(slot) => Some(Ppa::unpack(self.cache.entry(slot, lpa.slot()))),
            _ => None,
        }
    }

    fn validity(&self, block: Superblock) -> Option<(u32, Box<[u64]>)> {
        Some((self.validity.count(block), self.validity.bitmap(block)))
    }
}

/// Requests of the block layer.
impl HpUfs {
    /// Sec. III-C. Sends the run of consecutive physical addresses at the start of the part, if its segment is cached.
    fn plan_read(&mut self, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        let segment = part.lpa.segment();
        self.note_use(part.app, segment, true);
        let lookup = self.cache.lookup(segment);
        if lookup == Lookup::Absent {
            self.want(segment);
        }
        self.want_rest(part.lpa, len);
        if !part.counted {
            part.counted = true;
            match lookup {
                Lookup::Cached(_) => self.stats.booster_hits += 1,
                _ => self.stats.booster_misses += 1,
            }
        }
        let Lookup::Cached(slot) = lookup else {
            self.wants.park(segment, *part);
            return Step::Park;
        };
        self.cache.touch(slot);
        let (units, ppa) = self.run(slot, part.lpa, len);
        self.stats.mapped_reads += 1;
        let op = Op::MappedRead { lpa: part.lpa, len: units, ppa };
        if units == part.len || part.lpa.offset(units).segment() != segment {
            self.leave_segment(part, slot);
        }
        Step::Send { op, units }
    }

    /// Wants the segments of a range but the first one, so that they are on their way when the part gets to them.
    fn want_rest(&mut self, lpa: Lpa, len: u32) {
        let last = lpa.offset(len - 1).segment();
        for segment in lpa.segment().0 + 1..=last.0 {
            if self.cache.lookup(SegmentId(segment)) == Lookup::Absent {
                self.want(SegmentId(segment));
            }
        }
    }

    fn leave_segment(&mut self, part: &mut Part, slot: SlotIndex) {
        part.counted = false;
        if std::mem::take(&mut part.pinned) {
            self.cache.unpin(slot);
            self.pending.work = true;
        }
    }

    /// The run at the start of a range: its length, and where it starts on flash.
    fn run(&self, mut slot: SlotIndex, lpa: Lpa, len: u32) -> (u32, Option<Ppa>) {
        let first = self.cache.entry(slot, lpa.slot());
        let mut units = 1;
        while units < len {
            let next = lpa.offset(units);
            if next.slot() == 0 {
                let Lookup::Cached(following) = self.cache.lookup(next.segment()) else { break };
                slot = following;
            }
            let expected = if first == 0 { 0 } else { first + units };
            if self.cache.entry(slot, next.slot()) != expected {
                break;
            }
            units += 1;
        }
        (units, Ppa::unpack(first))
    }

    /// Sec. III-B. A write or unmap needs no address, but its change will need the segment: that is fetched first, and
    /// not waited for.
    #[inline]
    fn plan_change(&mut self, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        let mut fetch = false;
        for segment in part.lpa.segment().0..=part.lpa.offset(len - 1).segment().0 {
            fetch |= self.use_for_change(SegmentId(segment), part);
        }
        if fetch {
            part.counted = true;
            return Step::InternalFirst;
        }
        part.counted = false;
        plain(part, max_units)
    }

    /// True if the segment has just been queued for a fetch.
    #[inline]
    fn use_for_change(&mut self, segment: SegmentId, part: &Part) -> bool {
        self.note_use(part.app, segment, false);
        let lookup = self.cache.lookup(segment);
        if !part.counted {
            match lookup {
                Lookup::Absent => self.stats.write_misses += 1,
                _ => self.stats.write_hits += 1,
            }
        }
        match lookup {
            Lookup::Absent => self.want(segment),
            Lookup::Loading => false,
            Lookup::Cached(slot) => {
                self.cache.touch(slot);
                false
            }
        }
    }

    fn want(&mut self, segment: SegmentId) -> bool {
        self.pending.work = true;
        self.wants.want(segment)
    }
}

/// What comes from the device.
impl HpUfs {
    #[inline(always)]
    fn take_piggyback(&mut self, piggyback: &PiggyBack) {
        match piggyback.notice {
            Notice::None => {}
            Notice::Entry(entry) => self.take_entry(entry),
            Notice::WriteSegment(segment) => self.hint_write(segment),
            Notice::BitmapOf(block) => self.hint_bitmap(block),
        }
        if piggyback.want_entries || piggyback.want_victim {
            self.pending.work = true;
            self.pending.entries |= piggyback.want_entries;
            self.pending.victim |= piggyback.want_victim;
        }
    }

    fn internal_response(&mut self, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>) {
        self.pending.work = true;
        let good = response.status == Status::Good;
        if let Some(survey) = &mut self.survey {
            let DataIn::Segment(image) = &response.data else { panic!("{op:?} was answered with {response:?}") };
            if survey.take(image, &mut self.validity) {
                Survey::finish(self.info.superblocks, &self.validity, &mut self.freed);
                self.survey = None;
            }
            return;
        }
        match *op {
            Op::SegmentRead { segment } => {
                let image = match std::mem::take(&mut response.data) {
                    DataIn::Segment(image) if good => Some(image),
                    _ => None,
                };
                self.loaded(segment, image, ready);
            }
            Op::SegmentWrite { segment } => self.written(segment, good),
            Op::EntryTransfer => {
                self.pending.transferring = false;
                if let DataIn::Entries(entries) = &response.data {
                    self.take_entries(entries);
                }
            }
            Op::ValidBitmap { block, reason } => self.bitmap_answered(block, reason, response.status),
            // The scheduler's.
            Op::CacheQuery | Op::BatchNotice { .. } => {}
            _ => panic!("{op:?} is not a command of this booster"),
        }
    }

    #[inline(never)]
    fn take_entries(&mut self, entries: &[L2pEntry]) {
        entries.iter().for_each(|&entry| self.take_entry(entry));
    }

    /// Takes in one entry: applies it if it is next, keeps it otherwise.
    #[inline(always)]
    fn take_entry(&mut self, entry: L2pEntry) {
        self.stats.entries_received += 1;
        self.check_entry(&entry);
        let Some(entry) = remainder(entry, self.host_seq) else {
            self.stats.entries_duplicate += 1;
            return;
        };
        if entry.seq == self.host_seq.plus(1)
            && let Lookup::Cached(slot) = self.cache.lookup(entry.lpa.segment())
        {
            self.apply(slot, &entry);
            if !self.reorder.is_empty() {
                self.reorder.pass();
                self.apply_waiting();
            }
            return;
        }
        if !self.reorder.insert(entry) {
            self.stats.entries_duplicate += 1;
        } else if self.cache.lookup(entry.lpa.segment()) == Lookup::Absent {
            // GC moves pages of any segment. Fetched one after the other, when each gets to the head of the buffer,
            // they would hold everything up.
            self.want(entry.lpa.segment());
        }
        self.apply_waiting();
    }

    #[inline]
    fn check_entry(&self, entry: &L2pEntry) {
        let len = u32::from(entry.len);
        let in_segment = len > 0 && entry.lpa.slot() as u32 + len <= SEGMENT_ENTRIES;
        assert!(in_segment && entry.lpa.0 + len <= self.info.capacity_units, "the device sent a bad range: {entry:?}");
        if let Some(ppa) = entry.ppa {
            let block = self.validity.block_of(ppa.offset(len - 1));
            assert!(block.0 < self.info.superblocks, "the device sent a bad address: {entry:?}");
        }
    }

    /// Applies what can be applied of the reorder buffer, strictly in order and without gaps.
    #[inline(never)]
    fn apply_waiting(&mut self) {
        let stalled_at = self.pending.head.take();
        while let Some(&first) = self.reorder.first() {
            let Some(entry) = remainder(first, self.host_seq) else {
                self.stats.entries_duplicate += 1;
                self.reorder.pop();
                continue;
            };
            if entry.seq != self.host_seq.plus(1) {
                return;
            }
            let segment = entry.lpa.segment();
            let Lookup::Cached(slot) = self.cache.lookup(segment) else {
                self.stats.reorder_stalls += u64::from(stalled_at != Some(segment));
                self.pending.head = Some(segment);
                self.pending.work = true;
                return;
            };
            self.reorder.pop();
            self.apply(slot, &entry);
        }
    }

    /// Applies the changes of one entry (Sec. III-B, III-E).
    #[inline(always)]
    fn apply(&mut self, slot: SlotIndex, entry: &L2pEntry) {
        let start = entry.lpa.slot();
        for i in 0..u32::from(entry.len) {
            let at = start + i as usize;
            let new = entry.ppa.map(|ppa| ppa.offset(i));
            let old = Ppa::unpack(self.cache.entry(slot, at));
            if entry.source.is_some() && entry.source != old.map(|ppa| self.validity.block_of(ppa)) {
                self.discard(new);
                continue;
            }
            self.cache.change(slot, at, Ppa::pack(new));
            if let Some(block) = old.and_then(|ppa| self.validity.clear(ppa)) {
                self.freed.push(block);
            }
            if let Some(ppa) = new {
                let block = self.validity.set(ppa);
                self.pending.refused.remove(block.index());
            }
            self.stats.units_applied += 1;
        }
        self.host_seq = entry.last_seq();
    }

    /// Discards a copy that came too late. If its block has no valid page, nothing else may ever tell the device so.
    fn discard(&mut self, new: Option<Ppa>) {
        self.stats.units_discarded += 1;
        if let Some(ppa) = new {
            let block = self.validity.block_of(ppa);
            self.pending.refused.remove(block.index());
            if self.validity.count(block) == 0 {
                self.freed.push(block);
            }
        }
    }
}
