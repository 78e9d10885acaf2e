//! The specification of a workload, as TOML.
//!
//! The defaults are those of Mobibench (Jeong, Lee, Lee, Son, Won: "I/O Stack Optimization for Smartphones", USENIX ATC
//! 2013; github.com/ESOS-Lab/Mobibench): one statement per transaction, one row each, pages of 4 KiB, journal mode
//! TRUNCATE, synchronous FULL.

use thiserror::Error;
use units::{Nanos, UNIT_BYTES};
use workload::read_table;

use crate::fs::{Geometry, Kind};

units::kinds! {
    /// Operation of a transaction.
    pub Operation {
        /// A new row.
        Insert = "insert";
        /// A new value for a random row.
        Update = "update";
        /// Removes the oldest row.
        Delete = "delete";
        /// Reads a random row.
        Select = "select";
    }
}

units::kinds! {
    /// SQLite's `journal_mode`.
    pub JournalMode {
        /// The rollback journal is deleted at commit.
        Delete = "delete";
        /// The journal is truncated to length 0.
        Truncate = "truncate";
        /// The journal's header is overwritten with zeroes.
        Persist = "persist";
        /// Write-ahead log.
        Wal = "wal";
    }
}

units::kinds! {
    /// SQLite's `synchronous`.
    pub Synchronous {
        /// No sync.
        Off = "off";
        /// Syncs at the most critical moments.
        Normal = "normal";
        /// Syncs so that no power cut damages the database.
        Full = "full";
        /// Like FULL; also syncs the directory after a journal has been deleted.
        Extra = "extra";
    }
}

params::params! {
    /// A workload.
    pub (clone) SqliteSpec {
        /// What is measured, one after another.
        operations: choices(Operation) = [Insert, Update, Delete, Select], "Mobibench";
        /// Transactions of each operation.
        transactions: count(1 to 10_000_000) = 1000, "Mobibench";
        /// Bytes of a row's value.
        value_bytes: count(1 to 1_000_000) = 100, "Mobibench";
        /// Databases, each a file of its own: a main one, to which the others are attached.
        databases: count(1 to 10) = 1, "Mobibench";
        /// Tables of each database; transactions take them in turn.
        tables: count(1 to 1000) = 1, "Mobibench";
        /// Programs that run each operation, one after another, as the Mobibench that the HP-UFS paper's authors have
        /// published does. A transaction has a statement for every table. Each program opens the databases anew. INSERT
        /// makes its tables anew; UPDATE, DELETE and SELECT fill up what is missing of `fill_rows`; DELETE takes random
        /// rows, and removes the databases at its end. 0: one program does all, a row in each transaction.
        programs: count(0 to 1000) = 0, "assumed: as in Mobibench's first version";
        /// Rows of each table before anything is measured.
        fill_rows: count(0 to 10_000_000) = 1000, "assumed: Mobibench deletes and updates what it has inserted";
        /// Journal mode.
        journal_mode: choice(JournalMode) = Truncate, "Mobibench";
        /// Synchronous level.
        synchronous: choice(Synchronous) = Full, "Mobibench";
        /// A commit takes free pages out of the file (`auto_vacuum = FULL`), which costs pages with pointers to owners.
        auto_vacuum: switch = false, "SQLite's default";
        /// A commit fills the write-ahead log up to a sector of 512 bytes with more frames, as SQLite did before
        /// 3.7.10.
        pads_log: switch = false, "SQLite's default where a power cut spares what lies beside a write";
        /// Bytes of a database page: a power of two.
        page_bytes: count(512 to 65_536) = 4096, "Mobibench";
        /// SQLite's own page cache.
        sqlite_cache_kib: count(1 to 4_194_304) = 2000, "SQLite's default";
        /// Kind of file system.
        file_system: choice(Kind) = F2fs, "assumed: what phones have";
        /// Flushes and FUA reach the device. Without, as with the mount option `nobarrier`, a power cut may take
        /// anything.
        barriers: switch = true, "Linux's default";
        /// Size of the volume, from the start of the device on.
        volume_mib: count(16 to 65_536) = 64, "assumed";
        /// The kernel's page cache: most clean pages.
        page_cache_kib: count(64 to 16_777_216) = 65_536, "assumed";
        /// Forget the page cache before each operation.
        drop_caches: switch = true, "Mobibench";
        /// Time between two transactions.
        think_us: count(0 to 60_000_000) = 0, "Mobibench";
        /// Processor time of a transaction.
        transaction_cpu_ns: count(0 to 1_000_000_000) = 0, "assumed";
        /// Processor time of a call of the file system.
        call_cpu_ns: count(0 to 1_000_000_000) = 0, "assumed";
        /// Seed of the values, of which rows are chosen, and of SQLite's random numbers.
        seed: wide(0 to 9_223_372_036_854_775_807) = 1, "assumed";
    }
}

/// Most tables of all databases together.
const MOST_TABLES: usize = 1000;

/// An error in a specification.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct SpecError(String);

impl SqliteSpec {
    /// Reads a workload; `origin` names it in errors.
    ///
    /// # Errors
    /// Text that does not parse, unknown keys, and values out of range, with what is allowed.
    pub fn parse(text: &str, origin: &str) -> Result<SqliteSpec, SpecError> {
        let read = read_table::<SqliteSpec>(text, origin, "sqlite");
        let (spec, _) = read.map_err(|error| SpecError(error.to_string()))?;
        spec.check().map(|()| spec).map_err(|error| SpecError(format!("{origin}: {error}")))
    }

