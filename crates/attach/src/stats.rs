//! What a live device tells of itself.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use nand::{Cause, Kind};
use serde::Serialize;
use units::Nanos;

use crate::ask::Ask;
use crate::engine::Engine;

/// Significant decimal digits of recorded latencies.
const DIGITS: u8 = 3;

fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("3 digits are allowed")
}

/// Requests of one kind.
#[derive(Debug)]
struct Requests {
    done: u64,
    failed: u64,
    units: u64,
    latency: Histogram<u64>,
}

/// What the engine counts.
#[derive(Debug)]
pub struct Tally {
    kinds: [Requests; Ask::KINDS.len()],
    /// Power cuts.
    pub cuts: u64,
    /// How long the last recovery has taken.
    pub recovery: Nanos,
}

impl Tally {
    pub fn new() -> Tally {
        let none = |_| Requests { done: 0, failed: 0, units: 0, latency: histogram() };
        Tally { kinds: std::array::from_fn(none), cuts: 0, recovery: Nanos::ZERO }
    }

    /// A request was not accepted.
    pub fn refused(&mut self, kind: usize) {
        self.kinds[kind].failed += 1;
    }

    /// A request has ended.
    pub fn answered(&mut self, kind: usize, units: u32, latency: Nanos, good: bool) {
        let of = &mut self.kinds[kind];
        if !good {
            of.failed += 1;
            return;
        }
        of.done += 1;
        of.units += u64::from(units);
        of.latency.record(latency.0).expect("histograms resize");
    }
}

/// Percentiles of times, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Percentiles {
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl Percentiles {
    /// Those of a histogram of nanoseconds.
    pub fn of(times: &Histogram<u64>) -> Percentiles {
        let at = |percent: f64| times.value_at_percentile(percent);
        Percentiles {
            mean_ns: times.mean(),
            p50_ns: at(50.0),
            p90_ns: at(90.0),
            p99_ns: at(99.0),
            p999_ns: at(99.9),
            max_ns: times.max(),
        }
    }
}

/// Requests of a kind since the device was attached.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KindStats {
    /// Requests that have ended well.
    pub done: u64,
    /// Requests that were refused or have failed.
    pub failed: u64,
    /// Bytes of those that have ended well.
    pub bytes: u64,
    /// Simulated latencies of those that have ended well.
    pub latency: Percentiles,
}

/// The state of a live device.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    /// Simulated time.
    pub sim_ns: u64,
    /// False while the device recovers from a power cut.
    pub ready: bool,
    /// Size in bytes.
    pub capacity_bytes: u64,
    /// Requests under way.
    pub outstanding: usize,
    /// By kind: read, write, trim, flush.
    pub requests: BTreeMap<&'static str, KindStats>,
    /// Power cuts.
    pub cuts: u64,
    /// How long the last recovery has taken, in simulated time.
    pub last_recovery_ns: u64,
    /// Units that were read and compared with what was acknowledged: all that were read.
    pub checked_units: u64,
    /// Versions of units whose data is in memory, because a power cut may take them or leave them.
    pub pending_units: usize,
    /// Parts of reads whose mapping the host had, of all that looked for it; none if nothing looked.
    pub hit_ratio: Option<f64>,
    /// Flash units programmed for a unit that the host has written; none if it has written nothing.
    pub waf: Option<f64>,
    /// Host DRAM that cached mappings take, in bytes.
    pub host_dram_bytes: u64,
    /// Counters of the driver, its scheduler and its booster since power-on.
    pub host: BTreeMap<&'static str, u64>,
    /// Counters of the firmware and its mapping scheme since power-on.
    pub device: BTreeMap<&'static str, u64>,
    /// Flash operations since power-on by cause and kind, without those that were none.
    pub flash: BTreeMap<String, u64>,
    /// Fingerprint of everything that has ended.
    pub digest: String,
}

impl Engine {
    /// The state of the device now.
    pub fn stats(&self) -> Stats {
        let stack = self.stack_ref();
        let (host, device) = (stack.driver.stats(), stack.device.stats());
        let looked = host.booster_hits + host.booster_misses;
        let programmed = device.data_units_programmed
            + device.padding_units
            + device.map_units_programmed
            + device.gc_units_programmed;
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let named =
            |all: Vec<(&'static units::Counter, u64)>| all.into_iter().map(|(counter, value)| (counter.name, value));
        Stats {
            sim_ns: self.now().0,
            ready: self.is_ready(),
            capacity_bytes: u64::from(self.units()) * crate::UNIT as u64,
            outstanding: self.outstanding(),
            requests: self.tally.by_kind(),
            cuts: self.tally.cuts,
            last_recovery_ns: self.tally.recovery.0,
            checked_units: self.contents.checked,
            pending_units: self.contents.pending(),
            hit_ratio: share(host.booster_hits, looked),
            waf: share(programmed, device.host_units_written),
            host_dram_bytes: stack.driver.memory_bytes(),
            host: host.fields().chain(named(stack.driver.scheme_counters())).collect(),
            device: device.fields().chain(named(stack.device.scheme_counters())).collect(),
            flash: self.flash(),
            digest: self.digest(),
        }
    }

    fn flash(&self) -> BTreeMap<String, u64> {
        let counters = self.stack_ref().device.nand_counters();
        let pairs = Cause::ALL.iter().flat_map(|&cause| Kind::ALL.iter().map(move |&kind| (cause, kind)));
        let named = pairs.map(|(cause, kind)| (format!("{}.{}", cause.name(), kind.name()), counters.ops(cause, kind)));
        named.filter(|(_, count)| *count > 0).collect()
    }
}

impl Tally {
    fn by_kind(&self) -> BTreeMap<&'static str, KindStats> {
        let told = |of: &Requests| KindStats {
            done: of.done,
            failed: of.failed,
            bytes: of.units * crate::UNIT as u64,
            latency: Percentiles::of(&of.latency),
        };
        Ask::KINDS.into_iter().zip(self.kinds.iter().map(told)).collect()
    }
}
