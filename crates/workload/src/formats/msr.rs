//! MSR Cambridge block traces (Narayanan et al., FAST 2008), as SNIA distributes them: CSV without a header,
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`. Times are Windows FILETIME, ticks of 100 ns since
//! 1601; offset and size are bytes. A response time of 0, shorter than a tick, says that it is not known.

use std::io::{self, Write};

use units::{Nanos, SimTime};

use super::text::Line;
use super::{Carries, Definition, Framing, Origin, Source, Writer, bytes_at};
use crate::trace::Records;
use crate::{Trace, TraceError, WorkOp, WorkRequest};

const TICK_NS: u64 = 100;

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: is_header },
    stacked: false,
    tick_ns: TICK_NS,
    writer: Some(Writer { write, carries: Carries { latency: true, tick_ns: TICK_NS, ..Carries::READS_AND_WRITES } }),
};

fn is_header(line: Line<'_>) -> bool {
    line.number == 1 && line.text.starts_with(b"Timestamp,Hostname,")
}

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let mut fields = line.separated(b',');
    let most_ticks = u64::MAX / TICK_NS;
    let time = fields.need("timestamp")?.number_below(most_ticks)? * TICK_NS;
    let host = fields.need("hostname")?;
    let disk = fields.need("disk number")?;
    disk.number()?;
    let kind = fields.need("type")?;
    let op = match kind.text {
        t if t.eq_ignore_ascii_case(b"read") => WorkOp::Read,
        t if t.eq_ignore_ascii_case(b"write") => WorkOp::Write,
        _ => return Err(kind.wrong("Read or Write")),
    };
    let offset = fields.need("offset")?.number()?;
    let size = fields.need("size")?.number()?;
    let response = fields.need("response time")?.number_below(most_ticks)? * TICK_NS;
    fields.end()?;
    let (sector, bytes) = bytes_at(offset, size);
    let name = || format!("{}.{}", host.string(), disk.string());
    let device = records.devices.index_of(host.until(disk), name);
    let request = WorkRequest {
        arrival: SimTime(time),
        phone_latency: (response > 0).then_some(Nanos(response)),
        ..origin.request(line.number, op, sector, bytes)
    };
    records.push(device, request);
    Ok(())
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    for r in trace.requests.iter().filter(|r| matches!(r.op, WorkOp::Read | WorkOp::Write)) {
        let (device, sector) = trace.on_device(r);
        let kind = if r.op == WorkOp::Read { "Read" } else { "Write" };
        let ticks = r.phone_latency.map_or(0, |latency| latency.0 / TICK_NS);
        let offset = sector * crate::SECTOR_BYTES;
        writeln!(out, "{},ufsim,{device},{kind},{offset},{},{ticks}", r.arrival.0 / TICK_NS, r.bytes)?;
    }
    Ok(())
}
