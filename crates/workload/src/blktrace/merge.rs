//! Events of all files become one trace.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::{Nanos, SimTime};

use super::record::{Event, Events, Kind, category};
use crate::source::LATEST;
use crate::{DeviceId, Flags, ProcessId, StreamId, Trace, TraceError, TraceReport, WorkOp, WorkRequest};

/// Builds the trace of one device.
///
/// # Errors
/// [`TraceError::SeveralDevices`], [`TraceError::UnknownDevice`], [`TraceError::NoRequests`],
/// [`TraceError::BeyondModel`], [`TraceError::TooLate`].
pub(super) fn trace(
    name: &str,
    files: Vec<String>,
    mut events: Events,
    wanted: Option<DeviceId>,
) -> Result<Trace, TraceError> {
    let device = choose_device(name, &events, wanted)?;
    events.list.sort_by_key(|e| e.time);
    let mut builder = Builder {
        requests: Vec::with_capacity(events.list.len() / 2),
        names: Names::default(),
        outstanding: Outstanding::default(),
        report: TraceReport { device: DeviceId::from_dev_t(device), ..events.report },
    };
    for event in &events.list {
        match event.kind {
            Kind::Name(index) => builder.names.learn(event.pid, &events.names[index as usize]),
            _ if event.device != device => builder.report.other_device_events += 1,
            Kind::Queue => builder.queue(event, &files)?,
            Kind::Complete => builder.complete(event),
        }
    }
    let Builder { mut requests, names, outstanding, mut report } = builder;
    let start = requests.first().map_or(0, |r| r.arrival.0);
    for request in &mut requests {
        request.arrival.0 -= start;
        report.count(request);
    }
    let Some(last) = requests.last() else {
        return Err(TraceError::NoRequests { name: name.into(), events: report.events });
    };
    if last.arrival > LATEST {
        let (file, event) = (files[usize::from(last.stream.0)].clone(), last.line);
        return Err(TraceError::TooLate { file, event, after_ns: last.arrival.0, most_ns: LATEST.0 });
    }
    report.duration = last.arrival.since(SimTime::START);
    report.unmatched_requests = outstanding.count();
    Ok(Trace { name: name.into(), requests, processes: names.table, files, report })
}

fn choose_device(name: &str, events: &Events, wanted: Option<DeviceId>) -> Result<u32, TraceError> {
    let list = |devices: &BTreeSet<u32>| {
        let names: Vec<_> = devices.iter().map(|&d| DeviceId::from_dev_t(d).to_string()).collect();
        names.join(", ")
    };
    let devices = &events.devices;
    match (devices.first(), wanted) {
        (None, _) => Err(TraceError::NoRequests { name: name.into(), events: events.report.events }),
        (_, Some(wanted)) => devices
            .iter()
            .copied()
            .find(|&d| DeviceId::from_dev_t(d) == wanted)
            .ok_or_else(|| TraceError::UnknownDevice { name: name.into(), wanted, devices: list(devices) }),
        (Some(&only), None) if devices.len() == 1 => Ok(only),
        _ => Err(TraceError::SeveralDevices { name: name.into(), devices: list(devices) }),
    }
}

struct Builder {
    requests: Vec<WorkRequest>,
    names: Names,
    outstanding: Outstanding,
    report: TraceReport,
}

impl Builder {
    fn queue(&mut self, event: &Event, files: &[String]) -> Result<(), TraceError> {
        self.report.queue_events += 1;
        let has = |bit: u32| event.category & bit != 0;
        let op = match event.bytes {
            _ if has(category::PC) => None,
            0 => has(category::FLUSH).then_some(WorkOp::Flush),
            _ if has(category::DISCARD) => Some(WorkOp::Trim),
            _ if has(category::WRITE) => Some(WorkOp::Write),
            _ => Some(WorkOp::Read),
        };
        let Some(op) = op else {
            self.report.ignored_queue_events += 1;
            return Ok(());
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
            process: self.names.of(event.pid),
            stream: StreamId(event.file),
        };
        if request.end_unit() > u64::from(u32::MAX) {
            return Err(TraceError::BeyondModel {
                file: files[usize::from(event.file)].clone(),
                event: event.number,
                sector: event.sector,
                bytes: request.bytes,
            });
        }
        self.outstanding.queued(event, self.requests.len());
        self.requests.push(request);
        Ok(())
    }

