//! Batches: pending requests of one direction whose mappings are in the same translation page (MAP+ Sec. V-B), and
//! their order.
//!
//! An open-addressed table finds the batch of a translation page. A binary heap in which each batch knows its place
//! gives the next batch. So joining and leaving take few steps.

use lists::{Index, Rings};

/// Most batches at a time: as many as a pending queue has slots.
const MOST_BATCHES: usize = ufs::MAX_BATCH_RUNS as usize;

/// The order of batches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Rank {
    /// The batch that was opened first (RB, Sec. V-B).
    Oldest,
    /// The batch with the most requests per page, Eq. (9) (BS, Sec. V-C); of equal ones the oldest.
    Densest,
}

/// One batch.
#[derive(Clone, Copy, Hash, Default)]
struct Batch {
    /// Number of its translation page.
    page: u32,
    requests: u32,
    /// 4 KiB units of all its requests.
    units: u64,
    /// Number of its opening, in order of time.
    opened: u64,
    /// Its place in the heap.
    at: u16,
}

/// All batches of one direction. A slot is in at most one batch.
#[derive(Clone, Hash)]
pub(super) struct Batches {
    rank: Rank,
    batches: Vec<Batch>,
    free: Vec<u16>,
    /// The requests of each batch, in order of arrival.
    members: Rings<u16, MOST_BATCHES>,
    /// The batch of each slot.
    batch_of: Vec<u16>,
    index: Index,
    /// Batches that have not begun. The first one is next.
    heap: Vec<u16>,
    openings: u64,
    /// The batch being sent. No request joins it any more.
    sending: Option<u16>,
}

impl Batches {
    /// No batches, for `slots` slots.
    pub fn new(slots: u16, rank: Rank) -> Batches {
        Batches {
            rank,
            batches: vec![Batch::default(); slots.into()],
            free: (0..slots).rev().collect(),
            members: Rings::with_slots(slots.into()),
            batch_of: vec![0; slots.into()],
            index: Index::new(usize::from(slots)),
            heap: Vec::with_capacity(slots.into()),
            openings: 0,
            sending: None,
        }
    }

    /// True if no batch waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// A request of `units` units joins the batch of its translation page, or opens one.
    #[inline]
    pub fn join(&mut self, slot: u16, page: u32, units: u32) {
        let id = match self.index.find(page) {
            Some(id) => id as u16,
            None => self.open(page),
        };
        let batch = &mut self.batches[usize::from(id)];
        batch.requests += 1;
        batch.units += u64::from(units);
        let at = batch.at;
        self.batch_of[usize::from(slot)] = id;
        self.members.push_newest(id.into(), slot);
        self.settle(at);
    }

    /// Opens a batch. There are at most as many batches as slots: one that is being sent does not keep its number.
    fn open(&mut self, page: u32) -> u16 {
        let id = self.free.pop().expect("every batch that waits has a slot");
        self.openings += 1;
        let at = self.heap.len() as u16;
        self.batches[usize::from(id)] = Batch { page, requests: 0, units: 0, opened: self.openings, at };
        self.heap.push(id);
        self.index.insert(page, id.into());
        id
    }

    /// A request of `units` units leaves its batch, which has not begun.
    #[inline]
    pub fn leave(&mut self, slot: u16, units: u32) {
        let id = self.batch_of[usize::from(slot)];
        self.members.remove(slot);
        let batch = &mut self.batches[usize::from(id)];
        batch.requests -= 1;
        batch.units -= u64::from(units);
        if batch.requests == 0 {
            self.withdraw(id);
            self.free.push(id);
        } else {
            let at = batch.at;
            self.settle(at);
        }
    }

    /// Begins the next batch. Gives its first request.
    #[inline]
    pub fn begin(&mut self) -> Option<u16> {
        let id = *self.heap.first()?;
        self.begin_batch(id)
    }

    /// Begins the batch of a request, which has not begun. Gives the first request of that batch.
    #[inline]
    pub fn begin_with(&mut self, slot: u16) -> Option<u16> {
        self.begin_batch(self.batch_of[usize::from(slot)])
    }

    #[inline]
    fn begin_batch(&mut self, id: u16) -> Option<u16> {
        self.withdraw(id);
        self.sending = Some(id);
        self.continue_batch()
    }

    /// The next request of the batch being sent.
    #[inline]
    pub fn continue_batch(&mut self) -> Option<u16> {
        let id = self.sending?;
        let slot = self.members.pop_oldest(id.into());
        if self.members.is_empty(id.into()) {
            self.sending = None;
            self.free.push(id);
        }
        slot
    }