    /// Checks rules that involve several keys.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !self.page_bytes.is_power_of_two() {
            return Err(SpecError(format!("sqlite.page_bytes = {}: must be a power of two", self.page_bytes)));
        }
        if self.all_tables() > MOST_TABLES {
            let told = format!("sqlite.tables = {}: with {} databases", self.tables, self.databases);
            return Err(SpecError(format!("{told}: must be 1..={}", MOST_TABLES / self.databases as usize)));
        }
        if self.programs > 0 { self.check_programs() } else { self.check_rows() }
    }

    /// Checks that every program finds the rows that it wants.
    fn check_programs(&self) -> Result<(), SpecError> {
        let least = |operation: &Operation| match operation {
            Operation::Insert => 0,
            Operation::Update | Operation::Select => 1,
            Operation::Delete => self.transactions,
        };
        match self.operations.iter().max_by_key(|operation| least(operation)) {
            Some(operation) if self.fill_rows < least(operation) => Err(SpecError(format!(
                "sqlite.fill_rows = {}: must be at least {} for a program of \"{}\"",
                self.fill_rows,
                least(operation),
                operation.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that no operation runs out of rows.
    fn check_rows(&self) -> Result<(), SpecError> {
        let tables = self.all_tables() as i64;
        let mut rows = i64::from(self.fill_rows) * tables;
        for &operation in &self.operations {
            let count = i64::from(self.transactions);
            match operation {
                Operation::Insert => rows += count,
                Operation::Delete => rows -= count,
                Operation::Update | Operation::Select => {}
            }
            let rest = if operation == Operation::Delete { 0 } else { tables };
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

    /// Checks that the volume fits the device.
    pub fn check_capacity(&self, capacity_units: u32) -> Result<(), SpecError> {
        if self.geometry().units <= capacity_units {
            return Ok(());
        }
        let most = u64::from(capacity_units) * UNIT_BYTES / units::MIB;
        Err(SpecError(format!("sqlite.volume_mib = {}: must be 16..={most}, the size of the device", self.volume_mib)))
    }

    /// Number of returned transactions that SQLite allows a power cut to undo. `None` if it is any number; then the
    /// database may even be damaged, except in WAL mode with NORMAL.
    ///
    /// - FULL with DELETE: one. The deletion of the journal commits, and nothing syncs the directory; a journal that
    ///   returns is rolled back. EXTRA exists to prevent this (<https://www.sqlite.org/pragma.html>, "synchronous").
    /// - FULL and EXTRA otherwise: none.
    ///
    /// With write-ahead logs every database commits its part by itself: a cut may leave any of the parts.
    pub fn may_lose(&self) -> Option<u64> {
        if !self.barriers || self.databases > 1 && self.programs > 0 && self.journal_mode == JournalMode::Wal {
            return None;
        }
        match (self.synchronous, self.journal_mode) {
            (Synchronous::Extra, _) => Some(0),
            (Synchronous::Full, JournalMode::Delete) => Some(1),
            (Synchronous::Full, _) => Some(0),
            (Synchronous::Normal | Synchronous::Off, _) => None,
        }
    }

    /// Tables of all databases.
    pub fn all_tables(&self) -> usize {
        self.databases as usize * self.tables as usize
    }

    /// Number of a table's first row: SQLite's own, or that of Mobibench's programs.
    pub fn first_row(&self) -> i64 {
        i64::from(self.programs == 0)
    }

    /// Size of the volume and its page cache.
    pub fn geometry(&self) -> Geometry {
        let units = u64::from(self.volume_mib) * units::MIB / UNIT_BYTES;
        Geometry { units: units as u32, cache_pages: (self.page_cache_kib / 4) as usize }
    }

    /// Time between two transactions.
    pub fn think(&self) -> Nanos {
        Nanos::from_micros(u64::from(self.think_us))
    }

    /// Time of a transaction without its calls of the file system.
    pub fn transaction_time(&self) -> Nanos {
        Nanos(u64::from(self.transaction_cpu_ns))
    }

    /// Time of a call of the file system without I/O.
    pub fn call_time(&self) -> Nanos {
        Nanos(u64::from(self.call_cpu_ns))
    }
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
            (
                "journal_mode = \"off\"",
                "sqlite.journal_mode = \"off\": must be one of \"delete\", \"truncate\", \"persist\", \"wal\"",
            ),
            (
                "synchronous = \"2\"",
                "sqlite.synchronous = \"2\": must be one of \"off\", \"normal\", \"full\", \"extra\"",
            ),
            ("file_system = \"xfs\"", "must be one of \"ext4-ordered\", \"f2fs\", \"f2fs-out-of-place\""),
            (
                "operations = [\"drop\"]",
                "sqlite.operations = [\"drop\"]: must be a list of \"insert\", \"update\", \"delete\", \"select\"",
            ),
            ("operations = []", "sqlite.operations = []: must be a list of"),
            (
                "operations = [\"delete\"]\nfill_rows = 999",
                "sqlite.fill_rows = 999: too few rows for 1000 transactions",
            ),
            ("operations = [\"select\"]\nfill_rows = 0", "sqlite.fill_rows = 0: too few rows"),
            (
                "programs = 10\nfill_rows = 999",
                "sqlite.fill_rows = 999: must be at least 1000 for a program of \"delete\"",
            ),
            ("databases = 11", "sqlite.databases = 11: must be 1..=10"),
            ("databases = 3\ntables = 334", "sqlite.tables = 334: with 3 databases: must be 1..=333"),
            ("jurnal_mode = \"wal\"", "sqlite.jurnal_mode = \"wal\": unknown key, must be one of operations, "),
            ("tables = \"two\"", "sqlite.tables = \"two\": must be 1..=1000"),
            ("[squirrel]", "x.toml: squirrel: unknown table, must be [sqlite]"),
        ] {
            let error = SqliteSpec::parse(&format!("[sqlite]\n{line}\n"), "x.toml").unwrap_err().to_string();
            assert!(error.contains(told), "{line}: {error}");
        }
    }
}
