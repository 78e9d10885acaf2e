//! Host data that is not on flash yet.
//!
//! Buffers wait in order of arrival until a row can be programmed. The newest buffer of an address serves its reads. An
//! address may have several buffers, because every write is programmed.
//!
//! FUA units wait in a queue of their own, which is programmed first: they pass what waits for a full row. One whose
//! address waits in the other queue must not pass, since rows get their sequence numbers as they are programmed, and
//! the older data would count as newer. It goes to the end of that queue, all of which is then forced out. So a unit in
//! the FUA queue is never newer than one of its address in the other queue.
//!
//! Units that are to go to other superblocks than most, such as hot ones, wait apart, in a third queue. A unit whose
//! address waits in one of the two goes to the end of the same, whatever it is.

use std::collections::VecDeque;

use units::Lpa;

/// Number of a write buffer.
pub type BufId = u16;

/// Where a buffer waits, or has waited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Queue {
    /// In turn.
    Turn,
    /// With others that go to other superblocks than most.
    Apart,
    /// With other FUA units.
    Fua,
}

#[derive(Clone, Copy, Debug)]
struct Buf {
    lpa: u32,
    stamp: u32,
    /// Position in the order of arrival.
    order: u64,
    /// The next older buffer in the same hash chain, plus one.
    chain: u16,
    /// Tag of the FUA command waiting for it, plus one.
    fua: u16,
    /// False once a newer write or a trim of the same address was accepted.
    newest: bool,
    /// True once a newer write of the same address is on flash, or a trim was accepted.
    overtaken: bool,
    /// There may be an older buffer of the same address.
    has_older: bool,
    /// Where it waits, or has waited.
    queue: Queue,
}

/// All write buffers, the queue of those not yet programmed, and the index by address.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct WriteBuffer {
    bufs: Vec<Buf>,
    free: Vec<BufId>,
    /// Hash chains, newest first.
    heads: Vec<u16>,
    mask: u32,
    /// Buffers that wait to be programmed, in order of arrival.
    pub queue: VecDeque<BufId>,
    /// FUA units that wait to be programmed and may pass those in `queue`, in order of arrival.
    pub fua_queue: VecDeque<BufId>,
    /// Units that wait apart, in order of arrival.
    pub apart_queue: VecDeque<BufId>,
    next_order: u64,
    /// Buffers with an order below this must be programmed even if a row stays short.
    forced_below: u64,
    /// The same for FUA units.
    fua_forced_below: u64,
}

/// A unit whose program has finished.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// Address written.
    pub lpa: Lpa,
    /// Tag of a FUA write that waits for this unit.
    pub fua: Option<u8>,
    /// False if a newer write or a trim has been accepted since.
    pub newest: bool,
    /// True if a newer write is on flash already, or a trim has been accepted since.
    pub overtaken: bool,
    /// Position in the order of arrival.
    pub order: u64,
}

impl WriteBuffer {
    /// A write buffer of `capacity` units.
    pub fn new(capacity: u16) -> WriteBuffer {
        let chains = u32::from(capacity).next_power_of_two() * 2;
        let empty = Buf {
            lpa: 0,
            stamp: 0,
            order: 0,
            chain: 0,
            fua: 0,
            newest: false,
            overtaken: false,
            has_older: false,
            queue: Queue::Turn,
        };
        WriteBuffer {
            bufs: vec![empty; usize::from(capacity)],
            free: (0..capacity).rev().collect(),
            heads: vec![0; chains as usize],
            mask: chains - 1,
            queue: VecDeque::with_capacity(usize::from(capacity)),
            fua_queue: VecDeque::new(),
            apart_queue: VecDeque::new(),
            next_order: 1,
            forced_below: 0,
            fua_forced_below: 0,
        }
    }

    #[inline]
    fn head(&self, lpa: u32) -> usize {
        ((lpa.wrapping_mul(0x9e37_79b1) >> 12) & self.mask) as usize
    }

