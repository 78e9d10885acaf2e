//! The files of a trace: found, read, unpacked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::intake::{self, Expected};
use super::{Format, TraceError, TraceFile};

/// Missing files that are named.
const MOST_NAMED: usize = 8;

const PACKED_ENDINGS: [&str; 3] = [".gz", ".xz", ".zst"];

/// Reads the per-CPU files of a directory, in the order of the CPUs, or a single file. `format` is what they must have,
/// if that is known.
pub(crate) fn load(path: &Path, format: Option<Format>) -> Result<Vec<TraceFile>, TraceError> {
    let io = |source| TraceError::Io { file: path.display().to_string(), source };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        return load_one(path, format).map(|file| vec![file]);
    }
    let entries = fs::read_dir(path).map_err(io)?;
    let paths = entries.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(io)?;
    per_cpu_files(path, paths)?.iter().map(|path| load_one(path, format)).collect()
}

/// Reads one file.
pub(crate) fn load_one(path: &Path, format: Option<Format>) -> Result<TraceFile, TraceError> {
    let name = path.display().to_string();
    match fs::File::open(path).and_then(|file| Ok((file.metadata()?.len(), file))) {
        Ok((bytes, file)) => intake::take_in(&name, file, Expected { format, recognised: true, bytes }),
        Err(source) => Err(TraceError::Io { file: name, source }),
    }
}

/// Names of files that are not among the per-CPU files, but should be by their numbers: a tracer writes one for each
/// CPU from 0 on.
pub(super) fn missing(files: &[TraceFile]) -> Vec<String> {
    let mut by_base: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for file in files {
        let name = file.name.rsplit(std::path::MAIN_SEPARATOR).next().unwrap_or_default();
        if let Some((cpu, plain)) = cpu_of(name) {
            let base = plain.rsplit_once('.').map_or(plain, |(base, _)| base);
            by_base.entry(base).or_default().insert(cpu);
        }
    }
    let gaps = by_base.iter().filter(|_| files.len() > 1).flat_map(|(base, cpus)| {
        let last = cpus.last().copied().unwrap_or_default();
        (0..last).filter(|cpu| !cpus.contains(cpu)).map(move |cpu| format!("{base}.{cpu}"))
    });
    let mut names: Vec<String> = gaps.take(MOST_NAMED + 1).collect();
    if names.len() > MOST_NAMED {
        names[MOST_NAMED] = "and more".into();
    }
    names
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
