//! The files of a server: all of them are looked at before any is opened for writing, so that what is refused destroys
//! nothing.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use attach::{ArrivalLog, Engine, Hole};
use files::{Access, Append, FileError, Files, Kind, Sort};

/// Where the files of a server are to lie.
#[derive(Clone, Default, Debug)]
pub struct Places {
    /// Data of its only device.
    pub store: Option<PathBuf>,
    /// Log of arrivals of its only device.
    pub log: Option<PathBuf>,
    /// The log may take the place of an older one.
    pub overwrite: bool,
    /// Sockets: of the exports, and for control.
    pub sockets: Vec<PathBuf>,
    /// A promise to be broken.
    pub sabotage: Option<Hole>,
}

/// Stores of data, also of other versions.
const STORE: Kind = Kind::new("store of ufsim", |head| head.starts_with(b"ufsim store v")).private();
/// Logs of arrivals.
const LOG: Kind = Kind::new("log of arrivals", ArrivalLog::begins).private();

impl Places {
    /// Looks at all places, and changes nothing.
    ///
    /// # Errors
    /// The first one that cannot be used, and why.
    pub fn check(&self, files: &dyn Files) -> Result<(), FileError> {
        if self.sabotage == Some(Hole::DestroyedFiles) {
            return Ok(());
        }
        let refused =
            |path: &Path, what: &str| Err(FileError::new(path, io::Error::new(ErrorKind::AlreadyExists, what)));
        if let Some(store) = &self.store {
            files::check(files, store, STORE)?;
        }
        if let Some(log) = &self.log {
            files::check(files, log, LOG)?;
            let found = files.about(log).map_err(|error| FileError::new(log, error))?;
            if !self.overwrite && found.is_some_and(|found| found.len > 0) {
                return refused(log, "there is a log already; --overwrite replaces it");
            }
        }
        for socket in &self.sockets {
            let found = files.about(socket).map_err(|error| FileError::new(socket, error))?;
            if found.is_some_and(|found| found.sort != Sort::Socket) {
                return refused(socket, "there is something that is no socket; it is not replaced");
            }
        }
        self.check_apart(files)
    }

    /// No two of them are the same file, whatever they are called.
    fn check_apart(&self, files: &dyn Files) -> Result<(), FileError> {
        let mut seen: Vec<(&Path, Place)> = Vec::new();
        for path in self.store.iter().chain(&self.log).chain(&self.sockets) {
            let place = place(files, path).map_err(|error| FileError::new(path, error))?;
            if let Some((other, _)) = seen.iter().find(|(_, other)| *other == place) {
                let what = format!("is the same file as {}", other.display());
                return Err(FileError::new(path, io::Error::new(ErrorKind::InvalidInput, what)));
            }
            seen.push((path, place));
        }
        Ok(())
    }

    /// Begins the log of a device, if one is wanted.
    ///
    /// # Errors
    /// If the device is not new, or the file cannot be written.
    pub fn begin_log(&self, files: &dyn Files, engine: &mut Engine) -> Result<(), FileError> {
        let Some(path) = &self.log else { return Ok(()) };
        let told = |error| FileError::new(path, error);
        // Before the file is touched.
        let can_log = if self.sabotage == Some(Hole::DestroyedFiles) { Ok(()) } else { engine.can_log() };
        can_log.map_err(|what| told(io::Error::new(ErrorKind::InvalidInput, what)))?;
        let open = self.sabotage == Some(Hole::OpenFiles);
        let access = if open { Access::Shared } else { Access::Private };
        let file = match files.create_new(path, access) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => files.open(path, true),
            made => made,
        };
        let file = file.map_err(told)?;
        if !file.try_lock().map_err(told)? {
            return Err(told(io::Error::new(ErrorKind::AlreadyExists, "is in use by another process")));
        }
        // It may have come since it was looked at.
        self.check(files)?;
        file.set_len(0).map_err(told)?;
        let to: Box<dyn Write + Send> = Box::new(BufWriter::new(Append::empty(file)));
        engine.log_arrivals(ArrivalLog::new(to).map_err(told)?);
        Ok(())
    }
}

/// What makes a file the same as another one.
#[derive(PartialEq, Eq)]
enum Place {
    /// It is there.
    Found((u64, u64)),
    /// It is not there: its folder, and its name.
    Missing(Option<(u64, u64)>, PathBuf),
}

fn place(files: &dyn Files, path: &Path) -> io::Result<Place> {
    if let Some(found) = files.about(path)? {
        return Ok(Place::Found(found.identity));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = files.about(folder)?.map(|found| found.identity);
    Ok(Place::Missing(folder, path.file_name().map(PathBuf::from).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::Simulated;

    /// A path, the bytes that are there, and what is said about a server that wants it.
    #[test]
    fn what_cannot_be_used_is_refused_and_stays() {
        let disk = Simulated::new();
        disk.make_directory("/d");
        let put = |path: &str, bytes: &[u8]| disk.put(path, bytes);
        put("/d/store", b"ufsim store v2\n\0");
        put("/d/log", b"time_ns,op,device,sector,bytes,flags,latency_ns,process\n5,read,live,0,4096,,,\n");
        put("/d/notes", b"Dear diary");
        disk.plant("/d/link", Sort::Symlink);
        let refusal = |store: &str, log: &str, sockets: [&str; 2], overwrite: bool| {
            let path = |name: &str| (!name.is_empty()).then(|| Path::new("/d").join(name));
            let sockets = sockets.into_iter().filter_map(path).collect();
            let places = Places { store: path(store), log: path(log), overwrite, sockets, sabotage: None };
            places.check(&disk).err().map(|error| error.to_string())
        };
        assert_eq!(refusal("store", "new", ["s", "c"], false), None);
        assert_eq!(refusal("", "log", ["s", ""], true), None);
        for ((store, log, sockets, overwrite), told) in [
            (("store", "log", ["s", "c"], false), "/d/log: there is a log already"),
            (("store", "store", ["s", "c"], true), "/d/store: is no log of arrivals"),
            (("new", "new", ["s", "c"], false), "/d/new: is the same file as /d/new"),
            (("new", "", ["s", "s"], false), "/d/s: is the same file as /d/s"),
            (("notes", "", ["s", ""], false), "/d/notes: is no store of ufsim"),
            (("log", "", ["s", ""], false), "/d/log: is no store of ufsim"),
            (("", "notes", ["s", ""], true), "/d/notes: is no log of arrivals"),
            (("", "link", ["s", ""], true), "/d/link: is a symbolic link"),
            (("", "", ["store", ""], false), "/d/store: there is something that is no socket"),
        ] {
            let error = refusal(store, log, sockets, overwrite).unwrap_or_default();
            assert!(error.starts_with(told), "{error:?} is not {told:?}");
        }
        assert_eq!(disk.changes(), 0, "nothing is changed by looking");
    }
}