    /// The requests of the batch being sent that have not been sent.
    pub fn remaining(&self) -> impl Iterator<Item = u16> + '_ {
        self.sending.into_iter().flat_map(|id| self.members.oldest_first(id.into()))
    }

    /// Removes a batch from those that wait.
    #[inline]
    fn withdraw(&mut self, id: u16) {
        let Batch { page, at, .. } = self.batches[usize::from(id)];
        self.index.remove(page);
        let last = self.heap.pop().expect("a batch that waits is in the heap");
        if last != id {
            self.heap[usize::from(at)] = last;
            self.batches[usize::from(last)].at = at;
            self.settle(at);
        }
    }

    /// True if batch `a` goes before batch `b`.
    #[inline]
    fn precedes(&self, a: u16, b: u16) -> bool {
        let (a, b) = (&self.batches[usize::from(a)], &self.batches[usize::from(b)]);
        if self.rank == Rank::Densest {
            // Compares a.requests / a.units with b.requests / b.units without a division. There are at most 1024
            // requests of 2^32 units each, so the products have 52 bits.
            let (of_a, of_b) = (u64::from(a.requests) * b.units, u64::from(b.requests) * a.units);
            if of_a != of_b {
                return of_a > of_b;
            }
        }
        a.opened < b.opened
    }

    /// Moves the batch at a place of the heap to its right place.
    fn settle(&mut self, at: u16) {
        let mut at = usize::from(at);
        while at > 0 && self.precedes(self.heap[at], self.heap[(at - 1) / 2]) {
            at = self.swap(at, (at - 1) / 2);
        }
        loop {
            let children = 2 * at + 1..(2 * at + 3).min(self.heap.len());
            let next = children.reduce(|a, b| if self.precedes(self.heap[b], self.heap[a]) { b } else { a });
            match next.filter(|&child| self.precedes(self.heap[child], self.heap[at])) {
                Some(child) => at = self.swap(at, child),
                None => break,
            }
        }
    }

    #[inline]
    fn swap(&mut self, a: usize, b: usize) -> usize {
        self.heap.swap(a, b);
        self.batches[usize::from(self.heap[a])].at = a as u16;
        self.batches[usize::from(self.heap[b])].at = b as u16;
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(batches: &mut Batches) -> Vec<Vec<u16>> {
        let mut sent = Vec::new();
        while let Some(first) = batches.begin() {
            let rest = std::iter::from_fn(|| batches.continue_batch());
            sent.push(std::iter::once(first).chain(rest).collect());
        }
        sent
    }

    /// One request of 3 units in translation page 7, two of 1 unit in page 8, one of 4 units in page 9, and a late one
    /// for page 7.
    fn filled(rank: Rank) -> Batches {
        let mut batches = Batches::new(8, rank);
        for (slot, page, units) in [(0, 7, 3), (1, 8, 1), (2, 8, 1), (3, 9, 4), (4, 7, 3)] {
            batches.join(slot, page, units);
        }
        batches
    }

    #[test]
    fn batches_go_in_order_of_their_opening_or_of_their_density() {
        assert_eq!(all(&mut filled(Rank::Oldest)), [vec![0, 4], vec![1, 2], vec![3]]);
        assert_eq!(all(&mut filled(Rank::Densest)), [vec![1, 2], vec![0, 4], vec![3]]);
    }

    #[test]
    fn density_is_recomputed_when_a_request_joins_or_leaves() {
        let mut batches = filled(Rank::Densest);
        (5..8).for_each(|slot| batches.join(slot, 9, 1));
        // Page 9: 4 requests in 7 units. Without the large one it is 3 in 3, as dense as page 8, but opened later.
        batches.leave(3, 4);
        batches.leave(1, 1);
        assert_eq!(all(&mut batches), [vec![2], vec![5, 6, 7], vec![0, 4]]);
    }

    #[test]
    fn a_request_takes_its_batch_with_it() {
        let mut batches = filled(Rank::Densest);
        assert_eq!(
            (batches.begin_with(4), batches.continue_batch(), batches.continue_batch()),
            (Some(0), Some(4), None)
        );
        assert_eq!(all(&mut batches), [vec![1, 2], vec![3]]);
    }

    #[test]
    fn a_request_that_comes_while_its_batch_is_sent_opens_another() {
        let mut batches = filled(Rank::Oldest);
        assert_eq!(batches.begin(), Some(0));
        batches.join(5, 7, 1);
        assert_eq!(batches.remaining().collect::<Vec<_>>(), [4]);
        assert_eq!((batches.continue_batch(), batches.continue_batch()), (Some(4), None));
        assert_eq!(all(&mut batches), [vec![1, 2], vec![3], vec![5]]);
        assert!(batches.is_empty());
    }
}
