//! The traces of SYSTOR '17 (Lee et al., storage of a virtual desktop infrastructure), as SNIA distributes them: CSV
//! with a header, `Timestamp,Response,IOType,LUN,Offset,Size`. Times are seconds, offset and size are bytes; the time
//! of the response is missing in some lines.

use units::{Nanos, SimTime};

use super::text::Line;
use super::{Definition, Framing, Origin, Source, bytes_at};
use crate::trace::Records;
use crate::{TraceError, WorkOp, WorkRequest};

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: |line| line.number == 1 && line.text.starts_with(b"Timestamp,Response,") },
    stacked: false,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let mut fields = line.separated(b',');
    let time = fields.need("timestamp")?.seconds()?;
    let response = fields.need("response time")?;
    let response = if response.text.is_empty() { None } else { Some(Nanos(response.seconds()?)) };
    let kind = fields.need("type")?;
    let op = match kind.text {
        b"R" => WorkOp::Read,
        b"W" => WorkOp::Write,
        _ => return Err(kind.wrong("R or W")),
    };
    let unit = fields.need("LUN")?;
    unit.number()?;
    let offset = fields.need("offset")?.number()?;
    let (sector, bytes) = bytes_at(offset, fields.need("size")?.number()?);
    fields.end()?;
    let device = records.devices.index_of(unit.text, || unit.string().into_owned());
    let request = origin.request(line.number, op, sector, bytes);
    records.push(device, WorkRequest { arrival: SimTime(time), phone_latency: response, ..request });
    Ok(())
}
