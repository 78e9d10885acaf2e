//! Choices of a block in zones of which some are accessed more often: fio's `random_distribution=zoned`.

use crate::Rng;

/// A part of the blocks, and how often it is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Zone {
    /// Per cent of the requests.
    pub requests: u32,
    /// Per cent of the blocks; zones lie one after another.
    pub blocks: u32,
}

/// A zone with its place.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// Per cent of the requests that go to this zone or one before.
    up_to: u32,
    first: u64,
    blocks: u64,
}

/// A choice among blocks: a zone by its share of the requests, then any block in it.
#[derive(Clone, Debug)]
pub(crate) struct Zones {
    zones: Vec<Placed>,
}

impl Zones {
    /// Divides `blocks` blocks. Both shares of all zones add up to 100. A zone has at least one block, also where its
    /// share is less than that.
    pub(crate) fn new(blocks: u64, zones: &[Zone]) -> Zones {
        let mut percent = 0;
        let ends = zones.iter().map(|zone| {
            percent += zone.blocks;
            (zone.requests, (u128::from(blocks) * u128::from(percent) / 100) as u64)
        });
        Zones::ending(blocks, ends)
    }

    /// Zones of so many blocks of `blocks`, each with its share of the requests.
    pub(crate) fn of_blocks(blocks: u64, zones: impl IntoIterator<Item = (u32, u64)>) -> Zones {
        let mut end = 0_u64;
        let ends = zones.into_iter().map(|(requests, length)| {
            end = end.saturating_add(length);
            (requests, end.min(blocks))
        });
        Zones::ending(blocks, ends)
    }

    fn ending(blocks: u64, ends: impl Iterator<Item = (u32, u64)>) -> Zones {
        let (mut up_to, mut before) = (0, 0);
        let place = |(requests, end): (u32, u64)| {
            let first = before.min(blocks - 1);
            (up_to, before) = (up_to + requests, end);
            Placed { up_to, first, blocks: end.saturating_sub(first).max(1) }
        };
        Zones { zones: ends.map(place).collect() }
    }

    /// A block.
    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng) -> u64 {
        let percent = rng.below(100) as u32;
        let zone = self.zones.iter().find(|zone| percent < zone.up_to).expect("the shares add up to 100");
        zone.first + rng.below(zone.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_stream;

    fn zones(blocks: u64, shares: &[(u32, u32)]) -> Zones {
        let zones: Vec<Zone> = shares.iter().map(|&(requests, blocks)| Zone { requests, blocks }).collect();
        Zones::new(blocks, &zones)
    }

    /// Of 200,000 requests a zone's share p has a standard deviation of sqrt(p (1 - p) / 200,000) < 0.0012; five of
    /// them.
    #[test]
    fn every_zone_gets_its_share_evenly() {
        let (blocks, draws) = (1000, 200_000_u32);
        let zones = zones(blocks, &[(70, 10), (0, 40), (30, 50)]);
        let mut rng = named_stream(3, "zones", 0);
        let mut counts = vec![0_u32; blocks as usize];
        (0..draws).for_each(|_| counts[zones.next(&mut rng) as usize] += 1);
        for (range, share) in [(0..100, 0.7), (100..500, 0.0), (500..1000, 0.3)] {
            let got = f64::from(counts[range.clone()].iter().sum::<u32>()) / f64::from(draws);
            assert!((got - share).abs() < 0.006, "{range:?}: {got} instead of {share}");
            let mean = share * f64::from(draws) / range.len() as f64;
            let most = f64::from(*counts[range.clone()].iter().max().unwrap());
            assert!(most <= mean + 6.0 * mean.sqrt(), "{range:?}: {most} where {mean} are the mean");
        }
    }

    #[test]
    fn few_blocks_are_enough() {
        let mut rng = named_stream(3, "zones", 1);
        for blocks in [1, 2, 3, 7] {
            let zones = zones(blocks, &[(50, 1), (30, 98), (20, 1)]);
            assert!((0..1000).all(|_| zones.next(&mut rng) < blocks));
        }
    }
}
