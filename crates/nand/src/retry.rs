//! Read retry: cells that are worn, or were programmed long ago, have moved away from the voltages at which a read
//! looks for them. Where the error correction can not do it alone, the page is read again at shifted voltages, step by
//! step, until it can (Park et al., "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry", ASPLOS 2021).
//!
//! How many steps that takes is a property of a chip: a curve over program/erase (P/E) cycles, of which measurements
//! give some points. A profile names them, for data of the retention age that it speaks of and for fresh data. Each
//! step is a whole read: tR, and the transfer that brings the page to the error correction.

use params::Counts;
use units::splitmix64;

params::params! {
    /// Read retry: a part of `[nand]`.
    pub RetryParams {
        /// Retry steps of a read of data cells whose data have lain for the retention age: what is on flash when the
        /// workload begins. A list has a mean for each of nand.retry_cycles. Cells of one bit need none.
        retry_steps: counts(0 to 64) = 0, "no read is repeated: no maker of a phone's flash tells";
        /// The same for data that were programmed since.
        retry_fresh_steps: counts(0 to 64) = 0, "no read is repeated: no maker of a phone's flash tells";
        /// P/E cycles at which the retry steps hold, from few to many; between them steps follow a straight line.
        retry_cycles: counts(0 to 1000000) = 0, "of no effect without retry steps";
        /// P/E cycles that all blocks have behind them; the simulated erases are added.
        worn_cycles: count(0 to 1000000) = 0, "of no effect without retry steps";
    }
}

/// Mean steps over P/E cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Curve {
    cycles: Counts,
    steps: Counts,
}

/// Bits of a fraction of a step.
const FRACTION: u32 = 16;

impl Curve {
    /// Mean steps in parts of 2^16: between two points on the line, and beyond the ends as there.
    fn mean(&self, cycles: u32) -> u64 {
        let at = |n: usize| u64::from(self.steps.all()[n.min(self.steps.all().len() - 1)]) << FRACTION;
        let points = self.cycles.all();
        let above = points.iter().position(|&point| cycles < point).unwrap_or(points.len());
        if above == 0 || above == points.len() {
            return at(above.saturating_sub(1));
        }
        let (low, high) = (u64::from(points[above - 1]), u64::from(points[above]));
        let (part, whole) = (u64::from(cycles) - low, high - low);
        (at(above - 1) * (whole - part) + at(above) * part) / whole
    }
}

/// How often reads are repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    aged: Curve,
    fresh: Curve,
    worn_cycles: u32,
}

impl RetryParams {
    /// What they stand for; `None` if no read is repeated.
    pub fn retry(&self) -> Option<Retry> {
        let any = |steps: &Counts| steps.all().iter().any(|&steps| steps > 0);
        let curve = |steps| Curve { cycles: self.retry_cycles, steps };
        (any(&self.retry_steps) || any(&self.retry_fresh_steps)).then(|| Retry {
            aged: curve(self.retry_steps),
            fresh: curve(self.retry_fresh_steps),
            worn_cycles: self.worn_cycles,
        })
    }
}

impl Retry {
    /// Steps of a page of data cells, the same for every read of it between two erases: of many pages, the mean is that
    /// of the curve.
    pub(crate) fn steps(&self, seed: u64, page: usize, erases: u32, aged: bool) -> u8 {
        let curve = if aged { &self.aged } else { &self.fresh };
        let mean = curve.mean(self.worn_cycles.saturating_add(erases));
        let part = mean & ((1 << FRACTION) - 1);
        let drawn = splitmix64(seed ^ splitmix64(page as u64)) >> (u64::BITS - FRACTION);
        (mean >> FRACTION) as u8 + u8::from(drawn < part)
    }
}

#[cfg(test)]
mod tests {
    use params::Value;

    use super::*;

    fn counts(of: &[u32]) -> Counts {
        Counts::of(&Value::from(of.to_vec())).expect("a list of counts")
    }

    fn params() -> RetryParams {
        RetryParams {
            retry_steps: counts(&[3, 8, 20]),
            retry_fresh_steps: counts(&[0]),
            retry_cycles: counts(&[0, 1000, 2000]),
            worn_cycles: 0,
        }
    }

    #[test]
    fn means_of_many_pages_lie_on_the_curve() {
        const PAGES: usize = 100_000;
        for (worn, mean) in [(0, 3.0), (200, 4.0), (750, 6.75), (1000, 8.0), (1900, 18.8), (2000, 20.0), (9000, 20.0)] {
            let retry = RetryParams { worn_cycles: worn, ..params() }.retry().expect("some are repeated");
            let steps = (0..PAGES).map(|page| u64::from(retry.steps(7, page, 0, true))).sum::<u64>() as f64;
            // A page has the steps below or above the mean: five standard deviations of that choice at most.
            let (off, spread) = (steps / PAGES as f64 - mean, 0.5 / (PAGES as f64).sqrt());
            assert!(off.abs() < 5.0 * spread, "{worn} cycles: {off} from {mean}");
            assert_eq!(retry.steps(7, 3, 0, false), 0, "data that were programmed in the run");
        }
    }

    #[test]
    fn erases_add_to_the_cycles_before() {
        let retry = RetryParams { worn_cycles: 900, ..params() }.retry().expect("some are repeated");
        assert_eq!(retry.steps(1, 5, 100, true), 8);
        assert_eq!(retry.steps(1, 5, 1100, true), 20);
    }

    #[test]
    fn pages_and_seeds_differ_and_a_page_does_not() {
        let retry = RetryParams { worn_cycles: 500, ..params() }.retry().expect("some are repeated");
        let of = |seed| (0..64).map(|page| retry.steps(seed, page, 0, true)).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert!(of(1).contains(&5) && of(1).contains(&6));
    }

    #[test]
    fn without_steps_there_is_nothing_to_do() {
        assert_eq!(RetryParams { retry_steps: counts(&[0]), ..params() }.retry(), None);
    }
}
