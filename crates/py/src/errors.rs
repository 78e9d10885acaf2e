//! Exceptions of the package, and what becomes one.

use lab::LabError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(ufsim, ConfigError, PyValueError, "Wrong input; the message names field, value and range.");
pyo3::create_exception!(ufsim, OptionError, ConfigError, "An option that has no effect on this workload.");
pyo3::create_exception!(ufsim, StateError, ConfigError, "A file of an aged state that cannot be used.");
pyo3::create_exception!(ufsim, OutputError, PyOSError, "A file that cannot be written; the message names it.");
pyo3::create_exception!(ufsim, GuestError, PyRuntimeError, "A guest that could not be started, or has died.");
pyo3::create_exception!(ufsim, SimulationBug, PyRuntimeError, "A check inside the simulator failed.");

/// The exception of an error.
pub fn exception(error: LabError) -> PyErr {
    match error {
        LabError::Config(text) => ConfigError::new_err(text),
        LabError::Option(text) => OptionError::new_err(text),
        LabError::State(text) => StateError::new_err(text),
        LabError::Output(text) => OutputError::new_err(text),
        LabError::Bug(text) => SimulationBug::new_err(text),
        LabError::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
    }
}

/// The exception of wrong input.
pub fn config_error(error: impl std::fmt::Display) -> PyErr {
    ConfigError::new_err(error.to_string())
}
