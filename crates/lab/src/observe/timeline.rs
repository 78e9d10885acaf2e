//! A timeline of a run, as a file of Perfetto's trace format: what dies, channels, link and firmware were busy with,
//! how full queues and buffers were, and the requests.
//!
//! Times count from the beginning of the workload. What overlaps the window is in it. What has begun before is cut off;
//! what goes on at the end, or when there are so many events as were allowed, has no end in the file. The rest of the
//! run notes nothing.

use std::fmt;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use files::{Append, FileError, Files, Real};
use ftl::{Event, Origin, Work};
use nand::Resource;
use ufs::PowerSpan;
use units::{Nanos, SimTime};
use workload::report::phone::PhoneReport;
use workload::{Issued, Ticket, WorkOp};

use super::Scene;
use super::names::{NAMES, cause_name, power_name, work_name};
use super::trace_file::{Name, Slice, Told, TraceFile};
use super::tracks::{COUNTERS, Track, Values, values};
use super::window::Window;
use crate::error::LabError;
use crate::options::Spec;
use crate::report::requests::Slot;
use crate::stack::{Seen, Stack};

/// What is wanted of a timeline, and where it goes.
pub struct TimelineTo {
    /// The file.
    pub out: Box<dyn Write + Send>,
    /// The part of the run that is wanted.
    pub window: Window,
    /// Events at most.
    pub most: u64,
    /// What the run is called in it.
    pub name: String,
}

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 20;

impl TimelineTo {
    /// A timeline of `spec` in an empty file, which its maker gives its name when it is complete.
    ///
    /// # Errors
    /// [`LabError::Config`] for a `window` that is none, [`LabError::Output`] if the file can not be written to.
    pub fn file(path: &Path, window: &str, most: u64, spec: &Spec) -> Result<TimelineTo, LabError> {
        let window = Window::parse(window)?;
        let file = Real.open(path, true).and_then(Append::new).map_err(|error| FileError::new(path, error))?;
        let name = format!("{}: {}", spec.scheme, spec.workload);
        Ok(TimelineTo { out: Box::new(BufWriter::with_capacity(CHUNK, file)), window, most, name })
    }
}

impl fmt::Debug for TimelineTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimelineTo({:?}, at most {})", self.window, self.most)
    }
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Entered {
    at: SimTime,
    /// Its number among all requests.
    number: u64,
}

/// After the end of every timeline.
const LATER: SimTime = SimTime(u64::MAX);

/// Flows of writes have numbers of their own: those that stand for the data.
const OF_WRITE: u64 = 1 << 62;

/// A timeline that is being written.
pub(super) struct Timeline {
    file: TraceFile,
    start: SimTime,
    window: Range<SimTime>,
    most: u64,
    /// It is between the borders of its window.
    open: bool,
    /// When it ended; `None` until then.
    ended: Option<SimTime>,
    /// It ended because there were too many events.
    full: bool,
    counters: Option<Values>,
    requests: Vec<Option<Entered>>,
    /// Rows of requests that the file has.
    rows: usize,
    entered: u64,
}

impl Timeline {
    /// An empty timeline of a workload that begins now.
    pub fn new(to: TimelineTo, stack: &Stack) -> Timeline {
        let start = stack.now();
        let window = to.window.from(start);
        let open = window.start <= start;
        let mut file = TraceFile::new(to.out, &to.name, NAMES.to_vec());
        let geometry = stack.device.geometry();
        let fixed = [Track::Host, Track::Link, Track::Firmware, Track::Flash, Track::Down, Track::Up, Track::Thread];
        let jobs = [Track::Jobs, Track::Beside];
        let counters = (0..COUNTERS.len() as u32).map(Track::Counter);
        let channels = (0..geometry.channels).map(Track::Channel);
        let dies = (0..geometry.dies()).map(Track::Die);
        let state = stack.has_power_states().then_some(Track::State);
        let tracks = fixed.into_iter().chain(jobs).chain(state).chain(counters).chain(channels).chain(dies);
        tracks.for_each(|track| file.track(track));
        Timeline {
            file,
            start,
            window,
            most: to.most,
            open,
            ended: None,
            full: false,
            counters: None,
            requests: Vec::new(),
            rows: 0,
            entered: 0,
        }
    }

    /// The workload hands in a request now.
    pub fn entered(&mut self, issued: &Issued, now: SimTime) {
        if self.ended.is_some() {
            return;
        }
        let place = issued.ticket.index();
        if self.requests.len() <= place {
            self.requests.resize(place + 1, None);
        }
        self.entered += 1;
        self.requests[place] = Some(Entered { at: now, number: self.entered });
    }

