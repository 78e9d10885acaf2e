//! Reader of binary blktrace files.
//!
//! # Glossary
//! - **event**: one `struct blk_io_trace` of 48 bytes and its payload (Linux `include/uapi/linux/blktrace_api.h`,
//!   version 7), in the byte order of the traced machine.
//! - **queue event** (Q): a bio enters the block layer; these become requests.
//! - **issue event** (D): a request goes to the device; these become requests in a recording without queue events.
//! - **complete event** (C): a request has finished; Q and C of one request give its phone latency.
//! - **note**: an event about something else; process notes give the name of a process id.
//!
//! The tracer writes one file per CPU. They are merged by time; ties keep the order of files, then of events.

mod merge;
mod record;

pub(crate) use record::frame;

use super::{Definition, Framing, Source};
use crate::TraceError;
use crate::trace::{Records, TraceFile};

pub(super) const DEFINITION: Definition = Definition {
    needs: "queue events (Q) or issue events (D)",
    framing: Framing::Records(frame),
    source: Source::Files { fits: record::fits, read },
    stacked: true,
    tick_ns: 1,
    writer: None,
};

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    let mut events = record::Events::default();
    for (number, file) in (0..).zip(files) {
        record::read_file(&file.name, number, &file.bytes, &mut events)?;
    }
    merge::records(events, records);
    Ok(())
}

#[cfg(test)]
mod tests;
