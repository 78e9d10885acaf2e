//! The periodic work on memory: apps allocate, page cache is reclaimed, pressure is measured, and the killer decides.

use units::{AppId, Nanos, SimTime};
use workload::{DriverCall, named_stream};

use super::state::State;
use super::{Action, Out, Phone, SAMPLE, TICK};
use crate::killer::{self, Candidate, Process};
use crate::report::{Kill, Sample};

impl Phone {
    /// One period of the memory model; the driver holds `hpb` bytes.
    pub(super) fn memory_turn(&mut self, now: SimTime, hpb: u64) {
        self.memory.set_hpb(hpb + self.freeing.unwrap_or(0));
        self.allocate(now);
        let reclaimed = u128::from(self.scenario.memory.reclaim_per_s) * u128::from(TICK.0) / 1_000_000_000;
        self.memory.reclaim(reclaimed as u64);
        self.bound();
        self.press();
        let stalled = self.psi.stalled_time(now);
        if stalled >= self.scenario.lmkd.stall && self.memory.exhausted() && !self.killing {
            match killer::victim(self.candidates()) {
                Some(victim) => {
                    self.victim = Some(victim);
                    self.out.push_back(Out::Driver(DriverCall::Reclaim(victim.app, victim.bytes)));
                }
                // No process is left to kill: apps make do with the memory that they have.
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

    /// Tells the driver what the phone has for it, where that may be less than the driver would take.
    pub(super) fn bound(&mut self) {
        let room = self.memory.room_for_hpb();
        // What the driver holds besides mappings is part of what it has.
        if room < self.hpb_most.saturating_add(self.memory.hpb()) {
            self.bounded = true;
            self.out.push_back(Out::Driver(DriverCall::Room(room)));
        } else if std::mem::take(&mut self.bounded) {
            self.out.push_back(Out::Driver(DriverCall::Room(u64::MAX)));
        }
    }

    /// Asks the driver to give up cached mappings when there is no page cache left to drop, as the kernel's reclaim
    /// asks every cache, and tells it when memory is there again.
    fn press(&mut self) {
        if self.memory.exhausted() && self.memory.hpb() > 0 {
            self.pressed = true;
            self.out.push_back(Out::Driver(DriverCall::Pressed(self.memory.lacking())));
        } else if self.pressed && self.memory.lacking() == 0 {
            self.pressed = false;
            self.out.push_back(Out::Driver(DriverCall::Relieved));
        }
    }

    /// Starts the growth of an app that was started cold: from now on it takes memory in every period.
    pub(super) fn grow(&mut self, app: AppId) {
        let (ramp, spread, seed) = (self.scenario.memory.ramp, self.scenario.memory.spread, self.place.seed);
        let state = self.state(app);
        let ramp = state.app.loading.map_or(ramp, |loading| ramp.max(loading.time));
        // The seed includes the number of the launch, so that the size is the same under every scheme.
        let chance = named_stream(seed, &format!("{} memory", state.app.name), state.launches.into()).unit();
        let scale = 1.0 + spread * (2.0 * chance - 1.0);
        state.target = (state.app.memory as f64 * scale) as u64;
        state.growth = (u128::from(state.target) * u128::from(TICK.0) / u128::from(ramp.0)).max(1) as u64;
    }

    /// Apps that grow allocate memory, or stall for it.
    pub(super) fn allocate(&mut self, now: SimTime) {
        let mut longest = Nanos::ZERO;
        for index in 0..self.states.len() {
            let app = AppId(index as u16 + 1);
            let state = &self.states[index];
            let wanted = state.target.saturating_sub(self.memory.share(app).anon).min(state.growth);
            if wanted == 0 || !state.alive {
                continue;
            }
            let lacking = wanted - self.memory.allocate(app, wanted);
            let stall = Nanos((u128::from(TICK.0) * u128::from(lacking) / u128::from(wanted)) as u64);
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

    /// Every process, with its `oom_score_adj` and category.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let process = |(index, state): (usize, &State)| {
            let app = AppId(index as u16 + 1);
            let share = self.memory.share(app);
            Process { app, opened: !state.app.is_service(), used: state.used, bytes: share.anon + share.file }
        };
        let alive = self.states.iter().enumerate().filter(|(_, state)| state.alive);
        killer::rank(alive.map(process).collect(), self.current.as_ref().map(|current| current.app))
    }

    /// The driver gives back `returned` bytes so that the victim may live. Freeing them takes its time, and the killer
    /// waits for it (HPBvalve Sec. 6.3).
    pub(super) fn reclaimed(&mut self, now: SimTime, returned: u64) {
        let victim = self.victim.expect("the killer has asked for a victim");
        self.killing = true;
        if returned == 0 {
            self.decide(now, 0);
            return;
        }
        self.freeing = Some(returned.min(self.memory.hpb()));
        let epoch = self.state(victim.app).epoch;
        self.plan(now + self.scenario.lmkd.free_time, Action::Freed { app: victim.app, epoch });
    }

    /// The driver has freed what it gave back.
    pub(super) fn freed(&mut self, app: AppId, epoch: u32, now: SimTime) {
        let freed = self.freeing.take().expect("the driver was freeing memory");
        self.memory.set_hpb(self.memory.hpb().saturating_sub(freed));
        if self.state(app).epoch == epoch {
            self.decide(now, freed);
        } else {
            // The user has opened the victim meanwhile; it is no victim any more.
            (self.killing, self.victim) = (false, None);
        }
    }

    /// Spares the victim if the driver has freed as much as was asked for. Otherwise the killer resumes what it had
    /// begun, even if memory is not short any more: Sec. 6.3, "when Hvalve cannot evict sufficient cached entries to
    /// free the requested amount of memory, [...] LMKD must resume the suspended app-killing procedure". Sec. 5.3 has
    /// it resume when too little was evicted "to alleviate the memory pressure"; that reading is `spares_on_relief`.
    fn decide(&mut self, now: SimTime, returned: u64) {
        let victim = self.victim.expect("the killer has chosen a victim");
        let relieved = self.scenario.lmkd.spares_on_relief && returned > 0 && !self.memory.exhausted();
        let spared = returned >= victim.bytes || relieved;
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
            (self.killing, self.victim) = (false, None);
            return;
        }
        let epoch = self.state(victim.app).epoch;
        self.plan(now + self.scenario.lmkd.kill_time, Action::Killed { app: victim.app, epoch });
    }

    /// The process of an app has ended.
    pub(super) fn end_app(&mut self, app: AppId, now: SimTime) {
        // While memory is being freed in its place, the killer waits for that (see `freed`).
        if self.freeing.is_none() && self.victim.is_some_and(|victim| victim.app == app) {
            (self.killing, self.victim) = (false, None);
        }
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

    pub(super) fn restart(&mut self, app: AppId, now: SimTime) {
        let state = self.state(app);
        state.alive = true;
        state.used = now.0 + 1;
        state.launches += 1;
        state.starting = state.app.cold.reads;
        self.grow(app);
        self.send_back(app, now);
    }

    pub(super) fn sample(&mut self, now: SimTime) -> Sample {
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
}
