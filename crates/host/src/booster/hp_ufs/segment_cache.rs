//! L2P segment cache (HP-UFS Sec. III-F): the segments that the host holds, their states, and the order of eviction.
//!
//! A segment is absent, loading, or cached. A cached one is clean or dirty, and its writeback may be under way at the
//! same time. It is clean from the moment at which a writeback is sent, because the device gets its state of that
//! moment.
//!
//! If the device writes segments in parts, a writeback of a segment that stays cached has only the parts with changes.
//! So the cache notes dirty quarters, as the smallest part is a quarter; a change makes all quarters of its part dirty.

use lists::Lru;
use live::{LiveSegments, SentSegment};
use ufs::{DataOut, QUARTER_ENTRIES, Quarters};
use units::{Lpa, SegmentId, UNIT_BYTES};

use crate::booster::app_lists::{AFG, AppLists, BG, IFG};

/// Index of a slot.
pub(crate) type SlotIndex = u32;

/// Marks the slot of a segment that is loading. Every change and every part of a request asks for the state of its
/// segment, and with this mark the answer lies in one table.
const LOADING: u32 = 1 << 31;

/// State of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    Absent,
    Loading,
    Cached(SlotIndex),
}

#[derive(Clone, Hash)]
struct Slot {
    segment: SegmentId,
    /// False while loading.
    loaded: bool,
    /// Quarters with changes that are not on flash, as bits, and those whose writeback is under way.
    dirty: u8,
    writing: u8,
    /// True if the segment is dropped when its writeback ends, unless it is used or changed until then.
    leaving: bool,
    /// Number of parts that are about to use the segment and keep it from being evicted.
    pins: u32,
    /// Period in which a request has used the segment last; see [`SegmentCache::next_period`].
    period: u32,
}

/// The cache.
#[derive(Clone, Hash)]
pub(crate) struct SegmentCache {
    /// Per segment: 0, or its slot plus one, and [`LOADING`] while it is loading.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    /// The entries. Each segment has storage of its own, where they stay when it is dropped. So what is on flash and
    /// what is changed here are states of it, and a segment that is loaded again mostly finds its entries there.
    live: LiveSegments,
    free: Vec<SlotIndex>,
    /// The cached segments in order of use.
    lru: Lru<u32>,
    /// The cached segments by app, if the policy depends on apps.
    pub lists: Option<AppLists>,
    in_use: usize,
    limit: usize,
    leaving: usize,
    pinned: usize,
    /// By quarter: all quarters of the part to which it belongs.
    part_of: [u8; 4],
    /// Number of the present period.
    period: u32,
}

impl SegmentCache {
    /// An empty cache of at most `limit` of `segments` segments. The device writes them in parts of `part_entries`.
    pub fn new(segments: u32, limit: usize, part_entries: u32) -> SegmentCache {
        let n = (part_entries / QUARTER_ENTRIES).clamp(1, 4);
        let part_of = [0, 1, 2, 3].map(|quarter: u32| (((1 << n) - 1) << (quarter / n * n)) as u8);
        SegmentCache {
            part_of,
            slot_of: vec![0; segments as usize],
            slots: Vec::new(),
            live: LiveSegments::new(segments),
            free: Vec::new(),
            lru: Lru::new(),
            lists: None,
            in_use: 0,
            limit,
            leaving: 0,
            pinned: 0,
            period: 0,
        }
    }

    /// State of a segment.
    #[inline(always)]
    pub fn lookup(&self, segment: SegmentId) -> Lookup {
        match self.slot_of[segment.index()] {
            0 => Lookup::Absent,
            slot if slot & LOADING != 0 => Lookup::Loading,
            slot => Lookup::Cached(slot - 1),
        }
    }

    /// The entry of an address in a cached segment.
    #[inline]
    pub fn entry(&self, slot: SlotIndex, lpa: Lpa) -> u32 {
        assert!(self.holds(slot, lpa), "{lpa} is not loaded there");
        self.live.get(lpa.segment().0, lpa.slot())
    }

    #[inline]
    fn holds(&self, slot: SlotIndex, lpa: Lpa) -> bool {
        let slot = &self.slots[slot as usize];
        slot.loaded && slot.segment == lpa.segment()
    }

