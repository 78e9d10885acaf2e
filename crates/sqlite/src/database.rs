//! A connection of SQLite to a database on a [`Volume`].

use std::panic::resume_unwind;

use rusqlite::{Connection, OpenFlags, params};
use thiserror::Error;
use units::{Nanos, SimTime};

use crate::fs::Volume;
use crate::host::Host;
use crate::plan::{Rows, Statement, Step, Table, text_of};
use crate::spec::{Operation, SqliteSpec};
use crate::vfs::Vfs;

/// Name of a database's file.
fn file(database: usize) -> String {
    if database == 0 { "main.db".into() } else { format!("db{database}.db") }
}

/// Name of a connection's database in SQL: of the one that it has opened, or of one that is attached.
fn schema(attached: usize) -> String {
    if attached == 0 { "main".into() } else { format!("db{attached}") }
}

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

/// An open database, and those that are attached to it. The connection is the first field, so it is closed before its
/// VFS is dropped.
pub(crate) struct Database {
    connection: Connection,
    vfs: Vfs,
    spec: SqliteSpec,
    /// Number of the database that was opened.
    first: usize,
    /// How many databases the connection has.
    databases: usize,
}

impl Database {
    /// Opens the main database of a volume without changing it.
    pub fn open(volume: Volume, spec: &SqliteSpec) -> Result<Database, DatabaseError> {
        Database::on(Vfs::new(Host::new(volume, spec)), spec, 0)
    }

