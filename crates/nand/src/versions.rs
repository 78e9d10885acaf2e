//! Versions of units: which change made their content.

use units::Superblock;

use crate::op::Spare;

/// Versions of units, by superblock and offset in it.
///
/// A unit that is no copy has its own sequence number as version, and most units are no copies. So the difference of
/// the two numbers is stored. It is 0 for all units that are no copies, and a superblock without copies needs no
/// memory.
#[derive(Clone, Debug)]
pub(crate) struct Versions {
    pub(super) units: usize,
    /// By unit: own sequence number minus version, both as low 32 bits.
    pub(super) lags: Vec<Option<Box<[u32]>>>,
}

impl Versions {
    /// Versions for superblocks of `units` units.
    pub fn new(superblocks: u32, units: u32) -> Versions {
        Versions { units: units as usize, lags: vec![None; superblocks as usize] }
    }

    /// The version of a unit whose own sequence number is `own`.
    #[inline(always)] // See the callers.
    pub fn get(&self, superblock: Superblock, offset: u32, own: u32) -> u32 {
        let lags = self.lags.get(superblock.index()).and_then(Option::as_deref);
        own.wrapping_sub(lags.and_then(|lags| lags.get(offset as usize)).copied().unwrap_or(0))
    }

    /// True if [`Versions::set_page`] has to be called even for a page without copies.
    #[inline]
    pub fn keeps(&self, superblock: Superblock) -> bool {
        self.lags[superblock.index()].is_some()
    }

    /// Stores the versions of the units of a page, whose own sequence numbers count up from `own`.
    pub fn set_page(&mut self, superblock: Superblock, offset: u32, own: u32, page: &[Option<Spare>]) {
        let lags = self.lags[superblock.index()].get_or_insert_with(|| table::zeroed(self.units).into_boxed_slice());
        let own = (0..).map(|n| own.wrapping_add(n));
        for ((lag, spare), own) in lags[offset as usize..].iter_mut().zip(page.iter().flatten()).zip(own) {
            *lag = own.wrapping_sub(spare.version);
        }
    }

    /// Frees the versions of a superblock, because none of its units can be read any more.
    pub fn clear(&mut self, superblock: Superblock) {
        self.lags[superblock.index()] = None;
    }

    /// Number of superblocks that take memory.
    #[cfg(test)]
    pub fn superblocks_kept(&self) -> usize {
        self.lags.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Superblock = Superblock(0);
    const SECOND: Superblock = Superblock(1);

    fn page(versions: [u32; 2]) -> Vec<Option<Spare>> {
        versions.map(|version| Some(Spare { lpa: 0, stamp: 0, version })).to_vec()
    }

    #[test]
    fn only_superblocks_with_copies_take_memory_until_they_are_erased() {
        let mut versions = Versions::new(2, 8);
        versions.set_page(FIRST, 4, 101, &page([7, 102]));
        assert!(versions.keeps(FIRST) && !versions.keeps(SECOND));
        assert_eq!(versions.superblocks_kept(), 1);
        assert_eq!([3, 4, 5].map(|n| versions.get(FIRST, n, 97 + n)), [100, 7, 102]);
        assert_eq!(versions.get(SECOND, 0, 103), 103);
        versions.clear(FIRST);
        assert_eq!(versions.superblocks_kept(), 0);
        assert_eq!(versions.get(FIRST, 4, 200), 200);
    }

    #[test]
    fn a_unit_that_is_no_copy_replaces_one_that_was() {
        let mut versions = Versions::new(1, 8);
        versions.set_page(FIRST, 2, 50, &page([4, 4]));
        versions.set_page(FIRST, 2, 60, &page([60, 61]));
        assert_eq!([2, 3].map(|n| versions.get(FIRST, n, 58 + n)), [60, 61]);
    }

    #[test]
    fn a_version_may_come_from_before_the_wrap_of_the_low_bits() {
        let mut versions = Versions::new(1, 8);
        versions.set_page(FIRST, 0, u32::MAX, &page([u32::MAX - 5, u32::MAX - 1]));
        assert_eq!([versions.get(FIRST, 0, u32::MAX), versions.get(FIRST, 1, 0)], [u32::MAX - 5, u32::MAX - 1]);
    }
}
