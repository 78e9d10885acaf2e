//! Fingerprints of states, and the set of those that have been seen.
//!
//! A state is remembered by a fingerprint of 64 bits. Two states with the same fingerprint would be taken for one, and
//! what follows from the second would not be looked at. Among n states the chance of one such pair is about n^2 / 2^65:
//! 3 in a million for 10^7 states.

use std::hash::{Hash, Hasher};

/// A hash function that gives the same on every run and machine (of the same byte order). It folds the 128-bit product
/// of its state and each word, as wyhash does.
#[derive(Clone, Copy, Debug)]
struct Folding(u64);

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xe703_7ed1_a0b4_28db;

impl Hasher for Folding {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(FIRST);
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        words.for_each(|word| self.write_u64(u64::from_le_bytes(word.try_into().expect("chunks of eight"))));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // One more round, so that the last word reaches every bit.
        let mut last = *self;
        last.write_u64(FIRST);
        last.0
    }
}

/// The fingerprint of a value.
pub fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = Folding(FIRST);
    value.hash(&mut hasher);
    hasher.finish()
}

/// A set of fingerprints: a table with open addressing, eight bytes a place.
#[derive(Debug)]
pub struct Seen {
    /// 0 = no fingerprint.
    places: Vec<u64>,
    len: usize,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { places: vec![0; 1 << 16], len: 0 }
    }
}

impl Seen {
    /// Number of fingerprints.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a fingerprint. True if it was not in the set.
    pub fn insert(&mut self, fingerprint: u64) -> bool {
        if self.len * 4 >= self.places.len() * 3 {
            let wider = vec![0; self.places.len() * 2];
            let old = std::mem::replace(&mut self.places, wider);
            old.into_iter().filter(|&known| known != 0).for_each(|known| _ = self.put(known));
        }
        // 0 marks a free place, so it shares the place of 1.
        let new = self.put(fingerprint.max(1));
        self.len += usize::from(new);
        new
    }

    fn put(&mut self, fingerprint: u64) -> bool {
        let mask = self.places.len() - 1;
        let mut at = fingerprint as usize & mask;
        loop {
            match self.places[at] {
                0 => {
                    self.places[at] = fingerprint;
                    return true;
                }
                known if known == fingerprint => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_new_once_however_many_there_are() {
        let mut seen = Seen::default();
        let all = || (0..200_000_u64).map(|n| fingerprint(&n));
        assert!(all().all(|f| seen.insert(f)), "200,000 numbers have different fingerprints");
        assert!(!all().any(|f| seen.insert(f)));
        assert_eq!(seen.len(), 200_000);
        assert!(seen.insert(0) && !seen.insert(0));
    }

    #[test]
    fn every_bit_of_a_word_changes_about_half_of_the_fingerprint() {
        let base = fingerprint(&[7_u64, 0, 9]);
        for bit in 0..64 {
            let changed = (base ^ fingerprint(&[7_u64, 1 << bit, 9])).count_ones();
            assert!((12..=52).contains(&changed), "bit {bit} changes {changed} of 64 bits");
        }
    }

    #[test]
    fn lengths_and_order_count() {
        assert_ne!(fingerprint(&vec![1_u8, 2]), fingerprint(&vec![2_u8, 1]));
        assert_ne!(fingerprint(&(vec![1_u32], vec![2_u32, 3])), fingerprint(&(vec![1_u32, 2], vec![3_u32])));
    }
}
