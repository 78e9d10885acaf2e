//! What the user does: apps are touched, launched, loaded and left.

use units::{AppId, Nanos, SimTime};
use workload::{DriverCall, WorkOp};

use super::{Action, Out, Phone, Use, Wanted};
use crate::access::Extent;
use crate::app::Launch;
use crate::log::{Phase, Touch};
use crate::thread::{Step, Thread};

impl Phone {
    /// The user leaves the app in the foreground, if it is ready to be left, and touches the next one.
    pub(super) fn touch(&mut self, now: SimTime) {
        if let Some(current) = &mut self.current {
            if current.running.is_none() {
                current.over = true;
                return;
            }
            let app = current.app;
            self.log.use_ended(now);
            self.current = None;
            self.state(app).file_left = self.memory.share(app).file;
            self.send_back(app, now);
        }
        match self.order.get(self.uses) {
            Some(&place) => self.launch(AppId(place as u16 + 1), now),
            None => {
                self.out.push_back(Out::Driver(DriverCall::Fetches));
                self.ended = true;
            }
        }
    }

    pub(super) fn launch(&mut self, app: AppId, now: SimTime) {
        let number = self.uses;
        self.uses += 1;
        let dying = self.killing && self.freeing.is_none() && self.victim.is_some_and(|victim| victim.app == app);
        // The touch comes before the kill has ended the process, but the process has had its signal.
        if dying || (self.scenario.cold_starts && self.state(app).alive) {
            self.end_app(app, now);
        }
        // What was fetched so far belongs to the use before; the launch begins with fetches of its own.
        self.out.push_back(Out::Driver(DriverCall::Fetches));
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
        self.log.use_begins(Touch { app, launch: launches, cold, at, now });
        let (thread, phase) = (Some(thread), Phase::Launch);
        self.current = Some(Use { number, app, phase, start: now, thread, compute, cold, running: None, over: false });
        self.plan_recorded(number, 0, now);
    }

    /// The thread of a launch, its computing time, and how long the user stays: from the app's numbers, or as recorded.
    pub(super) fn launch_thread(
        &self,
        number: usize,
        cold: bool,
        model: (Vec<Extent>, Launch),
    ) -> (Thread, Nanos, Nanos) {
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

    /// What a launch reads. Cold: the whole list. Warm: the app's warm reads, and what the page cache has dropped.
    pub(super) fn launch_plan(&mut self, app: AppId, cold: bool) -> Vec<Extent> {
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

    /// A slice of the foreground's thread has ended.
    pub(super) fn slice(&mut self, now: SimTime) {
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

    /// Launch or loading has ended.
    pub(super) fn thread_ended(&mut self, now: SimTime) {
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
            self.plan_trace(number, now);
        }
    }

    /// The thread of a game's loading after its cold launch, and its computing time. `None` if the app does not load.
    pub(super) fn loading(&mut self, app: AppId, cold: bool) -> Option<(Thread, Nanos)> {
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
}
