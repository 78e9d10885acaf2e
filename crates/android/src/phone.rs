//! The phone: a workload that launches, runs, switches and kills apps, and reads what they read.
//!
//! One use, in hops:
//! 1. The user touches an app. The driver is told (`LaunchStart`); the app before goes to the background.
//! 2. The launch, a [`Thread`]: all of its launch list if the process is gone, a share of it if it is in the background, and
//!    what of its files has been dropped from the page cache meanwhile. Then `LaunchEnd`; loading, if there is any, likewise.
//! 3. It runs: reads and writes at its rates, until the user touches the next app.
//!
//! Meanwhile every 10 ms, the period in which lmkd looks (source.android.com, "Low memory killer daemon"), memory has its turn:
//! the driver is asked what it holds, apps allocate, the page cache is reclaimed, pressure is measured, and the killer decides.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{AppId, Lpa, Nanos, SimTime, UNIT_BYTES};
use workload::{
    DriverCall, Flags, Footprint, GroupId, GroupInfo, Issued, Next, ProcessId, Progress, ReadOutcome, Rng,
    SECTOR_BYTES, Source, StreamId, Ticket, Tickets, WorkOp, WorkRequest, named_stream,
};

use crate::access::{Extent, Locality, Place, Reads};
use crate::app::{App, Launch};
use crate::killer::{self, Candidate, Process};
use crate::log::{Log, Phase, ReadRow};
use crate::memory::Memory;
use crate::psi::Psi;
use crate::report::{Kill, PhoneReport, ReadLog, Sample};
use crate::scenario::Scenario;
use crate::thread::{Step, Thread};
use crate::toml_reader::ScenarioError;

/// Memory has its turn in this period.
const TICK: Nanos = Nanos::from_millis(10);
/// The phone is noted down in this period.
const SAMPLE: Nanos = Nanos::from_millis(500);
/// From the start of the scenario to the first launch.
const LEAD: Nanos = Nanos::from_millis(1000);
/// From one read of a service that starts to the next.
const START_GAP: Nanos = Nanos::from_millis(2);

/// What the phone does at a time. Equal times keep the order in which they were planned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Action {
    /// Memory has its turn.
    Tick,
    /// The user touches the next app.
    Touch,
    /// A slice of the foreground's thread ends.
    Slice { number: usize },
    /// The app in the foreground reads.
    RunRead { number: usize },
    /// The app in the foreground writes.
    RunWrite { number: usize },
    /// Next comes a request as it was recorded.
    Recorded { number: usize, index: usize },
    /// An app in the background reads.
    Background { app: AppId, epoch: u32 },
    /// A killed app has ended.
    Killed { app: AppId, epoch: u32 },
    /// A service starts again.
    Restart { app: AppId },
}

/// What has to leave the phone, in order.
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
    /// The foreground thread that waits for it: number of the use and place in the plan.
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

/// What an app is doing.
struct State {
    app: App,
    launch: Reads,
    loading: Reads,
    run: Reads,
    background: Reads,
    /// Place in the list of reads of its run.
    run_at: usize,
    /// The same in the background.
    background_at: usize,
    alive: bool,
    /// Changes whenever what was planned for it in the background no longer holds.
    epoch: u32,
    launches: u32,
    /// When it was used last, or started if it is a service; later is larger.
    used: u64,
    /// Memory that it wants now, in bytes, and how much of it in a tick.
    target: u64,
    growth: u64,
    /// Most of its files that the page cache can hold, in bytes.
    file_most: u64,
    /// Of them, what was there when it left the foreground.
    file_left: u64,
    /// Reads that it owes for its start, if it is a service.
    starting: u32,
    rng: Rng,
}

/// The use under way.
struct Use {
    number: usize,
    app: AppId,
    phase: Phase,
    start: SimTime,
    thread: Option<Thread>,
    compute: Nanos,
    /// The app started cold.
    cold: bool,
    /// When it began to run, after launch and loading.
    running: Option<SimTime>,
    /// The user would like to go on, but the game still loads.
    over: bool,
}

