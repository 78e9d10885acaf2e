//! Traces without a device: what is in one, and the same as a file of another format.

use std::path::Path;

use serde::Serialize;
use units::UNIT_BYTES;
use workload::{CleanRule, Format, Lengths, Session, Trace, TraceOptions};

use crate::error::LabError;

/// What to read, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// Trace file, or directory of per-CPU trace files.
    pub path: String,
    /// Name of a format; left out, it is recognised.
    pub format: Option<String>,
    /// The device to take from a trace of several.
    pub device: Option<String>,
    /// Names of cleaning rules.
    pub clean: Vec<String>,
}

impl TraceSpec {
    /// Reads a spec from JSON.
    ///
    /// # Errors
    /// Unknown fields and wrong types.
    pub fn from_json(text: &str) -> Result<TraceSpec, LabError> {
        serde_json::from_str(text).map_err(|error| LabError::Config(format!("trace specification: {error}")))
    }

    /// Reads the trace.
    ///
    /// # Errors
    /// Everything that is wrong with it, with file and place.
    pub fn read(&self) -> Result<Trace, LabError> {
        let options = trace_options(self.format.as_deref(), self.device.as_deref(), &self.clean)?;
        Trace::read(Path::new(&self.path), &options).map_err(|e| LabError::Config(e.to_string()))
    }
}

/// The options of those names.
pub(crate) fn trace_options(
    format: Option<&str>,
    device: Option<&str>,
    clean: &[String],
) -> Result<TraceOptions, LabError> {
    let config = |error: workload::TraceError| LabError::Config(error.to_string());
    let clean: Result<Vec<_>, _> = clean.iter().map(|name| CleanRule::from_name(name)).collect();
    Ok(TraceOptions {
        format: format.map(Format::from_name).transpose().map_err(config)?,
        device: device.map(Into::into),
        clean: clean.map_err(config)?,
    })
}

/// A format of traces, for listings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct TraceFormat {
    /// The name that users type.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// It can be written, too.
    pub writable: bool,
}

/// Every format, in the order in which they are tried.
pub fn trace_formats() -> Vec<TraceFormat> {
    let describe =
        |format: &Format| TraceFormat { name: format.name(), about: format.about(), writable: format.can_be_written() };
    Format::ALL.iter().map(describe).collect()
}

/// Names of the cleaning rules.
pub fn clean_rules() -> Vec<&'static str> {
    CleanRule::ALL.iter().map(|rule| rule.name()).collect()
}

/// What is in a trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceInfo {
    /// Path.
    pub trace: String,
    /// Name of its format.
    pub format: &'static str,
    /// Files read.
    pub files: u64,
    /// Records or lines in them.
    pub events: u64,
    /// Requests.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes without data.
    pub flushes: u64,
    /// Trims.
    pub trims: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Requests with force unit access.
    pub fua: u64,
    /// Requests with data that ask for a flush before.
    pub preflushes: u64,
    /// Writes among reads and writes: MAP+, Table III, "write ratio".
    pub write_ratio: f64,
    /// Mean length of reads and writes: Table III, "average request size".
    pub mean_bytes: f64,
    /// Reads and writes that begin where the one before ended: Table III, "sequential ratio".
    pub sequential_ratio: f64,
    /// Lengths of reads, in bytes.
    pub read_lengths: LengthInfo,
    /// Lengths of writes, in bytes.
    pub write_lengths: LengthInfo,
    /// From the first request to the last.
    pub duration_seconds: f64,
    /// Mean rate.
    pub requests_per_second: f64,
    /// Most requests in one second, over the mean rate.
    pub peak_to_mean: f64,
    /// Standard deviation over mean of the times between requests.
    pub interarrival_variation: f64,
    /// Bytes of the 4 KiB units touched.
    pub footprint_bytes: u64,
    /// Bytes of the units read.
    pub read_footprint_bytes: u64,
    /// Bytes of the units written.
    pub write_footprint_bytes: u64,
    /// The smallest device that holds it.
    pub span_bytes: u64,
    /// Requests off the borders of 4 KiB.
    pub unaligned: u64,
    /// Bytes by which reads and writes are widened.
    pub widened_bytes: u64,
    /// Writes that cover units in part: read-modify-write.
    pub partial_writes: u64,
    /// Reads that a replay adds for them.
    pub merge_reads: u64,
    /// Requests with a latency of the traced device.
    pub with_latency: u64,
    /// Mean of these.
    pub mean_latency_ns: Option<f64>,
    /// What the cleaning rules removed.
    pub cleaned: Vec<CleanedInfo>,
    /// Devices, where they lie, and their requests.
    pub devices: Vec<DeviceInfo>,
    /// Processes by number of requests, at most `MOST_PROCESSES`.
    pub processes: Vec<ProcessInfo>,
    /// What one should know before believing a run of it.
    pub warnings: Vec<String>,
}

