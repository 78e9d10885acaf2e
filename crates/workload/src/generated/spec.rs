//! The description of a generated workload, as TOML.

use std::fmt::Display;

use params::{CountOr, ParamError, Table, Value};
use thiserror::Error;
use units::UNIT_BYTES;

use super::volume::{Full, Layout};

/// Most that a description reads and writes, in KiB: four million units of 4 KiB, each of which may be a request.
const MOST_KIB: u64 = 16 << 20;

/// Tables of a description.
const TABLES: [&str; 4] = ["generated", "activity", "sources", "assumed"];

params::params! {
    /// What is common to the activities.
    pub (clone) Common {
        /// Time from the first burst to the last: as in the median of the HP-UFS authors' traces of a Pixel 4.
        seconds: count(1 to 86_400) = 300, "measured: their five traces take 161 to 342 s";
        /// Size of the volume, from the start of the device on.
        volume_mib: count(16 to 1_048_576) = 51_200, "measured: their traces have requests up to 50 GiB";
        /// How data lie on the volume.
        layout: choice(Layout) = Aged, "HP-UFS Sec. IV-C: the file system was aged";
        /// Processors that issue bursts; each is a stream in a replay with `--per-cpu-streams`.
        processors: count(1 to 1024) = 8, "a Pixel 4 has eight";
    }
}

units::kinds! {
    /// What an activity does.
    pub Does {
        /// Writes data.
        Write = "write";
        /// Reads data that were there before.
        Read = "read";
    }
}

params::params! {
    /// Something that reads or writes.
    pub (clone) ActivityParams {
        /// What it does with data.
        does: choice(Does) = Write, "what most of the paper's workloads do";
        /// What it writes or reads in all, commits among it: a multiple of 4.
        kib: count(4 to 16_777_216);
        /// Largest request, a multiple of 4.
        request_kib: count(4 to 1024) = 1024, "measured: the largest write has 964 KiB; read-ahead takes 128";
        /// Issued at one moment.
        burst_kib: count(4 to 1_048_576) = 144, "measured: requests of one process less than 1 ms apart";
        /// Part of a segment of an aged volume that it fills. What was written lately fills what was free; older data
        /// lie in more segments.
        segment_percent: count(1 to 100) = 32, "measured: written per segment with writes";
        /// Writes: somebody waits for each.
        sync: switch = false, "measured: three quarters of the bytes are written back by the kernel";
        /// Writes: one in so many KiB is a commit.
        commit_kib: count_or("never" 8 to 16_777_216) = "never", "what is written back has none";
        /// Writes: part of the bytes that overwrites in place what has been written before.
        rewrite_percent: count(0 to 90) = 0, "what is written back is new";
        /// Writes: the first so many KiB are what is overwritten.
        hot_kib: count(4 to 16_777_216) = 3592, "measured: the median of the five traces";
        /// Reads: after so many KiB, what has been read is discarded; at the end the rest is.
        discard_kib: count_or("never" 4 to 16_777_216) = "never", "most data stay";
    }
}

/// An activity of a description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activity {
    /// Its name.
    pub name: String,
    /// Its volume and pattern.
    pub params: ActivityParams,
}

/// A description. [`Generated::trace`] makes its requests.
///
/// ```
/// use ufsim_workload::Generated;
/// let text = "[generated]\nseconds = 10\n[activity.photo]\nkib = 4000\ncommit_kib = 400";
/// let trace = Generated::parse(text, "a.toml").unwrap().trace("a", 1).unwrap();
/// assert_eq!((trace.report.write_bytes, trace.report.fua), (4000 * 1024, 10));
/// let error = Generated::parse("[generated]\n[activity.a]\nkib = 4001", "a.toml").unwrap_err();
/// assert_eq!(error.to_string(), "a.toml: activity.a.kib = 4001: must be a multiple of 4");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generated {
    origin: String,
    /// What is common.
    pub common: Common,
    /// By name.
    pub activities: Vec<Activity>,
}

/// What is wrong with a description.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct GeneratedError(String);

impl Generated {
    /// Reads a description; `origin` names it in errors.
    ///
    /// # Errors
    /// Text that does not parse, unknown keys, values that are not allowed, with what is.
    pub fn parse(text: &str, origin: &str) -> Result<Generated, GeneratedError> {
        let wrong = |error: &dyn Display| GeneratedError(format!("{origin}: {error}"));
        let file = params::parse(text).map_err(|error| wrong(&error))?;
        if let Some(other) = file.keys().find(|key| !TABLES.contains(&key.as_str())) {
            let tables = "[generated], [activity.NAME], [sources] or [assumed]";
            return Err(wrong(&format!("{other}: unknown table, must be {tables}")));
        }
        let table = |name: &str| file.get(name).and_then(Value::as_table);
        let common = table("generated").ok_or_else(|| wrong(&"there is no table [generated]"))?;
        let common: Common = params::read("generated", common).map_err(|error| wrong(&error))?;
        let mut activities = Vec::new();
        for (name, value) in table("activity").into_iter().flatten() {
            activities.push(Activity::read(name, value).map_err(|problem| wrong(&problem))?);
        }
        let generated = Generated { origin: origin.into(), common, activities };
        generated.check().and_then(|()| explained(&file)).map_err(|problem| wrong(&problem))?;
        Ok(generated)
    }

