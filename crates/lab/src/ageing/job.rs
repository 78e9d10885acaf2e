//! What a device is aged with: a fio job, words that stand for one, or the writes and trims of a trace.

use std::path::Path;
use std::sync::Arc;

use units::LogicalUnits;
use workload::fio::JobFile;
use workload::{Flags, Replay, ReplayMode, Source, Trace, WorkOp};

use crate::ageing::words;
use crate::error::LabError;
use crate::open::JobText;
use crate::options::Spec;
use crate::report::digest::Digest;

/// Outstanding requests of a trace that ages: its times do not count.
const DEPTH: u32 = 8;

/// How the text of a trace that ages begins; no job does so.
const TRACE: &str = "trace ";

/// What ages a device, and the text that says all of it: that of the job with the variables and files that it names, or
/// the name and the digest of a trace.
pub(crate) struct AgeingJob {
    what: What,
    pub text: String,
}

enum What {
    Job(Box<JobFile>),
    Trace(Arc<Trace>),
}

impl AgeingJob {
    /// That of a file, one job of the options given, or what words say of the device.
    ///
    /// # Errors
    /// [`LabError::Config`]: it is none of these, or not right.
    pub fn of(spec: &Spec) -> Result<AgeingJob, LabError> {
        let Some(age) = &spec.age else {
            return Err(LabError::Config("age: no job was given that ages the device".into()));
        };
        let found = JobText::of(age, "age").map_err(|error| wrong_age(&error))?;
        if let Some(found) = found.map_or_else(|| said(spec, age), |found| Ok(Some(found)))? {
            let job = found.parse().map_err(|error| wrong_age(&error))?;
            let text = job.whole().map_or(found.text, str::to_owned);
            return Ok(AgeingJob { what: What::Job(Box::new(job)), text });
        }
        if !Path::new(age).exists() {
            let told = "must be a fio job file, options such as rw=randwrite size=4g, the file of a trace, or words";
            return Err(LabError::Config(format!("age = \"{age}\": {told}: {}", words::ALLOWED)));
        }
        AgeingJob::of_trace(spec, age)
    }

    /// The writes and trims of a trace, as fast as the device takes them.
    fn of_trace(spec: &Spec, age: &str) -> Result<AgeingJob, LabError> {
        let options = Spec { workload: age.into(), ..Spec::default() }.trace_options()?;
        let mut trace = Trace::read(Path::new(age), &options).map_err(|error| wrong_age(&error))?;
        trace.requests.retain(|request| matches!(request.op, WorkOp::Write | WorkOp::Trim));
        if trace.requests.is_empty() {
            return Err(LabError::Config(format!("age = \"{age}\": must have writes; this trace has none")));
        }
        let capacity = spec.resolve()?.profile.logical_units().main().units;
        trace.check_capacity(capacity).map_err(|error| wrong_age(&error))?;
        let mut digest = Digest::default();
        for request in &trace.requests {
            let Flags { fua, sync, meta, readahead, preflush } = request.flags;
            let flags =
                [fua, sync, meta, readahead, preflush].into_iter().fold(0, |bits, flag| bits * 2 + u64::from(flag));
            let words = [request.op as u64, request.sector, request.bytes, flags];
            words.into_iter().for_each(|word| digest.word(word));
        }
        let name = Path::new(age).file_name().unwrap_or_default().to_string_lossy();
        let text = format!("{TRACE}{name}: {} writes and trims, digest {}", trace.requests.len(), digest.hex());
        Ok(AgeingJob { what: What::Trace(Arc::new(trace)), text })
    }

    /// The requests, on a device with these logical units.
    ///
    /// # Errors
    /// [`LabError::Config`]: they do not fit.
    pub fn source(self, units: LogicalUnits, seed: u64) -> Result<Box<dyn Source>, LabError> {
        match self.what {
            What::Job(job) => Ok(Box::new(job.bind_to(units, seed).map_err(|error| wrong_age(&error))?)),
            What::Trace(trace) => {
                let mode = ReplayMode::Closed { depth: DEPTH, per_file: false };
                Ok(Box::new(Replay::new(trace, mode, units.main().units).map_err(|error| wrong_age(&error))?))
            }
        }
    }
}

/// Whether a device that was aged with this text may differ from seed to seed.
pub(crate) fn is_random(text: &str) -> bool {
    !text.starts_with(TRACE) && JobFile::parse(text, "age").map_or(true, |job| job.is_random())
}

fn said(spec: &Spec, age: &str) -> Result<Option<JobText>, LabError> {
    let said = words::job_of(age, spec.resolve()?.profile.logical_units().main().units);
    let text = said.transpose().map_err(LabError::Config)?;
    Ok(text.map(|text| JobText { name: "age".into(), text }))
}

fn wrong_age(error: &dyn std::fmt::Display) -> LabError {
    LabError::Config(format!("age: {error}"))
}
