//! From the name of a workload to a source of requests. What kind of workload a name stands for, is decided here and
//! nowhere else:
//!
//! | workload | kind |
//! |---|---|
//! | options such as `rw=randread bs=4k`, a command line of fio, several lines | fio job |
//! | `.fio`, `.job`, or any file that begins with a section | fio job file |
//! | `.toml` with a table `[phone]` | scenario of a phone |
//! | `.toml` with a table `[sqlite]` | SQLite |
//! | `.toml` with a table `[generated]` | description of an app |
//! | `.toml` with a table `[llm]` | language model on flash |
//! | `.toml` with a table `[fragmentation]` | loop that fragments a volume |
//! | any other file, or a directory | block trace |

pub(crate) mod advice;
pub(crate) mod kind;
pub(crate) mod opened;
pub mod sweep;
pub mod trace;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use android::{Phone, Scenario};
use sqlite_load::{SqliteSource, SqliteSpec};
use units::LogicalUnits;
use workload::fio::{self, JobFile};
use workload::{
    Folded, FragmentationSource, FragmentationSpec, Generated, LlmSource, LlmSpec, MergeLimits, Plugged, Replay,
    ReplayMode, Source, Trace, text_file,
};

use self::kind::WorkloadKind;
use crate::error::LabError;
use crate::options::Spec;

/// A workload that is ready to run.
pub struct Workload {
    /// Where requests come from.
    pub source: Box<dyn Source>,
    /// "timed", "queued" or "closed" for traces and generated workloads, "fio" for job files, "sqlite" for databases,
    /// "phone" for phones, "llm" for language models, "fragmentation" for that loop, "generated" for those of a caller.
    pub replay: &'static str,
    /// Depth of a queued or closed replay.
    pub depth: Option<u32>,
    /// How a trace was folded onto the device.
    pub folded: Option<Folded>,
    /// Neighbouring requests of a trace are merged.
    pub merged: bool,
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
        Workload { source, replay, depth: None, folded: None, merged: false, warnings: Vec::new(), random: true }
    }
}

/// What a workload has to know of the system beneath it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beneath {
    /// Its logical units.
    pub logical_units: LogicalUnits,
    /// Most host memory that the driver may take for mappings at any time of the run, in bytes.
    pub driver_bytes: u64,
    /// How far neighbouring requests may be merged.
    pub merge: MergeLimits,
    /// Tasks of live workloads have plugs.
    pub plugs: bool,
}

impl Beneath {
    /// Size of the first logical unit in units of 4 KiB. Of workloads but fio's nothing lies on another.
    fn capacity_units(&self) -> u32 {
        self.logical_units.main().units
    }
}

/// What kind of workload a spec names. A file of a trace is not read.
///
/// # Errors
/// A TOML file or a job file that cannot be read, or is no workload.
pub(crate) fn kind_of(spec: &Spec) -> Result<WorkloadKind, LabError> {
    Ok(describe(&spec.workload)?.kind())
}

/// Bytes at the beginning of a file that show whether it is a job file.
const HEAD_BYTES: u64 = 1 << 16;

/// What a workload is, before anything is made of it.
enum Described {
    Job(JobText),
    Phone(String),
    Sqlite(String),
    Generated(String),
    Llm(String),
    Fragmentation(String),
    Trace,
}

/// Makes one of them of a text.
type Describe = fn(String) -> Described;

/// By the table that a TOML file has to have: what it is.
const TABLES: [(&str, Describe, &str); 5] = [
    ("phone", Described::Phone, "a scenario of a phone"),
    ("sqlite", Described::Sqlite, "a SQLite workload"),
    ("generated", Described::Generated, "a description of an app"),
    (LlmSpec::TABLE, Described::Llm, "a language model"),
    (FragmentationSpec::TABLE, Described::Fragmentation, "a fragmentation loop"),
];

impl Described {
    fn kind(&self) -> WorkloadKind {
        match self {
            Described::Job(_) => WorkloadKind::Job,
            Described::Phone(_) => WorkloadKind::Phone,
            Described::Sqlite(_) => WorkloadKind::Sqlite,
            Described::Generated(_) => WorkloadKind::Generated,
            Described::Llm(_) => WorkloadKind::Llm,
            Described::Fragmentation(_) => WorkloadKind::Fragmentation,
            Described::Trace => WorkloadKind::Trace,
        }
    }
}

