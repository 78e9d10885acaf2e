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
//! - `${NAME}` in a value is an error if the environment has no such variable; fio puts nothing in its place. What was
//!   put there is told with the result. fio's `$pagesize`, `$mb_memory` and `$ncpus` are not known, nor is arithmetic.
//! - `include FILE` and `read_iolog=FILE` are relative to the file in which they stand; fio looks in the working
//!   directory first. As in fio, a file that is included has no sections.
//! - There are no files, page cache or engine: requests go to the device, `iodepth` of them at once (one, if
//!   `ioengine` names a synchronous engine; fio's default engine is one, here no `ioengine` means an asynchronous one).
//! - `fsync` and `fdatasync` are one flush. It is issued after every so many writes, also after the last, once all
//!   writes of the clone have completed, and the clone issues nothing else until it is done.
//! - Several files (`nrfiles`, or names with colons in `filename`) are open all at once; `openfiles` is ignored. Of
//!   `file_service_type`, `roundrobin`, `sequential` and `random` are there, each with `:N`.
//! - `bs` takes ranges, as `bsrange` does. Sizes of a range are multiples of its smallest, drawn as in fio; one that
//!   does not fit at the end of a region becomes the smallest.
//! - `ramp_time`: requests issued before it has passed are not measured, whenever they complete; fio also counts those
//!   that complete behind it. Limits and rates count from there in both. A run in which nothing was measured is an
//!   error.
//! - `rate_iops` counts requests of any size; fio counts the smallest block. Both make up for lateness, as fio does
//!   with `rate_process=linear`.
//! - `read_iolog` takes fio's logs of version 2 and 3, plain or packed, not blktrace: a trace is a workload of its own.
//!   The log's files lie on the device like others, each as large as the log needs it, under the names that the log
//!   gives. `iodepth`, `loops`, `runtime`, `time_based`, `startdelay`, `ramp_time`, `replay_no_stall` and what orders
//!   jobs hold for it; options that would make requests do not. Every clone replays the whole log. A sync is a flush,
//!   as below. Waits below 100 µs are kept, which fio drops; `loops` and `time_based` repeat the log, which fio reads
//!   once.
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
mod value;
mod work;
mod worker;

pub use around::{FileSystem, Nothing, Surroundings};
pub use error::{ConfigError, Warning};
pub use inline::{inline_job, is_inline_job, looks_like_job};
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
        self.parsed.jobs.iter().any(|job| job.log.is_none() && job.options.is_random())
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
