//! Power cuts: conversions around crates `campaign` and `whole`.

use std::collections::BTreeMap;

use ::whole::Hole;
use campaign::recovery::{DeviceStats, PAGES, SEGMENTS};
use campaign::{CIRCUMSTANCES, MOMENTS, sabotages};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::ConfigError;

/// Goes through one case of the power-cut campaign, or of the simulation of the whole, and returns its report, or what
/// was broken, as JSON. `case` is the text form of a case. `tried` is called with the number of smaller cases tried.
#[pyfunction]
#[pyo3(signature = (case, whole = false, tried = None))]
pub fn crash_case(py: Python<'_>, case: &str, whole: bool, tried: Option<Py<PyAny>>) -> PyResult<String> {
    let tried = |attempts: u32| {
        let Some(tried) = &tried else { return };
        Python::attach(|py| tried.call1(py, (attempts,)).map_or_else(|error| error.write_unraisable(py, None), drop));
    };
    let report = if whole {
        let case: ::whole::Case = case.parse().map_err(ConfigError::new_err)?;
        py.detach(|| case.run(&tried)).map_or_else(|failure| of_whole_failure(&failure), |report| of_whole(&report))
    } else {
        let case: campaign::Case = case.parse().map_err(ConfigError::new_err)?;
        py.detach(|| case.run(&tried)).map_or_else(|failure| of_failure(&failure), |report| of_device(&report))
    };
    Ok(report.to_string())
}

fn of_failure(failure: &campaign::Failure) -> Value {
    let case = &failure.case;
    told(case.seed, case.to_string(), failure.scheme, &failure.what, case.told())
}

fn of_whole_failure(failure: &::whole::Failure) -> Value {
    let case = &failure.case;
    told(case.seed, case.to_string(), case.preset().name, &failure.what, failure.told.clone())
}

fn told(seed: u64, case: String, scheme: &str, what: &str, acts: Vec<String>) -> Value {
    json!({ "seed": seed, "case": case, "scheme": scheme, "what": what, "acts": acts })
}

fn of_device(report: &campaign::Report) -> Value {
    let counts = |names: &[&'static str], values: &[u32]| -> BTreeMap<_, _> {
        names.iter().copied().zip(values.iter().copied()).collect()
    };
    json!({
        "scheme": report.scheme,
        "cuts": report.cuts,
        "moments": counts(&MOMENTS, &report.moments),
        "circumstances": counts(&CIRCUMSTANCES, &report.circumstances),
        "longest_recovery_ns": report.longest_recovery_ns,
    })
}

fn of_whole(report: &::whole::Report) -> Value {
    json!({
        "scheme": report.scheme,
        "steps": report.steps,
        "requests": report.requests,
        "checked_units": report.checked,
        "cuts": report.cuts,
        "longest_recovery_ns": 0,
        "moments": report.ends,
        "circumstances": report.faults,
    })
}

/// The promises that a device can be made to break, or with `whole` what is around it: name, and what happens then, in
/// one line.
#[pyfunction]
#[pyo3(signature = (whole = false))]
pub fn crash_sabotages(whole: bool) -> Vec<(&'static str, &'static str)> {
    if whole { Hole::ALL.iter().map(|hole| (hole.name(), hole.doc())).collect() } else { sabotages() }
}

/// A recovery of the HP-UFS paper's device: what it has found, and its times in milliseconds by part, as JSON. With
/// `segment_kib`, the profile's key of that name, tables lie beside the SRAM pool.
#[pyfunction]
#[pyo3(signature = (segments, pages, segment_kib = None))]
pub fn recovery(py: Python<'_>, segments: u32, pages: u32, segment_kib: Option<u32>) -> PyResult<String> {
    if let Some(kib) = segment_kib.filter(|kib| ![1, 2, 4].contains(kib)) {
        return Err(ConfigError::new_err(format!("segment_kib is {kib}; allowed: 1, 2 or 4")));
    }
    if !(1..=SEGMENTS).contains(&segments) {
        return Err(ConfigError::new_err(format!("segments is {segments}; allowed: 1 to {SEGMENTS}")));
    }
    if !(segments..=PAGES).contains(&pages) {
        return Err(ConfigError::new_err(format!("pages is {pages}; allowed: {segments} to {PAGES}")));
    }
    Ok(recovered(&py.detach(|| campaign::recovery::recovery(segments, pages, segment_kib))).to_string())
}

/// The longest recovery of 16 cuts in a run under the limits of profile `hp-ufs`, as `recovery` gives one, and the
/// writes before that cut. With `unlimited_memory` the host may cache all segments.
#[pyfunction]
#[pyo3(signature = (unlimited_memory = false))]
pub fn worst_recovery(py: Python<'_>, unlimited_memory: bool) -> String {
    let settings: &[&str] = if unlimited_memory { &["host.memory_mib=\"unlimited\""] } else { &[] };
    let worst = py.detach(|| campaign::recovery::worst_cut(settings, 16));
    let mut found = recovered(&worst.stats);
    found["writes"] = worst.writes.into();
    found.to_string()
}

/// What a recovery has found, and its times in milliseconds.
fn recovered(stats: &DeviceStats) -> serde_json::Value {
    let ms = |ns: u64| ns as f64 / 1e6;
    serde_json::json!({
        "recovered_segments": stats.recovery_segments,
        "scanned_pages": stats.recovery_units_scanned,
        "total_ms": ms(stats.recovery_ns),
        "directory_ms": ms(stats.recovery_directory_ns),
        "scan_ms": ms(stats.recovery_scan_ns),
        "segment_read_ms": ms(stats.recovery_segment_read_ns),
        "update_ms": ms(stats.recovery_update_ns),
        "segment_write_ms": ms(stats.recovery_segment_write_ns),
    })
}