    /// A request completes now.
    pub fn completed(&mut self, ticket: Ticket, slot: &Slot, now: SimTime, processes: &[String]) {
        let Some(entered) = self.requests.get_mut(ticket.index()).and_then(Option::take) else { return };
        if self.open {
            self.request(ticket, entered, slot, Some(now), processes);
        }
    }

    /// A request that has ended, or goes on.
    fn request(&mut self, ticket: Ticket, entered: Entered, slot: &Slot, ended: Option<SimTime>, processes: &[String]) {
        while self.rows <= ticket.index() {
            self.file.track(Track::Requests(self.rows as u32));
            self.rows += 1;
        }
        let process = processes.get(usize::from(slot.app.0)).filter(|name| !name.is_empty());
        let mut told = vec![Told::Number("lba_units", slot.lpa.0.into()), Told::Number("units", slot.len.into())];
        told.extend(ended.map(|ended| Told::Number("latency_ns", ended.since(slot.arrival).0)));
        told.extend(process.map(|process| Told::Text("process", process)));
        let flows = [entered.number, OF_WRITE | u64::from(slot.number)];
        let submitted_write = slot.kind == WorkOp::Write && slot.number > 0;
        let flows = if submitted_write { &flows[..] } else { &flows[..1] };
        let (track, name) = (Track::Requests(ticket.0), Name::Known(slot.kind.name()));
        self.slice(entered.at..ended.unwrap_or(LATER), Slice { flows, told: &told, ..Slice::of(track, name) });
    }

    /// Everything of the event before the one at `next` is done.
    pub fn look(&mut self, seen: &[Seen], scene: &mut Scene<'_>, next: SimTime) {
        if self.ended.is_some() {
            return;
        }
        let now = scene.stack.now();
        if self.open {
            self.add(seen, scene.stack);
            self.count(scene, now);
        } else if next >= self.window.start {
            self.open = true;
            self.count(scene, self.window.start.max(now));
        }
        self.full = self.file.events() >= self.most;
        if self.full || self.file.has_failed() {
            self.end(scene, now);
        } else if next >= self.window.end {
            self.end(scene, self.window.end);
        }
    }

    /// True while it takes in what is done.
    pub fn is_open(&self) -> bool {
        self.open && self.ended.is_none()
    }

    /// Ends the timeline at `at`, before the next event.
    pub fn end(&mut self, scene: &mut Scene<'_>, at: SimTime) {
        if self.ended.is_some() {
            return;
        }
        self.window.end = self.window.end.min(at);
        if self.open {
            let under_way: Vec<_> = scene.stack.device.under_way(LATER).into_iter().map(Seen::Device).collect();
            self.add(&under_way, scene.stack);
            let spans = scene.stack.open_power_spans(at);
            for (place, &span) in (1..).zip(&spans) {
                self.power(if place == spans.len() { PowerSpan { ended: LATER, ..span } } else { span });
            }
            for (place, entered) in std::mem::take(&mut self.requests).into_iter().enumerate() {
                let ticket = Ticket(place as u32);
                if let Some(entered) = entered {
                    self.request(ticket, entered, scene.requests.get(ticket), None, scene.processes);
                }
            }
            // So that the timeline lasts until here.
            self.counters = None;
            self.count(scene, at);
        }
        self.ended = Some(at.max(self.window.start));
    }

    /// The apps of a phone, which are known in the end.
    pub fn apps(&mut self, report: &PhoneReport) {
        let mut name = String::new();
        self.file.track(Track::Apps);
        for used in &report.uses {
            let began = self.start + Nanos(used.at_ns);
            let how = if used.cold { "cold" } else { "warm" };
            let told = [Told::Text("start", how), Told::Number("launch_ns", used.launch_ns)];
            let slice = Slice { told: &told, ..Slice::of(Track::Apps, Name::Text(&used.app)) };
            self.slice(began..began + Nanos(used.duration_ns), slice);
        }
        for kill in report.kills.iter().filter(|kill| !kill.spared) {
            let at = self.start + Nanos(kill.at_ns);
            if self.window.contains(&at) {
                name.clear();
                name.extend(["killed: ", &kill.app]);
                self.file.instant(Track::Apps, Name::Text(&name), at.since(self.start).0);
            }
        }
    }

