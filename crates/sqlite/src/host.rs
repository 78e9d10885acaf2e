//! The operating system for SQLite, on a [`Volume`]. It follows SQLite's own `os_unix.c` on Linux, call by call.
//!
//! - Every sync is `fdatasync`, as in Android's build of SQLite (`-Dfdatasync=fdatasync`).
//! - The first sync of a new journal also syncs the directory (`UNIXFILE_DIRSYNC`). Deleting a journal does so only if
//!   SQLite asks for it (`synchronous=EXTRA`).
//! - For `xAccess` a file of length 0 does not exist, so a truncated journal is not hot.
//! - There is one connection to a file, so locks always succeed. The index of a write-ahead log is in host memory and
//!   never in a file, while Linux maps a `-shm` file that is never synced. Temporary files are in host memory.

use std::any::Any;
use std::collections::BTreeMap;

use rusqlite::ffi;
use units::Nanos;
use workload::{Rng, named_stream};

use crate::fs::tree::Ino;
use crate::fs::{FsError, Volume};
use crate::spec::SqliteSpec;

/// 2024-01-01 00:00 UTC, the start of simulated time, in SQLite's milliseconds of the Julian day.
const EPOCH_MS: i64 = 210_866_760_000_000 + 1_704_067_200_000;
/// SQLite's assumption about every disk on Unix (`SQLITE_DEFAULT_SECTOR_SIZE`).
const SECTOR_BYTES: i32 = 4096;
/// That of before version 3.7.10.
const OLD_SECTOR_BYTES: i32 = 512;
/// Words in a region of the index of a write-ahead log.
type Region = Box<[u64]>;

/// An error code of SQLite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub i32);

/// An open file.
#[derive(Debug)]
enum Open {
    /// A file on the volume.
    File { ino: Ino, sync_directory: bool },
    /// A temporary file.
    Memory(Vec<u8>),
}

/// Number of an open file.
pub(crate) type Handle = usize;

/// The operating system of one database.
pub(crate) struct Host {
    volume: Volume,
    open: Vec<Option<Open>>,
    /// By the log's database, and number.
    regions: BTreeMap<(Ino, i32), Region>,
    rng: Rng,
    /// Processor time of one call.
    call_time: Nanos,
    /// A write may destroy what lies beside it in its sector, as SQLite feared before 3.7.10.
    destroys_sectors: bool,
    /// A panic in a call. It continues when SQLite has returned.
    pub panic: Option<Box<dyn Any + Send>>,
}

impl Host {
    pub fn new(volume: Volume, spec: &SqliteSpec) -> Host {
        Host {
            volume,
            open: Vec::new(),
            regions: BTreeMap::new(),
            rng: named_stream(spec.seed, "sqlite randomness", 0),
            call_time: spec.call_time(),
            destroys_sectors: spec.pads_log,
            panic: None,
        }
    }

    pub fn volume(&mut self) -> &mut Volume {
        &mut self.volume
    }

    fn called(&mut self) {
        self.volume.disk().pass(self.call_time);
    }

    /// Opens a file; without a name, a temporary file.
    pub fn open(&mut self, name: Option<&str>, flags: i32) -> Result<Handle, Code> {
        let open = match name {
            None => Open::Memory(Vec::new()),
            Some(_) if flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0 => Open::Memory(Vec::new()),
            Some(name) => self.open_file(name, flags)?,
        };
        let free = self.open.iter().position(Option::is_none);
        let handle = free.unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[handle] = Some(open);
        Ok(handle)
    }

    fn open_file(&mut self, name: &str, flags: i32) -> Result<Open, Code> {
        let makes = flags & ffi::SQLITE_OPEN_CREATE != 0;
        let ino = match self.volume.find(name) {
            Some(ino) => ino,
            None if makes => self.volume.create(name).map_err(code_or(ffi::SQLITE_CANTOPEN))?,
            None => return Err(Code(ffi::SQLITE_CANTOPEN)),
        };
        // As SQLite's own VFS for Unix: the first sync of a journal also syncs the directory, whether the file is new
        // or not. With journal_mode=truncate a journal is opened for each transaction.
        let journals = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
        Ok(Open::File { ino, sync_directory: makes && flags & journals != 0 })
    }

    pub fn close(&mut self, handle: Handle) {
        self.open[handle] = None;
    }

    fn file(&mut self, handle: Handle) -> &mut Open {
        self.open[handle].as_mut().expect("SQLite uses open files only")
    }

