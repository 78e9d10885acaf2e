//! Tencent's block traces (Zhang et al., USENIX ATC 2020), as SNIA distributes them: CSV without a header,
//! `Timestamp,Offset,Size,IOType,VolumeID`. Time is whole seconds, offset and size count sectors of 512 B, type 0 is a
//! read and 1 a write.

use units::SimTime;

use super::text::Line;
use super::{Definition, Framing, Origin, Source};
use crate::trace::Records;
use crate::{TraceError, WorkOp, WorkRequest};

const TICK_NS: u64 = 1_000_000_000;

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: |line| line.number == 1 && line.text.starts_with(b"Timestamp,Offset,") },
    stacked: false,
    tick_ns: TICK_NS,
    writer: None,
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let mut fields = line.separated(b',');
    let time = fields.need("timestamp")?.number_below(u64::MAX / TICK_NS)? * TICK_NS;
    let sector = fields.need("offset in sectors")?.number()?;
    let bytes = fields.need("size in sectors")?.sectors()?;
    let kind = fields.need("type")?;
    let op = match kind.text {
        b"0" => WorkOp::Read,
        b"1" => WorkOp::Write,
        _ => return Err(kind.wrong("0 (read) or 1 (write)")),
    };
    let volume = fields.need("volume")?;
    volume.number()?;
    fields.end()?;
    let device = records.devices.index_of(volume.text, || volume.string().into_owned());
    records.push(device, WorkRequest { arrival: SimTime(time), ..origin.request(line.number, op, sector, bytes) });
    Ok(())
}
