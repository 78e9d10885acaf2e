//! Random numbers of the bench.

/// Deterministic random numbers (xorshift64).
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of a seed. Seeds are mixed as in SplitMix64, so that neighbours have nothing in common. Sequences
    /// of xorshift differ as regularly as their seeds do: what a case needs could be missing in hundreds of them.
    pub fn new(seed: u64) -> Rng {
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Rng((mixed ^ mixed >> 31) | 1)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % n
    }
}
