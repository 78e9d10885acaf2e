//! A trace that is read once, for many runs: whoever searches for parameters runs it thousands of times.

use std::sync::Arc;

use workload::Trace;
use workload::report::columns::Column;

use crate::error::LabError;
use crate::observe::{Logging, Observe, trace_columns};
use crate::open::kind::WorkloadKind;
use crate::open::{kind_of, on_device, read_trace};
use crate::options::Spec;
use crate::run::progress::OnProgress;
use crate::run::simulate::{Ran, Run};

/// A trace in memory.
#[derive(Clone, Debug)]
pub struct OpenedTrace {
    trace: Arc<Trace>,
}

impl OpenedTrace {
    /// Reads the trace of a spec.
    ///
    /// # Errors
    /// A workload that is no trace, and everything that is wrong with the file, with its place.
    pub fn read(spec: &Spec) -> Result<OpenedTrace, LabError> {
        if kind_of(spec)? != WorkloadKind::Trace {
            return Err(LabError::Config(format!("{}: is no trace", spec.workload)));
        }
        Ok(OpenedTrace { trace: Arc::new(read_trace(spec)?) })
    }

    /// What it says of its requests, a row for each in the order of their arrival.
    pub fn columns(&self) -> Vec<Column> {
        trace_columns(&self.trace.requests)
    }

    /// Names of processes, indexed by the column `process`.
    pub fn processes(&self) -> &[String] {
        &self.trace.processes
    }
}

/// Runs a simulation of a trace that has been read, and keeps a log of at most `most` requests. The spec's `workload`
/// is only a name then.
///
/// # Errors
/// See [`crate::simulate`].
pub fn simulate_trace(
    spec: &Spec,
    trace: &OpenedTrace,
    most: usize,
    progress: &mut OnProgress,
) -> Result<Ran, LabError> {
    spec.check_effects(WorkloadKind::Trace)?;
    let run = Run::of(spec)?;
    let workload = on_device(trace.trace.clone(), spec, run.beneath()?)?;
    run.go(workload, Observe::logging(Logging::First(most)), progress)
}
