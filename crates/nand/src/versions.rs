//! Which change wrote the content of a unit first.

use units::Superblock;

/// Versions of units, by superblock and offset in it.
///
/// A unit that is no copy has its own sequence number as version, and most units are no copies, so what is kept is the
/// distance between the two. Zeroes are then right for all units that are not copies, and a superblock without copies
/// needs nothing.
#[derive(Debug)]
pub(crate) struct Versions {
    units: usize,
    /// Own sequence number less version, both in their low 32 bits.
    lags: Vec<Option<Box<[u32]>>>,
}

impl Versions {
    /// For superblocks of `units` units.
    pub fn new(superblocks: u32, units: u32) -> Versions {
        Versions { units: units as usize, lags: vec![None; superblocks as usize] }
    }

    /// The version of a unit whose own sequence number is `own`.
    #[inline]
    pub fn get(&self, superblock: Superblock, offset: u32, own: u32) -> u32 {
        // Without panics, so that the compiler can leave all of this out where nobody looks at the version.
        let lags = self.lags.get(superblock.index()).and_then(Option::as_deref);
        own.wrapping_sub(lags.and_then(|lags| lags.get(offset as usize)).copied().unwrap_or(0))
    }

    /// Notes the version of a unit whose own sequence number is `own`.
    #[inline]
    pub fn set(&mut self, superblock: Superblock, offset: u32, own: u32, version: u32) {
        let lag = own.wrapping_sub(version);
        match &mut self.lags[superblock.index()] {
            Some(lags) => lags[offset as usize] = lag,
            None if lag == 0 => {}
            none => none.insert(table::zeroed(self.units).into_boxed_slice())[offset as usize] = lag,
        }
    }

    /// Forgets a superblock, of which nothing can be read any more.
    pub fn clear(&mut self, superblock: Superblock) {
        self.lags[superblock.index()] = None;
    }

    /// Superblocks that take memory.
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

    #[test]
    fn only_superblocks_with_copies_take_memory_until_they_are_erased() {
        let mut versions = Versions::new(2, 8);
        versions.set(FIRST, 0, 100, 100);
        assert_eq!(versions.superblocks_kept(), 0);
        versions.set(FIRST, 1, 101, 7);
        versions.set(FIRST, 2, 102, 102);
        versions.set(SECOND, 0, 103, 103);
        assert_eq!(versions.superblocks_kept(), 1);
        assert_eq!([0, 1, 2].map(|n| versions.get(FIRST, n, 100 + n)), [100, 7, 102]);
        assert_eq!(versions.get(SECOND, 0, 103), 103);
        versions.clear(FIRST);
        assert_eq!(versions.superblocks_kept(), 0);
        assert_eq!(versions.get(FIRST, 1, 200), 200);
    }

    #[test]
    fn a_unit_that_is_no_copy_replaces_one_that_was() {
        let mut versions = Versions::new(1, 8);
        versions.set(FIRST, 3, 50, 4);
        versions.set(FIRST, 3, 60, 60);
        assert_eq!(versions.get(FIRST, 3, 60), 60);
    }

    #[test]
    fn a_version_may_come_from_before_the_wrap_of_the_low_bits() {
        let mut versions = Versions::new(1, 8);
        versions.set(FIRST, 0, 3, u32::MAX - 1);
        assert_eq!(versions.get(FIRST, 0, 3), u32::MAX - 1);
    }
}
