//! Versions of units.
//!
//! The simulated device stores no bytes, only which write a unit holds. This module stores the bytes: it numbers writes
//! as they are submitted and keeps the bytes of each for as long as a power cut may leave them on flash. A caller who
//! knows which write has survived in each unit gets the contents of the disk from [`Versions::image`].

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use units::Lpa;

use crate::block::{Block, Image, zeroes};

/// Contents of units by the number of the write that made them.
#[derive(Clone, Default, Debug)]
pub struct Versions {
    /// The last number used. A request has one number for all of its units.
    issued: u32,
    /// By unit, in order of writing. The first may be number 0, "never written".
    units: BTreeMap<Lpa, Vec<(u32, Block)>>,
    /// Units with more than one version.
    unsettled: BTreeSet<Lpa>,
}

/// A unit can not hold the given write: it was durably overwritten, or never made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{lpa} can not hold write {number}: possible are {oldest} to {newest}, where they wrote it")]
pub struct Impossible {
    /// The unit.
    pub lpa: Lpa,
    /// Number of the given write.
    pub number: u32,
    /// Oldest write that it may hold.
    pub oldest: u32,
    /// Newest write that it may hold.
    pub newest: u32,
}

impl Versions {
    /// A write is submitted. Gives its number; numbers count from 1.
    ///
    /// # Panics
    /// After 2^32 - 1 writes.
    pub fn write(&mut self, first: Lpa, blocks: &[Block]) -> u32 {
        self.issued = self.issued.checked_add(1).expect("writes of a run fit 32 bits");
        for (i, block) in (0..).zip(blocks) {
            let lpa = first.offset(i);
            let versions = self.units.entry(lpa).or_insert_with(|| vec![(0, zeroes())]);
            versions.push((self.issued, block.clone()));
            self.unsettled.insert(lpa);
        }
        self.issued
    }

    /// A flush has completed that was submitted when no other request was under way.
    pub fn flushed(&mut self) {
        for lpa in std::mem::take(&mut self.unsettled) {
            self.settle(lpa);
        }
    }

    /// A write with FUA has completed.
    pub fn durable(&mut self, first: Lpa, count: u32) {
        for lpa in (0..count).map(|i| first.offset(i)) {
            self.unsettled.remove(&lpa);
            self.settle(lpa);
        }
    }

    fn settle(&mut self, lpa: Lpa) {
        let versions = self.units.get_mut(&lpa).expect("only units that were written are unsettled");
        versions.drain(..versions.len() - 1);
    }

    /// The content that a read gives now.
    pub fn latest(&self, lpa: Lpa) -> Block {
        self.units.get(&lpa).and_then(|versions| versions.last()).map_or_else(zeroes, |(_, block)| block.clone())
    }

    /// Number of writes so far.
    pub fn issued(&self) -> u32 {
        self.issued
    }

    /// Every unit ever written, with the numbers of the writes that it may hold after a power cut now; 0 for none.
    pub fn possible(&self) -> impl Iterator<Item = (Lpa, impl Iterator<Item = u32>)> {
        self.units.iter().map(|(&lpa, versions)| (lpa, versions.iter().map(|&(number, _)| number)))
    }

    /// The disk on which every unit holds the write that `survived` gives, 0 for none. `survived` is called for every
    /// unit ever written.
    ///
    /// # Errors
    /// If a unit can not hold that write.
    pub fn image(&self, mut survived: impl FnMut(Lpa) -> u32) -> Result<Image, Impossible> {
        let mut image = Image::default();
        for (&lpa, versions) in &self.units {
            let number = survived(lpa);
            let found = versions.iter().find(|&&(n, _)| n == number);
            let (oldest, newest) = (versions[0].0, versions[versions.len() - 1].0);
            let (_, block) = found.ok_or(Impossible { lpa, number, oldest, newest })?;
            image.write(lpa, block.clone());
        }
        Ok(image)
    }

    /// The disk as reads see it now.
    pub fn latest_image(&self) -> Image {
        let mut image = Image::default();
        for &lpa in self.units.keys() {
            image.write(lpa, self.latest(lpa));
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn block(byte: u8) -> Block {
        Arc::new([byte; 4096])
    }

    fn possible(versions: &Versions) -> Vec<(u32, Vec<u32>)> {
        versions.possible().map(|(lpa, numbers)| (lpa.0, numbers.collect())).collect()
    }

    #[test]
    fn a_flush_settles_everything_and_fua_its_own_units() {
        let mut versions = Versions::default();
        assert_eq!(versions.write(Lpa(5), &[block(1), block(2)]), 1);
        assert_eq!(versions.write(Lpa(6), &[block(3)]), 2);
        assert_eq!(possible(&versions), [(5, vec![0, 1]), (6, vec![0, 1, 2])]);
        versions.durable(Lpa(6), 1);
        assert_eq!(possible(&versions), [(5, vec![0, 1]), (6, vec![2])]);
        versions.flushed();
        versions.write(Lpa(5), &[block(4)]);
        assert_eq!(possible(&versions), [(5, vec![1, 3]), (6, vec![2])]);
        assert_eq!(versions.latest(Lpa(5))[0], 4);
        assert_eq!(versions.latest(Lpa(9))[0], 0);
    }

    #[test]
    fn an_image_holds_what_survived_and_refuses_what_can_not() {
        let mut versions = Versions::default();
        versions.write(Lpa(5), &[block(1)]);
        versions.flushed();
        versions.write(Lpa(5), &[block(2)]);
        for (number, byte) in [(1, 1), (2, 2)] {
            assert_eq!(versions.image(|_| number).unwrap().read(Lpa(5))[0], byte);
        }
        let error = versions.image(|_| 0).unwrap_err();
        assert_eq!(error.to_string(), "LPA 5 can not hold write 0: possible are 1 to 2, where they wrote it");
        assert_eq!(versions.latest_image().read(Lpa(5))[0], 2);
    }
}
