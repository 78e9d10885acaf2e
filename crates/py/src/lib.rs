//! The Python module `ufsim._core`. Conversions only: names and types of Python to those of `lab` and back, and its
//! errors to exceptions. What each function does is told in `_core.pyi` and in `lab`.

mod added;
mod crash;
mod errors;
mod linux;
mod serve;
mod store;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use lab::profile::{self, Description, EMBEDDED};
use lab::trace::{JoinSpec, TraceInfo, TraceSpec};
use lab::{Column, Logging, Observe, OnProgress, Ran, RunResult, SeriesTo, Spec, TimelineTo};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{
    ConfigError, GuestError, OptionError, OutputError, SimulationBug, StateError, config_error, exception,
};

// Named after the package in which users find them, or they could not be pickled.
/// Presets: dictionaries with `name`, `scheduler`, `booster`, `mapping`, `summary`.
#[pyfunction]
fn schemes(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let dictionary = |preset: &lab::Preset| {
        let dictionary = PyDict::new(py);
        dictionary.set_item("name", preset.name)?;
        dictionary.set_item("scheduler", preset.parts.scheduler.name())?;
        dictionary.set_item("booster", preset.parts.booster.name())?;
        dictionary.set_item("mapping", preset.parts.mapping.name())?;
        dictionary.set_item("summary", preset.summary)?;
        Ok(dictionary)
    };
    lab::schemes().iter().map(dictionary).collect()
}

/// The parts of systems: a list of names for each of `scheduler`, `booster` and `mapping`.
#[pyfunction]
fn parts(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let parts = PyDict::new(py);
    for (part, names) in lab::system::part_names() {
        parts.set_item(part, names.to_vec())?;
    }
    Ok(parts)
}

/// Names of the device profiles that are built in.
#[pyfunction]
fn profiles() -> Vec<&'static str> {
    EMBEDDED.iter().map(|(name, _)| *name).collect()
}

/// The TOML text of a built-in profile, or of a profile's file.
#[pyfunction]
fn profile_text(name: &str) -> PyResult<String> {
    profile::profile_text(name).map_err(config_error)
}

/// Every key of a profile as JSON: a list of objects with `key` (as `--set` takes it), `kind`, `allowed`, `unit`,
/// `default`, `source` and `doc`.
#[pyfunction]
fn profile_keys() -> String {
    profile::keys_json()
}

/// Checks the options of a run without simulating.
#[pyfunction]
fn check(spec_json: &str) -> PyResult<()> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    lab::check(&spec).map(drop).map_err(exception)
}

/// What of a run's system is drawn at random, in words; empty if another seed changes at most the workload.
#[pyfunction]
fn drawn(spec_json: &str) -> PyResult<Vec<&'static str>> {
    lab::drawn(&Spec::from_json(spec_json).map_err(exception)?).map_err(exception)
}

/// What can be said of a profile, as JSON. `settings_json` replaces values.
#[pyfunction]
fn profile_description(name: &str, settings_json: &str) -> PyResult<String> {
    described(name, settings_json).map(|description| description.to_json())
}

/// A profile with what it extends, as one file. `settings_json` replaces values.
#[pyfunction]
fn profile_toml(name: &str, settings_json: &str) -> PyResult<String> {
    described(name, settings_json).map(|description| description.to_toml())
}

fn described(name: &str, settings_json: &str) -> PyResult<Description> {
    let set = serde_json::from_str(settings_json).map_err(config_error)?;
    let spec = Spec { profile: name.into(), set, ..Spec::default() };
    spec.description().map_err(exception)
}

/// Runs one scheme and returns its result as JSON.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None))]
fn simulate(py: Python<'_>, spec_json: &str, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    let result = watched(py, progress, |on_progress| lab::simulate(&spec, on_progress), exception)?;
    serde_json::to_string(&result).map_err(config_error)
}

/// Runs a scenario of a phone: its result as JSON, and every read in columns if `keep_reads`.
#[pyfunction]
#[pyo3(signature = (spec_json, keep_reads=false, progress=None))]
fn simulate_phone<'py>(
    py: Python<'py>,
    spec_json: &str,
    keep_reads: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<Bound<'py, PyDict>>)> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    let ran = watched(py, progress, |on_progress| lab::simulate_phone(&spec, keep_reads, on_progress), exception)?;
    let json = serde_json::to_string(&ran.result).map_err(config_error)?;
    Ok((json, ran.reads.map(|reads| dictionary(py, &lab::columns(lab::READS, reads.into_iter()))).transpose()?))
}