    /// Prefetches an entry that will be read or changed soon, and what is known of its segment if it is cached already.
    /// Nothing comes of an address beyond the device.
    #[inline]
    pub fn prefetch(&self, lpa: Lpa, changes: bool) {
        let segment = lpa.segment();
        self.live.prefetch(segment.0, lpa.slot(), changes);
        if segment.index() < self.slot_of.len()
            && let Lookup::Cached(slot) = self.lookup(segment)
        {
            table::prefetch(&self.slots[slot as usize]);
        }
    }

    /// Prefetches what a write-back of a segment looks at.
    #[inline]
    pub fn prefetch_state(&self, slot: SlotIndex, segment: SegmentId) {
        table::prefetch(&self.slots[slot as usize]);
        self.live.prefetch_state(segment.0);
    }

    /// For tests: changes an entry of a cached segment. The segment stays as clean or dirty as it is.
    pub fn tamper(&mut self, lpa: Lpa, packed: u32) {
        self.live.change(lpa.segment().0, lpa.slot(), packed);
    }

    /// Changes the entry of an address in a cached segment, which becomes dirty.
    #[inline]
    pub fn change(&mut self, slot: SlotIndex, lpa: Lpa, packed: u32) {
        assert!(self.holds(slot, lpa), "{lpa} is not loaded there");
        self.live.change(lpa.segment().0, lpa.slot(), packed);
        self.cancel_leaving(slot);
        self.slots[slot as usize].dirty |= self.part_of[lpa.slot() / QUARTER_ENTRIES as usize];
    }

    /// Notes that a request uses a cached segment.
    #[inline(always)]
    pub fn touch(&mut self, slot: SlotIndex) {
        self.cancel_leaving(slot);
        self.slots[slot as usize].period = self.period;
        self.lru.touch(slot);
    }

    /// Begins another period.
    pub fn next_period(&mut self) {
        self.period += 1;
    }

    /// The segment used longest ago, if no request has used it in the last `periods` periods before the present one, it
    /// can be evicted, and it does not belong to the app in the foreground.
    pub fn unused_for(&self, periods: u32, busy: impl Fn(SegmentId) -> bool) -> Option<SlotIndex> {
        let unused = |&index: &SlotIndex| self.slots[index as usize].period + periods < self.period;
        let mut candidates = self.lru.oldest_first().take_while(unused);
        candidates.find(|&index| self.evictable(index, &busy) && !self.is_active(index))
    }

    /// True if no segment is cached or loading.
    pub fn is_empty(&self) -> bool {
        self.in_use == 0
    }

    #[inline]
    fn cancel_leaving(&mut self, slot: SlotIndex) {
        let slot = &mut self.slots[slot as usize];
        if slot.leaving {
            slot.leaving = false;
            self.leaving -= 1;
        }
    }

