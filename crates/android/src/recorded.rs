//! Uses of apps as recorded on a real phone: which app read and wrote what, with times counted from its launch.
//!
//! A scenario with a table `[recorded]` names a block trace whose processes are apps, and lists their uses. The
//! requests between an app's launch and its first frame become a thread. It computes for as long as the phone had
//! nothing outstanding for it, and waits for each read, so that a faster device gives a shorter launch. All other
//! requests come at their recorded times.

use std::path::Path;

use units::{Lpa, Nanos, SimTime};
use workload::{ProcessId, Session, Trace, TraceOptions, WorkOp, WorkRequest};

use crate::access::Extent;
use crate::app::App;
use crate::report::RecordedKill;
use crate::toml_reader::{ScenarioError, Section};

/// A read of a launch, and how long the app computes before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchRead {
    /// Computing before it.
    pub compute: Nanos,
    /// The units read.
    pub extent: Extent,
}

/// A request outside of launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedIo {
    /// From the start of the use.
    pub at: Nanos,
    /// Index of the app in the scenario.
    pub app: usize,
    /// Read, write or trim.
    pub op: WorkOp,
    /// Its units.
    pub extent: Extent,
}

/// One use of an app as it was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedUse {
    /// Index of the app in the scenario.
    pub app: usize,
    /// True if its process was gone before the launch.
    pub cold: bool,
    /// Time to the next app's launch.
    pub duration: Nanos,
    /// The launch's reads.
    pub launch: Vec<LaunchRead>,
    /// Computing after the last read of the launch.
    pub tail: Nanos,
    /// All other requests: the app's own after its launch, and those of all others.
    pub io: Vec<TimedIo>,
}

/// What was recorded on a phone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// Uses in order of time.
    pub uses: Vec<RecordedUse>,
    /// Kills, for comparison with those of the simulation; their times count from the first use.
    pub kills: Vec<RecordedKill>,
    /// Highest unit that the trace touches, plus 1.
    pub units: u64,
    /// Name of the trace, for messages.
    trace: String,
}

/// A use as listed in its table.
struct ListedUse {
    app: usize,
    at: Nanos,
    launched: Option<Nanos>,
    cold: bool,
}

const SECONDS: std::ops::RangeInclusive<f64> = 0.0..=1e9;

impl Recorded {
    /// Reads the table; the trace's path is relative to `directory`.
    ///
    /// # Errors
    /// Line and key of what is wrong in the table, or the error of the trace.
    pub(crate) fn read(mut section: Section<'_>, apps: &[App], directory: &Path) -> Result<Recorded, ScenarioError> {
        let name = section.string("trace")?.ok_or_else(|| section.missing("trace"))?;
        let mut uses: Vec<ListedUse> = Vec::new();
        for table in section.tables("use")? {
            let mut s = Section::new(section.text, "recorded.use", table);
            let listed = listed_use(&mut s, apps)?;
            if let Some(last) = uses.last().filter(|last| last.at >= listed.at) {
                let value = s.get("at_s").expect("just read");
                return Err(s.wrong("at_s", value, &format!("above {}", last.at.as_secs_f64())));
            }
            s.done()?;
            uses.push(listed);
        }
        if uses.is_empty() {
            return Err(section.missing("use"));
        }
        let mut kills = Vec::new();
        for table in section.tables("kill")? {
            let mut s = Section::new(section.text, "recorded.kill", table);
            let at = s.number("at_s", SECONDS)?.ok_or_else(|| s.missing("at_s"))?;
            let app = s.string("app")?.ok_or_else(|| s.missing("app"))?.to_owned();
            let adj = s.whole("adj", 0..=1000)?;
            s.done()?;
            kills.push(RecordedKill { at_ns: nanos(at).0.saturating_sub(uses[0].at.0), app, adj });
        }
        section.done()?;
        let path = directory.join(name);
        let trace = Trace::read(&path, &TraceOptions::default()).map_err(|e| ScenarioError(e.to_string()))?;
        Ok(Recorded::of(&trace, apps, &uses, kills))
    }

    fn of(trace: &Trace, apps: &[App], uses: &[ListedUse], kills: Vec<RecordedKill>) -> Recorded {
        let others = apps.len();
        let place = |process: ProcessId| {
            let name = trace.processes.get(usize::from(process.0));
            apps.iter().position(|app| Some(&app.name) == name).unwrap_or(others)
        };
        let end = Nanos(trace.duration().0 + 1);
        let ends = uses.iter().skip(1).map(|u| u.at).chain([end.max(Nanos(uses[uses.len() - 1].at.0 + 1))]);
        let uses = uses.iter().zip(ends).map(|(listed, end)| {
            let from = trace.requests.partition_point(|r| r.arrival.0 < listed.at.0);
            let upto = trace.requests.partition_point(|r| r.arrival.0 < end.0);
            one_use(listed, end, &trace.requests[from..upto], place)
        });
        let units = trace.requests.iter().map(last_unit).max().unwrap_or(0);
        Recorded { uses: uses.collect(), kills, units, trace: trace.name.clone() }
    }

