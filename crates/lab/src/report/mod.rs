//! From what a run recorded to what it reports. Floats appear only here.

pub(crate) mod columns;
pub(crate) mod digest;
pub(crate) mod energy;
pub(crate) mod fio_json;
pub(crate) mod measure;
pub(crate) mod over_time;
pub(crate) mod recording;
pub(crate) mod requests;
pub(crate) mod result;

use std::collections::BTreeMap;

use ftl::DeviceStats;
use hdrhistogram::Histogram;
use host::block::WorkKind;
use host::{BoosterKind, HostStats, SchedulerKind};
use nand::{Cause, Kind};
use ufs::PowerState;
use units::{Counter, CounterSet, InDigest, MIB};
use workload::WorkOp;
use workload::report::{LlmReport, Operations, Report, Round};

use self::energy::EnergyModel;
use self::measure::{GroupStats, KINDS, KindStats, Measure, Snapshot};
use self::over_time::{Interval, Intervals};
use self::recording::Recording;
use self::result::{
    AllCounters, GroupResult, HostDram, HostTimeResult, HostWork, KindOverTime, KindResult, Latencies, Latency,
    LlmResult, Means, Named, OperationResult, OverTime, PowerResult, PowerStay, ProgramResult, RecordedResult,
    RoundResult, RunResult, Waf,
};
use crate::options::Setup;

const SECOND_NS: u64 = 1_000_000_000;
/// The percentiles that fio prints.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Where the workload began, after preconditioning: the simulator's speed is counted from here.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Real time since the start of the run in seconds.
    pub wall_seconds: f64,
    /// Requests so far.
    pub requests: u64,
    /// Flash operations so far.
    pub operations: u64,
    /// The run ended with a power cut.
    pub was_cut: bool,
}

/// What surrounds the recorded numbers of a run.
#[derive(Clone, Debug)]
pub struct Context {
    /// The choices.
    pub setup: Setup,
    /// Limit on cached L2P entries in bytes.
    pub host_dram_limit: Option<u64>,
    /// Real time of the run in seconds.
    pub wall_seconds: f64,
    /// Where the workload began.
    pub start: Start,
    /// What was drawn at random.
    pub drawn: Vec<&'static str>,
    /// Warnings from readers of input.
    pub warnings: Vec<String>,
    /// What the workload itself reports.
    pub own: Report,
    /// What the device draws.
    pub energy: EnergyModel,
    /// Fine bins of latencies are wanted.
    pub bins: bool,
}

/// Makes the report. `after` are the counters at the end of the run.
pub fn report(measure: &Measure, after: &Snapshot, context: Context) -> RunResult {
    let before = &measure.before;
    let total = measure.total();
    let seconds = measure.duration().as_secs_f64();
    let bytes = bytes_by_kind(&total);
    let moved = bytes["read"] + bytes["write"];
    let flash = after.nand.since(&before.nand);
    let counters = AllCounters {
        host: named(&host_counters(), after.of_host(), before.of_host()),
        device: named(&device_counters(), after.of_device(), before.of_device()),
    };
    let start = context.start;
    let wall = context.wall_seconds - start.wall_seconds;
    let requests = measure.submitted + measure.unmeasured - start.requests;
    let operations = after.operations() - start.operations;
    let host_dram = host_dram(after);
    let mut warnings = context.warnings;
    warnings.extend(run_warnings(measure));
    let power = power(before, after, &flash, &context.energy);
    let mut result = RunResult {
        setup: context.setup,
        submitted: measure.submitted,
        completed: measure.completed,
        failed: measure.failed,
        merged: measure.merged,
        unmeasured: measure.unmeasured,
        warmup_sim_seconds: measure.began_at().0 as f64 / 1e9,
        sim_seconds: seconds,
        wall_seconds: context.wall_seconds,
        requests_per_wall_second: per(requests as f64, wall),
        flash_ops_per_wall_second: per(operations as f64, wall),
        iops: per(measure.completed as f64, seconds),
        throughput_mib_per_s: per(moved as f64 / MIB as f64, seconds),
        bytes,
        latency_ns: latencies(histograms(&total)),
        waiting_ns: means(&total, |stats| stats.waiting_ns as f64),
        access_ns: means(&total, |stats| stats.latency.mean() * stats.count as f64 - stats.waiting_ns as f64),
        latency_within: within(histograms(&total)),
        latency_within_by_kind: within_by_kind(histograms(&total)),
        recorded: recorded(&measure.recording),
        over_time: over_time(&measure.over_time),
        nand_time_ns: Cause::ALL.iter().map(|&c| (c.name().to_owned(), flash.busy_ns(c))).collect(),
        nand_ops: operations_by_cause(&flash),
        waf: waf(&after.device, &before.device),
        host_dram_bytes: host_dram.mappings
            + host_dram.valid_bitmap
            + host_dram.valid_count
            + host_dram.reorder_buffer
            + host_dram.scheduler,
        host_dram_limit_bytes: context.host_dram_limit,
        host_dram,
        sram_bytes: after.device.sram_bytes,
        device_dram_bytes: after.device.device_dram_bytes,
        counters,
        groups: {
            let groups = measure.groups.iter().filter(|g| g.kinds.iter().any(Option::is_some));
            groups.map(|stats| group(stats, context.bins)).collect()
        },
        operations: context.own.operations.iter().map(operation).collect(),
        phone: context.own.phone,
        llm: context.own.llm.map(|found| llm(&found, power.as_ref())),
        fragmentation: context.own.fragmentation.iter().map(round).collect(),
        power,
        host_time: host_time(before, after),
        power_cut: None,
        verified: None,
        drawn: context.drawn.into_iter().map(str::to_owned).collect(),
        warnings,
        digest: String::new(),
    };
    result.digest = digest(measure, &result);
    result
}

