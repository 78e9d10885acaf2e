//! `amphibian`: the smallest request first, with reads before writes (MAP+ Sec. VI-A; Mao and Wu, ICCD 2015).

use units::SimTime;

use super::config::Settings;
use super::ordered::{Choice, Ordered, Policy, Why};
use super::pending::Pending;
use super::sorted::Sorted;
use super::turns::{Direction, Turns};

/// Its parameters.
pub(crate) type Params = super::config::DeadlineParams;

/// The scheduler.
pub(crate) type Amphibian = Ordered<BySize>;

/// Reads and writes, each by size. Requests of the same size go in order of arrival.
#[derive(Clone, Hash)]
pub(crate) struct BySize {
    queues: [Sorted; 2],
    turns: Turns,
}

impl BySize {
    #[inline]
    fn queue(&mut self, direction: Direction) -> &mut Sorted {
        &mut self.queues[direction.index()]
    }
}

impl Policy for BySize {
    type Params = Params;

    fn new(own: &Params, _map_page_entries: u32) -> BySize {
        let queue = own.queue();
        BySize { queues: [Sorted::new(queue), Sorted::new(queue)], turns: Turns::default() }
    }

    #[inline]
    fn insert(&mut self, slot: u16, pending: &Pending, _hit: bool) {
        let part = pending.part(slot);
        self.queue(Direction::of(part)).insert(part.len, slot);
    }

    #[inline]
    fn remove(&mut self, slot: u16, pending: &Pending) {
        let part = pending.part(slot);
        self.queue(Direction::of(part)).remove(part.len, slot);
    }

    #[inline]
    fn choose(&mut self, _now: SimTime, _pending: &Pending) -> Option<Choice> {
        let direction = self.turns.next(!self.queues[0].is_empty(), !self.queues[1].is_empty())?;
        Some(Choice { slot: self.queue(direction).pop_first()?, why: Why::Turn })
    }
}
