//! A block trace in memory, and what can be wrong with one.

use std::fmt;

use units::{Nanos, SimTime};

use crate::{Footprint, SECTOR_BYTES, WorkOp, WorkRequest};

/// A block device by number, as the traced kernel knew it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DeviceId {
    /// Major number, below 2^12.
    pub major: u32,
    /// Minor number, below 2^20.
    pub minor: u32,
}

impl DeviceId {
    /// From the kernel's `dev_t`: 12 bits of major above 20 bits of minor number.
    pub fn from_dev_t(device: u32) -> DeviceId {
        DeviceId { major: device >> 20, minor: device & 0xf_ffff }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A block trace: requests in order of arrival.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Where it was read from, for messages.
    pub name: String,
    /// Sorted by arrival; ties in the order of files, then of events. The first arrives at time 0.
    pub requests: Vec<WorkRequest>,
    /// Process names, indexed by [`crate::ProcessId`].
    pub processes: Vec<String>,
    /// File names, indexed by [`crate::StreamId`].
    pub files: Vec<String>,
    /// What was read and what was ignored.
    pub report: TraceReport,
}

impl Trace {
    /// Time from the first request to the last.
    pub fn duration(&self) -> Nanos {
        self.requests.last().map_or(Nanos::ZERO, |r| r.arrival.since(SimTime::START))
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
                event: r.line,
                sector: r.sector,
                bytes: r.bytes,
                capacity_units,
                capacity_sectors: u64::from(capacity_units) * (units::UNIT_BYTES / SECTOR_BYTES),
            }),
        }
    }

    /// The units that the trace reads.
    pub fn read_footprint(&self) -> Footprint {
        self.footprint_of(|r| r.op == WorkOp::Read)
    }

    /// The units that the trace reads, writes or trims.
    pub fn touched_footprint(&self) -> Footprint {
        self.footprint_of(|_| true)
    }

    fn footprint_of(&self, wanted: impl Fn(&WorkRequest) -> bool) -> Footprint {
        Footprint::from_ranges(self.requests.iter().filter(|r| wanted(r)).map(WorkRequest::units))
    }

    fn file_name(&self, request: &WorkRequest) -> String {
        self.files.get(usize::from(request.stream.0)).unwrap_or(&self.name).clone()
    }
}

/// Counts of what a trace reader met. Events are records of the file; requests are what became of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceReport {
    /// Files read.
    pub files: u64,
    /// Records in all files.
    pub events: u64,
    /// Queue events of the chosen device.
    pub queue_events: u64,
    /// Complete events of the chosen device.
    pub complete_events: u64,
    /// Notes that name a process.
    pub process_notes: u64,
    /// Other notes (time stamps, messages): ignored.
    pub other_notes: u64,
    /// Events of other kinds (issue, merge, plug, ...): ignored.
    pub ignored_events: u64,
    /// Queue and complete events of other devices: ignored.
    pub other_device_events: u64,
    /// Queue events that are no block requests (pass-through commands, or empty ones that flush nothing): ignored.
    pub ignored_queue_events: u64,
    /// Requests in the trace.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Flushes without data among them.
    pub flushes: u64,
    /// Trims among them.
    pub trims: u64,
    /// Bytes of the reads.
    pub read_bytes: u64,
    /// Bytes of the writes.
    pub write_bytes: u64,
    /// Bytes of the trims.
    pub trim_bytes: u64,
    /// Requests with force unit access.
    pub fua: u64,
    /// Requests with data that ask for a flush before.
    pub preflushes: u64,
    /// Requests that do not begin and end on 4 KiB borders: they are widened.
    pub unaligned: u64,
    /// Events missing by sequence number: the tracer dropped them.
    pub sequence_gaps: u64,
    /// Requests without a completion: they have no phone latency.
    pub unmatched_requests: u64,
    /// Completions without a request, begun before the trace or dropped by the tracer.
    pub unmatched_completions: u64,
    /// From the first request to the last.
    pub duration: Nanos,
    /// The device whose requests these are.
    pub device: DeviceId,
}

impl TraceReport {
    /// Adds one request to the counts.
    pub(crate) fn count(&mut self, r: &WorkRequest) {
        self.requests += 1;
        match r.op {
            WorkOp::Read => (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + r.bytes),
            WorkOp::Write => (self.writes, self.write_bytes) = (self.writes + 1, self.write_bytes + r.bytes),
            WorkOp::Trim => (self.trims, self.trim_bytes) = (self.trims + 1, self.trim_bytes + r.bytes),
            WorkOp::Flush => self.flushes += 1,
        }
        self.fua += u64::from(r.flags.fua);
        self.preflushes += u64::from(r.flags.preflush);
        self.unaligned += u64::from(!r.is_aligned());
    }
}

