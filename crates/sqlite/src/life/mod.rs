//! The life of a workload, from an empty disk to a closed database.

use units::SimTime;

use crate::block::{Disk, Image};
use crate::database::{Database, DatabaseError};
use crate::fs::{FsError, Volume};
use crate::plan::{Plan, Rows, Step};
use crate::spec::SqliteSpec;

/// Observer of a run.
pub(crate) trait Watch {
    /// A phase begins; `None` for the fill before the first phase and the closing after the last.
    fn phase(&mut self, phase: Option<usize>);

    /// A transaction is called, or what a program does around its transactions.
    fn called(&mut self) {}

    /// It has returned.
    fn returned(&mut self, step: &Step, started: SimTime, ended: SimTime);
}

/// Formats the disk, fills the tables, runs all transactions, closes the database and unmounts.
pub(crate) fn run(spec: &SqliteSpec, disk: Box<dyn Disk>, watch: &mut dyn Watch) -> Result<(), DatabaseError> {
    watch.phase(None);
    let volume = Volume::format(disk, spec.file_system, spec.geometry())?;
    let mut database = Database::open(volume, spec)?;
    if spec.programs == 0 {
        database.attach()?;
        database.configure()?;
    }
    let mut phase = None;
    for step in Plan::new(spec) {
        if step.phase() != phase {
            phase = step.phase();
            if spec.drop_caches && phase.is_some() {
                database.volume(Volume::drop_caches);
            }
            watch.phase(phase);
        }
        let started = database.now();
        watch.called();
        database.pass(spec.transaction_time());
        database = database.step(&step)?;
        watch.returned(&step, started, database.now());
        database.pass(spec.think());
        database.volume(Volume::background)?;
    }
    watch.phase(None);
    let vfs = database.close()?;
    vfs.host().borrow_mut().volume().sync_all()?;
    Ok(())
}

impl From<FsError> for DatabaseError {
    fn from(error: FsError) -> DatabaseError {
        DatabaseError::of(&error)
    }
}

/// Content of a disk after a power cut, or at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Result of `PRAGMA integrity_check`: "ok", or the errors.
    pub integrity: String,
    /// The tables are exactly as they were after this many writing transactions, including those of the fill. `None` if
    /// they match none of the numbers tried.
    pub transactions: Option<u64>,
}

/// Mounts a disk, opens the database with SQLite's own recovery, and compares its rows with those after `fewest` to
/// `most` writing transactions.
///
/// # Errors
/// If the file system or the database can not be opened or read.
pub fn inspect(spec: &SqliteSpec, image: Image, fewest: u64, most: u64) -> Result<Found, DatabaseError> {
    let volume = Volume::mount(Box::new(image), spec.file_system, spec.geometry())?;
    let mut database = Database::open(volume, spec)?;
    database.attach()?;
    let integrity = database.integrity()?;
    let mut rows = Rows::default();
    let mut steps = Plan::new(spec).filter(Step::writes);
    let mut transactions = None;
    for count in 0..=most {
        if count >= fewest && database.holds(&rows)? {
            transactions = Some(count);
        }
        match steps.next() {
            Some(step) => rows.apply(&step, spec.first_row()),
            None => break,
        }
    }
    Ok(Found { integrity, transactions })
}

#[cfg(test)]
mod tests;