    /// Reads into `into`. Bytes beyond the end of the file are zeroes, and SQLite is told.
    pub fn read(&mut self, handle: Handle, offset: u64, into: &mut [u8]) -> Result<(), Code> {
        self.called();
        let got = match self.file(handle) {
            &mut Open::File { ino, .. } => {
                self.volume.read(ino, offset, into).map_err(code_or(ffi::SQLITE_IOERR_READ))?
            }
            Open::Memory(bytes) => {
                let from = &bytes[bytes.len().min(offset as usize)..];
                let got = from.len().min(into.len());
                into[..got].copy_from_slice(&from[..got]);
                got
            }
        };
        into[got..].fill(0);
        if got < into.len() { Err(Code(ffi::SQLITE_IOERR_SHORT_READ)) } else { Ok(()) }
    }

    pub fn write(&mut self, handle: Handle, offset: u64, from: &[u8]) -> Result<(), Code> {
        self.called();
        match self.file(handle) {
            &mut Open::File { ino, .. } => {
                self.volume.write(ino, offset, from).map_err(code_or(ffi::SQLITE_IOERR_WRITE))
            }
            Open::Memory(bytes) => {
                let end = offset as usize + from.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[offset as usize..end].copy_from_slice(from);
                Ok(())
            }
        }
    }

    pub fn truncate(&mut self, handle: Handle, size: u64) -> Result<(), Code> {
        self.called();
        match self.file(handle) {
            &mut Open::File { ino, .. } => self.volume.truncate(ino, size).map_err(code_or(ffi::SQLITE_IOERR_TRUNCATE)),
            Open::Memory(bytes) => {
                bytes.resize(size as usize, 0);
                Ok(())
            }
        }
    }

    pub fn sync(&mut self, handle: Handle) -> Result<(), Code> {
        self.called();
        let Open::File { ino, sync_directory } = self.file(handle) else { return Ok(()) };
        let (ino, directory) = (*ino, std::mem::take(sync_directory));
        self.volume.data_sync(ino).map_err(code_or(ffi::SQLITE_IOERR_FSYNC))?;
        if directory {
            self.volume.sync_directory().map_err(code_or(ffi::SQLITE_IOERR_DIR_FSYNC))?;
        }
        Ok(())
    }

    pub fn size(&mut self, handle: Handle) -> u64 {
        match self.file(handle) {
            &mut Open::File { ino, .. } => self.volume.size(ino),
            Open::Memory(bytes) => bytes.len() as u64,
        }
    }

    pub fn delete(&mut self, name: &str, sync_directory: bool) -> Result<(), Code> {
        self.called();
        match self.volume.remove(name) {
            Err(FsError::NotFound) => return Err(Code(ffi::SQLITE_IOERR_DELETE_NOENT)),
            other => other.map_err(code_or(ffi::SQLITE_IOERR_DELETE))?,
        }
        if sync_directory {
            self.volume.sync_directory().map_err(code_or(ffi::SQLITE_IOERR_DIR_FSYNC))?;
        }
        Ok(())
    }

    pub fn exists(&mut self, name: &str, flags: i32) -> bool {
        match self.volume.find(name) {
            Some(ino) => flags != ffi::SQLITE_ACCESS_EXISTS || self.volume.size(ino) > 0,
            None => false,
        }
    }

    /// A region of the index of a write-ahead log. Makes it if `make` is true.
    pub fn region(&mut self, of: Handle, number: i32, bytes: i32, make: bool) -> Option<*mut u64> {
        let &mut Open::File { ino, .. } = self.file(of) else { return None };
        if make {
            let words = (bytes as usize).div_ceil(8);
            self.regions.entry((ino, number)).or_insert_with(|| vec![0; words].into_boxed_slice());
        }
        self.regions.get_mut(&(ino, number)).map(|region| region.as_mut_ptr())
    }

    pub fn drop_regions(&mut self, of: Handle) {
        if let &mut Open::File { ino, .. } = self.file(of) {
            self.regions.retain(|&(own, _), _| own != ino);
        }
    }

    /// What SQLite takes for a sector, and what it takes for granted about it. As `os_unix.c` says, a write changes no
    /// byte outside its range; nothing else is promised.
    pub fn sectors(&self) -> (i32, i32) {
        if self.destroys_sectors {
            (OLD_SECTOR_BYTES, 0)
        } else {
            (SECTOR_BYTES, ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE)
        }
    }

    pub fn randomness(&mut self, into: &mut [u8]) {
        into.fill_with(|| self.rng.bits() as u8);
    }

    pub fn sleep(&mut self, micros: u64) {
        self.volume.disk().pass(Nanos::from_micros(micros));
    }

    /// Milliseconds of the Julian day.
    pub fn clock_ms(&mut self) -> i64 {
        EPOCH_MS + (self.volume.disk().now().0 / 1_000_000) as i64
    }
}

/// SQLite's code for an error: "full" if the disk is full, else `code`.
fn code_or(code: i32) -> impl Fn(FsError) -> Code {
    move |error| match error {
        FsError::NoSpace(_) => Code(ffi::SQLITE_FULL),
        _ => Code(code),
    }
}
