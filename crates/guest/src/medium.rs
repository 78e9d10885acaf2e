//! A simulated device behind a controller.

use std::collections::VecDeque;

use attach::Engine;
use lab::{Recorder, Stack};
use ufs::codec::hpufs::PowerOn;
use ufs::{Booster, BoosterControl, Command, DeviceInfo, Health, HpbNotice};
use ufshci::{Answer, Medium};
use units::{Nanos, SimTime};

/// An engine whose clock may be ahead of the guest's: it has recovered, or aged, before the guest was switched on.
pub struct Simulated {
    /// The engine.
    pub engine: Engine,
    info: DeviceInfo,
    /// The engine's time when the guest's clock was 0.
    began: SimTime,
    /// How often the device was switched on.
    power_ons: u32,
    /// A guest has used the device since it was switched on.
    used: bool,
    answers: VecDeque<Answer>,
}

impl Simulated {
    /// The device of an engine with a host outside. The guest's clock is 0 now.
    pub fn new(engine: Engine) -> Simulated {
        let (info, began) = (engine.stack_ref().device.info(), engine.now());
        Simulated { engine, info, began, power_ons: 0, used: false, answers: VecDeque::new() }
    }

    /// A guest is switched on: its clock is 0 now. Nothing of an earlier one is under way any more. With `both` the
    /// device is, too, unless it has just been: what a host knew of it is gone.
    pub fn begin(&mut self, both: bool) {
        while self.engine.outstanding() > 0 {
            self.engine.step();
        }
        if both && self.used {
            self.cut_at(self.engine.now());
        }
        self.used = true;
        while self.engine.relayed().is_some() {}
        self.answers.clear();
        self.began = self.engine.now();
        self.power_ons += 1;
    }

    /// Records requests from a time of the guest on.
    pub fn record(&mut self, at: SimTime, recorder: impl FnOnce(&mut Stack) -> Recorder) {
        self.engine.record(self.inside(at), recorder);
        self.collect();
    }

    /// Cuts the power at a time of the guest, and lets the device recover.
    pub fn power_cut(&mut self, at: SimTime) {
        self.cut_at(self.inside(at));
    }

    fn cut_at(&mut self, at: SimTime) {
        self.used = false;
        self.engine.cut(at);
        while !self.engine.is_ready() {
            self.engine.step();
        }
    }

    fn inside(&self, at: SimTime) -> SimTime {
        self.began + at.since(SimTime::START)
    }

    fn outside(&self, at: SimTime) -> SimTime {
        // What was due before the guest was there is due when it comes.
        SimTime::START + Nanos(at.0.saturating_sub(self.began.0))
    }

    fn collect(&mut self) {
        while let Some(ended) = self.engine.relayed() {
            let (at, mut response) = (self.outside(ended.at), ended.response);
            if matches!(response.hpb, HpbNotice::Entry { .. }) {
                // HPB 2.0 has no notice of single entries, and Linux would only complain about it.
                response.hpb = HpbNotice::None;
            }
            self.answers.push_back(Answer { at, response, data: ended.data });
        }
    }
}

impl Medium for Simulated {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn is_ready(&self) -> bool {
        self.engine.is_ready()
    }

    fn booster(&self) -> Option<Booster> {
        self.engine.stack_ref().device.booster()
    }

    fn control_booster(&mut self, at: SimTime, control: BoosterControl) {
        self.engine.control_booster(self.inside(at), control);
        self.collect();
    }

    fn health(&self) -> Health {
        self.engine.stack_ref().device.health()
    }

    fn power_on(&self) -> PowerOn {
        PowerOn { count: self.power_ons, last_change: self.engine.found() }
    }

    fn power_cycle(&mut self, at: SimTime) {
        self.engine.cut(self.inside(at));
        self.answers.clear();
        self.power_ons += 1;
    }

    fn submit(&mut self, at: SimTime, command: Command, data: Vec<u8>) {
        self.engine.relay(self.inside(at), command, data);
        self.collect();
    }

    fn next_time(&self) -> Option<SimTime> {
        let answer = self.answers.front().map(|answer| answer.at);
        answer.or_else(|| self.engine.next_time().map(|at| self.outside(at)))
    }

    fn answers_from(&self) -> Option<SimTime> {
        let answer = self.answers.front().map(|answer| answer.at);
        answer.or_else(|| self.engine.stack_ref().responses_from().map(|at| self.outside(at)))
    }

    fn least_answer_time(&self) -> Nanos {
        self.engine.stack_ref().least_round_trip()
    }

    fn run_until(&mut self, at: SimTime) {
        self.engine.run_until(self.inside(at));
        self.collect();
    }

    fn answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }
}
