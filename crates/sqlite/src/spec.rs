//! What a user asks for, as TOML.
//!
//! The defaults are those of Mobibench (Jeong, Lee, Lee, Son, Won: "I/O Stack Optimization for Smartphones", USENIX ATC
//! 2013; github.com/ESOS-Lab/Mobibench): one statement per transaction, one row each, pages of 4 KiB, journal mode
//! TRUNCATE, synchronous FULL.

use std::ops::RangeInclusive;

use serde::Deserialize;
use thiserror::Error;
use units::{Nanos, UNIT_BYTES};

use crate::fs::{Geometry, Kind};

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// A new row.
    Insert,
    /// A new value for a row at random.
    Update,
    /// Removes the oldest row.
    Delete,
    /// Reads a row at random.
    Select,
}

/// SQLite's `journal_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JournalMode {
    /// The rollback journal is deleted at commit.
    Delete,
    /// It is cut to length 0.
    Truncate,
    /// Its header is overwritten with zeroes.
    Persist,
    /// Write-ahead log.
    Wal,
}

/// SQLite's `synchronous`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchronous {
    /// No sync.
    Off,
    /// Syncs at the most critical moments.
    Normal,
    /// Syncs so that no power cut damages the database.
    Full,
    /// As FULL, and the directory is synced after a journal has been deleted.
    Extra,
}

/// A table of names: what the user writes, and what it means.
type Names<T> = [(&'static str, T)];

const OPERATIONS: &Names<Operation> = &[
    ("insert", Operation::Insert),
    ("update", Operation::Update),
    ("delete", Operation::Delete),
    ("select", Operation::Select),
];
const JOURNAL_MODES: &Names<JournalMode> = &[
    ("delete", JournalMode::Delete),
    ("truncate", JournalMode::Truncate),
    ("persist", JournalMode::Persist),
    ("wal", JournalMode::Wal),
];
const SYNCHRONOUS: &Names<Synchronous> = &[
    ("off", Synchronous::Off),
    ("normal", Synchronous::Normal),
    ("full", Synchronous::Full),
    ("extra", Synchronous::Extra),
];
const FILE_SYSTEMS: &Names<Kind> =
    &[("ext4-ordered", Kind::Ext4), ("f2fs", Kind::F2fs), ("f2fs-out-of-place", Kind::F2fsOutOfPlace)];

fn name_of<T: PartialEq>(names: &Names<T>, value: &T) -> &'static str {
    names.iter().find(|(_, v)| v == value).map_or("?", |(name, _)| name)
}

impl Operation {
    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(OPERATIONS, &self)
    }
}

impl JournalMode {
    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(JOURNAL_MODES, &self)
    }
}

impl Synchronous {
    /// Its name.
    pub fn name(self) -> &'static str {
        name_of(SYNCHRONOUS, &self)
    }
}

/// A workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqliteSpec {
    /// What is measured, one after another.
    pub operations: Vec<Operation>,
    /// Transactions of each operation.
    pub transactions: u32,
    /// Bytes of a row's value.
    pub value_bytes: u32,
    /// Tables; transactions take them in turn.
    pub tables: u32,
    /// Rows of each table before anything is measured.
    pub fill_rows: u32,
    /// Journal mode.
    pub journal_mode: JournalMode,
    /// Synchronous level.
    pub synchronous: Synchronous,
    /// Bytes of a database page.
    pub page_bytes: u32,
    /// SQLite's own page cache.
    pub sqlite_cache_kib: u32,
    /// Kind of file system.
    pub file_system: Kind,
    /// Flushes and FUA reach the device. Without, as with the mount option `nobarrier`, a power cut may take anything.
    pub barriers: bool,
    /// Size of the volume, from the start of the device on.
    pub volume_mib: u32,
    /// The kernel's page cache: most clean pages.
    pub page_cache_kib: u32,
    /// Forget the page cache before each operation.
    pub drop_caches: bool,
    /// Time between two transactions.
    pub think_us: u32,
    /// Processor time of a transaction.
    pub transaction_cpu_ns: u32,
    /// Processor time of a call of the file system.
    pub call_cpu_ns: u32,
    /// Seed of the values, of which rows are chosen, and of SQLite's random numbers.
    pub seed: u64,
}

/// The file as serde reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    sqlite: Section,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Section {
    operations: Option<Vec<String>>,
    transactions: Option<i64>,
    value_bytes: Option<i64>,
    tables: Option<i64>,
    fill_rows: Option<i64>,
    journal_mode: Option<String>,
    synchronous: Option<String>,
    page_bytes: Option<i64>,
    sqlite_cache_kib: Option<i64>,
    file_system: Option<String>,
    barriers: Option<bool>,
    volume_mib: Option<i64>,
    page_cache_kib: Option<i64>,
    drop_caches: Option<bool>,
    think_us: Option<i64>,
    transaction_cpu_ns: Option<i64>,
    call_cpu_ns: Option<i64>,
    seed: Option<i64>,
}

