//! Policies of GC victims: the write amplification of the whole device against what theory says of each.
//!
//! Theory knows blocks of `B` pages, some of which are valid, and data that are overwritten alike, or in two classes,
//! hot and cold. Host data and copies fill blocks of their own, as in the device.
//!
//! - First in, first out: a page of a class of `n` pages that gets a share `d` of the writes is still valid when its
//!   block is collected with probability p = exp(-d T / n), where the host writes T pages while the device is filled
//!   once (Menon 1995; Desnoyers, SYSTOR 2012). Each class is written d / (1 - p) times, copies included.
//! - Greedy, and d-choices: mean field equations of the shares of blocks by valid hot and cold pages (Van Houdt,
//!   SIGMETRICS 2013; Performance Evaluation 70, 2013).
//! - Cost-benefit: no equations are known. A model without time, flash and mapping is counted out instead.
//! - Hot and cold data apart (`gc.hot_region_kib`): the same, with blocks of one kind.

use std::ops::ControlFlow;

use crate::common::{closed, request, tiny};
use ufsim_lab::{RunResult, Workload, simulate_workload};
use workload::fio::JobFile;
use workload::{Rng, WorkOp};

/// Pages of a superblock: 4 dies with 2 planes, and 4 pages of 8 KiB of each block.
const B: usize = 64;
const BLOCKS: usize = 640;
/// Units of the drive, 128 MiB; all of them are written.
const UNITS: usize = 32_768;
/// Writes of the host, in units, until the device is steady; as many are measured.
const WRITES: usize = 250_000;
const TOLERANCE: f64 = 0.03;
/// A host learns of changes with the responses, so some copies are made in vain, and GC works at the reserve.
const OF_HOST: f64 = 0.05;

/// Which data the host overwrites: this share of the writes goes to that share of the units.
#[derive(Clone, Copy, Debug)]
struct Heat {
    writes: f64,
    units: f64,
    /// Pages of the drive, all of them written.
    pages: usize,
    /// The device keeps hot data apart (`gc.hot_region_kib`).
    apart: bool,
}

const ALIKE: Heat = Heat { writes: 1.0, units: 1.0, pages: UNITS, apart: false };
const HOT: Heat = Heat { writes: 0.8, units: 0.2, pages: UNITS, apart: false };
const HOTTER: Heat = Heat { writes: 0.9, units: 0.1, pages: UNITS, apart: false };

impl Heat {
    /// Share of the writes, and number of pages, of both classes.
    fn classes(self) -> [(f64, f64); 2] {
        let pages = self.pages as f64;
        [(self.writes, self.units * pages), (1.0 - self.writes, ((1.0 - self.units) * pages).max(1.0))]
    }

    /// The same on a smaller drive, apart. Two more superblocks are open then, and another victim waits until copies of
    /// its kind fill a row. With more room to spare, a few superblocks more or less matter less.
    fn apart(self) -> Heat {
        Heat { apart: true, pages: UNITS / 4 * 3, ..self }
    }

    /// The same in shared superblocks.
    fn mixed(self) -> Heat {
        Heat { apart: false, ..self }
    }

    /// The host's requests.
    fn job(self) -> String {
        let (writes, units) = (self.writes * 100.0, self.units * 100.0);
        let zones = match self.units < 1.0 {
            true => format!("random_distribution=zoned:{writes}/{units}:{}/{}\n", 100.0 - writes, 100.0 - units),
            false => String::new(),
        };
        let random = format!("stonewall\nrw=randwrite\nbs=4k\nnorandommap\nio_size={}\n{zones}", 4096 * WRITES);
        format!(
            "[global]\nfilename=drive\nsize={}\niodepth=32\n[fill]\n; ufsim: warmup\nrw=write\nbs=256k\n\
             [age]\n; ufsim: warmup\n{random}[steady]\n{random}",
            4096 * self.pages
        )
    }

    fn draw(self, rng: &mut Rng) -> u64 {
        let hot = (self.units * self.pages as f64) as u64;
        match rng.unit() < self.writes {
            true => rng.below(hot),
            false => hot + rng.below(self.pages as u64 - hot),
        }
    }
}

fn counter(run: &RunResult, name: &str) -> f64 {
    run.counters.device.get(name).copied().unwrap_or(0) as f64
}

