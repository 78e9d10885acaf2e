//! Which bundles of a layer a token needs.

use super::spec::LlmSpec;
use crate::math::pow;
use crate::rng::Rng;

/// Halvings of the interval in which the exponent of a power law is looked for.
const HALVINGS: u32 = 60;
/// Runs of this exponent have one bundle, but for one of 2^60.
const STEEPEST: f64 = 60.0;

/// Runs of bundles, some active and others not, drawn one after another.
pub(super) struct Runs {
    /// Part of the bundles that is active, in per cent.
    active: u32,
    lengths: Lengths,
    rng: Rng,
}

/// How long runs of active bundles are.
enum Lengths {
    /// Each bundle is active by itself.
    Chance,
    /// Of a mean that is given in hundredths of a bundle: by length less one, how many of 2^64 runs are longer.
    Law(u32, Vec<u64>),
}

impl Runs {
    pub fn new(spec: &LlmSpec, rng: Rng) -> Runs {
        let lengths = match spec.run_hundredths.count() {
            None => Lengths::Chance,
            Some(mean) => Lengths::Law(mean, longer(f64::from(mean) / 100.0, spec.longest_run)),
        };
        Runs { active: spec.active_percent, lengths, rng }
    }

    /// Hands the runs of active bundles among `count` to `each`: first bundle and number.
    pub fn draw(&mut self, count: u32, mut each: impl FnMut(u32, u32)) {
        // What a layer begins with does not depend on the one before it.
        let mut is_active = self.one_of(u64::from(self.active), 100);
        let mut at = 0;
        while at < count {
            let length = if is_active { self.run() } else { self.gap() }.min(count - at);
            if is_active {
                each(at, length);
            }
            (at, is_active) = (at + length, !is_active);
        }
    }

    /// Whether one of `parts` in `whole` is drawn.
    fn one_of(&mut self, parts: u64, whole: u64) -> bool {
        self.rng.below(whole) < parts
    }

    fn run(&mut self) -> u32 {
        match &self.lengths {
            Lengths::Law(_, longer) => {
                let drawn = self.rng.bits();
                1 + longer.partition_point(|&longer| drawn < longer) as u32
            }
            Lengths::Chance => {
                let active = u64::from(self.active);
                self.lasting(100 - active, 100)
            }
        }
    }

    /// Bundles that are not needed, so many on average that the part that is active comes out.
    fn gap(&mut self) -> u32 {
        let active = u64::from(self.active);
        match self.lengths {
            Lengths::Chance => self.lasting(active, 100),
            Lengths::Law(mean, _) => self.lasting(100 * active, u64::from(mean) * (100 - active)),
        }
    }

    /// A length at whose every bundle `parts` in `whole` end.
    fn lasting(&mut self, parts: u64, whole: u64) -> u32 {
        let mut length = 1;
        // No layer is longer than this.
        while length < LONGEST && !self.one_of(parts, whole) {
            length += 1;
        }
        length
    }
}

/// More than a layer has.
const LONGEST: u32 = 1 << 20;

/// A power law of lengths up to `longest` with this mean: by length less one, how many of 2^64 are longer.
fn longer(mean: f64, longest: u32) -> Vec<u64> {
    let longer_than = |length: u32, exponent: f64| pow(f64::from(length + 1), -exponent);
    let mean_of = |exponent: f64| 1.0 + (1..longest).map(|length| longer_than(length, exponent)).sum::<f64>();
    let (mut flat, mut steep) = (0.0, STEEPEST);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(flat, steep);
        if mean_of(middle) > mean { flat = middle } else { steep = middle }
    }
    (1..longest).map(|length| (longer_than(length, steep) * TWO_TO_64) as u64).collect()
}

/// 2^64.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::named_stream;

    /// Active bundles, runs, and the longest of a million bundles.
    fn drawn(lines: &str) -> (f64, f64, u32) {
        let spec = LlmSpec::parse(&format!("[llm]\n{lines}"), "x").unwrap();
        let mut runs = Runs::new(&spec, named_stream(1, "a", 0));
        let (mut active, mut number, mut longest, mut end) = (0, 0, 0, None);
        runs.draw(1 << 20, |first, count| {
            assert!(end.is_none_or(|end| first > end), "runs do not touch");
            (active, number, longest) = (active + count, number + 1, longest.max(count));
            end = Some(first + count);
        });
        (f64::from(active) / f64::from(1 << 20), f64::from(active) / f64::from(number), longest)
    }

    /// What Ripple has measured without placing anything follows from chance alone: 3 to 10% active give runs of 1.03
    /// to 1.11 bundles (OPT-L: 1.06), and 20 to 30% give 1.25 to 1.43 (Llama-2: 1.42).
    #[test]
    fn bundles_that_are_active_by_chance_have_the_runs_of_chance() {
        for (percent, mean) in [(3, 1.031), (10, 1.111), (20, 1.25), (30, 1.4286)] {
            let (active, run, _) = drawn(&format!("active_percent = {percent}"));
            assert!((active * 100.0 / f64::from(percent) - 1.0).abs() < 0.02, "{percent}: {active}");
            assert!((run / mean - 1.0).abs() < 0.01, "{percent}: {run}");
        }
        assert_eq!(drawn("active_percent = 100"), (1.0, f64::from(1 << 20), 1 << 20));
    }

    #[test]
    fn runs_of_a_given_mean_have_it_and_a_long_tail() {
        for (hundredths, percent, at_most) in [(106, 5, 589), (310, 25, 589), (660, 25, 2845)] {
            let lines = format!("run_hundredths = {hundredths}\nactive_percent = {percent}\nlongest_run = {at_most}");
            let (active, run, longest) = drawn(&lines);
            // The tail is long, so means of some hundred thousand runs are not exact.
            assert!((active * 100.0 / f64::from(percent) - 1.0).abs() < 0.05, "{lines}: {active}");
            assert!((run * 100.0 / f64::from(hundredths) - 1.0).abs() < 0.05, "{lines}: {run}");
            assert!(longest <= at_most && f64::from(longest) > 10.0 * run, "{lines}: {longest}");
        }
    }
}
