//! A connection of SQLite to a database on a [`Volume`].

use std::panic::resume_unwind;

use rusqlite::{Connection, OpenFlags, params};
use thiserror::Error;
use units::{Nanos, SimTime};

use crate::fs::Volume;
use crate::host::Host;
use crate::plan::{Rows, Step, Table, text_of};
use crate::spec::{Operation, SqliteSpec};
use crate::vfs::Vfs;

/// Name of the database file.
const FILE: &str = "main.db";

/// SQLite, or the file system below it, could not do what was asked.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("SQLite: {0}")]
pub struct DatabaseError(String);

impl DatabaseError {
    /// An error with the text of its cause.
    pub(crate) fn of(cause: &dyn std::fmt::Display) -> DatabaseError {
        DatabaseError(cause.to_string())
    }
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> DatabaseError {
        DatabaseError::of(&error)
    }
}

/// An open database. The connection is the first field, so it is closed before its VFS is dropped.
pub(crate) struct Database {
    connection: Connection,
    vfs: Vfs,
    spec: SqliteSpec,
}

impl Database {
    /// Opens the database of a volume without changing it.
    pub fn open(volume: Volume, spec: &SqliteSpec) -> Result<Database, DatabaseError> {
        let vfs = Vfs::new(Host::new(volume, spec.call_time(), spec.seed));
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags_and_vfs(FILE, flags, vfs.name())?;
        // With this option all connections of a process share one page cache and take pages from each other. A run
        // would then depend on other databases in the process.
        let asked = "SELECT sqlite_compileoption_used('ENABLE_MEMORY_MANAGEMENT')";
        if connection.query_row(asked, [], |row| row.get(0))? {
            let cure = "build in the workspace, whose .cargo/config.toml takes SQLITE_ENABLE_MEMORY_MANAGEMENT out";
            return Err(DatabaseError(format!("this build shares its page cache between connections; {cure}")));
        }
        Ok(Database { connection, vfs, spec: spec.clone() })
    }

    /// Sets the options of the workload, in Mobibench's order.
    pub fn configure(&mut self) -> Result<(), DatabaseError> {
        let spec = &self.spec;
        let (mode, synchronous) = (spec.journal_mode.name(), spec.synchronous.name());
        let set = |connection: &Connection| -> rusqlite::Result<String> {
            connection.pragma_update(None, "page_size", spec.page_bytes)?;
            connection.pragma_update(None, "cache_size", -i64::from(spec.sqlite_cache_kib))?;
            let now = connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))?;
            connection.pragma_update(None, "synchronous", synchronous)?;
            Ok(now)
        };
        let now = self.call(set)?;
        if now == mode { Ok(()) } else { Err(DatabaseError(format!("journal mode {mode} was refused for {now}"))) }
    }

    /// Calls SQLite. A panic behind the VFS continues here.
    fn call<T>(&self, action: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, DatabaseError> {
        let result = action(&self.connection);
        let panic = self.vfs.host().borrow_mut().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        Ok(result?)
    }

    /// Calls a closure with the file system.
    pub fn volume<T>(&self, action: impl FnOnce(&mut Volume) -> T) -> T {
        action(self.vfs.host().borrow_mut().volume())
    }

    /// Time now.
    pub fn now(&self) -> SimTime {
        self.volume(|volume| volume.disk().now())
    }

    /// Lets time pass.
    pub fn pass(&self, time: Nanos) {
        self.volume(|volume| volume.disk().pass(time));
    }

    /// Runs a transaction.
    pub fn step(&self, step: &Step) -> Result<(), DatabaseError> {
        match *step {
            Step::Create { table } => self.call(|connection| {
                let columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, Value TEXT NOT NULL, creation_date LONG";
                connection.execute(&format!("CREATE TABLE tblMyList{table} ({columns})"), []).map(drop)
            }),
            Step::Fill { table, rows, value } => self.call(|connection| {
                let transaction = connection.unchecked_transaction()?;
                {
                    let sql = format!("INSERT INTO tblMyList{table}(Value) VALUES(?1)");
                    let mut statement = transaction.prepare(&sql)?;
                    for i in 0..u64::from(rows) {
                        statement.execute([text_of(&self.spec, value + i)])?;
                    }
                }
                transaction.commit()
            }),
            Step::Run { operation, table, row, value, .. } => self.run(operation, table, row, value),
        }
    }

    /// Runs one statement, which is a transaction by itself, as in Mobibench.
    fn run(&self, operation: Operation, table: usize, row: i64, value: u64) -> Result<(), DatabaseError> {
        let text = || text_of(&self.spec, value);
        let changed = self.call(|connection| match operation {
            Operation::Insert => {
                connection.execute(&format!("INSERT INTO tblMyList{table}(Value) VALUES(?1)"), [text()])
            }
            Operation::Update => {
                let sql = format!("UPDATE tblMyList{table} SET Value = ?1 WHERE id = ?2");
                connection.execute(&sql, params![text(), row])
            }
            Operation::Delete => connection.execute(&format!("DELETE FROM tblMyList{table} WHERE id = ?1"), [row]),
            Operation::Select => {
                let sql = format!("SELECT Value FROM tblMyList{table} WHERE id = ?1");
                connection.query_row(&sql, [row], |row| row.get::<_, String>(0)).map(|_| 1)
            }
        })?;
        assert_eq!(changed, 1, "a plan names rows that are there");
        Ok(())
    }

    /// Result of `PRAGMA integrity_check`: "ok", or the errors.
    pub fn integrity(&self) -> Result<String, DatabaseError> {
        self.call(|connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            Ok(lines.join("; "))
        })
    }

    /// True if the tables hold exactly these rows.
    pub fn holds(&self, rows: &Rows) -> Result<bool, DatabaseError> {
        for table in 0..self.spec.tables as usize {
            let expected = rows.tables.get(table).and_then(Option::as_ref);
            if !self.table_holds(table, expected)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn table_holds(&self, number: usize, expected: Option<&Table>) -> Result<bool, DatabaseError> {
        self.call(|connection| {
            let exists = connection.table_exists(None, format!("tblMyList{number}").as_str())?;
            let Some(table) = expected.filter(|_| exists) else { return Ok(exists == expected.is_some()) };
            let mut statement = connection.prepare(&format!("SELECT id, Value FROM tblMyList{number} ORDER BY id"))?;
            let mut found = statement.query([])?;
            for (id, &value) in (table.first..).zip(&table.values) {
                let Some(row) = found.next()? else { return Ok(false) };
                if row.get::<_, i64>(0)? != id || row.get_ref(1)?.as_str()? != text_of(&self.spec, value) {
                    return Ok(false);
                }
            }
            Ok(found.next()?.is_none())
        })
    }

    /// Closes the connection; the file system stays.
    pub fn close(self) -> Result<Vfs, DatabaseError> {
        let Database { connection, vfs, .. } = self;
        let closed = connection.close();
        let panic = vfs.host().borrow_mut().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        closed.map_err(|(_, error)| error)?;
        Ok(vfs)
    }
}
