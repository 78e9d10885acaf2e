//! The requests of an app while it runs, taken from a real trace instead of the model's rates.

use std::path::Path;
use std::sync::Arc;

use units::{Nanos, SimTime};
use workload::{Trace, TraceOptions, WorkOp};

use crate::access::Extent;
use crate::toml_reader::{ScenarioError, Section, Word};

/// A request, with the time since the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedIo {
    /// Time since the request before.
    pub gap: Nanos,
    /// Read, write or trim.
    pub op: WorkOp,
    /// Its units.
    pub extent: Extent,
}

/// The requests of an app from a trace, in order of time. After the last one they start over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traced {
    /// Name of the trace.
    pub trace: String,
    /// Its requests.
    pub io: Arc<Vec<TracedIo>>,
    /// Highest unit that they touch, plus 1.
    pub units: u64,
}

impl Traced {
    /// Reads the trace that the keys `trace` and `processes` of an app name, if there is one. Paths are relative to
    /// `directory`.
    ///
    /// # Errors
    /// The error of the trace, or a process name that the trace does not have.
    pub(crate) fn read(section: &mut Section<'_>, directory: &Path) -> Result<Option<Traced>, ScenarioError> {
        let (name, wanted) = (section.string("trace")?, section.strings("processes")?);
        let Some(name) = name else {
            let Some(value) = wanted.and_then(|_| section.get("processes")) else { return Ok(None) };
            return Err(section.wrong("processes", value, "left out where there is no trace"));
        };
        let trace = Trace::read(&directory.join(name), &TraceOptions::default());
        let trace = trace.map_err(|error| ScenarioError(error.to_string()))?;
        let chosen = match wanted {
            None => vec![true; trace.processes.len()],
            Some(words) => chosen(section, &trace, &words)?,
        };
        Ok(Some(Traced::of(&trace, &chosen)))
    }

    fn of(trace: &Trace, chosen: &[bool]) -> Traced {
        let mut last = SimTime::START;
        let mut io = Vec::new();
        for request in trace.requests.iter().filter(|r| chosen[usize::from(r.process.0)]) {
            let extent = request.units();
            if extent.1 > 0 {
                io.push(TracedIo { gap: request.arrival.since(last), op: request.op, extent });
                last = request.arrival;
            }
        }
        let ends = io.iter().map(|io| u64::from(io.extent.0.0) + u64::from(io.extent.1));
        Traced { trace: trace.name.clone(), units: ends.max().unwrap_or(0), io: Arc::new(io) }
    }
}

/// For each process of a trace, true if its name begins with one of the words.
fn chosen(section: &Section<'_>, trace: &Trace, words: &[Word<'_>]) -> Result<Vec<bool>, ScenarioError> {
    for word in words {
        if !trace.processes.iter().any(|name| name.starts_with(word.text)) {
            let problem = format!("app.processes: \"{}\": no process of {} begins with it", word.text, trace.name);
            return Err(section.text.error(word.at, &problem));
        }
    }
    Ok(trace.processes.iter().map(|name| words.iter().any(|word| name.starts_with(word.text))).collect())
}
