//! A phone as the workload of a run: its scenario, and what it reports besides the device's figures.

use std::path::Path;

use android::{Phone, ReadLog, Scenario};

use crate::api::{About, LabError, OnProgress, Wall, run_source};
use crate::profile::Profile;
use crate::result::RunResult;
use crate::spec::Spec;
use crate::system::Parts;

/// Bytes of a mapping entry in host memory, the larger of the boosters' two (an HPB entry has 8).
const ENTRY_BYTES: u64 = 8;

/// Runs a scenario, and keeps every read if `keep_reads`.
///
/// # Errors
/// See [`crate::simulate`]; a workload that is no scenario is one.
pub fn simulate_phone(
    spec: &Spec,
    keep_reads: bool,
    progress: &mut OnProgress,
) -> Result<(RunResult, Option<ReadLog>), LabError> {
    let wall = Wall::start();
    let (parts, profile) = spec.resolve()?;
    let scenario = scenario(spec)?.ok_or_else(|| {
        LabError::Config(format!("{}: is no scenario of a phone: it must be TOML with a table [phone]", spec.workload))
    })?;
    run(spec, (parts, &profile), &scenario, (&wall, keep_reads), progress)
}

/// The scenario that a spec names, if it names one: TOML with a table `[phone]`.
pub(crate) fn scenario(spec: &Spec) -> Result<Option<Scenario>, LabError> {
    let path = Path::new(&spec.workload);
    if path.extension().is_none_or(|e| e != "toml") {
        return Ok(None);
    }
    let config = |text: String| LabError::Config(text);
    let text = std::fs::read_to_string(path).map_err(|e| config(format!("{}: {e}", spec.workload)))?;
    if !text.lines().any(|line| line.trim_start().starts_with("[phone]")) {
        return Ok(None);
    }
    Scenario::parse(&text, &spec.workload).map(Some).map_err(|e| config(e.to_string()))
}

pub(crate) fn run(
    spec: &Spec,
    (parts, profile): (Parts, &Profile),
    scenario: &Scenario,
    (wall, keep_reads): (&Wall, bool),
    progress: &mut OnProgress,
) -> Result<(RunResult, Option<ReadLog>), LabError> {
    let units = profile.capacity_units();
    let whole_table = u64::from(units) * ENTRY_BYTES;
    let limit = profile.host_config(parts).memory_limit_bytes.unwrap_or(whole_table).min(whole_table);
    let most = if parts.booster == host::BoosterKind::None { 0 } else { limit };
    let phone = Phone::new(scenario, units, spec.seed, most);
    let mut phone = phone.map_err(|e| LabError::Config(format!("{}: {e}", spec.workload)))?;
    if keep_reads {
        phone.log_reads();
    }
    let about = About { replay: "phone", depth: None, warnings: Vec::new() };
    let mut result = run_source(spec, (parts, profile), (&mut phone, about), wall, progress)?;
    result.phone = Some(phone.report());
    Ok((result, phone.take_reads()))
}
