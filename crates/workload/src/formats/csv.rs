//! This project's own format, with everything that a trace has: CSV with the header
//! `time_ns,op,device,sector,bytes,flags,latency_ns,process`. `op` is read, write, flush or trim; `device` a name
//! without comma; `flags` any of fua, sync, meta, readahead and preflush with `|` between; `latency_ns` may be empty;
//! `process` is the rest of the line.
//!
//! Before the requests may stand lines that tell where they come from: `# origin: TEXT`, any number of them, and
//! `# recorded: PLACE`, which is above, below or unknown and says where in the block layer it was recorded.

use std::io::{self, Write};

use units::{Nanos, SimTime};

use super::text::{Field, Line};
use super::{Carries, Definition, Framing, Origin, Source, Writer};
use crate::trace::{Recorded, Records};
use crate::{Flags, Trace, TraceError, WorkOp, WorkRequest};

const HEADER: &str = "time_ns,op,device,sector,bytes,flags,latency_ns,process";
const ORIGIN: &str = "# origin: ";
const RECORDED: &str = "# recorded: ";
const FLAGS: [&str; 5] = ["fua", "sync", "meta", "readahead", "preflush"];

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: |line| line.number == 1 && line.text == HEADER.as_bytes() },
    stacked: false,
    tick_ns: 1,
    writer: Some(Writer {
        write,
        carries: Carries {
            flushes: true,
            trims: true,
            flags: true,
            processes: true,
            latency: true,
            device_names: true,
            whole_sectors: false,
            tick_ns: 1,
        },
    }),
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    if line.text.starts_with(b"# ") {
        return note(line, records);
    }
    if line.number == 1 && line.text.starts_with(b"time_ns,") {
        return Err(other_header(line));
    }
    let mut fields = line.separated(b',');
    let time = fields.need("time in nanoseconds")?.number()?;
    let op = operation(fields.need("operation")?)?;
    let name = fields.need("device")?;
    let sector = fields.need("sector")?.number()?;
    let bytes = fields.need("length in bytes")?.number()?;
    let flags = flags_of(fields.need("flags")?)?;
    let latency = fields.need("latency in nanoseconds")?;
    let latency = if latency.text.is_empty() { None } else { Some(Nanos(latency.number()?)) };
    let process = fields.rest("process")?;
    let device = records.devices.index_of(name.text, || name.string().into_owned());
    let request = WorkRequest {
        arrival: SimTime(time),
        flags,
        phone_latency: latency,
        process: records.names.index_of(&process.string()),
        ..origin.request(line.number, op, sector, bytes)
    };
    records.push(device, request);
    Ok(())
}

/// What is wrong with a header: its first column that is another, or too many.
fn other_header(line: Line<'_>) -> TraceError {
    let mut fields = line.separated(b',');
    let mut wrong = None;
    for column in HEADER.split(',') {
        wrong = fields.optional("column").filter(|field| field.text != column.as_bytes());
        if let Some(field) = wrong {
            return field.wrong(&format!("{column}, as the header is {HEADER}"));
        }
    }
    match wrong.or_else(|| fields.optional("further column")) {
        Some(field) => field.wrong(&format!("none: the header is {HEADER}")),
        None => line.error(line.text.len(), format!("the header is incomplete; allowed: {HEADER}")),
    }
}

/// A line about the trace; it is no event.
fn note(line: Line<'_>, records: &mut Records) -> Result<(), TraceError> {
    let report = &mut records.report;
    if let Some(text) = line.text.strip_prefix(ORIGIN.as_bytes()) {
        report.origin.push(String::from_utf8_lossy(text).into_owned());
    } else if line.text.starts_with(RECORDED.as_bytes()) {
        let field = line.field(RECORDED.len()..line.text.len(), "place of recording");
        let place = Recorded::ALL.into_iter().find(|place| place.name().as_bytes() == field.text);
        report.recorded = place.ok_or_else(|| field.wrong(&Recorded::ALL.map(Recorded::name).join(", ")))?;
    } else {
        return Err(line.field(0..line.text.len(), "line").wrong(&format!("{ORIGIN}..., {RECORDED}..., or a request")));
    }
    report.events = report.events.saturating_sub(1);
    report.queue_events = report.queue_events.saturating_sub(1);
    Ok(())
}

fn operation(field: Field<'_>) -> Result<WorkOp, TraceError> {
    match field.text {
        b"read" => Ok(WorkOp::Read),
        b"write" => Ok(WorkOp::Write),
        b"flush" => Ok(WorkOp::Flush),
        b"trim" => Ok(WorkOp::Trim),
        _ => Err(field.wrong(&WorkOp::NAMES.join(", "))),
    }
}

fn flags_of(field: Field<'_>) -> Result<Flags, TraceError> {
    let mut flags = Flags::default();
    for word in field.text.split(|&b| b == b'|').filter(|word| !word.is_empty()) {
        match word {
            b"fua" => flags.fua = true,
            b"sync" => flags.sync = true,
            b"meta" => flags.meta = true,
            b"readahead" => flags.readahead = true,
            b"preflush" => flags.preflush = true,
            _ => return Err(field.wrong(&format!("any of {}, with | between", FLAGS.join(", ")))),
        }
    }
    Ok(flags)
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for line in &trace.report.origin {
        writeln!(out, "{ORIGIN}{}", line.replace(char::is_control, "_"))?;
    }
    if trace.report.recorded != Recorded::Unknown {
        writeln!(out, "{RECORDED}{}", trace.report.recorded.name())?;
    }
    // A name must not end its field or its line.
    let clean = |name: &String| name.replace(|c: char| c == ',' || c.is_control(), "_");
    let devices: Vec<String> = trace.devices.iter().map(|d| clean(&d.name)).collect();
    let processes: Vec<String> = trace.processes.iter().map(|p| p.replace(char::is_control, "_")).collect();
    for r in &trace.requests {
        let (device, sector) = trace.on_device(r);
        write!(out, "{},{},{},{sector},{},", r.arrival.0, r.op.name(), devices[device], r.bytes)?;
        let f = r.flags;
        let set = FLAGS.iter().zip([f.fua, f.sync, f.meta, f.readahead, f.preflush]).filter(|(_, set)| *set);
        for (nth, (name, _)) in set.enumerate() {
            write!(out, "{}{name}", if nth > 0 { "|" } else { "" })?;
        }
        write!(out, ",")?;
        if let Some(latency) = r.phone_latency {
            write!(out, "{}", latency.0)?;
        }
        writeln!(out, ",{}", processes[usize::from(r.process.0)])?;
    }
    Ok(())
}
