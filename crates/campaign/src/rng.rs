//! Random numbers of the bench.

use units::splitmix64;

/// Deterministic random numbers (xorshift64).
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of a seed. Seeds are mixed, so that neighbours have nothing in common. Sequences of xorshift differ
    /// as regularly as their seeds do: what a case needs could be missing in hundreds of them.
    pub fn new(seed: u64) -> Rng {
        Rng(splitmix64(seed) | 1)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % n
    }
}
