//! What a reader met in a trace.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use units::{Nanos, SimTime};

use super::clean::Cleaned;
use super::{Recorded, TraceError};
use crate::{WorkOp, WorkRequest};

/// Counts of what a trace reader met. Events are records or lines of the file; requests are what became of them.
/// Counts that are there for a warning alone are not serialised.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TraceReport {
    /// Where it comes from, if the file tells: how it was joined from others, and from which; a line each.
    pub origin: Vec<String>,
    /// Where in the block layer it was recorded.
    pub recorded: Recorded,
    /// Files read.
    pub files: u64,
    /// Per-CPU files that are missing between others.
    #[serde(skip)]
    pub missing_files: Vec<String>,
    /// Records or lines in all files; comments, headers and summaries are none.
    pub events: u64,
    /// Events of any device with which a request begins: queue, insert or issue events, lines of request lists.
    #[serde(skip)]
    pub queue_events: u64,
    /// Complete events of any device.
    #[serde(skip)]
    pub complete_events: u64,
    /// Notes that name a process.
    #[serde(skip)]
    pub process_notes: u64,
    /// Other notes (time stamps, messages): ignored.
    #[serde(skip)]
    pub other_notes: u64,
    /// Events of other kinds (merge, plug, opened files, ...): ignored.
    #[serde(skip)]
    pub ignored_events: u64,
    /// Requests of other devices than the chosen one: ignored.
    #[serde(skip)]
    pub other_device_events: u64,
    /// Queue events that are no block requests (pass-through commands, or empty ones that flush nothing): ignored.
    #[serde(skip)]
    pub ignored_queue_events: u64,
    /// Events earlier than the one before them in the file: put in order.
    #[serde(skip)]
    pub out_of_order: u64,
    /// What the cleaning rules removed.
    pub cleaned: Vec<Cleaned>,
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
    /// Requests that do not begin and end on 4 KiB borders: reads and writes are widened, trims narrowed.
    pub unaligned: u64,
    /// Bytes by which reads and writes are widened.
    pub widened_bytes: u64,
    /// Writes that cover a unit of 4 KiB in part: a replay reads these units first (read-modify-write).
    pub partial_writes: u64,
    /// Reads that a replay adds for them.
    pub merge_reads: u64,
    /// Requests that were merged with others below the point where they were traced, and got the length with which they
    /// completed.
    #[serde(skip)]
    pub grown: u64,
    /// Events missing by sequence number: the tracer dropped them.
    #[serde(skip)]
    pub sequence_gaps: u64,
    /// Requests without a completion, in a trace with completions: they have no phone latency.
    #[serde(skip)]
    pub unmatched_requests: u64,
    /// Completions without a request, begun before the trace or dropped by the tracer.
    #[serde(skip)]
    pub unmatched_completions: u64,
    /// Requests that were left out because their events tell no length, among `ignored_queue_events`.
    #[serde(skip)]
    pub without_length: u64,
    /// Lines or events of the format that could not be read, and what is wrong with the first: left out.
    #[serde(skip)]
    pub unreadable: Option<(u64, String)>,
    /// Files that end within a record or line, which was left out, with the place.
    #[serde(skip)]
    pub cut: Vec<String>,
    /// What a user should know or do about the recording itself, one sentence each.
    #[serde(skip)]
    pub hints: Vec<String>,
    /// How the trace was folded onto a smaller device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folded: Option<Folded>,
    /// Recorded time of the first request.
    #[serde(skip)]
    pub start: SimTime,
    /// From the first request to the last.
    #[serde(rename = "duration_seconds", serialize_with = "seconds")]
    pub duration: Nanos,
    /// A rate that no device has, if the times imply one.
    #[serde(skip)]
    pub implausible: Option<String>,
}

/// How a trace was folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Folded {
    /// Size of a range.
    pub granule_mib: u64,
    /// Ranges that requests touch.
    pub ranges: u64,
    /// Where the last request of the trace ended, rounded up.
    pub from_mib: u64,
    /// Where it ends now, rounded up.
    pub to_mib: u64,
}

impl fmt::Display for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Folded { granule_mib, ranges, from_mib, to_mib } = self;
        write!(
            f,
            "folded: {ranges} ranges of {granule_mib} MiB with requests, spread over {from_mib} MiB, lie side by side \
             in {to_mib} MiB"
        )
    }
}

/// A time as seconds.
pub(super) fn seconds<S: Serializer>(time: &Nanos, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

impl TraceReport {
    /// Counts an event that cannot be read.
    pub(crate) fn leave_out(&mut self, error: &TraceError) {
        let (count, _) = self.unreadable.get_or_insert_with(|| (0, error.to_string()));
        *count += 1;
    }

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
        if r.is_aligned() {
            return;
        }
        self.unaligned += 1;
        if r.op != WorkOp::Trim {
            self.widened_bytes += u64::from(r.units().1) * units::UNIT_BYTES - r.bytes;
        }
        let reads = r.partly_written().into_iter().flatten().count() as u64;
        self.partial_writes += u64::from(reads > 0);
        self.merge_reads += reads;
    }

    /// What a user should know of the trace before believing a run of it, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let counted = [
            (self.sequence_gaps, "events are missing by sequence number: the tracer dropped them"),
            (self.other_device_events, "requests of other devices were ignored"),
            (self.without_length, "commands whose events tell no length (as READ(16) before Linux 6.12) were left out"),
            (self.ignored_queue_events - self.without_length, "queue events that are no block requests were ignored"),
            (self.unmatched_requests, "requests have no completion in the trace"),
            (self.out_of_order, "events were earlier than the one before them: put in order"),
            (self.grown, "requests got the length with which they completed: merged after they were traced"),
        ];
        let mut warnings: Vec<String> =
            counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if !self.missing_files.is_empty() {
            let names = self.missing_files.join(", ");
            warnings.push(format!("files of CPUs are missing ({names}): what these CPUs did is not in the trace"));
        }
        if self.partial_writes > 0 {
            warnings.push(format!(
                "{} writes cover units of 4 KiB in part: {} reads of these units go before them (read-modify-write)",
                self.partial_writes, self.merge_reads
            ));
        }
        if let Some((count, first)) = &self.unreadable {
            warnings.push(format!("{count} events could not be read and were left out; the first: {first}"));
        }
        let cut = |place: &String| format!("{place}: the file ends within it: cut off, what stands before it is read");
        warnings.extend(self.cut.iter().map(cut));
        warnings.extend(self.hints.iter().cloned());
        warnings.extend(self.cleaned.iter().map(ToString::to_string));
        warnings.extend(self.folded.iter().map(ToString::to_string));
        warnings.extend(self.implausible.clone());
        warnings
    }
}
