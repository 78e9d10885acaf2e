//! What a specification asks for: a machine, a way to replay a trace.

use toml::Value;
use units::Nanos;
use workload::{Recorded, ReplayMode, TraceOptions};

use crate::error::LabError;
use crate::open::trace::trace_options;
use crate::options::memory_plan::{self, MemoryPlan};
use crate::options::{OPTIONS, Spec};
use crate::profile::{Description, Override, Profile};
use crate::stack::system::{Parts, SystemSpec};

/// Requests that a queued or closed replay keeps outstanding if nothing is said of it.
const USUAL_DEPTH: u32 = 8;

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
        Spec { scheme: scheme.into(), workload: workload.into(), ..Spec::default() }
    }

    /// Reads a spec from JSON.
    ///
    /// # Errors
    /// Unknown or missing fields and wrong types.
    pub fn from_json(text: &str) -> Result<Spec, LabError> {
        let wrong = |error: String| LabError::Config(format!("run specification: {error}"));
        let given: serde_json::Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if let Some(missing) = OPTIONS.iter().find(|option| option.required && given.get(option.key).is_none()) {
            return Err(wrong(format!("missing field `{}`", missing.key)));
        }
        serde_json::from_value(given).map_err(|error| wrong(error.to_string()))
    }

    /// The machine asked for.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn resolve(&self) -> Result<Machine, LabError> {
        self.check_options()?;
        // The trace is read when the device has aged, but a wrong word about it is told at once.
        self.trace_options()?;
        if let (Some(age), Some(from)) = (&self.age, &self.from) {
            return Err(LabError::Config(format!(
                "age = \"{age}\" and from = \"{from}\": only one of them can be given"
            )));
        }
        if self.stay_on && self.age.is_none() {
            let told = "--stay-on (stay_on) has no effect without --age (age): only a machine that has just aged is \
                        on; a state from a file was switched off";
            return Err(LabError::Option(told.into()));
        }
        let parts = SystemSpec {
            scheme: self.scheme.clone(),
            scheduler: self.scheduler.clone(),
            booster: self.booster.clone(),
            mapping: self.mapping.clone(),
        };
        let parts = parts.resolve().map_err(|e| LabError::Config(e.to_string()))?;
        self.cut_after()?;
        let profile = Profile::load(&self.profile, &self.overrides()?);
        let profile = profile.map_err(|e| LabError::Config(e.to_string()))?.for_parts(parts);
        profile.check_parts(parts).map_err(|e| LabError::Config(e.to_string()))?;
        Ok(Machine { parts, profile })
    }

    /// All that can be said of the profile, with the values that the run replaces.
    ///
    /// # Errors
    /// What is wrong with the profile or these values.
    pub fn description(&self) -> Result<Description, LabError> {
        Description::load(&self.profile, &self.overrides()?).map_err(LabError::config)
    }

    /// Replaced values of the profile.
    pub(crate) fn overrides(&self) -> Result<Vec<Override>, LabError> {
        let memory = self.host_memory_mib.as_ref().map(memory_plan::parse).transpose()?;
        let memory = memory.iter().map(|(value, _)| ("host.memory_mib", value));
        let all = self.set.iter().map(|(key, value)| (key.as_str(), value)).chain(memory);
        all.map(|(key, value)| Ok((key.to_owned(), to_toml(key, value)?))).collect()
    }

    /// What becomes of the limit of host memory during the run.
    pub(crate) fn memory_plan(&self) -> Result<MemoryPlan, LabError> {
        self.host_memory_mib
            .as_ref()
            .map_or_else(|| Ok(MemoryPlan::default()), |given| Ok(memory_plan::parse(given)?.1))
    }

    /// When the power is to be cut, after the first measured request.
    pub(crate) fn cut_after(&self) -> Result<Option<Nanos>, LabError> {
        let Some(text) = &self.cut_at else { return Ok(None) };
        let told = "must be a time such as 2s, 150ms or 1min";
        let at = crate::options::duration::time(text)
            .ok_or_else(|| LabError::Config(format!("cut_at = \"{text}\": {told}")))?;
        if self.verify {
            let told = "verify (--verify) has no effect with cut_at (--cut-at): `ufsim crash` checks what devices hold \
                        after power cuts";
            return Err(LabError::Option(told.into()));
        }
        Ok(Some(at))
    }

    /// How a trace is to be replayed.
    pub(crate) fn replay_mode(&self) -> ReplayMode {
        let depth = self.depth.unwrap_or(USUAL_DEPTH);
        match self.replay.as_deref() {
            Some("closed") => ReplayMode::Closed { depth, per_file: self.per_cpu_streams },
            Some("queued") => ReplayMode::Queued { depth },
            _ => ReplayMode::Timed,
        }
    }

    /// Whether neighbouring requests of a trace that was recorded there are to be merged.
    pub(crate) fn merges(&self, recorded: Recorded) -> bool {
        match self.merge.as_deref() {
            Some("on") => true,
            Some("off") => false,
            _ => recorded == Recorded::Above,
        }
    }

    /// How a trace is to be read.
    pub(crate) fn trace_options(&self) -> Result<TraceOptions, LabError> {
        trace_options(self.format.as_deref(), self.device.as_deref(), &self.clean)
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
        match spec.and_then(|s| s.resolve()) {
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
                "format = \"cvs\": must be one of blktrace, perfetto, vscsi, blkparse, ftrace, iolog, mobile, nexus5, \
                 biosnoop, systor17, alibaba, tencent, msr, spc, mqsim, csv",
            ),
            (
                r#"{"scheme": "ufs", "workload": "x", "clean": ["all"]}"#,
                "clean = \"all\": must be one of duplicates, gaps, packed, pages",
            ),
            (
                r#"{"scheme": "ufs", "workload": "x", "set": {"nand.planes": 0}}"#,
                "profile hp-ufs: nand.planes = 0: must be 1..=6",
            ),
            (r#"{"scheme": "ufs", "workload": "x", "set": {"nand.planes": []}}"#, "nand.planes = []: must be a number"),
            (
                r#"{"scheme": "ufs", "workload": "x", "host_memory_mib": "much"}"#,
                "host_memory_mib = \"much\": 'much': must be MIB, or MIB,TIME=MIB,...",
            ),
            (r#"{"scheme": "zfs", "workload": "x"}"#, "scheme = \"zfs\": must be one of"),
        ] {
            let got = error(json);
            assert!(got.contains(told), "{json}: {got}");
        }
    }
}
