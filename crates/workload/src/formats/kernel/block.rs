//! Block events of one file become requests.

use std::collections::{BTreeMap, BTreeSet};

use units::{Nanos, SimTime};

use super::{BlockEvent, BlockStage};
use crate::formats::{Origin, device_name};
use crate::trace::{Outstanding, Place, Records};
use crate::{SECTOR_BYTES, WorkRequest};

pub(super) struct State {
    /// The trace has issue events.
    issues: bool,
    /// Times of insertion of requests that are to be issued.
    inserted: BTreeMap<Place, u64>,
    /// Requests that will be issued again.
    requeued: BTreeSet<Place>,
    outstanding: Outstanding,
}

impl State {
    pub fn new(issues: bool) -> State {
        State { issues, inserted: BTreeMap::new(), requeued: BTreeSet::new(), outstanding: Outstanding::default() }
    }

    pub fn event(&mut self, event: &BlockEvent<'_>, origin: Origin, records: &mut Records) {
        // Eight bytes with zeros among them: the name of no UFS device.
        let key = u64::from(event.dev).to_le_bytes();
        let device = records.devices.index_of(&key, || device_name(event.dev));
        // A flush has no address: 0, or all ones.
        let sector = if event.bytes == 0 && event.sector == u64::MAX { 0 } else { event.sector };
        let place = Place { device, op: event.rwbs.completes(event.bytes), sector };
        match event.stage {
            BlockStage::Complete => self.complete(place, event, records),
            BlockStage::Requeue => {
                records.report.ignored_events += 1;
                self.requeued.insert(place);
            }
            BlockStage::Insert if self.issues => {
                records.report.ignored_events += 1;
                self.inserted.insert(place, event.time);
            }
            BlockStage::Issue if self.requeued.remove(&place) => records.report.ignored_events += 1,
            BlockStage::Insert | BlockStage::Issue => self.begin(place, event, origin, records),
        }
    }

    fn begin(&mut self, place: Place, event: &BlockEvent<'_>, origin: Origin, records: &mut Records) {
        records.report.queue_events += 1;
        let request = if event.is_command { None } else { event.rwbs.request(event.bytes) };
        let Some((op, flags)) = request else {
            records.report.ignored_queue_events += 1;
            return;
        };
        let inserted = self.inserted.remove(&place).unwrap_or(event.time);
        let request = WorkRequest {
            arrival: SimTime(event.time),
            flags,
            process: records.names.index_of(&event.process),
            ..origin.request(event.number, op, event.sector, event.bytes)
        };
        self.outstanding.queued(Place { op, ..place }, event.bytes, records.list.len());
        records.push(place.device, request);
        // Set afterwards: events stand in the order in which they were issued.
        if let Some(record) = records.list.last_mut() {
            record.request.arrival = SimTime(inserted.min(event.time));
        }
    }

    fn complete(&mut self, place: Place, event: &BlockEvent<'_>, records: &mut Records) {
        records.report.complete_events += 1;
        let Some(found) = self.outstanding.completed(place, event.bytes) else {
            // The end of a write with flush and FUA is told once more, without data.
            let report = &mut records.report;
            *(if event.bytes == 0 { &mut report.ignored_events } else { &mut report.unmatched_completions }) += 1;
            return;
        };
        let end = event.sector.saturating_add(event.bytes / SECTOR_BYTES);
        let next: Vec<u64> = found.iter().skip(1).map(|&i| records.list[i].request.sector).chain([end]).collect();
        let mut first = event.sector;
        for (index, next) in found.into_iter().zip(next) {
            let request = &mut records.list[index].request;
            request.phone_latency = Some(Nanos(event.time.saturating_sub(request.arrival.0)));
            let bytes = next.saturating_sub(first).saturating_mul(SECTOR_BYTES);
            if event.bytes > 0 && bytes > request.bytes {
                records.report.grown += 1;
                (request.sector, request.bytes) = (first, bytes);
            }
            first = next;
        }
    }
}
