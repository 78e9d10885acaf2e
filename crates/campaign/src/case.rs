//! The power-cut campaign: seeded cases with a random small device, scheme, workload and moments of the cut.
//!
//! A case is a function of its seed. A failing case is repeated with less and less work, so that the reported case is
//! small. [`Case::run`] with the reported numbers repeats it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use device::{Moment, Sabotage};
use lab::profile::{Override, Profile, parse_override};
use lab::{Preset, schemes};
use nand::Faults;
use units::Nanos;

use crate::rig::{Defects, Rig};
use crate::rng::Rng;

/// One case of the campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Decides everything that the other fields do not.
    pub seed: u64,
    /// Number of power cuts.
    pub rounds: u32,
    /// Most requests before each cut.
    pub requests: u32,
    /// A promise that the device breaks; `None` for a correct device.
    pub sabotage: Option<Sabotage>,
}

/// Result of a case without failure.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Number of cuts by what the device was doing, in the order of [`MOMENTS`].
    pub moments: [u32; MOMENTS.len()],
    /// Number of power cuts, including those during a recovery.
    pub cuts: u32,
    /// Longest recovery in nanoseconds.
    pub longest_recovery_ns: u64,
}

/// What a device may be doing when the power is cut.
pub const MOMENTS: [&str; 8] =
    ["program", "erase", "map flush", "segment writeback", "gc", "metadata gc", "recovery", "idle"];

impl Report {
    /// Adds the result of another case.
    pub fn add(&mut self, other: &Report) {
        for (count, more) in self.moments.iter_mut().zip(other.moments) {
            *count += more;
        }
        self.cuts += other.cuts;
        self.longest_recovery_ns = self.longest_recovery_ns.max(other.longest_recovery_ns);
    }

    fn note(&mut self, moment: Moment) {
        let m = moment;
        let flags = [m.program, m.erase, m.map_flush, m.writeback, m.gc, m.meta_gc, m.recovery];
        for (count, flag) in self.moments.iter_mut().zip(flags) {
            *count += u32::from(flag);
        }
        self.moments[MOMENTS.len() - 1] += u32::from(!flags.contains(&true));
        self.cuts += 1;
    }
}

/// A case in which a promise was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The smallest case that still fails.
    pub case: Case,
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Message of the broken promise.
    pub what: String,
}

/// Names of the promises that a device can be made to break.
pub fn sabotages() -> Vec<&'static str> {
    Sabotage::ALL.iter().map(|(name, _)| *name).collect()
}

/// The promise with this name.
///
/// # Errors
/// A message with all names.
pub fn sabotage(name: &str) -> Result<Sabotage, String> {
    let found = Sabotage::ALL.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, sabotage)| *sabotage)
        .ok_or_else(|| format!("sabotage = \"{name}\": must be one of {}", sabotages().join(", ")))
}

