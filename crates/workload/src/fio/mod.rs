//! fio job files.
//!
//! # Glossary
//! - **job**: a section of the file; **clone**: one of its `numjobs` independent copies.
//! - **file**: what a clone works on: `filename`, or one of its own; files lie on the device one after another in the
//!   order of the jobs, each on a 4 KiB border.
//! - **region**: the part of the file from `offset` on, `size` bytes long.
//! - **loop**: `io_size` (or `size`) bytes of requests; `loops` says how many.
//! - **stage**: the jobs from one `stonewall` to the next.
//! - **warm-up**: a job whose section has the comment line `; ufsim: warmup` is run but not measured. fio itself
//!   ignores the comment, so the same file runs there.
//!
//! docs/reference/workloads.md tells where this differs from fio.

mod around;
mod error;
mod inline;
mod iolog;
mod job;
mod known;
mod options;
mod parse;
mod pattern;
mod player;
mod source;
mod spread;
mod strided;
mod value;
mod work;
mod worker;

use units::LogicalUnits;

pub use around::{FileSystem, Nothing, Surroundings};
pub use error::{ConfigError, Warning};
pub use inline::{inline_job, is_inline_job, looks_like_job};
pub use options::MODELLED;
pub use source::FioSource;

/// A parsed job file.
///
/// ```
/// use ufsim_workload::fio::JobFile;
/// let text = "[global]\nbs=4k\n[fill]\nrw=write\nsize=1m\n";
/// let file = JobFile::parse(text, "example.fio").unwrap();
/// let error = file.bind(255, 1).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "example.fio:3: job \"fill\" needs bytes 0 to 1048576 of the device, which has 1044480 (255 units of 4 KiB)"
/// );
/// ```
#[derive(Clone, Debug)]
pub struct JobFile {
    path: String,
    parsed: parse::Parsed,
}

impl JobFile {
    /// Parses a job file that stands for itself; `path` is its name in messages.
    ///
    /// # Errors
    /// [`ConfigError`] naming line, option, value and allowed range.
    pub fn parse(text: &str, path: &str) -> Result<JobFile, ConfigError> {
        JobFile::parse_in(text, path, &Nothing)
    }

    /// Parses a job file that may use variables, and name files to include and logs to replay.
    ///
    /// # Errors
    /// See [`JobFile::parse`].
    pub fn parse_in(text: &str, path: &str, around: &dyn Surroundings) -> Result<JobFile, ConfigError> {
        Ok(JobFile { path: path.into(), parsed: parse::parse(text, path, around)? })
    }

    /// The job file with everything in its place that stands elsewhere: values of variables, files that are included,
    /// and what tells a log from others. `None` if nothing does, so that the text itself is the whole.
    pub fn whole(&self) -> Option<&str> {
        self.parsed.whole.as_deref()
    }

    /// Options that were accepted, but do not do here what they do in fio.
    pub fn warnings(&self) -> &[Warning] {
        &self.parsed.warnings
    }

    /// Some job draws random numbers.
    pub fn is_random(&self) -> bool {
        self.parsed.jobs.iter().any(|job| job.logs.is_empty() && job.options.is_random())
    }

    /// Lays the jobs' files out on a device of `capacity_units` units of 4 KiB and makes the generators. `seed` is the
    /// run's; with 1 jobs have the seeds of the file.
    ///
    /// # Errors
    /// [`ConfigError::Job`] and [`ConfigError::BeyondDevice`], naming job and line.
    pub fn bind(&self, capacity_units: u32, seed: u64) -> Result<FioSource, ConfigError> {
        self.bind_to(LogicalUnits::one(capacity_units), seed)
    }

    /// The same on a device with these logical units. Where there are several, a file named /dev/sda is all of number
    /// 0, /dev/sdb of number 1, and so on; other files lie on number 0.
    ///
    /// # Errors
    /// The same, and a unit that is not there.
    pub fn bind_to(&self, logical_units: LogicalUnits, seed: u64) -> Result<FioSource, ConfigError> {
        let layout = job::Layout { path: &self.path, jobs: &self.parsed.jobs, logical_units, run_seed: seed };
        Ok(FioSource::new(&layout.clones()?))
    }
}

#[cfg(test)]
mod tests;
