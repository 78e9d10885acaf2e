//! The L2P log buffer: mappings that are newer than the segments on flash.
//!
//! Entries arrive in the order in which programs finish, not in the order of their sequence numbers. The index has, for
//! each address, only the entry that holds (HP-UFS Sec. III-E). That is the one with the highest sequence number. But a
//! GC copy holds only if the mapping before it named the copy's source block.

use std::collections::VecDeque;
use std::ops::Range;

use ufs::L2pEntry;
use units::{Lpa, Ppa, SEGMENT_ENTRIES, Seq, Superblock};

/// Longest run of units that one entry describes (facts of the authors' prototype: up to 32 units).
const MAX_RUN: u8 = 32;

/// The log's entry of an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Logged {
    /// Place of the unit; `None` after a trim.
    pub ppa: Option<Ppa>,
    /// Its sequence number.
    pub seq: Seq,
    /// Source block of a GC copy. The copy holds only if the mapping before it named this block.
    pub source: Option<Superblock>,
}

impl Logged {
    /// The mapping after this change; `base` is the mapping before it.
    #[inline]
    pub fn over(&self, base: Option<Ppa>, superblock_of: impl Fn(Ppa) -> Superblock) -> Option<Ppa> {
        match self.source {
            Some(source) if base.map(superblock_of) != Some(source) => base,
            _ => self.ppa,
        }
    }
}

/// One change of the mapping.
#[derive(Clone, Copy, Hash, Debug)]
pub struct Change {
    /// Address that changed.
    pub lpa: Lpa,
    /// New place, or `None` for a trim.
    pub ppa: Option<Ppa>,
    /// Sequence number.
    pub seq: Seq,
    /// Source block of a GC copy.
    pub source: Option<Superblock>,
}

/// The log buffer.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Log {
    capacity: usize,
    entries: VecDeque<L2pEntry>,
    /// Number of entries at the front that have been sent to the host.
    sent: usize,
    /// Entries with numbers up to this one are not extended.
    closed: Seq,
    index: Index,
}

impl Log {
    /// A log of at most `capacity` entries.
    pub fn new(capacity: u16) -> Log {
        Log {
            capacity: usize::from(capacity),
            entries: VecDeque::with_capacity(usize::from(capacity)),
            sent: 0,
            closed: Seq(0),
            index: Index::new(usize::from(capacity)),
        }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of entries that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.capacity - self.entries.len()
    }

    /// Number of entries that have not been sent to the host.
    #[inline]
    pub fn unsent(&self) -> usize {
        self.entries.len() - self.sent
    }

    /// Adds a change. Extends the last entry if the change continues it. `superblock_of` gives the superblock of a
    /// place. True if the change holds; false if the log has a newer one, or the change is a copy that was overtaken.
    #[inline(always)]
    pub fn push(&mut self, c: Change, superblock_of: impl Fn(Ppa) -> Superblock) -> bool {
        if !self.extend_last(&c) {
            assert!(self.entries.len() < self.capacity, "L2P log buffer overflow at {}", c.seq);
            self.entries.push_back(L2pEntry { lpa: c.lpa, ppa: c.ppa, len: 1, seq: c.seq, source: c.source });
        }
        self.index.settle(c, superblock_of)
    }

    #[inline]
    fn extend_last(&mut self, c: &Change) -> bool {
        if self.unsent() == 0 {
            return false;
        }
        let Some(last) = self.entries.back_mut() else { return false };
        let n = u32::from(last.len);
        let follows = last.seq.plus(n) == c.seq
            && last.seq > self.closed
            && last.lpa.offset(n) == c.lpa
            && !c.lpa.0.is_multiple_of(SEGMENT_ENTRIES)
            && last.len < MAX_RUN
            && last.source == c.source
            && match (last.ppa, c.ppa) {
                (Some(first), Some(ppa)) => first.offset(n) == ppa,
                (None, None) => true,
                _ => false,
            };
        if follows {
            last.len += 1;
        }
        follows
    }

    /// The change of an address that holds.
    #[inline]
    pub fn get(&self, lpa: Lpa) -> Option<Logged> {
        self.index.get(lpa)
    }

    /// False if no change holds for any of these addresses; else it may be true or not.
    #[inline]
    pub fn may_change(&self, range: Range<u32>) -> bool {
        let segments = range.start / SEGMENT_ENTRIES..range.end.div_ceil(SEGMENT_ENTRIES);
        segments.into_iter().any(|segment| self.index.crowds[segment as usize % CROWDS] > 0)
    }

