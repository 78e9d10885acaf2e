//! A workload that is one table of a TOML file.

use std::fmt::Display;

use params::{ParamError, Params, Table, Value};
use thiserror::Error;

/// What is wrong with a description: one line that names the file, the key and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct DescriptionError(String);

impl DescriptionError {
    pub(crate) fn of(origin: &str, problem: &dyn Display) -> DescriptionError {
        DescriptionError(format!("{origin}: {problem}"))
    }
}

/// Reads the only table of a file; `origin` names the file in errors.
///
/// # Errors
/// Text that does not parse, another table, unknown keys, and values out of range, with what is allowed.
pub fn read_table<P: Params>(text: &str, origin: &str, name: &str) -> Result<(P, Table), DescriptionError> {
    let wrong = |problem: &dyn Display| DescriptionError::of(origin, problem);
    let file = params::parse(text).map_err(|error| wrong(&error))?;
    if let Some(other) = file.keys().find(|key| *key != name) {
        return Err(wrong(&format!("{other}: unknown table, must be [{name}]")));
    }
    let table =
        file.get(name).and_then(Value::as_table).ok_or_else(|| wrong(&format!("there is no table [{name}]")))?;
    let params = params::read(name, table).map_err(|error: ParamError| wrong(&error))?;
    Ok((params, table.clone()))
}
