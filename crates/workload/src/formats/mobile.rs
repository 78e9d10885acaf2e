//! The CSV of MobileBlockIOTraces (Technion): `proces,device,rw_flag,sector,size,timestamp`, recorded from the kernel's
//! issue events. Device is the kernel's number (major * 2^20 + minor), size counts sectors, time is seconds.

use units::SimTime;

use super::rwbs::Rwbs;
use super::text::Line;
use super::{Definition, Framing, Origin, Source, comm, device_name};
use crate::trace::{Recorded, Records};
use crate::{TraceError, WorkRequest};

const HEADER: &[u8] = b"proces,device,rw_flag,sector,size,timestamp";

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: |line| line.number == 1 && line.text == HEADER },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    records.report.recorded = Recorded::Below;
    let mut fields = line.separated(b',');
    let process = fields.need("process")?;
    let number = fields.need("device number")?;
    let dev = number.number_below(u64::from(u32::MAX))? as u32;
    let flags = fields.need("rw flag")?;
    let rwbs = Rwbs::parse(flags.text).ok_or_else(|| flags.wrong("R, W or D with the kernel's flags"))?;
    let sector = fields.need("sector")?.number()?;
    let bytes = fields.need("size in sectors")?.sectors()?;
    let time = fields.need("timestamp")?.seconds()?;
    fields.end()?;
    let Some((op, flags)) = rwbs.request(bytes) else {
        records.report.ignored_queue_events += 1;
        return Ok(());
    };
    let device = records.devices.index_of(number.text, || device_name(dev));
    let request = WorkRequest {
        arrival: SimTime(time),
        flags,
        process: records.names.index_of(&comm(process.text)),
        ..origin.request(line.number, op, sector, bytes)
    };
    records.push(device, request);
    Ok(())
}