    /// Next entry for the host, in order of arrival.
    #[inline]
    pub fn send_next(&mut self) -> Option<&L2pEntry> {
        let entry = self.entries.get(self.sent)?;
        self.sent += 1;
        Some(entry)
    }

    /// The host has lost responses: every entry that is left goes to it again.
    pub fn send_again(&mut self) {
        self.sent = 0;
    }

    /// Drops entries up to `host_seq`, which the host has applied, from the front. Entries behind one that the host has
    /// not applied stay for the moment; they do no harm.
    #[inline]
    pub fn forget_applied(&mut self, host_seq: Seq) {
        self.index.consider_shrinking();
        while self.sent > 0 {
            let Some(first) = self.entries.front() else { break };
            if first.last_seq() > host_seq {
                break;
            }
            let first = *first;
            self.entries.pop_front();
            self.sent -= 1;
            for i in 0..u32::from(first.len) {
                self.index.remove(first.lpa.offset(i), first.seq.plus(i));
            }
        }
    }

    /// All entries, in order of arrival.
    pub fn entries(&self) -> impl Iterator<Item = &L2pEntry> {
        self.entries.iter()
    }

    /// Closes the log at a number: no entry will have changes both up to it and after it.
    ///
    /// # Panics
    /// If one has. That can not be while the program of the next number is in flight, or when that number has not been
    /// given out.
    pub fn close(&mut self, cut: Seq) {
        assert!(self.entries().all(|entry| entry.seq > cut || entry.last_seq() <= cut), "an entry goes on past {cut}");
        self.closed = cut;
    }

    /// The entries with numbers up to `cut`, where the log has been closed, in order of arrival.
    pub fn entries_up_to(&self, cut: Seq) -> impl Iterator<Item = &L2pEntry> {
        self.entries().filter(move |entry| entry.seq <= cut)
    }

    /// Drops the change of an address from the index. The room of its entry becomes free with [`Log::clear`].
    pub fn forget(&mut self, lpa: Lpa) {
        if let Some(logged) = self.index.get(lpa) {
            self.index.remove(lpa, logged.seq);
        }
    }

    /// Drops the changes up to `cut`, where the log has been closed.
    pub fn forget_up_to(&mut self, cut: Seq) {
        if self.entries().all(|entry| entry.seq <= cut) {
            return self.clear();
        }
        assert_eq!(self.sent, 0, "a log that a host empties is not flushed");
        let index = &mut self.index;
        index.consider_shrinking();
        self.entries.retain(|entry| {
            let stays = entry.seq > cut;
            let n = if stays { 0 } else { u32::from(entry.len) };
            (0..n).for_each(|i| index.remove(entry.lpa.offset(i), entry.seq.plus(i)));
            stays
        });
    }

    /// Empties the log after a map flush.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.sent = 0;
        self.index.clear();
    }
}

/// Open-addressed table from an address to the change that holds. It begins small, grows when there are many entries or
/// long ones, and shrinks when there have been few for a while: every change looks at a random slot, so the slots
/// should lie in the processor's nearest cache.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
struct Index {
    slots: Vec<Slot>,
    /// Number of the present filling, above 0; slots of earlier ones are empty. So clearing costs nothing.
    filling: u32,
    len: usize,
    mask: usize,
    /// Number of slots below which it does not shrink.
    fewest: usize,
    /// Calls of [`Index::consider_shrinking`] in a row that have found the table nearly empty.
    sparse: u32,
    /// Number of addresses in each of [`CROWDS`] sets of L2P segments. Most questions for an address that is not in the
    /// log then need no probe.
    crowds: Box<[u32; CROWDS]>,
}

/// Slots that even a large log begins with: 24 KiB. A log that a host empties all the time hardly ever needs more.
const FEW_SLOTS: usize = 1 << 10;

/// Calls in a row that must find the table nearly empty before it shrinks.
const SPARSE_CALLS: u32 = 64;

/// Sets of L2P segments; a power of two.
const CROWDS: usize = 4096;

/// The set of segments that an address belongs to.
#[inline]
fn crowd(lpa: Lpa) -> usize {
    lpa.segment().index() % CROWDS
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Address, and above it the filling in which the slot was used last.
    key: u64,
    ppa: u32,
    /// Superblock plus one; 0 = no source.
    source: u32,
    seq: u64,
}

const EMPTY: Slot = Slot { key: 0, ppa: 0, source: 0, seq: 0 };

impl Slot {
    #[inline]
    fn lpa(&self) -> Lpa {
        Lpa(self.key as u32)
    }

