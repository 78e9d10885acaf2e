//! The CSV of MobileBlockIOTraces (Technion): `proces,device,rw_flag,sector,size,timestamp`, recorded from the kernel's
//! issue events. Device is the kernel's number (major * 2^20 + minor), size counts sectors, time is seconds.

use units::SimTime;

use super::rwbs::Rwbs;
use super::text::Line;
use super::{Definition, Framing, Origin, Source, comm, device_name};
use crate::trace::{Recorded, Records};
use crate::{TraceError, WorkRequest};

const HEADERS: [&[u8]; 2] =
    [b"proces,device,rw_flag,sector,size,timestamp", b"process,device,rw_flag,sector,size,timestamp"];

/// The row between the installation of an application and its use, in files that have both.
const MARKER: &[u8] = b"preconditioning_ended";

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Lines { read, skips: |line| line.number == 1 && HEADERS.contains(&line.text) },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn read(line: Line<'_>, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    records.report.recorded = Recorded::Below;
    if line.text.strip_prefix(b"\"").unwrap_or(line.text).starts_with(MARKER) {
        let told = format!("{}: what stands before is the installation, what follows the use", line.place());
        records.report.hints.push(told);
        return Ok(());
    }
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