    /// Writes what is left, and says what is left out.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn finish(self, run_ended: SimTime) -> std::io::Result<Option<String>> {
        let end = self.ended.unwrap_or(run_ended).since(self.start);
        let seconds = |time: Nanos| time.0 as f64 / 1e9;
        let events = self.file.events();
        let notice = if self.full {
            Some(format!(
                "the timeline ends at {:.6} s of {:.6} s, after {events} events; --timeline-window (timeline_window) \
                 takes another part of the run",
                seconds(end),
                seconds(run_ended.since(self.start))
            ))
        } else if !self.open {
            Some(format!(
                "the timeline is empty: the run ended after {:.6} s, before --timeline-window (timeline_window)",
                seconds(run_ended.since(self.start))
            ))
        } else {
            None
        };
        self.file.finish()?;
        Ok(notice)
    }

    /// What has been done since the last look: by the device, on the link, in power states.
    pub fn add(&mut self, seen: &[Seen], stack: &Stack) {
        for (place, one) in seen.iter().enumerate() {
            let Seen::Device(event) = one else { continue };
            let later = seen[place + 1..].iter().map_while(|one| match one {
                Seen::Device(Event::For(origin)) => Some(*origin),
                _ => None,
            });
            self.device(event, later, stack);
        }
        for one in seen {
            if let &Seen::Message { up, op, began, ended } = one {
                let track = if up { Track::Up } else { Track::Down };
                self.slice(began..ended, Slice::of(track, Name::Known(op)));
            }
        }
        for one in seen {
            if let &Seen::Power(span) = one {
                self.power(span);
            }
        }
    }

    fn power(&mut self, span: PowerSpan) {
        self.slice(span.began..span.ended, Slice::of(Track::State, Name::Known(power_name(span.state))));
    }

    fn device(&mut self, event: &Event, origins: impl Iterator<Item = Origin>, stack: &Stack) {
        match *event {
            Event::Flash(nand::Usage { resource: Resource::Channel(channel), op, began, ended }) => {
                let name = Name::Known(cause_name(op.cause));
                self.slice(began..ended, Slice::of(Track::Channel(channel.into()), name));
            }
            Event::Flash(nand::Usage { resource: Resource::Die(die), op, began, ended }) => {
                let flows: Vec<u64> = origins.filter_map(|origin| self.flow(origin, stack)).collect();
                let told = [Told::Number("units", op.work.units().into())];
                let slice = Slice::of(Track::Die(die.into()), Name::Known(cause_name(op.cause)));
                self.slice(began..ended, Slice { flows: &flows, told: &told, ..slice });
            }
            Event::Firmware { work, began, ended } => {
                let track = match work {
                    // Seals may cost nothing.
                    Work::Command(_) | Work::Seals if began == ended => return,
                    Work::Command(_) | Work::Seals => Track::Thread,
                    Work::FlushBeside => Track::Beside,
                    Work::MapFlush | Work::Gc | Work::MetaGc | Work::Recovery => Track::Jobs,
                };
                self.slice(began..ended, Slice::of(track, Name::Known(work_name(work))));
            }
            Event::For(_) | Event::Stayed { .. } => {}
        }
    }

    /// The number of the flow of a request.
    fn flow(&self, origin: Origin, stack: &Stack) -> Option<u64> {
        match origin {
            Origin::Write(stamp) => Some(OF_WRITE | u64::from(stamp)),
            Origin::Command(tag) => {
                let request = stack.driver.in_flight(tag)?.request;
                let entered = self.requests.get(Ticket(request).index())?;
                entered.map(|entered| entered.number)
            }
        }
    }

    /// Adds a slice as far as it lies within the window.
    fn slice(&mut self, lasts: Range<SimTime>, slice: Slice) {
        let Range { start, end } = &self.window;
        let before = lasts.end < *start || lasts.end == *start && lasts.start < *start;
        if !before && lasts.start < *end {
            let since = |at: SimTime| at.since(self.start).0;
            let ended = (lasts.end <= *end).then(|| since(lasts.end));
            self.file.slice(&Slice { began: since(lasts.start.max(*start)), ended, ..slice });
        }
    }

    /// Adds the counters that have changed.
    fn count(&mut self, scene: &Scene<'_>, now: SimTime) {
        let stack = &scene.stack;
        let host = [
            u64::from(scene.requests.outstanding()),
            u64::from(stack.driver.commands_in_flight()),
            stack.driver.memory_bytes(),
        ];
        let all = values(host, u64::from(stack.device.operations_in_flight()), &stack.device.levels());
        let before = self.counters.replace(all);
        for (place, value) in all.into_iter().enumerate() {
            if before.is_none_or(|before| before[place] != value) {
                self.file.value(place, value, now.since(self.start).0);
            }
        }
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timeline({:?}, {} events)", self.window, self.file.events())
    }
}
