//! The phone as a source of requests: it launches, runs, switches and kills apps, and issues their reads and writes.
//!
//! One use:
//! 1. The user touches an app. The phone tells the driver (`LaunchStart`); the app before goes to the background.
//! 2. The launch, a [`Thread`]. It reads all of the launch list if the process is gone. If the process is in the
//!    background, it reads a share of the list, and what the page cache has dropped of its files since. Then comes
//!    `LaunchEnd`, and loading in the same way, if the app loads.
//! 3. The app runs: it reads and writes at its rates until the user touches the next app.
//!
//! Meanwhile the memory model runs every 10 ms, the period in which lmkd looks (source.android.com, "Low memory killer
//! daemon"). The phone asks the driver how much memory it holds, apps allocate, the page cache is reclaimed, pressure
//! is measured, and the killer decides.

mod io;
mod memory;
mod state;
mod user;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{AppId, Lpa, Nanos, SimTime, UNIT_BYTES};
use workload::report::Report;
use workload::report::phone::PhoneReport;
use workload::{
    DriverCall, Flags, Footprint, GroupId, GroupInfo, Issued, Next, ProcessId, Progress, ReadOutcome, Source, Ticket,
    Tickets, WorkOp, WorkRequest,
};

use crate::access::{Extent, Placement};
use crate::killer::Candidate;
use crate::log::{Log, Phase, ReadRow};
use crate::memory::Memory;
use crate::psi::Psi;
use crate::recorded::{Recorded, fits};
use crate::scenario::Scenario;
use crate::thread::Thread;
use crate::toml_reader::ScenarioError;
use state::State;

/// Period of the memory model.
const TICK: Nanos = Nanos::from_millis(10);
/// Period of the samples in the report.
const SAMPLE: Nanos = Nanos::from_millis(500);
/// Time from the start of the scenario to the first launch.
const LEAD: Nanos = Nanos::from_millis(1000);
/// Time between two reads of a service that starts.
const START_GAP: Nanos = Nanos::from_millis(2);

/// An event of the phone. Events of equal times keep the order in which they were planned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Action {
    /// A period of the memory model.
    Tick,
    /// The user touches the next app.
    Touch,
    /// A slice of the foreground's thread ends.
    Slice { number: usize },
    /// The app in the foreground reads.
    RunRead { number: usize },
    /// The app in the foreground writes.
    RunWrite { number: usize },
    /// The app in the foreground does what its trace says.
    RunTrace { number: usize },
    /// The next recorded request is due.
    Recorded { number: usize, index: usize },
    /// An app in the background reads.
    Background { app: AppId, epoch: u32 },
    /// The driver has freed what it gave back instead of a victim.
    Freed { app: AppId, epoch: u32 },
    /// A killed app has ended.
    Killed { app: AppId, epoch: u32 },
    /// A service starts again.
    Restart { app: AppId },
}

/// What the phone hands to the simulation, in order.
#[derive(Clone, Copy, Debug)]
enum Out {
    Request(Wanted),
    Driver(DriverCall),
}

/// A request of an app.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    app: AppId,
    phase: Phase,
    op: WorkOp,
    extent: Extent,
    /// The foreground thread that waits for it: number of the use and index into the plan.
    thread: Option<(usize, usize)>,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Pending {
    wanted: Wanted,
    issued: SimTime,
    number: usize,
    outcome: ReadOutcome,
}

/// The use under way.
struct Use {
    number: usize,
    app: AppId,
    phase: Phase,
    start: SimTime,
    thread: Option<Thread>,
    compute: Nanos,
    /// True if the app started cold.
    cold: bool,
    /// When the app began to run, after launch and loading.
    running: Option<SimTime>,
    /// True if the user has tried to leave the app while its game still loads.
    over: bool,
}

/// A phone as a source of requests.
pub struct Phone {
    scenario: Scenario,
    place: Placement,
    states: Vec<State>,
    order: Vec<usize>,
    groups: Vec<GroupInfo>,
    actions: BinaryHeap<Reverse<(SimTime, u64, Action)>>,
    planned: u64,
    out: VecDeque<Out>,
    asked: Option<DriverCall>,
    victim: Option<Candidate>,
    /// The killer is busy with the victim.
    killing: bool,
    /// Bytes that the driver is freeing instead. The victim has not had its signal yet.
    freeing: Option<u64>,
    /// Most memory that the driver takes for mappings, and whether it has been told that the phone has less.
    hpb_most: u64,
    bounded: bool,
    /// The driver has been asked to give up memory, and not yet told that it may take it again.
    pressed: bool,
    requests: Tickets<Pending>,
    memory: Memory,
    psi: Psi,
    current: Option<Use>,
    uses: usize,
    log: Log,
    began: Option<SimTime>,
    now: SimTime,
    sampled: Option<SimTime>,
    ended: bool,
    done_bytes: u64,
    line: u64,
}