/// Power states between two moments.
fn power(before: &Snapshot, after: &Snapshot, flash: &nand::Counters, energy: &EnergyModel) -> Option<PowerResult> {
    let spent = after.power?.since(&before.power.unwrap_or_default());
    let stay = |state: PowerState| PowerStay {
        time_ns: spent.ns[state as usize],
        stays: spent.stays[state as usize],
        working_ns: spent.working_ns[state as usize],
    };
    Some(PowerResult {
        elapsed_ns: after.at.since(before.at).0,
        states: PowerState::ALL.iter().map(|&state| (state.name().to_owned(), stay(state))).collect(),
        request_wakes: spent.request_wakes,
        driver_wakes: spent.driver_wakes,
        other_wakes: spent.other_wakes,
        waited_commands: spent.waited_commands,
        waited_ns: spent.waited_ns,
        energy: energy.estimate(&spent, Cause::ALL.iter().map(|&cause| flash.busy_ns(cause)).sum()),
    })
}

/// What a language model came to.
fn llm(found: &LlmReport, power: Option<&PowerResult>) -> LlmResult {
    let tokens = found.tokens as f64;
    LlmResult {
        load_bytes: found.load_bytes,
        load_ns: found.load_ns,
        tokens: found.tokens,
        tokens_per_s: per(tokens * SECOND_NS as f64, found.decode_ns as f64),
        io_share: per(found.waiting_ns as f64, found.decode_ns as f64),
        bytes_per_token: per(found.read_bytes as f64, tokens),
        reads_per_token: per(found.reads as f64, tokens),
        runs: found.runs,
        mean_run: per(found.bundles as f64, found.runs as f64),
        longest_run: found.longest_run,
        tokens_per_joule: power.map(|power| per(tokens * 1e6, power.energy.total_uj)),
    }
}

/// Rates of a round.
fn round(round: &Round) -> RoundResult {
    let rate = |ns: u64| per(round.bytes as f64 * 1e3, ns as f64);
    RoundResult {
        pieces: round.pieces,
        write_mb_per_s: rate(round.write_ns),
        read_mb_per_s: rate(round.read_ns),
        fill_ns: round.fill_ns,
        free_segments: round.free_segments,
    }
}

/// What the host took between two moments.
fn host_time(before: &Snapshot, after: &Snapshot) -> Option<HostTimeResult> {
    let spent = after.host_time?.since(&before.host_time.unwrap_or_default());
    let work = |kind: WorkKind| HostWork {
        submit_ns: spent.submit_ns[kind as usize],
        complete_ns: spent.complete_ns[kind as usize],
    };
    Some(HostTimeResult {
        requests: spent.requests,
        batches: spent.batches,
        inside_peak: spent.inside_peak,
        waited_requests: spent.waited_requests,
        waited_ns: spent.waited_ns,
        late_requests: spent.late_requests,
        late_ns: spent.late_ns,
        work: WorkKind::ALL.iter().map(|&kind| (kind.name().to_owned(), work(kind))).collect(),
        delay_ns: spent.delay_ns,
        queued_ns: spent.queued_ns,
        processor_wakes: spent.processor_wakes,
        processor_wake_ns: spent.processor_wake_ns,
        stalls: spent.stalls,
        stall_ns: spent.stall_ns,
        preemptions: spent.preemptions,
        preempted_ns: spent.preempted_ns,
    })
}

