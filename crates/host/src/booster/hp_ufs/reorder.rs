//! L2P reorder buffer (HP-UFS Sec. III-B): entries arrive nearly in order and leave strictly in order.

use std::collections::VecDeque;

use ufs::L2pEntry;
use units::Seq;

/// Entries that wait for an earlier one, or for their segment.
pub(crate) struct ReorderBuffer {
    /// Sorted by sequence number, no number twice.
    entries: VecDeque<L2pEntry>,
    capacity: usize,
    peak: usize,
}

/// What is left of an entry once the changes up to `applied` are taken off; `None` if nothing is. The device lengthens
/// the entries in its log, so that an entry may come again with more units than before.
#[inline]
pub(crate) fn remainder(mut entry: L2pEntry, applied: Seq) -> Option<L2pEntry> {
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
        ReorderBuffer { entries: VecDeque::new(), capacity: capacity as usize, peak: 0 }
    }

    /// Takes in an entry; false if it was in already.
    pub fn insert(&mut self, entry: L2pEntry) -> bool {
        let position = match self.entries.back() {
            Some(last) if last.seq > entry.seq => self.entries.partition_point(|waiting| waiting.seq <= entry.seq),
            _ => self.entries.len(),
        };
        if let Some(same) = position.checked_sub(1).map(|i| &mut self.entries[i])
            && same.seq == entry.seq
        {
            let longer = entry.len > same.len;
            if longer {
                *same = entry;
            }
            return longer;
        }
        assert!(
            self.entries.len() < self.capacity,
            "the reorder buffer overflows its {} entries: the device has more changes on their way than it promised",
            self.capacity
        );
        self.entries.insert(position, entry);
        self.peak = self.peak.max(self.entries.len());
        true
    }

    /// An entry is applied before those that wait: for a moment it had a place in the buffer.
    #[inline]
    pub fn pass(&mut self) {
        self.peak = self.peak.max(self.entries.len() + 1);
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<&L2pEntry> {
        self.entries.front()
    }

    /// Takes out the earliest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<L2pEntry> {
        self.entries.pop_front()
    }

    /// Is nothing waiting?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Most entries that ever waited.
    pub fn peak(&self) -> u64 {
        self.peak as u64
    }

    /// Bytes of the whole buffer at 16 bytes per entry (Sec. IV-A).
    pub fn bytes(&self) -> u64 {
        self.capacity as u64 * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Lpa, Ppa};

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
    fn a_lengthened_entry_replaces_the_shorter_one() {
        let mut buffer = ReorderBuffer::new(1);
        buffer.insert(entry(3, 1));
        assert!(buffer.insert(entry(3, 4)));
        assert!(!buffer.insert(entry(3, 2)));
        assert_eq!(buffer.pop(), Some(entry(3, 4)));
    }

    #[test]
    fn what_is_applied_already_is_taken_off() {
        assert_eq!(remainder(entry(3, 4), Seq(2)), Some(entry(3, 4)));
        assert_eq!(remainder(entry(3, 4), Seq(6)), None);
        let rest = remainder(entry(3, 4), Seq(5)).unwrap();
        assert_eq!((rest.lpa, rest.ppa, rest.seq, rest.len), (Lpa(103), Some(Ppa(503)), Seq(6), 1));
    }

    #[test]
    #[should_panic(expected = "overflows")]
    fn overflow_is_a_bug() {
        let mut buffer = ReorderBuffer::new(1);
        buffer.insert(entry(3, 1));
        buffer.insert(entry(4, 1));
    }
}
