//! The text that blkparse prints by default: `major,minor cpu sequence seconds pid action rwbs`, then for events of
//! requests `sector + sectors [process]`, or only `[process]` for what has no address.
//!
//! Queue events (Q) are requests, as for the binary; if there are none (a recording of the driver alone), issue events
//! (D) are. Completions (C) give latencies.

use units::{Nanos, SimTime};

use super::rwbs::Rwbs;
use super::text::{Field, Fields, Line, lines};
use super::{Definition, Framing, HEAD_LINES, Origin, Source};
use crate::trace::{Outstanding, Place, Recorded, Records, TraceFile};
use crate::{SECTOR_BYTES, TraceError, WorkRequest};

pub(super) const DEFINITION: Definition = Definition {
    needs: "queue events (Q) or issue events (D)",
    framing: Framing::Lines,
    source: Source::Files { fits, read },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn fits(head: &[u8]) -> bool {
    lines("", head).take(HEAD_LINES).any(|line| Event::of(line).is_ok())
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    let queued = files.iter().flat_map(events).any(|event| event.is_ok_and(|event| event.action == b"Q"));
    let begins: &[u8] = if queued { b"Q" } else { b"D" };
    records.report.recorded = if queued { Recorded::Above } else { Recorded::Below };
    for (number, file) in (0..).zip(files) {
        let mut reader = Reader {
            origin: Origin { file: number },
            begins,
            outstanding: Outstanding::default(),
            records: &mut *records,
        };
        for event in events(file) {
            if let Err(error) = event.and_then(|event| reader.event(&event)) {
                reader.records.report.leave_out(&error);
            }
        }
    }
    Ok(())
}

/// The events of a file. Its summary, at the end, is none.
fn events(file: &TraceFile) -> impl Iterator<Item = Result<Event<'_>, TraceError>> {
    let summary = |line: &Line<'_>| line.text.starts_with(b"CPU") || line.text.starts_with(b"Total");
    let notes = |line: &Line<'_>| line.text.starts_with(b"Input file");
    lines(&file.name, &file.bytes)
        .take_while(move |line| !summary(line))
        .filter(move |line| !notes(line))
        .map(Event::of)
}

/// The beginning of a line, which all have in common.
#[derive(Clone, Copy)]
struct Event<'a> {
    line: Line<'a>,
    device: Field<'a>,
    time: u64,
    action: &'a [u8],
    rest: Fields<'a>,
}

impl<'a> Event<'a> {
    fn of(line: Line<'a>) -> Result<Event<'a>, TraceError> {
        let mut fields = line.words();
        let device = fields.need("device")?;
        if super::ftrace::dev_t(device.text).is_none() {
            return Err(device.wrong("major,minor, such as 8,0"));
        }
        fields.need("CPU")?.number()?;
        fields.need("sequence number")?.number()?;
        let time = fields.need("time")?.seconds()?;
        fields.need("process id")?.number()?;
        let action = fields.need("action")?;
        if action.text.is_empty() || action.text.len() > 2 || !action.text.iter().all(u8::is_ascii_alphabetic) {
            return Err(action.wrong("one or two letters, such as Q, D or C"));
        }
        Ok(Event { line, device, time, action: action.text, rest: fields })
    }
}

struct Reader<'r> {
    origin: Origin,
    begins: &'static [u8],
    outstanding: Outstanding,
    records: &'r mut Records,
}

impl Reader<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), TraceError> {
        let report = &mut self.records.report;
        report.events += 1;
        let (begins, completes) = (event.action == self.begins, event.action == b"C");
        if !begins && !completes {
            report.ignored_events += 1;
            return Ok(());
        }
        let mut fields = event.rest;
        let letters = fields.need("rwbs")?;
        let rwbs =
            Rwbs::parse(letters.text).ok_or_else(|| letters.wrong("the kernel's letters, such as R, WS or FWFS"))?;
        let (sector, bytes) = extent(&mut fields)?;
        let dev = super::ftrace::dev_t(event.device.text).expect("checked with the line");
        let device = self.records.devices.index_of(event.device.text, || super::device_name(dev));
        if completes {
            self.records.report.complete_events += 1;
            let place = Place { device, op: rwbs.completes(bytes), sector };
            self.complete(place, bytes, event.time);
            return Ok(());
        }
        self.records.report.queue_events += 1;
        let Some((op, flags)) = rwbs.request(bytes) else {
            self.records.report.ignored_queue_events += 1;
            return Ok(());
        };
        let request = WorkRequest {
            arrival: SimTime(event.time),
            flags,
            process: self.records.names.index_of(&process_of(event.line, fields)),
            ..self.origin.request(event.line.number, op, sector, bytes)
        };
        self.outstanding.queued(Place { device, op, sector: request.sector }, bytes, self.records.list.len());
        self.records.push(device, request);
        Ok(())
    }

    fn complete(&mut self, place: Place, bytes: u64, time: u64) {
        let found = self.outstanding.completed(place, bytes);
        self.records.report.unmatched_completions += u64::from(found.is_none());
        for index in found.into_iter().flatten() {
            let request = &mut self.records.list[index].request;
            request.phone_latency = Some(Nanos(time.saturating_sub(request.arrival.0)));
        }
    }
}

/// `sector + sectors`, or nothing for what has no address.
fn extent(fields: &mut Fields<'_>) -> Result<(u64, u64), TraceError> {
    let before = *fields;
    match fields.optional("sector") {
        Some(field) if !field.text.starts_with(b"[") && !field.text.starts_with(b"(") => {
            let sector = field.number()?;
            let Some(plus) = fields.optional("+").filter(|plus| !plus.text.starts_with(b"[")) else {
                return Ok((sector, 0));
            };
            if plus.text != b"+" {
                return Err(plus.wrong("+ between sector and number of sectors"));
            }
            let bytes = fields.need("number of sectors")?.number()?.saturating_mul(SECTOR_BYTES);
            Ok(if bytes == 0 { (0, 0) } else { (sector, bytes) })
        }
        _ => {
            *fields = before;
            Ok((0, 0))
        }
    }
}

/// What stands in brackets behind the fields that have been taken; a name may have brackets of its own.
pub(super) fn process_of<'a>(line: Line<'a>, taken: Fields<'a>) -> std::borrow::Cow<'a, str> {
    let rest = line.text.get(taken.at()..).unwrap_or_default().trim_ascii();
    let name = rest.iter().position(|&b| b == b'[').and_then(|at| rest[at + 1..].strip_suffix(b"]"));
    String::from_utf8_lossy(name.unwrap_or(b"?"))
}
