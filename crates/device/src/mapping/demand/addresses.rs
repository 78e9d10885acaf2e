//! A set of addresses, as a bitmap. Which addresses of a translation page are in it, costs as many words as the page
//! has bits, however few there are.

use std::ops::Range;

use units::Lpa;

const WORD: u32 = u64::BITS;

/// A set of addresses.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Addresses {
    words: Vec<u64>,
}

impl Addresses {
    /// The empty set of addresses below `end`.
    pub fn new(end: u32) -> Addresses {
        Addresses { words: table::zeroed(end.div_ceil(WORD) as usize) }
    }

    /// True if the address is in the set.
    #[inline]
    pub fn contains(&self, lpa: Lpa) -> bool {
        self.words[(lpa.0 / WORD) as usize] & bit(lpa) != 0
    }

    /// Adds an address.
    #[inline]
    pub fn insert(&mut self, lpa: Lpa) {
        self.words[(lpa.0 / WORD) as usize] |= bit(lpa);
    }

    /// Takes an address away.
    #[inline]
    pub fn remove(&mut self, lpa: Lpa) {
        self.words[(lpa.0 / WORD) as usize] &= !bit(lpa);
    }

    /// The addresses of a range, in order.
    #[inline]
    pub fn within(&self, range: Range<u32>) -> Within<'_> {
        let next = range.start / WORD;
        let last = range.end.div_ceil(WORD);
        // Bits below the range are left out here, those above it by the iterator.
        let words = if range.is_empty() { &[] } else { &self.words[..last as usize] };
        let bits = words.get(next as usize).map_or(0, |word| word & (u64::MAX << (range.start % WORD)));
        Within { words, at: next, bits, end: range.end }
    }
}

#[inline]
fn bit(lpa: Lpa) -> u64 {
    1 << (lpa.0 % WORD)
}

/// See [`Addresses::within`].
pub struct Within<'a> {
    words: &'a [u64],
    /// The word that `bits` are left of.
    at: u32,
    bits: u64,
    end: u32,
}

impl Iterator for Within<'_> {
    type Item = Lpa;

    #[inline]
    fn next(&mut self) -> Option<Lpa> {
        while self.bits == 0 {
            self.at += 1;
            self.bits = *self.words.get(self.at as usize)?;
        }
        let lpa = Lpa(self.at * WORD + self.bits.trailing_zeros());
        self.bits &= self.bits - 1;
        (lpa.0 < self.end).then_some(lpa)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(
            changes in prop::collection::vec((0u32..700, any::<bool>()), 0..300),
            a in 0u32..=700,
            n in 0u32..300,
        ) {
            let (mut set, mut truth) = (Addresses::new(700), BTreeSet::new());
            for (lpa, add) in changes {
                if add {
                    set.insert(Lpa(lpa));
                    truth.insert(lpa);
                } else {
                    set.remove(Lpa(lpa));
                    truth.remove(&lpa);
                }
            }
            for lpa in 0..700 {
                prop_assert_eq!(set.contains(Lpa(lpa)), truth.contains(&lpa));
            }
            let range = a..(a + n).min(700);
            let found: Vec<u32> = set.within(range.clone()).map(|lpa| lpa.0).collect();
            prop_assert_eq!(found, truth.into_iter().filter(|lpa| range.contains(lpa)).collect::<Vec<_>>());
        }
    }
}