/// The declared columns of what a run can keep, as JSON.
#[pyfunction]
fn columns_json() -> String {
    lab::columns_json()
}

/// Columns by name: type as numpy spells it, and values.
fn dictionary<'py>(py: Python<'py>, columns: &[Column]) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for column in columns {
        dictionary.set_item(column.name, (column.numpy, PyBytes::new(py, &column.bytes)))?;
    }
    Ok(dictionary)
}

/// What a caller's function has raised; it stops the run.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Calls a function of the caller's. What it raises is kept.
fn hand_over(raised: &Raised, call: impl for<'py> FnOnce(Python<'py>) -> PyResult<()>) -> ControlFlow<()> {
    match Python::attach(call) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *raised.lock().expect("nobody panics with the lock") = Some(error);
            ControlFlow::Break(())
        }
    }
}

/// What is wanted beside a result. What the caller's functions raise is kept in `raised`.
fn observing(
    spec: &Spec,
    raised: &Raised,
    keep: Option<usize>,
    log: Option<(usize, Py<PyAny>)>,
    timeline: Option<(PathBuf, String, u64)>,
    series: Option<(String, Py<PyAny>)>,
) -> PyResult<Observe> {
    let parts = log.map(|(length, sink)| {
        let raised = Arc::clone(raised);
        let take = move |part| hand_over(&raised, |py| sink.call1(py, (LogPart(part),)).map(drop));
        Logging::Parts(length, Box::new(take))
    });
    let series = series.map(|(step, sink)| {
        let raised = Arc::clone(raised);
        let take = move |rows: Vec<_>| hand_over(&raised, |py| sink.call1(py, (dictionary(py, &rows)?,)).map(drop));
        SeriesTo::new(&step, Box::new(take))
    });
    let timeline = timeline.map(|(path, window, most)| TimelineTo::file(&path, &window, most, spec));
    Ok(Observe {
        log: keep.map(Logging::First).or(parts),
        timeline: timeline.transpose().map_err(exception)?,
        bins: false,
        series: series.transpose().map_err(exception)?,
    })
}

/// Runs one scheme, and keeps what is wanted beside its result. `keep`: a log of so many requests. `log`: length of its
/// parts, and what takes them. `timeline`: path, window and most events. `series`: step, and what takes its rows.
/// `bins`: fine bins of latencies. Gives the report, the log if one is kept, and why the timeline could not be written.
#[pyfunction]
#[pyo3(signature = (spec_json, progress=None, *, keep=None, log=None, timeline=None, series=None, bins=false))]
#[expect(clippy::too_many_arguments, reason = "named ones of Python")]
fn simulate_observed(
    py: Python<'_>,
    spec_json: &str,
    progress: Option<Py<PyAny>>,
    keep: Option<usize>,
    log: Option<(usize, Py<PyAny>)>,
    timeline: Option<(PathBuf, String, u64)>,
    series: Option<(String, Py<PyAny>)>,
    bins: bool,
) -> PyResult<(String, Option<LogPart>, Option<String>)> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    let raised = Raised::default();
    let observe = Observe { bins, ..observing(&spec, &raised, keep, log, timeline, series)? };
    let ran = watched(py, progress, |on_progress| lab::simulate_observed(&spec, observe, on_progress), exception);
    if let Some(error) = raised.lock().expect("nobody panics with the lock").take() {
        return Err(error);
    }
    let Ran { result, requests, unwritten, .. } = ran?;
    let json = serde_json::to_string(&result).map_err(config_error)?;
    Ok((json, requests.map(LogPart), unwritten))
}

/// Checks a timeline's window and a series' step without simulating.
#[pyfunction]
fn check_observed(window: &str, step: &str) -> PyResult<()> {
    lab::Window::parse(window).map_err(exception)?;
    lab::parse_step(step).map(drop).map_err(exception)
}

/// Requests of a log.
#[pyclass(frozen)]
struct LogPart(lab::LogPart);

#[pymethods]
impl LogPart {
    /// Number of requests.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// A row for each, in columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, &py.detach(|| self.0.columns()))
    }

    /// Names of processes.
    #[getter]
    fn processes(&self) -> &[String] {
        &self.0.processes
    }

    /// Requests that completed after the log was full.
    #[getter]
    fn left_out(&self) -> u64 {
        self.0.left_out
    }
}

/// A trace in memory, for many runs.
#[pyclass(frozen)]
struct OpenedTrace(lab::OpenedTrace);