/// Fills the drive, overwrites until the device is steady, and measures as many writes more.
fn run(scheme: &str, policy: &str, choices: u64, heat: Heat) -> RunResult {
    let mut spec = tiny(scheme, 3);
    spec.verify = false;
    let words = [("gc.pace", "gained"), ("gc.victim", policy)];
    let numbers = [
        ("nand.pages_per_block", 4),
        ("nand.data_superblocks", BLOCKS as u64),
        ("nand.meta_superblocks", 64),
        ("gc.start_superblocks", 16),
        ("gc.relaxed_superblocks", 14),
        ("gc.hurried_superblocks", 12),
        ("gc.reserve_superblocks", 3),
        ("gc.units_per_step", 16),
        ("gc.victim_choices", choices),
        // Wear levelling would collect superblocks that GC does not want.
        ("wear.spread_erases", 1_000_000),
        ("sram.pool_kib", 1024),
        ("sram.reserve_kib", 256),
    ];
    spec.set = words.map(|(key, word)| (key.to_owned(), word.into())).into_iter().collect();
    spec.set.extend(numbers.map(|(key, number)| (key.to_owned(), number.into())));
    if heat.apart {
        let capacity_mib = heat.pages as u64 / 256;
        let apart = [("device.capacity_mib", capacity_mib), ("gc.hot_region_kib", 256), ("log.max_log_blocks", 8)];
        spec.set.extend(apart.map(|(key, number)| (key.to_owned(), number.into())));
    }
    let job = JobFile::parse(&heat.job(), "heat.fio").expect("a valid job");
    let source = job.bind(heat.pages as u32, spec.seed).expect("a job that fits");
    let workload = Workload::generated(Box::new(source));
    simulate_workload(&spec, workload, &mut |_| ControlFlow::Continue(())).expect("a run")
}

/// The device's write amplification when it is steady, and the blocks that hold data then.
fn measured(scheme: &str, policy: &str, choices: u64, heat: Heat) -> (f64, f64) {
    let run = run(scheme, policy, choices, heat);
    // The host of hp-ufs does not know how many superblocks are free.
    let greedy = scheme != "hp-ufs" && counter(&run, "gc_urgent_steps") > 0.0;
    assert!(!greedy, "at the reserve GC of the firmware is greedy");
    let host = counter(&run, "data_units_programmed");
    let amplification = (host + counter(&run, "gc_units_programmed")) / counter(&run, "host_units_written");
    let hot = counter(&run, "hot_units_programmed") / host;
    let expected = if heat.apart && heat.units < 1.0 { heat.writes } else { 0.0 };
    assert!((hot - expected).abs() < 0.02, "{heat:?}: {hot:.3} of the host's data were found hot");
    // Two are being filled, or four, on average by half.
    (amplification, BLOCKS as f64 - counter(&run, "free_superblocks") - if expected > 0.0 { 2.0 } else { 1.0 })
}

/// First in, first out, by iteration.
fn fifo(heat: Heat, blocks: f64) -> f64 {
    let mut amplification = 2.0;
    for _ in 0..1000 {
        let turn = blocks * B as f64 / amplification;
        let written = heat.classes().map(|(share, pages)| match share {
            0.0 => 0.0,
            _ => share / (1.0 - (-share * turn / pages).exp()),
        });
        amplification = 0.5 * amplification + 0.5 * written.iter().sum::<f64>();
    }
    amplification
}

/// Shares of blocks by valid hot and cold pages.
struct Field {
    shares: Vec<f64>,
    blocks: f64,
    heat: Heat,
}

impl Field {
    fn at(hot: usize, cold: usize) -> usize {
        hot * (B + 1) + cold
    }

    fn states() -> impl Iterator<Item = (usize, usize)> {
        (0..=B).flat_map(|hot| (0..=B - hot).map(move |cold| (hot, cold)))
    }

    /// All blocks have the same valid pages.
    fn new(heat: Heat, blocks: f64) -> Field {
        let mut field = Field { shares: vec![0.0; (B + 1) * (B + 1)], blocks, heat };
        let [hot, cold] = heat.classes().map(|(share, pages)| if share == 0.0 { 0.0 } else { pages / blocks });
        field.add_apart_or_mixed(1.0, hot / (hot + cold), ((hot + cold) / B as f64).min(1.0));
        field
    }

    /// Adds blocks in which this share of the pages is hot: in each of them, or of this share of the blocks all.
    fn add_apart_or_mixed(&mut self, share: f64, hot: f64, valid: f64) {
        match self.heat.apart {
            true => {
                self.add(share * hot, 1.0, valid);
                self.add(share * (1.0 - hot), 0.0, valid);
            }
            false => self.add(share, hot, valid),
        }
    }

