//! The options of a job: their defaults, and how each is set.

use units::Nanos;

use super::value::{self, Parsed};
use crate::zones::Zone;

/// Bytes or a share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(u32),
}

/// Which requests a job makes, and in which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rw {
    pub read: bool,
    pub write: bool,
    pub trim: bool,
    pub random: bool,
}

/// A block size and the percentage of requests that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SizeShare {
    pub bytes: u64,
    pub percent: u32,
}

/// Which blocks a random job takes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distribution {
    Random,
    Zipf(f64),
    Pareto(f64),
    /// Standard deviation in per cent of the blocks.
    Normal(f64),
    Zoned(Vec<Zone>),
}

/// The options of one job. Three values are for reads, writes and trims.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub rw: Rw,
    pub bs: [u64; 3],
    pub bssplit: Option<[Vec<SizeShare>; 3]>,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub filesize: Option<u64>,
    pub offset: Amount,
    pub offset_increment: Amount,
    pub number_ios: u64,
    pub iodepth: u32,
    pub synchronous_engine: bool,
    pub numjobs: u32,
    pub rwmixread: u32,
    pub randrepeat: bool,
    pub randseed: Option<u64>,
    pub norandommap: bool,
    pub distribution: Distribution,
    /// A flush after every so many writes; 0 is never.
    pub fsync: u64,
    pub fdatasync: u64,
    pub end_fsync: bool,
    pub write_barrier: u64,
    pub loops: u64,
    pub runtime: Option<Nanos>,
    pub time_based: bool,
    /// Requests per second; 0 is unlimited.
    pub rate_iops: [u64; 3],
    pub thinktime: Nanos,
    pub thinktime_blocks: u64,
    pub stonewall: bool,
    pub new_group: bool,
    pub startdelay: Nanos,
    pub group_reporting: bool,
    pub name: Option<String>,
    pub filename: Option<String>,
    pub warmup: bool,
}

impl Default for Options {
    /// fio's defaults.
    fn default() -> Options {
        Options {
            rw: Rw { read: true, write: false, trim: false, random: false },
            bs: [4096; 3],
            bssplit: None,
            size: None,
            io_size: None,
            filesize: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            number_ios: 0,
            iodepth: 1,
            synchronous_engine: false,
            numjobs: 1,
            rwmixread: 50,
            randrepeat: true,
            randseed: None,
            norandommap: false,
            distribution: Distribution::Random,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            write_barrier: 0,
            loops: 1,
            runtime: None,
            time_based: false,
            rate_iops: [0; 3],
            thinktime: Nanos::ZERO,
            thinktime_blocks: 1,
            stonewall: false,
            new_group: false,
            startdelay: Nanos::ZERO,
            group_reporting: false,
            name: None,
            filename: None,
            warmup: false,
        }
    }
}

/// What became of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Taken,
    /// Accepted with a remark; true if fio would issue other requests.
    Remark(String, bool),
    Unknown,
}

const COUNT: &str = "a whole number from 0 to 4294967295";
const DEPTH: &str = "a whole number from 1 to 65536";
const JOBS: &str = "a whole number from 1 to 65535";
const PERCENT: &str = "a whole number from 0 to 100";
const POSITIVE: &str = "a whole number from 1 to 4294967295";
const SEED: &str = "a whole number from 0 to 18446744073709551615";
const NAME: &str = "a name that is not empty";
const ONE_FILE: &str = "the name of one file (a list separated by colons is not supported)";

/// I/O engines that have one request outstanding, whatever `iodepth` says.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

fn count(text: &str) -> Parsed<u64> {
    value::integer(text, 0..=u64::from(u32::MAX), COUNT)
}

fn text(value: &str, allowed: value::Allowed) -> Parsed<Option<String>> {
    if value.is_empty() { Err(allowed) } else { Ok(Some(value.to_owned())) }
}

