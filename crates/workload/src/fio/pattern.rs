//! Which bytes of its region a clone requests next.

use super::options::{BlockSizes, Distribution, Options, SizeShare};
use crate::permutation::Permutation;
use crate::skew::Skew;
use crate::zones::Zones;
use crate::{Rng, SECTOR_BYTES, named_stream};

/// Streams of random numbers, one for each kind of decision: changing the mix does not change the places.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pub place: Rng,
    pub size: Rng,
    pub mix: Rng,
    pub map: Rng,
    pub file: Rng,
}

impl Streams {
    pub(super) fn new(seed: u64) -> Streams {
        let stream = |name| named_stream(seed, name, 0);
        Streams {
            place: stream("place"),
            size: stream("size"),
            mix: stream("mix"),
            map: stream("map"),
            file: stream("file"),
        }
    }
}

/// Picks block sizes in given shares, or from a range.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Sizes with cumulated percentages, ascending to 100; empty for a range.
    shares: Vec<SizeShare>,
    smallest: u64,
    largest: u64,
}

impl Sizes {
    pub(super) fn new(sizes: &BlockSizes) -> Sizes {
        let (smallest, largest) = (sizes.smallest(), sizes.largest());
        let mut shares = match sizes {
            BlockSizes::Range { .. } => Vec::new(),
            BlockSizes::Split(shares) => shares.clone(),
        };
        let mut sum = 0;
        for share in &mut shares {
            sum += share.percent;
            share.percent = sum;
        }
        Sizes { shares, smallest, largest }
    }

    #[inline]
    pub(super) fn pick(&self, rng: &mut Rng) -> u64 {
        if let [only] = self.shares.as_slice() {
            return only.bytes;
        }
        if self.shares.is_empty() {
            return self.pick_in_range(rng);
        }
        let percent = rng.below(100) as u32;
        self.shares.iter().find(|s| percent < s.percent).map_or(self.smallest, |s| s.bytes)
    }

    /// Multiples of the smallest size up to the largest, as fio draws them: each is as likely as the next, and the
    /// largest gets what a last multiple beyond it would have.
    fn pick_in_range(&self, rng: &mut Rng) -> u64 {
        let drawn = self.smallest + rng.below(self.largest / SECTOR_BYTES) * SECTOR_BYTES;
        (drawn / self.smallest * self.smallest).min(self.largest)
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

/// The order in which a clone goes through a region. Offsets count from the start of the region.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    bytes: u64,
    kind: Kind,
}

impl Pattern {
    /// The order in `bytes` bytes of a file.
    pub(super) fn new(o: &Options, bytes: u64, sizes: &[Sizes; 3], rng: &mut Rng) -> Pattern {
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
    #[inline(always)]
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

    /// Offset of the next request, where that is known ahead.
    #[inline]
    pub(super) fn coming(&self) -> Option<u64> {
        match &self.kind {
            Kind::Map { map, step, .. } => Some(map.coming()? * *step),
            _ => None,
        }
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
