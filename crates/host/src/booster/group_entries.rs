//! The entries of one HPB group in the simulator's memory, as large as they are in the host's.

use std::ops::Range;

/// Entries by position in their group; 0 = none. Asked for, each has 64 bits: a plain one is in the lower half.
#[derive(Clone, Hash)]
pub(super) enum GroupEntries {
    /// Packed addresses.
    Plain(Box<[u32]>),
    /// What the device has sealed.
    Sealed(Box<[u64]>),
}

impl GroupEntries {
    /// None of `len` entries.
    pub fn none(len: u32, plain: bool) -> GroupEntries {
        match plain {
            true => GroupEntries::Plain(vec![0; len as usize].into()),
            false => GroupEntries::Sealed(vec![0; len as usize].into()),
        }
    }

    /// An entry.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        match self {
            GroupEntries::Plain(entries) => entries[at].into(),
            GroupEntries::Sealed(entries) => entries[at],
        }
    }

    /// Replaces an entry. Of a plain one, the upper half counts for nothing.
    #[inline]
    pub fn set(&mut self, at: usize, entry: u64) {
        match self {
            GroupEntries::Plain(entries) => entries[at] = entry as u32,
            GroupEntries::Sealed(entries) => entries[at] = entry,
        }
    }

    /// Drops some entries.
    #[inline]
    pub fn forget(&mut self, range: Range<usize>) {
        match self {
            GroupEntries::Plain(entries) => entries[range].fill(0),
            GroupEntries::Sealed(entries) => entries[range].fill(0),
        }
    }

    /// Drops all entries.
    pub fn forget_all(&mut self) {
        match self {
            GroupEntries::Plain(entries) => entries.fill(0),
            GroupEntries::Sealed(entries) => entries.fill(0),
        }
    }

    /// True if these entries are all there, and name consecutive pages as far as the host can see: in sealed entries it
    /// can not (HPB 2017 Sec. 3.4).
    #[inline]
    pub fn serve(&self, range: Range<usize>) -> bool {
        match self {
            GroupEntries::Plain(entries) => entries
                .get(range)
                .is_some_and(|chunk| chunk.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))),
            GroupEntries::Sealed(entries) => entries.get(range).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_keep_what_they_are_given() {
        for plain in [true, false] {
            let mut entries = GroupEntries::none(8, plain);
            (0..8).for_each(|at| entries.set(at, 100 + at as u64));
            entries.set(5, 7);
            assert_eq!((entries.get(4), entries.get(5)), (104, 7));
            assert!(entries.serve(0..5) && entries.serve(5..6) && !entries.serve(6..9), "plain: {plain}");
            assert_eq!(entries.serve(4..6), !plain, "the host sees only in plain entries that 7 does not follow 104");
            entries.forget(3..5);
            assert_eq!([2, 3, 4, 6].map(|at| entries.get(at)), [102, 0, 0, 106]);
            entries.forget_all();
            assert!((0..8).all(|at| entries.get(at) == 0));
        }
        let mut sealed = GroupEntries::none(1, false);
        sealed.set(0, u64::MAX);
        assert_eq!(sealed.get(0), u64::MAX);
        let mut plain = GroupEntries::none(2, true);
        plain.set(0, u32::MAX.into());
        assert!(!plain.serve(0..2), "nothing follows the last address");
    }
}