    /// Checks that every unit of the trace is on the device.
    pub(crate) fn check_capacity(&self, capacity_units: u32) -> Result<(), ScenarioError> {
        fits(&self.trace, self.units, capacity_units)
    }

    /// The recorded use to replay when the user touches an app for the `number`th time in the scenario. This is the use
    /// of that number if it was as cold or warm as the simulated launch (`cold`), else the nearest use of the same app
    /// that was. If there is none, it is the use of that number all the same.
    pub(crate) fn nearest(&self, number: usize, cold: bool) -> &RecordedUse {
        let number = number % self.uses.len();
        let wanted = &self.uses[number];
        let same = self.uses.iter().enumerate().filter(|(_, u)| u.app == wanted.app && u.cold == cold);
        same.min_by_key(|(at, _)| at.abs_diff(number)).map_or(wanted, |(_, found)| found)
    }

    /// True if the app's process was alive before the recording began: its first use is warm.
    pub(crate) fn begins_warm(&self, app: usize) -> bool {
        self.uses.iter().find(|u| u.app == app).is_some_and(|u| !u.cold)
    }

    /// Every read of the recording.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Extent> + '_ {
        let launch = self.uses.iter().flat_map(|u| &u.launch).map(|read| read.extent);
        launch.chain(self.uses.iter().flat_map(|u| &u.io).filter(|io| io.op == WorkOp::Read).map(|io| io.extent))
    }
}

