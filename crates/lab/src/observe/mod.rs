//! What is kept of a run over time, for those who want to see: a timeline, a series at a chosen step.
//!
//! # Glossary
//! - **timeline**: everything that takes time, as a file for the Perfetto UI ([`TimelineTo`]).
//! - **track**: a line of it, such as a die. **slice**: something on a track with a beginning and an end. **flow**:
//!   what ties the slices of a request together.
//! - **window**: the part of the run that a timeline shows ([`Window`]).
//! - **series**: sums and sizes for each interval of a step ([`SeriesTo`]).
//!
//! # Contract
//! The run loop looks here before every event: what was done since the look before is noted then, and nothing changes
//! until the event. Observing changes nothing in the run; a run that nobody observes pays one branch for an event and
//! for each place that would note something.

mod names;
mod protobuf;
mod steps;
mod timeline;
mod trace_file;
mod tracks;
mod window;

use ftl::DeviceStats;
use units::SimTime;
use workload::report::phone::PhoneReport;
use workload::{Issued, Ticket};

use self::steps::Steps;
pub use self::steps::{RowSink, SeriesTo, parse_step};
use self::timeline::Timeline;
pub use self::timeline::TimelineTo;
pub use self::window::Window;
use crate::requests::{Requests, Slot};
use crate::stack::Stack;

/// What is wanted.
#[derive(Debug, Default)]
pub struct Wanted {
    /// A timeline.
    pub timeline: Option<TimelineTo>,
    /// A series.
    pub series: Option<SeriesTo>,
}

/// Those who look on while a run goes on.
#[derive(Default)]
pub(crate) struct Observers {
    timeline: Option<Timeline>,
    steps: Option<Steps>,
}

impl Observers {
    /// Observers of a workload that begins now; `None` if nothing is wanted.
    pub fn new(wanted: Wanted, stack: &mut Stack) -> Option<Box<Observers>> {
        let Wanted { timeline, series } = wanted;
        let any = timeline.is_some() || series.is_some();
        any.then(|| {
            let timeline = timeline.map(|to| Timeline::new(to, stack));
            Box::new(Observers { timeline, steps: series.map(Steps::new) })
        })
    }

    /// True if nothing can be written any more.
    pub fn have_failed(&self) -> bool {
        let unwritten = self.timeline.as_ref().is_some_and(|timeline| timeline.failure().is_some());
        unwritten || self.steps.as_ref().is_some_and(Steps::is_stopped)
    }

    /// True if it matters where mappings of reads come from.
    pub fn want_outcomes(&self) -> bool {
        self.steps.is_some()
    }

    /// The measured part of the run begins.
    pub fn begin_measuring(&mut self, now: SimTime, stats: &DeviceStats) {
        self.steps.iter_mut().for_each(|steps| steps.begin(now, stats));
    }

    /// Before the event at `next`.
    #[inline(never)]
    pub fn look(&mut self, stack: &mut Stack, requests: &mut Requests, next: SimTime, processes: &[String]) {
        if let Some(steps) = &mut self.steps {
            steps.look(stack, requests.outstanding(), next);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.look(stack, requests, next, processes);
        }
    }

    /// The workload hands in a request.
    #[inline(never)]
    pub fn entered(&mut self, issued: &Issued, now: SimTime) {
        self.timeline.iter_mut().filter(|timeline| !timeline.has_ended()).for_each(|one| one.entered(issued, now));
    }

    /// A request completes.
    #[inline(never)]
    pub fn completed(&mut self, ticket: Ticket, slot: &Slot, now: SimTime, processes: &[String]) {
        self.steps.iter_mut().for_each(|steps| steps.completed(slot, now));
        self.timeline.iter_mut().for_each(|timeline| timeline.completed(ticket, slot, now, processes));
    }

    /// The run has ended.
    pub fn end(&mut self, stack: &mut Stack, requests: &mut Requests, processes: &[String]) {
        self.steps.iter_mut().for_each(|steps| steps.end(stack));
        let now = stack.now();
        self.timeline.iter_mut().for_each(|timeline| timeline.end(stack, requests, now, processes));
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