#[pymethods]
impl OpenedTrace {
    /// Reads the trace of a spec.
    #[new]
    fn new(py: Python<'_>, spec_json: &str) -> PyResult<OpenedTrace> {
        let spec = Spec::from_json(spec_json).map_err(exception)?;
        py.detach(|| lab::OpenedTrace::read(&spec)).map(OpenedTrace).map_err(exception)
    }

    /// What it says of its requests, in columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, &self.0.columns())
    }

    /// Names of processes, indexed by the column `process`.
    fn processes(&self) -> Vec<String> {
        self.0.processes().to_vec()
    }

    /// Runs one scheme on it, and keeps a log of at most `most` requests.
    #[pyo3(signature = (spec_json, most, progress=None))]
    fn simulate(
        &self,
        py: Python<'_>,
        spec_json: &str,
        most: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, LogPart)> {
        let spec = Spec::from_json(spec_json).map_err(exception)?;
        let ran =
            watched(py, progress, |on_progress| lab::simulate_trace(&spec, &self.0, most, on_progress), exception)?;
        let json = serde_json::to_string(&ran.result).map_err(config_error)?;
        Ok((json, LogPart(ran.requests.expect("a log was asked for"))))
    }
}

/// A machine that has aged and was not switched off. Whoever wants several runs of it forks.
#[pyclass(unsendable)]
struct LeftOn(Option<lab::LeftOn>);

#[pymethods]
impl LeftOn {
    /// Ages the machine of a spec.
    #[new]
    fn new(spec_json: &str) -> PyResult<LeftOn> {
        let spec = Spec::from_json(spec_json).map_err(exception)?;
        lab::LeftOn::age(&spec, &mut |_| ControlFlow::Continue(())).map(|aged| LeftOn(Some(aged))).map_err(exception)
    }

    /// Runs a spec of this machine, once.
    fn simulate(&mut self, spec_json: &str) -> PyResult<String> {
        let spec = Spec::from_json(spec_json).map_err(exception)?;
        let aged = self.0.take().ok_or_else(|| config_error("this machine has been used already"))?;
        let result = aged.simulate(&spec, &mut |_| ControlFlow::Continue(())).map_err(exception)?;
        serde_json::to_string(&result).map_err(config_error)
    }
}

/// Ages a device, switches it off, and writes its state to a file.
#[pyfunction]
#[pyo3(signature = (spec_json, path, progress=None))]
fn age(py: Python<'_>, spec_json: &str, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    let aged = watched(py, progress, |on_progress| lab::age(&spec, on_progress), exception)?;
    py.detach(|| aged.save(&path)).map_err(exception)
}

/// Refuses replaced values that have no effect on `age`.
#[pyfunction]
fn check_age(spec_json: &str) -> PyResult<()> {
    lab::check_ageing(&Spec::from_json(spec_json).map_err(exception)?).map_err(exception)
}

/// A name for the state that `age` would write: equal for specs that give the same bytes.
#[pyfunction]
fn age_key(spec_json: &str) -> PyResult<String> {
    let spec = Spec::from_json(spec_json).map_err(exception)?;
    Ok(lab::age_header(&spec).map_err(exception)?.key())
}

/// What a file of an aged state says about itself, as JSON.
#[pyfunction]
fn state_header(path: PathBuf) -> PyResult<String> {
    let header = lab::aged::header(&path).map_err(exception)?;
    serde_json::to_string(&header).map_err(config_error)
}

/// Runs `work` without the interpreter's lock. What a signal handler or the caller's function raises meanwhile stops it
/// and is passed on.
fn watched<T: Send, E: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl Send + FnOnce(&mut OnProgress) -> Result<T, E>,
    exception: impl FnOnce(E) -> PyErr,
) -> PyResult<T> {
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut |at| {
            let asked = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(()) };
                progress.call1(py, (at.done_bytes, at.total_bytes, at.sim.0, at.phase)).map(drop)
            });
            match asked {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    result.map_err(exception)
}

/// Whether a text is a fio job itself, not the name of a file.
#[pyfunction]
fn is_inline_job(text: &str) -> bool {
    lab::is_inline_job(text)
}

/// Names and meanings of what is declared, for the documentation: see `lab::declared`.
#[pyfunction]
fn declared() -> String {
    lab::declared().to_string()
}

/// Formats of traces: dictionaries with `name`, `about` and `writable`, as JSON.
#[pyfunction]
fn trace_formats() -> PyResult<String> {
    serde_json::to_string(&lab::trace::trace_formats()).map_err(config_error)
}

/// Names of the cleaning rules for traces.
#[pyfunction]
fn clean_rules() -> Vec<&'static str> {
    lab::trace::clean_rules()
}