/// Refuses a trace that touches units beyond the device.
pub(crate) fn fits(trace: &str, units: u64, capacity_units: u32) -> Result<(), ScenarioError> {
    if units <= u64::from(capacity_units) {
        return Ok(());
    }
    Err(ScenarioError(format!(
        "{trace}: its requests reach up to {} MiB; the device has {}",
        units / 256 + 1,
        capacity_units / 256
    )))
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

fn listed_use(s: &mut Section<'_>, apps: &[App]) -> Result<ListedUse, ScenarioError> {
    let name = s.string("app")?.ok_or_else(|| s.missing("app"))?;
    let app = apps.iter().position(|app| app.name == name).ok_or_else(|| {
        let value = s.get("app").expect("just read");
        s.wrong("app", value, "one of phone.apps")
    })?;
    let at = s.number("at_s", SECONDS)?.ok_or_else(|| s.missing("at_s"))?;
    let launched = s.number("launched_s", at..=1e9)?;
    let cold = s.boolean("cold")?.unwrap_or(true);
    Ok(ListedUse { app, at: nanos(at), launched: launched.map(nanos), cold })
}

/// The use from the requests between its launch and the next one. Without a time of the first frame no request belongs
/// to the launch.
fn one_use(
    listed: &ListedUse,
    end: Nanos,
    requests: &[WorkRequest],
    place: impl Fn(ProcessId) -> usize,
) -> RecordedUse {
    let launched = listed.launched.unwrap_or(listed.at);
    let (mut launch, mut io) = (Vec::new(), Vec::new());
    // End of the last request of the launch so far.
    let mut busy = SimTime(listed.at.0);
    for request in requests {
        let Some(extent) = extent_of(request) else { continue };
        let app = place(request.process);
        if app == listed.app && request.op == WorkOp::Read && request.arrival.0 < launched.0 {
            let compute = Nanos(request.arrival.0.saturating_sub(busy.0));
            launch.push(LaunchRead { compute, extent });
            busy = busy.max(request.arrival + request.phone_latency.unwrap_or(Nanos::ZERO));
        } else {
            io.push(TimedIo { at: Nanos(request.arrival.0 - listed.at.0), app, op: request.op, extent });
        }
    }
    let (tail, duration) = (Nanos(launched.0.saturating_sub(busy.0)), Nanos(end.0 - listed.at.0));
    RecordedUse { app: listed.app, cold: listed.cold, duration, launch, tail, io }
}

/// The whole units of a request; `None` if it has none.
fn extent_of(request: &WorkRequest) -> Option<Extent> {
    let (lpa, len): (Lpa, u32) = request.units();
    (len > 0).then_some((lpa, len))
}

fn last_unit(request: &WorkRequest) -> u64 {
    let (lpa, len) = request.units();
    u64::from(lpa.0) + u64::from(len)
}

/// What scenario files of sessions begin with.
pub const SCENARIO_TITLE: &str = "# A session on a phone: ";

/// Text of the scenario file of a session; `trace` is the name of the trace file beside it.
pub fn scenario_of(session: &Session, trace: &str) -> String {
    let quoted = |name: &str| toml::Value::String(name.into()).to_string();
    let seconds = |at: Nanos| format!("{:.9}", at.as_secs_f64());
    let apps: Vec<String> =
        session.trace.processes[..session.trace.processes.len() - 1].iter().map(|a| quoted(a)).collect();
    let mut text = format!(
        "{SCENARIO_TITLE}{} launches, {} kills. The memory of apps is that of their category; put in what\n\
         # `adb shell dumpsys meminfo` says. docs/phone.md describes every key.\n\n[phone]\napps = [{}]\n",
        session.launches.len(),
        session.kills.len(),
        apps.join(", ")
    );
    for app in &apps {
        text += &format!("\n[[app]]\nname = {app}\ncategory = \"social\"\nmemory_mib = 450\n");
    }
    text += &format!("\n[recorded]\ntrace = {}\n", quoted(trace));
    for launch in &session.launches {
        text += &format!("\n[[recorded.use]]\napp = {}\nat_s = {}\n", quoted(&launch.app), seconds(launch.at));
        if let Some(launched) = launch.launched {
            text += &format!("launched_s = {}\n", seconds(launched));
        }
        text += &format!("cold = {}\n", launch.cold);
    }
    for kill in &session.kills {
        text += &format!("\n[[recorded.kill]]\napp = {}\nat_s = {}\n", quoted(&kill.app), seconds(kill.at));
        if let Some(adj) = kill.adj.filter(|adj| (0..=1000).contains(adj)) {
            text += &format!("adj = {adj}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {

    use super::*;

    fn request(ms: u64, op: WorkOp, process: u16) -> WorkRequest {
        WorkRequest {
            arrival: SimTime(ms * 1_000_000),
            phone_latency: Some(Nanos::from_millis(2)),
            process: ProcessId(process),
            ..WorkRequest::plain(op, ms, 1)
        }
    }

    /// A launch at 10 ms, its frame at 30 ms. Reads of the app at 15 and 16 ms: it computes 5 ms before the first. It
    /// computes nothing before the second, since the first is outstanding until 17 ms. After the second, which ends at
    /// 18 ms, it computes 12 ms.
    #[test]
    fn a_launch_computes_while_nothing_is_outstanding() {
        let requests = [
            request(12, WorkOp::Read, 1),
            request(15, WorkOp::Read, 0),
            request(16, WorkOp::Read, 0),
            request(20, WorkOp::Write, 0),
            request(40, WorkOp::Read, 0),
        ];
        let ms = Nanos::from_millis;
        let listed = ListedUse { app: 0, at: ms(10), launched: Some(ms(30)), cold: true };
        let found = one_use(&listed, ms(50), &requests, |p| usize::from(p.0));
        let read = |compute, at| LaunchRead { compute: ms(compute), extent: (Lpa(at), 1) };
        assert_eq!(found.launch, [read(5, 15), read(0, 16)]);
        assert_eq!((found.tail, found.duration), (ms(12), ms(40)));
        let io: Vec<_> = found.io.iter().map(|io| (io.at, io.app, io.op)).collect();
        assert_eq!(io, [(ms(2), 1, WorkOp::Read), (ms(10), 0, WorkOp::Write), (ms(30), 0, WorkOp::Read)]);
    }

    #[test]
    fn the_nearest_use_of_the_wanted_kind_is_repeated() {
        let one = |app, cold, ms| RecordedUse {
            app,
            cold,
            duration: Nanos::from_millis(ms),
            launch: Vec::new(),
            tail: Nanos::ZERO,
            io: Vec::new(),
        };
        let uses = vec![one(0, true, 1), one(1, true, 2), one(0, false, 3), one(0, true, 4)];
        let recorded = Recorded { uses, kills: Vec::new(), units: 0, trace: "t".into() };
        let found = |number, cold| recorded.nearest(number, cold).duration.0 / 1_000_000;
        assert_eq!([found(0, true), found(0, false), found(2, true), found(2, false)], [1, 3, 4, 3]);
        assert_eq!(found(1, false), 2, "there is no other of this app");
        assert_eq!(found(4, true), 1, "a second round");
    }
}
