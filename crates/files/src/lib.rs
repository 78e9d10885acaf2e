//! The wall to the file system: what programs need of directories and files, as traits that an operating system
//! ([`Real`]) and a simulated disk ([`Simulated`]) implement.
//!
//! # Contract
//! Whoever changes files on disk does it through [`Files`]. So each promise about what a kill, a full or a failing disk
//! leaves can be tried at every operation: [`trial`] does that with any writer.
//!
//! [`replace`] is the one way to write a file that is read as a whole, such as a result: at the end of the process at
//! any moment the old file is there or the new one. It replaces only files of its own [`Kind`], and follows no symbolic
//! link.
//!
//! # Glossary
//! - **unfinished**: a file that is being written beside its place, under a name that [`is_unfinished`] knows. Its
//!   writer holds its lock, so one that nobody has locked was left by a process that died.
//! - **changing operation**: creating, writing, cutting, syncing, renaming and removing. They are what faults of the
//!   simulated disk are counted in.

mod append;
mod disk;
mod real;
mod replace;
mod simulated;
pub mod trial;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use append::Append;
pub use real::Real;
pub use replace::{HEAD, Kind, check, is_unfinished, make_new, replace};
pub use simulated::{Change, Fault, Simulated};

/// What programs need of directories.
///
/// The last part of a path is never followed if it is a symbolic link.
pub trait Files: Debug + Send + Sync {
    /// What is at a path; `None` if nothing is.
    ///
    /// # Errors
    /// If it cannot be found out.
    fn about(&self, path: &Path) -> io::Result<Option<About>>;

    /// Makes a file for reading and writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if anything is there; what the disk gives.
    fn create_new(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>>;

    /// Opens a regular file.
    ///
    /// # Errors
    /// If none is there, or something else, or it may not be opened so.
    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn File>>;

    /// Gives a file another name. A file that has that name loses it in the same moment.
    ///
    /// # Errors
    /// What the disk gives; then both names are as before.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file another name that nothing has.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if something has it; what the disk gives. Then both names are as before.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes the name of a file. Whoever has it open keeps it.
    ///
    /// # Errors
    /// What the disk gives.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// An open file.
pub trait File: Debug + Send + Sync {
    /// Length, mode and identity of the file itself, whatever became of its name.
    ///
    /// # Errors
    /// If they cannot be found out.
    fn about(&self) -> io::Result<About>;

    /// Reads bytes that have been written, or holes.
    ///
    /// # Errors
    /// If they cannot be read; [`io::ErrorKind::UnexpectedEof`] if some lie beyond the end.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes bytes; the file grows if it has to.
    ///
    /// # Errors
    /// What the disk gives. Then some of the bytes may have been written, from the first on.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Cuts the file, or lets it grow by a hole.
    ///
    /// # Errors
    /// What the disk gives.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// If something was lost.
    fn sync(&self) -> io::Result<()>;

    /// Takes the file's lock, which is given back when this handle is dropped or the process ends. False if another
    /// handle has it.
    ///
    /// # Errors
    /// If there are no locks on this file system.
    fn try_lock(&self) -> io::Result<bool>;
}

/// What is at a path, or what an open file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// What it is.
    pub sort: Sort,
    /// Bytes.
    pub len: u64,
    /// Permission bits.
    pub mode: u32,
    /// The same for all names of a file, and for no other file while it exists: device and inode.
    pub identity: (u64, u64),
}

/// What can be at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// A file with bytes.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A socket.
    Socket,
    /// A device node, a pipe, or whatever else there is.
    Other,
}

impl Sort {
    /// # Errors
    /// If it is no regular file.
    fn only_regular(self) -> io::Result<()> {
        match self {
            Sort::Regular => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no ordinary file")),
        }
    }
}

/// Who may read a new file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// Nobody but its owner, whatever the umask: data of a device, for instance.
    Private,
    /// Whom the umask lets: results.
    #[default]
    Shared,
}

/// A file that was not written, and why.
#[derive(Debug, Error)]
#[error("{}: {error}", path.display())]
pub struct FileError {
    /// Its path.
    pub path: PathBuf,
    /// What was wrong. Of kind [`io::ErrorKind::AlreadyExists`] if something is there that is not to be replaced.
    pub error: io::Error,
}

impl FileError {
    /// What was wrong with the file at a path.
    pub fn new(path: &Path, error: io::Error) -> FileError {
        FileError { path: path.into(), error }
    }
}