/// The text of a fio job, and its name in messages.
pub(crate) struct JobText {
    pub name: String,
    pub text: String,
}

impl JobText {
    /// The job that a text stands for: an inline job, which is called `section` if it has no name, or a job file.
    /// `None` if it is neither.
    pub(crate) fn of(workload: &str, section: &str) -> Result<Option<JobText>, LabError> {
        let path = Path::new(workload);
        if !path.exists() && fio::is_inline_job(workload) {
            return Ok(Some(JobText { name: "options".into(), text: fio::inline_job(workload, section) }));
        }
        if has_ending(path, &["fio", "job"]) || (!has_ending(path, &["toml"]) && begins_as_job(path)) {
            return Ok(Some(JobText { name: workload.into(), text: text_of(workload)? }));
        }
        Ok(None)
    }

    /// Reads the job, with the variables and files that it names.
    pub(crate) fn parse(&self) -> Result<JobFile, fio::ConfigError> {
        JobFile::parse_in(&self.text, &self.name, &fio::FileSystem { variable: &variable })
    }
}

/// A variable of the environment.
#[expect(clippy::disallowed_methods, reason = "a job file says on which variables it depends, the result their values")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| endings.iter().any(|e| ending == *e))
}

/// Whether this is a file that begins with a section. Others, such as pipes, can be read only once.
fn begins_as_job(path: &Path) -> bool {
    let mut head = Vec::new();
    let is_read = path.is_file()
        && std::fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).is_ok();
    is_read && head.utf8_chunks().next().is_some_and(|chunk| fio::looks_like_job(chunk.valid()))
}

/// Workloads that can be given as text in place of a path, as jobs can be: those that are one table.
const INLINE: [&str; 3] = ["sqlite", LlmSpec::TABLE, FragmentationSpec::TABLE];

/// What a text stands for that is no path but a workload itself.
fn inline(workload: &str) -> Option<Describe> {
    let has = |name: &str| workload.lines().any(|line| line.trim().strip_prefix('[') == Some(&format!("{name}]")));
    let named = TABLES.iter().find(|(name, ..)| INLINE.contains(name) && has(name));
    named.filter(|_| workload.contains('\n')).map(|&(_, described, _)| described)
}

/// The name of a workload in messages.
fn name_of(workload: &str) -> &str {
    if inline(workload).is_some() { "options" } else { workload }
}

fn describe(workload: &str) -> Result<Described, LabError> {
    if let Some(described) = inline(workload) {
        return Ok(described(workload.to_owned()));
    }
    if let Some(job) = JobText::of(workload, "job")? {
        return Ok(Described::Job(job));
    }
    if !has_ending(Path::new(workload), &["toml"]) {
        return Ok(Described::Trace);
    }
    let text = text_of(workload)?;
    // The first section of many job files; no workload in TOML has a table of this name.
    if fio::looks_like_job(&text) && text.lines().any(|line| line.trim().eq_ignore_ascii_case("[global]")) {
        return Ok(Described::Job(JobText { name: workload.into(), text }));
    }
    let tables = params::parse(&text).map_err(|error| in_file(workload, error))?;
    if let Some((_, described, _)) = TABLES.iter().find(|(name, ..)| tables.contains_key(*name)) {
        return Ok(described(text));
    }
    let allowed: Vec<String> = TABLES.iter().map(|(name, _, what)| format!("[{name}], {what}")).collect();
    Err(in_file(workload, format!("is no workload: it must have a table {}", allowed.join(", or "))))
}

/// The description in a file, if it holds one.
///
/// # Errors
/// A description that is wrong, and a TOML file that is no workload.
pub(crate) fn generated(path: &str) -> Result<Option<Generated>, LabError> {
    if !has_ending(Path::new(path), &["toml"]) {
        return Ok(None);
    }
    match describe(path)? {
        Described::Generated(text) => Generated::parse(&text, path).map(Some).map_err(LabError::config),
        _ => Ok(None),
    }
}

/// Opens the workload of a spec.
pub(crate) fn open(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let described = describe(&spec.workload)?;
    spec.check_effects(described.kind())?;
    let live = match described {
        Described::Trace => return open_trace(spec, beneath),
        Described::Generated(text) => return open_generated(&text, spec, beneath),
        Described::Job(job) => open_job(&job, spec, beneath)?,
        Described::Sqlite(text) => open_sqlite(&text, spec, beneath)?,
        Described::Phone(text) => open_phone(&text, spec, beneath)?,
        Described::Llm(text) => open_llm(&text, spec, beneath)?,
        Described::Fragmentation(text) => open_fragmentation(&text, spec, beneath)?,
    };
    let source: Box<dyn Source> =
        if beneath.plugs { Box::new(Plugged::new(live.source, beneath.merge)) } else { live.source };
    Ok(Workload { source, ..live })
}

