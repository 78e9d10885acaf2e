//! From job sections to clones with places on a device.

use std::collections::BTreeMap;

use units::{LogicalUnit, LogicalUnits, UNIT_BYTES};

use super::error::ConfigError;
use super::iolog::{Log, LoggedFile};
use super::options::Amount;
use super::parse::Job;
use crate::{SECTOR_BYTES, named_seed};

/// Most clones of all jobs together: streams are numbered with 16 bits.
const MAX_CLONES: u64 = 1 << 16;

/// Most files of all clones together.
const MAX_FILES: u64 = 1 << 20;

/// Seed of jobs with `randrepeat=1` and no `randseed`: their pattern is the same in every run with the same seed.
const REPEATED_SEED: u64 = 0x7566_7369_6d00_0001;

/// The part of a file in which a clone works, in bytes from the start of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Region {
    pub begin: u64,
    pub bytes: u64,
}

/// One clone of a job, ready to run.
#[derive(Clone, Debug)]
pub(super) struct JobClone<'a> {
    pub job: &'a Job,
    pub number: u32,
    /// One of each of its files.
    pub regions: Vec<Region>,
    /// Bytes of one loop.
    pub io_bytes: u64,
    /// Whether the loop ends at the end of the regions even if fewer than `io_bytes` were done.
    pub ends_with_region: bool,
    pub seed: u64,
    /// Stonewall stage, from 0.
    pub stage: u16,
    /// fio's reporting group, from 0.
    pub report_group: u32,
}

/// The files, in the order in which clones mention them.
#[derive(Default)]
struct Files {
    list: Vec<File>,
    by_name: BTreeMap<String, usize>,
}

impl Files {
    fn find_or_add(&mut self, name: String, disk: Option<LogicalUnit>) -> usize {
        *self.by_name.entry(name).or_insert_with_key(|name| {
            self.list.push(File { name: name.clone(), bytes: disk.map_or(0, bytes_of), begin: 0, disk });
            self.list.len() - 1
        })
    }
}

fn bytes_of(unit: LogicalUnit) -> u64 {
    u64::from(unit.units) * UNIT_BYTES
}

/// A file on the device while its size is being found out.
struct File {
    name: String,
    bytes: u64,
    begin: u64,
    /// It is a whole logical unit, as the name says.
    disk: Option<LogicalUnit>,
}

/// Where a clone works inside its files.
struct Place {
    files: Vec<usize>,
    /// In each file.
    offset: u64,
    /// In all files together.
    size: Option<u64>,
}

/// Lays out files and makes the clones of all jobs, in order.
pub(super) struct Layout<'a> {
    pub path: &'a str,
    pub jobs: &'a [Job],
    /// Where there are several, a file named /dev/sda is number 0, /dev/sdb number 1. Other files lie on number 0.
    pub logical_units: LogicalUnits,
    pub run_seed: u64,
}