    /// Accepts one unit. The caller must have taken a pool buffer for it.
    #[inline(always)]
    pub fn put(&mut self, lpa: Lpa, stamp: u32, fua: Option<u8>) {
        let has_older = self.hide(lpa);
        let id = self.free.pop().expect("one write buffer per pool buffer");
        let head = self.head(lpa.0);
        self.bufs[usize::from(id)] = Buf {
            lpa: lpa.0,
            stamp,
            order: self.next_order,
            chain: self.heads[head],
            fua: fua.map_or(0, |t| u16::from(t) + 1),
            newest: true,
            overtaken: false,
            has_older,
            queue: Queue::Turn,
        };
        self.heads[head] = id + 1;
        self.next_order += 1;
        self.queue.push_back(id);
    }

    /// Accepts one unit of the FUA write with this tag, as [`WriteBuffer::put`] does. True if it passes what waits in
    /// the queue; else the queue is forced out up to this unit, because older data of its address waits there, and
    /// `overtakes` is false.
    pub fn put_fua(&mut self, lpa: Lpa, stamp: u32, tag: u8, overtakes: bool) -> bool {
        let older = if overtakes || self.queue.is_empty() && self.apart_queue.is_empty() {
            None
        } else {
            self.older_waits_in(lpa)
        };
        self.put(lpa, stamp, Some(tag));
        self.move_last(older.unwrap_or(Queue::Fua));
        if older.is_some() {
            self.forced_below = self.next_order;
        }
        older.is_none()
    }

    /// Accepts one unit, as [`WriteBuffer::put`] does, into the queue of those that wait apart or the other one. If
    /// older data of its address wait in one of the two, that decides, unless it `overtakes`.
    pub fn put_apart(&mut self, lpa: Lpa, stamp: u32, apart: bool, overtakes: bool) {
        let own = if apart { Queue::Apart } else { Queue::Turn };
        let older = if overtakes { None } else { self.older_waits_in(lpa) };
        self.put(lpa, stamp, None);
        self.move_last(older.unwrap_or(own));
    }

    /// Moves what was put at the end of the queue just now to its own.
    fn move_last(&mut self, to: Queue) {
        let queue = match to {
            Queue::Turn => return,
            Queue::Apart => &mut self.apart_queue,
            Queue::Fua => &mut self.fua_queue,
        };
        let id = self.queue.pop_back().expect("put there just now");
        self.bufs[usize::from(id)].queue = to;
        queue.push_back(id);
    }

    /// Where data of the address wait, if not among FUA units. The newest tells: an older one would have kept it in the
    /// same queue, and before a trim all queues are programmed.
    fn older_waits_in(&self, lpa: Lpa) -> Option<Queue> {
        let buf = &self.bufs[usize::from(self.find(lpa)?)];
        let queue = match buf.queue {
            Queue::Turn => &self.queue,
            Queue::Apart => &self.apart_queue,
            Queue::Fua => return None,
        };
        (buf.order >= self.oldest(queue)).then_some(buf.queue)
    }

    #[inline]
    fn find(&self, lpa: Lpa) -> Option<BufId> {
        let mut at = self.heads[self.head(lpa.0)];
        while at != 0 {
            let buf = &self.bufs[usize::from(at - 1)];
            if buf.lpa == lpa.0 && buf.newest {
                return Some(at - 1);
            }
            at = buf.chain;
        }
        None
    }

    /// Stamp of the newest data of an address, if it is buffered.
    #[inline]
    pub fn get(&self, lpa: Lpa) -> Option<u32> {
        self.find(lpa).map(|id| self.bufs[usize::from(id)].stamp)
    }

    /// True if data of one of these addresses is buffered. Looks at every buffer.
    pub fn holds_any(&self, first: Lpa, len: u32) -> bool {
        let asked = first.0..first.0 + len;
        self.heads.iter().any(|&head| {
            let mut at = head;
            while at != 0 {
                let buf = &self.bufs[usize::from(at - 1)];
                if asked.contains(&buf.lpa) {
                    return true;
                }
                at = buf.chain;
            }
            false
        })
    }

