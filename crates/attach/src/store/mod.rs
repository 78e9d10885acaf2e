//! The data that is on the simulated flash.

pub mod disk;
mod examine;
pub mod file;
mod layout;
pub mod memory;
pub mod rescue;

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::UNIT;

/// The bytes of a unit.
pub type Page = [u8; UNIT];

/// Why a store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file system has said no.
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
    /// It is no store of ufsim, or one that does not fit.
    #[error("{path}: {what}")]
    Unfit { path: String, what: String },
    /// A new file could not be written.
    #[error("{path}: {error}")]
    Unwritten { path: String, error: io::Error },
}

impl StoreError {
    fn io(path: &Path, error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::InvalidData => StoreError::unfit(path, error.to_string()),
            _ => StoreError::Io { path: path.display().to_string(), error },
        }
    }

    fn unfit(path: &Path, what: impl Into<String>) -> StoreError {
        StoreError::Unfit { path: path.display().to_string(), what: what.into() }
    }

    fn unwritten(path: &Path, error: io::Error) -> StoreError {
        StoreError::Unwritten { path: path.display().to_string(), error }
    }
}

/// A place for data. What is put stays, also if the process ends the moment after.
pub trait Store: Send {
    /// Copies the data of a unit to `page`: zeroes if it has none.
    ///
    /// # Errors
    /// If it cannot be read, or is not what was put.
    fn get(&mut self, unit: u32, page: &mut Page) -> io::Result<()>;

    /// Replaces the data of a unit. On an error it is what it was.
    ///
    /// # Errors
    /// If it cannot be written.
    fn put(&mut self, unit: u32, page: &Page) -> io::Result<()>;

    /// The unit has no data any more.
    ///
    /// # Errors
    /// If that cannot be written.
    fn remove(&mut self, unit: u32) -> io::Result<()>;

    /// Runs of units that have data: first unit and number of units, ascending.
    fn held(&self) -> Vec<(u32, u32)>;

    /// Lets everything reach the disk, for an ordinary end.
    ///
    /// # Errors
    /// If the disk has lost something.
    fn close(&mut self) -> io::Result<()>;
}

/// Runs of consecutive units out of ascending units.
fn runs(units: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for unit in units {
        match runs.last_mut() {
            Some((first, len)) if *first + *len == unit => *len += 1,
            _ => runs.push((unit, 1)),
        }
    }
    runs
}

/// Runs in words, not too many of them.
fn list(runs: &[(u32, u32)]) -> String {
    const MOST: usize = 20;
    let run = |&(first, len): &(u32, u32)| match len {
        1 => first.to_string(),
        _ => format!("{first}..={}", first + (len - 1)),
    };
    let told = runs.iter().take(MOST).map(run).collect::<Vec<_>>().join(", ");
    match runs.len().saturating_sub(MOST) {
        0 => told,
        more => format!("{told} and {more} more runs"),
    }
}
