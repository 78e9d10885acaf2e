//! The traces of MQSim and SSDSim: five columns with white space between, `time_ns device LBA sectors type`. Type 1 is
//! a read, 0 a write, in both simulators. LBA counts sectors of 512 B on its device.

use std::io::{self, Write};

use units::SimTime;

use super::text::Line;
use super::{Carries, Definition, Framing, Origin, Source, Writer};
use crate::trace::Records;
use crate::{SECTOR_BYTES, Trace, TraceError, WorkOp, WorkRequest};

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::lines(read),
    stacked: false,
    tick_ns: 1,
    writer: Some(Writer { write, carries: Carries { whole_sectors: true, ..Carries::READS_AND_WRITES } }),
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let mut fields = line.words();
    let time = fields.need("time in nanoseconds")?.number()?;
    let unit = fields.need("device")?;
    unit.number()?;
    let sector = fields.need("LBA")?.number()?;
    let bytes = fields.need("number of sectors")?.sectors()?;
    let kind = fields.need("type")?;
    let op = match kind.text {
        b"1" => WorkOp::Read,
        b"0" => WorkOp::Write,
        _ => return Err(kind.wrong("1 (read) or 0 (write)")),
    };
    fields.end()?;
    let device = records.devices.index_of(unit.text, || unit.string().into_owned());
    records.push(device, WorkRequest { arrival: SimTime(time), ..origin.request(line.number, op, sector, bytes) });
    Ok(())
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    for r in trace.requests.iter().filter(|r| matches!(r.op, WorkOp::Read | WorkOp::Write)) {
        let (device, sector) = trace.on_device(r);
        let sectors = r.bytes.div_ceil(SECTOR_BYTES);
        writeln!(out, "{} {device} {sector} {sectors} {}", r.arrival.0, u8::from(r.op == WorkOp::Read))?;
    }
    Ok(())
}
