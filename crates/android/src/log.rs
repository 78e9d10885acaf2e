//! The record of a run: uses, kills, samples of memory, and on request every read.

use units::{AppId, Nanos, SimTime};
use workload::ReadOutcome;

use crate::access::Extent;
use crate::app::App;
use crate::killer::CATEGORIES;
use crate::report::{Kill, LoggedRead, PhoneReport, Reads, Sample, Use};
use crate::thread::Thread;

/// What an app is doing when it reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// It is being launched.
    Launch,
    /// It loads.
    Loading,
    /// It runs in the foreground.
    Run,
    /// It is in the background.
    Background,
}

/// A read that has completed.
#[derive(Clone, Copy, Debug)]
pub struct ReadRow {
    /// The app that has read.
    pub app: AppId,
    /// Phase of the app when the read was issued.
    pub phase: Phase,
    /// Index of the use during which it was issued.
    pub number: usize,
    /// The units read.
    pub extent: Extent,
    /// Time of issue.
    pub issued: SimTime,
    /// Where the device found the mapping.
    pub outcome: ReadOutcome,
}

/// The user's touch of an app, which starts a use.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub app: AppId,
    /// Number of its launch.
    pub launch: u32,
    /// True if the app's process was gone.
    pub cold: bool,
    /// Time in the scenario.
    pub at: Nanos,
    /// Time of the simulation.
    pub now: SimTime,
}

/// Collects the report of a run and, if asked to, every read.
#[derive(Debug)]
pub struct Log {
    report: PhoneReport,
    reads: Option<Vec<LoggedRead>>,
    /// Start of the use under way, and the times since then at which its misses were issued.
    start: SimTime,
    misses: Vec<Nanos>,
    /// Fetches of the driver before the use under way.
    fetches: u64,
    /// The use during which the driver fetches, until the next answer.
    fetching: Option<usize>,
}

impl Log {
    /// An empty record of the phone's apps.
    pub fn new(apps: &[App], users: usize, effective_bytes: u64) -> Log {
        let report = PhoneReport {
            apps: apps.iter().map(|app| app.name.clone()).collect(),
            titles: apps.iter().map(|app| app.title.clone()).collect(),
            io: apps.iter().map(|app| app.traced.as_ref().map_or("model".into(), |t| t.trace.clone())).collect(),
            users,
            categories: CATEGORIES.iter().map(|&name| name.to_owned()).collect(),
            background: vec![Reads::default(); apps.len()],
            effective_bytes,
            ..PhoneReport::default()
        };
        Log { report, reads: None, start: SimTime::START, misses: Vec::new(), fetches: 0, fetching: None }
    }

    /// Keeps every read from now on.
    pub fn keep_reads(&mut self) {
        self.reads = Some(Vec::new());
    }

    /// Takes the reads, if they were kept.
    pub fn take_reads(&mut self) -> Option<Vec<LoggedRead>> {
        self.reads.take()
    }

    /// The report without the reads.
    pub fn report(&self, duration: Nanos) -> PhoneReport {
        PhoneReport { duration_ns: duration.0, ..self.report.clone() }
    }

    /// Starts a use.
    pub fn use_begins(&mut self, touch: Touch) {
        let Touch { app, launch, cold, at, now } = touch;
        let app = self.report.apps[app.index() - 1].clone();
        self.report.uses.push(Use { app, launch, cold, at_ns: at.0, ..Use::default() });
        self.start = now;
        self.misses.clear();
    }

    /// The launch of the app in use has ended after `took`, of which `compute` was computing.
    pub fn launched(&mut self, took: Nanos, compute: Nanos, thread: &Thread) {
        let u = self.report.uses.last_mut().expect("a use is under way");
        (u.launch_ns, u.compute_ns) = (took.0, compute.0);
        (u.blocked_ns, u.stalled_ns) = (thread.blocked.0, thread.stalled.0);
    }

    /// The loading of the app in use has ended `took` after the touch.
    pub fn loaded(&mut self, took: Nanos, thread: &Thread) {
        let u = self.report.uses.last_mut().expect("a use is under way");
        u.loading_ns = Some(took.0);
        u.loading_blocked_ns = Some(u.blocked_ns + thread.blocked.0);
    }

    /// Ends a use: the user has left the app.
    pub fn use_ended(&mut self, now: SimTime) {
        let u = self.report.uses.last_mut().expect("a use is under way");
        u.duration_ns = now.since(self.start).0;
        for miss in self.misses.drain(..) {
            u.misses_by_tenth[(miss.0 * 10 / u.duration_ns.max(1)).min(9) as usize] += 1;
        }
    }

    /// The driver has fetched mappings by `fetches` commands until now, the boundary between the use before and the
    /// latest one, or the end of the latest.
    pub fn fetched(&mut self, fetches: u64) {
        if let Some(before) = self.fetching {
            self.report.uses[before].fetches = fetches - self.fetches;
        }
        self.fetches = fetches;
        self.fetching = self.report.uses.len().checked_sub(1);
    }

    /// Counts a completed read. Times in the log of reads are relative to `began`.
    pub fn read(&mut self, row: ReadRow, now: SimTime, began: SimTime) {
        let place = row.app.index() - 1;
        if let Some(u) = self.report.uses.get_mut(row.number) {
            let counts = match row.phase {
                Phase::Launch => &mut u.launch_reads,
                Phase::Loading => &mut u.loading_reads,
                Phase::Run => &mut u.run_reads,
                Phase::Background => &mut u.background_reads,
            };
            counts.count(row.outcome);
        }
        if row.phase == Phase::Background {
            self.report.background[place].count(row.outcome);
        } else if row.outcome == ReadOutcome::Map && row.issued >= self.start {
            self.misses.push(row.issued.since(self.start));
        }
        let Some(reads) = &mut self.reads else { return };
        reads.push(LoggedRead {
            at_ns: row.issued.since(began).0,
            latency_ns: now.since(row.issued).0,
            extent: row.extent,
            r#use: row.number as u32,
            app: place as u16,
            phase: row.phase as u16,
            outcome: row.outcome,
        });
    }

    /// The killer has decided, and the driver has answered.
    pub fn kill(&mut self, kill: Kill) {
        self.report.kills.push(kill);
    }

    /// The state of memory at a moment.
    pub fn sample(&mut self, sample: Sample) {
        self.report.timeline.push(sample);
    }
}
