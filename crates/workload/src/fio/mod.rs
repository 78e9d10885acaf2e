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
//! # Where this differs from fio
//! - There are no files, page cache or engine: requests go to the device, `iodepth` of them at once (one, if
//!   `ioengine` names a synchronous engine; fio's default engine is one, here no `ioengine` means an asynchronous one).
//! - `fsync` and `fdatasync` are one flush. It is issued after every so many writes, also after the last, once all
//!   writes of the clone have completed, and the clone issues nothing else until it is done.
//! - The random map is a keyed permutation of the starts of blocks, in steps of the smallest block size. With several
//!   sizes, larger blocks may overlap others; fio cuts them short instead.
//! - Random numbers come from xoshiro256++, not from fio's generators: distributions agree, sequences do not.
//!   `randrepeat=1` repeats the sequence in every loop, and in every run with the same seed; `randrepeat=0` derives it
//!   from the run's seed alone, anew in every loop. A run's seed of 1 leaves the file's seeds as they are; another one
//!   moves them, `randseed` as well, so that a run can be repeated with other random numbers without editing the file.
//! - `normal:d` is a normal distribution with `d` per cent standard deviation; fio's adds a uniform deviation to the
//!   mean of twelve draws. Ranks of skewed distributions are scattered by a permutation instead of a hash.
//! - `zoned` has whole percentages, the same for reads, writes and trims; none can be left out. A block may be taken
//!   again, also without `norandommap`.
//! - `write_barrier=N` makes every Nth write one with preflush and force unit access.
//! - A job that would go on longer ends after 2^62 ns (146 years) of simulated time.
//! - `stonewall` waits for every job above it, including those whose `startdelay` has not passed yet.

mod error;
mod job;
mod known;
mod options;
mod parse;
mod pattern;
mod source;
mod value;
mod worker;

pub use error::{ConfigError, Warning};
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
    /// Parses a job file; `path` is its name in messages.
    ///
    /// # Errors
    /// [`ConfigError`] naming line, option, value and allowed range.
    pub fn parse(text: &str, path: &str) -> Result<JobFile, ConfigError> {
        Ok(JobFile { path: path.into(), parsed: parse::parse(text, path)? })
    }

    /// Options that were accepted, but do not do here what they do in fio.
    pub fn warnings(&self) -> &[Warning] {
        &self.parsed.warnings
    }

    /// Some job draws random numbers.
    pub fn is_random(&self) -> bool {
        self.parsed.jobs.iter().any(|job| job.options.is_random())
    }

    /// Lays the jobs' files out on a device of `capacity_units` units of 4 KiB and makes the generators. `seed` is the
    /// run's; with 1 jobs have the seeds of the file.
    ///
    /// # Errors
    /// [`ConfigError::Job`] and [`ConfigError::BeyondDevice`], naming job and line.
    pub fn bind(&self, capacity_units: u32, seed: u64) -> Result<FioSource, ConfigError> {
        let layout = job::Layout { path: &self.path, jobs: &self.parsed.jobs, capacity_units, run_seed: seed };
        Ok(FioSource::new(&layout.clones()?))
    }
}

#[cfg(test)]
mod tests;
