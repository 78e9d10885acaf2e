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

/// Opens a file that is there, to be the only one who uses it. `None` if there is none. A symbolic link is not followed:
/// whoever can put one there would choose what is written.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_to_the_place_meanwhile_is_not_replaced() {
        let folder = std::env::temp_dir().join(format!("ufsim-disk-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a new folder");
        let coming = Coming::at(&folder.join("new")).expect("room");
        std::fs::write(folder.join("new"), "of another").expect("room");
        assert!(coming.appear().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists));
        drop(coming);
        assert_eq!(std::fs::read_to_string(folder.join("new")).expect("it is there"), "of another");
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 1);
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