/// Processes that are listed.
const MOST_PROCESSES: usize = 10;

/// Lengths of requests, in bytes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LengthInfo {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90 % are at most this long.
    pub p90: u64,
    /// 99 % are at most this long.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

impl LengthInfo {
    fn of(l: &Lengths) -> LengthInfo {
        LengthInfo { mean: l.mean, p50: l.p50, p90: l.p90, p99: l.p99, max: l.max }
    }
}

/// What a cleaning rule removed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CleanedInfo {
    /// Its name.
    pub rule: &'static str,
    /// Requests removed or shortened, or gaps cut.
    pub count: u64,
    /// Bytes removed.
    pub bytes: u64,
    /// Seconds removed.
    pub seconds: f64,
}

/// A device of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Where its sector 0 lies.
    pub first_sector: u64,
    /// Sectors of its range.
    pub sectors: u64,
    /// Its requests.
    pub requests: u64,
}

/// A process and its requests.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProcessInfo {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub requests: u64,
}

impl TraceInfo {
    /// Sums up a trace.
    pub fn of(trace: &Trace) -> TraceInfo {
        let (r, stats) = (&trace.report, trace.stats());
        let (with_latency, mean_latency) = stats.traced_latency.map_or((0, None), |(n, mean)| (n, Some(mean)));
        TraceInfo {
            trace: trace.name.clone(),
            format: trace.format.name(),
            files: r.files,
            events: r.events,
            requests: r.requests,
            reads: r.reads,
            writes: r.writes,
            flushes: r.flushes,
            trims: r.trims,
            read_bytes: r.read_bytes,
            write_bytes: r.write_bytes,
            trim_bytes: r.trim_bytes,
            fua: r.fua,
            preflushes: r.preflushes,
            write_ratio: stats.write_ratio,
            mean_bytes: stats.mean_bytes,
            sequential_ratio: stats.sequential_ratio,
            read_lengths: LengthInfo::of(&stats.reads),
            write_lengths: LengthInfo::of(&stats.writes),
            duration_seconds: r.duration.as_secs_f64(),
            requests_per_second: stats.requests_per_second,
            peak_to_mean: stats.peak_to_mean,
            interarrival_variation: stats.interarrival_variation,
            footprint_bytes: stats.footprint_units * UNIT_BYTES,
            read_footprint_bytes: stats.read_units * UNIT_BYTES,
            write_footprint_bytes: stats.written_units * UNIT_BYTES,
            span_bytes: stats.span_bytes,
            unaligned: r.unaligned,
            widened_bytes: r.widened_bytes,
            partial_writes: r.partial_writes,
            merge_reads: r.merge_reads,
            with_latency,
            mean_latency_ns: mean_latency,
            cleaned: r.cleaned.iter().map(cleaned).collect(),
            devices: devices(trace),
            processes: processes(trace),
            warnings: r.warnings(),
        }
    }
}

fn cleaned(c: &workload::Cleaned) -> CleanedInfo {
    CleanedInfo { rule: c.rule.name(), count: c.count, bytes: c.bytes, seconds: c.time.as_secs_f64() }
}

fn devices(trace: &Trace) -> Vec<DeviceInfo> {
    let device = |d: &workload::TraceDevice| DeviceInfo {
        name: d.name.clone(),
        first_sector: d.first_sector,
        sectors: d.sectors,
        requests: d.requests,
    };
    trace.devices.iter().map(device).collect()
}