    /// Adds blocks whose pages are valid with one probability, and then hot with another one.
    fn add(&mut self, share: f64, hot: f64, valid: f64) {
        let ways = |n: usize, k: usize, p: f64| -> f64 {
            let choose: f64 = (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product();
            choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
        };
        // Most often all pages are valid: there is only one level then.
        for level in 0..=B {
            let at_level = share * ways(B, level, valid);
            if at_level > 0.0 {
                (0..=level).for_each(|h| self.shares[Field::at(h, level - h)] += at_level * ways(level, h, hot));
            }
        }
    }

    /// Collects one block by the policy. Gives the copied pages, as a mean, and the shares of them by the hot ones
    /// among `B` pages of their victim.
    fn collect(&mut self, choices: Option<u32>) -> (f64, Vec<f64>) {
        let mut levels = [0.0; B + 1];
        Field::states().for_each(|(h, c)| levels[h + c] += self.shares[Field::at(h, c)]);
        let usable: f64 = levels[..B].iter().sum();
        let (mut left, mut above) = (1.0 / self.blocks, 1.0);
        let (mut copies, mut kinds) = (0.0, vec![0.0; B + 1]);
        for (level, &share) in levels[..B].iter().enumerate() {
            let rest = (above - share / usable).max(0.0);
            let taken = match choices {
                Some(d) => (above.powi(d as i32) - rest.powi(d as i32)) / self.blocks,
                None => share.min(left),
            };
            (left, above) = (left - taken, rest);
            for h in 0..=level {
                let state = &mut self.shares[Field::at(h, level - h)];
                let part = if share > 0.0 { taken * *state / share } else { 0.0 };
                *state -= part;
                copies += part * level as f64 * self.blocks;
                if level > 0 {
                    split(&mut kinds, (B * h) as f64 / level as f64, part * level as f64 * self.blocks);
                }
            }
        }
        kinds.iter_mut().for_each(|share| *share /= copies);
        (copies, kinds)
    }

    /// Adds blocks of copies. The copies of one victim follow those of another, so a block has a few pieces, each of
    /// one victim; `offset` is the share of the first one that the block before has. (With blocks of one kind each,
    /// write amplification of hot and cold data would be 6% less, with mixed ones 4% more.)
    fn add_copies(&mut self, share: f64, copies: f64, kinds: &[f64], offset: f64) {
        if self.heat.apart {
            // A victim has pages of one kind.
            self.add_apart_or_mixed(share, kinds[B], 1.0);
            return;
        }
        let mut made = vec![0.0; B + 1];
        made[0] = 1.0;
        let whole = (copies.round() as usize).max(1);
        let (mut left, mut piece) = (B, ((copies * (1.0 - offset)).round() as usize).max(1));
        while left > 0 {
            let pages = piece.min(left);
            let mut longer = vec![0.0; B + 1];
            for (hot, &before) in made.iter().enumerate().filter(|&(_, &before)| before > 1e-9) {
                for (kind, &part) in kinds.iter().enumerate() {
                    split(&mut longer, hot as f64 + (kind * pages) as f64 / B as f64, before * part);
                }
            }
            (made, left, piece) = (longer, left - pages, whole);
        }
        made.iter().enumerate().for_each(|(h, part)| self.shares[Field::at(h, B - h)] += share * part);
    }

    /// The host overwrites so many pages.
    fn overwrite(&mut self, pages: f64) {
        let rates = self.heat.classes().map(|(share, n)| pages * share / n);
        for (h, c) in Field::states() {
            let (from, rates) = (Field::at(h, c), [rates[0] * h as f64, rates[1] * c as f64]);
            let share = self.shares[from];
            if share < 1e-15 {
                continue;
            }
            self.shares[from] -= share * (rates[0] + rates[1]);
            if h > 0 {
                self.shares[Field::at(h - 1, c)] += share * rates[0];
            }
            if c > 0 {
                self.shares[Field::at(h, c - 1)] += share * rates[1];
            }
        }
    }

    /// Write amplification when nothing changes any more; `choices`: `None` for greedy. What goes on swinging counts as
    /// a mean.
    fn steady(mut self, choices: Option<u32>) -> f64 {
        let mut gains = Vec::new();
        while gains.len() < 25 {
            gains.push(self.turn(choices));
            if let [.., a, b, c] = gains[..]
                && (a / c - 1.0).abs().max((b / c - 1.0).abs()) < 1e-4
            {
                break;
            }
        }
        let last = &gains[gains.len() * 3 / 4..];
        B as f64 * last.len() as f64 / last.iter().sum::<f64>()
    }

    /// Collects as many blocks as there are. Gives the pages that each has gained, as a mean.
    fn turn(&mut self, choices: Option<u32>) -> f64 {
        const STEPS: u32 = 2;
        let rounds = self.blocks as u32;
        let gained = (0..rounds).map(|round| {
            let (copies, kinds) = self.collect(choices);
            let pages = B as f64 - copies;
            self.add_copies(copies / B as f64 / self.blocks, copies, &kinds, f64::from(round % 4) / 4.0);
            self.add_apart_or_mixed(pages / B as f64 / self.blocks, self.heat.writes, 1.0);
            (0..STEPS).for_each(|_| self.overwrite(pages / f64::from(STEPS)));
            pages
        });
        gained.sum::<f64>() / f64::from(rounds)
    }
}

/// Puts a share between two whole numbers of hot pages.
fn split(shares: &mut [f64], hot: f64, share: f64) {
    let below = (hot as usize).min(B);
    shares[below] += share * (1.0 - hot.fract());
    shares[(below + 1).min(B)] += share * hot.fract();
}

/// Blocks and pages and nothing else, for the policy that no equation describes.
struct Counted {
    place: Vec<usize>,
    pages: Vec<Vec<usize>>,
    valid: Vec<usize>,
    filled: Vec<u64>,
    free: Vec<usize>,
    /// Of the host and of GC, and the same of hot data, if they are apart.
    open: [usize; 4],
    /// Units below this are hot, if they are apart.
    hot: usize,
    programmed: u64,
}

impl Counted {
    fn program(&mut self, unit: usize, stream: usize) {
        let stream = stream + if unit < self.hot { 2 } else { 0 };
        if self.pages[self.open[stream]].len() == B {
            self.open[stream] = self.free.pop().expect("GC keeps some free");
        }
        let block = self.open[stream];
        if self.place[unit] != usize::MAX {
            self.valid[self.place[unit]] -= 1;
        }
        self.programmed += 1;
        (self.place[unit], self.filled[block]) = (block, self.programmed);
        self.pages[block].push(unit);
        self.valid[block] += 1;
    }

