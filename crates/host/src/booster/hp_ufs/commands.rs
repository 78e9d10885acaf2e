//! Which internal command goes next: loads, room in the cache, entry transfers, writebacks, bitmaps.
//!
//! Nothing here may wait in a circle. Changes are applied in order, so the segment of the first entry in the reorder
//! buffer must always find a slot: loads for anyone else, and segments pinned by parts about to read them, together
//! leave one slot alone. Whatever is in that slot can go, if need be after a writeback, which waits for no one.

use std::collections::VecDeque;

use live::SegmentImage;
use ufs::{BitmapFor, DataOut, Op, Status};
use units::{Nanos, SegmentId, SimTime, Superblock};

use super::pending::Writing;
use super::segment_cache::Lookup;
use super::state::HpUfs;
use crate::booster::seat::Internal;
use crate::request::Part;

/// Evictions that may write back at a time.
const EVICTIONS: usize = 4;

/// Slots to keep free, if the cache is large enough, so that a load seldom waits for a writeback.
const SPARE_SLOTS: usize = 8;

/// Changes applied but not told to the device after which it is told by a command of its own. Its log holds far more,
/// so it never stands still over changes that the host has applied long since.
const REPORT_EVERY: u64 = 256;

/// Requests outstanding and no response for this long: the driver polls.
const POLL_AFTER: Nanos = Nanos::from_micros(200);