fn processes(trace: &Trace) -> Vec<ProcessInfo> {
    let mut counts = vec![0; trace.processes.len()];
    trace.requests.iter().for_each(|r| counts[usize::from(r.process.0)] += 1);
    let named = trace.processes.iter().zip(counts).filter(|(_, requests)| *requests > 0);
    let mut all: Vec<_> = named.map(|(name, requests)| ProcessInfo { name: name.clone(), requests }).collect();
    all.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.name.cmp(&b.name)));
    all.truncate(MOST_PROCESSES);
    all
}

/// What became of a conversion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Converted {
    /// Format that was read.
    pub from: &'static str,
    /// Format that was written.
    pub to: &'static str,
    /// The new file.
    pub file: String,
    /// Requests read.
    pub requests: u64,
    /// What the new format has no room for, with counts.
    pub lost: Vec<String>,
    /// What the reader noticed.
    pub warnings: Vec<String>,
}

/// Writes a trace in the format named.
///
/// # Errors
/// Everything that is wrong with trace, format or file.
pub fn convert_trace(spec: &TraceSpec, out: &Path, format: &str) -> Result<Converted, LabError> {
    let config = |error: workload::TraceError| LabError::Config(error.to_string());
    let to = Format::writable(format).map_err(config)?;
    let trace = spec.read()?;
    let lost = trace.write(to, out).map_err(config)?;
    Ok(Converted {
        from: trace.format.name(),
        to: to.name(),
        file: out.display().to_string(),
        requests: trace.report.requests,
        lost,
        warnings: trace.report.warnings(),
    })
}

/// A session of a phone as a scenario.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SessionScenario {
    /// The scenario's file.
    pub scenario: String,
    /// The trace beside it.
    pub trace: String,
    /// Apps that were launched.
    pub apps: Vec<String>,
    /// Launches.
    pub launches: usize,
    /// Of these, launches of processes that were not there before.
    pub cold: usize,
    /// Launches whose first frame a marker tells.
    pub timed: usize,
    /// Kills.
    pub kills: usize,
    /// Requests.
    pub requests: u64,
    /// Of these, requests of no launched app.
    pub others: u64,
    /// What its reader noticed.
    pub warnings: Vec<String>,
}

/// Writes a session of a phone, an ftrace text, as a scenario: `out`, TOML, and beside it the requests as CSV.
///
/// # Errors
/// Everything that is wrong with the trace, with file, line and column, or with the files to write.
pub fn trace_to_scenario(spec: &TraceSpec, out: &Path) -> Result<SessionScenario, LabError> {
    let config = |error: workload::TraceError| LabError::Config(error.to_string());
    if out.extension().is_none_or(|e| e != "toml") {
        return Err(LabError::Config(format!(
            "out = \"{}\": must be a file whose name ends with .toml",
            out.display()
        )));
    }
    let options = trace_options(None, spec.device.as_deref(), &spec.clean)?;
    let session = Session::read(Path::new(&spec.path), &options).map_err(config)?;
    let beside = out.with_extension("csv");
    let name = beside.file_name().unwrap_or_default().to_string_lossy();
    session.trace.write(Format::Csv, &beside).map_err(config)?;
    let text = android::recorded::scenario_of(&session, &name);
    std::fs::write(out, text).map_err(|e| LabError::Config(format!("{}: {e}", out.display())))?;
    let trace = &session.trace;
    let others = trace.processes.len() - 1;
    let mut warnings = trace.report.warnings();
    let timed = session.launches.iter().filter(|launch| launch.launched.is_some()).count();
    if timed == 0 {
        warnings.push(
            "no marker tells when a launch ended: launch times are 0, and all I/O comes at its recorded times".into(),
        );
    }
    Ok(SessionScenario {
        scenario: out.display().to_string(),
        trace: beside.display().to_string(),
        apps: trace.processes[..others].to_vec(),
        launches: session.launches.len(),
        cold: session.launches.iter().filter(|launch| launch.cold).count(),
        timed,
        kills: session.kills.len(),
        requests: trace.report.requests,
        others: trace.requests.iter().filter(|r| usize::from(r.process.0) == others).count() as u64,
        warnings,
    })
}
