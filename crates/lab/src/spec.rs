//! What a user asks for: one run, as plain values that a command line or a script can fill in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Value;
use workload::{ReplayMode, TraceOptions};

use crate::error::LabError;
use crate::profile::{Override, Profile};
use crate::system::{Parts, SystemSpec};
use crate::trace::trace_options;

/// What is written before the run.
const PRECONDITIONS: &[&str] = &["none", "footprint", "touched"];
const REPLAYS: &[&str] = &["timed", "queued", "closed"];

/// One run. Fields left out take their defaults; unknown fields are errors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Preset; see [`crate::schemes`].
    pub scheme: String,
    /// Scheduler instead of the preset's.
    #[serde(default)]
    pub scheduler: Option<String>,
    /// Booster instead of the preset's.
    #[serde(default)]
    pub booster: Option<String>,
    /// Mapping scheme instead of the preset's.
    #[serde(default)]
    pub mapping: Option<String>,
    /// Name of an embedded profile, or path of a file.
    #[serde(default = "default_profile")]
    pub profile: String,
    /// Values of the profile to replace: `section.key` to a number, boolean or string.
    #[serde(default)]
    pub set: BTreeMap<String, serde_json::Value>,
    /// Path of a fio job file (`.fio`, `.job`), a SQLite workload or a phone (`.toml`), a trace file, or a directory of per-CPU trace
    /// files.
    pub workload: String,
    /// Traces: "timed" (by recorded time), "queued" (the same, but at most `depth` at once), "closed" (as fast as `depth`
    /// allows).
    #[serde(default = "default_replay")]
    pub replay: String,
    /// Queued and closed replay: outstanding requests, 1..=65536.
    #[serde(default = "default_depth")]
    pub depth: u32,
    /// Closed replay: every per-CPU file is a stream with a depth of its own.
    #[serde(default)]
    pub per_cpu_streams: bool,
    /// Seed of everything random.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Written before, unmeasured: "none", "footprint" (what the workload may read), "touched" (what it may read,
    /// write or trim).
    #[serde(default = "default_precondition")]
    pub precondition: String,
    /// Ages the device first and switches it off and on: a fio job file, or the options of one job, such as
    /// "rw=randwrite bs=4k iodepth=16 size=52g".
    #[serde(default)]
    pub age: Option<String>,
    /// Begins with a device that `ufsim age` has left in this file.
    #[serde(default)]
    pub from: Option<String>,
    /// Short for `host.memory_mib`: a number or "unlimited".
    #[serde(default)]
    pub host_memory_mib: Option<serde_json::Value>,
    /// Traces of several devices: which one, such as 253:5.
    #[serde(default)]
    pub device: Option<String>,
    /// Traces: their format; left out, it is recognised. See [`crate::trace::trace_formats`].
    #[serde(default)]
    pub format: Option<String>,
    /// Traces: cleaning rules. See [`crate::trace::clean_rules`].
    #[serde(default)]
    pub clean: Vec<String>,
}

fn default_profile() -> String {
    "hp-ufs".into()
}

fn default_replay() -> String {
    "timed".into()
}

fn default_depth() -> u32 {
    8
}

fn default_seed() -> u64 {
    1
}

fn default_precondition() -> String {
    "footprint".into()
}

/// `field = "value": must be one of ...`, or nothing.
fn one_of(field: &str, value: &str, allowed: &[&str]) -> Result<(), LabError> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(LabError::Config(format!("{field} = \"{value}\": must be one of {}", allowed.join(", "))))
}

/// What a system is built from.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Scheduler, booster and mapping scheme.
    pub parts: Parts,
    /// The numbers of the device, its link and its driver.
    pub profile: Profile,
}

impl Spec {
    /// A run with all defaults.
    pub fn new(scheme: &str, workload: &str) -> Spec {
        Spec {
            scheme: scheme.into(),
            scheduler: None,
            booster: None,
            mapping: None,
            profile: default_profile(),
            set: BTreeMap::new(),
            workload: workload.into(),
            replay: default_replay(),
            depth: default_depth(),
            per_cpu_streams: false,
            seed: default_seed(),
            precondition: default_precondition(),
            age: None,
            from: None,
            host_memory_mib: None,
            device: None,
            format: None,
            clean: Vec::new(),
        }
    }

    /// Reads a spec from JSON.
    ///
    /// # Errors
    /// Unknown or missing fields and wrong types.
    pub fn from_json(text: &str) -> Result<Spec, LabError> {
        serde_json::from_str(text).map_err(|error| LabError::Config(format!("run specification: {error}")))
    }

