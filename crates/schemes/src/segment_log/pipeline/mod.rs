//! Map units on their way through a flush that reads some while it programs others.
//!
//! They enter in the order of the flush, as long as there are buffers. Each is read, unless it is cached or was never
//! written, then changed, and programmed in a row with its neighbours. Rows keep the order of the flush. A row that is
//! not full is programmed if nothing is left to fill it, or if nothing is under way that would bring more.

use std::collections::VecDeque;
use std::ops::Range;

use nand::Priority;
use units::{MapUnit, Ppa};

use ftl::seat::{Core, ExpectedSet, Owner, Piece, Sight, UnitSet};

units::kinds! {
    /// How a map flush proceeds.
    pub Mode {
        /// Commands stop; as many map units as the segment cache holds are read, then all of them are programmed, and
        /// so on.
        Rounds = "rounds";
        /// Commands stop; a row is programmed as soon as its map units have been read, while others are read.
        Pipelined = "pipelined";
        /// The same beside commands; host data wait only while the log has no room for them.
        Background = "background";
    }
}

/// Where a map unit is on its way.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub enum Step {
    /// Being read at a place.
    Reading(Ppa, ExpectedSet),
    /// Read, and not changed yet.
    Read(ExpectedSet),
    /// Changed in SRAM.
    Changed,
    /// Being programmed.
    Programming,
}

/// A map unit under way.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct UnderWay {
    pub unit: MapUnit,
    /// Its updates, as positions in the list of the flush.
    pub updates: Range<usize>,
    pub step: Step,
}

/// Map units under way, in the order of the flush.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Pipeline {
    /// Buffers of the pool that it may take.
    buffers: u32,
    /// Priority of its reads.
    reads: Priority,
    units: VecDeque<UnderWay>,
    /// Buffers that the units take. Parts of segments share one.
    held: u16,
}

impl Pipeline {
    /// An empty pipeline of so many buffers.
    pub fn new(buffers: u32, reads: Priority) -> Pipeline {
        Pipeline { buffers, reads, units: VecDeque::new(), held: 0 }
    }

    /// True if no map unit is under way.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Takes the buffer of one unit more. False if there is none.
    pub fn takes_one_more(&mut self, core: &mut Core) -> bool {
        let units = core.units();
        let n = self.units.len() as u32 + 1;
        if n > units.fitting(self.buffers).max(1) {
            return false;
        }
        let more = units.buffers(n) as u16 - self.held;
        let taken = core.take_buffers(Owner::Flush, more);
        self.held += if taken { more } else { 0 };
        taken
    }

    /// A unit enters that is in SRAM and has been changed.
    pub fn enter_changed(&mut self, unit: MapUnit, updates: Range<usize>) {
        self.units.push_back(UnderWay { unit, updates, step: Step::Changed });
    }

    /// A unit enters that has to be read. One read brings all units that share a flash unit.
    pub fn enter_and_read(&mut self, core: &mut Core, unit: MapUnit, updates: Range<usize>) {
        let expected = ExpectedSet::new(core.meta().directory(), UnitSet::one(unit));
        let place = core.place_of(unit).expect("a unit that was never written needs no read");
        let is_read = |other: &UnderWay| matches!(other.step, Step::Reading(at, _) if at == place);
        if !self.units.iter().any(is_read) {
            core.read_beside(place, self.reads);
        }
        self.units.push_back(UnderWay { unit, updates, step: Step::Reading(place, expected) });
    }

    /// The read of a place is done.
    pub fn read_done(&mut self, core: &Core, place: Ppa, sight: &Sight) {
        for under_way in &mut self.units {
            if let Step::Reading(at, expected) = &mut under_way.step
                && *at == place
            {
                expected.arrive(sight, core.units().flash_units(), core.meta().directory());
                under_way.step = Step::Read(std::mem::take(expected));
            }
        }
    }

    /// The next unit that has been read and not been changed. The caller changes it.
    pub fn next_read(&mut self) -> Option<(MapUnit, Range<usize>, ExpectedSet)> {
        let read = self.units.iter_mut().find(|under_way| matches!(under_way.step, Step::Read(_)))?;
        let Step::Read(expected) = std::mem::replace(&mut read.step, Step::Changed) else { return None };
        Some((read.unit, read.updates.clone(), expected))
    }

    /// Programs the next row, if it is due. `last` is true if no more units will enter. True if it has.
    pub fn program_row(&mut self, core: &mut Core, last: bool) -> bool {
        let first = self.units.iter().position(|under_way| !matches!(under_way.step, Step::Programming));
        let first = first.unwrap_or(self.units.len());
        let changed = |under_way: &&UnderWay| matches!(under_way.step, Step::Changed);
        let n = self.units.range(first..).take_while(changed).count();
        if n == 0 {
            return false;
        }
        let room = core.meta_room() as u32;
        let room = core.units().fitting(room) as usize;
        let nothing_follows = first + n == self.units.len() && (last || first == 0);
        if n < room && !nothing_follows {
            return false;
        }
        let row = self.units.range(first..first + n.min(room));
        let pieces: Vec<Piece> = row.map(|under_way| Piece::of(under_way.unit)).collect();
        let taken = core.program_beside(&pieces);
        self.units.range_mut(first..first + taken).for_each(|under_way| under_way.step = Step::Programming);
        true
    }

    /// A unit is on flash. Gives its buffer back.
    pub fn programmed(&mut self, core: &mut Core, unit: MapUnit) -> UnderWay {
        let at = self.units.iter().position(|under_way| under_way.unit == unit);
        let done = at.and_then(|at| self.units.remove(at)).expect("a map unit is listed until it is on flash");
        let less = self.held - core.units().buffers(self.units.len() as u32) as u16;
        core.give_buffers(Owner::Flush, less);
        self.held -= less;
        done
    }

    /// The units that are being programmed.
    pub fn in_programs(&self) -> impl Iterator<Item = &UnderWay> {
        self.units.iter().filter(|under_way| matches!(under_way.step, Step::Programming))
    }
}

#[cfg(test)]
mod tests;