/// What is in a trace, as JSON.
#[pyfunction]
fn trace_info(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    let spec = TraceSpec::from_json(spec_json).map_err(exception)?;
    let info = py.detach(|| TraceInfo::of(&spec)).map_err(exception)?;
    serde_json::to_string(&info).map_err(config_error)
}

/// Writes a trace in another format and returns what was lost, as JSON.
#[pyfunction]
fn trace_convert(py: Python<'_>, spec_json: &str, out: PathBuf, format: &str) -> PyResult<String> {
    let spec = TraceSpec::from_json(spec_json).map_err(exception)?;
    let converted = py.detach(|| lab::trace::convert_trace(&spec, &out, format)).map_err(exception)?;
    serde_json::to_string(&converted).map_err(config_error)
}

/// Joins traces, writes them as CSV and returns what was joined, as JSON.
#[pyfunction]
fn trace_join(py: Python<'_>, spec_json: &str, out: PathBuf) -> PyResult<String> {
    let spec = JoinSpec::from_json(spec_json).map_err(exception)?;
    let joined = py.detach(|| lab::trace::join_traces(&spec, &out)).map_err(exception)?;
    serde_json::to_string(&joined).map_err(config_error)
}

/// Writes a session of a phone as a scenario and returns what is in it, as JSON.
#[pyfunction]
fn trace_to_scenario(py: Python<'_>, spec_json: &str, out: PathBuf) -> PyResult<String> {
    let spec = TraceSpec::from_json(spec_json).map_err(exception)?;
    let made = py.detach(|| lab::session::trace_to_scenario(&spec, &out)).map_err(exception)?;
    serde_json::to_string(&made).map_err(config_error)
}

/// A result in the form of `fio --output-format=json`.
#[pyfunction]
fn fio_json(result_json: &str) -> PyResult<String> {
    let result: RunResult = serde_json::from_str(result_json).map_err(|e| config_error(format!("result: {e}")))?;
    serde_json::to_string_pretty(&lab::fio_json(&result)).map_err(config_error)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    added::add();
    module.add("__version__", lab::VERSION)?;
    module.add("ConfigError", module.py().get_type::<ConfigError>())?;
    module.add("OptionError", module.py().get_type::<OptionError>())?;
    module.add("OutputError", module.py().get_type::<OutputError>())?;
    module.add("StateError", module.py().get_type::<StateError>())?;
    module.add("GuestError", module.py().get_type::<GuestError>())?;
    module.add("SimulationBug", module.py().get_type::<SimulationBug>())?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(parts, module)?)?;
    module.add_function(wrap_pyfunction!(profiles, module)?)?;
    module.add_function(wrap_pyfunction!(profile_text, module)?)?;
    module.add_function(wrap_pyfunction!(profile_keys, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(drawn, module)?)?;
    module.add_function(wrap_pyfunction!(profile_description, module)?)?;
    module.add_function(wrap_pyfunction!(profile_toml, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_observed, module)?)?;
    module.add_function(wrap_pyfunction!(check_observed, module)?)?;
    module.add_function(wrap_pyfunction!(columns_json, module)?)?;
    module.add_class::<LogPart>()?;
    module.add_class::<OpenedTrace>()?;
    module.add_class::<LeftOn>()?;
    module.add_class::<serve::Server>()?;
    module.add_class::<linux::LinuxDevice>()?;
    module.add_function(wrap_pyfunction!(serve::replay_arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(store::check_store, module)?)?;
    module.add_function(wrap_pyfunction!(store::rescue_store, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_phone, module)?)?;
    module.add_function(wrap_pyfunction!(age, module)?)?;
    module.add_function(wrap_pyfunction!(age_key, module)?)?;
    module.add_function(wrap_pyfunction!(check_age, module)?)?;
    module.add_function(wrap_pyfunction!(state_header, module)?)?;
    module.add_function(wrap_pyfunction!(is_inline_job, module)?)?;
    module.add_function(wrap_pyfunction!(crash::crash_case, module)?)?;
    module.add_function(wrap_pyfunction!(crash::crash_sabotages, module)?)?;
    module.add_function(wrap_pyfunction!(crash::recovery, module)?)?;
    module.add_function(wrap_pyfunction!(crash::worst_recovery, module)?)?;
    module.add_function(wrap_pyfunction!(declared, module)?)?;
    module.add_function(wrap_pyfunction!(trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(clean_rules, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace_join, module)?)?;
    module.add_function(wrap_pyfunction!(trace_to_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(fio_json, module)?)
}
