//! The border: what the command line, Python and the benches call. Configuration errors and our own bugs become
//! values here, and only here is the wall clock read.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use device::Device;
use host::Driver;
use sqlite_load::{SqliteSource, SqliteSpec};
use thiserror::Error;
use ufs::Link;
use units::{Nanos, SimTime};
use workload::fio::JobFile;
use workload::{Fault, Replay, Source, Trace};

use crate::aged::{Aged, Header, sealing_key};
use crate::fill::Fill;
use crate::phone;
use crate::profile::Profile;
use crate::report::{Context, Start, report};
use crate::result::{RunResult, Setup};
use crate::run::{Stop, System, Watch};
use crate::spec::Spec;
use crate::system::Parts;

/// A run calls back at most this often.
const CALLS_PER_SECOND: u32 = 5;

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LabError {
    /// Wrong input: names the field, its value and the allowed range.
    #[error("{0}")]
    Config(String),
    /// Our own bug: says what was found, when, and how to repeat it.
    #[error("simulation bug: {0}")]
    Bug(String),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// "precondition" or "run".
    pub phase: &'static str,
    /// Bytes of completed requests in this phase.
    pub done_bytes: u64,
    /// Bytes of the phase, where known.
    pub total_bytes: Option<u64>,
    /// Simulated time.
    pub sim: Nanos,
}

/// Asked a few times per second how to go on.
pub type OnProgress<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

#[expect(clippy::disallowed_types, reason = "the border measures how fast the simulator is; no model sees this")]
mod wall {
    /// A stop watch.
    pub struct Wall(std::time::Instant);

    impl Wall {
        /// Starts now.
        pub fn start() -> Wall {
            Wall(std::time::Instant::now())
        }

        /// Seconds since the start.
        pub fn seconds(&self) -> f64 {
            self.0.elapsed().as_secs_f64()
        }
    }
}
pub(crate) use wall::Wall;

/// Builds a system from a profile. `seed` decides the key with which an HPB device seals entries.
///
/// # Errors
/// If the driver's settings do not fit the device.
pub fn assemble(profile: &Profile, parts: Parts, seed: u64) -> Result<System, LabError> {
    let device_config = profile.device_config(sealing_key(seed));
    let faulty = device_config.faults.any();
    let device = Device::new(device_config, parts.mapping);
    let config = profile.host_config(parts);
    let info = device.info();
    let fits = config.check(&info);
    fits.map_err(|error| LabError::Config(format!("profile {}: host.{error}", profile.origin)))?;
    let mut system = System::new(Driver::new(config, info), Link::new(profile.link_config()), device);
    if faulty {
        system.allow_faults();
    }
    Ok(system)
}

/// A workload that is ready to run.
pub struct Workload {
    /// Where requests come from.
    pub source: Box<dyn Source>,
    /// "timed" or "closed" for traces, "fio" for job files, "sqlite" for databases, "phone" for phones, "generated" for
    /// others.
    pub replay: &'static str,
    /// Depth of a closed replay.
    pub depth: Option<u32>,
    /// What its reader noticed.
    pub warnings: Vec<String>,
}

impl Workload {
    /// A workload that comes from no file.
    pub fn generated(source: Box<dyn Source>) -> Workload {
        Workload { source, replay: "generated", depth: None, warnings: Vec::new() }
    }
}

/// True for the names of fio job files.
fn is_job_file(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "fio" || e == "job")
}

fn open_workload(spec: &Spec, capacity_units: u32) -> Result<Workload, LabError> {
    let path = Path::new(&spec.workload);
    let config = |text: String| LabError::Config(text);
    if is_job_file(path) {
        let text = std::fs::read_to_string(path).map_err(|e| config(format!("{}: {e}", spec.workload)))?;
        let jobs = JobFile::parse(&text, &spec.workload).map_err(|e| config(e.to_string()))?;
        let source = jobs.bind(capacity_units, spec.seed).map_err(|e| config(e.to_string()))?;
        let warnings = jobs.warnings().iter().map(ToString::to_string).collect();
        return Ok(Workload { source: Box::new(source), replay: "fio", depth: None, warnings });
    }
    if path.extension().is_some_and(|e| e == "toml") {
        let text = std::fs::read_to_string(path).map_err(|e| config(format!("{}: {e}", spec.workload)))?;
        let wish = SqliteSpec::parse(&text, &spec.workload).map_err(|e| config(e.to_string()))?;
        let seeded = SqliteSpec { seed: wish.seed.wrapping_add(spec.seed.wrapping_sub(1)), ..wish };
        let source = SqliteSource::new(&seeded, capacity_units);
        let source = source.map_err(|e| config(format!("{}: {e}", spec.workload)))?;
        return Ok(Workload { source: Box::new(source), replay: "sqlite", depth: None, warnings: Vec::new() });
    }
    let trace = Trace::read(path, &spec.trace_options()?).map_err(|e| config(e.to_string()))?;
    let warnings = trace.report.warnings();
    let mode = spec.replay_mode();
    let source = Replay::new(Arc::new(trace), mode, capacity_units).map_err(|e| config(e.to_string()))?;
    let (replay, depth) = match mode {
        workload::ReplayMode::Timed => ("timed", None),
        workload::ReplayMode::Queued { depth } => ("queued", Some(depth)),
        workload::ReplayMode::Closed { depth, .. } => ("closed", Some(depth)),
    };
    Ok(Workload { source: Box::new(source), replay, depth, warnings })
}

