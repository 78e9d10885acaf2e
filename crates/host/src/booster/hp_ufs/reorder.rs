//! L2P reorder buffer (HP-UFS Sec. III-B): entries arrive nearly in order and leave strictly in order.

use std::hash::{Hash, Hasher};

use lists::Bits;
use ufs::L2pEntry;
use units::{Lpa, Seq};

/// Entries that wait for an earlier one, or for their segment.
#[derive(Clone)]
pub(crate) struct ReorderBuffer {
    /// The entry with number n is at place n modulo the number of places. That number is a power of two, and at least
    /// as large as the distance from the first to the last number, so no two entries share a place. Most entries go
    /// between a hundred others, and none has to move for them. An index of the simulator; the memory that a phone
    /// needs is [`ReorderBuffer::bytes`].
    places: Box<[L2pEntry]>,
    /// The places in use.
    used: Bits,
    /// The lowest and the highest number in the buffer; meaningless if it is empty.
    first: u64,
    last: u64,
    len: usize,
    capacity: usize,
    peak: usize,
}

/// Number of places at first. Few numbers wait at a time, whatever the capacity.
const INITIAL_PLACES: u32 = 256;

/// Content of an unused place.
const UNUSED: L2pEntry = L2pEntry { lpa: Lpa(0), ppa: None, len: 0, seq: Seq(0), source: None };

/// The part of an entry with changes after `applied`; `None` if there are none. The device lengthens entries in its
/// log, so an entry may arrive again with more units than before.
#[inline]
pub(crate) fn unapplied_part(mut entry: L2pEntry, applied: Seq) -> Option<L2pEntry> {
    if entry.seq > applied {
        return Some(entry);
    }
    if entry.last_seq() <= applied {
        return None;
    }
    let known = (applied.0 - entry.seq.0 + 1) as u8;
    entry.lpa = entry.lpa.offset(known.into());
    entry.ppa = entry.ppa.map(|ppa| ppa.offset(known.into()));
    entry.seq = entry.seq.plus(known.into());
    entry.len -= known;
    Some(entry)
}

impl ReorderBuffer {
    /// A buffer for `capacity` entries.
    pub fn new(capacity: u32) -> ReorderBuffer {
        let (places, used) = unused(INITIAL_PLACES);
        ReorderBuffer { places, used, first: 0, last: 0, len: 0, capacity: capacity as usize, peak: 0 }
    }

    /// Inserts an entry. False if the buffer had it already.
    #[inline(always)]
    pub fn insert(&mut self, entry: L2pEntry) -> bool {
        let number = entry.seq.0;
        let (first, last) = match self.len {
            0 => (number, number),
            _ => (self.first.min(number), self.last.max(number)),
        };
        if last - first >= self.places.len() as u64 {
            self.widen((last - first).saturating_add(1));
        }
        let at = self.place(number);
        if self.used.contains(at) {
            return self.lengthen(at, entry);
        }
        if self.len == self.capacity {
            self.overflow();
        }
        self.places[at as usize] = entry;
        self.used.insert(at);
        (self.first, self.last) = (first, last);
        self.len += 1;
        self.peak = self.peak.max(self.len);
        true
    }

