//! The operating system.

use std::fs::{self, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use crate::{About, Access, File, Files, Sort};

/// The files of the operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Real;

/// Nothing that opening could wait for or set off: no link is followed, no pipe waited for, no terminal taken.
const CAREFULLY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const PRIVATE: u32 = 0o600;
const SHARED: u32 = 0o666;

impl Files for Real {
    fn about(&self, path: &Path) -> io::Result<Option<About>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(about(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create_new(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        let mode = if access == Access::Private { PRIVATE } else { SHARED };
        let file = options(true).create_new(true).mode(mode).open(path)?;
        if access == Access::Private {
            // The umask may have taken bits from it.
            file.set_permissions(Permissions::from_mode(PRIVATE))?;
        }
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path, writable: bool) -> io::Result<Box<dyn File>> {
        // Asked before, as to open a device may do something; and after, as it may be another one by now.
        only_regular(&fs::symlink_metadata(path)?)?;
        let file = options(writable).open(path)?;
        only_regular(&file.metadata()?)?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

fn options(writable: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(writable).custom_flags(CAREFULLY.bits().cast_signed());
    options
}

fn only_regular(found: &Metadata) -> io::Result<()> {
    about(found).sort.only_regular()
}

fn about(found: &Metadata) -> About {
    let kind = found.file_type();
    let sort = match () {
        () if kind.is_file() => Sort::Regular,
        () if kind.is_dir() => Sort::Directory,
        () if kind.is_symlink() => Sort::Symlink,
        () if kind.is_socket() => Sort::Socket,
        () => Sort::Other,
    };
    About { sort, len: found.len(), mode: found.mode() & 0o7777, identity: (found.dev(), found.ino()) }
}

impl File for fs::File {
    fn about(&self) -> io::Result<About> {
        self.metadata().map(|found| about(&found))
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        fs::File::set_len(self, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match fs::File::try_lock(self) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