    #[inline]
    fn filling(&self) -> u32 {
        (self.key >> 32) as u32
    }
}

impl Index {
    fn new(entries: usize) -> Index {
        let size = (entries * 4).next_power_of_two().min(FEW_SLOTS);
        Index {
            slots: vec![EMPTY; size],
            filling: 1,
            len: 0,
            mask: size - 1,
            fewest: size,
            sparse: 0,
            crowds: Box::new([0; CROWDS]),
        }
    }

    #[inline]
    fn home(&self, lpa: Lpa) -> usize {
        (lpa.0.wrapping_add(1).wrapping_mul(0x9e37_79b1) >> 8) as usize & self.mask
    }

    #[inline]
    fn key(&self, lpa: Lpa) -> u64 {
        u64::from(self.filling) << 32 | u64::from(lpa.0)
    }

    #[inline]
    fn is_empty(&self, slot: &Slot) -> bool {
        slot.filling() != self.filling
    }

    /// Slot of the address, or the empty slot where it belongs.
    #[inline]
    fn probe(&self, lpa: Lpa) -> usize {
        let (mut at, key) = (self.home(lpa), self.key(lpa));
        while self.slots[at].key != key && !self.is_empty(&self.slots[at]) {
            at = (at + 1) & self.mask;
        }
        at
    }

    #[inline]
    fn get(&self, lpa: Lpa) -> Option<Logged> {
        if self.crowds[crowd(lpa)] == 0 {
            return None;
        }
        let slot = &self.slots[self.probe(lpa)];
        (!self.is_empty(slot)).then(|| Logged {
            ppa: Ppa::unpack(slot.ppa),
            seq: Seq(slot.seq),
            source: slot.source.checked_sub(1).map(Superblock),
        })
    }

    /// Decides between a new change and the one that has held so far. True if the new one holds.
    #[inline(always)]
    fn settle(&mut self, c: Change, superblock_of: impl Fn(Ppa) -> Superblock) -> bool {
        if self.len * 2 > self.mask {
            self.resize(self.slots.len() * 2);
        }
        let at = self.probe(c.lpa);
        let old = self.slots[at];
        let source = c.source.map_or(0, |s| s.0 + 1);
        let new = Slot { key: self.key(c.lpa), ppa: Ppa::pack(c.ppa), source, seq: c.seq.0 };
        let came_from =
            |copy: &Slot, base: &Slot| Ppa::unpack(base.ppa).is_some_and(|ppa| superblock_of(ppa).0 + 1 == copy.source);
        let holds = if self.is_empty(&old) {
            self.len += 1;
            self.crowds[crowd(c.lpa)] += 1;
            true
        } else if old.seq < new.seq {
            new.source == 0 || came_from(&new, &old)
        } else {
            // An older change arrives late. It holds only if the newer one is a copy of something else, and so does not
            // hold.
            old.source != 0 && !came_from(&old, &new)
        };
        if holds {
            self.slots[at] = new;
        }
        holds
    }

    #[inline]
    fn remove(&mut self, lpa: Lpa, seq: Seq) {
        let mut hole = self.probe(lpa);
        if self.is_empty(&self.slots[hole]) || self.slots[hole].seq != seq.0 {
            return;
        }
        self.len -= 1;
        self.crowds[crowd(lpa)] -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let slot = self.slots[at];
            if self.is_empty(&slot) {
                break;
            }
            // Move a slot back if its home is not after the hole.
            let home = self.home(slot.lpa());
            if (at.wrapping_sub(home) & self.mask) >= (at.wrapping_sub(hole) & self.mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
    }

    /// Shrinks the table if it was nearly empty at each of the last [`SPARSE_CALLS`] calls. To be called before
    /// addresses are removed: then a table that is filled and emptied in turn is seen full, and keeps its size.
    #[inline]
    fn consider_shrinking(&mut self) {
        if self.mask < self.fewest {
            return;
        }
        let is_sparse = self.len * 32 < self.mask;
        self.sparse = if is_sparse { self.sparse + 1 } else { 0 };
        if self.sparse == SPARSE_CALLS {
            self.sparse = 0;
            self.resize(self.slots.len() / 4);
        }
    }

    /// Empties the table, and leaves it the room for as many addresses as it had.
    fn clear(&mut self) {
        let size = (self.len * 2 + 2).next_power_of_two().clamp(self.fewest, self.slots.len());
        self.slots.truncate(size);
        self.mask = size - 1;
        self.refill();
        self.crowds.fill(0);
        self.len = 0;
    }

    /// Begins a filling: all slots are empty.
    fn refill(&mut self) {
        self.filling = self.filling.checked_add(1).unwrap_or_else(|| {
            self.slots.fill(EMPTY);
            1
        });
    }

    /// Sets the number of slots, of which at most half may be in use. The table stays where it is in memory, which the
    /// processor's caches know already.
    #[cold]
    #[inline(never)]
    fn resize(&mut self, size: usize) {
        let size = size.max(self.fewest);
        let in_use: Vec<Slot> = self.slots.iter().filter(|slot| !self.is_empty(slot)).copied().collect();
        self.slots.resize(size, EMPTY);
        self.mask = size - 1;
        self.refill();
        for slot in in_use {
            let at = self.probe(slot.lpa());
            self.slots[at] = Slot { key: self.key(slot.lpa()), ..slot };
        }
    }
}

/// The slots in use.
#[cfg(feature = "explore")]
impl std::hash::Hash for Index {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for slot in self.slots.iter().filter(|slot| !self.is_empty(slot)) {
            (slot.lpa(), slot.ppa, slot.source, slot.seq).hash(state);
        }
        state.write_usize(self.len);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn block(ppa: Ppa) -> Superblock {
        Superblock(ppa.0 / 100)
    }