/// Runs one simulation.
///
/// # Errors
/// [`LabError::Config`] for wrong input, [`LabError::Bug`] if the simulator contradicts itself, and
/// [`LabError::Interrupted`] if `progress` breaks.
pub fn simulate(spec: &Spec, progress: &mut OnProgress) -> Result<RunResult, LabError> {
    let wall = Wall::start();
    let (parts, profile) = spec.resolve()?;
    if let Some(scenario) = phone::scenario(spec)? {
        return phone::run(spec, (parts, &profile), &scenario, (&wall, false), progress).map(|(result, _)| result);
    }
    let workload = open_workload(spec, profile.capacity_units())?;
    run(spec, (parts, &profile), workload, &wall, progress)
}

/// Runs a simulation with a workload of the caller's; the spec's `workload` is only a name then.
///
/// # Errors
/// See [`simulate`].
pub fn simulate_workload(spec: &Spec, workload: Workload, progress: &mut OnProgress) -> Result<RunResult, LabError> {
    let wall = Wall::start();
    let (parts, profile) = spec.resolve()?;
    run(spec, (parts, &profile), workload, &wall, progress)
}

fn run(
    spec: &Spec,
    system: (Parts, &Profile),
    mut workload: Workload,
    wall: &Wall,
    progress: &mut OnProgress,
) -> Result<RunResult, LabError> {
    let about = About { replay: workload.replay, depth: workload.depth, warnings: workload.warnings };
    run_source(spec, system, (&mut *workload.source, about), wall, progress)
}

/// What a report says about its workload.
pub(crate) struct About {
    pub replay: &'static str,
    pub depth: Option<u32>,
    pub warnings: Vec<String>,
}

/// Runs a simulation of a source.
pub(crate) fn run_source(
    spec: &Spec,
    (parts, profile): (Parts, &Profile),
    (source, about): (&mut dyn Source, About),
    wall: &Wall,
    progress: &mut OnProgress,
) -> Result<RunResult, LabError> {
    let (mut system, age) = begin(spec, (parts, profile), wall, progress)?;
    let ran = guarded(spec, || phases(&mut system, source, spec, wall, progress));
    let start = match ran.map_err(|bug| with_place(bug, &system))? {
        Ok(start) => start,
        Err(Stop::Interrupted) => return Err(LabError::Interrupted),
        Err(stop) => return Err(with_place(bug(spec, &stop.to_string()), &system)),
    };
    let (measure, after) = system.outcome();
    if measure.submitted != measure.completed {
        let lost = format!("{} requests submitted, {} completed", measure.submitted, measure.completed);
        return Err(with_place(bug(spec, &lost), &system));
    }
    match source.verdict() {
        Ok(()) => {}
        Err(Fault::Wish(what)) => return Err(LabError::Config(format!("{}: {what}", spec.workload))),
        Err(Fault::Data(what)) => return Err(with_place(bug(spec, &what), &system)),
    }
    let context = Context {
        operations: source.operations(),
        setup: Setup { age, ..setup(spec, parts, &about)? },
        host_dram_limit: profile.host_config(parts).memory_limit_bytes,
        wall_seconds: wall.seconds(),
        start,
        warnings: about.warnings.into_iter().chain(profile.what_if()).collect(),
    };
    Ok(report(measure, &after, context))
}

/// The system that a spec begins with: new, aged, or aged before and read from a file. With it the job that aged it.
fn begin(
    spec: &Spec,
    (parts, profile): (Parts, &Profile),
    wall: &Wall,
    progress: &mut OnProgress,
) -> Result<(System, Option<String>), LabError> {
    if let Some(from) = &spec.from {
        let aged = Aged::load(Path::new(from), profile, parts, spec.seed)?;
        let age = aged.age.clone();
        // The checksum is right, so only a file that was made to deceive gets beyond this.
        let on = guarded(spec, || aged.switch_on(profile, parts, spec.seed));
        let system = on.map_err(|_| LabError::Config(format!("{from}: its tables contradict each other")))?;
        return Ok((system?, Some(age)));
    }
    if spec.age.is_some() {
        let (aged, _) = wear_in(spec, (parts, profile), wall, progress)?;
        let age = aged.age.clone();
        return Ok((guarded(spec, || aged.switch_on(profile, parts, spec.seed))??, Some(age)));
    }
    Ok((guarded(spec, || assemble(profile, parts, spec.seed))??, None))
}

/// Ages the device of a spec and switches it off. The spec's `workload` is not looked at.
///
/// # Errors
/// See [`simulate`]; a spec without `age` is one.
pub fn age(spec: &Spec, progress: &mut OnProgress) -> Result<(Aged, Header), LabError> {
    let wall = Wall::start();
    let (parts, profile) = spec.resolve()?;
    wear_in(spec, (parts, &profile), &wall, progress)
}