    /// Takes a slot for an absent segment. The cache must have a free one.
    pub fn start_load(&mut self, segment: SegmentId) {
        assert!(self.in_use < self.limit, "{segment} does not fit the limit of {} segments", self.limit);
        assert!(self.lookup(segment) == Lookup::Absent, "{segment} is loaded twice");
        self.in_use += 1;
        let slot = Slot { segment, loaded: false, dirty: 0, writing: 0, leaving: false, pins: 0, period: self.period };
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as SlotIndex
            }
        };
        self.slot_of[segment.index()] = LOADING | (index + 1);
        self.live.prefetch_state(segment.0);
    }

    /// Ends the loading of a segment.
    pub fn finish_load(&mut self, segment: SegmentId, sent: SentSegment) -> SlotIndex {
        let index = self.loading_slot(segment);
        self.slots[index as usize].loaded = true;
        self.slot_of[segment.index()] = index + 1;
        self.live.take(segment.0, sent);
        self.lru.insert(index);
        index
    }

    /// Gives up the loading of a segment.
    pub fn fail_load(&mut self, segment: SegmentId) {
        let index = self.loading_slot(segment);
        self.release(index);
    }

    fn loading_slot(&self, segment: SegmentId) -> SlotIndex {
        assert!(self.lookup(segment) == Lookup::Loading, "{segment} came without being asked for");
        (self.slot_of[segment.index()] & !LOADING) - 1
    }

    /// True if a cached segment is dirty.
    pub fn is_dirty(&self, slot: SlotIndex) -> bool {
        self.slots[slot as usize].dirty != 0
    }

    /// Begins a writeback of the dirty parts of a segment. With `leave`, the segment is dropped afterwards, and all of
    /// it is written: a later use has to read it, and parts that were written together are read together.
    pub fn start_write(&mut self, index: SlotIndex, leave: bool) -> DataOut {
        let slot = &mut self.slots[index as usize];
        assert!(slot.dirty != 0 && slot.writing == 0, "{} is written back without need", slot.segment);
        slot.writing = std::mem::take(&mut slot.dirty);
        slot.leaving = leave;
        self.leaving += usize::from(leave);
        match Quarters::new(slot.writing).filter(|_| !leave) {
            Some(quarters) => DataOut::SegmentParts(quarters, quarters.of(&self.live.image(slot.segment.0))),
            None => DataOut::Segment(self.live.state(slot.segment.0)),
        }
    }

    /// Ends a writeback. If it has failed, the segment is dirty again. True if the segment was dropped.
    pub fn finish_write(&mut self, segment: SegmentId, written: bool) -> bool {
        let Lookup::Cached(index) = self.lookup(segment) else {
            panic!("{segment} was dropped during its writeback");
        };
        let slot = &mut self.slots[index as usize];
        let was_sent = std::mem::take(&mut slot.writing);
        slot.dirty |= if written { 0 } else { was_sent };
        let leaving = std::mem::take(&mut slot.leaving);
        self.leaving -= usize::from(leaving);
        let drop = leaving && written;
        if drop {
            self.drop_clean(index);
        }
        drop
    }

    /// The least recently used segment that can be evicted: not loading, not being written back, not pinned, and not
    /// `busy`.
    pub fn victim(&self, busy: impl Fn(SegmentId) -> bool) -> Option<SlotIndex> {
        match &self.lists {
            None => {
                let mut oldest = self.lru.oldest_first();
                let found = oldest.find(|&index| self.evictable(index, &busy));
                // The next one is the next victim, most often.
                oldest.next().into_iter().for_each(|next| self.prefetch_state(next, self.segment(next)));
                found
            }
            Some(lists) => self.spare(false, &busy).or_else(|| self.spare(true, &busy)).or_else(|| {
                let of =
                    |dirty| lists.oldest_first(AFG).find(|&i| self.evictable(i, &busy) && self.is_dirty(i) == dirty);
                of(false).or_else(|| of(true))
            }),
        }
    }

    /// True if the segment belongs to the app in the foreground.
    pub fn is_active(&self, slot: SlotIndex) -> bool {
        self.lists.as_ref().is_some_and(|lists| lists.is_active(slot))
    }

    /// The oldest dirty or clean segment of BG, else of IFG, that can be evicted.
    pub fn spare(&self, dirty: bool, busy: impl Fn(SegmentId) -> bool) -> Option<SlotIndex> {
        let lists = self.lists.as_ref()?;
        let of = |list| lists.oldest_first(list).find(|&i| self.is_dirty(i) == dirty && self.evictable(i, &busy));
        of(BG).or_else(|| of(IFG))
    }

    fn evictable(&self, index: SlotIndex, busy: impl Fn(SegmentId) -> bool) -> bool {
        let slot = &self.slots[index as usize];
        slot.writing == 0 && slot.pins == 0 && !busy(slot.segment)
    }

    /// The segment in a slot.
    pub fn segment(&self, slot: SlotIndex) -> SegmentId {
        self.slots[slot as usize].segment
    }

    /// Drops a clean segment.
    pub fn drop_clean(&mut self, index: SlotIndex) {
        let slot = &self.slots[index as usize];
        assert!(slot.dirty == 0 && slot.writing == 0 && slot.pins == 0, "{} is dropped while in use", slot.segment);
        self.lru.remove(index);
        if let Some(lists) = &mut self.lists {
            lists.unlist(index);
        }
        self.release(index);
    }

    fn release(&mut self, index: SlotIndex) {
        let slot = &mut self.slots[index as usize];
        slot.loaded = false;
        self.slot_of[slot.segment.index()] = 0;
        self.free.push(index);
        self.in_use -= 1;
    }

    /// Keeps a cached segment from being evicted for `parts` more parts.
    pub fn pin(&mut self, slot: SlotIndex, parts: u32) {
        self.cancel_leaving(slot);
        let pins = &mut self.slots[slot as usize].pins;
        self.pinned += usize::from(*pins == 0 && parts > 0);
        *pins += parts;
    }

    /// Ends the pin of one part, unless a lowered limit has ended it.
    pub fn unpin(&mut self, slot: SlotIndex) {
        let pins = &mut self.slots[slot as usize].pins;
        self.pinned -= usize::from(*pins == 1);
        *pins = pins.saturating_sub(1);
    }

    /// Segments that are pinned.
    pub fn pinned(&self) -> usize {
        self.pinned
    }

    /// Slots that a load could take. Negative if more are in use than a lowered limit allows.
    pub fn free_slots(&self) -> isize {
        self.limit as isize - self.in_use as isize
    }

    /// Number of segments that will be dropped when their writeback ends.
    pub fn leaving(&self) -> usize {
        self.leaving
    }

    /// Most segments that may be held.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Sets the limit. No segment is loaded before the slots in use are fewer than it allows. All pins end, because
    /// under a lower limit they could leave no slot for the reorder buffer; the parts concerned may have to wait again.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.pinned = 0;
        for slot in &mut self.slots {
            slot.pins = 0;
        }
    }

    /// Number of segments of the device.
    pub fn segments(&self) -> usize {
        self.slot_of.len()
    }

    /// DRAM in use, in bytes.
    pub fn bytes_used(&self) -> u64 {
        self.in_use as u64 * UNIT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use live::SegmentImage;

    use super::*;

    fn image(raw: u32) -> Box<SegmentImage> {
        Box::new([raw; 1024])
    }

    fn loaded(cache: &mut SegmentCache, segment: u32) -> SlotIndex {
        cache.start_load(SegmentId(segment));
        assert_eq!(cache.lookup(SegmentId(segment)), Lookup::Loading);
        cache.finish_load(SegmentId(segment), image(segment).into())
    }

    fn change(cache: &mut SegmentCache, slot: SlotIndex, at: usize, packed: u32) {
        cache.change(slot, lpa(cache, slot, at), packed);
    }

    fn lpa(cache: &SegmentCache, slot: SlotIndex, at: usize) -> Lpa {
        Lpa(cache.segment(slot).0 * units::SEGMENT_ENTRIES + at as u32)
    }

    fn sent(data: DataOut) -> Box<SegmentImage> {
        let DataOut::Segment(state) = data else { panic!("{data:?} is not a whole segment") };
        state.image()
    }

    #[test]
    fn parts_with_changes_are_sent_and_no_others() {
        for (entries, changed, expected) in
            [(256, vec![3, 600], 0b0101), (256, vec![1023], 0b1000), (512, vec![300], 0b0011), (512, vec![512], 0b1100)]
        {
            let mut cache = SegmentCache::new(8, 2, entries);
            let slot = loaded(&mut cache, 5);
            changed.iter().for_each(|&at| change(&mut cache, slot, at, 77));
            let DataOut::SegmentParts(quarters, image) = cache.start_write(slot, false) else { panic!("not in parts") };
            assert_eq!(quarters.bits(), expected);
            for (at, &packed) in image.iter().enumerate() {
                let in_part = expected >> (at / 256) & 1 != 0;
                let packed_before = if changed.contains(&at) { 77 } else { 5 };
                assert_eq!(packed, if in_part { packed_before } else { 0 }, "entry {at}");
            }
        }
    }

    #[test]
    fn parts_that_were_not_written_are_dirty_again_beside_new_changes() {
        let mut cache = SegmentCache::new(8, 2, 256);
        let slot = loaded(&mut cache, 5);
        change(&mut cache, slot, 0, 9);
        assert_eq!(sent(cache.start_write(slot, true))[1], 5, "a segment that leaves is sent whole");
        change(&mut cache, slot, 300, 9);
        assert!(!cache.finish_write(SegmentId(5), false));
        let DataOut::SegmentParts(quarters, _) = cache.start_write(slot, false) else { panic!("not in parts") };
        assert_eq!(quarters.bits(), 0b0011);
        assert!(!cache.finish_write(SegmentId(5), true));
        assert!(!cache.is_dirty(slot));
        (0..4).for_each(|quarter| change(&mut cache, slot, quarter * 256, 9));
        assert_eq!(sent(cache.start_write(slot, false))[256], 9, "all parts are a whole segment");
    }

    #[test]
    fn a_segment_goes_through_its_states() {
        let mut cache = SegmentCache::new(8, 2, 1024);
        let slot = loaded(&mut cache, 5);
        assert_eq!(cache.lookup(SegmentId(5)), Lookup::Cached(slot));
        assert!(!cache.is_dirty(slot));
        change(&mut cache, slot, 3, 77);
        assert!(cache.is_dirty(slot));
        assert_eq!(sent(cache.start_write(slot, true))[3], 77);
        assert!(!cache.is_dirty(slot));
        assert_eq!(cache.leaving(), 1);
        assert!(cache.finish_write(SegmentId(5), true));
        assert_eq!(cache.lookup(SegmentId(5)), Lookup::Absent);
        assert_eq!((cache.free_slots(), cache.leaving(), cache.bytes_used()), (2, 0, 0));
    }

    #[test]
    fn a_change_or_a_use_during_the_writeback_keeps_the_segment() {
        let mut cache = SegmentCache::new(8, 2, 1024);
        let slot = loaded(&mut cache, 5);
        change(&mut cache, slot, 0, 5);
        cache.start_write(slot, true);
        change(&mut cache, slot, 0, 9);
        assert!(!cache.finish_write(SegmentId(5), true));
        assert!(cache.is_dirty(slot));
        cache.start_write(slot, true);
        cache.touch(slot);
        assert!(!cache.finish_write(SegmentId(5), true));
        assert!(!cache.is_dirty(slot));
        assert_eq!(cache.leaving(), 0);
    }

    #[test]
    fn a_failed_writeback_loses_nothing() {
        let mut cache = SegmentCache::new(8, 2, 1024);
        let slot = loaded(&mut cache, 5);
        change(&mut cache, slot, 0, 9);
        cache.start_write(slot, true);
        assert!(!cache.finish_write(SegmentId(5), false));
        assert!(cache.is_dirty(slot));
        assert_eq!(cache.entry(slot, lpa(&cache, slot, 0)), 9);
    }

    #[test]
    fn the_victim_is_the_oldest_that_nobody_holds() {
        let mut cache = SegmentCache::new(8, 4, 1024);
        let slots: Vec<_> = (0..4).map(|segment| loaded(&mut cache, segment)).collect();
        cache.touch(slots[0]);
        assert_eq!(cache.victim(|_| false), Some(slots[1]));
        cache.pin(slots[1], 2);
        assert_eq!(cache.victim(|_| false), Some(slots[2]));
        change(&mut cache, slots[2], 0, 7);
        cache.start_write(slots[2], false);
        assert_eq!(cache.victim(|_| false), Some(slots[3]));
        cache.unpin(slots[1]);
        assert_eq!((cache.pinned(), cache.victim(|_| false)), (1, Some(slots[3])));
        cache.unpin(slots[1]);
        assert_eq!((cache.pinned(), cache.victim(|_| false)), (0, Some(slots[1])));
    }

    #[test]
    fn another_limit_ends_all_pins() {
        let mut cache = SegmentCache::new(8, 4, 1024);
        let slot = loaded(&mut cache, 0);
        cache.pin(slot, 1);
        cache.set_limit(2);
        assert_eq!((cache.pinned(), cache.victim(|_| false)), (0, Some(slot)));
        cache.unpin(slot);
        assert_eq!(cache.pinned(), 0);
    }

    #[test]
    #[should_panic(expected = "does not fit the limit")]
    fn the_limit_holds() {
        let mut cache = SegmentCache::new(8, 2, 1024);
        (0..3).for_each(|segment| cache.start_load(SegmentId(segment)));
    }
}
