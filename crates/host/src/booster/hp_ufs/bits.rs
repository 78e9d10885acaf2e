//! Sets of small numbers: blocks, segments, places.

/// A set of small numbers.
#[derive(Clone, Hash, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// An empty set of numbers below `len`.
    pub fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    /// True if the set has `index`.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.0[index / 64] & (1 << (index % 64)) != 0
    }

    /// The smallest number in the set that is at least `from`.
    #[inline]
    pub fn first_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.0.get(word)? >> (from % 64) << (from % 64);
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Adds `index`. False if the set had it already.
    #[inline]
    pub fn insert(&mut self, index: usize) -> bool {
        let fresh = !self.get(index);
        self.0[index / 64] |= 1 << (index % 64);
        fresh
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Removes `index`.
    #[inline]
    pub fn remove(&mut self, index: usize) {
        self.0[index / 64] &= !(1 << (index % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_from_somewhere_is_found_in_any_word() {
        let mut bits = Bits::new(200);
        assert_eq!(bits.first_from(0), None);
        for index in [3, 64, 199] {
            assert!(bits.insert(index));
        }
        let found = [0, 3, 4, 64, 65, 199, 200, 1000].map(|from| bits.first_from(from));
        assert_eq!(found, [Some(3), Some(3), Some(64), Some(64), Some(199), Some(199), None, None]);
    }
}
