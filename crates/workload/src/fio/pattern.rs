//! Which bytes of its region a clone requests next.

use super::options::{After, Amount, BlockSizes, Distribution, Law, Options, SizeShare};
use super::strided::Zone;
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

/// The length of a request at a place of a region of so many bytes: as wished, or the smallest where that does not fit.
/// Where even that does not, a request that goes on behind another one ends the region, as in fio.
#[inline(always)]
fn fitting(length: u64, offset: u64, bytes: u64, sizes: &Sizes) -> Option<u64> {
    let left = bytes - offset;
    if length <= left { Some(length) } else { Some(sizes.smallest).filter(|&smallest| smallest <= left) }
}

#[derive(Clone, Debug)]
enum Kind {
    /// Reads, writes and trims advance on their own, as in fio.
    Sequential { position: [u64; 3] },
    /// The same, with so many bytes left out after each request; below 0 it goes back. What would lie outside lies at
    /// the other end. `start` is where the end of the request before the first would be.
    Skipping { position: [u64; 3], skip: i64, start: u64 },
    /// So many requests one after another from each place that `places` gives.
    Runs { places: Box<Pattern>, run: u32, left: u32, position: u64 },
    /// Per cent of the requests of each direction that go to a place that `places` gives; others follow the one before
    /// of their direction.
    Partly { places: Box<Pattern>, percent: [u64; 3], position: [u64; 3] },
    /// Any block of the direction's smallest size, again and again.
    Uniform { blocks: [u64; 3], step: [u64; 3] },
    /// Every block once.
    Map { map: Permutation, step: u64, blocks: u64 },
    /// Some blocks more often.
    Skewed { skew: Skew, step: u64 },
    /// Some zones more often.
    Zoned { zones: Zones, step: u64 },
    /// Zones one after another; `places` counts from the start of a zone.
    Strided { places: Box<Pattern>, zone: Zone },
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
        let Some(zoning) = o.zoning() else { return Pattern::unzoned(o, bytes, sizes, rng) };
        let places = Box::new(Pattern::unzoned(o, zoning.range.min(bytes), sizes, rng));
        Pattern { bytes, kind: Kind::Strided { places, zone: Zone::first(zoning) } }
    }

    fn unzoned(o: &Options, bytes: u64, sizes: &[Sizes; 3], rng: &mut Rng) -> Pattern {
        let step = o.smallest_block();
        let blocks = bytes / step;
        let kind = match &o.distribution {
            _ if !o.rw.random => match o.rw.after {
                After::Skip(skip) if skip != 0 => {
                    // As in fio: whoever goes back begins at the end, but at the beginning of a file.
                    let inside = !matches!(o.offset, Amount::Bytes(0) | Amount::Percent(0));
                    let start = if skip < 0 && inside { bytes } else { 0 };
                    Kind::Skipping { position: [start; 3], skip, start }
                }
                _ => Kind::Sequential { position: [0; 3] },
            },
            Distribution::Random if o.norandommap => Pattern::uniform(bytes, o, sizes),
            Distribution::Random => Kind::Map { map: Permutation::new(blocks, rng), step, blocks },
            Distribution::Skewed(law, centre) => {
                let skew = match *law {
                    Law::Zipf(theta) => Skew::zipf(blocks, theta, rng),
                    Law::Pareto(h) => Skew::pareto(blocks, h, rng),
                    Law::Normal(percent) => Skew::normal(blocks, percent, rng),
                };
                let skew = match *centre {
                    Some(at) => skew.centred(at),
                    None => skew,
                };
                Kind::Skewed { skew, step }
            }
            Distribution::Zoned(zones) => Kind::Zoned { zones: Zones::new(blocks, zones), step },
            Distribution::ZonedBytes(zones) => {
                let zones = zones.iter().map(|&(requests, bytes)| (requests, bytes / step));
                Kind::Zoned { zones: Zones::of_blocks(blocks, zones), step }
            }
        };
        match o.rw.after {
            After::Run(run) if run > 1 => {
                let places = Box::new(Pattern { bytes, kind });
                Pattern { bytes, kind: Kind::Runs { places, run, left: 0, position: 0 } }
            }
            _ if o.rw.random && o.percentage_random != [100; 3] => {
                let (places, percent) = (Box::new(Pattern { bytes, kind }), o.percentage_random);
                Pattern { bytes, kind: Kind::Partly { places, percent, position: [0; 3] } }
            }
            _ => Pattern { bytes, kind },
        }
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
            Kind::Skipping { .. } | Kind::Runs { .. } | Kind::Partly { .. } | Kind::Strided { .. } => {
                return self.next_after(direction, length, sizes, rng);
            }
            Kind::Sequential { position } => {
                let offset = position[direction];
                let length = fitting(length, offset, self.bytes, sizes)?;
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

    /// The same, of a request whose place depends on the one before it.
    #[inline(never)]
    fn next_after(&mut self, direction: usize, length: u64, sizes: &Sizes, rng: &mut Rng) -> Option<(u64, u64)> {
        let bytes = self.bytes;
        match &mut self.kind {
            Kind::Skipping { position, skip, .. } => {
                let end = position[direction];
                let next = if end == 0 { Some(0) } else { end.checked_add_signed(*skip) };
                let offset = match next.filter(|&next| next < bytes) {
                    Some(next) => next,
                    None if *skip > 0 => 0,
                    None => bytes.saturating_add_signed(*skip),
                };
                let length = fitting(length, offset, bytes, sizes)?;
                position[direction] = offset + length;
                Some((offset, length))
            }
            Kind::Runs { places, run, left, position } => {
                if *left == 0 || *position >= bytes {
                    let (offset, length) = places.next(direction, length, sizes, rng)?;
                    (*left, *position) = (*run - 1, offset + length);
                    return Some((offset, length));
                }
                let offset = *position;
                let length = fitting(length, offset, bytes, sizes)?;
                (*left, *position) = (*left - 1, offset + length);
                Some((offset, length))
            }
            Kind::Partly { places, percent, position } => {
                let offset = position[direction];
                let follows = offset < bytes && rng.below(100) >= percent[direction];
                let (offset, length) = match follows {
                    true => (offset, fitting(length, offset, bytes, sizes)?),
                    false => places.next(direction, length, sizes, rng)?,
                };
                position[direction] = offset + length;
                Some((offset, length))
            }
            Kind::Strided { places, zone } => {
                let (begin, anew) = zone.enter(bytes);
                if anew {
                    places.restart(rng);
                }
                let within = places.next_within(zone.bytes(), direction, length, sizes, rng)?;
                // Only its start has to lie in the zone, and the region ends for one that would start behind it.
                let offset = Some(begin + within).filter(|&offset| offset < bytes)?;
                let length = fitting(length, offset, bytes, sizes)?;
                zone.count(length);
                Some((offset, length))
            }
            _ => unreachable!("other kinds do not ask where the last request was"),
        }
    }

    /// Where the next request of a zone of so many bytes begins: one in sequence may end behind the zone, as in fio.
    fn next_within(&mut self, zone: u64, direction: usize, length: u64, sizes: &Sizes, rng: &mut Rng) -> Option<u64> {
        let Kind::Sequential { position } = &mut self.kind else {
            return Some(self.next(direction, sizes.smallest, sizes, rng)?.0);
        };
        let offset = Some(position[direction]).filter(|&offset| offset < zone).unwrap_or(0);
        position[direction] = offset + length;
        Some(offset)
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
            Kind::Skipping { position, start, .. } => *position = [*start; 3],
            Kind::Runs { places, left, .. } => {
                *left = 0;
                places.restart(rng);
            }
            Kind::Partly { places, position, .. } => {
                *position = [0; 3];
                places.restart(rng);
            }
            Kind::Map { map, blocks, .. } => *map = Permutation::new(*blocks, rng),
            Kind::Strided { places, zone } => {
                zone.restart();
                places.restart(rng);
            }
            // What is hot stays hot.
            Kind::Uniform { .. } | Kind::Skewed { .. } | Kind::Zoned { .. } => {}
        }
    }
}