impl<'a> Layout<'a> {
    /// The clones.
    ///
    /// # Errors
    /// [`ConfigError::Job`], [`ConfigError::BeyondDevice`].
    pub(super) fn clones(&self) -> Result<Vec<JobClone<'a>>, ConfigError> {
        self.check_count()?;
        let (mut files, mut places) = (Files::default(), Vec::new());
        for (job, number) in self.clones_in_order() {
            places.push(self.place(job, number, &mut files)?);
        }
        let mut files = files.list;
        self.size_whole_files(&mut files, &places)?;
        self.assign(&mut files, &places)?;
        let mut order = Order::default();
        let mut clones = Vec::with_capacity(places.len());
        for ((job, number), place) in self.clones_in_order().zip(&places) {
            if number == 0 {
                order.enter(job, clones.is_empty());
            }
            let regions = self.regions(job, place, &files)?;
            clones.push(self.clone(job, number, (place.size, regions), &order)?);
        }
        Ok(clones)
    }

    /// The unit that a file is as a whole, if its name says so and there are several.
    fn disk(&self, job: &Job, name: &str) -> Result<Option<LogicalUnit>, ConfigError> {
        let letter = name.strip_prefix("/dev/sd").map(str::as_bytes);
        let (&[letter @ b'a'..=b'z'], 2..) = (letter.unwrap_or_default(), self.logical_units.count()) else {
            return Ok(None);
        };
        let last = char::from(b'a' + self.logical_units.count() - 1);
        let missing =
            || self.error(job, format!("{name} is not there: the logical units are /dev/sda to /dev/sd{last}"));
        self.logical_units.get(letter - b'a').ok_or_else(missing).map(Some)
    }

    fn clones_in_order(&self) -> impl Iterator<Item = (&'a Job, u32)> + use<'a> {
        self.jobs.iter().flat_map(|job| (0..job.options.numjobs).map(move |number| (job, number)))
    }

    fn check_count(&self) -> Result<(), ConfigError> {
        let (mut count, mut files) = (0, 0);
        for job in self.jobs {
            let o = &job.options;
            count += u64::from(o.numjobs);
            if count > MAX_CLONES {
                return Err(self.error(job, format!("is clone number {count}; at most {MAX_CLONES} are allowed")));
            }
            files +=
                u64::from(o.numjobs) * o.filename.as_ref().map_or(u64::from(o.nrfiles), |names| names.len() as u64);
            if files > MAX_FILES {
                return Err(self.error(job, format!("has file number {files}; at most {MAX_FILES} are allowed")));
            }
            if let Some(wrong) = o.wrong_zones() {
                return Err(self.error(job, wrong.into()));
            }
            if o.rate != [0; 3] && o.rate_iops != [0; 3] {
                return Err(self.error(job, "rate and rate_iops exclude each other".into()));
            }
        }
        Ok(())
    }

    /// Finds or makes the clone's files, and grows them to what the clone needs.
    fn place(&self, job: &Job, number: u32, files: &mut Files) -> Result<Place, ConfigError> {
        if let Some(log) = job.log_of(number) {
            return self.place_of_log(job, log, files);
        }
        let o = &job.options;
        let names = o.filename.clone().unwrap_or_else(|| {
            let own = |file| own_name(o.filename_format.as_deref(), name_of(job), number, file);
            (0..o.nrfiles).map(own).collect()
        });
        let disks = names.iter().map(|name| self.disk(job, name)).collect::<Result<Vec<_>, _>>()?;
        let capacity = bytes_of(disks[0].unwrap_or(self.logical_units.main()));
        // As in fio, a size of some per cent ends with a whole block, and an offset begins with one.
        let block = o.smallest_block();
        let whole = o.filesize.unwrap_or(capacity);
        let blocks_of = |amount, whole| match amount {
            Amount::Percent(percent) => share(whole, percent) / block * block,
            Amount::Bytes(bytes) => bytes,
        };
        let size = o.size.map(|amount| blocks_of(amount, whole));
        if size.is_none() && o.filesize.is_none() && o.filename.is_none() {
            return Err(self.error(job, "needs size= (or filename= for a file that has a size)".into()));
        }
        // A percentage is of the file where its size is known, else of the device.
        let whole = match (o.filesize, o.size) {
            (Some(bytes), _) | (None, Some(Amount::Bytes(bytes))) => bytes,
            _ => capacity,
        };
        let step = blocks_of(o.offset_increment, whole).checked_mul(u64::from(number));
        let first = match o.offset {
            Amount::Percent(percent) => share(whole, percent).next_multiple_of(block),
            Amount::Bytes(bytes) => bytes,
        };
        let offset = step.and_then(|step| first.checked_add(step));
        let offset = offset.ok_or_else(|| self.error(job, "offset does not fit into 64 bits".into()))?;
        if !offset.is_multiple_of(SECTOR_BYTES) {
            return Err(self.error(job, format!("offset {offset} is no multiple of {SECTOR_BYTES}")));
        }
        let share = size.unwrap_or(0) / names.len() as u64;
        let needed = o.filesize.unwrap_or_else(|| offset.saturating_add(share));
        let numbers: Vec<usize> =
            names.into_iter().zip(disks).map(|(name, disk)| files.find_or_add(name, disk)).collect();
        // An unsized clone makes no file: only sized ones decide how large it is.
        if size.is_some() || o.filesize.is_some() {
            for &file in &numbers {
                let bytes = &mut files.list[file].bytes;
                *bytes = needed.max(*bytes);
            }
        }
        Ok(Place { files: numbers, offset, size })
    }

    /// The files of a log, each as large as the log needs it.
    fn place_of_log(&self, job: &Job, log: &Log, files: &mut Files) -> Result<Place, ConfigError> {
        let place = |logged: &LoggedFile| {
            let file = files.find_or_add(logged.name.clone(), self.disk(job, &logged.name)?);
            let bytes = &mut files.list[file].bytes;
            *bytes = logged.bytes.max(*bytes);
            Ok(file)
        };
        Ok(Place { files: log.files.iter().map(place).collect::<Result<_, _>>()?, offset: 0, size: None })
    }

    /// A file to which no job gave a size is the whole device, if it is the only file.
    fn size_whole_files(&self, files: &mut [File], places: &[Place]) -> Result<(), ConfigError> {
        let alone = files.len() == 1;
        for ((job, _), place) in self.clones_in_order().zip(places).filter(|((job, _), _)| job.logs.is_empty()) {
            for &file in &place.files {
                let file = &mut files[file];
                if file.bytes == 0 && place.size.is_none() {
                    if !alone {
                        return Err(self.error(job, format!("needs size=: no job gives file {:?} a size", file.name)));
                    }
                    file.bytes = bytes_of(self.logical_units.main());
                }
            }
        }
        Ok(())
    }

    /// Puts the files of the first unit one after another, each on a 4 KiB border. What lies on another is all of it.
    fn assign(&self, files: &mut [File], places: &[Place]) -> Result<(), ConfigError> {
        let (mut next, mut assigned) = (0_u64, 0);
        let mentioned = self
            .clones_in_order()
            .zip(places)
            .flat_map(|((job, _), place)| place.files.iter().map(move |&file| (job, file)));
        for (job, file) in mentioned {
            if file < assigned {
                continue;
            }
            assigned += 1;
            let file = &mut files[file];
            let unit = file.disk.unwrap_or(self.logical_units.main());
            let begin = if unit.lun == 0 { next } else { 0 };
            let end = begin.saturating_add(file.bytes);
            if end > bytes_of(unit) {
                return Err(ConfigError::BeyondDevice {
                    path: self.path.into(),
                    line: job.line,
                    job: name_of(job).into(),
                    begin,
                    end,
                    capacity: bytes_of(unit),
                    capacity_units: unit.units,
                });
            }
            file.begin = u64::from(unit.first.0) * UNIT_BYTES + begin;
            if unit.lun == 0 {
                next = end.next_multiple_of(UNIT_BYTES);
            }
        }
        Ok(())
    }

    /// The parts of its files in which a clone works.
    fn regions(&self, job: &Job, place: &Place, files: &[File]) -> Result<Vec<Region>, ConfigError> {
        let (o, count) = (&job.options, place.files.len() as u64);
        let region = |&file: &usize| {
            let file = &files[file];
            let rest = file.bytes.saturating_sub(place.offset);
            // With filesize, size is only the default of io_size.
            let share = place.size.filter(|_| o.filesize.is_none()).map_or(rest, |size| rest.min(size / count));
            Region { begin: file.begin + place.offset, bytes: share / SECTOR_BYTES * SECTOR_BYTES }
        };
        let regions: Vec<Region> = place.files.iter().map(region).collect();
        let smallest = regions.iter().map(|region| region.bytes).min().unwrap_or(0);
        let largest = o.largest_block();
        if smallest >= largest || !job.logs.is_empty() {
            return Ok(regions);
        }
        let share = if count == 1 { "size less offset".to_owned() } else { format!("size / {count} files") };
        Err(self.error(job, format!("a block of {largest} bytes does not fit into {smallest} bytes ({share})")))
    }

    fn clone(
        &self,
        job: &'a Job,
        number: u32,
        (size, regions): (Option<u64>, Vec<Region>),
        order: &Order<'a>,
    ) -> Result<JobClone<'a>, ConfigError> {
        let o = &job.options;
        let bytes: u64 = regions.iter().map(|region| region.bytes).sum();
        // The first seed of a run leaves the file's as it is.
        let shifted = |seed: u64| seed.wrapping_add(self.run_seed.wrapping_sub(1));
        let base = match o.randseed {
            Some(seed) => shifted(seed),
            None if o.randrepeat => shifted(REPEATED_SEED),
            None => self.run_seed,
        };
        let io_bytes = match (o.io_size, size) {
            (Some(Amount::Percent(percent)), _) => share(bytes, percent),
            (Some(Amount::Bytes(bytes)), _) => bytes,
            (None, Some(size)) if o.filesize.is_some() => size,
            _ => bytes,
        };
        if io_bytes == 0 && job.logs.is_empty() {
            return Err(self.error(job, "has nothing to do: io_size is 0 bytes".into()));
        }
        Ok(JobClone {
            job,
            number,
            regions,
            io_bytes,
            ends_with_region: o.io_size.is_none(),
            seed: named_seed(base, name_of(job), order.duplicates << 32 | u64::from(number)),
            stage: order.stage,
            report_group: order.report_group,
        })
    }

    fn error(&self, job: &Job, reason: String) -> ConfigError {
        ConfigError::Job { path: self.path.into(), line: job.line, job: name_of(job).into(), reason }
    }
}

