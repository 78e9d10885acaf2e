//! Where an app's data are on the device, and which of them it reads.
//!
//! An app reads libraries, code, databases and pictures when it is launched. They were installed and updated at
//! different times, so the reads are "many small random reads, which span a wide range of LBAs" (HPBvalve Sec. 4.3,
//! Fig. 4). A list of reads is therefore made of clusters. A cluster is some reads within 2 MiB; clusters are anywhere
//! on the device. An app reads its list in the same order at every use, which is what makes profiles worth keeping. A
//! share of its reads goes to data that were not read before.

use units::Lpa;
use workload::{Rng, named_stream};

/// Units of the 2 MiB range in which a cluster lies. One entry of HPB's profile lists and one READ BUFFER cover as much
/// (HPBvalve Sec. 2.2: 512 entries).
const CHUNK_UNITS: u32 = 512;

/// How densely the reads of a list are clustered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locality {
    /// Few reads per cluster: a launch, or loading.
    Launch,
    /// Many reads per cluster: an app that runs, in the foreground or in the background.
    Run,
}

/// Mean reads in a cluster of a launch: 17,868 reads of 1183 chunks in the first starts that Technion's traces of a
/// Pixel 6a have of PUBG, Genshin Impact and a browser. HPBvalve's lists (Sec. 6.3: 99 KB for nine apps at 4 bytes per
/// run of chunks) would need about 2; they are a result of the paper, and measured against this.
pub const LAUNCH_READS_PER_CHUNK: f64 = 15.1;
/// Mean reads in a cluster while an app runs: 18,187 reads of 1250 chunks in the HP-UFS authors' traces of Genshin
/// Impact, Twitter and Facebook on a Pixel 4. These apps had been launched before.
pub const RUN_READS_PER_CHUNK: f64 = 14.5;

/// Mean units of a read: 9.5 KiB in the HP-UFS authors' traces of Twitter and Genshin Impact on a Pixel 4.
const UNITS_PER_READ: f64 = 2.3;
/// Units of the longest read: 64 KiB is the 99th percentile of these traces.
const MOST_UNITS: u32 = 16;

/// A run of units that one read covers: first unit and length.
pub type Extent = (Lpa, u32);

/// The reads of one part of an app's life (launch, loading, run or background), in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    /// Read in every use.
    list: Vec<Extent>,
    /// Read now and then instead of an entry of `list`.
    others: Vec<Extent>,
}

/// How the apps' data are placed on the device, and how often reads go to new data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Placement {
    /// Units of the device.
    pub capacity_units: u32,
    /// Seed of the random addresses.
    pub seed: u64,
    /// Probability that a read goes to data outside the list.
    pub fresh_share: f64,
    /// Mean reads of a launch or of loading within 2 MiB of each other.
    pub launch_reads_per_chunk: f64,
    /// The same of an app that runs.
    pub run_reads_per_chunk: f64,
}

impl Placement {
    fn reads_per_chunk(&self, locality: Locality) -> f64 {
        match locality {
            Locality::Launch => self.launch_reads_per_chunk,
            Locality::Run => self.run_reads_per_chunk,
        }
    }
}

impl Reads {
    /// A list of `count` reads and, if there are fresh reads, twice as many others. Their addresses depend on the seed
    /// and on `name`, the names of the app and of the part.
    pub fn new(place: &Placement, name: &str, locality: Locality, count: u32) -> Reads {
        let mut rng = named_stream(place.seed, name, 0);
        let list = extents(&mut rng, place, Wanted { locality, count: count as usize });
        let others = if place.fresh_share > 0.0 { 2 * count as usize } else { 0 };
        let others = extents(&mut rng, place, Wanted { locality, count: others });
        Reads { list, others }
    }

    /// Number of reads in the list.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Entry `index` of the list, or with probability `fresh_share` data outside the list.
    pub fn at(&self, index: usize, place: &Placement, rng: &mut Rng) -> Extent {
        if !self.others.is_empty() && rng.unit() < place.fresh_share {
            return self.others[rng.below(self.others.len() as u64) as usize];
        }
        self.listed_at(index)
    }

    /// Entry `index` of the list.
    pub fn listed_at(&self, index: usize) -> Extent {
        self.list[index % self.list.len()]
    }

    /// A random index into the list, the front more often than the back: half of all are in its first quarter.
    pub fn skewed(&self, rng: &mut Rng) -> usize {
        let u = rng.unit();
        (u * u * self.list.len() as f64) as usize
    }

    /// The index to read after `last` in the background: mostly the next one, which is in the same cluster, else a
    /// skewed one.
    pub fn follow(&self, last: usize, place: &Placement, rng: &mut Rng) -> usize {
        if rng.unit() < 1.0 / place.run_reads_per_chunk { self.skewed(rng) } else { (last + 1) % self.list.len() }
    }