    /// Opens one database by itself.
    fn on(vfs: Vfs, spec: &SqliteSpec, first: usize) -> Result<Database, DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags_and_vfs(file(first), flags, vfs.name())?;
        // With this option all connections of a process share one page cache and take pages from each other. A run
        // would then depend on other databases in the process.
        let asked = "SELECT sqlite_compileoption_used('ENABLE_MEMORY_MANAGEMENT')";
        if connection.query_row(asked, [], |row| row.get(0))? {
            let cure = "build in the workspace, whose .cargo/config.toml takes SQLITE_ENABLE_MEMORY_MANAGEMENT out";
            return Err(DatabaseError(format!("this build shares its page cache between connections; {cure}")));
        }
        // Every statement of every operation stays prepared.
        connection.set_prepared_statement_cache_capacity(4 * spec.all_tables());
        Ok(Database { connection, vfs, spec: spec.clone(), first, databases: 1 })
    }

    /// Attaches all other databases, which have to be there or are made.
    pub fn attach(&mut self) -> Result<(), DatabaseError> {
        for database in 1..self.spec.databases as usize {
            let sql = format!("ATTACH DATABASE '{}' AS '{}'", file(database), schema(database));
            self.call(|connection| connection.execute(&sql, []).map(drop))?;
        }
        self.databases = self.spec.databases as usize;
        Ok(())
    }

    /// Sets the options of the workload, in Mobibench's order.
    pub fn configure(&self) -> Result<(), DatabaseError> {
        (0..self.databases).try_for_each(|attached| self.configure_one(&schema(attached)))
    }

    fn configure_one(&self, schema: &str) -> Result<(), DatabaseError> {
        let spec = &self.spec;
        let (mode, synchronous) = (spec.journal_mode.name(), spec.synchronous.name());
        let set = |connection: &Connection| -> rusqlite::Result<String> {
            connection.pragma_update(Some(schema), "page_size", spec.page_bytes)?;
            if spec.auto_vacuum {
                connection.pragma_update(Some(schema), "auto_vacuum", "full")?;
            }
            connection.pragma_update(Some(schema), "cache_size", -i64::from(spec.sqlite_cache_kib))?;
            let now = connection.pragma_update_and_check(Some(schema), "journal_mode", mode, |row| row.get(0))?;
            connection.pragma_update(Some(schema), "synchronous", synchronous)?;
            Ok(now)
        };
        let now = self.call(set)?;
        if now == mode { Ok(()) } else { Err(DatabaseError(format!("journal mode {mode} was refused for {now}"))) }
    }

    /// A table as SQL names it on this connection.
    fn name(&self, table: usize) -> String {
        let tables = self.spec.tables as usize;
        format!("{}.tblMyList{}", schema(table / tables - self.first), table % tables)
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

    /// Runs a transaction, or what a program does around its transactions. Gives what is open afterwards.
    pub fn step(self, step: &Step) -> Result<Database, DatabaseError> {
        match step {
            &Step::Open { database } => return self.reopened(database),
            Step::Remove => return self.removed(),
            Step::Attach => {
                let mut all = self;
                all.attach()?;
                all.configure()?;
                return Ok(all);
            }
            &Step::Create { table } => self.create(table)?,
            &Step::Drop { table } => {
                let sql = format!("DROP TABLE {}", self.name(table));
                self.call(|connection| connection.execute(&sql, []).map(drop))?;
            }
            &Step::Count { table } => {
                let sql = format!("SELECT count(*) FROM {}", self.name(table));
                self.call(|connection| connection.query_row(&sql, [], |_| Ok(())))?;
            }
            &Step::Fill { table, rows, row, value } => self.fill(table, rows, row, value)?,
            Step::Run { operation, statements, .. } => self.run(*operation, statements)?,
            Step::Checkpoint => {
                self.call(|connection| connection.query_row("PRAGMA wal_checkpoint", [], |_| Ok(())))?;
            }
        }
        Ok(self)
    }

    /// A new program, which opens one database.
    fn reopened(self, database: usize) -> Result<Database, DatabaseError> {
        let spec = self.spec.clone();
        let new = Database::on(self.close()?, &spec, database)?;
        new.configure()?;
        Ok(new)
    }

    /// Removes the files of all databases. Journals stay, as Mobibench leaves them.
    fn removed(self) -> Result<Database, DatabaseError> {
        let spec = self.spec.clone();
        let vfs = self.close()?;
        for database in 0..spec.databases as usize {
            vfs.host().borrow_mut().volume().remove(&file(database))?;
        }
        Database::on(vfs, &spec, 0)
    }

    fn create(&self, table: usize) -> Result<(), DatabaseError> {
        // Mobibench's programs name the rows themselves.
        let key = if self.spec.programs == 0 { "PRIMARY KEY AUTOINCREMENT" } else { "PRIMARY KEY" };
        let columns = format!("id INTEGER {key}, Value TEXT NOT NULL, creation_date LONG");
        let sql = format!("CREATE TABLE {} ({columns})", self.name(table));
        self.call(|connection| connection.execute(&sql, []).map(drop))
    }

    fn fill(&self, table: usize, rows: u32, row: i64, value: u64) -> Result<(), DatabaseError> {
        self.call(|connection| {
            let transaction = connection.unchecked_transaction()?;
            for (row, value) in (row..).zip(value..value + u64::from(rows)) {
                self.execute(&transaction, Operation::Insert, Statement { table, row, value })?;
            }
            transaction.commit()
        })
    }

    /// Runs a measured transaction. One statement is a transaction by itself, as in Mobibench.
    fn run(&self, operation: Operation, statements: &[Statement]) -> Result<(), DatabaseError> {
        let changed = self.call(|connection| {
            if let [only] = statements {
                return self.execute(connection, operation, *only);
            }
            let transaction = connection.unchecked_transaction()?;
            let changed: rusqlite::Result<Vec<usize>> =
                statements.iter().map(|own| self.execute(&transaction, operation, *own)).collect();
            transaction.commit()?;
            Ok(changed?.into_iter().sum())
        })?;
        assert_eq!(changed, statements.len(), "a plan names rows that are there");
        Ok(())
    }

    /// Runs a statement. Gives the number of rows that it has changed, or found.
    fn execute(&self, on: &Connection, operation: Operation, own: Statement) -> rusqlite::Result<usize> {
        let Statement { table, row, value } = own;
        let (name, text) = (self.name(table), || text_of(&self.spec, value));
        let prepared = |sql: String| on.prepare_cached(&sql);
        match operation {
            // SQLite counts the rows itself, from 1 on.
            Operation::Insert if self.spec.programs == 0 => {
                prepared(format!("INSERT INTO {name}(Value) VALUES(?1)"))?.execute([text()])
            }
            Operation::Insert => {
                prepared(format!("INSERT INTO {name}(id, Value) VALUES(?2, ?1)"))?.execute(params![text(), row])
            }
            Operation::Update => {
                prepared(format!("UPDATE {name} SET Value = ?1 WHERE id = ?2"))?.execute(params![text(), row])
            }
            Operation::Delete => prepared(format!("DELETE FROM {name} WHERE id = ?1"))?.execute([row]),
            Operation::Select => {
                let mut statement = prepared(format!("SELECT Value FROM {name} WHERE id = ?1"))?;
                statement.query_row([row], |row| row.get_ref(0)?.as_str().map(|_| 1).map_err(Into::into))
            }
        }
    }

    /// Result of `PRAGMA integrity_check`, of all databases: "ok", or the errors.
    pub fn integrity(&self) -> Result<String, DatabaseError> {
        self.call(|connection| {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            Ok(lines.join("; "))
        })
    }

    /// True if the tables hold exactly these rows.
    pub fn holds(&self, rows: &Rows) -> Result<bool, DatabaseError> {
        for table in 0..self.spec.all_tables() {
            let expected = rows.tables.get(table).and_then(Option::as_ref);
            if !self.table_holds(table, expected)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn table_holds(&self, number: usize, expected: Option<&Table>) -> Result<bool, DatabaseError> {
        let name = self.name(number);
        let (schema, table) = name.split_once('.').expect("a schema and a table");
        self.call(|connection| {
            let exists = connection.table_exists(Some(schema), table)?;
            let Some(table) = expected.filter(|_| exists) else { return Ok(exists == expected.is_some()) };
            let mut statement = connection.prepare(&format!("SELECT id, Value FROM {name} ORDER BY id"))?;
            let mut found = statement.query([])?;
            for (&id, &value) in &table.values {
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