    /// Notes for the peak that an entry is applied before those that wait: for a moment it took a place.
    #[inline]
    pub fn pass(&mut self) {
        self.peak = self.peak.max(self.len + 1);
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<&L2pEntry> {
        if self.len == 0 { None } else { Some(&self.places[self.place(self.first) as usize]) }
    }

    /// Removes the earliest entry.
    #[inline(always)] // Who has looked at it does not need the copy.
    pub fn pop(&mut self) -> Option<L2pEntry> {
        if self.len == 0 {
            return None;
        }
        let at = self.place(self.first);
        self.used.remove(at);
        self.len -= 1;
        if self.len > 0 {
            // All numbers are closer than the number of places, so the next place in use has the next number.
            let next = self.used.first_from(at).or_else(|| self.used.first_from(0)).expect("an entry waits");
            self.first += u64::from(next.wrapping_sub(at) & self.last_place());
        }
        Some(self.places[at as usize])
    }

    /// True if no entry waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Largest number of entries that waited at a time.
    pub fn peak(&self) -> u64 {
        self.peak as u64
    }

    /// Bytes of the whole buffer at 16 bytes per entry (Sec. IV-A).
    pub fn bytes(&self) -> u64 {
        self.capacity as u64 * 16
    }

    #[inline]
    fn place(&self, number: u64) -> u32 {
        number as u32 & self.last_place()
    }

    /// Number of places minus one, a mask.
    #[inline]
    fn last_place(&self) -> u32 {
        self.places.len() as u32 - 1
    }

    fn lengthen(&mut self, at: u32, entry: L2pEntry) -> bool {
        let longer = entry.len > self.places[at as usize].len;
        if longer {
            self.places[at as usize] = entry;
        }
        longer
    }

    /// Makes places for `span` consecutive numbers; an entry of several units has as many numbers.
    #[cold]
    fn widen(&mut self, span: u64) {
        if span > self.capacity as u64 * u64::from(u8::MAX) {
            self.overflow();
        }
        let (places, used) = unused(span.next_power_of_two() as u32);
        let old = std::mem::replace(&mut self.places, places);
        let old_used = std::mem::replace(&mut self.used, used);
        for (entry, _) in old.iter().zip(0..).filter(|&(_, at)| old_used.contains(at)) {
            let at = self.place(entry.seq.0);
            self.places[at as usize] = *entry;
            self.used.insert(at);
        }
    }

    #[cold]
    fn overflow(&self) -> ! {
        panic!(
            "the reorder buffer overflows its {} entries: the device has more changes on their way than it promised",
            self.capacity
        )
    }
}

/// `n` places, a power of two.
fn unused(n: u32) -> (Box<[L2pEntry]>, Bits) {
    (vec![UNUSED; n as usize].into(), Bits::new(n))
}

/// The waiting entries. Their number is limited by the configuration, and the peak is a counter.
impl Hash for ReorderBuffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let used = self.places.iter().zip(0..).filter(|&(_, at)| self.used.contains(at));
        used.for_each(|(entry, _)| entry.hash(state));
        if self.len > 0 {
            (self.first, self.last, self.len).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use units::Ppa;

    use super::*;

    fn entry(seq: u64, len: u8) -> L2pEntry {
        L2pEntry { lpa: Lpa(100), ppa: Some(Ppa(500)), len, seq: Seq(seq), source: None }
    }

    #[test]
    fn entries_leave_in_order() {
        let mut buffer = ReorderBuffer::new(8);
        for seq in [5, 3, 9, 4, 1] {
            assert!(buffer.insert(entry(seq, 1)));
        }
        assert!(!buffer.insert(entry(4, 1)), "it is in already");
        let order: Vec<u64> = std::iter::from_fn(|| buffer.pop()).map(|e| e.seq.0).collect();
        assert_eq!(order, [1, 3, 4, 5, 9]);
        assert_eq!(buffer.peak(), 5);
        (10..15).for_each(|seq| assert!(buffer.insert(entry(seq, 1))));
        buffer.pass();
        assert_eq!(buffer.peak(), 6, "one that passes needs a place, too");
    }

    #[test]
    fn numbers_may_lie_further_apart_than_there_are_places() {
        let mut buffer = ReorderBuffer::new(20);
        let numbers = [1000, 63, 64, 5000];
        numbers.iter().for_each(|&seq| assert!(buffer.insert(entry(seq, 1))));
        let order: Vec<u64> = std::iter::from_fn(|| buffer.pop()).map(|e| e.seq.0).collect();
        assert_eq!(order, [63, 64, 1000, 5000]);
        assert!(buffer.is_empty() && buffer.first().is_none());
    }

    proptest! {
        /// Compared with a sorted map: entries of any length, from a moving window, removed at random.
        #[test]
        fn it_is_a_sorted_map(steps in prop::collection::vec((0..300_u64, 1..32_u8, 0..3_usize), 1..400)) {
            let mut buffer = ReorderBuffer::new(1024);
            let mut map = BTreeMap::new();
            for (i, &(ahead, len, pops)) in steps.iter().enumerate() {
                let new = entry(1 + i as u64 * 7 + ahead, len);
                let known = map.get(&new.seq).is_some_and(|old: &L2pEntry| old.len >= len);
                prop_assert_eq!(buffer.insert(new), !known);
                if !known {
                    map.insert(new.seq, new);
                }
                for _ in 0..pops {
                    prop_assert_eq!(buffer.first().copied(), map.first_key_value().map(|(_, &e)| e));
                    prop_assert_eq!(buffer.pop(), map.pop_first().map(|(_, e)| e));
                }
                prop_assert_eq!(buffer.is_empty(), map.is_empty());
            }
            let remaining: Vec<L2pEntry> = std::iter::from_fn(|| buffer.pop()).collect();
            prop_assert_eq!(remaining, map.into_values().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_lengthened_entry_replaces_the_shorter_one() {
        let mut buffer = ReorderBuffer::new(1);
        buffer.insert(entry(3, 1));
        assert!(buffer.insert(entry(3, 4)));
        assert!(!buffer.insert(entry(3, 2)));
        assert_eq!(buffer.pop(), Some(entry(3, 4)));
    }

    #[test]
    fn what_is_applied_already_is_taken_off() {
        assert_eq!(unapplied_part(entry(3, 4), Seq(2)), Some(entry(3, 4)));
        assert_eq!(unapplied_part(entry(3, 4), Seq(6)), None);
        let remaining = unapplied_part(entry(3, 4), Seq(5)).unwrap();
        assert_eq!((remaining.lpa, remaining.ppa, remaining.seq, remaining.len), (Lpa(103), Some(Ppa(503)), Seq(6), 1));
    }

    #[test]
    #[should_panic(expected = "overflows")]
    fn numbers_that_no_log_can_hold_are_a_bug() {
        let mut buffer = ReorderBuffer::new(4);
        buffer.insert(entry(1, 1));
        buffer.insert(entry(u64::MAX, 1));
    }

    #[test]
    #[should_panic(expected = "overflows")]
    fn overflow_is_a_bug() {
        let mut buffer = ReorderBuffer::new(1);
        buffer.insert(entry(3, 1));
        buffer.insert(entry(4, 1));
    }
}
