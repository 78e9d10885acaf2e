//! Block traces: reading files, putting records in order, checking them, and what a trace is then.

mod clean;
mod completions;
mod data;
mod error;
mod file;
pub(crate) mod files;
mod fold;
mod intake;
mod join;
mod normalise;
mod pace;
mod recorded;
mod records;
mod report;
mod stats;
mod write;

use std::path::Path;

use units::{Nanos, SimTime};

pub use clean::{CleanRule, Cleaned};
pub(crate) use completions::{Outstanding, Place};
pub use data::{Trace, TraceDevice, TraceOptions};
pub use error::TraceError;
pub use file::TraceFile;
pub use join::{JoinAddresses, JoinPart, JoinRule};
pub use recorded::Recorded;
pub(crate) use records::{Records, TraceRecord};
pub use report::{Folded, TraceReport};
pub use stats::{Lengths, TraceStats};

pub use crate::formats::Format;
use crate::{Footprint, SECTOR_BYTES, WorkOp, WorkRequest};

impl Trace {
    /// Reads a directory of per-CPU blktrace files (`trace.N`, `NAME.blktrace.N`) or a single file of any format, each
    /// plain or compressed by gzip, xz or zstd.
    ///
    /// # Errors
    /// [`TraceError`], naming file and event or line.
    pub fn read(path: &Path, options: &TraceOptions) -> Result<Trace, TraceError> {
        // The names in a directory already say that it is a blktrace, so a damaged file is named as one.
        let format = options.format.or(path.is_dir().then_some(Format::Blktrace));
        let files = files::load(path, format)?;
        let missing = files::missing(&files);
        let mut trace = Trace::parse(&path.display().to_string(), files, &TraceOptions { format, ..options.clone() })?;
        trace.report.missing_files = missing;
        Ok(trace)
    }

    /// Reads a trace from the contents of its files; blktrace's are given in the order of their CPUs.
    ///
    /// # Errors
    /// [`TraceError`], naming file and event or line.
    pub fn parse(name: &str, mut files: Vec<TraceFile>, options: &TraceOptions) -> Result<Trace, TraceError> {
        if files.len() > 1 << 16 {
            return Err(TraceError::TooManyFiles { directory: name.into(), found: files.len() });
        }
        for file in &mut files {
            file.unpack()?;
        }
        let format = match (options.format, files.iter().find(|file| !file.bytes.is_empty())) {
            (Some(format), _) => format,
            (None, Some(file)) => Format::recognise(&file.bytes).ok_or_else(|| {
                let tried: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
                TraceError::UnknownFormat { file: file.name.clone(), tried: tried.join(", ") }
            })?,
            (None, None) => return Err(TraceError::NoRequests { name: name.into(), events: 0, hint: String::new() }),
        };
        let mut records = format.read(&files)?;
        for file in files.iter().filter(|file| file.cut) {
            let told = "its compressed data end too early: what could be unpacked of it is read";
            records.report.hints.push(format!("{}: {told}", file.name));
        }
        normalise::trace(name, format, files.into_iter().map(|file| file.name).collect(), records, options)
    }

    /// Writes the trace in a format that can be written, to a file that appears when it is complete. Returns what the
    /// format has no room for, with counts.
    ///
    /// # Errors
    /// [`TraceError::Io`]; [`TraceError::BadFormat`] if the format can only be read; [`TraceError::NoRequests`] if
    /// nothing would be left.
    pub fn write(&self, format: Format, path: &Path) -> Result<Vec<String>, TraceError> {
        self.write_to(&::files::Real, format, path)
    }

    /// What [`Trace::write`] may replace.
    pub const KIND: ::files::Kind = write::KIND;

    /// The same on a disk of one's choice.
    ///
    /// # Errors
    /// See [`Trace::write`].
    pub fn write_to(&self, disk: &dyn ::files::Files, format: Format, path: &Path) -> Result<Vec<String>, TraceError> {
        write::save(self, format, disk, path)
    }

    /// Writes the trace to memory.
    ///
    /// # Errors
    /// [`TraceError::BadFormat`], [`TraceError::NoRequests`].
    pub fn to_bytes(&self, format: Format) -> Result<Vec<u8>, TraceError> {
        write::bytes(self, format)
    }

    /// Numbers for people: mix, lengths, footprint, burstiness and sequentiality.
    pub fn stats(&self) -> TraceStats {
        TraceStats::of(self)
    }

    /// Number of the device of a request, and its first sector there. A flush belongs to the first device.
    pub(crate) fn on_device(&self, request: &WorkRequest) -> (usize, u64) {
        let number = self.devices.partition_point(|d| d.first_sector <= request.sector).saturating_sub(1);
        (number, request.sector - self.devices.get(number).map_or(0, |device| device.first_sector))
    }

    /// Time from the first request to the last.
    pub fn duration(&self) -> Nanos {
        self.requests.last().map_or(Nanos::ZERO, |r| r.arrival.since(SimTime::START))
    }

    /// The smallest device that holds the trace, in units of 4 KiB.
    pub fn end_units(&self) -> u64 {
        self.requests.iter().map(WorkRequest::end_unit).max().unwrap_or(0)
    }

    /// Checks that every request lies on a device of `capacity_units` units of 4 KiB.
    ///
    /// # Errors
    /// [`TraceError::BeyondDevice`] naming the first request that does not.
    pub fn check_capacity(&self, capacity_units: u32) -> Result<(), TraceError> {
        let beyond = |r: &&WorkRequest| r.end_unit() > u64::from(capacity_units);
        match self.requests.iter().find(beyond) {
            None => Ok(()),
            Some(r) => Err(TraceError::BeyondDevice {
                file: self.file_name(r),
                place: self.format.place(r.line),
                sector: r.sector,
                bytes: r.bytes,
                capacity_units,
                capacity_sectors: u64::from(capacity_units) * (units::UNIT_BYTES / SECTOR_BYTES),
            }),
        }
    }

    /// The units that a replay of the trace reads, those of which a write covers only a part among them.
    pub fn read_footprint(&self) -> Footprint {
        let reads = self.requests.iter().filter(|r| r.op == WorkOp::Read).map(WorkRequest::units);
        let merged = self.requests.iter().flat_map(|r| r.partly_written().into_iter().flatten());
        Footprint::from_ranges(reads.chain(merged))
    }

    /// The units that the trace reads, writes or trims.
    pub fn touched_footprint(&self) -> Footprint {
        Footprint::from_ranges(self.requests.iter().map(WorkRequest::units))
    }

    pub(super) fn file_name(&self, request: &WorkRequest) -> String {
        self.files.get(usize::from(request.stream.0)).unwrap_or(&self.name).clone()
    }
}

#[cfg(test)]
mod tests;
