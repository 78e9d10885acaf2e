//! What a trace is, and what can be asked of its reader.

use serde::Serialize;

use super::clean::CleanRule;
use super::report::TraceReport;
use crate::formats::Format;
use crate::request::WorkRequest;

/// How to read a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceOptions {
    /// Its format; `None` recognises it by what stands at the beginning.
    pub format: Option<Format>,
    /// Name of the device whose requests to keep, such as 253:5. Needed only if the trace has requests of several that
    /// may stand above each other.
    pub device: Option<String>,
    /// Cleaning rules, applied in this order.
    pub clean: Vec<CleanRule>,
}

/// A device of a trace, and where its requests have been put.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TraceDevice {
    /// Its name: major:minor, host.disk, number of an ASU, or file.
    pub name: String,
    /// Its first sector in the trace; on the device itself that is sector 0.
    pub first_sector: u64,
    /// Sectors up to the highest that is touched, in whole MiB.
    pub sectors: u64,
    /// Its requests.
    pub requests: u64,
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
    /// The format it was read from.
    pub format: Format,
    /// Its devices, ascending by their first sectors.
    pub devices: Vec<TraceDevice>,
    /// What was read and what was ignored.
    pub report: TraceReport,
}