/// An error in the workload's file.
fn in_file(workload: &str, error: impl std::fmt::Display) -> LabError {
    LabError::Config(format!("{workload}: {error}"))
}

fn text_of(workload: &str) -> Result<String, LabError> {
    text_file(Path::new(workload)).map_err(|error| in_file(workload, error))
}

fn open_job(job: &JobText, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let jobs = job.parse().map_err(LabError::config)?;
    let source = jobs.bind_to(beneath.logical_units, spec.seed).map_err(LabError::config)?;
    let warnings = jobs.warnings().iter().map(ToString::to_string).collect();
    Ok(Workload { warnings, random: jobs.is_random(), ..Workload::of("fio", Box::new(source)) })
}

fn open_phone(text: &str, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let scenario = Scenario::parse(text, &spec.workload).map_err(LabError::config)?;
    let phone = Phone::new(&scenario, beneath.capacity_units(), spec.seed, beneath.driver_bytes);
    Ok(Workload::of("phone", Box::new(phone.map_err(|e| in_file(&spec.workload, e))?)))
}

fn open_sqlite(text: &str, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let name = name_of(&spec.workload);
    let wish = SqliteSpec::parse(text, name).map_err(LabError::config)?;
    // The first seed of a run leaves the file's as it is.
    let seeded = SqliteSpec { seed: wish.seed.wrapping_add(spec.seed.wrapping_sub(1)), ..wish };
    let source = SqliteSource::new(&seeded, beneath.capacity_units()).map_err(|e| in_file(name, e))?;
    Ok(Workload::of("sqlite", Box::new(source)))
}

fn open_llm(text: &str, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let name = name_of(&spec.workload);
    let model = LlmSpec::parse(text, name).map_err(LabError::config)?;
    let source = LlmSource::new(&model, name, beneath.capacity_units(), spec.seed).map_err(LabError::config)?;
    Ok(Workload::of("llm", Box::new(source)))
}

fn open_fragmentation(text: &str, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let name = name_of(&spec.workload);
    let description = FragmentationSpec::parse(text, name).map_err(LabError::config)?;
    let source = FragmentationSource::new(&description, name, beneath.capacity_units()).map_err(LabError::config)?;
    Ok(Workload { random: false, ..Workload::of("fragmentation", Box::new(source)) })
}

fn open_trace(spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    on_device(Arc::new(read_trace(spec)?), spec, beneath)
}

/// Reads the trace of a spec.
pub(crate) fn read_trace(spec: &Spec) -> Result<Trace, LabError> {
    Trace::read(Path::new(&spec.workload), &spec.trace_options()?).map_err(LabError::config)
}

/// The replay of a trace, which is put onto the device as the spec says. It is copied only if others hold it as well
/// and it has to be changed.
pub(crate) fn on_device(mut trace: Arc<Trace>, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    if spec.fold {
        Arc::make_mut(&mut trace).fold(beneath.capacity_units()).map_err(LabError::config)?;
    }
    trace.check_capacity(beneath.capacity_units()).map_err(|error| {
        let advice = advice::advice(&trace, beneath.capacity_units());
        LabError::Config(format!("{error}; {advice}"))
    })?;
    replayed(trace, spec, beneath)
}

fn open_generated(text: &str, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let description = Generated::parse(text, &spec.workload).map_err(LabError::config)?;
    let mut trace = description.trace(&spec.workload, spec.seed).map_err(LabError::config)?;
    if spec.fold {
        trace.fold(beneath.capacity_units()).map_err(LabError::config)?;
    }
    description.check_capacity(trace.end_units(), beneath.capacity_units()).map_err(LabError::config)?;
    Ok(Workload { random: true, ..replayed(Arc::new(trace), spec, beneath)? })
}

