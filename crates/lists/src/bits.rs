//! A set of numbers, as a bitmap. Which numbers of a range are in it, costs as many words as the range has bits,
//! however few there are.

use std::ops::Range;

const WORD: u32 = u64::BITS;

/// A set of numbers, in a list of words or in an array.
#[derive(Clone, Hash, Default, Debug)]
pub struct Bits<W = Vec<u64>> {
    words: W,
}

impl Bits {
    /// The empty set of numbers below `end`.
    pub fn new(end: u32) -> Bits {
        Bits { words: table::zeroed(end.div_ceil(WORD) as usize) }
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Bits<W> {
    /// True if the number is in the set.
    #[inline]
    pub fn contains(&self, at: u32) -> bool {
        self.words.as_ref()[(at / WORD) as usize] & bit(at) != 0
    }

    /// Prefetches what the other methods look at for a number.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        table::prefetch(&self.words.as_ref()[(at / WORD) as usize]);
    }

    /// Adds a number. False if the set had it already.
    #[inline]
    pub fn insert(&mut self, at: u32) -> bool {
        let word = &mut self.words.as_mut()[(at / WORD) as usize];
        let fresh = *word & bit(at) == 0;
        *word |= bit(at);
        fresh
    }

    /// Takes a number away.
    #[inline]
    pub fn remove(&mut self, at: u32) {
        self.words.as_mut()[(at / WORD) as usize] &= !bit(at);
    }

    /// Takes all numbers away.
    pub fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }

    /// The smallest number in the set that is at least `from`.
    #[inline]
    pub fn first_from(&self, from: u32) -> Option<u32> {
        let (words, mut word) = (self.words.as_ref(), from / WORD);
        let mut bits = words.get(word as usize)? & (u64::MAX << (from % WORD));
        while bits == 0 {
            word += 1;
            bits = *words.get(word as usize)?;
        }
        Some(word * WORD + bits.trailing_zeros())
    }

    /// The numbers of a range, in order.
    #[inline]
    pub fn within(&self, range: Range<u32>) -> Within<'_> {
        let next = range.start / WORD;
        let last = range.end.div_ceil(WORD);
        // Bits below the range are left out here, those above it by the iterator.
        let words = if range.is_empty() { &[] } else { &self.words.as_ref()[..last as usize] };
        let bits = words.get(next as usize).map_or(0, |word| word & (u64::MAX << (range.start % WORD)));
        Within { words, at: next, bits, end: range.end }
    }
}

#[inline]
fn bit(at: u32) -> u64 {
    1 << (at % WORD)
}

/// See [`Bits::within`].
pub struct Within<'a> {
    words: &'a [u64],
    /// The word that `bits` are left of.
    at: u32,
    bits: u64,
    end: u32,
}

impl Iterator for Within<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.bits == 0 {
            self.at += 1;
            self.bits = *self.words.get(self.at as usize)?;
        }
        let at = self.at * WORD + self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        (at < self.end).then_some(at)
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
            let (mut set, mut truth) = (Bits::new(700), BTreeSet::new());
            for (at, add) in changes {
                if add {
                    prop_assert_eq!(set.insert(at), truth.insert(at));
                } else {
                    set.remove(at);
                    truth.remove(&at);
                }
            }
            for at in 0..700 {
                prop_assert_eq!(set.contains(at), truth.contains(&at));
                prop_assert_eq!(set.first_from(at), truth.range(at..).next().copied());
            }
            prop_assert_eq!(set.first_from(10_000), None);
            let range = a..(a + n).min(700);
            let found: Vec<u32> = set.within(range.clone()).collect();
            prop_assert_eq!(found, truth.into_iter().filter(|at| range.contains(at)).collect::<Vec<_>>());
            set.clear();
            prop_assert_eq!(set.first_from(0), None);
        }
    }
}
