//! The simulation of the whole: conversions around crate `whole`.

use std::collections::BTreeMap;

use ::whole::{Case, Failure, Hole, Report};
use pyo3::prelude::*;

use crate::errors::ConfigError;

/// Goes through one case of the simulation of the whole and returns its report, or what was broken, as JSON. `case` is
/// the text form of a case.
#[pyfunction]
pub fn whole_case(py: Python<'_>, case: &str) -> PyResult<String> {
    let case: Case = case.parse().map_err(ConfigError::new_err)?;
    let report = match py.detach(|| case.run()) {
        Ok(report) => report_json(&report),
        Err(failure) => failure_json(&failure),
    };
    Ok(report.to_string())
}

fn failure_json(failure: &Failure) -> serde_json::Value {
    serde_json::json!({
        "seed": failure.case.seed,
        "case": failure.case.to_string(),
        "scheme": failure.case.preset().name(),
        "what": failure.what,
        "acts": failure.told,
    })
}

fn report_json(report: &Report) -> serde_json::Value {
    let Report { scheme, steps, requests, checked, cuts, ends, faults } = report;
    let counts = |counts: &BTreeMap<&'static str, u32>| serde_json::json!(counts);
    serde_json::json!({
        "scheme": scheme,
        "steps": steps,
        "requests": requests,
        "checked_units": checked,
        "cuts": cuts,
        "longest_recovery_ns": 0,
        "moments": counts(ends),
        "circumstances": counts(faults),
    })
}

/// The promises around the device that can be broken: name, and what happens then, in one line.
#[pyfunction]
pub fn whole_holes() -> Vec<(&'static str, &'static str)> {
    Hole::ALL.iter().map(|(name, hole)| (*name, hole.summary())).collect()
}