    /// A newer write of the address has been accepted. Its buffered data, if there is any, no longer serves reads. True
    /// if a write of it is buffered. Those before the last trim do not count: the trim has overtaken them.
    #[inline]
    fn hide(&mut self, lpa: Lpa) -> bool {
        let Some(id) = self.find(lpa) else { return false };
        self.bufs[usize::from(id)].newest = false;
        true
    }

    /// The address has been trimmed. Its buffered data no longer serves reads.
    #[inline]
    pub fn trim(&mut self, lpa: Lpa) {
        self.overtake(lpa, self.heads[self.head(lpa.0)]);
    }

    /// A newer write or a trim overtakes the buffers of an address in a hash chain from `at` on.
    #[inline(never)]
    fn overtake(&mut self, lpa: Lpa, mut at: u16) {
        while at != 0 {
            let buf = &mut self.bufs[usize::from(at - 1)];
            if buf.lpa == lpa.0 {
                (buf.newest, buf.overtaken) = (false, true);
            }
            at = buf.chain;
        }
    }

    /// Address and stamp of a buffer.
    #[inline]
    pub fn unit(&self, id: BufId) -> (Lpa, u32) {
        let buf = &self.bufs[usize::from(id)];
        (Lpa(buf.lpa), buf.stamp)
    }

    /// The unit has been programmed. Frees its buffer.
    #[inline(always)]
    pub fn finish(&mut self, id: BufId) -> Finished {
        let buf = self.bufs[usize::from(id)];
        self.unchain(id, buf.lpa, buf.chain);
        // What follows in the chain is older.
        if buf.has_older {
            self.overtake(Lpa(buf.lpa), buf.chain);
        }
        self.free.push(id);
        Finished {
            lpa: Lpa(buf.lpa),
            fua: buf.fua.checked_sub(1).map(|t| t as u8),
            newest: buf.newest,
            overtaken: buf.overtaken,
            order: buf.order,
        }
    }

    fn unchain(&mut self, id: BufId, lpa: u32, after: u16) {
        let head = self.head(lpa);
        let mut at = self.heads[head];
        if at == id + 1 {
            self.heads[head] = after;
            return;
        }
        loop {
            let next = self.bufs[usize::from(at - 1)].chain;
            if next == id + 1 {
                self.bufs[usize::from(at - 1)].chain = after;
                return;
            }
            at = next;
        }
    }

    /// Order of the next unit to be accepted. All units accepted so far have a lower one.
    pub fn next_order(&self) -> u64 {
        self.next_order
    }

    /// Number of units held, queued or being programmed.
    pub fn held(&self) -> usize {
        self.bufs.len() - self.free.len()
    }

    /// Everything accepted so far has to be programmed without waiting for full rows.
    pub fn force_all(&mut self) {
        self.forced_below = self.next_order;
        self.force_fua();
    }

    /// All FUA units accepted so far have to be programmed without waiting for full rows.
    pub fn force_fua(&mut self) {
        self.fua_forced_below = self.next_order;
    }

    /// True if queued units must be programmed now. FUA units have a queue of their own.
    #[inline]
    pub fn is_forced(&self) -> bool {
        self.oldest(&self.queue) < self.forced_below
    }

    /// The same of those that wait apart.
    pub fn is_apart_forced(&self) -> bool {
        self.oldest(&self.apart_queue) < self.forced_below
    }

    /// True if units in the queue of FUA units must be programmed now.
    pub fn is_fua_forced(&self) -> bool {
        self.oldest(&self.fua_queue) < self.fua_forced_below
    }

    /// True if all units have been programmed, or are being programmed.
    #[inline]
    pub fn none_waits(&self) -> bool {
        // The first question alone is quick while the host only reads.
        self.held() == 0 || self.queue.is_empty() && self.fua_queue.is_empty() && self.apart_queue.is_empty()
    }

