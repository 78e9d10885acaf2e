//! Which bytes of its region a clone requests next.

use super::job::JobClone;
use super::options::{Distribution, Options, SizeShare};
use crate::Rng;
use crate::permutation::Permutation;
use crate::skew::Skew;
use crate::zones::Zones;

/// Picks block sizes in given shares.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Sizes with cumulated percentages, ascending to 100.
    shares: Vec<SizeShare>,
    smallest: u64,
}

impl Sizes {
    pub(super) fn new(mut shares: Vec<SizeShare>) -> Sizes {
        let smallest = shares.iter().map(|s| s.bytes).min().unwrap_or(0);
        let mut sum = 0;
        for share in &mut shares {
            sum += share.percent;
            share.percent = sum;
        }
        Sizes { shares, smallest }
    }

    #[inline]
    pub(super) fn pick(&self, rng: &mut Rng) -> u64 {
        if let [only] = self.shares.as_slice() {
            return only.bytes;
        }
        let percent = rng.below(100) as u32;
        self.shares.iter().find(|s| percent < s.percent).map_or(self.smallest, |s| s.bytes)
    }

    /// The size, if there is only one.
    pub(super) fn only(&self) -> Option<u64> {
        if let [only] = self.shares.as_slice() { Some(only.bytes) } else { None }
    }
}

#[derive(Clone, Debug)]
enum Kind {
    /// Reads, writes and trims advance on their own, as in fio.
    Sequential { position: [u64; 3] },
    /// Any block of the direction's smallest size, again and again.
    Uniform { blocks: [u64; 3], step: [u64; 3] },
    /// Every block once.
    Map { map: Permutation, step: u64, blocks: u64 },
    /// Some blocks more often.
    Skewed { skew: Skew, step: u64 },
    /// Some zones more often.
    Zoned { zones: Zones, step: u64 },
}

/// The order in which a clone goes through its region. Offsets count from the start of the region.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    bytes: u64,
    kind: Kind,
}

impl Pattern {
    pub(super) fn new(clone: &JobClone<'_>, sizes: &[Sizes; 3], rng: &mut Rng) -> Pattern {
        let (bytes, o) = (clone.region.bytes, &clone.job.options);
        let smallest = (0..3).filter(|&d| o.has_direction(d)).map(|d| sizes[d].smallest).min();
        let step = smallest.expect("a job reads, writes or trims");
        let blocks = bytes / step;
        let kind = match &o.distribution {
            _ if !o.rw.random => Kind::Sequential { position: [0; 3] },
            Distribution::Random if o.norandommap => Pattern::uniform(bytes, o, sizes),
            Distribution::Random => Kind::Map { map: Permutation::new(blocks, rng), step, blocks },
            Distribution::Zipf(theta) => Kind::Skewed { skew: Skew::zipf(blocks, *theta, rng), step },
            Distribution::Pareto(h) => Kind::Skewed { skew: Skew::pareto(blocks, *h, rng), step },
            Distribution::Normal(percent) => Kind::Skewed { skew: Skew::normal(blocks, *percent, rng), step },
            Distribution::Zoned(zones) => Kind::Zoned { zones: Zones::new(blocks, zones), step },
        };
        Pattern { bytes, kind }
    }

    fn uniform(bytes: u64, o: &Options, sizes: &[Sizes; 3]) -> Kind {
        let step = std::array::from_fn(|d| if o.has_direction(d) { sizes[d].smallest } else { bytes });
        Kind::Uniform { blocks: step.map(|step| bytes / step), step }
    }

    /// Offset and length of the next request, which should have `length` bytes but may have the smallest size of the
    /// direction where that does not fit. `None` at the end of the region, or of the random map.
    #[inline]
    pub(super) fn next(&mut self, direction: usize, length: u64, sizes: &Sizes, rng: &mut Rng) -> Option<(u64, u64)> {
        let offset = match &mut self.kind {
            Kind::Map { map, step, .. } => map.next()? * *step,
            Kind::Uniform { blocks, step } => rng.below(blocks[direction]) * step[direction],
            Kind::Skewed { skew, step, .. } => skew.next(rng) * *step,
            Kind::Zoned { zones, step } => zones.next(rng) * *step,
            Kind::Sequential { position } => {
                let offset = position[direction];
                let left = self.bytes - offset;
                let length = if length <= left { length } else { sizes.smallest };
                if length > left {
                    return None;
                }
                position[direction] = offset + length;
                return Some((offset, length));
            }
        };
        if offset + length <= self.bytes {
            return Some((offset, length));
        }
        // The smallest size of this direction may still be larger than a step that another direction has given.
        Some((offset.min(self.bytes - sizes.smallest), sizes.smallest))
    }

    /// Starts from the beginning, with a new random map drawn from `rng`.
    pub(super) fn restart(&mut self, rng: &mut Rng) {
        match &mut self.kind {
            Kind::Sequential { position } => *position = [0; 3],
            Kind::Map { map, blocks, .. } => *map = Permutation::new(*blocks, rng),
            // What is hot stays hot.
            Kind::Uniform { .. } | Kind::Skewed { .. } | Kind::Zoned { .. } => {}
        }
    }
}
