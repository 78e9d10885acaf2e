//! Traces without a device: what is in one, and the same as a file of another format.

use std::path::Path;

use serde::{Deserialize, Serialize};
use units::Nanos;
use workload::{
    CleanRule, Format, JoinAddresses, JoinPart, JoinRule, Trace, TraceDevice, TraceError, TraceOptions, TraceReport,
    TraceStats,
};

use crate::error::LabError;
use crate::open::generated;
use crate::options::Spec;
use crate::report::recorded;
use crate::report::recording::Recording;
use crate::report::result::Latencies;

/// What to read, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
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

    /// Reads the trace, or generates that of a description under the first seed of a run; and the name of its format.
    ///
    /// # Errors
    /// Everything that is wrong with it, with file and place.
    fn read(&self) -> Result<(Trace, &'static str), LabError> {
        let options = trace_options(self.format.as_deref(), self.device.as_deref(), &self.clean)?;
        if let Some(description) = generated(&self.path)? {
            if options != TraceOptions::default() {
                let told = "is generated: there is no format, device or cleaning rule to choose";
                return Err(LabError::Config(format!("{}: {told}", self.path)));
            }
            let trace = description.trace(&self.path, Spec::default().seed).map_err(LabError::config)?;
            return Ok((trace, "generated"));
        }
        let trace = Trace::read(Path::new(&self.path), &options).map_err(LabError::config)?;
        let format = trace.format.name();
        Ok((trace, format))
    }
}

/// The options of those names.
pub(crate) fn trace_options(
    format: Option<&str>,
    device: Option<&str>,
    clean: &[String],
) -> Result<TraceOptions, LabError> {
    let config = |error: TraceError| LabError::Config(error.to_string());
    let clean: Result<Vec<_>, _> = clean.iter().map(|name| CleanRule::named(name)).collect();
    Ok(TraceOptions {
        format: format.map(Format::named).transpose().map_err(config)?,
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
        about: format.doc(),
        needs: format.needs(),
        writable: format.can_be_written(),
    };
    Format::ALL.iter().map(describe).collect()
}

/// Names of the cleaning rules.
pub fn clean_rules() -> Vec<&'static str> {
    CleanRule::NAMES.to_vec()
}

/// What is in a trace.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceInfo {
    /// Path.
    pub trace: String,
    /// Name of its format; "generated" for that of a description.
    pub format: &'static str,
    /// What its reader has counted.
    #[serde(flatten)]
    pub report: TraceReport,
    /// Numbers by which people know it.
    #[serde(flatten)]
    pub stats: TraceStats,
    /// Latencies of the traced device; `null` if the trace has no completions.
    pub recorded_latency_ns: Option<Latencies>,
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
    ///
    /// # Errors
    /// Everything that is wrong with it, with file and place.
    pub fn of(spec: &TraceSpec) -> Result<TraceInfo, LabError> {
        let (trace, format) = spec.read()?;
        Ok(TraceInfo {
            stats: trace.stats(),
            recorded_latency_ns: recorded(&Recording::of(&trace.requests)).map(|recorded| recorded.latency_ns),
            processes: processes(&trace),
            warnings: trace.report.warnings(),
            trace: trace.name,
            format,
            report: trace.report,
            devices: trace.devices,
        })
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
    let config = |error: TraceError| LabError::Config(error.to_string());
    let to = Format::writable(format).map_err(config)?;
    refuse_own_source(out, std::slice::from_ref(spec), "the trace itself")?;
    let (trace, from) = spec.read()?;
    let lost = trace.write(to, out).map_err(unwritten)?;
    Ok(Converted {
        from,
        to: to.name(),
        file: out.display().to_string(),
        requests: trace.report.requests,
        lost,
        warnings: trace.report.warnings(),
    })
}

/// What it means that a trace cannot be written: the disk is at fault, or what was asked for.
pub(crate) fn unwritten(error: TraceError) -> LabError {
    match error {
        TraceError::Io { .. } => LabError::Output(error.to_string()),
        _ => LabError::config(error),
    }
}

