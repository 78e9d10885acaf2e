//! From the name of a workload to a source of requests. What kind of workload a file is, is decided here and nowhere
//! else:
//!
//! | file | kind |
//! |---|---|
//! | `.fio`, `.job` | fio job file |
//! | `.toml` with a table `[phone]` | scenario of a phone |
//! | `.toml` with a table `[sqlite]` | SQLite |
//! | any other, or a directory | block trace |

use std::path::Path;
use std::sync::Arc;

use android::{Phone, Scenario};
use sqlite_load::{SqliteSource, SqliteSpec};
use workload::fio::JobFile;
use workload::{Replay, ReplayMode, Source, Trace};

use crate::error::LabError;
use crate::options::Spec;

/// A workload that is ready to run.
pub struct Workload {
    /// Where requests come from.
    pub source: Box<dyn Source>,
    /// "timed", "queued" or "closed" for traces, "fio" for job files, "sqlite" for databases, "phone" for phones,
    /// "generated" for others.
    pub replay: &'static str,
    /// Depth of a queued or closed replay.
    pub depth: Option<u32>,
    /// What its reader noticed.
    pub warnings: Vec<String>,
}

impl Workload {
    /// A workload that comes from no file.
    pub fn generated(source: Box<dyn Source>) -> Workload {
        Workload::of("generated", source)
    }

    fn of(replay: &'static str, source: Box<dyn Source>) -> Workload {
        Workload { source, replay, depth: None, warnings: Vec::new() }
    }
}

/// What a workload has to know of the system beneath it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beneath {
    /// Size of the device in units of 4 KiB.
    pub capacity_units: u32,
    /// Host memory that the driver may take, in bytes.
    pub driver_bytes: u64,
}

/// True for the names of fio job files.
pub(crate) fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "fio" || e == "job")
}

/// Opens the workload of a spec.
pub(crate) fn open(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let path = Path::new(&spec.workload);
    if is_job_file(path) {
        open_job(spec, beneath)
    } else if path.extension().is_some_and(|e| e == "toml") {
        open_toml(spec, beneath)
    } else {
        open_trace(spec, beneath)
    }
}

/// An error in the workload's file.
fn in_file(spec: &Spec, error: impl std::fmt::Display) -> LabError {
    LabError::Config(format!("{}: {error}", spec.workload))
}

fn text_of(spec: &Spec) -> Result<String, LabError> {
    std::fs::read_to_string(&spec.workload).map_err(|error| in_file(spec, error))
}

fn open_job(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let jobs = JobFile::parse(&text_of(spec)?, &spec.workload).map_err(LabError::config)?;
    let source = jobs.bind(beneath.capacity_units, spec.seed).map_err(LabError::config)?;
    let warnings = jobs.warnings().iter().map(ToString::to_string).collect();
    Ok(Workload { warnings, ..Workload::of("fio", Box::new(source)) })
}

fn open_toml(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let text = text_of(spec)?;
    let tables: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = 1 + text[..error.span().map_or(0, |span| span.start)].matches('\n').count();
        in_file(spec, format!("line {line}: {}", error.message()))
    })?;
    if tables.contains_key("phone") {
        let scenario = Scenario::parse(&text, &spec.workload).map_err(LabError::config)?;
        let phone = Phone::new(&scenario, beneath.capacity_units, spec.seed, beneath.driver_bytes);
        return Ok(Workload::of("phone", Box::new(phone.map_err(|e| in_file(spec, e))?)));
    }
    if tables.contains_key("sqlite") {
        let wish = SqliteSpec::parse(&text, &spec.workload).map_err(LabError::config)?;
        // The first seed of a run leaves the file's as it is.
        let seeded = SqliteSpec { seed: wish.seed.wrapping_add(spec.seed.wrapping_sub(1)), ..wish };
        let source = SqliteSource::new(&seeded, beneath.capacity_units).map_err(|e| in_file(spec, e))?;
        return Ok(Workload::of("sqlite", Box::new(source)));
    }
    let told = "is no workload: it must have a table [phone], a scenario of a phone, or [sqlite], a SQLite workload";
    Err(in_file(spec, told))
}

fn open_trace(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let trace = Trace::read(Path::new(&spec.workload), &spec.trace_options()?).map_err(LabError::config)?;
    let warnings = trace.report.warnings();
    let mode = spec.replay_mode();
    let source = Replay::new(Arc::new(trace), mode, beneath.capacity_units).map_err(LabError::config)?;
    let (replay, depth) = match mode {
        ReplayMode::Timed => ("timed", None),
        ReplayMode::Queued { depth } => ("queued", Some(depth)),
        ReplayMode::Closed { depth, .. } => ("closed", Some(depth)),
    };
    Ok(Workload { source: Box::new(source), replay, depth, warnings })
}
