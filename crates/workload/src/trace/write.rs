//! A trace as a file of another format.

use std::io::Write;
use std::path::Path;

use ::files::{FileError, Files, Kind};

use super::{Format, Trace, TraceError};
use crate::formats::Carries;
use crate::{SECTOR_BYTES, WorkOp, WorkRequest};

/// What a converted trace may replace: any trace that could have been converted to.
pub(super) const KIND: Kind =
    Kind::new("trace that could be written anew", |head| Format::recognise(head).is_some_and(Format::can_be_written));

/// Writes a file that appears when it is complete.
pub(super) fn save(trace: &Trace, format: Format, disk: &dyn Files, path: &Path) -> Result<Vec<String>, TraceError> {
    let carries = carries(trace, format)?;
    ::files::replace(disk, path, KIND, |out| {
        format.write(trace, out).map_err(|error| TraceError::from(FileError::new(path, error)))
    })?;
    Ok(lost(trace, carries))
}

/// The file's bytes.
pub(super) fn bytes(trace: &Trace, format: Format) -> Result<Vec<u8>, TraceError> {
    carries(trace, format)?;
    let mut out = Vec::new();
    format.write(trace, &mut out).expect("memory takes everything");
    out.flush().expect("memory takes everything");
    Ok(out)
}

/// What the format has room for; an error if that leaves nothing of the trace.
fn carries(trace: &Trace, format: Format) -> Result<Carries, TraceError> {
    let Some(carries) = format.carries() else {
        return Err(Format::writable(format.name()).expect_err("it cannot be"));
    };
    if !trace.requests.iter().any(|r| is_carried(r, carries)) {
        let name = format!("{} as {}", trace.name, format.name());
        return Err(TraceError::NoRequests { name, events: trace.requests.len() as u64, hint: String::new() });
    }
    Ok(carries)
}

fn is_carried(request: &WorkRequest, carries: Carries) -> bool {
    match request.op {
        WorkOp::Flush => carries.flushes,
        WorkOp::Trim => carries.trims,
        WorkOp::Read | WorkOp::Write => true,
    }
}

/// What the file has no room for.
fn lost(trace: &Trace, carries: Carries) -> Vec<String> {
    let count =
        |is: &dyn Fn(&WorkRequest) -> bool| trace.requests.iter().filter(|r| is_carried(r, carries) && is(r)).count();
    let left_out = |op: WorkOp| trace.requests.iter().filter(|r| r.op == op && !is_carried(r, carries)).count();
    let flagged = |r: &WorkRequest| r.flags != crate::Flags::default();
    let named = |r: &WorkRequest| trace.processes.get(usize::from(r.process.0)).is_some_and(|name| name != "(unknown)");
    let tick = carries.tick_ns;
    let finer = |r: &WorkRequest| {
        let latency = r.phone_latency.filter(|_| carries.latency).map_or(0, |latency| latency.0);
        !r.arrival.0.is_multiple_of(tick) || !latency.is_multiple_of(tick)
    };
    let losses = [
        (left_out(WorkOp::Flush), "flushes left out".to_owned()),
        (left_out(WorkOp::Trim), "trims left out".to_owned()),
        (if carries.flags { 0 } else { count(&flagged) }, "requests without their flags (FUA, sync, ...)".into()),
        (if carries.processes { 0 } else { count(&named) }, "requests without the name of their process".into()),
        (if carries.latency { 0 } else { count(&|r| r.phone_latency.is_some()) }, "requests without latency".into()),
        (if carries.device_names { 0 } else { trace.devices.len() }, "devices known by number, not by name".into()),
        (count(&finer), format!("requests with times cut to a multiple of {tick} ns")),
        (
            if carries.whole_sectors { count(&|r| !r.bytes.is_multiple_of(SECTOR_BYTES)) } else { 0 },
            "lengths rounded up to whole sectors".into(),
        ),
        (trace.files.len().saturating_sub(1), "boundaries between per-CPU files".into()),
    ];
    losses.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
}