/// Means by kind of what a sum over requests tells.
fn means(total: &GroupStats, sum: impl Fn(&KindStats) -> f64) -> Means {
    let mean = |kinds: &[Option<KindStats>]| {
        let (sums, count) =
            kinds.iter().flatten().fold((0.0, 0), |(sums, count), stats| (sums + sum(stats), count + stats.count));
        (count > 0).then(|| sums / count as f64)
    };
    let of = |kind: WorkOp| mean(&total.kinds[kind as usize..=kind as usize]);
    Means {
        read: of(WorkOp::Read),
        write: of(WorkOp::Write),
        flush: of(WorkOp::Flush),
        trim: of(WorkOp::Trim),
        all: mean(&total.kinds),
    }
}

/// A quotient that a report can hold: 0 where there is nothing to divide by.
fn per(amount: f64, of: f64) -> f64 {
    if of > 0.0 { amount / of } else { 0.0 }
}

fn run_warnings(measure: &Measure) -> Vec<String> {
    let mut warnings = Vec::new();
    if measure.unaligned > 0 {
        warnings.push(format!(
            "{} of {} requests do not begin and end on 4 KiB borders: reads and writes were widened, trims narrowed",
            measure.unaligned, measure.submitted
        ));
    }
    if measure.overlap > 0 {
        warnings.push(format!("{} unmeasured requests were under way when measuring began", measure.overlap));
    }
    if measure.submitted == 0 {
        warnings.push("no request was measured".into());
    }
    warnings
}

fn bytes_by_kind(total: &GroupStats) -> Named {
    let bytes = |kind: &Option<KindStats>| kind.as_ref().map_or(0, |k| k.bytes);
    WorkOp::NAMES.iter().zip(&total.kinds).map(|(name, kind)| ((*name).to_owned(), bytes(kind))).collect()
}

fn latency(histogram: &Histogram<u64>) -> Latency {
    Latency {
        count: histogram.len(),
        mean: histogram.mean(),
        stddev: histogram.stdev(),
        min: histogram.min(),
        p50: histogram.value_at_quantile(0.5),
        p90: histogram.value_at_quantile(0.9),
        p99: histogram.value_at_quantile(0.99),
        p999: histogram.value_at_quantile(0.999),
        max: histogram.max(),
    }
}

/// Latencies by kind, in the order of [`WorkOp::NAMES`].
type Histograms<'a> = [Option<&'a Histogram<u64>>; KINDS];

fn histograms(total: &GroupStats) -> Histograms<'_> {
    total.kinds.each_ref().map(|kind| kind.as_ref().map(|stats| &stats.latency))
}

/// Latencies of all requests.
fn all(kinds: Histograms) -> Option<Histogram<u64>> {
    kinds.into_iter().flatten().cloned().reduce(|mut sum, kind| {
        sum.add(&kind).expect("histograms resize and have the same precision");
        sum
    })
}

/// The statistics of latencies, by kind and of all.
fn latencies(kinds: Histograms) -> Latencies {
    let of = |op: WorkOp| kinds[op as usize].map(latency);
    Latencies {
        read: of(WorkOp::Read),
        write: of(WorkOp::Write),
        flush: of(WorkOp::Flush),
        trim: of(WorkOp::Trim),
        all: all(kinds).as_ref().map(latency),
    }
}

/// Points of a distribution within a power of ten, in hundredths: 10^(i/20).
const STEPS: [u64; 20] =
    [100, 112, 126, 141, 158, 178, 200, 224, 251, 282, 316, 355, 398, 447, 501, 562, 631, 708, 794, 891];

/// What the traced device took; nothing if no request had a recorded latency.
pub(crate) fn recorded(recording: &Recording) -> Option<RecordedResult> {
    let kinds = recording.histograms();
    let latency_ns = latencies(kinds);
    let requests = latency_ns.all?.count;
    Some(RecordedResult {
        latency_ns,
        latency_within: within(kinds),
        latency_within_by_kind: within_by_kind(kinds),
        requests,
        without: recording.without(),
    })
}

