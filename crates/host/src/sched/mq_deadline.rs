//! `mq-deadline`: Linux's default for devices with one hardware queue, for comparison. It follows the documentation
//! (Documentation/block/deadline-iosched.rst), with the defaults given there. I/O priorities are not modelled.
//!
//! - Each direction has a list sorted by address and one sorted by age.
//! - Requests are sent in batches of up to [`FIFO_BATCH`] of one direction, in ascending order of addresses, from the
//!   end of that direction's last request.
//! - A new batch reads if a read waits, unless [`WRITES_STARVED`] batches of reads have gone before waiting writes.
//! - It begins with the oldest request of its direction if that has expired, or if there is no higher address.

use lists::Rings;
use units::{Nanos, SimTime};

use super::config::Settings;
use super::ordered::{Choice, Ordered, Policy, Why};
use super::pending::Pending;
use super::sorted::Sorted;
use super::turns::Direction;

/// Its parameters.
pub(crate) type Params = super::config::QueueParams;

/// `read_expire`, `write_expire`.
const EXPIRE: [Nanos; 2] = [Nanos::from_millis(500), Nanos::from_millis(5_000)];
/// `writes_starved`.
const WRITES_STARVED: u32 = 2;
/// `fifo_batch`.
const FIFO_BATCH: u32 = 16;

/// The scheduler.
pub(crate) type MqDeadline = Ordered<Elevator>;

/// Two directions, sorted and by age.
#[derive(Clone, Hash)]
pub(crate) struct Elevator {
    sorted: [Sorted; 2],
    by_age: Rings<u16, 2>,
    /// End of the last request of each direction.
    ahead_of: [u32; 2],
    direction: Direction,
    /// Number of requests of the batch that have been sent.
    sent: u32,
    /// Number of batches of reads since a write began to wait for them.
    starved: u32,
}

impl Elevator {
    fn take(&mut self, slot: u16, pending: &Pending) {
        let part = pending.part(slot);
        self.sorted[Direction::of(part).index()].remove(part.lpa.0, slot);
        self.by_age.remove(slot);
    }

    /// The next request of the direction in order of addresses.
    fn ahead(&self, direction: Direction) -> Option<u16> {
        let index = direction.index();
        self.sorted[index].first_from(self.ahead_of[index])
    }

    fn next_direction(&mut self) -> Option<Direction> {
        let waits = |direction: Direction| !self.by_age.is_empty(direction.index());
        match (waits(Direction::Read), waits(Direction::Write)) {
            (true, true) if self.starved >= WRITES_STARVED => {
                self.starved = 0;
                Some(Direction::Write)
            }
            (true, writes) => {
                self.starved += u32::from(writes);
                Some(Direction::Read)
            }
            (false, true) => {
                self.starved = 0;
                Some(Direction::Write)
            }
            (false, false) => None,
        }
    }

    /// The first request of a new batch.
    fn begin(&mut self, now: SimTime, pending: &Pending) -> Option<Choice> {
        self.direction = self.next_direction()?;
        self.sent = 0;
        let oldest = self.by_age.oldest(self.direction.index())?;
        if pending.waited(oldest, now, EXPIRE[self.direction.index()]) {
            return Some(Choice { slot: oldest, why: Why::Due });
        }
        Some(Choice { slot: self.ahead(self.direction).unwrap_or(oldest), why: Why::Turn })
    }
}

impl Policy for Elevator {
    const DEADLINE: bool = false;

    type Params = Params;

    fn new(own: &Params, _map_page_entries: u32) -> Elevator {
        let queue = own.queue();
        Elevator {
            sorted: [Sorted::new(queue), Sorted::new(queue)],
            by_age: Rings::with_slots(queue.into()),
            ahead_of: [0; 2],
            direction: Direction::Read,
            sent: 0,
            starved: 0,
        }
    }

    #[inline]
    fn insert(&mut self, slot: u16, pending: &Pending, _hit: bool) {
        let part = pending.part(slot);
        let direction = Direction::of(part).index();
        self.sorted[direction].insert(part.lpa.0, slot);
        self.by_age.push_newest(direction, slot);
    }

    fn remove(&mut self, slot: u16, pending: &Pending) {
        self.take(slot, pending);
    }

    #[inline]
    fn choose(&mut self, now: SimTime, pending: &Pending) -> Option<Choice> {
        let continues = (1..FIFO_BATCH).contains(&self.sent);
        let choice = match self.ahead(self.direction).filter(|_| continues) {
            Some(slot) => Choice { slot, why: Why::Turn },
            None => self.begin(now, pending)?,
        };
        let slot = choice.slot;
        self.take(slot, pending);
        let part = pending.part(slot);
        self.ahead_of[self.direction.index()] = part.lpa.0 + part.len;
        self.sent += 1;
        Some(choice)
    }
}
