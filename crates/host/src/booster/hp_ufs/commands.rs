//! The order of internal commands: loads, room in the cache, entry transfers, writebacks, bitmaps.
//!
//! No cycle of waiting may arise here. Changes are applied in order, so the segment of the first entry in the reorder
//! buffer must always find a slot. Therefore loads for other purposes, and segments pinned by parts that are about to
//! read them, always leave one slot free of them. The segment in that slot can be dropped, if necessary after a
//! writeback, which waits for nothing.

use std::collections::VecDeque;

use live::SentSegment;
use ufs::{BitmapFor, DataOut, Op, Status};
use units::{Nanos, SegmentId, SimTime, Superblock};

use super::pending::Writing;
use super::segment_cache::Lookup;
use super::state::HpUfs;
use crate::booster::seat::Internal;
use crate::request::Part;

/// Most writebacks for eviction at a time.
const MAX_EVICTION_WRITES: usize = 4;

/// Slots to keep free, if the cache is large enough, so that a load seldom waits for a writeback.
const SPARE_SLOTS: usize = 8;

/// After this many applied changes that no command has reported, the driver sends a command to report them. The
/// device's log holds far more, so it never stops for changes that the host has applied long before.
const REPORT_EVERY: u64 = 256;

/// The driver polls if requests are outstanding and no response has come for this long.
const POLL_AFTER: Nanos = Nanos::from_micros(200);

/// A poll in idle time after one that has brought something. Each that brings nothing doubles the time to the next.
const IDLE_POLL_AFTER: Nanos = Nanos::from_millis(1);

/// After so many polls that have brought nothing the driver does not poll until the next request.
const MOST_FRUITLESS: u32 = 12;

impl HpUfs {
    /// The most urgent internal command.
    pub(super) fn next_internal(&mut self) -> Option<Internal> {
        let first = self
            .load()
            .or_else(|| self.make_room())
            .or_else(|| self.load())
            .or_else(|| self.next_reclaim_writeback(MAX_EVICTION_WRITES))
            .or_else(|| self.give_up_unused(MAX_EVICTION_WRITES))
            .or_else(|| self.transfer_entries());
        if first.is_some() {
            return first;
        }
        // By far the most frequent; made where it is returned, because moving it is slow.
        if let Some(segment) = self.next_hinted() {
            return Some(self.write_back(segment, false));
        }
        self.send_bitmap()
    }

    // Loads.

    fn load(&mut self) -> Option<Internal> {
        if self.cache.free_slots() <= 0 {
            return None;
        }
        let segment = match self.head_to_load() {
            Some(segment) => {
                self.pending.head_loading = Some(segment);
                segment
            }
            None => {
                let segment = match self.demanded() {
                    Some(segment) => {
                        self.wants.pop();
                        segment
                    }
                    None if self.wants.first().is_none() && self.reserved() + 1 < self.cache.limit() => {
                        self.next_prefetch(SPARE_SLOTS as isize)?
                    }
                    None => return None,
                };
                self.pending.loading += 1;
                segment
            }
        };
        self.cache.start_load(segment);
        self.stats.segment_reads += 1;
        Some(Op::SegmentRead { segment }.into())
    }

    fn head_to_load(&self) -> Option<SegmentId> {
        self.pending.head.filter(|&segment| self.cache.lookup(segment) == Lookup::Absent)
    }

    /// The first segment that a request needs, if it may have a slot.
    fn demanded(&mut self) -> Option<SegmentId> {
        while let Some(segment) = self.wants.first() {
            if self.cache.lookup(segment) == Lookup::Absent {
                return (self.reserved() + 1 < self.cache.limit()).then_some(segment);
            }
            self.wants.pop();
        }
        None
    }

    /// Slots that the reorder buffer can not use.
    fn reserved(&self) -> usize {
        self.pending.loading + self.cache.pinned()
    }