/// How many latencies of all requests are at most so large.
fn within(kinds: Histograms) -> Vec<(u64, u64)> {
    all(kinds).as_ref().map(distribution).unwrap_or_default()
}

/// How many values are at most so large.
fn distribution(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let powers = std::iter::successors(Some(100_u64), |power| power.checked_mul(10)).take(15);
    let places = powers.flat_map(|power| STEPS.map(|step| step * power / 100)).filter(|&ns| ns >= histogram.min());
    let mut points = Vec::new();
    for ns in places {
        let count = histogram.count_between(0, ns);
        if count > 0 {
            points.push((ns, count));
        }
        if count == histogram.len() {
            break;
        }
    }
    points
}

/// The same for each kind.
fn within_by_kind(kinds: Histograms) -> BTreeMap<String, Vec<(u64, u64)>> {
    let named = WorkOp::NAMES.iter().zip(kinds);
    named.filter_map(|(name, kind)| Some(((*name).to_owned(), distribution(kind?)))).collect()
}

fn over_time(intervals: &Intervals) -> OverTime {
    let of = |kind: usize| {
        let own = intervals.all().map(|kinds| kinds[kind]);
        let column = |value: fn(Interval) -> u64| own.clone().map(value).collect();
        KindOverTime {
            requests: column(|interval| interval.requests),
            bytes: column(|interval| interval.bytes),
            latency_sum_ns: column(|interval| interval.latency_ns),
            latency_max_ns: column(|interval| interval.most_ns),
        }
    };
    let named = WorkOp::NAMES.iter().enumerate().map(|(kind, name)| ((*name).to_owned(), of(kind)));
    let kinds = named.filter(|(_, kind)| kind.requests.iter().any(|&count| count > 0)).collect();
    OverTime { interval_ns: intervals.length().0, kinds }
}

/// Borders within a unit of time that fio counts requests by.
pub(crate) const FIO_BORDERS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Where fio's last bin begins, in nanoseconds: 2 s.
pub(crate) const FIO_LAST: u64 = 2_000_000_000;

/// Requests by fio's bins of latency; those with none are left out.
fn fio_bins(latencies: &Histogram<u64>) -> Vec<(u64, u64)> {
    let units = [1, 1_000, 1_000_000].into_iter();
    let borders = units.flat_map(|unit| FIO_BORDERS.map(|border| border * unit)).chain([FIO_LAST, u64::MAX]);
    let mut below = 0;
    let mut bins = Vec::new();
    for border in borders {
        let up_to = if border == u64::MAX { latencies.len() } else { latencies.count_between(0, border) };
        if up_to > below {
            bins.push((border, up_to - below));
        }
        below = up_to;
    }
    bins
}

fn group(stats: &GroupStats, bins: bool) -> GroupResult {
    let named = WorkOp::NAMES.iter().zip(&stats.kinds);
    let kinds = named.filter_map(|(name, kind)| Some(((*name).to_owned(), kind_result(kind.as_ref()?, bins))));
    let latency_bins = all(histograms(stats)).as_ref().map(fio_bins).unwrap_or_default();
    GroupResult { name: stats.name.clone(), options: stats.options.clone(), latency_bins, kinds: kinds.collect() }
}

fn kind_result(stats: &KindStats, bins: bool) -> KindResult {
    let percentile = |&p: &f64| (format!("{p:.6}"), stats.latency.value_at_percentile(p));
    KindResult {
        bytes: stats.bytes,
        runtime_ns: stats.last.since(stats.first).0,
        latency_ns: latency(&stats.latency),
        percentile_ns: PERCENTILES.iter().map(percentile).collect(),
        bins: if bins { self::fio_json::fine_bins(&stats.latency) } else { Vec::new() },
    }
}

fn operation(operations: &Operations) -> OperationResult {
    let histogram = histogram_of(&operations.latencies_ns);
    let calls =
        || operations.called.iter().zip(&operations.latencies_ns).map(|(called, &ns)| (called.0, called.0 + ns));
    let harness: Vec<u64> = calls().map(by_nanoseconds).collect();
    let each = operations.latencies_ns.len().div_ceil(operations.programs).max(1);
    let parts = operations.latencies_ns.chunks(each).zip(harness.chunks(each));
    let programs = parts.map(|(right, harness)| ProgramResult {
        latency_ns: latency(&histogram_of(right)),
        harness_ns: latency(&histogram_of(harness)),
    });
    OperationResult {
        name: operations.name.clone(),
        duration_ns: operations.duration.0,
        latency_ns: latency(&histogram),
        latency_within: distribution(&histogram),
        harness_ns: latency(&histogram_of(&harness)),
        across_seconds: calls().filter(|(called, returned)| called / SECOND_NS != returned / SECOND_NS).count() as u64,
        programs: if operations.programs > 1 { programs.collect() } else { Vec::new() },
        requests: operations.requests.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect(),
    }
}

