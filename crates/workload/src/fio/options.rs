//! The options of a job: their defaults, and how each is set.

use std::collections::BTreeMap;
use std::path::PathBuf;

use units::Nanos;

use super::strided::Zoning;
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
    pub after: After,
}

impl Rw {
    /// Every trim is followed by a write of the same place.
    pub(super) fn trims_first(self) -> bool {
        self.write && self.trim
    }
}

/// What stands behind a colon in `rw`: where a request lies, seen from the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// Sequential requests follow each other, random ones lie anywhere.
    Plain,
    /// Sequential requests leave out so many bytes, or go back by them.
    Skip(i64),
    /// Of random requests so many follow each other.
    Run(u32),
}

/// A block size and the percentage of requests that have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SizeShare {
    pub bytes: u64,
    pub percent: u32,
}

/// The block sizes of a direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BlockSizes {
    /// Each with its share; one of 100% is a fixed size.
    Split(Vec<SizeShare>),
    /// Multiples of the smallest.
    Range { smallest: u64, largest: u64 },
}

impl BlockSizes {
    pub(super) fn fixed(bytes: u64) -> BlockSizes {
        BlockSizes::Split(vec![SizeShare { bytes, percent: 100 }])
    }

    pub(super) fn smallest(&self) -> u64 {
        match self {
            BlockSizes::Split(shares) => shares.iter().map(|s| s.bytes).min().unwrap_or(0),
            BlockSizes::Range { smallest, .. } => *smallest,
        }
    }

    pub(super) fn largest(&self) -> u64 {
        match self {
            BlockSizes::Split(shares) => shares.iter().map(|s| s.bytes).max().unwrap_or(0),
            BlockSizes::Range { largest, .. } => *largest,
        }
    }
}

/// Which file of several comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileOrder {
    RoundRobin,
    Sequential,
    Random,
}

/// `file_service_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileService {
    pub order: FileOrder,
    /// Requests to one file before another is chosen.
    pub run: u64,
}

/// Which blocks a random job takes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distribution {
    Random,
    Skewed(Law, Option<f64>),
    Zoned(Vec<Zone>),
    /// Zones of so many bytes.
    ZonedBytes(Vec<(u32, u64)>),
}

/// How often blocks come by their rank; beside it stands where the most frequent one lies, as a share of the file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Law {
    Zipf(f64),
    Pareto(f64),
    /// Standard deviation in per cent of the blocks.
    Normal(f64),
}

/// The options of one job. Three values are for reads, writes and trims.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Every option that was given, by name, as it was written.
    pub said: BTreeMap<String, String>,
    pub rw: Rw,
    pub bs: [BlockSizes; 3],
    /// Per cent of the requests of a random job that go to a random place, by direction; others follow the one before.
    pub percentage_random: [u64; 3],
    /// Wins over `bs`, wherever it stands.
    pub bssplit: Option<[BlockSizes; 3]>,
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
    /// Bytes per second; 0 is unlimited.
    pub rate: [u64; 3],
    pub ramp_time: Nanos,
    pub thinktime: Nanos,
    pub thinktime_blocks: u64,
    pub stonewall: bool,
    pub new_group: bool,
    pub startdelay: Nanos,
    pub group_reporting: bool,
    pub name: Option<String>,
    /// Names of the files; `None` makes `nrfiles` of the clone's own.
    pub filename: Option<Vec<String>>,
    pub nrfiles: u32,
    pub file_service: FileService,
    /// The names of `$jobname`, `$jobnum` and `$filenum` in names of files of its own.
    pub filename_format: Option<String>,
    /// Clones take one after another.
    pub read_iolog: Vec<PathBuf>,
    pub replay_no_stall: bool,
    pub zones_in_turn: bool,
    /// Bytes; the range is as long as the size where it is 0.
    pub zonesize: u64,
    pub zonerange: u64,
    pub zoneskip: u64,
    pub warmup: bool,
}

