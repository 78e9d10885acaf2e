//! Events of all files become requests.

use units::{Nanos, SimTime};

use super::record::{Event, Events, Kind, category};
use crate::formats::device_name;
use crate::trace::{Outstanding, Place, Recorded, Records};
use crate::{Flags, StreamId, WorkOp, WorkRequest};

/// Puts the events in order and makes requests of them.
pub(super) fn records(mut events: Events, records: &mut Records) {
    events.list.sort_by_key(|e| e.time);
    records.report = events.report;
    // A recording of issue events alone (blktrace -a issue -a complete) has requests as the device got them.
    let queued = events.list.iter().any(|event| event.kind == Kind::Queue);
    let begins = if queued { Kind::Queue } else { Kind::Issue };
    records.report.recorded = if queued { Recorded::Above } else { Recorded::Below };
    records.list.reserve(events.list.len() / 2);
    let mut outstanding = Outstanding::default();
    for event in &events.list {
        match event.kind {
            Kind::Name(index) => records.names.learn(event.pid, &events.names[index as usize]),
            kind if kind == begins => queue(event, records, &mut outstanding),
            Kind::Queue | Kind::Issue => records.report.ignored_events += 1,
            Kind::Complete => complete(event, records, &mut outstanding),
        }
    }
}

fn place(event: &Event, records: &mut Records) -> Place {
    let device = records.devices.index_of(&event.device.to_le_bytes(), || device_name(event.device));
    // Reads complete reads, writes writes, and discards discards; what is empty is neither.
    let op = match event.category {
        c if c & category::DISCARD != 0 => WorkOp::Trim,
        c if c & category::WRITE != 0 => WorkOp::Write,
        _ => WorkOp::Read,
    };
    Place { device, op, sector: event.sector }
}

fn queue(event: &Event, records: &mut Records, outstanding: &mut Outstanding) {
    records.report.queue_events += 1;
    let has = |bit: u32| event.category & bit != 0;
    let op = match event.bytes {
        _ if has(category::PC) => None,
        0 => has(category::FLUSH).then_some(WorkOp::Flush),
        _ if has(category::DISCARD) => Some(WorkOp::Trim),
        _ if has(category::WRITE) => Some(WorkOp::Write),
        _ => Some(WorkOp::Read),
    };
    let Some(op) = op else {
        records.report.ignored_queue_events += 1;
        return;
    };
    let flags = Flags {
        fua: has(category::FUA),
        sync: has(category::SYNC),
        meta: has(category::META),
        readahead: has(category::AHEAD),
        preflush: has(category::FLUSH) && op != WorkOp::Flush,
    };
    let request = WorkRequest {
        arrival: SimTime(event.time),
        // A bare flush has no address; the kernel writes 0 or all ones there.
        sector: if op == WorkOp::Flush { 0 } else { event.sector },
        bytes: u64::from(event.bytes),
        line: event.number,
        phone_latency: None,
        op,
        flags,
        process: records.names.of(event.pid),
        stream: StreamId(event.file),
    };
    let place = place(event, records);
    outstanding.queued(place, request.bytes, records.list.len());
    records.push(place.device, request);
}

fn complete(event: &Event, records: &mut Records, outstanding: &mut Outstanding) {
    records.report.complete_events += 1;
    let place = place(event, records);
    let found = outstanding.completed(place, u64::from(event.bytes));
    records.report.unmatched_completions += u64::from(found.is_none());
    for index in found.into_iter().flatten() {
        let request = &mut records.list[index].request;
        request.phone_latency = Some(Nanos(event.time.saturating_sub(request.arrival.0)));
    }
}