fn share(whole: u64, percent: u32) -> u64 {
    (u128::from(whole) * u128::from(percent) / 100) as u64
}

/// The name of a file of a clone's own, in the words of `filename_format`. One that does not tell clones apart is a
/// file of all of them.
fn own_name(format: Option<&str>, job: &str, clone: u32, file: u32) -> String {
    let words =
        [("$jobname", job), ("$jobnum", &clone.to_string()), ("$filenum", &file.to_string()), ("$clientuid", "")];
    let format = format.unwrap_or("$jobname.$jobnum.$filenum").to_owned();
    words.into_iter().fold(format, |name, (word, meant)| name.replace(word, meant))
}

/// The `name` option, else the section's name.
pub(super) fn name_of(job: &Job) -> &str {
    job.options.name.as_deref().unwrap_or(&job.name)
}

/// What follows from the order of jobs: stonewall stages and reporting groups as fio counts them, and namesakes.
#[derive(Default)]
struct Order<'a> {
    stage: u16,
    report_group: u32,
    names: BTreeMap<&'a str, u64>,
    /// Jobs of the same name before this one.
    duplicates: u64,
}

impl<'a> Order<'a> {
    fn enter(&mut self, job: &'a Job, first: bool) {
        let o = &job.options;
        if !first {
            self.stage += u16::from(o.stonewall);
            self.report_group += u32::from(o.stonewall || o.new_group);
        }
        let seen = self.names.entry(name_of(job)).or_default();
        self.duplicates = *seen;
        *seen += 1;
    }
}