impl Phone {
    /// A phone with a device of `capacity_units` units of 4 KiB, whose driver takes at most `hpb_most` bytes of memory
    /// for mappings, as far as the phone has them.
    ///
    /// # Errors
    /// If a recording or a trace does not fit the device.
    pub fn new(scenario: &Scenario, capacity_units: u32, seed: u64, hpb_most: u64) -> Result<Phone, ScenarioError> {
        if let Some(recorded) = &scenario.recorded {
            recorded.check_capacity(capacity_units)?;
        }
        for traced in scenario.apps.iter().filter_map(|app| app.traced.as_ref()) {
            fits(&traced.trace, traced.units, capacity_units)?;
        }
        let place = scenario.place(capacity_units, seed);
        let use_seconds = scenario.use_time.as_secs_f64();
        let states: Vec<State> = scenario.apps.iter().map(|app| State::new(app, &place, use_seconds)).collect();
        let m = scenario.memory;
        let users = scenario.users();
        Ok(Phone {
            place,
            order: scenario.sequence.order(users, seed),
            groups: scenario
                .apps
                .iter()
                .map(|app| GroupInfo { name: app.name.clone(), measured: true, options: Default::default() })
                .collect(),
            actions: BinaryHeap::new(),
            planned: 0,
            out: VecDeque::new(),
            asked: None,
            victim: None,
            killing: false,
            freeing: None,
            hpb_most,
            bounded: false,
            pressed: false,
            requests: Tickets::new(),
            memory: Memory::new(m.effective, m.system, states.len(), m.marks),
            psi: Psi::new(scenario.lmkd.window),
            current: None,
            uses: 0,
            log: Log::new(&scenario.apps, users, m.effective),
            began: None,
            now: SimTime::START,
            sampled: None,
            ended: false,
            done_bytes: 0,
            line: 0,
            states,
            scenario: scenario.clone(),
        })
    }

    fn state(&mut self, app: AppId) -> &mut State {
        &mut self.states[app.index() - 1]
    }

    fn plan(&mut self, at: SimTime, action: Action) {
        self.planned += 1;
        self.actions.push(Reverse((at, self.planned, action)));
    }

    fn request(&mut self, app: AppId, phase: Phase, op: WorkOp, extent: Extent) {
        self.out.push_back(Out::Request(Wanted { app, phase, op, extent, thread: None }));
    }

    /// Switches the phone on: services run, and so do apps that a recording begins with; no other app does.
    fn begin(&mut self, now: SimTime) {
        self.began = Some(now);
        for index in 0..self.states.len() {
            let app = AppId(index as u16 + 1);
            let warm = self.scenario.recorded.as_ref().is_some_and(|recorded| recorded.begins_warm(index));
            if self.states[index].app.is_service() || warm {
                let bytes = self.states[index].app.memory;
                self.memory.allocate(app, bytes);
                let state = self.state(app);
                (state.alive, state.target) = (true, bytes);
                self.send_back(app, now);
            }
        }
        // The driver hears what there is for it before it takes any.
        self.bound();
        self.plan(now, Action::Tick);
        self.plan(now + LEAD, Action::Touch);
    }

    fn perform(&mut self, now: SimTime, action: Action) {
        match action {
            Action::Tick => {
                self.out.push_back(Out::Driver(DriverCall::Memory));
                self.plan(now + TICK, Action::Tick);
            }
            Action::Touch => self.touch(now),
            Action::Slice { number } if self.is_current(number) => self.slice(now),
            Action::RunRead { number } if self.is_current(number) => self.run_read(now),
            Action::RunWrite { number } if self.is_current(number) => self.run_write(now),
            Action::RunTrace { number } if self.is_current(number) => self.run_trace(now),
            Action::Slice { .. } | Action::RunRead { .. } | Action::RunWrite { .. } | Action::RunTrace { .. } => {}
            Action::Recorded { number, index } => self.recorded_io(number, index, now),
            Action::Background { app, epoch } => self.background_read(app, epoch, now),
            Action::Freed { app, epoch } => self.freed(app, epoch, now),
            Action::Killed { app, epoch } => {
                if self.state(app).epoch == epoch {
                    self.end_app(app, now);
                }
            }
            Action::Restart { app } => self.restart(app, now),
        }
    }

    fn is_current(&self, number: usize) -> bool {
        self.current.as_ref().is_some_and(|current| current.number == number)
    }

    fn issue(&mut self, wanted: Wanted, now: SimTime) -> Issued {
        self.line += 1;
        let (Lpa(first), count) = wanted.extent;
        let request = WorkRequest {
            arrival: now,
            line: self.line,
            flags: Flags { sync: wanted.thread.is_some(), ..Flags::default() },
            process: ProcessId(wanted.app.0),
            ..WorkRequest::plain(wanted.op, first.into(), count.into())
        };
        let number = self.uses.saturating_sub(1);
        let outcome = ReadOutcome::Sram;
        let ticket = self.requests.issue(Pending { wanted, issued: now, number, outcome });
        Issued { ticket, group: GroupId(wanted.app.0 - 1), measured: true, request }
    }
}

