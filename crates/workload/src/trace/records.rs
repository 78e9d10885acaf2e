//! What a reader makes of a file, before it is put in order.

use std::collections::BTreeMap;

use units::Nanos;

use super::TraceError;
use crate::formats::text::Line;
use crate::{ProcessId, StreamId, TraceReport, WorkOp, WorkRequest};

/// Events that are written by several CPUs change places; a step back of this much is one of the clock.
const CLOCK_STEP: Nanos = Nanos(1_000_000_000);

/// Most names of other events that are told apart.
const MOST_OTHERS: usize = 64;

/// Names that a message tells.
const TOLD_OTHERS: usize = 5;

/// One request as its file has it: at its recorded time, in the addresses of its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TraceRecord {
    /// Number of the device in [`Records::devices`].
    pub device: u32,
    /// The request. Its arrival is the recorded time, its sector counts on its device.
    pub request: WorkRequest,
}

/// A step back of the clock, and the first request after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockStep {
    pub back: Nanos,
    pub file: StreamId,
    pub number: u64,
}

/// Everything that a reader has found.
#[derive(Default)]
pub(crate) struct Records {
    pub list: Vec<TraceRecord>,
    pub devices: Devices,
    pub names: Names,
    /// Events that are no requests.
    pub others: Others,
    pub report: TraceReport,
    /// The largest step back of the clock, if it is more than the disorder of several CPUs.
    pub clock_step: Option<ClockStep>,
    last: u64,
}

impl Records {
    /// A line cannot be read. If its file ends within it, what stands before it counts.
    ///
    /// # Errors
    /// Otherwise what is wrong with it.
    pub fn cut(&mut self, line: Line<'_>, file: &[u8], error: TraceError) -> Result<(), TraceError> {
        if !line.is_cut(file) || self.list.is_empty() {
            return Err(error);
        }
        self.report.cut.push(line.place());
        self.report.events -= 1;
        Ok(())
    }

    /// Adds a request, and counts it if it stands behind a later one. A read, write or trim of nothing is none.
    pub fn push(&mut self, device: u32, request: WorkRequest) {
        if request.bytes == 0 && request.op != WorkOp::Flush {
            self.report.ignored_queue_events += 1;
            return;
        }
        let back = self.last.saturating_sub(request.arrival.0);
        self.report.out_of_order += u64::from(back > 0);
        if back > self.clock_step.map_or(CLOCK_STEP.0 - 1, |step| step.back.0) {
            let (back, file, number) = (Nanos(back), request.stream, request.line);
            self.clock_step = Some(ClockStep { back, file, number });
        }
        self.last = request.arrival.0;
        self.list.push(TraceRecord { device, request });
    }
}

/// Counts of events that are no requests, by name: a message says what a trace has instead.
#[derive(Default)]
pub(crate) struct Others(BTreeMap<Vec<u8>, u64>);

impl Others {
    /// Counts events of a name; the empty one is none.
    pub fn count(&mut self, name: &[u8], events: u64) {
        if name.is_empty() {
            return;
        }
        if let Some(count) = self.0.get_mut(name) {
            *count += events;
        } else if self.0.len() < MOST_OTHERS {
            self.0.insert(name.to_vec(), events);
        }
    }

    /// The most frequent ones with their counts.
    pub fn most(&self) -> String {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let told = all.iter().take(TOLD_OTHERS);
        told.map(|(name, count)| format!("{} {count}", String::from_utf8_lossy(name))).collect::<Vec<_>>().join(", ")
    }
}

/// Names of devices, numbered as they come.
#[derive(Default)]
pub(crate) struct Devices {
    by_key: BTreeMap<Vec<u8>, u32>,
    names: Vec<String>,
    last: Option<(Vec<u8>, u32)>,
}

impl Devices {
    /// The number of a device, by the bytes that name it in the file. `name` is asked when it is a new one.
    pub fn index_of(&mut self, key: &[u8], name: impl FnOnce() -> String) -> u32 {
        if let Some((last, index)) = &self.last
            && last == key
        {
            return *index;
        }
        let index = match self.by_key.get(key) {
            Some(&index) => index,
            None => {
                let index = self.names.len() as u32;
                self.names.push(name());
                self.by_key.insert(key.to_vec(), index);
                index
            }
        };
        self.last = Some((key.to_vec(), index));
        index
    }

    /// Name of a device.
    pub fn name(&self, index: u32) -> &str {
        &self.names[index as usize]
    }
}

/// Names of processes: ids of the traced machine to indices of a table.
#[derive(Default)]
pub(crate) struct Names {
    by_pid: BTreeMap<u32, u16>,
    by_name: BTreeMap<String, u16>,
    /// Names by [`ProcessId`].
    pub table: Vec<String>,
}

impl Names {
    /// A note that tells the name of a process id.
    pub fn learn(&mut self, pid: u32, name: &str) {
        let index = self.index_of(name).0;
        self.by_pid.insert(pid, index);
    }

    /// Threads of one name share an entry. The table ends at 2^16 names; all further ones share its last entry.
    pub fn index_of(&mut self, name: &str) -> ProcessId {
        if let Some(&index) = self.by_name.get(name) {
            return ProcessId(index);
        }
        let index = self.table.len().min(usize::from(u16::MAX)) as u16;
        if self.table.len() < usize::from(u16::MAX) {
            self.table.push(name.to_owned());
        } else if self.table.len() == usize::from(u16::MAX) {
            self.table.push("(further processes)".to_owned());
        }
        self.by_name.insert(name.to_owned(), index);
        ProcessId(index)
    }

    /// Who has a process id.
    pub fn of(&mut self, pid: u32) -> ProcessId {
        if let Some(&index) = self.by_pid.get(&pid) {
            return ProcessId(index);
        }
        let process = self.index_of(&format!("pid {pid}"));
        self.by_pid.insert(pid, process.0);
        process
    }

    /// Whether this is a worker thread of the kernel.
    pub fn is_kworker(&self, process: ProcessId) -> bool {
        self.table.get(usize::from(process.0)).is_some_and(|name| name.starts_with("kworker"))
    }
}