/// Requests and cuts of a case before it is made smaller.
const REQUESTS: u32 = 3000;
const ROUNDS: u32 = 3;

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64) -> Case {
        Case { seed, rounds: ROUNDS, requests: REQUESTS, sabotage: None }
    }

    /// The cases of a scheme, in order of seed; none if there is no such scheme.
    pub fn of_scheme(name: &str) -> impl Iterator<Item = Case> {
        let presets = schemes();
        let first = presets.iter().position(|preset| preset.name == name);
        first.into_iter().flat_map(|first| (first as u64..).step_by(presets.len())).map(Case::new)
    }

    /// The scheme of the case.
    pub fn preset(&self) -> &'static Preset {
        let presets = schemes();
        &presets[(self.seed % presets.len() as u64) as usize]
    }

    /// Runs the case.
    ///
    /// # Errors
    /// The smallest case found that breaks a promise.
    pub fn run(&self) -> Result<Report, Failure> {
        let mut what = match self.attempt() {
            Ok(report) => return Ok(report),
            Err(what) => what,
        };
        let mut smallest = *self;
        for _ in 0..12 {
            let fewer = [
                Case { rounds: smallest.rounds - 1, ..smallest },
                Case { requests: smallest.requests / 2, ..smallest },
                Case { requests: smallest.requests * 3 / 4, ..smallest },
            ];
            let next = fewer.into_iter().filter(|c| c.rounds > 0 && c.requests > 0);
            let failing = next.filter_map(|case| Some((case, case.attempt().err()?))).next();
            let Some((case, told)) = failing else { break };
            (smallest, what) = (case, told);
        }
        Err(smallest.failure(what))
    }

    /// Override for whole segments, or parts of 1 or 2 KiB; each scheme gets all of them.
    fn segment_parts(&self) -> Override {
        let kib = [4, 1, 2][(self.seed / schemes().len() as u64 % 3) as usize];
        parse_override(&format!("scheme.*.segment_kib={kib}")).expect("a well formed override")
    }

    /// Override for one of the paces of GC; each scheme gets both, with segments of all sizes.
    fn gc_pace(&self) -> Override {
        let pace = ["gained", "searched"][(self.seed / schemes().len() as u64 / 3 % 2) as usize];
        parse_override(&format!("gc.pace={pace}")).expect("a well formed override")
    }

    fn failure(&self, what: String) -> Failure {
        Failure { case: *self, scheme: self.preset().name, what }
    }

    fn attempt(&self) -> Result<Report, String> {
        let result = quietly(|| catch_unwind(AssertUnwindSafe(|| self.execute())));
        result.map_err(|payload| {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            text.unwrap_or_else(|| "a panic without a message".into())
        })
    }

    fn execute(&self) -> Report {
        let mut rng = Rng::new(self.seed);
        let preset = self.preset();
        let mut set = overrides(&mut rng);
        set.extend([self.segment_parts(), self.gc_pace()]);
        let profile = Profile::load("tiny", &set).expect("overrides within their limits");
        let delay = Nanos::from_micros(u64::from(1 + rng.below(20)));
        let defects = Defects { faults: faults(self.seed), sabotage: self.sabotage };
        let mut rig = Rig::defective(&profile, preset.parts, delay, defects);
        let span = [300, 2000, u32::MAX][rng.below(3) as usize].min(rig.device().info().capacity_units);
        let depth = 1 + rng.below(24) as usize;
        let mut report = Report { scheme: preset.name, ..Report::default() };
        for _ in 0..self.rounds {
            let count = 1 + rng.below(self.requests);
            rig.churn(&mut rng, count, span, depth);
            let more = rng.below(120);
            rig.run(more);
            let again = rng.below(3);
            for moment in rig.power_cut(&mut rng, again) {
                report.note(moment);
            }
            let recovery_ns = rig.device().stats().recovery_ns;
            report.longest_recovery_ns = report.longest_recovery_ns.max(recovery_ns);
        }
        rig.churn(&mut rng, 1 + self.requests / 4, span, depth);
        rig.settle();
        rig.read_all();
        report
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure whose panics are results, so they are not printed.
fn quietly<T>(run: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let result = run();
    QUIET.set(false);
    result
}

/// Fault rates: every other group of cases has flash that fails.
fn faults(seed: u64) -> Faults {
    match seed / 4 % 2 {
        0 => Faults::default(),
        _ => Faults { seed, program_per_million: 3000, erase_per_million: 3000, read_per_million: 1000 },
    }
}

/// A random device of about a hundred superblocks, within the limits of the profile.
fn overrides(rng: &mut Rng) -> Vec<Override> {
    let mut pick = |values: &[u32]| values[rng.below(values.len() as u32) as usize];
    let (channels, dies, page_kib, pages) = (pick(&[2, 4]), pick(&[1, 2]), pick(&[4, 8]), pick(&[8, 16]));
    let superblock_kib = channels * dies * 2 * page_kib * pages;
    let capacity_mib = (pick(&[70, 100]) * superblock_kib / 1024).next_multiple_of(4).max(16);
    let full = capacity_mib * 1024 / superblock_kib;
    let data = full + full / pick(&[5, 3]) + 20;
    // As few metadata superblocks as are allowed, so that they are collected all the time, or some more.
    let (pieces, units) = (capacity_mib / 2 + data + 40, superblock_kib / 4);
    let snapshot = (4 * capacity_mib + 12 * data).div_ceil(4096) + 8;
    let metadata = pieces.div_ceil(units - snapshot) + 4 + pick(&[0, 6]);
    let numbers = [
        ("nand.channels", channels),
        ("nand.dies_per_channel", dies),
        ("nand.page_kib", page_kib),
        ("nand.pages_per_block", pages),
        ("device.capacity_mib", capacity_mib),
        ("nand.data_superblocks", data),
        ("nand.meta_superblocks", metadata),
        ("nand.transfer_mib_per_s", pick(&[0, 400])),
        ("sram.pool_kib", pick(&[384, 512])),
        ("sram.segment_cache_kib", pick(&[32, 64])),
        ("sram.reserve_kib", pick(&[64, 96])),
        ("log.max_log_blocks", pick(&[4, 6, 8])),
        ("gc.start_superblocks", pick(&[24, 40])),
        ("gc.relaxed_superblocks", 20),
        ("gc.units_per_step", pick(&[32, 64, 256])),
        ("firmware.idle_flush_us", pick(&[200, 2000])),
        ("wear.spread_erases", pick(&[4, 16])),
        ("host.memory_mib", pick(&[1, 4])),
        ("scheme.*.cache_kib", pick(&[8, 16, 64])),
        ("scheme.*.background_us", pick(&[50, 500])),
        // As large as a row, so a translation page takes two or four flash units.
        ("scheme.base-dftl.page_kib", 2 * page_kib),
        ("scheme.msftl.segment_bytes", pick(&[1024, 2048])),
    ];
    let text = |(key, value)| parse_override(&format!("{key}={value}")).expect("a well formed override");
    numbers.into_iter().map(text).collect()
}
