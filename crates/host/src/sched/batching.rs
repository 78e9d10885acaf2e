//! The common part of `rb`, `bs`, `map` and `map-plus`: requests grouped by translation page, and sent batch by batch
//! (MAP+ Sec. V-B, V-C, VI-A). "RB maintains separate batch lists for read requests and write requests" and favours
//! reads;
//! MAP has a queue of hits before the batches.

use lists::Rings;
use ufs::LpaRun;
use units::{Lpa, SimTime};

use super::batches::{Batches, Rank};
use super::config::Settings;
use super::ordered::{Choice, Policy, Why};
use super::pending::Pending;
use super::seat::Batch;
use super::turns::{DIRECTIONS, Direction, Turns};

/// Differences between them.
pub(crate) trait Flavour {
    /// Its parameters.
    type Params: Settings;
    /// True if requests whose mappings are cached go before all batches.
    const HITS: bool;
    /// The order of batches.
    const RANK: Rank;
}

/// Hits, then batches.
#[derive(Clone, Hash)]
pub(crate) struct Batching<F> {
    map_page_entries: u32,
    /// Read hits, write hits.
    hits: Rings<u16, 2>,
    is_hit: Vec<bool>,
    batches: [Batches; 2],
    /// The direction of the batch being sent.
    sending: Direction,
    hit_turns: Turns,
    batch_turns: Turns,
    /// A part that is due takes its batch with it.
    due_batch: bool,
    flavour: std::marker::PhantomData<F>,
}

impl<F> Batching<F> {
    #[inline]
    fn of(&mut self, direction: Direction) -> &mut Batches {
        &mut self.batches[direction.index()]
    }

    /// The run that a request accesses in its first translation page and in the next one. One that reaches further is
    /// longer than any batch is worth: the device reads those pages when it gets there.
    fn run(&self, lpa: Lpa, len: u32) -> LpaRun {
        let left = self.map_page_entries - lpa.0 % self.map_page_entries;
        LpaRun { lpa, len: len.min(left + self.map_page_entries) }
    }
}

impl<F: Flavour> Policy for Batching<F> {
    const QUERIES: bool = F::HITS;

    type Params = F::Params;

    fn new(own: &F::Params, map_page_entries: u32) -> Batching<F> {
        let queue = own.queue();
        Batching {
            map_page_entries,
            hits: Rings::with_slots(queue.into()),
            is_hit: vec![false; queue.into()],
            batches: DIRECTIONS.map(|_| Batches::new(queue, F::RANK)),
            sending: Direction::Read,
            hit_turns: Turns::default(),
            batch_turns: Turns::default(),
            due_batch: own.shared().batch.due_batch,
            flavour: std::marker::PhantomData,
        }
    }

    /// Adds a request to the batch of its first translation page, because it needs that page first.
    #[inline]
    fn insert(&mut self, slot: u16, pending: &Pending, hit: bool) {
        let part = pending.part(slot);
        let direction = Direction::of(part);
        self.is_hit[usize::from(slot)] = hit;
        if hit {
            self.hits.push_newest(direction.index(), slot);
        } else {
            let page = part.lpa.0 / self.map_page_entries;
            self.of(direction).join(slot, page, part.len);
        }
    }

    #[inline]
    fn remove(&mut self, slot: u16, pending: &Pending) {
        if self.is_hit[usize::from(slot)] {
            self.hits.remove(slot);
        } else {
            let part = pending.part(slot);
            self.of(Direction::of(part)).leave(slot, part.len);
        }
    }

    #[inline]
    fn due(&mut self, slot: u16, pending: &Pending) -> Choice {
        if self.is_hit[usize::from(slot)] {
            self.hits.remove(slot);
            return Choice { slot, why: Why::Due };
        }
        if !self.due_batch {
            self.remove(slot, pending);
            return Choice { slot, why: Why::Due };
        }
        self.sending = Direction::of(pending.part(slot));
        let first = self.of(self.sending).begin_with(slot).expect("the batch of a part has a first one");
        Choice { slot: first, why: Why::OpensDueBatch }
    }

    #[inline]
    fn choose(&mut self, _now: SimTime, _pending: &Pending) -> Option<Choice> {
        if F::HITS
            && let Some(direction) = self.hit_turns.next(!self.hits.is_empty(0), !self.hits.is_empty(1))
        {
            return Some(Choice { slot: self.hits.pop_oldest(direction.index())?, why: Why::Hit });
        }
        self.sending = self.batch_turns.next(!self.batches[0].is_empty(), !self.batches[1].is_empty())?;
        Some(Choice { slot: self.of(self.sending).begin()?, why: Why::OpensBatch })
    }

    #[inline]
    fn continue_batch(&mut self) -> Option<u16> {
        self.of(self.sending).continue_batch()
    }

    /// The batch that `first` opens. Runs are sorted, and joined if they touch.
    fn batch(&self, first: u16, pending: &Pending) -> Option<Batch> {
        let members = std::iter::once(first).chain(self.batches[self.sending.index()].remaining());
        let mut runs: Vec<LpaRun> = members.map(|slot| pending.part(slot)).map(|p| self.run(p.lpa, p.len)).collect();
        let requests = runs.len() as u32;
        runs.sort_unstable_by_key(|run| run.lpa);
        runs.dedup_by(|next, run| {
            let joins = next.lpa <= run.end();
            if joins {
                run.len = run.len.max(next.end().0 - run.lpa.0);
            }
            joins
        });
        Some(Batch { write: self.sending == Direction::Write, requests, runs: runs.into() })
    }
}
