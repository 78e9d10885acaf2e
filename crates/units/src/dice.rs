//! Random numbers for models that need only a few.

/// What the state of SplitMix64 grows by.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that follows a state in the sequence of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The numbers that SplitMix64 gives from a seed on. Only integers, so they are the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// The sequence of this number of a seed: what is drawn for one thing does not hang on what was drawn for others.
    pub fn of(seed: u64, number: u64) -> Dice {
        Dice(splitmix64(seed ^ splitmix64(number)))
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        let drawn = splitmix64(self.0);
        self.0 = self.0.wrapping_add(STEP);
        drawn
    }

    /// A number from `low` to `high`, both included; `low` if `high` is less. The bias is below `(high - low) / 2^64`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let count = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.bits()) * count) >> 64) as u64
    }

    /// True `part` times out of `whole`.
    pub fn happens(&mut self, part: u32, whole: u32) -> bool {
        self.bits() % u64::from(whole) < u64::from(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let mut dice = Dice::new(1_234_567);
        let first = [0; 3].map(|_| dice.bits());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_lie_between_their_bounds_and_reach_both() {
        let mut dice = Dice::new(7);
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[dice.between(10, 14) as usize - 10] += 1;
        }
        // 1000 expected, standard deviation 28.
        assert!(seen.iter().all(|&n| (860..1140).contains(&n)), "{seen:?}");
        assert_eq!((dice.between(3, 3), dice.between(3, 2)), (3, 3));
        assert!((0..100).all(|_| dice.happens(100, 100) && !dice.happens(0, 100)));
    }
}