    fn change(lpa: u32, ppa: u32, seq: u64, source: Option<u32>) -> Change {
        Change { lpa: Lpa(lpa), ppa: Some(Ppa(ppa)), seq: Seq(seq), source: source.map(Superblock) }
    }

    #[test]
    fn consecutive_units_share_an_entry_up_to_a_segment_border() {
        let mut log = Log::new(16);
        for i in 0..4 {
            log.push(change(1022 + i, 50 + i, 1 + u64::from(i), None), block);
        }
        let lens: Vec<u8> = log.entries().map(|e| e.len).collect();
        assert_eq!(lens, [2, 2]);
    }

    #[test]
    fn the_index_grows_with_long_entries_and_shrinks_with_short_ones() {
        let mut log = Log::new(16);
        let fewest = log.index.slots.len();
        let fill =
            |log: &mut Log| (0..512).for_each(|i| assert!(log.push(change(i, i, u64::from(i) + 1, None), block)));
        fill(&mut log);
        let most = log.index.slots.len();
        assert!(log.len() == 16 && most >= 1024, "32 units in each of {} entries, {most} slots", log.len());
        log.clear();
        assert_eq!(log.index.slots.len(), most, "the next entries may be as long");
        log.clear();
        assert_eq!(log.index.slots.len(), fewest);
        fill(&mut log);
        while log.send_next().is_some() {}
        for held in (0..16).rev() {
            log.forget_applied(Seq(512 - 32 * held));
            assert!((512 - 32 * held as u32..512).all(|lpa| log.get(Lpa(lpa)).is_some()), "{held} entries are left");
        }
        assert_eq!((log.len(), log.index.slots.len()), (0, most), "it may be filled as much again");
        (0..SPARSE_CALLS).for_each(|_| log.forget_applied(Seq(512)));
        assert_eq!(log.index.slots.len(), fewest.max(most / 4));
        (0..SPARSE_CALLS).for_each(|_| log.forget_applied(Seq(512)));
        assert_eq!(log.index.slots.len(), fewest);
    }

    #[test]
    fn a_copy_that_a_host_write_overtook_does_not_hold() {
        let mut log = Log::new(16);
        log.push(change(1, 100, 1, None), block);
        assert!(!log.push(change(1, 500, 2, Some(3)), block));
        assert_eq!(log.get(Lpa(1)).unwrap().ppa, Some(Ppa(100)));
        // Same changes, but the two programs finish in the opposite order.
        assert!(log.push(change(2, 501, 4, Some(3)), block));
        assert!(log.push(change(2, 101, 3, None), block));
        assert_eq!(log.get(Lpa(2)).unwrap().ppa, Some(Ppa(101)));
        // A copy of the page that the host has written holds.
        assert!(log.push(change(1, 600, 5, Some(1)), block));
        assert_eq!(log.get(Lpa(1)).unwrap().ppa, Some(Ppa(600)));
    }

    #[test]
    fn a_sent_entry_is_not_extended_and_leaves_when_applied() {
        let mut log = Log::new(16);
        log.push(change(1, 10, 1, None), block);
        assert_eq!(log.send_next().unwrap().len, 1);
        log.push(change(2, 11, 2, None), block);
        assert_eq!(log.unsent(), 1);
        log.forget_applied(Seq(2));
        assert_eq!(log.len(), 1, "what was never sent cannot have been applied");
        assert_eq!(log.get(Lpa(1)), None);
        assert!(log.get(Lpa(2)).is_some());
    }