/// Why a trace cannot be read or replayed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system's answer to opening or reading a file.
    #[error("{file}: {source}")]
    Io {
        /// The file or directory.
        file: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A directory without trace files.
    #[error("{directory}: no trace files; expected names like trace.0 or sda.blktrace.0, optionally with .gz")]
    NoFiles {
        /// The directory.
        directory: String,
    },
    /// The same CPU's file twice, plain and compressed.
    #[error("{file}: is there a second time in compressed form; remove one of the two")]
    Duplicate {
        /// The file.
        file: String,
    },
    /// More per-CPU files than streams can be numbered.
    #[error("{directory}: {found} trace files; allowed are at most 65536")]
    TooManyFiles {
        /// The directory.
        directory: String,
        /// Number of files found.
        found: usize,
    },
    /// A gzip file that does not unpack.
    #[error("{file}: damaged gzip data: {reason}")]
    Compressed {
        /// The file.
        file: String,
        /// The decoder's message.
        reason: String,
    },
    /// The file ends inside an event.
    #[error("{file}: event {event} at byte offset {offset} is cut off: it needs {needed} bytes, the file has {found}")]
    Truncated {
        /// The file.
        file: String,
        /// Event number, from 1.
        event: u64,
        /// Where the event begins (after decompression).
        offset: u64,
        /// Bytes that the event needs.
        needed: u64,
        /// Bytes left.
        found: u64,
    },
    /// No blktrace event where one has to begin.
    #[error(
        "{file}: event {event} at byte offset {offset} begins with {found:#010x}, not with the blktrace magic 0x65617407"
    )]
    BadMagic {
        /// The file.
        file: String,
        /// Event number, from 1.
        event: u64,
        /// Where the event begins (after decompression).
        offset: u64,
        /// The four bytes found there, in the file's byte order.
        found: u32,
    },
    /// A blktrace of another version.
    #[error("{file}: event {event} at byte offset {offset} has blktrace version {found}; allowed is 7")]
    BadVersion {
        /// The file.
        file: String,
        /// Event number, from 1.
        event: u64,
        /// Where the event begins (after decompression).
        offset: u64,
        /// The version found.
        found: u8,
    },
    /// Requests of several devices and no choice made.
    #[error("{name}: requests of several devices ({devices}); choose one with `device`")]
    SeveralDevices {
        /// The trace.
        name: String,
        /// The devices, as major:minor.
        devices: String,
    },
    /// No request of the chosen device.
    #[error("{name}: no requests of device {wanted}; the trace has requests of: {devices}")]
    UnknownDevice {
        /// The trace.
        name: String,
        /// The chosen device.
        wanted: DeviceId,
        /// The devices there are, as major:minor.
        devices: String,
    },
    /// A trace without requests.
    #[error("{name}: no requests among {events} events")]
    NoRequests {
        /// The trace.
        name: String,
        /// Events read.
        events: u64,
    },
    /// A request that no device of this model can have: its address needs more than 32 bits of units.
    #[error("{file}: event {event}: sector {sector} with {bytes} bytes ends beyond 16 TiB, the most that is modelled")]
    BeyondModel {
        /// The file.
        file: String,
        /// Event number, from 1.
        event: u64,
        /// First sector.
        sector: u64,
        /// Length.
        bytes: u64,
    },
    /// A request so long after the first that the clock of a run could not count up to it: a damaged time.
    #[error(
        "{file}: event {event}: its time is {after_ns} ns after the first request; allowed are at most {most_ns} ns"
    )]
    TooLate {
        /// The file.
        file: String,
        /// Event number, from 1.
        event: u64,
        /// Time since the first request.
        after_ns: u64,
        /// The longest trace.
        most_ns: u64,
    },
    /// A request beyond the end of the device.
    #[error(
        "{file}: event {event}: sector {sector} with {bytes} bytes ends beyond the device of {capacity_sectors} sectors \
         ({capacity_units} units of 4 KiB)"
    )]
    BeyondDevice {
        /// The file.
        file: String,
        /// Event number, from 1.
        event: u64,
        /// First sector.
        sector: u64,
        /// Length.
        bytes: u64,
        /// The device's capacity in 4 KiB units.
        capacity_units: u32,
        /// The device's capacity in 512 B sectors.
        capacity_sectors: u64,
    },
    /// A queue depth outside of the allowed range.
    #[error("depth: {value} is not allowed; allowed are 1 to 65536")]
    BadDepth {
        /// The value given.
        value: u32,
    },
}