impl Default for Options {
    /// fio's defaults.
    fn default() -> Options {
        Options {
            said: BTreeMap::new(),
            rw: Rw { read: true, write: false, trim: false, random: false, after: After::Plain },
            bs: [4096; 3].map(BlockSizes::fixed),
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
            percentage_random: [100; 3],
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
            rate: [0; 3],
            ramp_time: Nanos::ZERO,
            thinktime: Nanos::ZERO,
            thinktime_blocks: 1,
            stonewall: false,
            new_group: false,
            startdelay: Nanos::ZERO,
            group_reporting: false,
            name: None,
            filename: None,
            nrfiles: 1,
            file_service: FileService { order: FileOrder::RoundRobin, run: 1 },
            filename_format: None,
            read_iolog: Vec::new(),
            replay_no_stall: false,
            zones_in_turn: false,
            zonesize: 0,
            zonerange: 0,
            zoneskip: 0,
            warmup: false,
        }
    }
}

/// What became of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Taken,
    /// Accepted with a remark; true if fio itself, in `ufsim linux`, does what the option says.
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
const FILES: &str = "names of files, separated by colons (a colon in a name is \\:)";
const NRFILES: &str = "a whole number from 1 to 1048576";
const LOG: &str = "paths of fio iologs, separated by colons (a colon in a path is \\:)";

/// I/O engines that have one request outstanding, whatever `iodepth` says.
const SYNCHRONOUS: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Engines of fio that make no requests to a block device.
const NO_BLOCKS: [&str; 13] = [
    "cpuio",
    "net",
    "netsplice",
    "exec",
    "ftruncate",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "mtd",
    "http",
];
const ENGINE: &str = "an engine of fio that reads and writes blocks (cpuio, net, netsplice, exec, ftruncate, mtd, http \
                      and those of files and directories do not)";

fn count(text: &str) -> Parsed<u64> {
    value::integer(text, 0..=u64::from(u32::MAX), COUNT)
}

fn text(value: &str, allowed: value::Allowed) -> Parsed<Option<String>> {
    if value.is_empty() { Err(allowed) } else { Ok(Some(value.to_owned())) }
}

/// Options that [`Options::set`] takes by itself, since what it says of them depends on their value.
pub(super) const BY_VALUE: &[&str] =
    &["ioengine", "file_service_type", "zonemode", "zoneskip", "direct", "buffered", "kb_base", "directory"];

const SECOND: Nanos = Nanos(1_000_000_000);

