//! Workloads generated from a description in TOML: what an app reads, writes and discards, as requests of a phone.
//!
//! # Glossary
//! - **description**: a file with a table `[generated]`, what is common, and a table `[activity.NAME]` for each
//!   **activity**, something that reads or writes, with its volume and its pattern.
//! - **segment**: 2 MiB of the volume, in which F2FS allocates ([`volume`]).
//! - **piece**: a run of an activity's blocks that lie side by side. On an **aged** volume pieces are short.
//! - **burst**: what an activity issues at one moment, on one processor.
//! - **commit**: the block of file-system metadata that ends an fsync on F2FS: written with preflush and FUA.
//!
//! # Contract
//! - A description and a seed give one trace, with the bytes of each activity exact to the unit of 4 KiB. It is
//!   replayed as every trace is; its processors are the streams of a closed replay.
//! - Activities go side by side: the next burst is that of the activity which is least far with its volume.
//! - Constants that describe the file system are measured: see [`volume`]. Those of an app stand in its description.

mod activity;
mod spec;
mod volume;

use units::{Nanos, SimTime};

use self::activity::Work;
pub use self::spec::{Generated, GeneratedError};
pub use self::volume::Layout;
use self::volume::below;
pub(crate) use self::volume::{Blocks, Piece, SEGMENT_UNITS, Volume};
use crate::rng::named_stream;
use crate::trace::{Recorded, TraceDevice, TraceReport};
use crate::{ProcessId, StreamId, Trace, WorkRequest};

impl Generated {
    /// The trace of the description under a seed; `name` is its name in reports.
    ///
    /// # Errors
    /// [`GeneratedError`] if the volume has not enough segments.
    pub fn trace(&self, name: &str, seed: u64) -> Result<Trace, GeneratedError> {
        let mut volume = Volume::new(self.common.volume_mib, named_stream(seed, "volume", 0));
        let mut processor = named_stream(seed, "processors", 0);
        let layout = self.common.layout;
        let mut works: Vec<Work> = self.activities.iter().map(|a| Work::new(a, layout, seed)).collect();
        let total: u64 = works.iter().map(Work::total).sum();
        let duration = Nanos(u64::from(self.common.seconds) * 1_000_000_000);
        let mut requests = Vec::new();
        let mut done = 0;
        while let Some(number) = least_far(&works) {
            let first = requests.len();
            let before = works[number].done();
            works[number].burst(&mut volume, &mut requests).map_err(|problem| self.too_small(problem))?;
            let arrival = SimTime((u128::from(duration.0) * u128::from(done) / u128::from(total)) as u64);
            let stream = StreamId(below(&mut processor, self.common.processors) as u16);
            for (behind, request) in requests[first..].iter_mut().enumerate() {
                request.line = (first + behind + 1) as u64;
                (request.arrival, request.stream, request.process) = (arrival, stream, ProcessId(number as u16));
            }
            done += works[number].done() - before;
        }
        Ok(self.finished(name, seed, requests))
    }

    /// Gives the requests their names and counts.
    fn finished(&self, name: &str, seed: u64, requests: Vec<WorkRequest>) -> Trace {
        let origin = format!("generated from {name} under seed {seed}").replace(char::is_control, "_");
        // Pieces are as long as the requests of traces that were recorded there.
        let recorded = Recorded::Above;
        let mut report = TraceReport { files: 1, origin: vec![origin], recorded, ..TraceReport::default() };
        requests.iter().for_each(|request| report.count(request));
        report.duration = requests.last().map_or(Nanos::ZERO, |last| last.arrival.since(SimTime::START));
        let sectors = u64::from(self.common.volume_mib) * (units::MIB / crate::SECTOR_BYTES);
        let device = TraceDevice { name: "volume".into(), first_sector: 0, sectors, requests: requests.len() as u64 };
        Trace {
            name: name.into(),
            requests,
            processes: self.activities.iter().map(|activity| activity.name.clone()).collect(),
            files: (0..self.common.processors).map(|number| format!("cpu{number}")).collect(),
            devices: vec![device],
            report,
            ..Trace::default()
        }
    }
}

/// The activity that has done the smallest part of its volume, and is not done; of equals the first.
fn least_far(works: &[Work]) -> Option<usize> {
    let left = works.iter().enumerate().filter(|(_, work)| work.done() < work.total());
    let part = |work: &Work| u128::from(work.done()) * (1 << 64) / u128::from(work.total());
    left.min_by_key(|(_, work)| part(work)).map(|(number, _)| number)
}

#[cfg(test)]
mod tests;