    fn complete(&mut self, event: &Event) {
        self.report.complete_events += 1;
        let requests = &mut self.requests;
        let found = self.outstanding.completed(event, |index| {
            let request = &mut requests[index];
            request.phone_latency = Some(Nanos(event.time.saturating_sub(request.arrival.0)));
        });
        self.report.unmatched_completions += u64::from(!found);
    }
}

/// Queue events that wait for their complete event, by direction and first sector.
#[derive(Default)]
struct Outstanding {
    waiting: BTreeMap<(u32, u64), VecDeque<(u32, usize)>>,
}

/// Reads complete reads, writes writes, and discards discards.
fn direction(event: &Event) -> u32 {
    event.category & (category::WRITE | category::DISCARD)
}

impl Outstanding {
    fn queued(&mut self, event: &Event, index: usize) {
        self.waiting.entry((direction(event), event.sector)).or_default().push_back((event.bytes, index));
    }

    /// Matches a completion: the oldest request of the same place and length, else (requests merged on their way down
    /// complete as one) every request inside its range. Returns whether there was any.
    fn completed(&mut self, event: &Event, mut each: impl FnMut(usize)) -> bool {
        let first = (direction(event), event.sector);
        if let Some(queue) = self.waiting.get_mut(&first)
            && let Some(at) = queue.iter().position(|&(bytes, _)| bytes == event.bytes)
        {
            queue.remove(at).into_iter().for_each(|(_, index)| each(index));
            if queue.is_empty() {
                self.waiting.remove(&first);
            }
            return true;
        }
        let end = event.sector.saturating_add(u64::from(event.bytes).div_ceil(crate::SECTOR_BYTES));
        let inside = |sector: u64, bytes: u32| sector + u64::from(bytes).div_ceil(crate::SECTOR_BYTES) <= end;
        let mut found = false;
        let mut emptied = Vec::new();
        for (&key, queue) in self.waiting.range_mut(first..(first.0, end.max(event.sector))) {
            queue.retain(|&(bytes, index)| {
                let matches = bytes > 0 && inside(key.1, bytes);
                if matches {
                    each(index);
                    found = true;
                }
                !matches
            });
            if queue.is_empty() {
                emptied.push(key);
            }
        }
        emptied.iter().for_each(|key| drop(self.waiting.remove(key)));
        found
    }

    fn count(&self) -> u64 {
        self.waiting.values().map(|queue| queue.len() as u64).sum()
    }
}

/// Names of processes: ids of the traced machine to indices of a table.
#[derive(Default)]
struct Names {
    by_pid: BTreeMap<u32, u16>,
    by_name: BTreeMap<String, u16>,
    table: Vec<String>,
}

impl Names {
    fn learn(&mut self, pid: u32, name: &str) {
        let index = self.index_of(name);
        self.by_pid.insert(pid, index);
    }

    /// Threads of one name share an entry. The table ends at 2^16 names; all further ones share its last entry.
    fn index_of(&mut self, name: &str) -> u16 {
        if let Some(&index) = self.by_name.get(name) {
            return index;
        }
        let index = self.table.len().min(usize::from(u16::MAX)) as u16;
        if self.table.len() < usize::from(u16::MAX) {
            self.table.push(name.to_owned());
        } else if self.table.len() == usize::from(u16::MAX) {
            self.table.push("(further processes)".to_owned());
        }
        self.by_name.insert(name.to_owned(), index);
        index
    }

    fn of(&mut self, pid: u32) -> ProcessId {
        let index = match self.by_pid.get(&pid) {
            Some(&index) => index,
            None => {
                let index = self.index_of(&format!("pid {pid}"));
                self.by_pid.insert(pid, index);
                index
            }
        };
        ProcessId(index)
    }
}