    /// The machine asked for.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn resolve(&self) -> Result<Machine, LabError> {
        one_of("replay", &self.replay, REPLAYS)?;
        one_of("precondition", &self.precondition, PRECONDITIONS)?;
        if let (Some(age), Some(from)) = (&self.age, &self.from) {
            return Err(LabError::Config(format!(
                "age = \"{age}\" and from = \"{from}\": only one of them can be given"
            )));
        }
        let parts = SystemSpec {
            scheme: self.scheme.clone(),
            scheduler: self.scheduler.clone(),
            booster: self.booster.clone(),
            mapping: self.mapping.clone(),
        };
        let parts = parts.resolve().map_err(|e| LabError::Config(e.to_string()))?;
        let profile = Profile::load(&self.profile, &self.overrides()?);
        let profile = profile.map_err(|e| LabError::Config(e.to_string()))?;
        profile.check_mapping(parts.mapping).map_err(|e| LabError::Config(e.to_string()))?;
        Ok(Machine { parts, profile })
    }

    /// Replaced values of the profile.
    pub(crate) fn overrides(&self) -> Result<Vec<Override>, LabError> {
        let memory = self.host_memory_mib.iter().map(|value| ("host.memory_mib", value));
        let all = self.set.iter().map(|(key, value)| (key.as_str(), value)).chain(memory);
        all.map(|(key, value)| Ok((key.to_owned(), to_toml(key, value)?))).collect()
    }

    /// How a trace is to be replayed.
    pub(crate) fn replay_mode(&self) -> ReplayMode {
        match self.replay.as_str() {
            "closed" => ReplayMode::Closed { depth: self.depth, per_file: self.per_cpu_streams },
            "queued" => ReplayMode::Queued { depth: self.depth },
            _ => ReplayMode::Timed,
        }
    }

    /// How a trace is to be read.
    pub(crate) fn trace_options(&self) -> Result<TraceOptions, LabError> {
        trace_options(self.format.as_deref(), self.device.as_deref(), &self.clean)
    }

    /// The command that repeats the run.
    pub fn command(&self) -> String {
        let mut words = vec!["ufsim run".to_owned(), format!("--scheme {}", self.scheme)];
        let parts = [("scheduler", &self.scheduler), ("booster", &self.booster), ("mapping", &self.mapping)];
        words.extend(parts.iter().filter_map(|(name, value)| Some(format!("--{name} {}", value.as_ref()?))));
        words.push(format!("--profile {} --seed {}", self.profile, self.seed));
        words.push(format!("--replay {} --depth {} --precondition {}", self.replay, self.depth, self.precondition));
        if self.per_cpu_streams {
            words.push("--per-cpu-streams".into());
        }
        words.extend(self.overrides().unwrap_or_default().iter().map(|(key, value)| format!("--set '{key}={value}'")));
        words.extend(self.age.iter().map(|age| format!("--age '{age}'")));
        words.extend(self.from.iter().map(|from| format!("--from {from}")));
        words.extend(self.device.iter().map(|device| format!("--device {device}")));
        words.extend(self.format.iter().map(|format| format!("--format {format}")));
        words.extend(self.clean.iter().map(|rule| format!("--clean {rule}")));
        words.push(self.workload.clone());
        words.join(" ")
    }
}

fn to_toml(key: &str, value: &serde_json::Value) -> Result<Value, LabError> {
    let scalar = match value {
        serde_json::Value::Bool(b) => Some(Value::Boolean(*b)),
        serde_json::Value::String(s) => Some(Value::String(s.clone())),
        serde_json::Value::Number(n) => n.as_i64().map(Value::Integer).or_else(|| n.as_f64().map(Value::Float)),
        _ => None,
    };
    scalar.ok_or_else(|| LabError::Config(format!("set: {key} = {value}: must be a number, a boolean or a string")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str) -> String {
        let spec = Spec::from_json(json);
        match spec.and_then(|s| s.trace_options().and_then(|_| s.resolve())) {
            Err(LabError::Config(text)) => text,
            other => panic!("expected a configuration error, got {other:?}"),
        }
    }

    #[test]
    fn defaults_fill_what_is_left_out() {
        let spec = Spec::from_json(r#"{"scheme": "ufs", "workload": "x.fio"}"#).unwrap();
        assert_eq!(spec, Spec::new("ufs", "x.fio"));
        assert!(spec.resolve().is_ok());
    }

    #[test]
    fn wrong_fields_are_named() {
        for (json, told) in [
            (r#"{"scheme": "ufs", "workload": "x", "sede": 1}"#, "unknown field `sede`"),
            (r#"{"scheme": "ufs"}"#, "missing field `workload`"),
            (
                r#"{"scheme": "ufs", "workload": "x", "replay": "fast"}"#,
                "replay = \"fast\": must be one of timed, queued, closed",
            ),
            (
                r#"{"scheme": "ufs", "workload": "x", "precondition": "all"}"#,
                "precondition = \"all\": must be one of none, footprint, touched",
            ),
            (
                r#"{"scheme": "ufs", "workload": "x", "format": "cvs"}"#,
                "format = \"cvs\": must be one of blktrace, blkparse, ftrace, iolog, mobile, nexus5, msr, spc, mqsim, csv",
            ),
            (
                r#"{"scheme": "ufs", "workload": "x", "clean": ["all"]}"#,
                "clean = \"all\": must be one of duplicates, gaps, packed, pages",
            ),
            (
                r#"{"scheme": "ufs", "workload": "x", "set": {"nand.planes": 0}}"#,
                "profile hp-ufs: nand.planes = 0: must be 1..=4",
            ),
            (r#"{"scheme": "ufs", "workload": "x", "set": {"nand.planes": []}}"#, "nand.planes = []: must be a number"),
            (
                r#"{"scheme": "ufs", "workload": "x", "host_memory_mib": "much"}"#,
                "host.memory_mib = \"much\": must be 1..=65536 or \"unlimited\"",
            ),
            (r#"{"scheme": "zfs", "workload": "x"}"#, "scheme = \"zfs\": must be one of"),
        ] {
            let got = error(json);
            assert!(got.contains(told), "{json}: {got}");
        }
    }

    #[test]
    fn the_command_names_every_choice() {
        let mut spec = Spec::new("hp-ufs", "traces/chrome");
        spec.set.insert("host.memory_mib".into(), 5.into());
        (spec.per_cpu_streams, spec.seed) = (true, 77);
        (spec.format, spec.clean) = (Some("blktrace".into()), vec!["gaps".into()]);
        assert_eq!(
            spec.command(),
            "ufsim run --scheme hp-ufs --profile hp-ufs --seed 77 --replay timed --depth 8 --precondition footprint \
             --per-cpu-streams --set 'host.memory_mib=5' --format blktrace --clean gaps traces/chrome"
        );
    }
}
