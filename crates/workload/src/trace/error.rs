//! Why a trace cannot be read, replayed or written.

impl From<files::FileError> for TraceError {
    fn from(error: files::FileError) -> TraceError {
        TraceError::Io { file: error.path.display().to_string(), source: error.error }
    }
}

/// Why a trace cannot be read, replayed or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system's answer to opening, reading or writing a file.
    #[error("{file}: {source}")]
    Io {
        /// The file or directory.
        file: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A directory without trace files.
    #[error(
        "{directory}: no trace files; expected names like trace.0 or sda.blktrace.0, optionally with .gz, .xz or .zst"
    )]
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
    /// A gzip, xz or zstd file that does not unpack.
    #[error("{file}: damaged {method} data: {reason}")]
    Compressed {
        /// The file.
        file: String,
        /// "gzip", "xz" or "zstd".
        method: &'static str,
        /// The decoder's message.
        reason: String,
    },
    /// A file that is larger than any trace, or has no end.
    #[error("{file}: has more than {most} bytes; read a part of it, or a file with fewer events")]
    TooLarge {
        /// The file.
        file: String,
        /// Most bytes that are read, after decompression.
        most: u64,
    },
    /// A file in which no reader finds a line or event of its own.
    #[error(
        "{file}: no trace format fits its beginning; tried {tried}. With --format NAME the line is named that \
         does not fit"
    )]
    UnknownFormat {
        /// The file.
        file: String,
        /// Names of the formats.
        tried: String,
    },
    /// A name that is no format.
    #[error("format = \"{value}\": must be one of {allowed}")]
    BadFormat {
        /// The name given.
        value: String,
        /// Names of the formats that do.
        allowed: String,
    },
    /// A name that is no cleaning rule.
    #[error("clean = \"{value}\": must be one of {allowed}")]
    BadRule {
        /// The name given.
        value: String,
        /// Names of the rules.
        allowed: String,
    },
    /// A line of a text that is not what its format asks for.
    #[error("{file}: line {line}, column {column}: {problem}")]
    Line {
        /// The file.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Byte of the line, from 1, where the wrong field begins.
        column: u64,
        /// What stands there, and what is allowed.
        problem: String,
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
        "{file}: event {event} at byte offset {offset} begins with {found:#010x}, not with the blktrace magic \
         0x65617407"
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
    /// A packet of a Perfetto recording that is damaged or of a kind that is not read.
    #[error("{file}: packet {packet} at byte offset {offset}: {problem}")]
    Packet {
        /// The file.
        file: String,
        /// Packet number, from 1.
        packet: u64,
        /// Where the packet begins (after decompression of the file).
        offset: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A record of a binary list that is none.
    #[error("{file}: record {record} {problem}")]
    Record {
        /// The file.
        file: String,
        /// Record number, from 1.
        record: u64,
        /// What is wrong.
        problem: String,
    },
    /// Requests of several devices that may stand above each other, and no choice made.
    #[error("{name}: requests of several devices ({devices}); choose one with `device`")]
    SeveralDevices {
        /// The trace.
        name: String,
        /// The devices' names.
        devices: String,
    },
    /// No request of the chosen device.
    #[error("{name}: no requests of device {wanted}; the trace has requests of: {devices}")]
    UnknownDevice {
        /// The trace.
        name: String,
        /// The chosen device.
        wanted: String,
        /// The devices there are.
        devices: String,
    },
    /// A trace without requests.
    #[error("{name}: no requests among {events} events{hint}")]
    NoRequests {
        /// The trace.
        name: String,
        /// Events or lines read.
        events: u64,
        /// What is there, and what its format needs; empty, or with a separator before it.
        hint: String,
    },
    /// A trace that does not tell which app was in the foreground.
    #[error(
        "{name}: no launch of an app; the trace, ftrace text or a recording of Perfetto, needs atrace's category am \
         (markers \"launching: PACKAGE\") or the event oom:oom_score_adj_update"
    )]
    NoLaunches {
        /// The trace.
        name: String,
    },
    /// A request that no device of this model can have: its address needs more than 32 bits of units.
    #[error("{file}: {place}: sector {sector} with {bytes} bytes ends beyond 16 TiB, the most that is modelled")]
    BeyondModel {
        /// The file.
        file: String,
        /// Event or line, with its number.
        place: String,
        /// First sector, in the range of its device.
        sector: u64,
        /// Length.
        bytes: u64,
    },
    /// A request so long after the first that the clock of a run could not count up to it: a damaged time.
    #[error("{file}: {place}: its time is {after_ns} ns after the first request; allowed are at most {most_ns} ns")]
    TooLate {
        /// The file.
        file: String,
        /// Event or line, with its number.
        place: String,
        /// Time since the first request.
        after_ns: u64,
        /// The longest trace.
        most_ns: u64,
    },
    /// A request beyond the end of the device.
    #[error(
        "{file}: {place}: sector {sector} with {bytes} bytes ends beyond the device of {capacity_sectors} sectors \
         ({capacity_units} units of 4 KiB)"
    )]
    BeyondDevice {
        /// The file.
        file: String,
        /// Event or line, with its number.
        place: String,
        /// First sector, in the range of its device.
        sector: u64,
        /// Length.
        bytes: u64,
        /// The device's capacity in 4 KiB units.
        capacity_units: u32,
        /// The device's capacity in 512 B sectors.
        capacity_sectors: u64,
    },
    /// Ranges that are too many to lie side by side on the device.
    #[error(
        "{name}: does not fit even if folded: its requests touch {touched_mib} MiB in ranges of {granule_mib} MiB, the \
         device has {capacity_mib} MiB"
    )]
    FoldTooLarge {
        /// The trace.
        name: String,
        /// Size of the smallest ranges.
        granule_mib: u64,
        /// Their sum.
        touched_mib: u64,
        /// Size of the device.
        capacity_mib: u64,
    },
    /// Traces that cannot be joined.
    #[error("join: {problem}")]
    Join {
        /// Why.
        problem: String,
    },
    /// Too many requests after repetition.
    #[error("repeat: {times} times {requests} requests are too many; at most 268435456 in all")]
    TooLong {
        /// Requests of the trace.
        requests: u64,
        /// How often it was to be replayed.
        times: u32,
    },
    /// A queue depth outside of the allowed range.
    #[error("depth: {value} is not allowed; allowed are 1 to 65536")]
    BadDepth {
        /// The value given.
        value: u32,
    },
}