/// Which traces to join, and how.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinSpec {
    /// The traces, in their order.
    pub traces: Vec<TraceSpec>,
    /// merge, alternate or append.
    pub rule: String,
    /// shared or stacked.
    pub addresses: String,
    /// Length of a turn, for the rule alternate.
    pub turn_seconds: Option<f64>,
    /// Silence before each trace; empty for none.
    #[serde(default)]
    pub shift_seconds: Vec<f64>,
}

/// Rules by which traces are joined.
const JOIN_RULES: [&str; 3] = ["merge", "alternate", "append"];

/// What may become of their addresses.
const JOIN_ADDRESSES: [&str; 2] = ["shared", "stacked"];

/// Shifts and turns are at most this long: three years.
const MOST_SECONDS: f64 = 1e8;

impl JoinSpec {
    /// Reads a spec from JSON.
    ///
    /// # Errors
    /// Unknown or missing fields and wrong types.
    pub fn from_json(text: &str) -> Result<JoinSpec, LabError> {
        serde_json::from_str(text).map_err(|error| LabError::Config(format!("specification of a join: {error}")))
    }

    fn how(&self) -> Result<(JoinRule, JoinAddresses), LabError> {
        let wrong = |key: &str, value: &str, allowed: &[&str]| {
            Err(LabError::Config(format!("{key} = \"{value}\": must be one of {}", allowed.join(", "))))
        };
        let rule = match (self.rule.as_str(), self.turn_seconds) {
            ("alternate", Some(turn)) => JoinRule::Alternate { turn: seconds("turn", turn)? },
            ("alternate", None) => {
                return Err(LabError::Config("turn: the rule alternate needs the length of a turn, in seconds".into()));
            }
            ("merge" | "append", Some(_)) => {
                let told =
                    format!("--turn (turn_seconds) has no effect with the rule {}; it is for alternate", self.rule);
                return Err(LabError::Option(told));
            }
            ("merge", None) => JoinRule::Merge,
            ("append", None) => JoinRule::Append,
            (other, _) => return wrong("rule", other, &JOIN_RULES),
        };
        match self.addresses.as_str() {
            "shared" => Ok((rule, JoinAddresses::Shared)),
            "stacked" => Ok((rule, JoinAddresses::Stacked)),
            other => wrong("addresses", other, &JOIN_ADDRESSES),
        }
    }

    fn shifts(&self) -> Result<Vec<Nanos>, LabError> {
        let (given, traces) = (self.shift_seconds.len(), self.traces.len());
        if given > 0 && given != traces {
            return Err(LabError::Config(format!("shift: {given} values for {traces} traces; give one for each")));
        }
        let all = self.shift_seconds.iter().map(|&shift| seconds("shift", shift));
        Ok(all.collect::<Result<Vec<_>, _>>()?.into_iter().chain(vec![Nanos::ZERO; traces - given]).collect())
    }
}

fn seconds(key: &str, value: f64) -> Result<Nanos, LabError> {
    if !(0.0..=MOST_SECONDS).contains(&value) {
        return Err(LabError::Config(format!("{key} = {value}: must be seconds from 0 to {MOST_SECONDS}")));
    }
    Ok(Nanos((value * 1e9).round() as u64))
}

/// What became of a join.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Joined {
    /// The new file.
    pub file: String,
    /// Its requests.
    pub requests: u64,
    /// What it tells of where it comes from.
    pub origin: Vec<String>,
    /// What the readers of the traces noticed.
    pub warnings: Vec<String>,
}

/// Joins traces and writes them as CSV, the only format that tells where they come from.
///
/// # Errors
/// Everything that is wrong with traces, rule or file.
pub fn join_traces(spec: &JoinSpec, out: &Path) -> Result<Joined, LabError> {
    let (rule, addresses) = spec.how()?;
    let shifts = spec.shifts()?;
    let file = out.display().to_string();
    refuse_own_source(out, &spec.traces, "one of the traces to join")?;
    let mut parts = Vec::new();
    let mut warnings = Vec::new();
    for (source, shift) in spec.traces.iter().zip(shifts) {
        let (trace, _) = source.read()?;
        let label = label_of(&source.path);
        warnings.extend(trace.report.warnings().into_iter().map(|warning| format!("{label}: {warning}")));
        parts.push(JoinPart { label, shift, trace });
    }
    let joined = Trace::joined(&file, &parts, rule, addresses).map_err(LabError::config)?;
    joined.write(Format::Csv, out).map_err(unwritten)?;
    Ok(Joined { file, requests: joined.report.requests, origin: joined.report.origin, warnings })
}

