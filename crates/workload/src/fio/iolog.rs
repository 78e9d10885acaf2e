//! The I/O logs that jobs replay (`read_iolog`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use units::{Lpa, Nanos, UNIT_BYTES};

use super::around::Surroundings;
use super::job::Region;
use crate::rng::fnv;
use crate::{SECTOR_BYTES, WorkOp, formats};

/// Longest access: what an outstanding request can be remembered with.
const MOST_BYTES: u64 = 1 << 30;

/// One access of a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub op: WorkOp,
    /// Index into [`Log::files`].
    pub file: u32,
    pub offset: u64,
    pub bytes: u64,
    /// When, from the beginning of the log.
    pub at: Nanos,
}

/// A file of a log.
#[derive(Clone, Debug)]
pub(super) struct LoggedFile {
    pub name: String,
    /// Where the last access to it ends.
    pub bytes: u64,
}

/// A log that has been read.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub files: Vec<LoggedFile>,
    /// In the order of the log.
    pub accesses: Vec<Access>,
    /// Of the log's bytes, so that one can tell it from others.
    pub digest: u64,
}

impl Log {
    fn read(path: &Path, around: &dyn Surroundings) -> Result<Log, String> {
        let mut file = around.log(path).map_err(|error| error.to_string())?;
        file.unpack().map_err(|error| error.to_string())?;
        let records = formats::iolog::records(&file).map_err(|error| error.to_string())?;
        let mut log = Log { files: Vec::new(), accesses: Vec::new(), digest: fnv(&file.bytes) };
        let mut numbers = BTreeMap::new();
        for record in &records.list {
            let r = &record.request;
            if r.bytes > MOST_BYTES {
                let (name, line) = (&file.name, r.line);
                return Err(format!("{name}: line {line}: {} bytes in one access; allowed are 1073741824", r.bytes));
            }
            let number = *numbers.entry(record.device).or_insert_with(|| {
                log.files.push(LoggedFile { name: records.devices.name(record.device).to_owned(), bytes: 0 });
                log.files.len() - 1
            });
            let offset = r.sector.saturating_mul(SECTOR_BYTES);
            let known = &mut log.files[number].bytes;
            *known = offset.saturating_add(r.bytes).max(*known);
            let at = Nanos(r.arrival.0);
            log.accesses.push(Access { op: r.op, file: number as u32, offset, bytes: r.bytes, at });
        }
        if log.files.iter().all(|file| file.bytes == 0) {
            return Err(format!("{}: has no accesses", file.name));
        }
        Ok(log)
    }

    /// Bytes of all accesses.
    pub(super) fn bytes(&self) -> u64 {
        self.accesses.iter().map(|access| access.bytes).sum()
    }

    /// The units of the accesses that are `wanted`, its files lying in these regions.
    pub(super) fn units(&self, files: &[Region], wanted: impl Fn(WorkOp) -> bool) -> Vec<(Lpa, u32)> {
        let data = self.accesses.iter().filter(|access| access.op != WorkOp::Flush && wanted(access.op));
        data.map(|access| Region { begin: files[access.file as usize].begin + access.offset, bytes: access.bytes })
            .map(Region::units)
            .collect()
    }
}

impl Region {
    /// The units that it touches.
    pub(super) fn units(self) -> (Lpa, u32) {
        let (first, end) = (self.begin / UNIT_BYTES, (self.begin + self.bytes).div_ceil(UNIT_BYTES));
        (Lpa(first as u32), (end - first) as u32)
    }
}

/// Logs by path, each read once.
pub(super) struct Logs<'a> {
    around: &'a dyn Surroundings,
    by_path: BTreeMap<PathBuf, Arc<Log>>,
}

impl<'a> Logs<'a> {
    pub(super) fn new(around: &'a dyn Surroundings) -> Logs<'a> {
        Logs { around, by_path: BTreeMap::new() }
    }

    /// The log of a path, or why there is none.
    pub(super) fn read(&mut self, path: &Path) -> Result<Arc<Log>, String> {
        if let Some(log) = self.by_path.get(path) {
            return Ok(log.clone());
        }
        let log = Arc::new(Log::read(path, self.around)?);
        self.by_path.insert(path.to_owned(), log.clone());
        Ok(log)
    }

    /// Every log that was read, by the name of its file: where that lies, does not matter.
    pub(super) fn all(self) -> impl Iterator<Item = (String, Arc<Log>)> {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.by_path.into_iter().map(move |(path, log)| (name(&path), log))
    }
}
