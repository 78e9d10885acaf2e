//! Skewed choices of a block: Zipf, Pareto and normal, after fio's `lib/zipf.c` and `lib/gauss.c`.
//!
//! fio scatters ranks over the file with a hash, which lets several ranks fall on one block; here a permutation
//! scatters them, so that the distribution over blocks is exactly the one asked for.

use crate::Rng;
use crate::math::{ln, pow};
use crate::permutation::Permutation;

/// Terms of the zeta sum that are added one by one; the rest follows by Euler-Maclaurin to about 1e-12.
const EXACT_TERMS: u64 = 1000;

/// Draws of a normal deviate: the sum of twelve uniform numbers has variance 1.
const UNIFORMS: u32 = 12;

/// A distribution of ranks `0..n`, the most frequent first.
#[derive(Clone, Copy, Debug)]
enum Law {
    Zipf { zetan: f64, half_pow: f64, eta: f64, alpha: f64 },
    Pareto { exponent: f64 },
    Normal { deviation: f64 },
}

/// A skewed choice among `n` blocks.
#[derive(Clone, Debug)]
pub(crate) struct Skew {
    law: Law,
    blocks: u64,
    scatter: Permutation,
    /// Blocks by which all are moved on.
    shift: u64,
}

impl Skew {
    /// Zipf with exponent `theta` (positive, not 1), by the method of Gray et al., SIGMOD 1994.
    pub(crate) fn zipf(blocks: u64, theta: f64, rng: &mut Rng) -> Skew {
        let n = blocks as f64;
        let half_pow = pow(0.5, theta);
        let zetan = zeta(blocks, theta);
        let eta = (1.0 - pow(2.0 / n, 1.0 - theta)) / (1.0 - (1.0 + half_pow) / zetan);
        Skew::new(Law::Zipf { zetan, half_pow, eta, alpha: 1.0 / (1.0 - theta) }, blocks, rng)
    }

    /// Pareto with parameter `h` in (0, 1): a share `h` of the blocks gets a share `1 - h` of the requests.
    pub(crate) fn pareto(blocks: u64, h: f64, rng: &mut Rng) -> Skew {
        Skew::new(Law::Pareto { exponent: ln(h) / ln(1.0 - h) }, blocks, rng)
    }

    /// Normal around the middle rank, with a standard deviation in per cent of the blocks.
    pub(crate) fn normal(blocks: u64, percent: f64, rng: &mut Rng) -> Skew {
        Skew::new(Law::Normal { deviation: blocks as f64 * percent / 100.0 }, blocks, rng)
    }

    fn new(law: Law, blocks: u64, rng: &mut Rng) -> Skew {
        Skew { law, blocks, scatter: Permutation::new(blocks, rng), shift: 0 }
    }

    /// The same with the most frequent block at this share of the range.
    #[must_use]
    pub(crate) fn centred(self, at: f64) -> Skew {
        let most_frequent = match self.law {
            Law::Zipf { .. } | Law::Pareto { .. } => 0,
            Law::Normal { .. } => self.blocks / 2,
        };
        let wanted = ((self.blocks as f64 * at) as u64).min(self.blocks - 1);
        let shift = (wanted + self.blocks - self.scatter.apply(most_frequent)) % self.blocks;
        Skew { shift, ..self }
    }

    /// A block.
    pub(crate) fn next(&self, rng: &mut Rng) -> u64 {
        let block = self.scatter.apply(self.rank(rng)) + self.shift;
        if block < self.blocks { block } else { block - self.blocks }
    }

    fn rank(&self, rng: &mut Rng) -> u64 {
        let n = self.blocks as f64;
        let rank = match self.law {
            Law::Zipf { zetan, half_pow, eta, alpha } => {
                let u = rng.unit();
                let z = u * zetan;
                if z < 1.0 {
                    0
                } else if z < 1.0 + half_pow {
                    1
                } else {
                    (n * pow(eta * u - eta + 1.0, alpha)) as u64
                }
            }
            Law::Pareto { exponent } => {
                let u = rng.unit();
                // pow wants a normal number; the least draw but 0 is 2^-53.
                if u == 0.0 { 0 } else { (n * pow(u, exponent)) as u64 }
            }
            Law::Normal { deviation } => return self.normal_rank(deviation, rng),
        };
        rank.min(self.blocks - 1)
    }