impl Options {
    /// Sets `key`. An error names the allowed values.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Parsed<Outcome> {
        let taken = self.set_place(key, value)? || self.set_pace(key, value)?;
        if taken {
            return Ok(Outcome::Taken);
        }
        Ok(match key {
            "ioengine" => self.set_engine(value),
            "direct" | "buffered" => {
                if value::switch(value)? == (key == "buffered") {
                    remark("there is no page cache here: requests are issued as with direct=1", true)
                } else {
                    Outcome::Taken
                }
            }
            "kb_base" => {
                value::integer(value, 1024..=1024, "1024")?;
                Outcome::Taken
            }
            "directory" => remark("there is no file system here: the job's file lies on the device itself", false),
            _ if super::known::CHANGES_REQUESTS.contains(&key) => {
                remark("is not modelled and is ignored; fio would issue other requests or at other times", true)
            }
            _ if super::known::NO_EFFECT.contains(&key) => {
                remark("has no meaning on a simulated device and is ignored", false)
            }
            _ => Outcome::Unknown,
        })
    }

    /// Options that say what is requested, and where. Returns whether `key` is one.
    fn set_place(&mut self, key: &str, value: &str) -> Parsed<bool> {
        match key {
            "rw" | "readwrite" => self.rw = value::rw(value)?,
            "bs" | "blocksize" => self.bs = value::block_sizes(value)?,
            "bssplit" => self.bssplit = Some(value::block_split(value)?),
            "size" => self.size = Some(value::amount(value)?),
            "io_size" | "io_limit" => self.io_size = Some(value::amount(value)?),
            "filesize" => self.filesize = Some(value::bytes(value)?),
            "offset" => self.offset = value::amount(value)?,
            "offset_increment" => self.offset_increment = value::amount(value)?,
            "number_ios" => self.number_ios = count(value)?,
            "rwmixread" => self.rwmixread = value::integer(value, 0..=100, PERCENT)? as u32,
            "rwmixwrite" => self.rwmixread = 100 - value::integer(value, 0..=100, PERCENT)? as u32,
            "randrepeat" | "allrandrepeat" => self.randrepeat = value::switch(value)?,
            "randseed" => self.randseed = Some(value::integer(value, 0..=u64::MAX, SEED)?),
            "norandommap" => self.norandommap = value::switch(value)?,
            "random_distribution" => self.distribution = value::distribution(value)?,
            "fsync" => self.fsync = count(value)?,
            "fdatasync" => self.fdatasync = count(value)?,
            "end_fsync" => self.end_fsync = value::switch(value)?,
            "write_barrier" => self.write_barrier = count(value)?,
            "name" => self.name = text(value, NAME)?,
            "filename" => {
                self.filename = if value.contains(':') { Err(ONE_FILE)? } else { text(value, ONE_FILE)? };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options that say when, how often, and by how many. Returns whether `key` is one.
    fn set_pace(&mut self, key: &str, value: &str) -> Parsed<bool> {
        const SECOND: Nanos = Nanos(1_000_000_000);
        match key {
            "iodepth" => self.iodepth = value::integer(value, 1..=65536, DEPTH)? as u32,
            "numjobs" => self.numjobs = value::integer(value, 1..=65535, JOBS)? as u32,
            "loops" => self.loops = value::integer(value, 1..=u64::from(u32::MAX), POSITIVE)?,
            "runtime" | "timeout" => {
                self.runtime = Some(value::duration(value, SECOND)?).filter(|&r| r != Nanos::ZERO);
            }
            "time_based" => self.time_based = value::switch(value)?,
            "rate_iops" => self.rate_iops = value::rates(value)?,
            "thinktime" => self.thinktime = value::duration(value, Nanos::from_micros(1))?,
            "thinktime_blocks" => self.thinktime_blocks = value::integer(value, 1..=u64::from(u32::MAX), POSITIVE)?,
            "stonewall" | "wait_for_previous" => self.stonewall = value::switch(value)?,
            "new_group" => self.new_group = value::switch(value)?,
            "startdelay" | "start_delay" => self.startdelay = value::duration(value, SECOND)?,
            "group_reporting" => self.group_reporting = value::switch(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_engine(&mut self, value: &str) -> Outcome {
        self.synchronous_engine = SYNCHRONOUS.contains(&value);
        if self.synchronous_engine {
            let message = format!("requests go to the simulated device; as with fio's {value}, iodepth counts as 1");
            return Outcome::Remark(message, false);
        }
        remark("requests go to the simulated device with iodepth outstanding", false)
    }

    /// Outstanding requests of one clone.
    pub(super) fn depth(&self) -> u32 {
        if self.synchronous_engine { 1 } else { self.iodepth }
    }

    /// Whether requests of direction 0 (read), 1 (write) or 2 (trim) occur.
    pub(super) fn has_direction(&self, direction: usize) -> bool {
        [self.rw.read, self.rw.write, self.rw.trim][direction]
    }

    /// Requests are drawn: their places, their directions or their sizes.
    pub(super) fn is_random(&self) -> bool {
        let sizes = (0..3).any(|direction| self.has_direction(direction) && self.sizes(direction).len() > 1);
        self.rw.random || (self.rw.read && self.rw.write) || sizes
    }

    /// The block sizes of a direction with their percentages.
    pub(super) fn sizes(&self, direction: usize) -> Vec<SizeShare> {
        match &self.bssplit {
            Some(split) => split[direction].clone(),
            None => vec![SizeShare { bytes: self.bs[direction], percent: 100 }],
        }
    }
}

fn remark(message: &str, changes_requests: bool) -> Outcome {
    Outcome::Remark(message.to_owned(), changes_requests)
}
