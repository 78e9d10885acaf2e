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
/// Leading binary digits that latencies of the same class have in common: they lie within 1/32 of each other.
const CLASS_DIGITS: u32 = 6;

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

/// The longest latency in the class of one.
fn end_of_class(ns: u64) -> u64 {
    let digits = u64::BITS - ns.leading_zeros();
    ns | ((1 << digits.saturating_sub(CLASS_DIGITS)) - 1)
}

/// How many latencies each class has, by its longest. Classes are wider than the histogram's, and share their ends.
fn classes(times: &Histogram<u64>) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for of in times.iter_recorded() {
        *counts.entry(end_of_class(of.value_iterated_to())).or_insert(0) += of.count_at_value();
    }
    counts
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
    /// How many of these latencies there are in each class, by the longest that it takes, in nanoseconds. What is in a
    /// class has the 6 leading binary digits in common. Differences tell the latencies of an interval.
    pub latency_classes: BTreeMap<u64, u64>,
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
    /// Host DRAM that the booster takes, in bytes: cached mappings, and what it keeps beside them. The limit is for
    /// the former alone (`dram_bytes_used` of `host`).
    pub host_dram_bytes: u64,
    /// Counters of the driver, its scheduler and its booster since power-on.
    pub host: BTreeMap<&'static str, u64>,
    /// Counters of the firmware and its mapping scheme since power-on.
    pub device: BTreeMap<&'static str, u64>,
    /// Flash operations since power-on by cause and kind, without those that were none.
    pub flash: BTreeMap<String, u64>,
    /// Time during which flash operations have occupied dies since power-on by cause, summed over dies, in nanoseconds,
    /// without those that took none. An operation counts when it ends.
    pub flash_busy_ns: BTreeMap<&'static str, u64>,
    /// Dies of the flash.
    pub dies: u32,
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
            flash_busy_ns: self.flash_busy(),
            dies: stack.device.geometry().dies(),
            digest: self.digest(),
        }
    }

    fn flash(&self) -> BTreeMap<String, u64> {
        let counters = self.stack_ref().device.nand_counters();
        let pairs = Cause::ALL.iter().flat_map(|&cause| Kind::ALL.iter().map(move |&kind| (cause, kind)));
        let named = pairs.map(|(cause, kind)| (format!("{}.{}", cause.name(), kind.name()), counters.ops(cause, kind)));
        named.filter(|(_, count)| *count > 0).collect()
    }

    fn flash_busy(&self) -> BTreeMap<&'static str, u64> {
        let counters = self.stack_ref().device.nand_counters();
        let named = Cause::ALL.iter().map(|&cause| (cause.name(), counters.busy_ns(cause)));
        named.filter(|(_, busy)| *busy > 0).collect()
    }
}

impl Tally {
    fn by_kind(&self) -> BTreeMap<&'static str, KindStats> {
        let told = |of: &Requests| KindStats {
            done: of.done,
            failed: of.failed,
            bytes: of.units * crate::UNIT as u64,
            latency: Percentiles::of(&of.latency),
            latency_classes: classes(&of.latency),
        };
        Ask::KINDS.into_iter().zip(self.kinds.iter().map(told)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_every_latency_once_and_are_narrow() {
        let mut times = histogram();
        let recorded: Vec<u64> = (0..3000).map(|n| n * n * 17 + n).collect();
        recorded.iter().for_each(|&time| times.record(time).unwrap());
        let counts = classes(&times);
        assert_eq!(counts.values().sum::<u64>(), 3000);
        let mut begin = 0;
        for (&end, &count) in &counts {
            let inside = recorded.iter().filter(|&&time| begin <= time && time <= end);
            assert_eq!(inside.clone().count() as u64, count, "{begin}..={end}");
            assert!(inside.clone().all(|time| end - time <= time / 32), "{begin}..={end}");
            begin = end + 1;
        }
    }
}