impl HpUfs {
    /// The most urgent internal command.
    pub(super) fn next_internal(&mut self) -> Option<Internal> {
        self.load()
            .or_else(|| self.make_room())
            .or_else(|| self.load())
            .or_else(|| self.shed(EVICTIONS))
            .or_else(|| self.transfer_entries())
            .or_else(|| self.write_hinted())
            .or_else(|| self.send_bitmap())
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
                        self.next_ahead(SPARE_SLOTS as isize)?
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

    /// The first segment wanted by a request, if a slot may be given to it.
    fn demanded(&mut self) -> Option<SegmentId> {
        while let Some(segment) = self.wants.first() {
            if self.cache.lookup(segment) == Lookup::Absent {
                return (self.reserved() + 1 < self.cache.limit()).then_some(segment);
            }
            self.wants.pop();
        }
        None
    }

    /// Slots that the reorder buffer cannot have.
    fn reserved(&self) -> usize {
        self.pending.loading + self.cache.pinned()
    }

    /// A segment read has ended, badly if there is no image. The parts that waited for it go on.
    pub(super) fn loaded(&mut self, segment: SegmentId, image: Option<Box<SegmentImage>>, ready: &mut VecDeque<Part>) {
        if self.pending.head_loading == Some(segment) {
            self.pending.head_loading = None;
        } else {
            self.pending.loading -= 1;
        }
        let Some(image) = image else {
            self.stats.segment_read_failures += 1;
            self.cache.fail_load(segment);
            self.loaded_for_app(segment, None);
            self.wants.want(segment);
            return;
        };
        let slot = self.cache.finish_load(segment, image);
        self.loaded_for_app(segment, Some(slot));
        let pin = self.reserved() + 1 < self.cache.limit();
        let woken = self.wants.wake(segment, pin, ready);
        if pin {
            self.cache.pin(slot, woken);
        }
        self.apply_waiting();
    }

    // Room in the cache (Sec. III-D, III-F).

    /// Drops the least recently used segments until enough slots are free; gives a writeback if one is dirty.
    fn make_room(&mut self) -> Option<Internal> {
        while self.cache.free_slots() + (self.cache.leaving() as isize) < self.slots_needed() {
            let victim = self.cache.victim(|segment| self.pending.is_writing(segment))?;
            if self.cache.is_active(victim) && !self.may_take_active() {
                return None;
            }
            if self.cache.is_dirty(victim) {
                if self.cache.leaving() >= EVICTIONS {
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

    /// A segment of the app in the foreground goes only if nothing else can: for the reorder buffer, or when no other
    /// slot will become free.
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

    /// The device wants a segment written back. A second hint while the segment is on its way counts only if what is on
    /// its way is not the latest state.
    pub(super) fn hint_write(&mut self, segment: SegmentId) {
        assert!(segment.index() < self.cache.segments(), "the device asks for {segment}, which it has not got");
        let on_its_way = |w: &Writing| w.segment == segment && w.seq == self.host_seq;
        if self.pending.writing.iter().any(on_its_way) || !self.pending.is_hinted.insert(segment.index()) {
            return;
        }
        self.pending.hinted.push_back(segment);
        self.pending.work = true;
    }

    fn write_hinted(&mut self) -> Option<Internal> {
        let position =
            self.pending.hinted.iter().position(|&segment| {
                self.cache.lookup(segment) != Lookup::Loading && !self.pending.is_writing(segment)
            })?;
        let segment = self.pending.hinted.remove(position)?;
        self.pending.is_hinted.remove(segment.index());
        Some(self.write_back(segment, false))
    }

    /// Sends what is dirty of a segment. One that is clean or absent has no change that is not on flash: saying so is
    /// enough.
    pub(super) fn write_back(&mut self, segment: SegmentId, leave: bool) -> Internal {
        let data = match self.cache.lookup(segment) {
            Lookup::Cached(slot) if self.cache.is_dirty(slot) => {
                self.stats.segment_writebacks += 1;
                self.cache.start_write(slot, leave)
            }
            _ => {
                self.stats.attests += 1;
                DataOut::None
            }
        };
        let with_data = !matches!(data, DataOut::None);
        self.pending.writing.push(Writing { segment, seq: self.host_seq, with_data });
        Internal { op: Op::SegmentWrite { segment }, data }
    }

    /// A writeback or attest has ended.
    pub(super) fn written(&mut self, segment: SegmentId, good: bool) {
        let position = self.pending.writing.iter().position(|writing| writing.segment == segment);
        let position = position.unwrap_or_else(|| panic!("no writeback of {segment} is under way"));
        if self.pending.writing.swap_remove(position).with_data && self.cache.finish_write(segment, good) {
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

    /// Tells the device how far the host is when no user command can: while the device's log is full of changes that
    /// the host has applied already, it takes no write, and then no write tells it that it may drop them.
    #[inline]
    pub(super) fn report_progress(&mut self) -> Option<Internal> {
        if self.pending.transferring || self.host_seq.0 - self.told_seq.0 < REPORT_EVERY {
            return None;
        }
        self.stats.entry_transfers_to_report += 1;
        Some(self.entry_transfer())
    }

    /// When to ask the device whether it wants anything. It can speak only in responses: with every write in its queue
    /// waiting for a log block to become a normal block, it has none to put the writeback hint into.
    #[inline]
    pub(super) fn poll_due(&self, idle_since: Option<SimTime>) -> Option<SimTime> {
        let waiting = idle_since.is_none() && !self.pending.transferring;
        waiting.then(|| self.last_activity + POLL_AFTER)
    }

    /// Asks.
    pub(super) fn poll(&mut self, now: SimTime, idle_since: Option<SimTime>) -> Option<Internal> {
        if self.poll_due(idle_since).is_none_or(|due| now < due) {
            return None;
        }
        self.last_activity = now;
        self.stats.polls += 1;
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
            choice = self.validity.emptiest(&self.pending.refused).map(|block| (block, BitmapFor::Gc));
            if choice.is_none() {
                // A block is refused while it is open, or while copies out of it are on their way here. When nothing
                // else is left it is time to try those again.
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

    /// A bitmap has been taken or refused.
    pub(super) fn bitmap_answered(&mut self, block: Superblock, reason: BitmapFor, status: Status) {
        self.pending.sending_bitmap = false;
        if status == Status::Good {
            self.pending.refused.clear();
            return;
        }
        self.stats.bitmaps_refused += 1;
        if reason == BitmapFor::Gc {
            self.pending.refused.insert(block.index());
        }
    }
}
