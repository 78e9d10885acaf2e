//! What a run reports.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::report::phone::PhoneReport;

use crate::options::Setup;
use crate::report::energy::Energy;

/// A number by name.
pub type Named = BTreeMap<String, u64>;

/// Latencies of one kind of request, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Requests.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Smallest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}

/// Latencies by kind; `null` where there were no requests.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// Reads.
    pub read: Option<Latency>,
    /// Writes.
    pub write: Option<Latency>,
    /// Flushes that were requests of their own.
    pub flush: Option<Latency>,
    /// Trims.
    pub trim: Option<Latency>,
    /// All of them.
    pub all: Option<Latency>,
}

/// Means by kind, in nanoseconds; `null` where there were no requests.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Means {
    /// Reads.
    pub read: Option<f64>,
    /// Writes.
    pub write: Option<f64>,
    /// Flushes that were requests of their own.
    pub flush: Option<f64>,
    /// Trims.
    pub trim: Option<f64>,
    /// All of them.
    pub all: Option<f64>,
}

/// Write amplification: units programmed per unit that the host wrote. All 0 if the host wrote nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Waf {
    /// Sum of the others.
    pub total: f64,
    /// Host data, padding of rows included.
    pub data: f64,
    /// Mapping and other metadata.
    pub map: f64,
    /// Copies by garbage collection and wear levelling.
    pub gc: f64,
}

/// Host DRAM in bytes, as really allocated for what it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostDram {
    /// Cached L2P entries.
    pub mappings: u64,
    /// Valid page bitmaps.
    pub valid_bitmap: u64,
    /// Valid page counts.
    pub valid_count: u64,
    /// Reorder buffer.
    pub reorder_buffer: u64,
    /// What a scheduler knows of the mapping cache.
    #[serde(default)]
    pub scheduler: u64,
}

/// All counters of driver and device, over the measured part; sizes and maxima as they stand at the end.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AllCounters {
    /// Of the driver.
    pub host: Named,
    /// Of the firmware.
    pub device: Named,
}

/// Requests of one kind in one group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KindResult {
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Time from the arrival of the first to the completion of the last, in nanoseconds.
    pub runtime_ns: u64,
    /// Latencies.
    pub latency_ns: Latency,
    /// Percentiles in nanoseconds; the keys have the form that fio prints.
    pub percentile_ns: Named,
    /// Requests by fio's fine bins of latency, the middle of each in nanoseconds; only where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bins: Vec<(u64, u64)>,
}

/// Requests of one fio job group or trace file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupResult {
    /// Its name.
    pub name: String,
    /// What a fio job says of it, by option, and rw, bs, iodepth and numjobs in any case; empty for other workloads.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Requests by latency, as fio counts them: each border in nanoseconds that has some up to it and above the border
    /// before, 2, 4, 10, 20, 50, 100, 250, 500, 750 and 1000 of each unit, with their number.
    #[serde(default)]
    pub latency_bins: Vec<(u64, u64)>,
    /// By kind: read, write, flush, trim.
    pub kinds: BTreeMap<String, KindResult>,
}

/// Completed requests of one kind over time: a value for each interval.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct KindOverTime {
    /// Requests.
    pub requests: Vec<u64>,
    /// Bytes that they asked for.
    pub bytes: Vec<u64>,
    /// Sum of their latencies in nanoseconds.
    pub latency_sum_ns: Vec<u64>,
    /// The largest of their latencies in nanoseconds.
    pub latency_max_ns: Vec<u64>,
}

/// Measured completions over time, in up to 256 intervals from the first measured request on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct OverTime {
    /// Length of an interval in nanoseconds: a millisecond, doubled as often as the run's length takes.
    pub interval_ns: u64,
    /// By kind: read, write, flush, trim; kinds without requests are left out.
    pub kinds: BTreeMap<String, KindOverTime>,
}

/// Operations of one kind of a program above the block layer, such as a database's inserts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationResult {
    /// What they do.
    pub name: String,
    /// Simulated time from the first call to the last return, in nanoseconds.
    pub duration_ns: u64,
    /// From call to return.
    pub latency_ns: Latency,
    /// How they are distributed, as for requests.
    #[serde(default)]
    pub latency_within: Vec<(u64, u64)>,
    /// By a harness that leaves out the seconds of its clock, as the one does that the HP-UFS paper's authors
    /// published: the difference of the nanoseconds of two readings, without its sign. What crosses a full second takes
    /// one second less its time.
    #[serde(default)]
    pub harness_ns: Latency,
    /// How many cross a full second.
    #[serde(default)]
    pub across_seconds: u64,
    /// The same of each program, if several did them one after another.
    #[serde(default)]
    pub programs: Vec<ProgramResult>,
    /// Requests to the block layer, by kind.
    pub requests: Named,
}

/// Operations of one of several programs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProgramResult {
    /// From call to return.
    pub latency_ns: Latency,
    /// By a harness that leaves out the seconds of its clock.
    pub harness_ns: Latency,
}

