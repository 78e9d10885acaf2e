//! Files that are replaced as a whole.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::{Access, Append, File, FileError, Files, Sort};

/// What files of a kind have in common.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What one is called behind "is no".
    pub name: &'static str,
    /// Whether a file that begins with these bytes, at most [`HEAD`], may be one. An empty file is of every kind.
    pub begins: fn(&[u8]) -> bool,
    /// Who may read it.
    pub access: Access,
}

/// Bytes by which a kind is told.
pub const HEAD: usize = 4096;
/// Before the number of an unfinished file and its name. Package `ufsim.outputs` uses the same.
const UNFINISHED: &[u8] = b".unfinished-";
/// Unfinished files of one name that there may be at the same time.
const MOST: u32 = 1000;
/// Of these numbers, what was left by processes that died is removed.
const TIDIED: u32 = 8;
/// As much of a name as its unfinished file has, so that it is not too long for the disk.
const NAME_BYTES: usize = 200;
/// Bytes that are written at a time.
const CHUNK: usize = 1 << 16;

impl Kind {
    /// A kind of results, which begin with something that `begins` knows.
    pub const fn new(name: &'static str, begins: fn(&[u8]) -> bool) -> Kind {
        Kind { name, begins, access: Access::Shared }
    }

    /// The same, for nobody but the owner.
    pub const fn private(self) -> Kind {
        Kind { access: Access::Private, ..self }
    }
}

/// Writes a file that takes the place of `path` when it is complete, and of what is there, if that is of its kind.
///
/// `write` is handed a place for the bytes. When the process ends, at whatever operation, the old file is there or the
/// new one. After an error the old one is, and nothing else is left.
///
/// # Errors
/// See [`check`]; what `write` gives; what the disk gives, with the path.
pub fn replace<E: From<FileError>>(
    files: &dyn Files,
    path: &Path,
    kind: Kind,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let told = |error| E::from(FileError::new(path, error));
    check(files, path, kind)?;
    let (beside, file) = unfinished(files, path, kind.access).map_err(told)?;
    // Kept to the end: it holds the lock, without which others take the file for one that was left behind.
    let mut to = Append::empty(file);
    let written = complete(&mut to, write, told).and_then(|()| {
        // Asked again: a long run lies between.
        check(files, path, kind)?;
        files.rename(&beside, path).map_err(told)
    });
    if written.is_err() {
        // The error that counts is the first.
        let _ = files.remove(&beside);
    }
    written
}

/// Makes a file where nothing is. It appears there when `write` has written it and it is on the disk, and comes back
/// locked. After an error nothing is left.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if something is there; what `write` gives; what the disk gives.
pub fn make_new(
    files: &dyn Files,
    path: &Path,
    access: Access,
    write: impl FnOnce(&dyn File) -> io::Result<()>,
) -> io::Result<Box<dyn File>> {
    let (beside, file) = unfinished(files, path, access)?;
    let made = write(&*file).and_then(|()| file.sync()).and_then(|()| files.rename_new(&beside, path));
    if made.is_err() {
        // The error that counts is the first.
        let _ = files.remove(&beside);
    }
    made.map(|()| file)
}

/// Writes all bytes and waits until they are on the disk: a full one may say so late.
fn complete<E>(
    to: &mut Append,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    told: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let mut buffer = BufWriter::with_capacity(CHUNK, &mut *to);
    if let Err(error) = write(&mut buffer) {
        // What is not written yet need not be.
        let _ = buffer.into_parts();
        return Err(error);
    }
    buffer.into_inner().map_err(|failed| told(failed.into_error()))?;
    to.file().sync().map_err(told)
}

/// Finds out whether a file may be written to a path: nothing is there, or a regular file of its kind. To be asked
/// before a long run; [`replace`] asks by itself.
///
/// # Errors
/// If something else is there, in words; if it cannot be found out.
pub fn check(files: &dyn Files, path: &Path, kind: Kind) -> Result<(), FileError> {
    let told = |error| FileError::new(path, error);
    let refused = |what: &str| Err(told(io::Error::new(io::ErrorKind::AlreadyExists, format!("{what}: not replaced"))));
    if path.file_name().is_none() {
        return Err(told(io::Error::new(io::ErrorKind::InvalidInput, "is no name of a file")));
    }
    let Some(found) = files.about(path).map_err(told)? else { return Ok(()) };
    match found.sort {
        Sort::Symlink => return refused("is a symbolic link"),
        Sort::Directory => return refused("is a directory"),
        Sort::Socket | Sort::Other => return refused("is no ordinary file"),
        Sort::Regular => {}
    }
    let head = head(files, path).map_err(told)?;
    if head.is_empty() || (kind.begins)(&head) { Ok(()) } else { refused(&format!("is no {}", kind.name)) }
}

/// How a file begins.
fn head(files: &dyn Files, path: &Path) -> io::Result<Vec<u8>> {
    let file = files.open(path, false)?;
    let len = file.about()?.len.min(HEAD as u64);
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// A new, locked file beside a path. What was left there by processes that died is removed.
fn unfinished(files: &dyn Files, path: &Path, access: Access) -> io::Result<(PathBuf, Box<dyn File>)> {
    let mut made = None;
    for number in 0..MOST {
        let beside = beside(path, number);
        match files.about(&beside)? {
            Some(found) if found.sort != Sort::Regular || !removed(files, &beside) => continue,
            _ if made.is_none() => made = created(files, &beside, access)?.map(|file| (beside, file)),
            _ => {}
        }
        if made.is_some() && number + 1 >= TIDIED {
            break;
        }
    }
    made.ok_or_else(|| io::Error::new(io::ErrorKind::AlreadyExists, "too many unfinished files beside it"))
}

/// Makes and locks a file; `None` if another process was faster.
fn created(files: &dyn Files, beside: &Path, access: Access) -> io::Result<Option<Box<dyn File>>> {
    let file = match files.create_new(beside, access) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    };
    // On a file system without locks nobody takes a file for one that was left behind.
    if !file.try_lock().unwrap_or(true) {
        return Ok(None);
    }
    // Before it was locked it looked left behind, and another process may have removed it.
    Ok(is_named(files, beside, &*file).then_some(file))
}

/// Removes an unfinished file if the process that wrote it has died. False if it has not, or that is not known.
fn removed(files: &dyn Files, beside: &Path) -> bool {
    let Ok(file) = files.open(beside, true) else { return false };
    let Ok(true) = file.try_lock() else { return false };
    // The name may have passed to a new file since this one was opened.
    is_named(files, beside, &*file) && files.remove(beside).is_ok()
}

/// Whether a name is still that of an open file.
fn is_named(files: &dyn Files, path: &Path, file: &dyn File) -> bool {
    let (Ok(Some(named)), Ok(own)) = (files.about(path), file.about()) else { return false };
    named.identity == own.identity
}

/// The name of an unfinished file. The ending stays: some writers go by it.
fn beside(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let mut bytes = UNFINISHED.to_vec();
    bytes.extend_from_slice(format!("{number}-").as_bytes());
    bytes.extend_from_slice(&name[name.len().saturating_sub(NAME_BYTES)..]);
    path.with_file_name(OsString::from_vec(bytes))
}

/// Whether a name is that of an unfinished file, which is no result.
pub fn is_unfinished(name: &OsStr) -> bool {
    name.as_bytes().starts_with(UNFINISHED)
}