/// What is made of traces must not take the place of one of them.
fn refuse_own_source(out: &Path, traces: &[TraceSpec], what: &str) -> Result<(), LabError> {
    let is_out = |path: &Path| matches!((path.canonicalize(), out.canonicalize()), (Ok(one), Ok(out)) if one == out);
    match traces.iter().find(|trace| is_out(Path::new(&trace.path))) {
        Some(same) => Err(LabError::Config(format!("out = \"{}\": is {}, {what}", out.display(), same.path))),
        None => Ok(()),
    }
}

/// The name of a file or directory.
fn label_of(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: &str = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n0,write,x,8,4096,,,p\n";

    /// A directory with traces `a` and `b`, removed at its end.
    struct Directory(std::path::PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("ufsim-join-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            for trace in ["a", "b"] {
                std::fs::write(path.join(trace), REQUESTS).unwrap();
            }
            Directory(path)
        }

        fn spec(&self, json: &str) -> JoinSpec {
            let of = |name| format!(r#"{{"path": "{}"}}"#, self.0.join(name).display());
            JoinSpec::from_json(&format!(r#"{{"traces": [{}, {}], {json}}}"#, of("a"), of("b"))).unwrap()
        }

        fn join(&self, json: &str, out: &str) -> Result<Joined, String> {
            join_traces(&self.spec(json), &self.0.join(out)).map_err(|error| error.to_string())
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn wrong_joins_are_refused_in_one_sentence_and_leave_nothing() {
        let directory = Directory::new("wrong");
        for (json, told) in [
            (r#""rule": "mix", "addresses": "shared""#, "rule = \"mix\": must be one of merge, alternate, append"),
            (r#""rule": "merge", "addresses": "all""#, "addresses = \"all\": must be one of shared, stacked"),
            (r#""rule": "alternate", "addresses": "shared""#, "turn: the rule alternate needs the length of a turn"),
            (r#""rule": "merge", "addresses": "shared", "turn_seconds": 1"#, "--turn (turn_seconds) has no effect"),
            (r#""rule": "merge", "addresses": "shared", "shift_seconds": [1]"#, "shift: 1 values for 2 traces"),
            (r#""rule": "merge", "addresses": "shared", "shift_seconds": [1, -1]"#, "shift = -1: must be seconds"),
            (r#""rule": "alternate", "addresses": "shared", "turn_seconds": 1e9"#, "turn = 1000000000: must be"),
            (
                r#""rule": "alternate", "addresses": "shared", "turn_seconds": 0"#,
                "join: turns of 0 s never end; allowed is more than 0",
            ),
        ] {
            let error = directory.join(json, "out").unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
        let good = r#""rule": "merge", "addresses": "shared""#;
        assert!(directory.join(good, "a").unwrap_err().ends_with("one of the traces to join"));
        std::fs::write(directory.0.join("b"), format!("{REQUESTS}1,write,x,none,4096,,,p\n")).unwrap();
        let error = directory.join(good, "out").unwrap_err();
        assert!(error.contains("b: line 3, column 11: sector is 'none'"), "{error}");
        let left: Vec<_> = std::fs::read_dir(&directory.0).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn a_trace_is_not_converted_into_itself() {
        let directory = Directory::new("itself");
        let path = directory.0.join("a");
        let spec = TraceSpec { path: path.display().to_string(), ..TraceSpec::default() };
        let error = convert_trace(&spec, &path, "spc").unwrap_err().to_string();
        assert!(error.ends_with("the trace itself"), "{error}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), REQUESTS);
    }

    #[test]
    fn what_is_told_of_a_join_stands_in_the_file() {
        let directory = Directory::new("told");
        let json = r#""rule": "append", "addresses": "stacked", "shift_seconds": [0, 2.5]"#;
        let joined = directory.join(json, "out").unwrap();
        assert_eq!((joined.requests, joined.origin.len()), (2, 3));
        let spec = TraceSpec { path: joined.file, ..TraceSpec::default() };
        let info = TraceInfo::of(&spec).unwrap();
        assert_eq!((info.report.origin, info.report.duration), (joined.origin, Nanos(2_500_000_000)));
    }
}
