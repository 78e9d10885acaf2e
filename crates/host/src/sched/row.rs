//! `row`: reads before writes (MAP+ Sec. VI-A, "Read Over Write"; Kim et al., EMSOFT 2009). Two queues in order of
//! arrival.

use lists::Rings;
use units::SimTime;

use super::config::Settings;
use super::ordered::{Choice, Ordered, Policy, Why};
use super::pending::Pending;
use super::turns::{Direction, Turns};

/// Its parameters.
pub(crate) type Params = super::config::DeadlineParams;

/// The scheduler.
pub(crate) type Row = Ordered<Queues>;

/// Reads and writes, each first in, first out.
#[derive(Clone, Hash)]
pub(crate) struct Queues {
    rings: Rings<u16, 2>,
    turns: Turns,
}

impl Policy for Queues {
    type Params = Params;

    fn new(own: &Params, _map_page_entries: u32) -> Queues {
        let queue = own.queue();
        Queues { rings: Rings::with_slots(queue.into()), turns: Turns::default() }
    }

    #[inline]
    fn insert(&mut self, slot: u16, pending: &Pending, _hit: bool) {
        self.rings.push_newest(Direction::of(pending.part(slot)).index(), slot);
    }

    #[inline]
    fn remove(&mut self, slot: u16, _pending: &Pending) {
        self.rings.remove(slot);
    }

    #[inline]
    fn choose(&mut self, _now: SimTime, _pending: &Pending) -> Option<Choice> {
        let queue = self.turns.next(!self.rings.is_empty(0), !self.rings.is_empty(1))?;
        Some(Choice { slot: self.rings.pop_oldest(queue.index())?, why: Why::Turn })
    }
}