    /// A segment read has ended; `None` if it failed. The parts that waited for it continue.
    pub(super) fn loaded(&mut self, segment: SegmentId, sent: Option<SentSegment>, ready: &mut VecDeque<Part>) {
        if self.pending.head_loading == Some(segment) {
            self.pending.head_loading = None;
        } else {
            self.pending.loading -= 1;
        }
        let Some(sent) = sent else {
            self.stats.segment_read_failures += 1;
            self.cache.fail_load(segment);
            self.loaded_for_app(segment, None);
            self.wants.want(segment);
            return;
        };
        let slot = self.cache.finish_load(segment, sent);
        self.start_expiry(self.last_activity);
        self.loaded_for_app(segment, Some(slot));
        let pin = self.reserved() + 1 < self.cache.limit();
        let woken = self.wants.wake(segment, pin, ready);
        if pin {
            self.cache.pin(slot, woken);
        }
        self.apply_waiting();
    }

    // Room in the cache (Sec. III-D, III-F).

    /// Drops the least recently used segments until enough slots are free. Gives a writeback if one of them is dirty.
    fn make_room(&mut self) -> Option<Internal> {
        while self.cache.free_slots() + (self.cache.leaving() as isize) < self.slots_needed() {
            let victim = self.cache.victim(|segment| self.pending.is_writing(segment))?;
            if self.cache.is_active(victim) && !self.may_take_active() {
                return None;
            }
            if self.cache.is_dirty(victim) {
                if self.cache.leaving() >= MAX_EVICTION_WRITES {
                    return None;
                }
                self.stats.segment_writebacks_evict += 1;
                return Some(self.write_back(self.cache.segment(victim), true));
            }
            self.cache.drop_clean(victim);
            self.stats.segments_dropped += 1;
        }
        None
    }

    /// True if a segment of the foreground app may be evicted: for the reorder buffer, or if no other slot will become
    /// free.
    fn may_take_active(&mut self) -> bool {
        self.head_to_load().is_some() || self.reserved() == 0 && self.demanded().is_some()
    }

    fn slots_needed(&mut self) -> isize {
        let limit = self.cache.limit();
        let waiting = self.head_to_load().is_some() || self.demanded().is_some();
        let spare = if limit < self.cache.segments() { SPARE_SLOTS.min(limit / 4) } else { 0 };
        spare.max(usize::from(waiting)) as isize
    }

    // Writebacks (Sec. III-D).

    /// The device wants a segment written back. A second hint while its writeback is under way counts only if that
    /// writeback does not have the latest state.
    pub(super) fn hint_write(&mut self, segment: SegmentId) {
        assert!(segment.index() < self.cache.segments(), "the device asks for {segment}, which it has not got");
        let on_its_way = |w: &Writing| w.segment == segment && w.seq == self.host_seq;
        if self.pending.writing.iter().any(on_its_way) || !self.pending.is_hinted.insert(segment.0) {
            return;
        }
        if let Lookup::Cached(slot) = self.cache.lookup(segment) {
            self.cache.prefetch_state(slot, segment);
        }
        self.pending.hinted.push_back(segment);
        self.pending.work = true;
    }

    /// The next segment to be written back because the device has asked for it.
    fn next_hinted(&mut self) -> Option<SegmentId> {
        let position =
            self.pending.hinted.iter().position(|&segment| {
                self.cache.lookup(segment) != Lookup::Loading && !self.pending.is_writing(segment)
            })?;
        let segment = self.pending.hinted.remove(position)?;
        self.pending.is_hinted.remove(segment.0);
        Some(segment)
    }

    /// Sends the dirty parts of a segment. A clean or absent segment has no change that flash lacks, so it is attested
    /// without data.
    pub(super) fn write_back(&mut self, segment: SegmentId, leave: bool) -> Internal {
        let op = Op::SegmentWrite { segment };
        let slot = match self.cache.lookup(segment) {
            Lookup::Cached(slot) if self.cache.is_dirty(slot) => Some(slot),
            _ => None,
        };
        self.pending.writing.push(Writing { segment, seq: self.host_seq, with_data: slot.is_some() });
        // Made where it is returned, because moving it is slow.
        match slot {
            Some(slot) => {
                self.stats.segment_writebacks += 1;
                Internal { op, data: self.cache.start_write(slot, leave) }
            }
            None => {
                self.stats.attests += 1;
                Internal { op, data: DataOut::None }
            }
        }
    }

