//! SPC trace files (Storage Performance Council, trace file format specification 1.0.1), such as Financial1 and
//! WebSearch1 of the UMass repository: `ASU,LBA,Size,Opcode,Timestamp` and optional further fields. An application
//! storage unit (ASU) is a device; LBA counts blocks of 512 B, size is bytes, time is seconds.

use std::io::{self, Write};

use units::SimTime;

use super::text::Line;
use super::{Carries, Definition, Framing, Origin, Source, Writer};
use crate::trace::Records;
use crate::{Trace, TraceError, WorkOp, WorkRequest};

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::lines(read),
    stacked: false,
    tick_ns: 1_000_000_000,
    writer: Some(Writer { write, carries: Carries::READS_AND_WRITES }),
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let mut fields = line.separated(b',');
    let unit = fields.need("ASU")?;
    unit.number()?;
    let sector = fields.need("LBA")?.number()?;
    let bytes = fields.need("size")?.number()?;
    let opcode = fields.need("opcode")?;
    let op = match opcode.text.trim_ascii() {
        b"r" | b"R" => WorkOp::Read,
        b"w" | b"W" => WorkOp::Write,
        _ => return Err(opcode.wrong("r, R, w or W")),
    };
    let time = fields.need("timestamp")?.seconds()?;
    let device = records.devices.index_of(unit.text.trim_ascii(), || unit.string().trim().to_owned());
    records.push(device, WorkRequest { arrival: SimTime(time), ..origin.request(line.number, op, sector, bytes) });
    Ok(())
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    for r in trace.requests.iter().filter(|r| matches!(r.op, WorkOp::Read | WorkOp::Write)) {
        let (device, sector) = trace.on_device(r);
        let opcode = if r.op == WorkOp::Read { 'r' } else { 'w' };
        let (s, ns) = (r.arrival.0 / 1_000_000_000, r.arrival.0 % 1_000_000_000);
        writeln!(out, "{device},{sector},{},{opcode},{s}.{ns:09}", r.bytes)?;
    }
    Ok(())
}
