//! What dies and channels are used for, for reports. No firmware has this; an array that nobody asks notes nothing.

use units::SimTime;

use crate::nand::Nand;
use crate::op::{NandEvent, Op, Work};

/// What is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// A die: from the first phase of an operation to the last, waits for the channel included. Reads that share a die
    /// overlap.
    Die(u16),
    /// A channel: while it transfers data.
    Channel(u16),
}

/// The use of a die or a channel by one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// What is used.
    pub resource: Resource,
    /// The operation.
    pub op: Op,
    /// When the use began.
    pub began: SimTime,
    /// When it ended, or will end, or until when it was seen.
    pub ended: SimTime,
}

impl Nand {
    /// Notes from now on what operations wait for, if `waits`, and uses that end, if `usage`.
    pub fn watch(&mut self, waits: bool, usage: bool) {
        self.usage = usage.then(Vec::new);
        self.timeline.watch(waits);
    }

    /// Takes out the first of the uses that have ended, in the order of their ends; nothing without [`Nand::watch`].
    pub fn take_usage(&mut self) -> Option<Usage> {
        // An event ends two at most.
        self.usage.as_mut().filter(|usage| !usage.is_empty()).map(|usage| usage.remove(0))
    }

    /// The uses that have begun and not ended at `now`, as if they ended then.
    pub fn usage_under_way(&self, now: SimTime) -> Vec<Usage> {
        let dies = self.timeline.started().map(|(die, op, began)| (Resource::Die(die), *op, began));
        let channels = (0..self.geometry().channels as u16).filter_map(|channel| {
            let (op, began, _) = self.timeline.transfer(channel)?;
            Some((Resource::Channel(channel), *op, began))
        });
        dies.chain(channels).map(|(resource, op, began)| Usage { resource, op, began, ended: now }).collect()
    }

    /// An operation has ended, which occupied its die.
    #[inline(never)]
    pub(crate) fn note_operation(&mut self, op: Op, began: SimTime, ended: SimTime) {
        let die = match op.work {
            Work::Read { ppa, .. } | Work::Program { ppa, .. } => self.layout.die_of(ppa),
            Work::Erase { die, .. } => die,
        };
        let used = Usage { resource: Resource::Die(die as u16), op, began, ended };
        self.usage.iter_mut().for_each(|usage| usage.push(used));
    }

    /// A phase ends with this event: if it is a transfer, the use of its channel ends.
    #[inline(never)]
    pub(crate) fn note_transfer(&mut self, event: NandEvent) {
        let NandEvent::Channel(channel) = event else { return };
        let Some((op, began, ended)) = self.timeline.transfer(channel) else { return };
        let used = Usage { resource: Resource::Channel(channel), op: *op, began, ended };
        self.usage.iter_mut().for_each(|usage| usage.push(used));
    }
}

#[cfg(test)]
mod tests {
    use units::{Nanos, Ppa};

    use super::*;
    use crate::NandEvent;
    use crate::geometry::Geometry;
    use crate::op::{Cause, Priority};
    use crate::timing::{CellTiming, Timing};

    const READ: Nanos = Nanos(60_000);
    /// A unit at 1024 bytes per microsecond.
    const TRANSFER: Nanos = Nanos(4_000);

    /// Two dies on one channel.
    fn array() -> Nand {
        let geometry = Geometry {
            channels: 1,
            dies_per_channel: 2,
            superblock_dies: 2,
            planes: 1,
            units_per_page: 4,
            pages_per_block: 16,
            word_line_pages: 1,
            data_superblocks: 4,
            meta_superblocks: 1,
        };
        let cell = CellTiming { read: READ, program: Nanos(550_000), erase: Nanos(5_000_000) };
        Nand::new(geometry, Timing { channel_bytes_per_us: 1024, ..Timing::of(cell, cell) })
    }

    fn read(unit: u32) -> Op {
        let work = Work::Read { ppa: Ppa(unit), units: 1 };
        Op { work, priority: Priority::HostRead, cause: Cause::HostRead, token: unit }
    }

    #[test]
    fn dies_work_at_once_and_take_turns_on_their_channel() {
        let mut array = array();
        array.watch(false, true);
        let mut wakes: Vec<(SimTime, NandEvent)> = Vec::new();
        for unit in [0, 4] {
            array.submit(SimTime::START, read(unit), &mut wakes);
        }
        let half = SimTime::START + READ;
        let begun: Vec<_> = array.usage_under_way(half).iter().map(|used| (used.resource, used.ended)).collect();
        assert_eq!(begun, [(Resource::Die(0), half), (Resource::Die(1), half)]);
        while !wakes.is_empty() {
            wakes.sort_by_key(|wake| wake.0);
            let (at, event) = wakes.remove(0);
            array.wake(at, event, &mut wakes);
        }
        let used = std::iter::from_fn(|| array.take_usage());
        let used: Vec<_> = used.map(|used| (used.resource, used.op.token, used.began, used.ended)).collect();
        let at = |transfers| SimTime::START + READ + Nanos(TRANSFER.0 * transfers);
        let expected = [
            (Resource::Channel(0), 0, at(0), at(1)),
            (Resource::Die(0), 0, SimTime::START, at(1)),
            (Resource::Channel(0), 4, at(1), at(2)),
            (Resource::Die(1), 4, SimTime::START, at(2)),
        ];
        assert_eq!(used, expected);
        let busy: u64 =
            used.iter().filter(|used| matches!(used.0, Resource::Die(_))).map(|used| (used.3 - used.2).0).sum();
        assert_eq!(busy, array.counters().total_busy_ns());
        assert!(array.take_usage().is_none() && array.usage_under_way(at(2)).is_empty());
    }

    #[test]
    fn an_array_that_nobody_asks_notes_nothing() {
        let mut array = array();
        let mut wakes: Vec<(SimTime, NandEvent)> = Vec::new();
        array.submit(SimTime::START, read(0), &mut wakes);
        while let Some((at, event)) = wakes.pop() {
            array.wake(at, event, &mut wakes);
        }
        assert_eq!(array.take_usage(), None);
    }
}
