//! A keyed random permutation of `0..n` without a table.
//!
//! On the next power of two it is three rounds of multiply by an odd number, add, and xor-shift, each of which is a
//! bijection; numbers outside of `0..n` are skipped. So a random map over a terabyte costs no memory.

use crate::Rng;

#[derive(Clone, Copy, Debug)]
struct Round {
    factor: u64,
    summand: u64,
}

/// A permutation of `0..n` and a position in it.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    rounds: [Round; 3],
    mask: u64,
    shift: u32,
    len: u64,
    /// Position of the first element after `coming`.
    next: u64,
    /// The next element. It is known ahead, so that what it leads to can be fetched from memory ahead.
    coming: Option<u64>,
}

impl Permutation {
    /// A permutation of `0..len` with a key drawn from `rng`. `len` is at least 1.
    pub(crate) fn new(len: u64, rng: &mut Rng) -> Permutation {
        assert!((1..=1 << 62).contains(&len), "permutation of {len} blocks");
        let bits = (64 - (len - 1).leading_zeros()).max(1);
        let round = |rng: &mut Rng| Round { factor: rng.bits() | 1, summand: rng.bits() };
        let mut permutation = Permutation {
            rounds: [round(rng), round(rng), round(rng)],
            mask: (1 << bits) - 1,
            shift: bits.div_ceil(2),
            len,
            next: 0,
            coming: None,
        };
        permutation.coming = permutation.find();
        permutation
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for round in &self.rounds {
            x = x.wrapping_mul(round.factor).wrapping_add(round.summand) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }

    /// The next element, or `None` after all `n`.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u64> {
        let next = self.coming;
        self.coming = self.find();
        next
    }

    /// What [`Permutation::next`] will return.
    #[inline]
    pub(crate) fn coming(&self) -> Option<u64> {
        self.coming
    }

    #[inline]
    fn find(&mut self) -> Option<u64> {
        while self.next <= self.mask {
            let x = self.mix(self.next);
            self.next += 1;
            if x < self.len {
                return Some(x);
            }
        }
        None
    }

    /// The image of `x < n`: follows the cycle of the larger domain until it comes back below `n`.
    #[inline]
    pub(crate) fn apply(&self, x: u64) -> u64 {
        debug_assert!(x < self.len);
        let mut y = self.mix(x);
        while y >= self.len {
            y = self.mix(y);
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_stream;

    #[test]
    fn every_element_comes_exactly_once() {
        for len in [1_u64, 2, 3, 4, 5, 16, 17, 1000, 4096, 65537] {
            let mut rng = named_stream(1, "permutation", len);
            let mut permutation = Permutation::new(len, &mut rng);
            let mut seen = vec![0; len as usize];
            let mut images = vec![0; len as usize];
            for x in 0..len {
                images[permutation.apply(x) as usize] += 1;
            }
            while let Some(x) = permutation.coming() {
                assert_eq!(permutation.next(), Some(x));
                seen[x as usize] += 1;
            }
            assert!(seen.iter().all(|&n| n == 1), "{len}");
            assert!(images.iter().all(|&n| n == 1), "{len}");
            assert_eq!(permutation.next(), None);
        }
    }

    #[test]
    fn it_looks_random() {
        // Neighbours in order are as far apart as independent draws: the mean of |a - b| is n/3.
        let len = 100_000_u64;
        let mut p = Permutation::new(len, &mut named_stream(3, "permutation", 0));
        let all: Vec<u64> = std::iter::from_fn(|| p.next()).collect();
        let mean = all.windows(2).map(|w| w[0].abs_diff(w[1]) as f64).sum::<f64>() / (len - 1) as f64;
        assert!((mean / (len as f64 / 3.0) - 1.0).abs() < 0.02, "{mean}");
        // And the first tenth covers all tenths of the range evenly: 1000 each, standard deviation 28.
        let mut tenths = [0; 10];
        all[..10_000].iter().for_each(|x| tenths[(x / 10_000) as usize] += 1);
        assert!(tenths.iter().all(|&n| (850..1150).contains(&n)), "{tenths:?}");
    }
}
