//! Reads and writes outside of launches: of the app that runs, and of those in the background.

use units::{AppId, SimTime};
use workload::WorkOp;

use super::state::tenth_share;
use super::{Action, Phone, START_GAP};
use crate::log::Phase;

impl Phone {
    /// Plans the next read or write of the app in the foreground.
    pub(super) fn plan_run(&mut self, action: Action, now: SimTime) {
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

    pub(super) fn run_read(&mut self, now: SimTime) {
        let (number, app) = self.current.as_ref().map(|c| (c.number, c.app)).expect("a run belongs to a use");
        let place = self.place;
        let state = self.state(app);
        let extent = state.run.at(state.run_at, &place, &mut state.rng);
        state.run_at += 1;
        self.request(app, Phase::Run, WorkOp::Read, extent);
        self.plan_run(Action::RunRead { number }, now);
    }

    pub(super) fn run_write(&mut self, now: SimTime) {
        let (number, app) = self.current.as_ref().map(|c| (c.number, c.app)).expect("a run belongs to a use");
        let place = self.place;
        let state = self.state(app);
        let index = state.run.skewed(&mut state.rng);
        let (lpa, _) = state.run.at(index, &place, &mut state.rng);
        let len = state.app.run.write_units.min(place.capacity_units - lpa.0);
        self.request(app, Phase::Run, WorkOp::Write, (lpa, len));
        self.plan_run(Action::RunWrite { number }, now);
    }

    /// Plans the next request of the foreground app's trace, if it has one.
    pub(super) fn plan_trace(&mut self, number: usize, now: SimTime) {
        let Some(current) = &self.current else { return };
        let (app, end) = (current.app, current.start + self.scenario.use_time);
        let state = self.state(app);
        if let Some(io) = state.traced_io()
            && now + io.gap < end
        {
            self.plan(now + io.gap, Action::RunTrace { number });
        }
    }

    pub(super) fn run_trace(&mut self, now: SimTime) {
        let (number, app) = self.current.as_ref().map(|c| (c.number, c.app)).expect("a run belongs to a use");
        let state = self.state(app);
        let io = state.traced_io().expect("it has been planned");
        state.run_at += 1;
        self.request(app, Phase::Run, io.op, io.extent);
        self.plan_trace(number, now);
    }

    /// Plans the next recorded request of a use, at its time, or at once if that has passed.
    pub(super) fn plan_recorded(&mut self, number: usize, index: usize, now: SimTime) {
        let (Some(recorded), Some(current)) = (&self.scenario.recorded, &self.current) else { return };
        if let Some(io) = recorded.nearest(number, current.cold).io.get(index) {
            let at = now.max(current.start + io.at);
            self.plan(at, Action::Recorded { number, index });
        }
    }

    pub(super) fn recorded_io(&mut self, number: usize, index: usize, now: SimTime) {
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

    /// Puts an app in the background.
    pub(super) fn send_back(&mut self, app: AppId, now: SimTime) {
        let state = self.state(app);
        state.epoch += 1;
        self.plan_background(app, now);
    }

    pub(super) fn plan_background(&mut self, app: AppId, now: SimTime) {
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

    pub(super) fn background_read(&mut self, app: AppId, epoch: u32, now: SimTime) {
        let place = self.place;
        let state = self.state(app);
        if state.epoch != epoch || !state.alive {
            return;
        }
        let extent = if state.starting > 0 {
            state.starting -= 1;
            state.launch.at(state.starting as usize, &place, &mut state.rng)
        } else {
            state.background_at = state.background.follow(state.background_at, &place, &mut state.rng);
            state.background.listed_at(state.background_at)
        };
        self.request(app, Phase::Background, WorkOp::Read, extent);
        self.plan_background(app, now);
    }
}
