//! The Nexus 5 traces of Zhou et al. (IISWC 2015): columns with tabs between. Start sector; size in sectors; size in
//! bytes; flags (bit 0 write, bit 2 did not wait); then the times, in seconds, when the request was generated, fetched
//! by the driver, submitted to the hardware and finished.

use units::{Nanos, SimTime};

use super::text::Line;
use super::{Definition, Framing, Origin, Source};
use crate::trace::{Recorded, Records};
use crate::{SECTOR_BYTES, TraceError, WorkOp, WorkRequest};

const FLAG_WRITE: u64 = 1;
const ALL_FLAGS: u64 = 7;

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::lines(read),
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    records.report.recorded = Recorded::Below;
    let mut fields = line.words();
    let sector = fields.need("start sector")?.number()?;
    let sectors = fields.need("size in sectors")?.number()?;
    let size = fields.need("size in bytes")?;
    let bytes = size.number()?;
    if Some(bytes) != sectors.checked_mul(SECTOR_BYTES) {
        return Err(size.wrong(&format!("512 times the size in sectors, which is {sectors}")));
    }
    let flags = fields.need("flags")?.number_below(ALL_FLAGS)?;
    let generated = fields.need("time when generated")?.seconds()?;
    fields.need("time when fetched by the driver")?.seconds()?;
    fields.need("time when submitted")?.seconds()?;
    let finished = fields.need("time when finished")?;
    let latency = finished.seconds()?.checked_sub(generated);
    let latency = latency.ok_or_else(|| finished.wrong("a time that is not before the request was generated"))?;
    fields.end()?;
    let op = if flags & FLAG_WRITE != 0 { WorkOp::Write } else { WorkOp::Read };
    let device = records.devices.index_of(b"", || "mmcblk0".into());
    let request = WorkRequest {
        arrival: SimTime(generated),
        phone_latency: Some(Nanos(latency)),
        ..origin.request(line.number, op, sector, bytes)
    };
    records.push(device, request);
    Ok(())
}
