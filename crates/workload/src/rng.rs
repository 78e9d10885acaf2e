//! Random numbers by name.
//!
//! Every user of randomness has a stream of its own, derived from the seed and from what it is, not from the order in
//! which streams are made: adding a job to a file changes no other job's numbers.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::splitmix64;

/// Seed of the stream `name`, `index` under `seed`: FNV-1a of the name, mixed by splitmix64 rounds.
pub fn named_seed(seed: u64, name: &str, index: u64) -> u64 {
    splitmix64(splitmix64(splitmix64(seed) ^ fnv(name.as_bytes())) ^ index)
}

/// FNV-1a.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The stream `name`, `index` under `seed`.
pub fn named_stream(seed: u64, name: &str, index: u64) -> Rng {
    Rng::from_seed(named_seed(seed, name, index))
}

/// A stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream that starts from this seed.
    pub fn from_seed(seed: u64) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Any 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, `bound` at least 1. The bias of the multiplication is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_name_and_index_and_repeat() {
        let first = |seed, name, index| named_stream(seed, name, index).bits();
        assert_eq!(first(1, "job", 0), first(1, "job", 0));
        assert_ne!(first(1, "job", 0), first(2, "job", 0));
        assert_ne!(first(1, "job", 0), first(1, "jab", 0));
        assert_ne!(first(1, "job", 0), first(1, "job", 1));
    }

    #[test]
    fn below_and_unit_stay_in_range_and_reach_both_ends() {
        let mut rng = named_stream(7, "test", 0);
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[rng.below(5) as usize] += 1;
            let u = rng.unit();
            assert!((0.0..1.0).contains(&u));
        }
        // 1000 expected, standard deviation 28: five of them are a failure of the generator, not of luck.
        assert!(seen.iter().all(|&n| (860..1140).contains(&n)), "{seen:?}");
    }
}
