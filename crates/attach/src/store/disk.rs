//! What a store lies on, and how its file is opened and made.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

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

impl Disk for File {
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }

    fn write(&mut self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn len(&self) -> io::Result<u64> {
        self.metadata().map(|about| about.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Opens a file that is there, to be the only one who writes it, or one of those who read it. `None` if there is none.
/// A symbolic link is not followed: whoever can put one there would choose what is written.
pub(super) fn existing(path: &Path, writes: bool) -> Result<Option<File>, StoreError> {
    let mut options = OpenOptions::new();
    // A pipe would wait for its other end.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = match options.read(true).write(writes).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(StoreError::unfit(path, "is a symbolic link, and a store is not opened through one"));
        }
        Err(error) => return Err(StoreError::io(path, error)),
    };
    if !file.metadata().map_err(|error| StoreError::io(path, error))?.is_file() {
        return Err(StoreError::unfit(path, "is no ordinary file"));
    }
    let locked = if writes { file.try_lock() } else { file.try_lock_shared() };
    if locked.is_err() {
        return Err(StoreError::unfit(path, "is in use by another process"));
    }
    Ok(Some(file))
}

/// A file that nobody but its owner reads, and that appears at its place when it is complete.
pub(super) struct Coming {
    place: PathBuf,
    beside: PathBuf,
    pub file: File,
}

impl Coming {
    /// An empty file beside its place, which is locked.
    pub fn at(place: &Path) -> io::Result<Coming> {
        let name = place.file_name().ok_or(ErrorKind::InvalidFilename)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        for number in 0..100 {
            let mut other = std::ffi::OsString::from(".");
            other.push(name);
            other.push(format!(".{}-{number}", std::process::id()));
            let beside = place.with_file_name(other);
            let file = match options.open(&beside) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            let coming = Coming { place: place.into(), beside, file };
            // The umask may have taken more than it should.
            coming.file.set_permissions(Permissions::from_mode(0o600))?;
            coming.file.try_lock()?;
            return Ok(coming);
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Puts it at its place, where nothing may be.
    pub fn appear(&self) -> io::Result<()> {
        self.file.sync_all()?;
        match renameat_with(CWD, &self.beside, CWD, &self.place, RenameFlags::NOREPLACE) {
            // Not every file system knows how.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => std::fs::hard_link(&self.beside, &self.place)?,
            renamed => renamed?,
        }
        let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The file itself is on the disk; not every file system can wait for its name.
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // After a rename there is nothing here any more.
        let _ = std::fs::remove_file(&self.beside);
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
