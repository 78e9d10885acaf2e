//! What arrives from the device: answers, and changes of the mapping (HP-UFS Sec. III-B, III-E).

use std::collections::VecDeque;

use ufs::{DataIn, L2pEntry, Notice, Op, PiggyBack, Response, Status};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId};

use super::pending::FIRST_IDLE_POLL;
use super::reorder::unapplied_part;
use super::segment_cache::{Lookup, SlotIndex};
use super::state::HpUfs;
use super::survey::Survey;
use crate::request::Part;

/// Entries between a prefetch and its use, when many arrive at once.
const AHEAD: usize = 4;

impl HpUfs {
    #[inline(always)]
    pub(super) fn take_piggyback(&mut self, piggyback: &PiggyBack) {
        match piggyback.notice {
            Notice::None => {}
            Notice::Entry(entry) => self.take_entry(entry),
            Notice::WriteSegment(segment) => self.hint_write(segment),
            Notice::BitmapOf(block) => self.hint_bitmap(block),
        }
        if piggyback.works_when_idle || self.pending.fruitless.is_some() {
            self.note_idle_work(piggyback);
        }
        if piggyback.want_entries || piggyback.want_victim {
            self.pending.work = true;
            self.pending.entries |= piggyback.want_entries;
            self.pending.victim |= piggyback.want_victim;
        }
    }

    /// What a response says of the device's work in idle time.
    #[inline(never)]
    fn note_idle_work(&mut self, piggyback: &PiggyBack) {
        let known = self.pending.fruitless.unwrap_or(FIRST_IDLE_POLL);
        self.pending.fruitless = piggyback.works_when_idle.then_some(known);
    }

    /// The device has moved on in idle time, so the next poll comes soon.
    pub(super) fn moved_on(&mut self) {
        self.pending.fruitless = self.pending.fruitless.map(|_| 0);
    }

    pub(super) fn internal_response(&mut self, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>) {
        self.pending.work = true;
        let succeeded = response.status == Status::Good;
        if let Some(survey) = &mut self.survey {
            let DataIn::Segment(sent) = &response.data else { panic!("{op:?} was answered with {response:?}") };
            if survey.take(&sent.image(), &mut self.validity) {
                Survey::finish(self.info.superblocks, &self.validity, &mut self.freed);
                self.survey = None;
            }
            return;
        }
        match *op {
            Op::SegmentRead { segment } => {
                let sent = match std::mem::take(&mut response.data) {
                    DataIn::Segment(sent) if succeeded => Some(sent),
                    _ => None,
                };
                self.loaded(segment, sent, ready);
            }
            Op::SegmentWrite { segment } => self.written(segment, succeeded),
            Op::EntryTransfer => {
                self.pending.transferring = false;
                if let DataIn::Entries(entries) = &response.data {
                    self.take_entries(entries);
                    if !entries.is_empty() {
                        self.moved_on();
                    }
                }
            }
            Op::ValidBitmap { block, reason } => self.bitmap_answered(block, reason, response.status),
            // Commands of the scheduler.
            Op::CacheQuery | Op::BatchNotice { .. } => {}
            _ => panic!("{op:?} is not a command of this booster"),
        }
    }

    #[inline(never)]
    fn take_entries(&mut self, entries: &[L2pEntry]) {
        for (i, &entry) in entries.iter().enumerate() {
            if let Some(far) = entries.get(i + 2 * AHEAD) {
                self.cache.prefetch(far.lpa, true);
            }
            if let Some(near) = entries.get(i + AHEAD) {
                self.prefetch_replaced(near.lpa);
            }
            self.take_entry(entry);
        }
    }

    /// Prefetches what is known of the page that a change of this address will replace.
    #[inline]
    pub(super) fn prefetch_replaced(&self, lpa: Lpa) {
        if lpa.0 < self.info.capacity_units
            && let Lookup::Cached(slot) = self.cache.lookup(lpa.segment())
            && let Some(ppa) = Ppa::unpack(self.cache.entry(slot, lpa))
        {
            self.validity.prefetch(ppa);
        }
    }

    /// Handles one received entry. Applies it if it is next in order, else stores it.
    #[inline(always)]
    fn take_entry(&mut self, entry: L2pEntry) {
        self.stats.entries_received += 1;
        self.check_entry(&entry);
        let Some(entry) = unapplied_part(entry, self.host_seq) else {
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
            // GC moves pages of any segment. Segments that were fetched only when their change is first in the buffer,
            // one after the other, would hold up all changes behind them.
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

    /// Applies as many entries of the reorder buffer as possible, strictly in order and without gaps.
    #[inline(never)]
    pub(super) fn apply_waiting(&mut self) {
        let stalled_at = self.pending.head.take();
        while let Some(&first) = self.reorder.first() {
            let Some(entry) = unapplied_part(first, self.host_seq) else {
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
        for i in 0..u32::from(entry.len) {
            let lpa = entry.lpa.offset(i);
            let new = entry.ppa.map(|ppa| ppa.offset(i));
            let old = Ppa::unpack(self.cache.entry(slot, lpa));
            if entry.source.is_some() && entry.source != old.map(|ppa| self.validity.block_of(ppa)) {
                self.discard(new);
                continue;
            }
            self.cache.change(slot, lpa, Ppa::pack(new));
            if let Some(block) = old.and_then(|ppa| self.validity.clear(ppa)) {
                self.freed.push(block);
            }
            if let Some(ppa) = new {
                let block = self.validity.set(ppa);
                self.validity.written(block, entry.seq.plus(i));
                self.pending.refused.remove(block.0);
            }
            self.stats.units_applied += 1;
        }
        self.host_seq = entry.last_seq();
        if self.at_once.is_some() {
            self.write_changed(entry.lpa.segment());
        }
    }

    /// A segment has changed: writes back what is due at once.
    #[inline(never)]
    fn write_changed(&mut self, segment: SegmentId) {
        let due = self.at_once.as_mut().map(|at_once| at_once.applied(segment)).unwrap_or_default();
        for segment in due {
            if matches!(self.cache.lookup(segment), Lookup::Cached(slot) if self.cache.is_dirty(slot)) {
                self.hint_write(segment);
            }
        }
    }

    /// Discards a copy that came too late. If its block has no valid page, the device may never learn that in another
    /// way.
    fn discard(&mut self, new: Option<Ppa>) {
        self.stats.units_discarded += 1;
        if let Some(ppa) = new {
            let block = self.validity.block_of(ppa);
            self.pending.refused.remove(block.0);
            if self.validity.count(block) == 0 {
                self.freed.push(block);
            }
        }
    }
}