    /// The reads of the list.
    pub fn listed(&self) -> impl Iterator<Item = Extent> + '_ {
        self.list.iter().copied()
    }

    /// The reads of the list and those that may take their place.
    pub fn all(&self) -> impl Iterator<Item = Extent> + '_ {
        self.list.iter().chain(&self.others).copied()
    }
}

/// Number of extents to draw, and how densely they are clustered.
struct Wanted {
    locality: Locality,
    count: usize,
}

/// Random extents, in clusters.
fn extents(rng: &mut Rng, place: &Placement, wanted: Wanted) -> Vec<Extent> {
    let (Wanted { locality, count }, capacity) = (wanted, place.capacity_units);
    let mut found = Vec::with_capacity(count);
    let chunks = u64::from(capacity.div_ceil(CHUNK_UNITS));
    while found.len() < count {
        let first = rng.below(chunks) as u32 * CHUNK_UNITS;
        let room = CHUNK_UNITS.min(capacity - first);
        let reads = geometric(rng, place.reads_per_chunk(locality)).min((count - found.len()) as u32);
        for _ in 0..reads {
            let offset = rng.below(room.into()) as u32;
            let len = geometric(rng, UNITS_PER_READ).min(MOST_UNITS).min(room - offset);
            found.push((Lpa(first + offset), len));
        }
    }
    found
}

/// A geometrically distributed number of at least 1 with this mean.
fn geometric(rng: &mut Rng, mean: f64) -> u32 {
    let repeat = 1.0 - 1.0 / mean;
    let mut number = 1;
    while rng.unit() < repeat && number < 1000 {
        number += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Placement = Placement {
        capacity_units: 1 << 28,
        seed: 1,
        fresh_share: 0.15,
        launch_reads_per_chunk: LAUNCH_READS_PER_CHUNK,
        run_reads_per_chunk: RUN_READS_PER_CHUNK,
    };

    #[test]
    fn lists_repeat_by_seed_and_name() {
        let list = |seed, name| Reads::new(&Placement { seed, ..PLACE }, name, Locality::Launch, 100);
        assert_eq!(list(1, "a"), list(1, "a"));
        assert_ne!(list(1, "a"), list(2, "a"));
        assert_ne!(list(1, "a"), list(1, "b"));
    }

    /// Sizes are within 5 standard errors of their means; the limit of 64 KiB cuts off a thousandth.
    #[test]
    fn clusters_and_reads_have_their_mean_sizes() {
        for (locality, cluster, spread) in
            [(Locality::Launch, LAUNCH_READS_PER_CHUNK, 1.3), (Locality::Run, RUN_READS_PER_CHUNK, 1.2)]
        {
            sized(&PLACE, locality, cluster, spread);
        }
        // 60,000 reads in clusters of 2 have 30,000 of them, with a standard deviation of 173: 0.06 are five of it.
        sized(&Placement { launch_reads_per_chunk: 2.0, ..PLACE }, Locality::Launch, 2.0, 0.06);
    }

    fn sized(place: &Placement, locality: Locality, cluster: f64, spread: f64) {
        let n = 60_000;
        let reads = Reads::new(place, "a", locality, n);
        let units: u64 = reads.list.iter().map(|&(_, len)| u64::from(len)).sum();
        assert!((units as f64 / f64::from(n) - UNITS_PER_READ).abs() < 0.05, "{units}");
        let chunk = |extent: &Extent| extent.0.0 / CHUNK_UNITS;
        let clusters = 1 + reads.list.windows(2).filter(|w| chunk(&w[0]) != chunk(&w[1])).count();
        assert!((f64::from(n) / clusters as f64 - cluster).abs() < spread, "{clusters}");
        assert!(reads.all().all(|(lpa, len)| len >= 1 && lpa.0 + len <= PLACE.capacity_units));
    }

    #[test]
    fn a_small_device_holds_every_read() {
        let reads = Reads::new(&Placement { capacity_units: 700, ..PLACE }, "a", Locality::Run, 1000);
        assert!(reads.all().all(|(lpa, len)| len >= 1 && lpa.0 + len <= 700));
    }

    #[test]
    fn the_share_of_fresh_reads_is_what_was_asked_for() {
        let (reads, mut rng) = (Reads::new(&PLACE, "a", Locality::Run, 10_000), named_stream(1, "t", 0));
        let fresh = (0..10_000).filter(|&i| reads.at(i, &PLACE, &mut rng) != reads.list[i]).count();
        // 1500 expected, standard deviation 36.
        assert!((1320..1680).contains(&fresh), "{fresh}");
        let never = Placement { fresh_share: 0.0, ..PLACE };
        let reads = Reads::new(&never, "a", Locality::Run, 100);
        assert!((0..100).all(|i| reads.at(i, &never, &mut rng) == reads.list[i]));
    }
}
