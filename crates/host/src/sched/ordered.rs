//! What every scheduler that reorders has in common: the pending queue, and the deadline against starvation.
//!
//! MAP+ Sec. V-D.4: "To avoid starvation, after the scheduler dispatches a request or batch, it collects requests in
//! the two queues that already meet their deadlines and dispatches them." Here parts that have been visible for as long
//! as the deadline are collected after each part or batch. They go first, oldest first.
//!
//! - A part's time begins when it becomes visible. Before that it waits as it does in Linux, where a submitter waits in
//!   order for a free request.
//! - A part that belongs to a batch takes the batch with it: "the batch grouping operations are not affected by the
//!   deadline" (Sec. VI-B.3).
//! - A batch is not interrupted. So a due part waits for the rest of a batch, for one choice more, and for due parts
//!   that are older.
//! - A flush goes next, past everything pending. That is safe in both directions: it covers what was acknowledged
//!   before it was submitted, and nothing pending has been.
//!
//! Nothing is allocated per request, and there is no tree: slots in rings, a small open-addressed index of translation
//! pages, a binary heap of batches. (A notice of a batch has a list of runs, as it is sent.)

use units::{Nanos, SimTime};

use super::config::Settings;
use super::pending::Pending;
use super::seat::{Batch, Scheduler};
use crate::knowledge::view::CacheView;
use crate::request::Part;

units::counters! {
    /// What every scheduler that reorders counts.
    OrderCounters
    /// Requests that a scheduler sent first because their mappings were cached, and those that followed the first of a
    /// batch (MAP+ Table I: prioritised requests).
    sched_prioritised,
    /// Requests that a scheduler sent before one that was visible earlier.
    sched_overtaking,
    /// Batches begun.
    sched_batches,
    /// Requests sent ahead of their turn because they had waited long enough.
    sched_due,
    /// Requests that had to wait for one that overlaps them.
    sched_held,
}

/// Why a part is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It is its turn.
    Turn,
    /// Its mapping is in the device's cache.
    Hit,
    /// It is the first of a batch.
    OpensBatch,
    /// It belongs to the batch being sent.
    InBatch,
    /// It has waited long enough.
    Due,
    /// It is the first of a batch of which one has waited long enough.
    OpensDueBatch,
}

/// The part that is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// Its slot in the pending queue.
    pub slot: u16,
    /// Why it and no other.
    pub why: Why,
}

/// An order of parts. It holds the slots of visible parts that are not held, and returns each of them once.
pub(crate) trait Policy {
    /// Does it ask what the device's mapping cache holds?
    const QUERIES: bool = false;
    /// Is the deadline of [`Settings`] kept for it? If not, it has its own.
    const DEADLINE: bool = true;

    /// Its parameters; declared with [`params::params!`].
    type Params: Settings;

    /// An order without parts. A translation page has `map_page_entries` entries.
    fn new(own: &Self::Params, map_page_entries: u32) -> Self;

    /// Takes in a part. `hit`: its mappings are in the device's cache, as far as the host knows.
    fn insert(&mut self, slot: u16, pending: &Pending, hit: bool);

    /// A part goes ahead of its turn.
    fn remove(&mut self, slot: u16, pending: &Pending);

    /// A part is due. It goes now, or the batch to which it belongs.
    fn due(&mut self, slot: u16, pending: &Pending) -> Choice {
        self.remove(slot, pending);
        Choice { slot, why: Why::Due }
    }

    /// The part whose turn it is.
    fn choose(&mut self, now: SimTime, pending: &Pending) -> Option<Choice>;

    /// The next part of the batch being sent.
    fn continue_batch(&mut self) -> Option<u16> {
        None
    }

    /// The batch that has just been opened by choosing `first`.
    fn batch(&self, first: u16, pending: &Pending) -> Option<Batch> {
        let _ = (first, pending);
        None
    }
}

/// A scheduler of some order.
pub(crate) struct Ordered<P> {
    pending: Pending,
    policy: P,
    deadline: Nanos,
    /// Parts that were due at this time go first.
    collected: Option<SimTime>,
    /// Something has been chosen since parts were collected.
    collect: bool,
    /// Chosen, but not sent yet.
    chosen: Option<u16>,
    /// The batch that `chosen` opens, until it is announced.
    opened: Option<u16>,
    released: Vec<u16>,
    stats: OrderCounters,
}

