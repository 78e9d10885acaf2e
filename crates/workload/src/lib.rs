//! Where requests come from: fio job files, their generators, block traces, and descriptions of apps, language models
//! and a volume that is fragmented.
//!
//! # Glossary
//! - **request**: one block I/O as the file system hands it down ([`WorkRequest`]), addressed in 512 B sectors;
//!   [`WorkRequest::units`] widens it to whole 4 KiB units.
//! - **source**: an object that knows what comes next ([`Source`]). It owns no clock: the run loop asks
//!   [`Source::next`] and reports completions with [`Source::completed`].
//! - **stream**: an ordered sequence of requests with a queue depth of its own: a clone of a fio job, or one
//!   per-CPU file of a trace.
//! - **group**: streams reported together ([`GroupInfo`]).
//! - **ticket**: the number by which an outstanding request is known. Tickets are small (below the largest number of
//!   requests ever outstanding) and are reused after completion, so they index arrays.
//! - **timed replay**: a trace's requests at their recorded times, however long the device takes.
//! - **closed replay**: a trace's requests in order, as fast as a fixed depth allows.
//! - **footprint**: the units that a source may read; a run writes them beforehand, because reading a unit that was
//!   never written costs a real device no flash operation.
//! - **format**: how a file of a trace is written ([`Format`]); **volume**: a device of a trace that stands for itself
//!   and has a range of its own.
//! - **read-modify-write**: a write that covers a unit only in part waits for reads of the units at its ends.
//! - **phone latency**: completion minus queue time of a traced request, measured on the phone that was traced.
//!
//! # Contract
//! One seed gives one sequence of requests: there is no clock, environment, thread or hashed container here, and the
//! skewed distributions use this crate's own `pow` (plain IEEE arithmetic) rather than the platform's.
//! Input is checked where it enters: parsing, [`fio::JobFile::bind`] and [`Replay::new`] give typed errors naming the
//! file, line or event, value and allowed range. Nothing panics on arbitrary bytes.

mod described;
#[cfg(test)]
mod endless;
pub mod fio;
mod formats;
mod fragmentation;
mod generated;
mod llm;
mod math;
mod merge;
mod permutation;
mod plugged;
mod replay;
pub mod report;
mod request;
mod rng;
mod session;
mod skew;
mod source;
mod text_file;
mod tickets;
mod trace;
mod zones;

pub use described::{DescriptionError, read_table};
pub use fragmentation::{FragmentationSource, FragmentationSpec};
pub use generated::{Generated, GeneratedError, Layout};
pub use llm::{Access, LlmSource, LlmSpec};
pub use merge::{MergeLimits, MergeParams, Merged};
pub use plugged::Plugged;
pub use replay::{Replay, ReplayMode};
pub use request::{Flags, ProcessId, ReadOutcome, SECTOR_BYTES, StreamId, WorkOp, WorkRequest};
pub use rng::{Rng, named_seed, named_stream};
pub use session::{Session, SessionKill, SessionLaunch};
pub use source::{DriverCall, Fault, Footprint, GroupId, GroupInfo, Issued, Next, Progress, Source, Ticket, UnitRange};
pub use text_file::text_file;
pub use tickets::Tickets;
pub use trace::{
    CleanRule, Cleaned, Folded, Format, JoinAddresses, JoinPart, JoinRule, Lengths, Recorded, Trace, TraceDevice,
    TraceError, TraceFile, TraceOptions, TraceReport, TraceStats,
};