    /// Order of the first unit of a queue, or of the next one to be accepted.
    #[inline]
    fn oldest(&self, queue: &VecDeque<BufId>) -> u64 {
        queue.front().map_or(self.next_order, |&id| self.bufs[usize::from(id)].order)
    }

    /// Order of the oldest queued unit that is not in the queue of FUA units.
    pub fn oldest_queued(&self) -> u64 {
        self.oldest(&self.queue).min(self.oldest(&self.apart_queue))
    }
}

/// The buffers in use, and the order in which later writes will take free ones. Hash chains are an index.
#[cfg(feature = "explore")]
impl std::hash::Hash for WriteBuffer {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Self { bufs, free, heads: _, mask: _, queue, fua_queue, apart_queue, next_order, forced_below, .. } = self;
        for (id, buf) in (0..).zip(bufs).filter(|(id, _)| !free.contains(id)) {
            let Buf { lpa, stamp, order, chain: _, fua, newest, overtaken, has_older, queue } = buf;
            (id, lpa, stamp, order, fua, newest, overtaken, has_older, queue).hash(state);
        }
        (free, queue, fua_queue, apart_queue, next_order, forced_below, self.fua_forced_below).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_write_serves_reads_until_it_is_on_flash() {
        let mut w = WriteBuffer::new(8);
        w.put(Lpa(5), 1, None);
        w.put(Lpa(5), 2, Some(7));
        assert_eq!(w.get(Lpa(5)), Some(2));
        let (old, new) = (w.queue.pop_front().unwrap(), w.queue.pop_front().unwrap());
        let done = w.finish(new);
        assert!(done.newest);
        assert_eq!(done.fua, Some(7));
        assert_eq!(w.get(Lpa(5)), None, "the older write must not come back");
        assert!(!w.finish(old).newest);
        assert_eq!(w.held(), 0);
    }

    #[test]
    fn a_buffer_counts_among_addresses_until_it_is_programmed() {
        let mut buffer = WriteBuffer::new(4);
        buffer.put(Lpa(20), 1, None);
        buffer.put(Lpa(9), 2, None);
        let found = |buffer: &WriteBuffer| {
            [(0, 9), (0, 10), (16, 4), (16, 5)].map(|(first, n)| buffer.holds_any(Lpa(first), n))
        };
        assert_eq!(found(&buffer), [false, true, false, true]);
        let oldest = buffer.queue.pop_front().unwrap();
        buffer.finish(oldest);
        assert_eq!(found(&buffer), [false, true, false, false]);
    }

    #[test]
    fn a_trim_hides_buffered_data() {
        let mut w = WriteBuffer::new(4);
        w.put(Lpa(1), 1, None);
        w.trim(Lpa(1));
        assert_eq!(w.get(Lpa(1)), None);
        w.put(Lpa(1), 2, None);
        assert_eq!(w.get(Lpa(1)), Some(2));
        let old = w.queue.pop_front().unwrap();
        let done = w.finish(old);
        assert!(done.overtaken && !done.newest, "it was trimmed, though newer data are buffered");
    }

    /// Programs of several dies end in any order.
    #[test]
    fn a_write_whose_program_ends_late_is_overtaken_by_a_newer_one_on_flash() {
        let mut w = WriteBuffer::new(8);
        (1..=4).for_each(|stamp| w.put(Lpa(5), stamp, None));
        w.put(Lpa(6), 9, None);
        let ids: Vec<BufId> = w.queue.drain(..).collect();
        let second = w.finish(ids[1]);
        assert!(!second.newest && !second.overtaken, "the third and fourth are not on flash");
        assert!(w.finish(ids[0]).overtaken);
        assert!(!w.finish(ids[2]).overtaken, "what is older does not overtake");
        let last = w.finish(ids[3]);
        assert!(last.newest && !last.overtaken);
        assert!(!w.finish(ids[4]).overtaken, "that is another address");
    }

