//! The common part of all schedulers that reorder: the pending queue, and the deadline against starvation.
//!
//! MAP+ Sec. V-D.4: "To avoid starvation, after the scheduler dispatches a request or batch, it collects requests in
//! the two queues that already meet their deadlines and dispatches them." Here, after each part or batch, parts that
//! have been visible for as long as the deadline are collected. They go first, oldest first.
//!
//! - The time of a part begins when it becomes visible. Before that it waits in order, as a submitter in Linux waits
//!   for a free request.
//! - A part that belongs to a batch takes the whole batch with it: "the batch grouping operations are not affected by
//!   the deadline" (Sec. VI-B.3).
//! - A batch is not interrupted. So a due part waits for the end of a batch, for one more choice, and for older due
//!   parts.
//! - A flush goes next, before everything pending. That is correct: it covers what was acknowledged before it was
//!   submitted, and no pending part has been acknowledged.
//!
//! No request needs an allocation, and there is no tree: slots are in rings, translation pages in a small
//! open-addressed table, batches in a binary heap. (A notice of a batch has a list of runs, which is sent.)

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
    /// It has waited for as long as its deadline.
    Due,
    /// It is the first of a batch with a part that has waited for as long as its deadline.
    OpensDueBatch,
}

/// The part that is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// Its slot in the pending queue.
    pub slot: u16,
    /// Why this part is next.
    pub why: Why,
}

/// An order of parts. It holds the slots of visible parts that no earlier part holds back, and returns each of them
/// once.
pub(crate) trait Policy {
    /// True if it asks what the device's mapping cache holds.
    const QUERIES: bool = false;
    /// True if the deadline of [`Settings`] applies. False if the policy has its own.
    const DEADLINE: bool = true;

    /// Its parameters; declared with [`params::params!`].
    type Params: Settings;

    /// An order without parts. A translation page has `map_page_entries` entries.
    fn new(own: &Self::Params, map_page_entries: u32) -> Self;

    /// Adds a part. `hit`: its mappings are in the device's cache, as far as the host knows.
    fn insert(&mut self, slot: u16, pending: &Pending, hit: bool);

    /// Removes a part that goes before its turn.
    fn remove(&mut self, slot: u16, pending: &Pending);

    /// A part is due. The part, or the batch to which it belongs, goes now.
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

    /// The batch that the choice of `first` has just opened.
    fn batch(&self, first: u16, pending: &Pending) -> Option<Batch> {
        let _ = (first, pending);
        None
    }
}

/// A scheduler with policy `P`.
#[derive(Clone, Hash)]
pub(crate) struct Ordered<P> {
    pending: Pending,
    policy: P,
    deadline: Nanos,
    /// Parts that were due at this time go first.
    collected: Option<SimTime>,
    /// True if something has been chosen since due parts were collected.
    collect: bool,
    /// The part that has been chosen and not been sent.
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

    /// The part to send next. It leaves the policy, but not the pending queue.
    #[inline]
    fn decide(&mut self, now: SimTime) -> Option<u16> {
        let Choice { slot, why } = match self.policy.continue_batch() {
            Some(slot) => Choice { slot, why: Why::InBatch },
            None => match self.due(now) {
                Some(due) => due,
                None => {
                    // Due parts are collected before the next choice.
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

// Not inlined into the driver, so that `noop` stays fast.
impl<P: Policy> Scheduler for Ordered<P> {
    type Counters = (OrderCounters,);

    const QUERIES: bool = P::QUERIES;

    type Params = P::Params;

    fn new(own: &P::Params, map_page_entries: u32) -> Ordered<P> {
        Ordered {
            pending: Pending::new(own.queue()),
            policy: P::new(own, map_page_entries),
            deadline: Nanos::from_micros(own.shared().deadline.deadline_us.into()),
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
        // It is too late for a notice.
        self.opened = None;
        let part = self.take(slot, cache);
        self.admit(now, cache);
        Some(part)
    }

    fn counters(&self) -> Self::Counters {
        (self.stats,)
    }
}
