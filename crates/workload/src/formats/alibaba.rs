//! Alibaba's block traces of 2020 (Li et al., IISWC 2020): CSV without a header, `device_id,opcode,offset,length,
//! timestamp`. Opcode is R or W, offset and length are bytes, time is microseconds.

use units::SimTime;

use super::text::Line;
use super::{Definition, Framing, Origin, Source, bytes_at};
use crate::trace::Records;
use crate::{TraceError, WorkOp, WorkRequest};

const TICK_NS: u64 = 1000;

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: |line| line.number == 1 && line.text.starts_with(b"device_id,opcode,") },
    stacked: false,
    tick_ns: TICK_NS,
    writer: None,
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let mut fields = line.separated(b',');
    let volume = fields.need("device id")?;
    volume.number()?;
    let opcode = fields.need("opcode")?;
    let op = match opcode.text {
        b"R" => WorkOp::Read,
        b"W" => WorkOp::Write,
        _ => return Err(opcode.wrong("R or W")),
    };
    let offset = fields.need("offset")?.number()?;
    let (sector, bytes) = bytes_at(offset, fields.need("length")?.number()?);
    let time = fields.need("timestamp")?.number_below(u64::MAX / TICK_NS)? * TICK_NS;
    fields.end()?;
    let device = records.devices.index_of(volume.text, || volume.string().into_owned());
    records.push(device, WorkRequest { arrival: SimTime(time), ..origin.request(line.number, op, sector, bytes) });
    Ok(())
}