/// What is wrong with a workload.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct SpecError(String);

impl Default for SqliteSpec {
    fn default() -> SqliteSpec {
        SqliteSpec {
            operations: vec![Operation::Insert, Operation::Update, Operation::Delete, Operation::Select],
            transactions: 1000,
            value_bytes: 100,
            tables: 1,
            fill_rows: 1000,
            journal_mode: JournalMode::Truncate,
            synchronous: Synchronous::Full,
            page_bytes: 4096,
            sqlite_cache_kib: 2000,
            file_system: Kind::F2fs,
            barriers: true,
            volume_mib: 64,
            page_cache_kib: 65_536,
            drop_caches: true,
            think_us: 0,
            transaction_cpu_ns: 0,
            call_cpu_ns: 0,
            seed: 1,
        }
    }
}

impl SqliteSpec {
    /// Reads a workload; `origin` names it in errors.
    ///
    /// # Errors
    /// What does not parse, unknown keys, and values out of range, with what is allowed.
    pub fn parse(text: &str, origin: &str) -> Result<SqliteSpec, SpecError> {
        let file: File = toml::from_str(text).map_err(|error| SpecError(format!("{origin}: {error}")))?;
        let spec = resolve(file.sqlite).and_then(|spec| spec.check().map(|()| spec));
        spec.map_err(|SpecError(text)| SpecError(format!("{origin}: {text}")))
    }

    /// What depends on more than one key.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !self.page_bytes.is_power_of_two() {
            return Err(SpecError(format!("sqlite.page_bytes = {}: must be a power of two", self.page_bytes)));
        }
        let mut rows = i64::from(self.fill_rows) * i64::from(self.tables);
        for operation in &self.operations {
            let count = i64::from(self.transactions);
            match operation {
                Operation::Insert => rows += count,
                Operation::Delete => rows -= count,
                Operation::Update | Operation::Select => {}
            }
            let rest = if *operation == Operation::Delete { 0 } else { i64::from(self.tables) };
            if rows < rest {
                let name = operation.name();
                return Err(SpecError(format!(
                    "sqlite.fill_rows = {}: too few rows for {count} transactions of \"{name}\", which leave {rows}",
                    self.fill_rows
                )));
            }
        }
        Ok(())
    }

    /// The volume must fit the device.
    pub fn check_capacity(&self, capacity_units: u32) -> Result<(), SpecError> {
        if self.geometry().units <= capacity_units {
            return Ok(());
        }
        let most = u64::from(capacity_units) * UNIT_BYTES / units::MIB;
        Err(SpecError(format!("sqlite.volume_mib = {}: must be 16..={most}, the size of the device", self.volume_mib)))
    }

    /// How many transactions that have returned SQLite allows a power cut to undo; `None` if any number, and then the
    /// database may even be damaged, except in WAL mode with NORMAL.
    ///
    /// - FULL with DELETE: one. The deletion of the journal commits, and nothing syncs the directory; a journal that
    ///   comes back is rolled back. EXTRA is there to prevent this (<https://www.sqlite.org/pragma.html>,
    ///   "synchronous").
    /// - FULL and EXTRA otherwise: none.
    pub fn may_lose(&self) -> Option<u64> {
        if !self.barriers {
            return None;
        }
        match (self.synchronous, self.journal_mode) {
            (Synchronous::Extra, _) => Some(0),
            (Synchronous::Full, JournalMode::Delete) => Some(1),
            (Synchronous::Full, _) => Some(0),
            (Synchronous::Normal | Synchronous::Off, _) => None,
        }
    }

    /// Size of the volume in host terms.
    pub fn geometry(&self) -> Geometry {
        let units = u64::from(self.volume_mib) * units::MIB / UNIT_BYTES;
        Geometry { units: units as u32, cache_pages: (self.page_cache_kib / 4) as usize }
    }

    /// Time between two transactions.
    pub fn think(&self) -> Nanos {
        Nanos::from_micros(u64::from(self.think_us))
    }

    /// Time that a transaction takes besides its calls of the file system.
    pub fn transaction_time(&self) -> Nanos {
        Nanos(u64::from(self.transaction_cpu_ns))
    }

    /// Time that a call of the file system takes besides I/O.
    pub fn call_time(&self) -> Nanos {
        Nanos(u64::from(self.call_cpu_ns))
    }
}

/// A number, if it is there and in its range.
fn number(key: &str, value: Option<i64>, default: u32, range: RangeInclusive<u32>) -> Result<u32, SpecError> {
    let Some(value) = value else { return Ok(default) };
    let fits = u32::try_from(value).ok().filter(|value| range.contains(value));
    fits.ok_or_else(|| SpecError(format!("sqlite.{key} = {value}: must be {}..={}", range.start(), range.end())))
}

