//! What a store lies on, and how its file is opened.

use std::io;
use std::ops::Deref;
use std::path::Path;

use files::{File, Files, Sort};

use super::StoreError;

/// What a store lies on.
#[allow(clippy::len_without_is_empty, reason = "its length can fail to be found out, and nobody asks for more")]
pub trait Disk: Send {
    /// Reads bytes that have been written, or holes.
    ///
    /// # Errors
    /// If they cannot be read, or lie beyond the end.
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes bytes.
    ///
    /// # Errors
    /// If that is not possible. Then some of them may have been written.
    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// The length.
    ///
    /// # Errors
    /// If it cannot be found out.
    fn len(&self) -> io::Result<u64>;

    /// Waits for the disk.
    ///
    /// # Errors
    /// If something was lost.
    fn sync(&mut self) -> io::Result<()>;
}

impl<'a, F: Deref<Target = dyn File + 'a> + Send> Disk for F {
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_at(bytes, at)
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_at(bytes, at)
    }

    fn len(&self) -> io::Result<u64> {
        self.about().map(|about| about.len)
    }

    fn sync(&mut self) -> io::Result<()> {
        File::sync(&**self)
    }
}

/// Opens a file that is there, to be the only one who uses it. `None` if there is none. A symbolic link is not
/// followed: whoever can put one there would choose what is written.
pub(super) fn existing(files: &dyn Files, path: &Path, writes: bool) -> Result<Option<Box<dyn File>>, StoreError> {
    let told = |error| StoreError::io(path, error);
    match files.about(path).map_err(told)?.map(|found| found.sort) {
        None => return Ok(None),
        Some(Sort::Symlink) => {
            return Err(StoreError::unfit(path, "is a symbolic link, and a store is not opened through one"));
        }
        Some(Sort::Directory) => return Err(StoreError::unfit(path, "is a directory")),
        Some(_) => {}
    }
    let file = files.open(path, writes).map_err(told)?;
    match file.try_lock() {
        Ok(true) => Ok(Some(file)),
        _ => Err(StoreError::unfit(path, "is in use by another process")),
    }
}
