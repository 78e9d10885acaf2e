//! The units of the data area that are in use.

use units::Lpa;

/// A bitmap of a range of units.
#[derive(Clone, Debug)]
pub struct Space {
    first: Lpa,
    used: Vec<bool>,
    free: usize,
}

impl Space {
    /// A range of free units.
    pub fn new(first: Lpa, count: u32) -> Space {
        Space { first, used: vec![false; count as usize], free: count as usize }
    }

    fn slot(&self, lpa: Lpa) -> Option<usize> {
        let slot = lpa.0.checked_sub(self.first.0)? as usize;
        (slot < self.used.len()).then_some(slot)
    }

    fn at(&self, slot: usize) -> Lpa {
        self.first.offset(slot as u32)
    }

    /// Number of free units.
    pub fn free_units(&self) -> usize {
        self.free
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.used.len()
    }

    /// First unit of the range.
    pub fn first(&self) -> Lpa {
        self.first
    }

    /// True if the unit is in the range and free.
    pub fn is_free(&self, lpa: Lpa) -> bool {
        self.slot(lpa).is_some_and(|slot| !self.used[slot])
    }

    /// Takes a unit. False if it is outside the range or in use.
    #[must_use]
    pub fn take(&mut self, lpa: Lpa) -> bool {
        let Some(slot) = self.slot(lpa).filter(|&slot| !self.used[slot]) else { return false };
        self.used[slot] = true;
        self.free -= 1;
        true
    }

    /// Frees a unit.
    ///
    /// # Panics
    /// If it is free, or outside the range.
    pub fn give(&mut self, lpa: Lpa) {
        let slot = self.slot(lpa).expect("only units of the range are given back");
        assert!(std::mem::take(&mut self.used[slot]), "{lpa} was given back twice");
        self.free += 1;
    }

    /// Takes the first free unit from `goal` on; continues at the start of the range.
    pub fn take_near(&mut self, goal: Lpa) -> Option<Lpa> {
        let start = self.slot(goal).unwrap_or(0);
        let slots = (start..self.used.len()).chain(0..start);
        let slot = slots.into_iter().find(|&slot| !self.used[slot])?;
        let lpa = self.at(slot);
        self.take(lpa).then_some(lpa)
    }

    /// Number of free units among `count` units.
    pub fn free_in(&self, first: Lpa, count: u32) -> usize {
        (0..count).filter(|&i| self.is_free(first.offset(i))).count()
    }

    /// State of the units in the order of the range: true = in use.
    pub fn bits(&self) -> &[bool] {
        &self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_taken_from_the_goal_on_and_then_from_the_start() {
        let mut space = Space::new(Lpa(10), 4);
        let taken: Vec<Option<Lpa>> = (0..5).map(|_| space.take_near(Lpa(12))).collect();
        assert_eq!(taken, [Some(Lpa(12)), Some(Lpa(13)), Some(Lpa(10)), Some(Lpa(11)), None]);
        space.give(Lpa(11));
        assert_eq!((space.free_units(), space.is_free(Lpa(11)), space.is_free(Lpa(14))), (1, true, false));
        assert!(space.take(Lpa(11)) && !space.take(Lpa(11)) && !space.take(Lpa(9)));
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    fn a_unit_is_given_back_once() {
        let mut space = Space::new(Lpa(10), 4);
        space.give(Lpa(11));
    }
}