    /// Rules that involve several activities.
    fn check(&self) -> Result<(), String> {
        if self.activities.is_empty() {
            return Err("there is no table [activity.NAME]".into());
        }
        let kib: u64 = self.activities.iter().map(|activity| u64::from(activity.params.kib)).sum();
        if kib > MOST_KIB {
            return Err(format!("the activities take {kib} KiB together: must be at most {MOST_KIB}"));
        }
        Ok(())
    }

    /// Refuses a trace that ends beyond the device.
    ///
    /// # Errors
    /// [`GeneratedError`] with what is allowed.
    pub fn check_capacity(&self, end_units: u64, capacity_units: u32) -> Result<(), GeneratedError> {
        if end_units <= u64::from(capacity_units) {
            return Ok(());
        }
        let most = u64::from(capacity_units) * UNIT_BYTES / units::MIB;
        let volume = self.common.volume_mib;
        Err(self.wrong(format!(
            "generated.volume_mib = {volume}: must be at most {most}, the size of the device; or --fold puts the \
             ranges with requests side by side"
        )))
    }

    pub(super) fn too_small(&self, _: Full) -> GeneratedError {
        let volume = self.common.volume_mib;
        self.wrong(format!("generated.volume_mib = {volume}: too small for what the activities write and read"))
    }

    fn wrong(&self, problem: impl Display) -> GeneratedError {
        GeneratedError(format!("{}: {problem}", self.origin))
    }
}

/// A description that says where its numbers come from says it of each: in `[sources]` or in `[assumed]`, and of
/// nothing else.
fn explained(file: &Table) -> Result<(), String> {
    let table = |name: &str| file.get(name).and_then(Value::as_table);
    let mut reasons: Vec<&String> = ["sources", "assumed"].into_iter().flat_map(table).flat_map(Table::keys).collect();
    if ["sources", "assumed"].into_iter().all(|name| !file.contains_key(name)) {
        return Ok(());
    }
    let common = table("generated").into_iter().flat_map(Table::keys).map(|key| format!("generated.{key}"));
    let activities =
        table("activity").into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_table()?)));
    let of_activities =
        activities.flat_map(|(name, keys)| keys.keys().map(move |key| format!("activity.{name}.{key}")));
    for key in common.chain(of_activities) {
        match reasons.iter().filter(|reason| **reason == &key).count() {
            1 => reasons.retain(|reason| **reason != key),
            times => return Err(format!("{key} stands {times} times in [sources] and [assumed]: must be once")),
        }
    }
    match reasons.first() {
        Some(key) => Err(format!("{key} stands in [sources] or [assumed], but has no value")),
        None => Ok(()),
    }
}

impl Activity {
    fn read(name: &str, value: &Value) -> Result<Activity, String> {
        let prefix = format!("activity.{name}");
        let table = value.as_table().ok_or_else(|| format!("{prefix}: must be a table"))?;
        let params: ActivityParams = params::read(&prefix, table).map_err(|error| error.to_string())?;
        let whole = |key: &str, kib: u32| {
            let wrong = || ParamError::must_be(&prefix, key, &kib.into(), "a multiple of 4").to_string();
            if kib.is_multiple_of(4) { Ok(()) } else { Err(wrong()) }
        };
        whole("kib", params.kib)?;
        whole("request_kib", params.request_kib)?;
        let others = if params.does == Does::Write {
            ["discard_kib"].as_slice()
        } else {
            &["sync", "commit_kib", "rewrite_percent", "hot_kib"]
        };
        match others.iter().find_map(|key| Some((*key, table.get(*key)?))) {
            Some((key, value)) => {
                Err(format!("{prefix}.{key} = {value}: has no effect on an activity that {}s", params.does.name()))
            }
            None => Ok(Activity { name: name.into(), params }),
        }
    }
}

impl ActivityParams {
    /// Units per commit.
    pub(super) fn commit_units(&self) -> Option<u32> {
        counted(self.commit_kib)
    }

    /// Units that are read before they are discarded.
    pub(super) fn discard_units(&self) -> Option<u32> {
        counted(self.discard_kib)
    }
}

fn counted(kib: CountOr) -> Option<u32> {
    kib.count().map(units_of)
}

/// Units of so many KiB.
pub(super) fn units_of(kib: u32) -> u32 {
    kib / (UNIT_BYTES / 1024) as u32
}
