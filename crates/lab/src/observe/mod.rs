//! What is kept of a run for those who want to see: a log of requests, a timeline, a series at a chosen step.
//!
//! # Glossary
//! - **log**: every request, with the stages of its way ([`Logging`]).
//! - **stage**: a part of the way of a request, such as a map flush that held it up ([`Stage`]).
//! - **timeline**: everything that takes time, as a file for the Perfetto UI ([`TimelineTo`]).
//! - **track**: a line of it, such as a die. **slice**: something on a track with a beginning and an end. **flow**:
//!   what ties the slices of a request together.
//! - **window**: the part of the run that a timeline shows ([`Window`]).
//! - **series**: sums and sizes for each interval of a step ([`SeriesTo`]).
//!
//! # Contract
//! The run loop tells what happens to requests ([`Event`]), and lets the watchers look before every event of the stack:
//! what was done since the look before is noted then, and nothing changes until the event. Watching changes nothing in
//! the run; a run that nobody watches pays one branch for each event.

mod log;
mod names;
mod protobuf;
mod records;
mod series;
mod stages;
mod timeline;
mod trace_file;
mod tracks;
mod window;

use ftl::{DeviceStats, Scope};
use ufs::Tag;
use units::SimTime;
use workload::report::phone::PhoneReport;
use workload::{Issued, Ticket};

use self::log::RequestLog;
pub(crate) use self::log::outcome;
pub use self::log::{LogSink, Logging};
pub use self::records::{LogPart, LogRow};
pub(crate) use self::records::{log_columns, trace_columns};
pub(crate) use self::series::SERIES;
use self::series::Series;
pub use self::series::{RowSink, SeriesTo, parse_step};
pub use self::stages::{STAGES, Stage};
use self::timeline::Timeline;
pub use self::timeline::TimelineTo;
pub use self::window::Window;
use crate::report::requests::Requests;
use crate::stack::{Seen, Stack};

/// What is wanted of a run beside its result. It changes nothing in the run.
#[derive(Debug, Default)]
pub struct Observe {
    /// A log of requests.
    pub log: Option<Logging>,
    /// A timeline.
    pub timeline: Option<TimelineTo>,
    /// A series at a chosen step.
    pub series: Option<SeriesTo>,
    /// Fine bins of latencies in the result, as fio's `json+` has them.
    pub bins: bool,
}

impl Observe {
    /// Nothing but a log.
    pub fn logging(log: Logging) -> Observe {
        Observe { log: Some(log), ..Observe::default() }
    }
}

/// What happens to requests in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// The workload hands one in.
    Entered(&'a Issued),
    /// The first measured one is about to be submitted; counters of the device until now.
    MeasuringBegins(&'a DeviceStats),
    /// The block layer hands one, with all that is merged with it, to the driver.
    ToDriver(Ticket),
    /// The driver ends one for which it has sent no command.
    Unsent(Ticket),
    /// A response to a command for one has come to the host.
    Response(Ticket, Tag),
    /// One completes.
    Completed(Ticket),
}

/// What there is to see when something happens.
pub(crate) struct Scene<'a> {
    /// Driver, link and device, with the time.
    pub stack: &'a mut Stack,
    /// Requests under way.
    pub requests: &'a mut Requests,
    /// Names of processes.
    pub processes: &'a [String],
}

/// Those who look on while a run goes on.
#[derive(Default)]
pub(crate) struct Watchers {
    log: Option<RequestLog>,
    timeline: Option<Timeline>,
    series: Option<Series>,
    /// How much driver, link and device note.
    scope: Scope,
    /// What they have done; kept for its memory.
    seen: Vec<Seen>,
}

impl Watchers {
    /// Watchers of a workload that begins now; `None` if nothing is wanted.
    pub fn new(wanted: Observe, stack: &mut Stack) -> Option<Box<Watchers>> {
        let Observe { log, timeline, series, bins: _ } = wanted;
        let any = log.is_some() || timeline.is_some() || series.is_some();
        any.then(|| {
            let log = log.map(|log| RequestLog::new(log, stack.now()));
            let timeline = timeline.map(|to| Timeline::new(to, stack));
            let mut watchers = Watchers { log, timeline, series: series.map(Series::new), ..Watchers::default() };
            watchers.watch(stack);
            Box::new(watchers)
        })
    }

    /// Has driver, link and device note what they do, as far as somebody wants to know.
    fn watch(&mut self, stack: &mut Stack) {
        let timeline = self.timeline.as_ref().is_some_and(Timeline::is_open);
        let scope = match (timeline, self.log.is_some()) {
            (true, _) => Scope::All,
            (false, true) => Scope::Waits,
            (false, false) => Scope::Nothing,
        };
        if scope != self.scope {
            self.scope = scope;
            stack.watch(scope);
        }
    }