/// A phone as a source of requests.
pub struct Phone {
    scenario: Scenario,
    place: Place,
    states: Vec<State>,
    order: Vec<usize>,
    groups: Vec<GroupInfo>,
    actions: BinaryHeap<Reverse<(SimTime, u64, Action)>>,
    planned: u64,
    out: VecDeque<Out>,
    asked: Option<DriverCall>,
    victim: Option<Candidate>,
    killing: bool,
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
    /// A phone with a device of `capacity_units` units of 4 KiB, whose driver takes at most `hpb_bytes` of memory.
    ///
    /// # Errors
    /// If the driver could take more than half of the system's memory.
    pub fn new(scenario: &Scenario, capacity_units: u32, seed: u64, hpb_bytes: u64) -> Result<Phone, ScenarioError> {
        if hpb_bytes > scenario.memory.system / 2 {
            return Err(ScenarioError(format!(
                "memory.system_mib = {}: must be at least {}, twice the host memory that the driver may take",
                scenario.memory.system / units::MIB,
                2 * hpb_bytes / units::MIB
            )));
        }
        if let Some(recorded) = &scenario.recorded {
            recorded.check_capacity(capacity_units)?;
        }
        let place = scenario.place(capacity_units, seed);
        let use_seconds = scenario.use_time.as_secs_f64();
        let states: Vec<State> = scenario.apps.iter().map(|app| State::new(app, &place, use_seconds)).collect();
        let m = scenario.memory;
        let users = scenario.users();
        Ok(Phone {
            place,
            order: scenario.sequence.order(users, seed),
            groups: scenario.apps.iter().map(|app| GroupInfo { name: app.name.clone(), measured: true }).collect(),
            actions: BinaryHeap::new(),
            planned: 0,
            out: VecDeque::new(),
            asked: None,
            victim: None,
            killing: false,
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

    /// Keeps every read; see [`Phone::take_reads`].
    pub fn log_reads(&mut self) {
        self.log.keep_reads();
    }

    /// What has been recorded, at the end of the run.
    pub fn report(&self) -> PhoneReport {
        self.log.report(self.now.since(self.began.unwrap_or(self.now)))
    }

    /// Every read, if they were kept.
    pub fn take_reads(&mut self) -> Option<ReadLog> {
        self.log.take_reads()
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

    /// The phone is switched on: services are there, no app is.
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
                self.to_background(app, now);
            }
        }
        self.plan(now, Action::Tick);
        self.plan(now + LEAD, Action::Touch);
    }

    fn act(&mut self, now: SimTime, action: Action) {
        match action {
            Action::Tick => {
                self.out.push_back(Out::Driver(DriverCall::Memory));
                self.plan(now + TICK, Action::Tick);
            }
            Action::Touch => self.touch(now),
            Action::Slice { number } if self.is_current(number) => self.slice(now),
            Action::RunRead { number } if self.is_current(number) => self.run_read(now),
            Action::RunWrite { number } if self.is_current(number) => self.run_write(now),
            Action::Slice { .. } | Action::RunRead { .. } | Action::RunWrite { .. } => {}
            Action::Recorded { number, index } => self.recorded_io(number, index, now),
            Action::Background { app, epoch } => self.background_read(app, epoch, now),
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

    // ------------------------------------------------------------ the user

    /// The user leaves the app in the foreground, if it is ready to be left, and touches the next one.
    fn touch(&mut self, now: SimTime) {
        if let Some(current) = &mut self.current {
            if current.running.is_none() {
                current.over = true;
                return;
            }
            let app = current.app;
            self.log.use_ended(now);
            self.current = None;
            self.state(app).file_left = self.memory.share(app).file;
            self.to_background(app, now);
        }
        match self.order.get(self.uses) {
            Some(&place) => self.launch(AppId(place as u16 + 1), now),
            None => self.ended = true,
        }
    }

    fn launch(&mut self, app: AppId, now: SimTime) {
        let number = self.uses;
        self.uses += 1;
        let dying = self.killing && self.victim.is_some_and(|victim| victim.app == app);
        if dying {
            // The user was faster than the killer, but the process has had its signal.
            self.end_app(app, now);
        }
        self.out.push_back(Out::Driver(DriverCall::LaunchStart(app)));
        let cold = !self.state(app).alive;
        let plan = self.launch_plan(app, cold);
        let state = self.state(app);
        let launch = if cold { state.app.cold } else { state.app.warm };
        state.epoch += 1;
        state.launches += 1;
        state.used = now.0 + 1;
        let launches = state.launches;
        if cold {
            state.alive = true;
            self.grow(app);
        }
        let (mut thread, compute, length) = self.launch_thread(number, cold, (plan, launch));
        let slice = thread.begin(now);
        self.plan(slice, Action::Slice { number });
        self.plan(now + length, Action::Touch);
        self.memory.touch(app);
        let at = now.since(self.began.expect("it has begun"));
        self.log.use_begins(app, (launches, cold), at, now);
        let (thread, phase) = (Some(thread), Phase::Launch);
        self.current = Some(Use { number, app, phase, start: now, thread, compute, cold, running: None, over: false });
        self.plan_recorded(number, 0, now);
    }

    /// The thread of a launch, what it computes, and how long the user stays: by the app's numbers, or as recorded.
    fn launch_thread(&self, number: usize, cold: bool, model: (Vec<Extent>, Launch)) -> (Thread, Nanos, Nanos) {
        let parallel = self.scenario.io.parallel;
        if let Some(recorded) = &self.scenario.recorded {
            let u = recorded.nearest(number, cold);
            let compute = Nanos(u.launch.iter().map(|read| read.compute.0).sum::<u64>() + u.tail.0);
            return (Thread::recorded(&u.launch, u.tail, parallel), compute, u.duration);
        }
        let (plan, launch) = model;
        let compute = Nanos(launch.time.0.saturating_sub(self.scenario.reading_time(launch.reads).0));
        (Thread::new(plan, compute, parallel), compute, self.scenario.use_time)
    }

    /// What a launch reads: everything, or as much as a warm one needs and what has left the page cache.
    fn launch_plan(&mut self, app: AppId, cold: bool) -> Vec<Extent> {
        let (place, file) = (self.place, self.memory.share(app).file);
        let state = self.state(app);
        let all = state.launch.len();
        let count = if cold {
            all
        } else {
            let kept =
                if state.file_left == 0 { 1.0 } else { file.min(state.file_left) as f64 / state.file_left as f64 };
            let warm = (state.app.warm.reads as usize).min(all);
            warm + ((1.0 - kept) * (all - warm) as f64) as usize
        };
        (0..count).map(|i| state.launch.at(i * all / count, &place, &mut state.rng)).collect()
    }

    /// The app takes its memory from now on.
    fn grow(&mut self, app: AppId) {
        let (ramp, spread, seed) = (self.scenario.memory.ramp, self.scenario.memory.spread, self.place.seed);
        let state = self.state(app);
        let ramp = state.app.loading.map_or(ramp, |loading| ramp.max(loading.time));
        // By the number of its launch, so that it is the same under every scheme.
        let chance = named_stream(seed, &format!("{} memory", state.app.name), state.launches.into()).unit();
        let scale = 1.0 + spread * (2.0 * chance - 1.0);
        state.target = (state.app.memory as f64 * scale) as u64;
        state.growth = (u128::from(state.target) * u128::from(TICK.0) / u128::from(ramp.0)).max(1) as u64;
    }

    /// A slice of the foreground's thread has ended.
    fn slice(&mut self, now: SimTime) {
        let current = self.current.as_mut().expect("a slice belongs to a use");
        let (number, app, phase) = (current.number, current.app, current.phase);
        let Some(thread) = &mut current.thread else { return };
        let step = thread.step(now);
        if let Step::Block(range) | Step::Compute(range, _) = &step {
            for index in range.clone() {
                let extent = thread.extent(index);
                let wanted = Wanted { app, phase, op: WorkOp::Read, extent, thread: Some((number, index)) };
                self.out.push_back(Out::Request(wanted));
            }
        }
        match step {
            Step::Compute(_, then) => self.plan(then, Action::Slice { number }),
            Step::Block(_) => {}
            Step::End => self.thread_ended(now),
        }
    }

    /// Launch or loading is over.
    fn thread_ended(&mut self, now: SimTime) {
        let mut current = self.current.take().expect("a thread belongs to a use");
        let thread = current.thread.take().expect("it has just ended");
        let (number, app) = (current.number, current.app);
        let took = now.since(current.start);
        if current.phase == Phase::Launch {
            self.log.launched(took, current.compute, &thread);
            self.out.push_back(Out::Driver(DriverCall::LaunchEnd(app)));
            if let Some((thread, compute)) = self.loading(app, current.cold) {
                let mut thread = thread;
                let slice = thread.begin(now);
                (current.phase, current.thread, current.compute) = (Phase::Loading, Some(thread), compute);
                self.plan(slice, Action::Slice { number });
                self.current = Some(current);
                return;
            }
        } else {
            self.log.loaded(took, &thread);
        }
        (current.phase, current.running) = (Phase::Run, Some(now));
        let over = current.over;
        self.current = Some(current);
        if over {
            self.touch(now);
            return;
        }
        if self.scenario.recorded.is_none() {
            self.plan_run(Action::RunRead { number }, now);
            self.plan_run(Action::RunWrite { number }, now);
        }
    }

    /// The loading of a game after its cold launch: thread and time that it computes.
    fn loading(&mut self, app: AppId, cold: bool) -> Option<(Thread, Nanos)> {
        if self.scenario.recorded.is_some() {
            return None;
        }
        let (place, parallel) = (self.place, self.scenario.io.parallel);
        let reading = |reads| self.scenario.reading_time(reads);
        let state = &mut self.states[app.index() - 1];
        let loading = state.app.loading.filter(|_| cold)?;
        let room = loading.time.0 - state.app.cold.time.0;
        let compute = Nanos(room.saturating_sub(reading(loading.reads).0));
        let plan = (0..state.loading.len()).map(|i| state.loading.at(i, &place, &mut state.rng)).collect();
        Some((Thread::new(plan, compute, parallel), compute))
    }

    // ------------------------------------------------------------ I/O of apps

    /// Plans the next read or write of the app in the foreground.
    fn plan_run(&mut self, action: Action, now: SimTime) {
        let Some(current) = &self.current else { return };
        let Some(running) = current.running else { return };
        let (app, end) = (current.app, current.start + self.scenario.use_time);
        let length = end.since(running).0;
        let use_seconds = self.scenario.use_time.as_secs_f64();
        let state = self.state(app);
        let run = state.app.run;
        let rate = match action {
            Action::RunRead { .. } if !state.run.is_empty() => {
                let tenth = (now.since(running).0 * 10 / length.max(1)).min(9);
                let share = tenth_share(run.decay_per_tenth, tenth);
                run.reads_per_s * use_seconds * share / (length as f64 / 1e10)
            }
            Action::RunWrite { .. } if !state.run.is_empty() => run.writes_per_s,
            _ => 0.0,
        };
        if let Some(gap) = state.gap(rate)
            && now + gap < end
        {
            self.plan(now + gap, action);
        }
    }

    fn run_read(&mut self, now: SimTime) {
        let (number, app) = self.current.as_ref().map(|c| (c.number, c.app)).expect("a run belongs to a use");
        let place = self.place;
        let state = self.state(app);
        let extent = state.run.at(state.run_at, &place, &mut state.rng);
        state.run_at += 1;
        self.request(app, Phase::Run, WorkOp::Read, extent);
        self.plan_run(Action::RunRead { number }, now);
    }

    fn run_write(&mut self, now: SimTime) {
        let (number, app) = self.current.as_ref().map(|c| (c.number, c.app)).expect("a run belongs to a use");
        let place = self.place;
        let state = self.state(app);
        let index = state.run.skewed(&mut state.rng);
        let (lpa, _) = state.run.at(index, &place, &mut state.rng);
        let len = state.app.run.write_units.min(place.capacity_units - lpa.0);
        self.request(app, Phase::Run, WorkOp::Write, (lpa, len));
        self.plan_run(Action::RunWrite { number }, now);
    }

    /// Plans the next recorded request of a use, at its time or at once if that has passed.
    fn plan_recorded(&mut self, number: usize, index: usize, now: SimTime) {
        let (Some(recorded), Some(current)) = (&self.scenario.recorded, &self.current) else { return };
        if let Some(io) = recorded.nearest(number, current.cold).io.get(index) {
            let at = now.max(current.start + io.at);
            self.plan(at, Action::Recorded { number, index });
        }
    }

    fn recorded_io(&mut self, number: usize, index: usize, now: SimTime) {
        let (Some(recorded), Some(current)) = (&self.scenario.recorded, &self.current) else { return };
        if current.number != number {
            return;
        }
        let io = recorded.nearest(number, current.cold).io[index];
        let app = AppId(io.app as u16 + 1);
        let phase = if app == current.app { current.phase } else { Phase::Background };
        self.request(app, phase, io.op, io.extent);
        self.plan_recorded(number, index + 1, now);
    }

    /// An app is in the background from now on.
    fn to_background(&mut self, app: AppId, now: SimTime) {
        let state = self.state(app);
        state.epoch += 1;
        self.plan_background(app, now);
    }

    fn plan_background(&mut self, app: AppId, now: SimTime) {
        if self.scenario.recorded.is_some() && !self.state(app).app.is_service() {
            return;
        }
        let state = self.state(app);
        let epoch = state.epoch;
        let gap = if state.starting > 0 { Some(START_GAP) } else { state.gap(state.app.background_reads_per_s) };
        if let Some(gap) = gap
            && !state.background.is_empty()
        {
            self.plan(now + gap, Action::Background { app, epoch });
        }
    }

    fn background_read(&mut self, app: AppId, epoch: u32, now: SimTime) {
        let place = self.place;
        let state = self.state(app);
        if state.epoch != epoch || !state.alive {
            return;
        }
        let extent = if state.starting > 0 {
            state.starting -= 1;
            state.launch.at(state.starting as usize, &place, &mut state.rng)
        } else {
            state.background_at = state.background.follow(state.background_at, &mut state.rng);
            state.background.listed_at(state.background_at)
        };
        self.request(app, Phase::Background, WorkOp::Read, extent);
        self.plan_background(app, now);
    }

    // ------------------------------------------------------------ memory

    /// Memory has its turn; the driver holds `hpb` bytes of it.
    fn memory_turn(&mut self, now: SimTime, hpb: u64) {
        self.memory.set_hpb(hpb);
        self.allocate(now);
        let reclaimed = u128::from(self.scenario.memory.reclaim_per_s) * u128::from(TICK.0) / 1_000_000_000;
        self.memory.reclaim(reclaimed as u64);
        let stalled = self.psi.stalled_time(now);
        if stalled >= self.scenario.lmkd.stall && self.memory.exhausted() && !self.killing {
            match killer::victim(self.candidates()) {
                Some(victim) => {
                    self.victim = Some(victim);
                    self.out.push_back(Out::Driver(DriverCall::Reclaim(victim.app, victim.bytes)));
                }
                // Nobody is left to end: apps live with what they have.
                None => self.states.iter_mut().for_each(|state| state.growth = 0),
            }
        }
        assert!(self.memory.conserves(), "memory is lost: {:?}", self.memory);
        if self.sampled.is_none_or(|at| now.since(at) >= SAMPLE) {
            self.sampled = Some(now);
            let sample = self.sample(now);
            self.log.sample(sample);
        }
    }

    /// Apps that grow take memory, or wait for it.
    fn allocate(&mut self, now: SimTime) {
        let mut longest = Nanos::ZERO;
        for index in 0..self.states.len() {
            let app = AppId(index as u16 + 1);
            let state = &self.states[index];
            let wish = state.target.saturating_sub(self.memory.share(app).anon).min(state.growth);
            if wish == 0 || !state.alive {
                continue;
            }
            let lacking = wish - self.memory.allocate(app, wish);
            let stall = Nanos((u128::from(TICK.0) * u128::from(lacking) / u128::from(wish)) as u64);
            longest = longest.max(stall);
            if let Some(current) = &mut self.current
                && current.app == app
                && let Some(thread) = &mut current.thread
                && !thread.is_blocked()
            {
                thread.stall(stall);
            }
        }
        self.psi.stalled(SimTime(now.0.saturating_sub(longest.0)), now);
    }

    /// Every process that the killer may end.
    fn candidates(&self) -> Vec<Candidate> {
        let process = |(index, state): (usize, &State)| {
            let app = AppId(index as u16 + 1);
            let share = self.memory.share(app);
            Process { app, opened: !state.app.is_service(), used: state.used, bytes: share.anon + share.file }
        };
        let alive = self.states.iter().enumerate().filter(|(_, state)| state.alive);
        killer::rank(alive.map(process).collect(), self.current.as_ref().map(|current| current.app))
    }

    /// The driver has given back `returned` bytes to let the victim live.
    fn reclaimed(&mut self, now: SimTime, returned: u64) {
        let victim = self.victim.expect("the killer has asked for a victim");
        self.memory.set_hpb(self.memory.hpb().saturating_sub(returned));
        // The killer looks again before it goes on.
        let spared = returned >= victim.bytes || (returned > 0 && !self.memory.exhausted());
        self.log.kill(Kill {
            at_ns: now.since(self.began.expect("it has begun")).0,
            app: self.states[victim.app.index() - 1].app.name.clone(),
            adj: victim.adj,
            category: victim.category,
            expected_bytes: victim.bytes,
            returned_bytes: returned,
            spared,
        });
        if spared {
            self.victim = None;
            return;
        }
        self.killing = true;
        let epoch = self.state(victim.app).epoch;
        self.plan(now + self.scenario.lmkd.kill_time, Action::Killed { app: victim.app, epoch });
    }

    /// A process has ended.
    fn end_app(&mut self, app: AppId, now: SimTime) {
        (self.killing, self.victim) = (false, None);
        self.memory.end(app);
        let restart = self.scenario.service_restart;
        let state = self.state(app);
        (state.alive, state.target, state.file_left) = (false, 0, 0);
        state.epoch += 1;
        if state.app.is_service() {
            self.plan(now + restart, Action::Restart { app });
        }
        self.out.push_back(Out::Driver(DriverCall::Ended(app)));
    }

    fn restart(&mut self, app: AppId, now: SimTime) {
        let state = self.state(app);
        state.alive = true;
        state.used = now.0 + 1;
        state.launches += 1;
        state.starting = state.app.cold.reads;
        self.grow(app);
        self.to_background(app, now);
    }

    fn sample(&mut self, now: SimTime) -> Sample {
        let foreground = self.current.as_ref().map(|current| self.states[current.app.index() - 1].app.name.clone());
        let alive = self.states.iter().filter(|state| state.alive && !state.app.is_service()).count();
        Sample {
            at_ns: now.since(self.began.expect("it has begun")).0,
            foreground,
            pressure: self.psi.pressure(now),
            hpb_bytes: self.memory.hpb(),
            free_bytes: self.memory.free(),
            cache_bytes: self.memory.file(),
            apps_bytes: self.memory.anon(),
            system_bytes: self.memory.system(),
            alive: alive as u32,
        }
    }

    fn issue(&mut self, wanted: Wanted, now: SimTime) -> Issued {
        self.line += 1;
        let (Lpa(first), count) = wanted.extent;
        let request = WorkRequest {
            arrival: now,
            sector: u64::from(first) * (UNIT_BYTES / SECTOR_BYTES),
            bytes: u64::from(count) * UNIT_BYTES,
            line: self.line,
            phone_latency: None,
            op: wanted.op,
            flags: Flags { sync: wanted.thread.is_some(), ..Flags::default() },
            process: ProcessId(wanted.app.0),
            stream: StreamId(0),
        };
        let number = self.uses.saturating_sub(1);
        let outcome = ReadOutcome::Sram;
        let ticket = self.requests.issue(Pending { wanted, issued: now, number, outcome });
        Issued { ticket, group: GroupId(wanted.app.0 - 1), measured: true, request }
    }
}

impl State {
    fn new(app: &App, place: &Place, use_seconds: f64) -> State {
        let reads = |part: &str, locality, count| Reads::new(place, &format!("{} {part}", app.name), locality, count);
        let no_others = Place { fresh_share: 0.0, ..*place };
        let only =
            |part: &str, locality, count| Reads::new(&no_others, &format!("{} {part}", app.name), locality, count);
        let run = (app.run.reads_per_s.max(app.run.writes_per_s) * use_seconds).ceil() as u32;
        let background = if app.is_service() { SERVICE_READS } else { APP_READS };
        let lists = [
            reads("launch", Locality::Launch, app.cold.reads),
            reads("loading", Locality::Launch, app.loading.map_or(0, |loading| loading.reads)),
            reads("run", Locality::Run, run),
            only("background", Locality::Run, if app.background_reads_per_s > 0.0 { background } else { 0 }),
        ];
        // What is read in the background passes through.
        let units: u64 = lists[..3].iter().flat_map(Reads::listed).map(|(_, len)| u64::from(len)).sum();
        let [launch, loading, run, background] = lists;
        State {
            app: app.clone(),
            launch,
            loading,
            run,
            background,
            run_at: 0,
            background_at: 0,
            alive: false,
            epoch: 0,
            launches: 0,
            used: 0,
            target: 0,
            growth: 0,
            file_most: units * UNIT_BYTES,
            file_left: 0,
            starting: 0,
            rng: named_stream(place.seed, &app.name, 1),
        }
    }

    /// Time to the next of what happens so often per second, with a spread of half of it; `None` if never.
    fn gap(&mut self, per_second: f64) -> Option<Nanos> {
        let mean = 1e9 / per_second;
        (per_second > 0.0 && mean < 1e15).then(|| Nanos(((0.5 + self.rng.unit()) * mean) as u64 + 1))
    }
}

/// Reads in the list of a service: as many places of 2 MiB, at 14.5 reads each, as an average app has in the paper's profile
/// lists (HPBvalve Sec. 6.3: 99 KB for nine apps at 4 bytes), so that both need as much of a mapping cache.
const SERVICE_READS: u32 = 40_000;
/// The same for an app in the background: a quarter, since it looks for news and no more.
const APP_READS: u32 = 10_000;

/// Share of a run's reads in one of its tenths, from 0.
fn tenth_share(decay: f64, tenth: u64) -> f64 {
    let powers: Vec<f64> = std::iter::successors(Some(1.0), |p| Some(p * decay)).take(10).collect();
    powers[tenth as usize] / powers.iter().sum::<f64>()
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
            self.act(now, action);
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
            _ => {}
        }
    }

    fn wants_read_outcomes(&self) -> bool {
        true
    }

    fn read_outcome(&mut self, ticket: Ticket, outcome: ReadOutcome) {
        self.requests.get_mut(ticket).outcome = outcome;
    }

    /// The total is what it will be if the rest is like what was.
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
        match &self.scenario.recorded {
            Some(recorded) => {
                let services = self.states.iter().filter(|state| state.app.is_service()).flat_map(lists);
                Footprint::from_ranges(recorded.reads().chain(services))
            }
            None => Footprint::from_ranges(self.states.iter().flat_map(lists)),
        }
    }

    fn preconditioning_ranges(&self) -> Footprint {
        self.footprint()
    }
}