/// What the state that [`age`] makes will say about itself.
///
/// # Errors
/// See [`age`].
pub fn age_header(spec: &Spec) -> Result<Header, LabError> {
    let (parts, profile) = spec.resolve()?;
    Ok(Header::new(&spec.scheme, parts, &profile, (&ageing_job(spec)?.1, spec.seed)))
}

fn wear_in(
    spec: &Spec,
    (parts, profile): (Parts, &Profile),
    wall: &Wall,
    progress: &mut OnProgress,
) -> Result<(Aged, Header), LabError> {
    let (name, text) = ageing_job(spec)?;
    let config = |error: String| LabError::Config(format!("age: {error}"));
    let job = JobFile::parse(&text, &name).map_err(|error| config(error.to_string()))?;
    let mut source = job.bind(profile.capacity_units(), spec.seed).map_err(|error| config(error.to_string()))?;
    let mut system = guarded(spec, || assemble(profile, parts, spec.seed))??;
    let mut watch = throttled("age", wall, progress);
    let aged = guarded(spec, || {
        system.run(&mut source, &mut watch)?;
        system.switch_off(&mut watch)
    })?;
    match aged {
        Ok((device, oracle)) => {
            let header = Header::new(&spec.scheme, parts, profile, (&text, spec.seed));
            Ok((Aged { device, oracle, age: text }, header))
        }
        Err(Stop::Interrupted) => Err(LabError::Interrupted),
        Err(stop) => Err(bug(spec, &stop.to_string())),
    }
}

/// Name and text of the job that ages the device: that of a file, or a job of the options given.
fn ageing_job(spec: &Spec) -> Result<(String, String), LabError> {
    let Some(age) = &spec.age else {
        return Err(LabError::Config("age: no job was given that ages the device".into()));
    };
    if is_job_file(Path::new(age)) {
        let text = std::fs::read_to_string(age).map_err(|e| LabError::Config(format!("age: {age}: {e}")))?;
        return Ok((age.clone(), text));
    }
    let options: Vec<&str> = age.split_whitespace().collect();
    Ok(("options".into(), format!("[age]\n{}\n", options.join("\n"))))
}

/// Preconditioning, then the workload. Gives the state between them.
fn phases(
    system: &mut System,
    source: &mut dyn Source,
    spec: &Spec,
    wall: &Wall,
    progress: &mut OnProgress,
) -> Result<Start, Stop> {
    let fill = match spec.precondition.as_str() {
        "footprint" => source.footprint(),
        "touched" => source.preconditioning_ranges(),
        _ => workload::Footprint::default(),
    };
    if !fill.is_empty() {
        let mut fill = Fill::new(fill);
        system.run(&mut fill, &mut throttled("precondition", wall, progress))?;
        system.settle(&mut fill)?;
    }
    let (measure, counters) = system.outcome();
    let start = Start { wall_seconds: wall.seconds(), requests: measure.unmeasured, operations: counters.operations() };
    system.run(source, &mut throttled("run", wall, progress))?;
    Ok(start)
}

/// Lets only a few calls per second through, the first at once.
fn throttled<'a>(phase: &'static str, wall: &'a Wall, progress: &'a mut OnProgress) -> Box<Watch<'a>> {
    let mut next = 0.0;
    Box::new(move |at: workload::Progress, now: SimTime| {
        let seconds = wall.seconds();
        if seconds < next {
            return ControlFlow::Continue(());
        }
        next = seconds + 1.0 / f64::from(CALLS_PER_SECOND);
        progress(Progress { phase, done_bytes: at.done, total_bytes: at.total, sim: now.since(SimTime::START) })
    })
}

/// Turns a panic into a value.
fn guarded<T>(spec: &Spec, run: impl FnOnce() -> T) -> Result<T, LabError> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        bug(spec, text.unwrap_or("a panic without a message"))
    })
}

fn bug(spec: &Spec, what: &str) -> LabError {
    LabError::Bug(format!("{what} (seed {}; repeat with: {})", spec.seed, spec.command()))
}

fn with_place(error: LabError, system: &System) -> LabError {
    match error {
        LabError::Bug(text) => LabError::Bug(format!("event {} at {}: {text}", system.events(), system.now())),
        other => other,
    }
}

fn setup(spec: &Spec, parts: Parts, opened: &About) -> Result<Setup, LabError> {
    let overrides = spec.overrides()?;
    Ok(Setup {
        version: env!("CARGO_PKG_VERSION").into(),
        scheme: spec.scheme.clone(),
        scheduler: parts.scheduler.name().into(),
        booster: parts.booster.name().into(),
        mapping: parts.mapping.name().into(),
        profile: spec.profile.clone(),
        set: overrides.into_iter().map(|(key, value)| (key, value.to_string())).collect(),
        workload: spec.workload.clone(),
        replay: opened.replay.into(),
        depth: opened.depth,
        precondition: spec.precondition.clone(),
        age: None,
        seed: spec.seed,
    })
}