    /// Draws outside of the range are drawn anew, at most 64 times.
    fn normal_rank(&self, deviation: f64, rng: &mut Rng) -> u64 {
        let n = self.blocks as f64;
        for _ in 0..64 {
            let z = (0..UNIFORMS).map(|_| rng.unit()).sum::<f64>() - f64::from(UNIFORMS) / 2.0;
            let x = n / 2.0 + z * deviation;
            if (0.0..n).contains(&x) {
                return (x as u64).min(self.blocks - 1);
            }
        }
        self.blocks / 2
    }
}

/// Sum of `i^-theta` for `i` in `1..=n`.
fn zeta(n: u64, theta: f64) -> f64 {
    let term = |x: f64| pow(x, -theta);
    let exact = (1..=n.min(EXACT_TERMS)).map(|i| term(i as f64)).sum::<f64>();
    if n <= EXACT_TERMS {
        return exact;
    }
    let (a, b) = (EXACT_TERMS as f64, n as f64);
    let integral = (pow(b, 1.0 - theta) - pow(a, 1.0 - theta)) / (1.0 - theta);
    let slope = |x: f64| -theta * term(x) / x;
    exact + integral + (term(b) - term(a)) / 2.0 + (slope(b) - slope(a)) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_stream;

    fn counts(skew: &Skew, draws: u32) -> Vec<u32> {
        let mut rng = named_stream(5, "skew", 0);
        let mut counts = vec![0; skew.blocks as usize];
        (0..draws).for_each(|_| counts[skew.next(&mut rng) as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn the_zeta_sum_continues_its_exact_part() {
        for theta in [0.3, 0.99, 1.2, 2.0] {
            let exact: f64 = (1..=5000_u32).map(|i| f64::from(i).powf(-theta)).sum();
            assert!((zeta(5000, theta) / exact - 1.0).abs() < 1e-11, "{theta}");
        }
    }

    #[test]
    fn zipf_gives_the_first_ranks_their_shares() {
        let (n, draws) = (10_000, 400_000_u32);
        for theta in [0.8, 1.2] {
            let skew = Skew::zipf(n, theta, &mut named_stream(1, "scatter", 0));
            let counts = counts(&skew, draws);
            let share = |rank: u32| f64::from(draws) * f64::from(rank).powf(-theta) / zeta(n, theta);
            for rank in [1, 2] {
                let expected = share(rank);
                let got = f64::from(counts[rank as usize - 1]);
                assert!((got - expected).abs() < 5.0 * expected.sqrt(), "{theta} {rank}: {got} for {expected}");
            }
        }
    }

    #[test]
    fn pareto_gives_a_share_h_of_blocks_the_rest_of_requests() {
        let skew = Skew::pareto(10_000, 0.2, &mut named_stream(1, "scatter", 0));
        let counts = counts(&skew, 200_000);
        let top: u32 = counts[..2000].iter().sum();
        // 80 % within five standard deviations of a binomial count, plus the bias of sorting by count (about 1 %).
        assert!((0.79..0.82).contains(&(f64::from(top) / 200_000.0)), "{top}");
    }

    #[test]
    fn normal_keeps_two_thirds_within_one_deviation() {
        let skew = Skew::normal(1000, 10.0, &mut named_stream(1, "scatter", 0));
        let mut rng = named_stream(5, "skew", 0);
        let within = (0..100_000).filter(|_| skew.rank(&mut rng).abs_diff(500) <= 100).count();
        assert!((0.675..0.695).contains(&(within as f64 / 1e5)), "{within}");
    }

    #[test]
    fn one_block_is_enough() {
        let mut rng = named_stream(1, "one", 0);
        for skew in [
            Skew::zipf(1, 1.1, &mut rng),
            Skew::zipf(2, 0.5, &mut rng),
            Skew::pareto(1, 0.5, &mut rng),
            Skew::normal(1, 50.0, &mut rng),
        ] {
            for _ in 0..100 {
                assert!(skew.next(&mut rng) < skew.blocks);
            }
        }
    }
}