impl Source for Phone {
    fn next(&mut self, now: SimTime) -> Next {
        self.now = self.now.max(now);
        if self.began.is_none() {
            self.begin(now);
        }
        loop {
            match self.out.pop_front() {
                Some(Out::Request(wanted)) => return Next::Request(self.issue(wanted, now)),
                Some(Out::Driver(call)) => {
                    self.asked = Some(call);
                    return Next::Driver(call);
                }
                None => {}
            }
            if self.ended {
                return Next::Done;
            }
            let Some(&Reverse((at, _, action))) = self.actions.peek() else { return Next::Blocked };
            if at > now {
                return Next::Wait(at);
            }
            self.actions.pop();
            self.perform(now, action);
        }
    }

    fn completed(&mut self, ticket: Ticket, now: SimTime) {
        self.now = self.now.max(now);
        let pending = self.requests.complete(ticket);
        let Wanted { app, phase, op, extent, thread } = pending.wanted;
        let bytes = u64::from(extent.1) * UNIT_BYTES;
        self.done_bytes += bytes;
        if op != WorkOp::Read {
            return;
        }
        let row =
            ReadRow { app, phase, number: pending.number, extent, issued: pending.issued, outcome: pending.outcome };
        self.log.read(row, now, self.began.expect("it has begun"));
        let state = &self.states[app.index() - 1];
        if state.alive && phase != Phase::Background {
            let room = state.file_most.saturating_sub(self.memory.share(app).file);
            self.memory.cache(app, bytes.min(room));
        }
        if let Some((number, index)) = thread
            && self.is_current(number)
            && let Some(running) = self.current.as_mut().and_then(|current| current.thread.as_mut())
            && let Some(then) = running.completed(index, now)
        {
            self.plan(then, Action::Slice { number });
        }
    }

    fn answered(&mut self, answer: u64, now: SimTime) {
        match self.asked.take() {
            Some(DriverCall::Memory) => self.memory_turn(now, answer),
            Some(DriverCall::Reclaim(..)) => self.reclaimed(now, answer),
            Some(DriverCall::Fetches) => self.log.fetched(answer),
            _ => {}
        }
    }

    fn wants_read_outcomes(&self) -> bool {
        true
    }

    fn read_outcome(&mut self, ticket: Ticket, outcome: ReadOutcome) {
        self.requests.get_mut(ticket).outcome = outcome;
    }

    /// The total assumes that the rest of the scenario is like what has passed.
    fn progress(&self) -> Progress {
        let passed = self.now.since(self.began.unwrap_or(self.now)).0;
        let recorded = self.scenario.recorded.as_ref();
        let mean = recorded.map_or(self.scenario.use_time.0, |r| {
            r.uses.iter().map(|u| u.duration.0).sum::<u64>() / r.uses.len() as u64
        });
        let all = mean.saturating_mul(self.order.len() as u64) + LEAD.0;
        let scale = if passed == 0 { 0.0 } else { all as f64 / passed as f64 };
        let total = (scale > 0.0).then(|| ((self.done_bytes as f64 * scale) as u64).max(self.done_bytes));
        Progress { done: self.done_bytes, total }
    }

    fn groups(&self) -> &[GroupInfo] {
        &self.groups
    }

    fn footprint(&self) -> Footprint {
        let lists = |state: &'_ State| {
            let all = [&state.launch, &state.loading, &state.run, &state.background];
            all.into_iter().flat_map(|reads| reads.all().collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let traced = self.scenario.apps.iter().filter_map(|app| app.traced.as_ref());
        let traced = traced.flat_map(|t| t.io.iter()).filter(|io| io.op == WorkOp::Read).map(|io| io.extent);
        let recorded = self.scenario.recorded.iter().flat_map(Recorded::reads);
        // In a recording, only services read from their lists.
        let only_services = self.scenario.recorded.is_some();
        let listed = self.states.iter().filter(|state| !only_services || state.app.is_service()).flat_map(lists);
        Footprint::from_ranges(listed.chain(recorded).chain(traced))
    }

    fn preconditioning_ranges(&self) -> Footprint {
        self.footprint()
    }

    fn keep_reads(&mut self) {
        self.log.keep_reads();
    }

    fn report(&mut self) -> Report {
        let report = self.log.report(self.now.since(self.began.unwrap_or(self.now)));
        let mut recorded_kills = self.scenario.recorded.as_ref().map(|r| r.kills.clone()).unwrap_or_default();
        recorded_kills.iter_mut().for_each(|kill| kill.at_ns += LEAD.0);
        let phone = PhoneReport { recorded_kills, ..report };
        Report { phone: Some(phone), reads: self.log.take_reads(), ..Report::default() }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
