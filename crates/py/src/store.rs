//! Files that keep the data of live devices: conversions around crate `attach`.

use std::path::PathBuf;

use attach::{Rescued, StoreError};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::StateError;

fn exception(error: StoreError) -> PyErr {
    match error {
        StoreError::Unwritten { .. } => PyOSError::new_err(error.to_string()),
        StoreError::Io { .. } | StoreError::Unfit { .. } => StateError::new_err(error.to_string()),
    }
}

/// Reads all of a store: what it holds, as JSON.
#[pyfunction]
pub fn check_store(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let checked = py.detach(|| attach::check(&files::Real, &path)).map_err(exception)?;
    Ok(serde_json::json!({ "device_bytes": checked.device_bytes, "units": checked.units }).to_string())
}

/// Saves what is whole of a store: what that is and what is lost, as JSON.
#[pyfunction]
#[pyo3(signature = (old, new, device_bytes = None))]
pub fn rescue_store(py: Python<'_>, old: PathBuf, new: PathBuf, device_bytes: Option<u64>) -> PyResult<String> {
    let rescued = py.detach(|| attach::rescue(&files::Real, &old, &new, device_bytes)).map_err(exception)?;
    let whole = rescued.is_whole();
    let Rescued { device_bytes, version, kept, lost, unnamed, damaged_slots, may_be_old } = rescued;
    let json = serde_json::json!({
        "device_bytes": device_bytes,
        "version": version,
        "units_kept": kept,
        "units_lost": lost,
        "units_lost_unnamed": unnamed,
        "slots_damaged": damaged_slots,
        "may_be_old": may_be_old,
        "whole": whole,
    });
    Ok(json.to_string())
}