/// What a language model on flash came to.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LlmResult {
    /// Bytes that were loaded before the first token.
    pub load_bytes: u64,
    /// Time that this took, in nanoseconds.
    pub load_ns: u64,
    /// Tokens.
    pub tokens: u64,
    /// Tokens per simulated second, without loading.
    pub tokens_per_s: f64,
    /// Share of decoding in which nothing was computed, for reads (0 to 1).
    pub io_share: f64,
    /// Bytes read for a token.
    pub bytes_per_token: f64,
    /// Reads for a token.
    pub reads_per_token: f64,
    /// Runs of active bundles that lay side by side.
    pub runs: u64,
    /// Their mean length in bundles.
    pub mean_run: f64,
    /// The longest of them.
    pub longest_run: u64,
    /// Tokens for each joule that the device took while decoding; `null` if the profile has no power states.
    pub tokens_per_joule: Option<f64>,
}

/// A round of a fragmentation loop.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RoundResult {
    /// Pieces in which the large file lay.
    pub pieces: u64,
    /// Rate of writing it until it was durable, in 10^6 bytes a second.
    pub write_mb_per_s: f64,
    /// Rate of reading it, in 10^6 bytes a second.
    pub read_mb_per_s: f64,
    /// Time to write the small files, in nanoseconds.
    pub fill_ns: u64,
    /// Segments that were free at its end.
    pub free_segments: u64,
}

/// One power state of link and device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PowerStay {
    /// Time in it.
    pub time_ns: u64,
    /// How often it began.
    pub stays: u64,
    /// The part of its time in which the device had work of its own, such as GC, while the link was down.
    pub working_ns: u64,
}

/// Power states of link and device, over the measured part.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PowerResult {
    /// Length of the measured part; times in states add up to it.
    pub elapsed_ns: u64,
    /// By state: busy, idle, entering, hibern8, clk_gated, sleep, waking.
    pub states: BTreeMap<String, PowerStay>,
    /// Wakes of the link for a request.
    pub request_wakes: u64,
    /// Wakes for commands of the driver while there was no request: what a booster does in idle time.
    pub driver_wakes: u64,
    /// Wakes for something else, as far as the profile has that (`power.other_use_percent`).
    #[serde(default)]
    pub other_wakes: u64,
    /// Commands that waited until the link was up.
    pub waited_commands: u64,
    /// Sum of their waits.
    pub waited_ns: u64,
    /// What that took.
    pub energy: Energy,
}

/// Processor time of requests of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostWork {
    /// Of the tasks that submitted them.
    pub submit_ns: u64,
    /// Of the processor that handles interrupts.
    pub complete_ns: u64,
}

/// What the host took between workload and driver, over the measured part. Times are sums over requests.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostTimeResult {
    /// Requests that tasks have handed over; what is merged is one.
    pub requests: u64,
    /// Times that a task handed over requests, one or several at once as from a plug.
    pub batches: u64,
    /// Largest number of requests between their place in the block layer and their end, since the run began.
    pub inside_peak: u64,
    /// Requests whose task had to wait before the queue, because all of nr_requests were taken.
    pub waited_requests: u64,
    /// Sum of these waits. They are part of the latencies.
    pub waited_ns: u64,
    /// Requests that came later than their workload had it, because their task was still waiting so with an earlier
    /// one. Their latencies count from then on.
    pub late_requests: u64,
    /// By how much, in all.
    pub late_ns: u64,
    /// Processor time by kind of request: read, write, metadata, other.
    pub work: BTreeMap<String, HostWork>,
    /// Delays between responses and completion work, which occupied no processor.
    pub delay_ns: u64,
    /// Time for which work waited for a processor, or for earlier work of its task.
    pub queued_ns: u64,
    /// Wakes of processors that slept.
    pub processor_wakes: u64,
    /// Time that they took.
    pub processor_wake_ns: u64,
    /// Stalls of the processors in bursts.
    pub stalls: u64,
    /// Time that they took.
    pub stall_ns: u64,
    /// Completions of writes that found the processor taken by something else.
    pub preemptions: u64,
    /// Time for which it was.
    pub preempted_ns: u64,
}

/// What a read-back after the run has found. There is a result only if all of it was right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Units of 4 KiB that hold data; each gave what was written there last.
    pub data_units: u64,
    /// Units of 4 KiB that were trimmed since they were last written; each gave zeroes.
    pub trimmed_units: u64,
}

/// A power cut that ended the run (`--cut-at`), and the recovery after it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PowerCut {
    /// When, in nanoseconds after the first measured request was submitted.
    pub at_ns: u64,
    /// Requests that were under way; they are not among the measured ones.
    pub outstanding: u64,
    /// Time until the device took commands again, in nanoseconds.
    pub ready_ns: u64,
    /// What of it each part of the recovery took, in nanoseconds.
    pub parts_ns: Named,
    /// Flash operations of the recovery by kind.
    pub flash: Named,
}

