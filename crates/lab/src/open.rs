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
    /// It draws random numbers, so that another seed makes another run.
    pub random: bool,
}

impl Workload {
    /// A workload that comes from no file.
    pub fn generated(source: Box<dyn Source>) -> Workload {
        Workload::of("generated", source)
    }

    fn of(replay: &'static str, source: Box<dyn Source>) -> Workload {
        Workload { source, replay, depth: None, warnings: Vec::new(), random: true }
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

/// What kind of workload a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkloadKind {
    /// A block trace.
    Trace,
    /// A fio job file.
    Job,
    /// A SQLite workload.
    Sqlite,
    /// A scenario of a phone.
    Phone,
}

impl WorkloadKind {
    /// One of the kind, in messages.
    pub(crate) fn one(self) -> &'static str {
        match self {
            WorkloadKind::Trace => "a trace",
            WorkloadKind::Job => "a fio job file",
            WorkloadKind::Sqlite => "a SQLite workload",
            WorkloadKind::Phone => "a scenario of a phone",
        }
    }

    /// Several of them, in messages.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            WorkloadKind::Trace => "traces",
            WorkloadKind::Job => "fio job files",
            WorkloadKind::Sqlite => "SQLite workloads",
            WorkloadKind::Phone => "scenarios of phones",
        }
    }

    /// What kind of workload a spec names. A file of a trace is not read.
    ///
    /// # Errors
    /// A TOML file that cannot be read, or is no workload.
    pub(crate) fn of(spec: &Spec) -> Result<WorkloadKind, LabError> {
        let path = Path::new(&spec.workload);
        if is_job_file(path) {
            Ok(WorkloadKind::Job)
        } else if path.extension().is_some_and(|e| e == "toml") {
            kind_of_toml(spec, &text_of(spec)?)
        } else {
            Ok(WorkloadKind::Trace)
        }
    }
}

/// True for the names of fio job files.
pub(crate) fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "fio" || e == "job")
}

/// Opens the workload of a spec.
pub(crate) fn open(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let kind = WorkloadKind::of(spec)?;
    spec.check_effects(kind)?;
    match kind {
        WorkloadKind::Trace => open_trace(spec, beneath),
        WorkloadKind::Job => open_job(spec, beneath),
        WorkloadKind::Sqlite => open_sqlite(spec, beneath),
        WorkloadKind::Phone => open_phone(spec, beneath),
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
    Ok(Workload { warnings, random: jobs.is_random(), ..Workload::of("fio", Box::new(source)) })
}

fn kind_of_toml(spec: &Spec, text: &str) -> Result<WorkloadKind, LabError> {
    let tables: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = 1 + text[..error.span().map_or(0, |span| span.start)].matches('\n').count();
        in_file(spec, format!("line {line}: {}", error.message()))
    })?;
    if tables.contains_key("phone") {
        Ok(WorkloadKind::Phone)
    } else if tables.contains_key("sqlite") {
        Ok(WorkloadKind::Sqlite)
    } else {
        let tables = "[phone], a scenario of a phone, or [sqlite], a SQLite workload";
        Err(in_file(spec, format!("is no workload: it must have a table {tables}")))
    }
}

fn open_phone(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let scenario = Scenario::parse(&text_of(spec)?, &spec.workload).map_err(LabError::config)?;
    let phone = Phone::new(&scenario, beneath.capacity_units, spec.seed, beneath.driver_bytes);
    Ok(Workload::of("phone", Box::new(phone.map_err(|e| in_file(spec, e))?)))
}

fn open_sqlite(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let wish = SqliteSpec::parse(&text_of(spec)?, &spec.workload).map_err(LabError::config)?;
    // The first seed of a run leaves the file's as it is.
    let seeded = SqliteSpec { seed: wish.seed.wrapping_add(spec.seed.wrapping_sub(1)), ..wish };
    let source = SqliteSource::new(&seeded, beneath.capacity_units).map_err(|e| in_file(spec, e))?;
    Ok(Workload::of("sqlite", Box::new(source)))
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
    Ok(Workload { source: Box::new(source), replay, depth, warnings, random: false })
}