/// Three digits, growing with what is recorded.
fn histogram_of(latencies_ns: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("three digits are a precision that a histogram can have");
    latencies_ns.iter().for_each(|&ns| histogram.record(ns).expect("a histogram that grows takes every value"));
    histogram
}

/// How long a harness takes a call to last that compares the nanoseconds of two readings of its clock alone, without
/// the seconds, and drops the sign.
fn by_nanoseconds((called, returned): (u64, u64)) -> u64 {
    (called % SECOND_NS).abs_diff(returned % SECOND_NS)
}

fn operations_by_cause(flash: &nand::Counters) -> BTreeMap<String, Named> {
    let of = |cause: Cause| {
        let kinds = Kind::ALL.iter().map(|&kind| (kind.name().to_owned(), flash.ops(cause, kind)));
        let kinds = kinds.chain([("retry".to_owned(), flash.retries(cause))]);
        kinds.filter(|(_, count)| *count > 0).collect::<Named>()
    };
    Cause::ALL.iter().map(|&cause| (cause.name().to_owned(), of(cause))).collect()
}

fn waf(after: &DeviceStats, before: &DeviceStats) -> Waf {
    let host = (after.host_units_written - before.host_units_written) as f64;
    let share = |of: fn(&DeviceStats) -> u64| per((of(after) - of(before)) as f64, host);
    let data = share(|s| s.data_units_programmed + s.padding_units);
    let map = share(|s| s.map_units_programmed);
    let gc = share(|s| s.gc_units_programmed);
    Waf { total: data + map + gc, data, map, gc }
}

fn host_dram(after: &Snapshot) -> HostDram {
    HostDram {
        mappings: after.host.dram_bytes_used,
        valid_bitmap: after.host_counter("valid_bitmap_bytes"),
        valid_count: after.host_counter("valid_count_bytes"),
        reorder_buffer: after.host_counter("reorder_buffer_bytes"),
        scheduler: after.host.sched_bytes,
    }
}

/// Every counter of a driver, whatever its scheduler and its booster.
fn host_counters() -> Vec<&'static Counter> {
    let schedulers = SchedulerKind::ALL.iter().flat_map(|kind| kind.counters());
    let boosters = BoosterKind::ALL.iter().flat_map(|kind| kind.counters());
    union(HostStats::COUNTERS.iter().chain(schedulers).chain(boosters))
}

/// Every counter of a device, whatever its mapping scheme.
fn device_counters() -> Vec<&'static Counter> {
    union(DeviceStats::COUNTERS.iter().chain(schemes::all().iter().flat_map(|kind| kind.counters())))
}