    #[test]
    fn forcing_covers_what_was_accepted_before() {
        let mut w = WriteBuffer::new(8);
        w.put(Lpa(1), 1, None);
        w.put(Lpa(2), 2, None);
        assert!(!w.is_forced());
        w.force_all();
        w.put(Lpa(3), 3, None);
        assert!(w.is_forced());
        w.queue.pop_front();
        assert!(w.is_forced());
        w.queue.pop_front();
        assert!(!w.is_forced());
    }

    #[test]
    fn a_fua_unit_passes_unless_older_data_of_its_address_wait() {
        let mut w = WriteBuffer::new(8);
        w.put(Lpa(1), 1, None);
        w.put(Lpa(2), 2, None);
        assert!(w.put_fua(Lpa(3), 3, 0, false));
        assert!(w.put_fua(Lpa(3), 4, 1, false), "what came before it in its own queue stays before it");
        assert!(!w.is_forced() && !w.is_fua_forced(), "its command may still bring units");
        w.force_fua();
        assert!(!w.is_forced() && w.is_fua_forced());
        assert!(!w.put_fua(Lpa(2), 5, 2, false));
        assert!(w.is_forced());
        assert!(!w.put_fua(Lpa(2), 6, 3, false), "the one before it waits in turn");
        assert_eq!((w.queue.len(), w.fua_queue.len()), (4, 2));
        let in_flight: Vec<BufId> = w.queue.drain(..).collect();
        assert!(w.put_fua(Lpa(2), 7, 4, false), "older data being programmed have their sequence number");
        assert_eq!(w.unit(w.fua_queue[2]), (Lpa(2), 7));
        assert!(!w.finish(in_flight[1]).newest);
        w.put(Lpa(3), 8, None);
        assert!(!w.put_fua(Lpa(3), 9, 5, false), "older data wait in both queues");
    }

    #[test]
    fn a_unit_waits_apart_unless_older_data_of_its_address_wait_in_turn() {
        let lpas =
            |w: &WriteBuffer, queue: &VecDeque<BufId>| queue.iter().map(|&id| w.unit(id).0.0).collect::<Vec<_>>();
        let mut w = WriteBuffer::new(16);
        for (lpa, apart) in [(1, false), (2, true), (1, true), (2, false), (3, true)] {
            w.put_apart(Lpa(lpa), lpa, apart, false);
        }
        assert_eq!((lpas(&w, &w.queue), lpas(&w, &w.apart_queue)), (vec![1, 1], vec![2, 2, 3]));
        assert!(!w.put_fua(Lpa(3), 9, 0, false), "a FUA unit does not pass what waits apart either");
        assert_eq!(lpas(&w, &w.apart_queue), [2, 2, 3, 3]);
        assert!(w.is_forced() && w.is_apart_forced(), "all that came before is forced with it");
        w.queue.clear();
        assert!(!w.none_waits());
        w.put_apart(Lpa(1), 4, true, false);
        assert_eq!(lpas(&w, &w.apart_queue), [2, 2, 3, 3, 1], "older data being programmed have their sequence number");
        assert_eq!(w.oldest_queued(), 2, "the second that came");
        w.put_apart(Lpa(3), 5, false, true);
        assert_eq!(lpas(&w, &w.queue), [3], "it overtakes");
    }

    /// The rest of the queue goes on waiting for a full row.
    #[test]
    fn forcing_takes_no_account_of_units_that_have_passed() {
        let mut w = WriteBuffer::new(8);
        w.put(Lpa(1), 1, None);
        (0..3).for_each(|i| assert!(w.put_fua(Lpa(2 + i), 2, 0, false)));
        w.force_all();
        w.put(Lpa(9), 3, None);
        w.queue.pop_front();
        assert!(!w.is_forced(), "one unit was forced, though four came before");
        assert!(w.is_fua_forced() && !w.none_waits());
    }
}