    /// Of three changes of an address the second is up to the cut. The first is no longer in the index, and the third
    /// stays.
    #[test]
    fn changes_after_a_cut_stay_when_those_before_are_forgotten() {
        let mut log = Log::new(16);
        log.push(change(1, 10, 1, None), block);
        log.push(change(2, 11, 2, None), block);
        log.push(change(1, 40, 5, None), block);
        log.push(change(9, 20, 3, None), block);
        log.close(Seq(3));
        assert_eq!(
            log.entries_up_to(Seq(3)).map(|entry| (entry.seq.0, entry.len)).collect::<Vec<_>>(),
            [(1, 2), (3, 1)]
        );
        // It would continue the entry of 9, which is closed.
        log.push(change(10, 21, 4, None), block);
        assert_eq!(log.len(), 4);
        log.forget_up_to(Seq(3));
        assert_eq!(log.entries().map(|entry| entry.seq.0).collect::<Vec<_>>(), [5, 4]);
        assert_eq!(
            [1, 2, 9, 10].map(|lpa| log.get(Lpa(lpa)).map(|logged| logged.seq.0)),
            [Some(5), None, None, Some(4)]
        );
        log.forget_up_to(Seq(5));
        assert!(log.is_empty() && log.get(Lpa(1)).is_none() && !log.may_change(0..100_000));
    }

    #[test]
    #[should_panic(expected = "an entry goes on past sequence number 1")]
    fn a_log_is_not_closed_within_an_entry() {
        let mut log = Log::new(16);
        assert!(log.push(change(1, 10, 1, None), block) && log.push(change(2, 11, 2, None), block));
        log.close(Seq(1));
    }

    #[test]
    fn where_nothing_may_have_changed_nothing_has() {
        let mut log = Log::new(16);
        assert!(!log.may_change(0..100_000));
        log.push(change(1500, 10, 1, None), block);
        let asked = [0..1024, 0..1025, 1024..1536, 1600..1700, 2048..4096].map(|range| log.may_change(range));
        assert_eq!(asked, [false, true, true, true, false]);
        log.forget(Lpa(1500));
        assert!(!log.may_change(0..100_000));
    }

    proptest! {
        /// Compared with a map from address to the change that holds, computed from all changes in order of sequence
        /// numbers.
        #[test]
        fn the_index_holds_what_a_replay_in_sequence_order_gives(
            ops in prop::collection::vec((0u32..40, 0u32..600, any::<bool>(), any::<bool>()), 1..200),
            order in any::<u64>(),
        ) {
            let mut truth: BTreeMap<u32, Ppa> = BTreeMap::new();
            let mut changes = Vec::new();
            for (i, (lpa, ppa, gc, stale)) in ops.iter().enumerate() {
                let base = truth.get(lpa).copied();
                // A copy names the block that it was read from: the present one, or one that was overtaken.
                let source = match base {
                    Some(b) if *gc && !*stale => Some(block(b).0),
                    Some(_) if *gc => Some(77),
                    _ => None,
                };
                if source != Some(77) {
                    truth.insert(*lpa, Ppa(*ppa));
                }
                changes.push(change(*lpa, *ppa, i as u64 + 1, source));
            }
            // Programs finish slightly out of order.
            let mut x = order | 1;
            for i in 1..changes.len() {
                x ^= x << 13; x ^= x >> 7; x ^= x << 17;
                // Changes of one address stay in order unless only two are involved. A copy can not overtake the copy
                // that it was made from, because it is made from a page that is already on flash.
                if x.is_multiple_of(3) && changes[i].lpa != changes[i - 1].lpa {
                    changes.swap(i, i - 1);
                }
            }
            let mut log = Log::new(1000);
            for c in &changes {
                log.push(*c, block);
            }
            for (lpa, ppa) in &truth {
                prop_assert_eq!(log.get(Lpa(*lpa)).unwrap().ppa, Some(*ppa));
            }
            // Forgetting half of them must leave the others findable.
            while log.send_next().is_some() {}
            let mid = Seq(changes.len() as u64 / 2);
            log.forget_applied(mid);
            for (lpa, ppa) in &truth {
                if let Some(found) = log.get(Lpa(*lpa)) {
                    prop_assert_eq!(found.ppa, Some(*ppa));
                }
            }
        }
    }
}