/// The counters of several sets, each name once.
fn union(sets: impl Iterator<Item = &'static Counter>) -> Vec<&'static Counter> {
    let mut all: Vec<&Counter> = Vec::new();
    for counter in sets {
        if !all.iter().any(|known| known.name == counter.name) {
            all.push(counter);
        }
    }
    all
}

/// What has been counted from one moment to another, and gauges as they stand at the end. What this system does not
/// count is 0: a report has every counter that there is.
fn named(
    all: &[&Counter],
    after: impl Iterator<Item = (&'static Counter, u64)>,
    before: impl Iterator<Item = (&'static Counter, u64)>,
) -> Named {
    let mut named: Named = all.iter().map(|counter| (counter.name.to_owned(), 0)).collect();
    for (counter, value) in after {
        *named.entry(counter.name.to_owned()).or_default() += value;
    }
    for (counter, value) in before.filter(|(counter, _)| !counter.gauge) {
        *named.entry(counter.name.to_owned()).or_default() -= value;
    }
    named
}

/// Adds every counter to the fingerprint of the completions.
fn digest(measure: &Measure, result: &RunResult) -> String {
    let mut digest = measure.digest;
    digest.word(result.submitted);
    digest.word(result.completed);
    for operation in &result.operations {
        digest.bytes(operation.name.as_bytes());
        digest.word(operation.duration_ns);
        digest.word(operation.latency_ns.max);
    }
    for (table, counters) in [(&result.counters.host, host_counters()), (&result.counters.device, device_counters())] {
        for (name, &value) in table {
            let counter = counters.iter().find(|counter| counter.name == name);
            let digested = match counter.map(|counter| counter.digest) {
                Some(InDigest::Always) => true,
                Some(InDigest::Never) => false,
                Some(InDigest::Counted) | None => value > 0,
            };
            if digested {
                digest.bytes(name.as_bytes());
                digest.word(value);
            }
        }
    }
    if let Some(power) = &result.power {
        for PowerStay { time_ns, stays, .. } in power.states.values() {
            digest.word(*time_ns);
            digest.word(*stays);
        }
        digest.word(power.waited_ns);
    }
    if let Some(host) = &result.host_time {
        for value in [host.requests, host.batches, host.waited_ns, host.late_ns, host.queued_ns, host.stall_ns] {
            digest.word(value);
        }
    }
    for (name, value) in [&result.nand_time_ns].into_iter().chain(result.nand_ops.values()).flatten() {
        digest.bytes(name.as_bytes());
        digest.word(*value);
    }
    digest.hex()
}

#[cfg(test)]
mod tests {
    use units::{Nanos, SimTime};

    use super::*;

    #[test]
    fn a_distribution_counts_what_is_at_most_so_large_up_to_all() {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        assert!(distribution(&histogram).is_empty());
        for ns in [1_000, 1_000, 1_500, 40_000] {
            histogram.record(ns).expect("the histogram grows");
        }
        let points = distribution(&histogram);
        assert_eq!(points.first(), Some(&(1_000, 2)));
        let at = |ns| points.iter().find(|point| point.0 == ns).map(|point| point.1);
        assert_eq!([at(1_410), at(1_580), at(31_600)], [Some(2), Some(3), Some(3)]);
        // 10^(92/20) = 39,810 is below 40,000, so the next point is the first that has all.
        assert_eq!(points.last(), Some(&(44_700, 4)));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    /// HP-UFS authors' mobibench.c: `tend.tv_nsec - tstart.tv_nsec`, or the other way round.
    #[test]
    fn a_harness_without_seconds_takes_the_rest_of_the_second_for_what_crosses_one() {
        let called = [100, 999_999_000, 2_000_000_000].map(SimTime);
        let operations = Operations {
            name: "insert".into(),
            latencies_ns: vec![900, 3_000, 900],
            called: called.to_vec(),
            programs: 3,
            duration: Nanos(2_000_000_900),
            requests: Vec::new(),
        };
        let result = operation(&operations);
        // A histogram has three digits.
        assert!(result.latency_ns.max.abs_diff(3_000) < 3 && result.across_seconds == 1, "{result:?}");
        let harness: Vec<u64> = result.programs.iter().map(|program| program.harness_ns.max).collect();
        assert!(harness[0] == 900 && harness[2] == 900 && harness[1].abs_diff(999_997_000) < 1_000_000, "{harness:?}");
        assert_eq!(result.harness_ns.count, 3);
    }

    #[test]
    fn requests_without_a_completion_are_counted_and_left_out() {
        let mut recording = Recording::default();
        assert_eq!(recorded(&recording), None);
        recording.add(WorkOp::Read, None);
        assert_eq!(recorded(&recording), None, "nothing to compare with");
        recording.add(WorkOp::Read, Some(Nanos(1_000)));
        recording.add(WorkOp::Read, Some(Nanos(2_000)));
        recording.add(WorkOp::Write, Some(Nanos(500)));
        let told = recorded(&recording).expect("three latencies");
        assert_eq!((told.requests, told.without), (3, 1));
        let read = told.latency_ns.read.expect("two reads");
        assert_eq!((read.count, read.p50, read.max, read.mean), (2, 1_000, 2_000, 1_500.0));
        assert_eq!((told.latency_ns.flush, told.latency_ns.trim), (None, None));
        assert_eq!(told.latency_ns.all.map(|all| (all.count, all.min)), Some((3, 500)));
        assert_eq!(told.latency_within_by_kind.keys().collect::<Vec<_>>(), ["read", "write"]);
        assert_eq!(told.latency_within.last().map(|point| point.1), Some(3));
    }
}