/// Latencies of the device on which a trace was recorded, over the measured requests that carry one.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordedResult {
    /// Latencies by kind, as those of the run.
    pub latency_ns: Latencies,
    /// How they are distributed, as those of the run.
    pub latency_within: Vec<(u64, u64)>,
    /// The same by kind; kinds without requests are left out.
    pub latency_within_by_kind: BTreeMap<String, Vec<(u64, u64)>>,
    /// Measured requests with a recorded latency.
    pub requests: u64,
    /// Measured requests without: their completion is not in the trace, or they are reads before partial writes. They
    /// are in the run's latencies and not in these.
    pub without: u64,
}

/// The report of one run. Everything but the three `wall` fields is a function of the setup.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The choices.
    #[serde(flatten)]
    pub setup: Setup,
    /// Measured requests submitted.
    pub submitted: u64,
    /// Measured requests completed.
    pub completed: u64,
    /// Of these, those that ended with an error because flash failed.
    pub failed: u64,
    /// Measured requests that were merged with another before the scheduler, and completed with it.
    #[serde(default)]
    pub merged: u64,
    /// Requests of preconditioning and warm-up.
    pub unmeasured: u64,
    /// Simulated time before the first measured request.
    pub warmup_sim_seconds: f64,
    /// Simulated time from the first measured request to the last measured completion.
    pub sim_seconds: f64,
    /// Real time of the whole run, preconditioning included.
    pub wall_seconds: f64,
    /// Requests of the workload, measured or not, per second of real time; preconditioning is left out.
    pub requests_per_wall_second: f64,
    /// The same for flash operations.
    pub flash_ops_per_wall_second: f64,
    /// Measured requests per simulated second.
    pub iops: f64,
    /// Measured bytes read and written per simulated second.
    pub throughput_mib_per_s: f64,
    /// Measured bytes by kind.
    pub bytes: Named,
    /// Latencies by kind.
    pub latency_ns: Latencies,
    /// Means of the waiting times, from the arrival of a request until its first command was sent: plug, scheduler,
    /// tags, and waiting for host memory.
    #[serde(default)]
    pub waiting_ns: Means,
    /// Means of the rest of the latencies: link, device, and further commands.
    #[serde(default)]
    pub access_ns: Means,
    /// How latencies are distributed: so many requests were answered within so many nanoseconds. Twenty points for each
    /// power of ten, from the first within which one was to the first within which all were.
    pub latency_within: Vec<(u64, u64)>,
    /// The same by kind; kinds without requests are left out.
    #[serde(default)]
    pub latency_within_by_kind: BTreeMap<String, Vec<(u64, u64)>>,
    /// What the requests took on the device on which the trace was recorded; `null` if the trace does not tell.
    #[serde(default)]
    pub recorded: Option<RecordedResult>,
    /// Completions over time.
    #[serde(default)]
    pub over_time: OverTime,
    /// Time that dies were occupied, summed over dies, by cause.
    pub nand_time_ns: Named,
    /// Flash operations by cause and kind; kinds that did not occur are left out. "retry" counts the steps of read
    /// retries, which are no operations of their own.
    pub nand_ops: BTreeMap<String, Named>,
    /// Write amplification.
    pub waf: Waf,
    /// Host DRAM in all.
    pub host_dram_bytes: u64,
    /// Limit on cached L2P entries; `null` = none.
    pub host_dram_limit_bytes: Option<u64>,
    /// Host DRAM by use.
    pub host_dram: HostDram,
    /// SRAM inside the device.
    pub sram_bytes: u64,
    /// DRAM inside the device.
    pub device_dram_bytes: u64,
    /// Counters.
    pub counters: AllCounters,
    /// By fio job group or trace file.
    pub groups: Vec<GroupResult>,
    /// By kind of operation, where a program above the block layer is part of the workload.
    pub operations: Vec<OperationResult>,
    /// What happened on the phone, where a phone is the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<PhoneReport>,
    /// What a language model came to, where one is the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<LlmResult>,
    /// The rounds of a fragmentation loop, where one is the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fragmentation: Vec<RoundResult>,
    /// Power states of link and device; `null` if the profile has none.
    #[serde(default)]
    pub power: Option<PowerResult>,
    /// What the host took between workload and driver; `null` if the profile gives it nothing to do.
    #[serde(default)]
    pub host_time: Option<HostTimeResult>,
    /// What the read-back after the run has found (`--verify`); `null` if nobody asked for one.
    #[serde(default)]
    pub verified: Option<Verified>,
    /// The power cut that ended the run (`--cut-at`) and the recovery after it; `null` without one.
    #[serde(default)]
    pub power_cut: Option<PowerCut>,
    /// What was drawn at random, so that another seed gives another result: workload, ageing, faults, host time, link.
    #[serde(default)]
    pub drawn: Vec<String>,
    /// What the reader of the input and the run noticed.
    pub warnings: Vec<String>,
    /// Fingerprint of every completion (kind, range, status, data and time) and every counter.
    pub digest: String,
}
