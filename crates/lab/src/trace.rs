//! Traces without a device: what is in one, and the same as a file of another format.

use std::path::Path;

use serde::Serialize;
use workload::{CleanRule, Format, Session, Trace, TraceDevice, TraceOptions, TraceReport, TraceStats};

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
    /// What a file has to have to hold requests; empty where every line is one.
    pub needs: &'static str,
    /// It can be written, too.
    pub writable: bool,
}

/// Every format, in the order in which they are tried.
pub fn trace_formats() -> Vec<TraceFormat> {
    let describe = |format: &Format| TraceFormat {
        name: format.name(),
        about: format.about(),
        needs: format.needs(),
        writable: format.can_be_written(),
    };
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
    /// What its reader has counted.
    #[serde(flatten)]
    pub report: TraceReport,
    /// Numbers by which people know it.
    #[serde(flatten)]
    pub stats: TraceStats,
    /// Devices, where they lie, and their requests.
    pub devices: Vec<TraceDevice>,
    /// Processes by number of requests, at most `MOST_PROCESSES`.
    pub processes: Vec<ProcessInfo>,
    /// What one should know before believing a run of it.
    pub warnings: Vec<String>,
}

/// Processes that are listed.
const MOST_PROCESSES: usize = 10;

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
        TraceInfo {
            trace: trace.name.clone(),
            format: trace.format.name(),
            report: trace.report.clone(),
            stats: trace.stats(),
            devices: trace.devices.clone(),
            processes: processes(trace),
            warnings: trace.report.warnings(),
        }
    }
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

/// Writes a session of a phone, ftrace text or a recording of Perfetto, as a scenario: `out`, TOML, and beside it the
/// requests as CSV.
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
