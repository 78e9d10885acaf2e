//! `hp`: hit prioritised (MAP+ Sec. V-A, VI-A). "HP serves in the order of the read hitting queue, write hitting queue,
//! read missing queue, and write missing queue", each in order of arrival. Reads go before writes among hits and among
//! misses.

use lists::Rings;
use units::SimTime;

use super::config::Settings;
use super::ordered::{Choice, Ordered, Policy, Why};
use super::pending::Pending;
use super::turns::{Direction, Turns};

/// Its parameters.
pub(crate) type Params = super::config::HitParams;

/// The scheduler.
pub(crate) type Hp = Ordered<HitsFirst>;

/// Hits, then misses.
#[derive(Clone, Hash)]
pub(crate) struct HitsFirst {
    /// Read hits, write hits, read misses, write misses.
    rings: Rings<u16, 4>,
    hit_turns: Turns,
    miss_turns: Turns,
}

impl Policy for HitsFirst {
    const QUERIES: bool = true;

    type Params = Params;

    fn new(own: &Params, _map_page_entries: u32) -> HitsFirst {
        let queue = own.queue();
        HitsFirst { rings: Rings::with_slots(queue.into()), hit_turns: Turns::default(), miss_turns: Turns::default() }
    }

    #[inline]
    fn insert(&mut self, slot: u16, pending: &Pending, hit: bool) {
        let level = if hit { 0 } else { 2 };
        self.rings.push_newest(level + Direction::of(pending.part(slot)).index(), slot);
    }

    #[inline]
    fn remove(&mut self, slot: u16, _pending: &Pending) {
        self.rings.remove(slot);
    }

    #[inline]
    fn choose(&mut self, _now: SimTime, _pending: &Pending) -> Option<Choice> {
        let waits = |ring| !self.rings.is_empty(ring);
        if let Some(direction) = self.hit_turns.next(waits(0), waits(1)) {
            return Some(Choice { slot: self.rings.pop_oldest(direction.index())?, why: Why::Hit });
        }
        let direction = self.miss_turns.next(waits(2), waits(3))?;
        Some(Choice { slot: self.rings.pop_oldest(2 + direction.index())?, why: Why::Turn })
    }
}
