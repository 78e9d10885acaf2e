//! Random failures of operations.

use units::Dice;

use crate::op::Kind;

params::params! {
    /// Flash operations that fail, out of a million of their kind; which ones follows from the seed of the run.
    pub FaultParams {
        /// Reads that cannot be corrected: the request ends with an error, the firmware's own reads are repeated.
        read_per_million: count(0 to 100000) = 0, "no faults unless a run asks for them";
        /// Programs: what they carried is programmed elsewhere, the superblock is given up when it is empty.
        program_per_million: count(0 to 100000) = 0, "no faults unless a run asks for them";
        /// Erases of the share of one die: the superblock is given up.
        erase_per_million: count(0 to 100000) = 0, "no faults unless a run asks for them";
    }
}

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

impl FaultParams {
    /// These rates, with the seed of what is drawn.
    pub fn faults(&self, seed: u64) -> Faults {
        Faults {
            seed,
            program_per_million: self.program_per_million,
            erase_per_million: self.erase_per_million,
            read_per_million: self.read_per_million,
        }
    }
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
    dice: Dice,
}

impl Injector {
    /// `None` if nothing can fail.
    pub fn new(faults: Faults) -> Option<Injector> {
        faults.any().then_some(Injector { faults, dice: Dice::new(faults.seed) })
    }

    /// True if the operation that finishes now fails.
    #[inline(never)] // Most runs have no faults; this keeps the path of an operation short.
    pub fn fails(&mut self, kind: Kind) -> bool {
        let per_million = match kind {
            Kind::Read => self.faults.read_per_million,
            Kind::Program => self.faults.program_per_million,
            Kind::Erase => self.faults.erase_per_million,
        };
        self.dice.happens(per_million, 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