    fn collect(&mut self) {
        let worth = |&block: &usize| {
            let valid = self.valid[block] as f64 / B as f64;
            (self.programmed - self.filled[block]) as f64 * (1.0 - valid) / valid
        };
        let full = (0..self.pages.len()).filter(|&block| self.pages[block].len() == B && self.valid[block] < B);
        let victim = full.max_by(|a, b| worth(a).total_cmp(&worth(b))).expect("there is one");
        let pages = std::mem::take(&mut self.pages[victim]);
        for unit in pages {
            if self.place[unit] == victim {
                self.program(unit, 1);
            }
        }
        self.free.push(victim);
    }

    fn cost_benefit(heat: Heat, blocks: f64) -> f64 {
        let opened = if heat.apart { 4 } else { 2 };
        let (blocks, keep) = (blocks as usize + 4 + opened / 2, 4);
        let mut counted = Counted {
            place: vec![usize::MAX; heat.pages],
            pages: vec![Vec::new(); blocks],
            valid: vec![0; blocks],
            filled: vec![0; blocks],
            free: (opened..blocks).collect(),
            open: [0, 1, 2, 3],
            hot: if heat.apart { (heat.units * heat.pages as f64) as usize } else { 0 },
            programmed: 0,
        };
        let mut rng = Rng::from_seed(5);
        let mut at_half = 0;
        for write in 0..heat.pages + 2 * WRITES {
            let unit = if write < heat.pages { write } else { heat.draw(&mut rng) as usize };
            counted.program(unit, 0);
            while counted.free.len() < keep {
                counted.collect();
            }
            if write == heat.pages + WRITES {
                at_half = counted.programmed;
            }
        }
        (counted.programmed - at_half) as f64 / WRITES as f64
    }
}

fn agrees(policy: &str, choices: u64, theory: impl Fn(Heat, f64) -> f64) {
    each_agrees("ideal", TOLERANCE, policy, choices, theory);
}

fn each_agrees(scheme: &str, tolerance: f64, policy: &str, choices: u64, theory: impl Fn(Heat, f64) -> f64) {
    for heat in [ALIKE, HOT] {
        let (found, blocks) = measured(scheme, policy, choices, heat);
        let expected = theory(heat, blocks);
        assert!((found / expected - 1.0).abs() < tolerance, "{policy}, {heat:?}: {found:.3}, theory {expected:.3}");
    }
}

#[test]
fn greedy_victims_cost_what_the_mean_field_says() {
    agrees("greedy", 1, |heat, blocks| Field::new(heat, blocks).steady(None));
}

#[test]
fn victims_among_a_few_cost_what_the_mean_field_says() {
    for choices in [1, 3] {
        agrees("choices", choices, |heat, blocks| Field::new(heat, blocks).steady(Some(choices as u32)));
    }
}

#[test]
fn victims_in_the_order_of_filling_cost_what_the_closed_form_says() {
    agrees("fifo", 1, fifo);
}

#[test]
fn a_host_that_names_victims_follows_the_same_policies() {
    each_agrees("hp-ufs", OF_HOST, "fifo", 1, fifo);
    each_agrees("hp-ufs", OF_HOST, "cost_benefit", 1, Counted::cost_benefit);
}

#[test]
fn every_scheme_bears_every_policy_also_at_the_reserve() {
    for scheme in ["ufs", "hp-ufs", "dftl", "msftl", "ideal"] {
        for policy in ["greedy", "cost_benefit", "fifo", "choices"] {
            let mut spec = tiny(scheme, 3);
            // GC begins so late that a burst of writes meets the reserve.
            let starts = [("start", 9), ("relaxed", 8), ("hurried", 7)];
            let starts = starts.map(|(name, n)| (format!("gc.{name}_superblocks"), n.into()));
            spec.set = starts.into_iter().chain([("gc.victim".to_owned(), policy.into())]).collect();
            let mut rng = Rng::from_seed(13);
            let fill = (0..UNITS as u64 / 64).map(|i| request(WorkOp::Write, 64 * i, 64));
            let again = (0..20_000).map(|_| request(WorkOp::Write, HOT.draw(&mut rng), 1));
            let done = closed(&spec, fill.chain(again).collect(), 32).expect("a replay");
            assert!(done.verified.is_some() && counter(&done, "gc_urgent_steps") > 0.0, "{scheme}, {policy}");
        }
    }
}

/// Greedy takes the block with the fewest valid pages of either kind, so the kinds share the spare room until both have
/// the same victims: whatever is hot, apart they cost what data cost that are all alike.
#[test]
fn hot_data_apart_cost_greedy_what_data_cost_that_are_all_alike() {
    for heat in [ALIKE, HOT, HOTTER] {
        let (found, blocks) = measured("ideal", "greedy", 1, heat.apart());
        let kinds = [heat.apart(), ALIKE.apart(), heat.apart().mixed()];
        let [apart, alike, mixed] = kinds.map(|heat| Field::new(heat, blocks).steady(None));
        for expected in [apart, alike] {
            assert!((found / expected - 1.0).abs() < TOLERANCE, "{heat:?}: {found:.3}, theory {expected:.3}");
        }
        assert!(heat.units == 1.0 || found < mixed, "{heat:?}: {found:.3}, mixed {mixed:.3}");
    }
}

/// The order of filling is the order of the writes, apart or not, so the closed form is the same. (Where data are so
/// hot that whole blocks of them are overwritten before their turn, these are erased without GC, and it costs less.)
#[test]
fn hot_data_apart_cost_the_same_in_the_order_of_filling() {
    let (found, blocks) = measured("ideal", "fifo", 1, HOT.apart());
    let expected = fifo(HOT.apart(), blocks);
    assert!((found / expected - 1.0).abs() < TOLERANCE, "{found:.3}, theory {expected:.3}");
}

/// What keeping them apart is good for: cold blocks wait until they have much to give.
#[test]
fn hot_data_apart_cost_cost_benefit_less() {
    for heat in [HOT, HOTTER] {
        let (found, blocks) = measured("ideal", "cost_benefit", 1, heat.apart());
        let [expected, mixed] = [heat.apart(), heat.apart().mixed()].map(|heat| Counted::cost_benefit(heat, blocks));
        assert!((found / expected - 1.0).abs() < TOLERANCE, "{heat:?}: {found:.3}, counted out {expected:.3}");
        assert!(found < mixed, "{heat:?}: {found:.3}, mixed {mixed:.3}");
    }
}

#[test]
fn cost_benefit_costs_what_blocks_and_pages_alone_cost() {
    agrees("cost_benefit", 1, Counted::cost_benefit);
}