/// The replay of a trace that fits the device.
fn replayed(trace: Arc<Trace>, spec: &Spec, beneath: Beneath) -> Result<Workload, LabError> {
    let folded = trace.report.folded;
    let warnings = trace.report.warnings();
    let merged = spec.merges(trace.report.recorded);
    let trace = match spec.repeat.unwrap_or(1) {
        1 => trace,
        times => Arc::new(Arc::unwrap_or_clone(trace).repeated(times).map_err(LabError::config)?),
    };
    let mode = spec.replay_mode();
    let source = Replay::new(trace, mode, beneath.capacity_units()).map_err(LabError::config)?;
    let source = if merged { source.merging(&beneath.merge) } else { source };
    let (replay, depth) = match mode {
        ReplayMode::Timed => ("timed", None),
        ReplayMode::Queued { depth } => ("queued", Some(depth)),
        ReplayMode::Closed { depth, .. } => ("closed", Some(depth)),
    };
    Ok(Workload { source: Box::new(source), replay, depth, folded, merged, warnings, random: false })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use units::Nanos;

    use super::*;

    /// Files of a test, removed at its end.
    struct Directory(std::path::PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("ufsim-open-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Directory(path)
        }

        fn put(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
            let path = self.0.join(name);
            fs::write(&path, contents).unwrap();
            path.display().to_string()
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const JOB_TEXT: &str = "; a comment\n\n[global]\nrw=read\n[a]\nsize=1m\n";

    #[test]
    fn what_stands_in_a_file_decides_and_not_its_name() {
        let directory = Directory::new("kinds");
        let csv = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n5,read,sd,80,4096,,,a\n";
        for (name, text, kind) in [
            ("a.fio", JOB_TEXT, "fio"),
            ("a.job", JOB_TEXT, "fio"),
            ("a", JOB_TEXT, "fio"),
            ("a.ini", "\u{feff}[job]\nrw=read\n", "fio"),
            ("a.toml", JOB_TEXT, "fio"),
            ("p.toml", "[phone]\n", "phone"),
            ("s.toml", "seed = 1\n[sqlite]\n", "sqlite"),
            ("g.toml", "[generated]\n", "generated"),
            ("l.toml", "[llm]\n", "llm"),
            ("f.toml", "[fragmentation]\n", "fragmentation"),
            ("t.csv", csv, "trace"),
            ("t", csv, "trace"),
            ("empty", "", "trace"),
            ("rw=read", csv, "trace"),
        ] {
            assert_eq!(named_kind(&directory.put(name, text)).unwrap(), kind, "{name}");
        }
        assert_eq!(named_kind(&directory.put("binary", [7, 0x74, 0x61, 0x65, b'[', 0xff])).unwrap(), "trace");
        assert_eq!(named_kind(&directory.0.display().to_string()).unwrap(), "trace");
        assert_eq!(named_kind("rw=randread size=1m").unwrap(), "fio");
        assert_eq!(named_kind("[a]\nrw=read\nsize=1m\n").unwrap(), "fio");
        assert_eq!(named_kind("[sqlite]\ntransactions = 1\n").unwrap(), "sqlite");
        assert_eq!(named_kind("[llm]\ntokens = 1\n").unwrap(), "llm");
        assert_eq!(named_kind("[fragmentation]\nrounds = 1\n").unwrap(), "fragmentation");
        for (name, text, told) in [
            ("x.toml", "[table]\nx = 1\n", "must have a table [phone]"),
            ("y.toml", "x =\n", "line 1: "),
            ("z.fio", "a\0\u{1}", ""),
        ] {
            let path = directory.put(name, text);
            match named_kind(&path) {
                Ok(kind) => assert_eq!((kind, told), ("fio", ""), "{name}"),
                Err(error) => assert!(error.to_string().contains(told), "{name}: {error}"),
            }
        }
    }

    fn named_kind(workload: &str) -> Result<&'static str, LabError> {
        Ok(match describe(workload)?.kind() {
            WorkloadKind::Job => "fio",
            WorkloadKind::Phone => "phone",
            WorkloadKind::Generated => "generated",
            WorkloadKind::Llm => "llm",
            WorkloadKind::Fragmentation => "fragmentation",
            WorkloadKind::Sqlite => "sqlite",
            WorkloadKind::Trace => "trace",
        })
    }

    fn opened(workload: &str) -> Result<Workload, LabError> {
        open(
            &Spec::new("ufs", workload),
            Beneath {
                logical_units: LogicalUnits::one(1 << 14),
                driver_bytes: 0,
                merge: MergeLimits {
                    bytes: 1 << 20,
                    segments: 128,
                    plug_requests: 32,
                    plug_gap: Nanos(50_000),
                    plug_sync_gap: Nanos(50_000),
                },
                plugs: false,
            },
        )
    }

    #[test]
    fn a_job_takes_what_stands_elsewhere() {
        let directory = Directory::new("elsewhere");
        directory.put("common.fio", "bs=8k\n");
        directory.put("l.log", "fio version 2 iolog\nf write 0 4096\nf read 4096 4096\n");
        // This variable is set wherever the tests run.
        let text = "[a]\ninclude common.fio\nsize=1m\ndescription=${CARGO_PKG_NAME}\n[b]\nread_iolog=l.log\n";
        let workload = opened(&directory.put("job", text)).unwrap();
        assert_eq!(workload.source.progress().total, Some((1 << 20) + 8192));
        let told = "line 4: option \"description\": ${CARGO_PKG_NAME} is \"ufsim-lab\" in the environment";
        assert_eq!(workload.warnings[0], told);
        let unset = opened("rw=read size=${NOT_SET_ANYWHERE}").err().expect("an error").to_string();
        assert_eq!(
            unset,
            "options:3: size=\"${NOT_SET_ANYWHERE}\": the environment has no variable \"NOT_SET_ANYWHERE\"; set it"
        );
    }

    #[test]
    fn inline_jobs_are_run_and_their_mistakes_named() {
        for job in ["rw=write size=1m", "fio --name=mine --rw=write --size=1m", "rw=write\nsize=1m"] {
            let workload = opened(job).unwrap();
            assert_eq!((workload.replay, workload.source.progress().total), ("fio", Some(1 << 20)), "{job}");
            let name = &workload.source.groups()[0].name;
            assert_eq!(name, if job.contains("mine") { "mine" } else { "job" });
        }
        let error = opened("rw=sideways size=1m").err().expect("an error").to_string();
        assert!(error.starts_with("options:2: rw=\"sideways\" is not allowed; allowed: read, "), "{error}");
        assert_eq!(opened("/dev/zero").err().expect("an error").to_string().split(": ").next(), Some("/dev/zero"));
    }

    /// Files that never end are no job files, scenarios or profiles.
    #[test]
    fn texts_have_an_end() {
        let directory = Directory::new("endless");
        for name in ["a.fio", "a.toml"] {
            let path = directory.0.join(name);
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            let error = opened(&path.display().to_string()).err().expect("an error").to_string();
            assert!(error.contains("has more than 16777216 bytes"), "{error}");
        }
        let profile = directory.0.join("a.toml").display().to_string();
        let error = crate::profile::profile_text(&profile).unwrap_err().to_string();
        assert!(error.contains("cannot be read: has more than 16777216 bytes"), "{error}");
        let age = directory.0.join("a.fio").display().to_string();
        let spec = Spec { age: Some(age), profile: "tiny".into(), ..Spec::new("ufs", "") };
        let error = crate::age_header(&spec).unwrap_err().to_string();
        assert!(error.starts_with("age: ") && error.contains("has more than 16777216 bytes"), "{error}");
    }

    #[test]
    fn what_a_variable_says_is_part_of_the_name_of_a_state() {
        let directory = Directory::new("age");
        let spec = |age: &str| Spec { age: Some(age.into()), profile: "tiny".into(), ..Spec::new("ufs", "") };
        let path = directory.put("age", "[a]\nrw=write\nsize=1m\ninclude more\n");
        directory.put("more", "bs=4k\n");
        let header = crate::age_header(&spec(&path)).unwrap();
        assert_eq!(header.age, "[a]\nrw=write\nsize=1m\nbs=4k\n");
        directory.put("more", "bs=8k\n");
        assert_ne!(crate::age_header(&spec(&path)).unwrap().key(), header.key());
        assert_eq!(crate::age_header(&spec("rw=write size=1m")).unwrap().age, "[age]\nrw=write\nsize=1m\n");
        let told = |age: &str| crate::age_header(&spec(age)).unwrap_err().to_string();
        assert_eq!(
            told("nowhere"),
            "age = \"nowhere\": must be a fio job file, options such as rw=randwrite size=4g, the file of a trace, or \
             words: fresh, used, full, or such as '85% full, 40% overwritten'"
        );
        assert!(told("nowhere.fio").starts_with("age: nowhere.fio: "));
    }
}
