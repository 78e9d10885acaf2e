//! The files of a trace: found, read, unpacked.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use super::TraceError;

/// Largest unpacked file: a bound on what a damaged or malicious compressed file can do.
const MAX_FILE_BYTES: u64 = 1 << 32;

/// Most memory that unpacking takes: `xz -9` needs 65 MiB.
const XZ_MEMORY_BYTES: u64 = 1 << 28;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
const PACKED_ENDINGS: [&str; 2] = [".gz", ".xz"];

/// The contents of one file of a trace, plain or compressed by gzip or xz.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Name for messages.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
}

impl TraceFile {
    /// Unpacks the contents, if they are compressed.
    pub(crate) fn unpack(&mut self) -> Result<(), TraceError> {
        let packed = self.bytes.as_slice();
        let (method, unpacked) = if packed.starts_with(GZIP_MAGIC) {
            ("gzip", unpacked(MultiGzDecoder::new(packed)))
        } else if packed.starts_with(XZ_MAGIC) {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES, CONCATENATED);
            let decoder = stream.map(|stream| XzDecoder::new_stream(packed, stream));
            ("xz", decoder.map_err(|e| e.to_string()).and_then(unpacked))
        } else {
            return Ok(());
        };
        self.bytes = unpacked.map_err(|reason| TraceError::Compressed { file: self.name.clone(), method, reason })?;
        Ok(())
    }
}

fn unpacked(decoder: impl Read) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    decoder.take(MAX_FILE_BYTES + 1).read_to_end(&mut plain).map_err(|e| e.to_string())?;
    if plain.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("unpacks to more than {MAX_FILE_BYTES} bytes"));
    }
    Ok(plain)
}

/// Reads the per-CPU files of a directory, in the order of the CPUs, or a single file.
pub(crate) fn load(path: &Path) -> Result<Vec<TraceFile>, TraceError> {
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
    let load =
        |path: PathBuf| Ok(TraceFile { name: path.display().to_string(), bytes: fs::read(&path).map_err(io(&path))? });
    paths.into_iter().map(load).collect()
}

/// CPU number and name without the ending of compressed files, if this is the name of a per-CPU file.
fn cpu_of(name: &str) -> Option<(u32, &str)> {
    let plain = PACKED_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
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