impl<P: Policy> Ordered<P> {
    #[inline]
    fn insert(&mut self, slot: u16, cache: &dyn CacheView) {
        let part = self.pending.part(slot);
        let hit = P::QUERIES && cache.cached(part.lpa, part.len);
        self.policy.insert(slot, &self.pending, hit);
    }

    /// The part to send next. It leaves the policy, but not yet the pending queue.
    #[inline]
    fn decide(&mut self, now: SimTime) -> Option<u16> {
        let Choice { slot, why } = match self.policy.continue_batch() {
            Some(slot) => Choice { slot, why: Why::InBatch },
            None => match self.due(now) {
                Some(due) => due,
                None => {
                    // Whatever comes is looked at before the next choice.
                    self.collect = true;
                    self.policy.choose(now, &self.pending)?
                }
            },
        };
        self.count(slot, why);
        Some(slot)
    }

    #[inline]
    fn due(&mut self, now: SimTime) -> Option<Choice> {
        if !P::DEADLINE {
            return None;
        }
        if std::mem::take(&mut self.collect) {
            self.collected = Some(now);
        }
        let collected = self.collected?;
        let oldest = self.pending.oldest().filter(|&slot| self.pending.waited(slot, collected, self.deadline));
        if oldest.is_none() {
            self.collected = None;
        }
        oldest.map(|slot| self.policy.due(slot, &self.pending))
    }

    #[inline]
    fn count(&mut self, slot: u16, why: Why) {
        let stats = &mut self.stats;
        stats.sched_overtaking += u64::from(self.pending.oldest() != Some(slot));
        match why {
            Why::Turn => {}
            Why::Hit | Why::InBatch => stats.sched_prioritised += 1,
            Why::OpensBatch | Why::OpensDueBatch => {
                stats.sched_batches += 1;
                stats.sched_due += u64::from(why == Why::OpensDueBatch);
                self.opened = Some(slot);
            }
            Why::Due => stats.sched_due += 1,
        }
    }

    #[inline]
    fn take(&mut self, slot: u16, cache: &dyn CacheView) -> Part {
        let mut released = std::mem::take(&mut self.released);
        let part = self.pending.take(slot, &mut released);
        for slot in released.drain(..) {
            self.stats.sched_held += 1;
            self.insert(slot, cache);
        }
        self.released = released;
        part
    }
}

// Not inlined into the driver, where they would be in the way of `noop`.
impl<P: Policy> Scheduler for Ordered<P> {
    type Counters = (OrderCounters,);

    const QUERIES: bool = P::QUERIES;

    type Params = P::Params;

    fn new(own: &P::Params, map_page_entries: u32) -> Ordered<P> {
        let shared = own.shared();
        Ordered {
            pending: Pending::new(shared.queue),
            policy: P::new(own, map_page_entries),
            deadline: shared.deadline,
            collected: None,
            collect: true,
            chosen: None,
            opened: None,
            released: Vec::new(),
            stats: OrderCounters::default(),
        }
    }

    #[inline]
    fn push(&mut self, part: Part) {
        self.pending.push(part);
    }

    #[inline(never)]
    fn admit(&mut self, now: SimTime, cache: &dyn CacheView) {
        while let Some(slot) = self.pending.admit(now) {
            if !self.pending.is_held(slot) {
                self.insert(slot, cache);
            }
        }
    }

    #[inline(never)]
    fn open_batch(&mut self, now: SimTime) -> Option<Batch> {
        if self.pending.has_flush() {
            return None;
        }
        if self.chosen.is_none() {
            self.chosen = self.decide(now);
        }
        self.opened.take().and_then(|first| self.policy.batch(first, &self.pending))
    }

    #[inline(never)]
    fn pop(&mut self, now: SimTime, cache: &dyn CacheView) -> Option<Part> {
        if let Some(flush) = self.pending.pop_flush() {
            return Some(flush);
        }
        let slot = match self.chosen.take() {
            Some(slot) => slot,
            None => self.decide(now)?,
        };
        // Too late for a notice.
        self.opened = None;
        let part = self.take(slot, cache);
        self.admit(now, cache);
        Some(part)
    }

    fn counters(&self) -> Self::Counters {
        (self.stats,)
    }
}