/// A name, if it is there and known.
fn named<T: Copy>(key: &str, value: Option<String>, default: T, names: &Names<T>) -> Result<T, SpecError> {
    let Some(value) = value else { return Ok(default) };
    let found = names.iter().find(|(name, _)| *name == value).map(|&(_, meaning)| meaning);
    found.ok_or_else(|| {
        let allowed: Vec<&str> = names.iter().map(|&(name, _)| name).collect();
        SpecError(format!("sqlite.{key} = \"{value}\": must be one of {}", allowed.join(", ")))
    })
}

fn operations(value: Option<Vec<String>>, default: Vec<Operation>) -> Result<Vec<Operation>, SpecError> {
    let Some(names) = value else { return Ok(default) };
    if names.is_empty() {
        return Err(SpecError("sqlite.operations = []: must name at least one operation".into()));
    }
    names.into_iter().map(|name| named("operations", Some(name), Operation::Insert, OPERATIONS)).collect()
}

fn resolve(section: Section) -> Result<SqliteSpec, SpecError> {
    let (s, d) = (section, SqliteSpec::default());
    Ok(SqliteSpec {
        operations: operations(s.operations, d.operations)?,
        transactions: number("transactions", s.transactions, d.transactions, 1..=10_000_000)?,
        value_bytes: number("value_bytes", s.value_bytes, d.value_bytes, 1..=1_000_000)?,
        tables: number("tables", s.tables, d.tables, 1..=1000)?,
        fill_rows: number("fill_rows", s.fill_rows, d.fill_rows, 0..=10_000_000)?,
        journal_mode: named("journal_mode", s.journal_mode, d.journal_mode, JOURNAL_MODES)?,
        synchronous: named("synchronous", s.synchronous, d.synchronous, SYNCHRONOUS)?,
        page_bytes: number("page_bytes", s.page_bytes, d.page_bytes, 512..=65_536)?,
        sqlite_cache_kib: number("sqlite_cache_kib", s.sqlite_cache_kib, d.sqlite_cache_kib, 1..=4_194_304)?,
        file_system: named("file_system", s.file_system, d.file_system, FILE_SYSTEMS)?,
        barriers: s.barriers.unwrap_or(d.barriers),
        volume_mib: number("volume_mib", s.volume_mib, d.volume_mib, 16..=65_536)?,
        page_cache_kib: number("page_cache_kib", s.page_cache_kib, d.page_cache_kib, 64..=16_777_216)?,
        drop_caches: s.drop_caches.unwrap_or(d.drop_caches),
        think_us: number("think_us", s.think_us, d.think_us, 0..=60_000_000)?,
        transaction_cpu_ns: number(
            "transaction_cpu_ns",
            s.transaction_cpu_ns,
            d.transaction_cpu_ns,
            0..=1_000_000_000,
        )?,
        call_cpu_ns: number("call_cpu_ns", s.call_cpu_ns, d.call_cpu_ns, 0..=1_000_000_000)?,
        seed: s.seed.map_or(Ok(d.seed), |seed| {
            u64::try_from(seed).map_err(|_| SpecError(format!("sqlite.seed = {seed}: must be 0..={}", i64::MAX)))
        })?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_file_is_the_default() {
        let text = include_str!("../../../jobs/sqlite.toml");
        assert_eq!(SqliteSpec::parse(text, "jobs/sqlite.toml"), Ok(SqliteSpec::default()));
        assert_eq!(SqliteSpec::parse("[sqlite]", "x"), Ok(SqliteSpec::default()));
    }

    #[test]
    fn wrong_values_are_named_with_what_is_allowed() {
        for (line, told) in [
            ("transactions = 0", "x.toml: sqlite.transactions = 0: must be 1..=10000000"),
            ("tables = -1", "x.toml: sqlite.tables = -1: must be 1..=1000"),
            ("seed = -1", "sqlite.seed = -1: must be 0..=9223372036854775807"),
            ("page_bytes = 5000", "sqlite.page_bytes = 5000: must be a power of two"),
            ("journal_mode = \"off\"", "sqlite.journal_mode = \"off\": must be one of delete, truncate, persist, wal"),
            ("synchronous = \"2\"", "sqlite.synchronous = \"2\": must be one of off, normal, full, extra"),
            ("file_system = \"xfs\"", "must be one of ext4-ordered, f2fs, f2fs-out-of-place"),
            ("operations = [\"drop\"]", "sqlite.operations = \"drop\": must be one of insert, update, delete, select"),
            ("operations = []", "sqlite.operations = []: must name at least one operation"),
            (
                "operations = [\"delete\"]\nfill_rows = 999",
                "sqlite.fill_rows = 999: too few rows for 1000 transactions",
            ),
            ("operations = [\"select\"]\nfill_rows = 0", "sqlite.fill_rows = 0: too few rows"),
            ("jurnal_mode = \"wal\"", "unknown field `jurnal_mode`"),
            ("tables = \"two\"", "invalid type: string"),
        ] {
            let error = SqliteSpec::parse(&format!("[sqlite]\n{line}\n"), "x.toml").unwrap_err().to_string();
            assert!(error.contains(told), "{line}: {error}");
        }
    }
}