    /// A writeback or attest has ended.
    pub(super) fn written(&mut self, segment: SegmentId, succeeded: bool) {
        let position = self.pending.writing.iter().position(|writing| writing.segment == segment);
        let position = position.unwrap_or_else(|| panic!("no writeback of {segment} is under way"));
        if self.pending.writing.swap_remove(position).with_data && self.cache.finish_write(segment, succeeded) {
            self.stats.segments_dropped += 1;
        }
    }

    // Entry transfers (Sec. III-B).

    fn transfer_entries(&mut self) -> Option<Internal> {
        if self.pending.transferring || !self.pending.entries {
            return None;
        }
        self.pending.entries = false;
        Some(self.entry_transfer())
    }

    /// Reports the host's progress when no user command can. The device takes no write while its log is full of changes
    /// that the host has applied already, and then no write tells it that it may drop them.
    #[inline]
    pub(super) fn report_progress(&mut self) -> Option<Internal> {
        if self.pending.transferring || self.host_seq.0 - self.reported_seq.0 < REPORT_EVERY {
            return None;
        }
        self.stats.entry_transfers_to_report += 1;
        Some(self.entry_transfer())
    }

    /// Time at which the driver asks the device whether it wants anything. The device can speak only in responses. If
    /// every write in its queue waits for a log block to become a normal block, it has no response that could carry the
    /// writeback hint.
    #[inline]
    pub(super) fn poll_due(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        if self.pending.transferring {
            return None;
        }
        let after = match (idle_since, self.pending.fruitless) {
            (None, _) => POLL_AFTER,
            (Some(_), Some(n)) if n < MOST_FRUITLESS => Nanos(IDLE_POLL_AFTER.0 << n),
            (Some(_), _) => return None,
        };
        Some(self.last_activity + after)
    }

    /// Asks the device whether it wants anything, if that is due.
    pub(super) fn poll(&mut self, now: SimTime, idle_since: Option<SimTime>) -> Option<Internal> {
        if self.poll_due(idle_since).is_none_or(|due| now < due) {
            return None;
        }
        self.last_activity = now;
        self.stats.polls += 1;
        if idle_since.is_some() {
            self.pending.fruitless = self.pending.fruitless.map(|n| n + 1);
        }
        Some(self.entry_transfer())
    }

    fn entry_transfer(&mut self) -> Internal {
        self.pending.transferring = true;
        self.stats.entry_transfers += 1;
        Op::EntryTransfer.into()
    }

    // Valid page bitmaps (Sec. III-E).

    /// The device wants the bitmap of a block.
    pub(super) fn hint_bitmap(&mut self, block: Superblock) {
        assert!(block.0 < self.info.superblocks, "the device asks for {block}, which it has not got");
        self.pending.bitmap_of = Some(block);
        self.pending.work = true;
    }

    fn send_bitmap(&mut self) -> Option<Internal> {
        if self.pending.sending_bitmap {
            return None;
        }
        let mut choice = None;
        if std::mem::take(&mut self.pending.victim) {
            choice = self.validity.victim(&self.pending.refused, self.host_seq).map(|block| (block, BitmapFor::Gc));
            if choice.is_none() {
                // The device refuses a block while it is open, or while copies from it have not arrived here. When no
                // other block is left, the refused ones are offered again.
                self.pending.refused.clear();
            }
        }
        let (block, reason) = match choice {
            Some(choice) => choice,
            None => (self.pending.bitmap_of.take()?, BitmapFor::WearLevelling),
        };
        self.pending.sending_bitmap = true;
        self.stats.bitmaps_sent += 1;
        let data = DataOut::Bitmap(self.validity.bitmap(block));
        Some(Internal { op: Op::ValidBitmap { block, reason }, data })
    }

    /// The device has accepted or refused a bitmap.
    pub(super) fn bitmap_answered(&mut self, block: Superblock, reason: BitmapFor, status: Status) {
        self.pending.sending_bitmap = false;
        if status == Status::Good {
            self.pending.refused.clear();
            self.moved_on();
            return;
        }
        self.stats.bitmaps_refused += 1;
        if reason == BitmapFor::Gc {
            self.pending.refused.insert(block.0);
        }
    }
}
