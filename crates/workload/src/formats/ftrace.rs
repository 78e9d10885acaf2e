//! Text of Linux ftrace (`trace`, `trace_pipe`), atrace and Perfetto's systrace export, with the events
//! `block_rq_insert`, `block_rq_issue`, `block_rq_requeue` and `block_rq_complete`; other lines are passed over.
//!
//! A request is what was issued, from the time when it was inserted if the trace has that; in a trace without issue
//! events, it is what was inserted. Such a request may have grown by merging before it was issued: it gets the length
//! with which it completes.

use std::collections::{BTreeMap, BTreeSet};

use units::{Nanos, SimTime};

use super::rwbs::Rwbs;
use super::text::{Field, Line, find, lines};
use super::{Definition, Origin, Source, device_name};
use crate::trace::{Outstanding, Place, Records, TraceFile};
use crate::{SECTOR_BYTES, TraceError, WorkRequest};

const EVENT: &[u8] = b": block_rq_";

pub(super) const DEFINITION: Definition = Definition {
    about: "ftrace, atrace or systrace text with block_rq_insert, block_rq_issue and block_rq_complete",
    source: Source::Files { fits, read },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn fits(head: &[u8]) -> bool {
    head.starts_with(b"# tracer:") || lines("", head).any(|line| matches!(Event::of(line), Ok(Some(_))))
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    let mut issues = false;
    for line in files.iter().flat_map(|file| lines(&file.name, &file.bytes)) {
        issues |= find(line.text, b": block_rq_issue: ").is_some();
    }
    for (number, file) in (0..).zip(files) {
        let mut reader = Reader {
            origin: Origin { file: number },
            issues,
            inserted: BTreeMap::new(),
            requeued: BTreeSet::new(),
            outstanding: Outstanding::default(),
            records: &mut *records,
        };
        for line in lines(&file.name, &file.bytes).filter(|line| !line.text.starts_with(b"#")) {
            reader.records.report.events += 1;
            match Event::of(line)? {
                Some(event) => reader.event(&event)?,
                None => reader.records.report.ignored_events += 1,
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Issue,
    Requeue,
    Complete,
}

/// A block event.
#[derive(Clone, Copy)]
struct Event<'a> {
    line: Line<'a>,
    kind: Kind,
    time: u64,
    device: Field<'a>,
    dev: u32,
    rwbs: Rwbs,
    /// A command that is passed through to the device, and no block request.
    is_command: bool,
    sector: u64,
    bytes: u64,
}

impl<'a> Event<'a> {
    /// The block event of a line, if it has one.
    fn of(line: Line<'a>) -> Result<Option<Event<'a>>, TraceError> {
        let Some(at) = find(line.text, EVENT) else { return Ok(None) };
        let name_at = at + EVENT.len();
        let name_length = line.text[name_at..].iter().take_while(|b| b.is_ascii_lowercase()).count();
        let kind = match &line.text[name_at..name_at + name_length] {
            b"insert" => Kind::Insert,
            b"issue" => Kind::Issue,
            b"requeue" => Kind::Requeue,
            b"complete" => Kind::Complete,
            _ => return Ok(None),
        };
        let time_at = line.text[..at].iter().rposition(u8::is_ascii_whitespace).map_or(0, |space| space + 1);
        let time = line.field(time_at..at, "time").seconds()?;
        let mut fields = line.words_from(name_at + name_length + 1);
        let device = fields.need("device")?;
        let dev = dev_t(device.text).ok_or_else(|| device.wrong("major,minor, such as 179,0"))?;
        let letters = fields.need("rwbs")?;
        let rwbs =
            Rwbs::parse(letters.text).ok_or_else(|| letters.wrong("the kernel's letters, such as R, WS or FWFS"))?;
        if matches!(kind, Kind::Insert | Kind::Issue) {
            fields.need("bytes")?.number()?;
        }
        let command = fields.need("command in parentheses")?;
        if !command.text.starts_with(b"(") {
            return Err(command.wrong("a command in parentheses, such as ()"));
        }
        let is_command = command.text != b"()";
        let mut last = command;
        while !last.text.ends_with(b")") {
            last = fields.need("rest of the command")?;
        }
        let sector = fields.need("sector")?.number()?;
        let plus = fields.need("+")?;
        if plus.text != b"+" {
            return Err(plus.wrong("+ between sector and number of sectors"));
        }
        let bytes = fields.need("number of sectors")?.number()?.saturating_mul(SECTOR_BYTES);
        Ok(Some(Event { line, kind, time, device, dev, rwbs, is_command, sector, bytes }))
    }
}

struct Reader<'r> {
    origin: Origin,
    /// The trace has issue events.
    issues: bool,
    /// Times of insertion of requests that are to be issued.
    inserted: BTreeMap<Place, u64>,
    /// Requests that will be issued again.
    requeued: BTreeSet<Place>,
    outstanding: Outstanding,
    records: &'r mut Records,
}

impl Reader<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), TraceError> {
        let device = self.records.devices.index_of(event.device.text, || device_name(event.dev));
        // A flush has no address: 0, or all ones.
        let sector = if event.bytes == 0 && event.sector == u64::MAX { 0 } else { event.sector };
        let place = Place { device, op: event.rwbs.completes(event.bytes), sector };
        match event.kind {
            Kind::Complete => self.complete(place, event),
            Kind::Requeue => {
                self.records.report.ignored_events += 1;
                self.requeued.insert(place);
            }
            Kind::Insert if self.issues => {
                self.records.report.ignored_events += 1;
                self.inserted.insert(place, event.time);
            }
            Kind::Issue if self.requeued.remove(&place) => self.records.report.ignored_events += 1,
            Kind::Insert | Kind::Issue => self.begin(place, event),
        }
        Ok(())
    }

    fn begin(&mut self, place: Place, event: &Event<'_>) {
        self.records.report.queue_events += 1;
        let request = if event.is_command { None } else { event.rwbs.request(event.bytes) };
        let Some((op, flags)) = request else {
            self.records.report.ignored_queue_events += 1;
            return;
        };
        let request = WorkRequest {
            arrival: SimTime(event.time),
            flags,
            process: self.records.names.index_of(&super::blkparse::process_of(event.line)),
            ..self.origin.request(event.line.number, op, event.sector, event.bytes)
        };
        self.outstanding.queued(Place { op, ..place }, event.bytes, self.records.list.len());
        self.records.push(place.device, request);
        if let Some(time) = self.inserted.remove(&place) {
            let record = self.records.list.last_mut().expect("just added");
            record.request.arrival = SimTime(time.min(event.time));
        }
    }

    fn complete(&mut self, place: Place, event: &Event<'_>) {
        self.records.report.complete_events += 1;
        let found = self.outstanding.completed(place, event.bytes);
        if found.is_empty() {
            // The end of a write with flush and FUA is told once more, without data.
            let report = &mut self.records.report;
            *(if event.bytes == 0 { &mut report.ignored_events } else { &mut report.unmatched_completions }) += 1;
            return;
        }
        let end = event.sector.saturating_add(event.bytes / SECTOR_BYTES);
        let next: Vec<u64> = found.iter().skip(1).map(|&i| self.records.list[i].request.sector).chain([end]).collect();
        let mut first = event.sector;
        for (index, next) in found.into_iter().zip(next) {
            let request = &mut self.records.list[index].request;
            request.phone_latency = Some(Nanos(event.time.saturating_sub(request.arrival.0)));
            let bytes = next.saturating_sub(first).saturating_mul(SECTOR_BYTES);
            if event.bytes > 0 && bytes > request.bytes {
                self.records.report.grown += 1;
                (request.sector, request.bytes) = (first, bytes);
            }
            first = next;
        }
    }
}

/// The kernel's number of a device that is printed as major,minor.
pub(super) fn dev_t(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let (major, minor) = text.split_once(',')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}