macro_rules! modelled {
    ($self:ident, $value:ident; $($name:literal $(| $other:literal)* => $set:expr,)+) => {
        /// The options that are modelled, each with its other names.
        pub const MODELLED: &[&[&str]] = &[$(&[$name $(, $other)*]),+];

        impl Options {
            /// Sets an option that is modelled. Returns whether `key` is one.
            fn set_modelled(&mut $self, key: &str, $value: &str) -> Parsed<bool> {
                match key {
                    $($name $(| $other)* => $set,)+
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

modelled! { self, value;
    "rw" | "readwrite" => self.rw = value::rw(value)?,
    "bs" | "blocksize" | "bsrange" | "blocksize_range" => self.bs = value::block_sizes(value, &self.bs)?,
    "bssplit" => self.bssplit = Some(value::block_split(value)?),
    "size" => self.size = Some(value::amount(value)?),
    "io_size" | "io_limit" => self.io_size = Some(value::amount(value)?),
    "filesize" => self.filesize = Some(value::bytes(value)?),
    "offset" => self.offset = value::place(value)?,
    "offset_increment" => self.offset_increment = value::place(value)?,
    "number_ios" => self.number_ios = count(value)?,
    "rwmixread" => self.rwmixread = value::integer(value, 0..=100, PERCENT)? as u32,
    "rwmixwrite" => self.rwmixread = 100 - value::integer(value, 0..=100, PERCENT)? as u32,
    "randrepeat" | "allrandrepeat" => self.randrepeat = value::switch(value)?,
    "randseed" => self.randseed = Some(value::integer(value, 0..=u64::MAX, SEED)?),
    "percentage_random" => self.percentage_random = value::percents(value)?,
    "norandommap" => self.norandommap = value::switch(value)?,
    "random_distribution" => self.distribution = value::distribution(value)?,
    "fsync" => self.fsync = count(value)?,
    "fdatasync" => self.fdatasync = count(value)?,
    "end_fsync" => self.end_fsync = value::switch(value)?,
    "write_barrier" => self.write_barrier = count(value)?,
    "name" => self.name = text(value, NAME)?,
    "filename" => self.filename = Some(value::file_names(value).ok_or(FILES)?),
    "nrfiles" | "nr_files" => self.nrfiles = value::integer(value, 1..=1 << 20, NRFILES)? as u32,
    "filename_format" => self.filename_format = text(value, NAME)?,
    "read_iolog" => self.read_iolog = value::file_names(value).ok_or(LOG)?.into_iter().map(PathBuf::from).collect(),
    "replay_no_stall" => self.replay_no_stall = value::switch(value)?,
    "iodepth" => self.iodepth = value::integer(value, 1..=65536, DEPTH)? as u32,
    "numjobs" => self.numjobs = value::integer(value, 1..=65535, JOBS)? as u32,
    "loops" => self.loops = value::integer(value, 1..=u64::from(u32::MAX), POSITIVE)?,
    "runtime" | "timeout" => self.runtime = Some(value::duration(value, SECOND)?).filter(|&r| r != Nanos::ZERO),
    "time_based" => self.time_based = value::switch(value)?,
    "rate_iops" => self.rate_iops = value::rates(value)?,
    "rate" => self.rate = value::bandwidths(value)?,
    "ramp_time" => self.ramp_time = value::duration(value, SECOND)?,
    "thinktime" => self.thinktime = value::duration(value, Nanos::from_micros(1))?,
    "thinktime_blocks" => self.thinktime_blocks = value::integer(value, 1..=u64::from(u32::MAX), POSITIVE)?,
    "stonewall" | "wait_for_previous" => self.stonewall = value::switch(value)?,
    "new_group" => self.new_group = value::switch(value)?,
    "startdelay" | "start_delay" => self.startdelay = value::duration(value, SECOND)?,
    "group_reporting" => self.group_reporting = value::switch(value)?,
    "zonesize" => self.zonesize = value::bytes(value)?,
    "zonerange" => self.zonerange = value::bytes(value)?,
}

impl Options {
    /// Sets `key`. An error names the allowed values.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Parsed<Outcome> {
        if self.set_modelled(key, value)? {
            return Ok(Outcome::Taken);
        }
        Ok(match key {
            "ioengine" => self.set_engine(value)?,
            "file_service_type" if value::is_skewed_service(value) => {
                remark("is not modelled: files take turns (roundrobin)", true)
            }
            "file_service_type" => {
                self.file_service = value::file_service(value)?;
                Outcome::Taken
            }
            "zonemode" => self.set_zonemode(value)?,
            "zoneskip" if value.ends_with(['%', 'z']) => {
                remark("is of zoned devices here, which are not modelled", false)
            }
            "zoneskip" => {
                self.zoneskip = value::bytes(value)?;
                Outcome::Taken
            }
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
                remark("is not modelled and is ignored, so requests are others or come at other times", true)
            }
            _ if super::known::NO_EFFECT.contains(&key) || super::known::OF_ENGINES.contains(&key) => {
                remark("has no meaning on a simulated device and is ignored", false)
            }
            _ => Outcome::Unknown,
        })
    }

    fn set_zonemode(&mut self, value: &str) -> Parsed<Outcome> {
        self.zones_in_turn = value == "strided";
        match value {
            "none" | "strided" => Ok(Outcome::Taken),
            "zbd" => Ok(remark("is not modelled (a zoned device): zones are ignored", false)),
            _ => Err("none, strided or zbd"),
        }
    }

    /// The zones that requests take in turn, if there are any.
    pub(super) fn zoning(&self) -> Option<Zoning> {
        let range = if self.zonerange == 0 { self.zonesize } else { self.zonerange };
        self.zones_in_turn.then_some(Zoning { size: self.zonesize, range, skip: self.zoneskip })
    }

    /// What is wrong with the zones, if anything is.
    pub(super) fn wrong_zones(&self) -> Option<&'static str> {
        let whole = |bytes: u64| bytes.is_multiple_of(crate::SECTOR_BYTES);
        match self.zoning() {
            // As fio has it since version 3.11.
            None if self.zonesize != 0 && !self.said.contains_key("zonemode") => {
                Some("zonesize needs zonemode=strided")
            }
            Some(zoning) if zoning.size == 0 => Some("zonemode=strided needs zonesize"),
            Some(zoning) if !(whole(zoning.range) && whole(zoning.skip)) => {
                Some("zonerange and zoneskip have to be multiples of 512")
            }
            Some(zoning) if zoning.range < self.smallest_block() => Some("zonerange is smaller than a block"),
            _ => None,
        }
    }

    fn set_engine(&mut self, value: &str) -> Parsed<Outcome> {
        if NO_BLOCKS.contains(&value) {
            return Err(ENGINE);
        }
        self.synchronous_engine = SYNCHRONOUS.contains(&value);
        if self.synchronous_engine {
            let message = format!("requests go to the simulated device; as with fio's {value}, iodepth counts as 1");
            return Ok(Outcome::Remark(message, false));
        }
        Ok(remark("requests go to the simulated device with iodepth outstanding", false))
    }

    /// What was given, as readers of fio's JSON look for it: also what holds by default of the options that tell
    /// results apart.
    pub(super) fn told(&self) -> BTreeMap<String, String> {
        let mut told = self.said.clone();
        let given = |names: &[&str]| names.iter().find_map(|&name| self.said.get(name).cloned());
        let mut add = |name: &str, other: Option<String>, default: &str| {
            told.entry(name.to_owned()).or_insert_with(|| other.unwrap_or_else(|| default.to_owned()));
        };
        add("rw", given(&["readwrite"]), "read");
        add("bs", given(&["blocksize", "bsrange", "blocksize_range"]), "4k");
        add("iodepth", None, "1");
        add("numjobs", None, "1");
        told
    }

    /// Outstanding requests of one clone.
    pub(super) fn depth(&self) -> u32 {
        if self.synchronous_engine { 1 } else { self.iodepth }
    }

    /// Whether requests of direction 0 (read), 1 (write) or 2 (trim) occur.
    pub(super) fn has_direction(&self, direction: usize) -> bool {
        [self.rw.read, self.rw.write, self.rw.trim][direction]
    }

    /// Requests are drawn: their places, their directions, their sizes or their files.
    pub(super) fn is_random(&self) -> bool {
        let drawn = |direction| self.sizes(direction).smallest() != self.sizes(direction).largest();
        let sizes = (0..3).any(|direction| self.has_direction(direction) && drawn(direction));
        let several = self.filename.as_ref().map_or(self.nrfiles, |names| names.len() as u32) > 1;
        let files = several && self.file_service.order == FileOrder::Random;
        self.rw.random || (self.rw.read && self.rw.write) || sizes || files
    }

    /// The block sizes of a direction.
    pub(super) fn sizes(&self, direction: usize) -> &BlockSizes {
        &self.bssplit.as_ref().unwrap_or(&self.bs)[direction]
    }

    /// The smallest block of the directions that occur.
    pub(super) fn smallest_block(&self) -> u64 {
        let smallest = (0..3).filter(|&d| self.has_direction(d)).map(|d| self.sizes(d).smallest()).min();
        smallest.expect("a job reads, writes or trims")
    }

    /// The largest block of the directions that occur.
    pub(super) fn largest_block(&self) -> u64 {
        (0..3).filter(|&d| self.has_direction(d)).map(|d| self.sizes(d).largest()).max().unwrap_or(0)
    }
}

fn remark(message: &str, fio_can: bool) -> Outcome {
    Outcome::Remark(message.to_owned(), fio_can)
}