    /// True if nobody wants more of the run.
    pub fn have_ended(&self) -> bool {
        self.log.as_ref().is_some_and(RequestLog::is_stopped) || self.series.as_ref().is_some_and(Series::is_stopped)
    }

    /// True if it matters where mappings of reads come from.
    pub fn want_outcomes(&self) -> bool {
        self.log.is_some() || self.series.is_some()
    }

    /// Before the event at `next`.
    #[inline(never)]
    pub fn look(&mut self, scene: &mut Scene<'_>, next: SimTime) {
        if let Some(series) = &mut self.series {
            series.look(scene.stack, scene.requests.outstanding(), next);
        }
        if let Some(log) = &mut self.log {
            scene.stack.take_seen(&mut self.seen);
            log.seen(&self.seen);
        }
        if let Some(timeline) = &mut self.timeline {
            scene.stack.take_seen(&mut self.seen);
            timeline.look(&self.seen, scene, next);
            self.watch(scene.stack);
        }
        self.seen.clear();
    }

    /// The device is about to lose its power: what it was doing ends here, and its counters with it.
    pub fn cut(&mut self, scene: &mut Scene<'_>) {
        scene.stack.take_seen(&mut self.seen);
        if let Some(log) = &mut self.log {
            log.seen(&self.seen);
            log.cut();
        }
        if let Some(timeline) = self.timeline.as_mut().filter(|timeline| timeline.is_open()) {
            let now = scene.stack.now();
            self.seen.extend(scene.stack.device.under_way(now).into_iter().map(Seen::Device));
            timeline.add(&self.seen, scene.stack);
        }
        if let Some(series) = &mut self.series {
            series.cut(scene.stack);
        }
        self.seen.clear();
    }

    /// It has its power again, and notes nothing yet.
    pub fn restarted(&mut self, stack: &mut Stack) {
        stack.watch(self.scope);
    }

    /// Something happens to a request.
    #[inline(never)]
    pub fn tell(&mut self, event: Event<'_>, scene: &mut Scene<'_>) {
        let Scene { stack, requests, processes } = scene;
        let now = stack.now();
        if let Some(log) = &mut self.log {
            match event {
                Event::Entered(issued) => log.entered(issued, now),
                Event::ToDriver(ticket) => log.spent(ticket, requests, Stage::Block, now),
                Event::Unsent(ticket) => log.spent(ticket, requests, Stage::Driver, now),
                Event::Response(ticket, tag) => log.responded(ticket, requests, tag, now),
                Event::Completed(ticket) => log.completed(ticket, requests.get(ticket), now, processes),
                Event::MeasuringBegins(_) => {}
            }
        }
        if let Some(series) = &mut self.series {
            match event {
                Event::MeasuringBegins(stats) => series.begin(now, stats),
                Event::Completed(ticket) => series.completed(requests.get(ticket), now),
                _ => {}
            }
        }
        if let Some(timeline) = &mut self.timeline {
            match event {
                Event::Entered(issued) => timeline.entered(issued, now),
                Event::Completed(ticket) => timeline.completed(ticket, requests.get(ticket), now, processes),
                _ => {}
            }
        }
    }

    /// The run has ended. False if whoever takes the log wants no more.
    pub fn end(&mut self, scene: &mut Scene<'_>) -> bool {
        self.series.iter_mut().for_each(|series| series.end(scene.stack));
        scene.stack.take_seen(&mut self.seen);
        if let Some(timeline) = &mut self.timeline {
            if timeline.is_open() {
                timeline.add(&self.seen, scene.stack);
            }
            timeline.end(scene, scene.stack.now());
        }
        scene.stack.watch(Scope::Nothing);
        self.log.as_mut().is_none_or(|log| {
            log.hand_over(scene.processes);
            !log.is_stopped()
        })
    }

    /// What the log has kept since the last call; `None` if there is none that keeps anything.
    pub fn take_log(&mut self, processes: &[String]) -> Option<LogPart> {
        self.log.as_mut().filter(|log| log.keeps()).map(|log| log.take(processes))
    }

    /// Writes what is left. `phone` is what happened on the phone, if the workload was one. Gives a notice of what is
    /// left out.
    ///
    /// # Errors
    /// If a file can not be written.
    pub fn finish(self, phone: Option<&PhoneReport>, run_ended: SimTime) -> std::io::Result<Option<String>> {
        let Some(mut timeline) = self.timeline else { return Ok(None) };
        phone.into_iter().for_each(|report| timeline.apps(report));
        timeline.finish(run_ended)
    }
}
