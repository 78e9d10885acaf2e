//! Random failures of operations.

use crate::op::Kind;

/// Failure rates of each kind of operation, per million. In two runs that are otherwise the same, the same faults cause
/// the same failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Programs that fail, per million. Their pages are used up, and none of their units can be read.
    pub program_per_million: u32,
    /// Erases that fail, per million. The blocks of the superblock on the die are half erased, as after a power cut:
    /// nothing in them can be read or programmed until an erase of them finishes. A failed erase counts in the wear,
    /// because it stresses the cells.
    pub erase_per_million: u32,
    /// Reads that fail, per million. None of their units can be read. The cells are unharmed, and the next read of them
    /// may succeed.
    pub read_per_million: u32,
}

impl Faults {
    /// True if any operation can fail.
    pub fn any(&self) -> bool {
        self.program_per_million + self.erase_per_million + self.read_per_million > 0
    }
}

/// Decides which operations fail.
#[derive(Clone, Hash, Debug)]
pub(crate) struct Injector {
    faults: Faults,
    /// Number of decisions so far.
    operations: u64,
}

impl Injector {
    /// `None` if nothing can fail.
    pub fn new(faults: Faults) -> Option<Injector> {
        faults.any().then_some(Injector { faults, operations: 0 })
    }

    /// True if the operation that finishes now fails.
    #[inline(never)] // Most runs have no faults; this keeps the path of an operation short.
    pub fn fails(&mut self, kind: Kind) -> bool {
        let per_million = match kind {
            Kind::Read => self.faults.read_per_million,
            Kind::Program => self.faults.program_per_million,
            Kind::Erase => self.faults.erase_per_million,
        };
        self.operations += 1;
        splitmix64(self.faults.seed, self.operations) % 1_000_000 < u64::from(per_million)
    }
}

/// Number `n` of the sequence that SplitMix64 generates from a seed (Steele, Lea and Flood, OOPSLA 2014). Its state is
/// the seed plus a multiple of a constant.
fn splitmix64(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let first: Vec<_> = (1..4).map(|n| splitmix64(1_234_567, n)).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_kind_fails_at_its_rate() {
        const TRIES: u32 = 100_000;
        let faults =
            Faults { seed: 3, program_per_million: 20_000, erase_per_million: 500_000, read_per_million: 1_000 };
        let rates = [(Kind::Read, 0.001), (Kind::Program, 0.02), (Kind::Erase, 0.5)];
        for (kind, rate) in rates {
            let mut injector = Injector::new(faults).expect("something can fail");
            let failed = (0..TRIES).filter(|_| injector.fails(kind)).count() as f64;
            // Five standard deviations of the binomial distribution.
            let (mean, spread) = (f64::from(TRIES) * rate, (f64::from(TRIES) * rate * (1.0 - rate)).sqrt());
            assert!((failed - mean).abs() < 5.0 * spread, "{failed} {}s failed of {TRIES}", kind.name());
        }
    }

    #[test]
    fn without_rates_there_is_nothing_to_decide() {
        assert!(Injector::new(Faults { seed: 9, ..Faults::default() }).is_none());
        let always = Faults { read_per_million: 1_000_000, ..Faults::default() };
        let mut injector = Injector::new(always).expect("something can fail");
        assert!((0..1_000).all(|_| injector.fails(Kind::Read) && !injector.fails(Kind::Erase)));
    }
}
