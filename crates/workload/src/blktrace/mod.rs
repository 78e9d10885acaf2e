//! Reader of binary blktrace files.
//!
//! # Glossary
//! - **event**: one `struct blk_io_trace` of 48 bytes and its payload (Linux `include/uapi/linux/blktrace_api.h`,
//!   version 7), in the byte order of the traced machine.
//! - **queue event** (Q): a bio enters the block layer; these become requests.
//! - **complete event** (C): a request has finished; Q and C of one request give its phone latency.
//! - **note**: an event about something else; process notes give the name of a process id.
//!
//! The tracer writes one file per CPU. They are merged by time; ties keep the order of files, then of events.

mod merge;
mod record;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::{DeviceId, Trace, TraceError};

/// Largest unpacked file: a bound on what a damaged or malicious gzip file can do.
const MAX_FILE_BYTES: u64 = 1 << 32;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How to read a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlktraceOptions {
    /// The device whose requests to keep. Needed only if the trace has requests of several.
    pub device: Option<DeviceId>,
}

/// The contents of one per-CPU file, plain or gzip.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Name for messages.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// Reads a directory of per-CPU files (`trace.N`, `NAME.blktrace.N`, each optionally with `.gz`) or a single file.
///
/// # Errors
/// [`TraceError`], naming file, event and byte offset.
pub fn read(path: &Path, options: &BlktraceOptions) -> Result<Trace, TraceError> {
    let io = |path: &Path| {
        let file = path.display().to_string();
        move |source| TraceError::Io { file, source }
    };
    let paths = if fs::metadata(path).map_err(io(path))?.is_dir() {
        let entries = fs::read_dir(path).map_err(io(path))?;
        let paths = entries.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(io(path))?;
        per_cpu_files(path, paths)?
    } else {
        vec![path.to_path_buf()]
    };
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        files.push(TraceFile { name: path.display().to_string(), bytes: fs::read(&path).map_err(io(&path))? });
    }
    parse(&path.display().to_string(), files, options)
}

/// Reads a trace from the contents of its files, given in the order of their CPUs.
///
/// # Errors
/// [`TraceError`], naming file, event and byte offset.
pub fn parse(name: &str, files: Vec<TraceFile>, options: &BlktraceOptions) -> Result<Trace, TraceError> {
    if files.len() > 1 << 16 {
        return Err(TraceError::TooManyFiles { directory: name.into(), found: files.len() });
    }
    let mut events = record::Events::default();
    let mut names = Vec::with_capacity(files.len());
    for (number, file) in files.into_iter().enumerate() {
        let bytes = unpacked(&file.name, file.bytes)?;
        record::read_file(&file.name, number as u16, &bytes, &mut events)?;
        names.push(file.name);
    }
    merge::trace(name, names, events, options.device)
}

fn unpacked(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, TraceError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(bytes);
    }
    let damaged = |reason: String| TraceError::Compressed { file: name.into(), reason };
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes.as_slice()).take(MAX_FILE_BYTES + 1);
    decoder.read_to_end(&mut plain).map_err(|e| damaged(e.to_string()))?;
    if plain.len() as u64 > MAX_FILE_BYTES {
        return Err(damaged(format!("unpacks to more than {MAX_FILE_BYTES} bytes")));
    }
    Ok(plain)
}

/// CPU number and name without `.gz`, if this is the name of a per-CPU file.
fn cpu_of(name: &str) -> Option<(u32, &str)> {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let (base, cpu) = plain.rsplit_once('.')?;
    let fits = base == "trace" || base == "blktrace" || base.ends_with(".blktrace");
    let digits = !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit());
    (fits && digits).then(|| cpu.parse().ok())?.map(|cpu| (cpu, plain))
}

fn per_cpu_files(directory: &Path, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, TraceError> {
    let mut found = Vec::new();
    for path in paths {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if let Some((cpu, plain)) = cpu_of(name) {
            found.push((cpu, plain.to_owned(), path));
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(TraceError::NoFiles { directory: directory.display().to_string() });
    }
    if let Some(pair) = found.windows(2).find(|w| w[0].1 == w[1].1) {
        return Err(TraceError::Duplicate { file: pair[0].2.display().to_string() });
    }
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}

#[cfg(test)]
mod tests;
