//! Carries out a script on the bench.

use host::{AppSignal, RequestOp, SchedulerKind};
use lab::profile::Profile;
use units::{AppId, Lpa};

use crate::report::{Around, Doing, Report};
use crate::rig::{Defects, Rig};
use crate::rng::Rng;
use crate::script::{Act, Cut, Kind, PATIENCE, Script, When};

/// Units of each write that fills the device.
const FILL_UNITS: u32 = 32;

/// A power cut that is due.
#[derive(Debug)]
struct Armed {
    cut: Cut,
    /// Times that what it waits for has still to come; 0 = it waits for nothing any more.
    awaited: u32,
    /// Events until it gives up waiting.
    patience: u32,
    /// Events after that.
    then: u32,
    doing: Doing,
    durable: u64,
}

impl Armed {
    fn new(cut: Cut, rig: &Rig) -> Armed {
        let (awaited, then) = match cut.when {
            When::Events(events) => (0, events),
            When::Moment { nth, then, .. } => (nth, then),
            When::Durable { then } => (1, then),
        };
        Armed { cut, awaited, patience: PATIENCE, then, doing: rig.doing(), durable: rig.made_durable() }
    }

    /// An event has happened. True if the cut happens now.
    fn is_due(&mut self, rig: &Rig) -> bool {
        if self.awaited == 0 {
            self.then = self.then.saturating_sub(1);
            return self.then == 0;
        }
        let before = std::mem::replace(&mut self.doing, rig.doing());
        let durable = std::mem::replace(&mut self.durable, rig.made_durable());
        let met = match self.cut.when {
            When::Durable { .. } => self.durable > durable,
            when => when.is_met(before, self.doing),
        };
        self.patience -= 1;
        self.awaited = if self.patience == 0 { 0 } else { self.awaited - u32::from(met) };
        self.awaited == 0 && self.then == 0
    }
}

/// A script under way.
pub(crate) struct Player<'a> {
    script: &'a Script,
    rig: Rig,
    armed: Option<Armed>,
    around: Around,
    report: Report,
}

impl<'a> Player<'a> {
    /// A player with a new device.
    pub fn new(script: &'a Script, profile: &Profile, defects: Defects) -> Player<'a> {
        let aged = matches!(script.kind, Kind::Full | Kind::Worn);
        let around = Around { aged, large: script.kind == Kind::Large, ..Around::default() };
        Player {
            script,
            rig: Rig::linked(profile, script.parts, script.link, defects),
            armed: None,
            around,
            report: Report { scheme: script.preset.name, ..Report::default() },
        }
    }

    /// Carries out an act.
    pub fn act(&mut self, act: &Act) {
        match *act {
            Act::Fill => self.fill(),
            Act::Age { units, part, most, seed } => self.age(units, part, most, &mut Rng::new(seed)),
            Act::Request { op, lpa, len, app } => self.submit(op, lpa, len, app),
            Act::Overtake { lpa, which } => self.overtake(lpa, which),
            Act::Wait(events) => {
                for _ in 0..events {
                    if self.rig.has_events() {
                        self.step();
                    }
                }
            }
            Act::Signal(signal) => {
                self.around.foreground |= matches!(signal, AppSignal::LaunchStart(_));
                self.rig.signal(signal);
            }
            Act::Reclaim { victim, bytes } => self.around.given_back |= self.rig.reclaim(victim, bytes) > 0,
            Act::Memory { bytes } => {
                let before = self.rig.driver().memory_bytes();
                self.rig.set_memory(bytes);
                self.around.given_back |= self.rig.driver().memory_bytes() < before;
            }
            Act::Cut(ref cut) => {
                self.cut_what_is_due();
                self.armed = Some(Armed::new(cut.clone(), &self.rig));
                if cut.when == When::Events(0) {
                    self.cut_what_is_due();
                }
            }
        }
    }

    /// Ends the script: the last cut, then everything is read.
    pub fn finish(mut self) -> Report {
        for _ in 0..PATIENCE {
            if self.armed.is_some() && self.rig.has_events() {
                self.step();
            }
        }
        self.cut_what_is_due();
        self.rig.settle();
        self.look();
        self.report
    }

    fn fill(&mut self) {
        let units = self.rig.units();
        for lpa in (0..units).step_by(FILL_UNITS as usize) {
            let len = FILL_UNITS.min(units - lpa);
            self.submit(RequestOp::Write { fua: false }, Lpa(lpa), len, AppId::SYSTEM);
        }
    }

    fn age(&mut self, units: u32, part: (u32, u32), most: u32, rng: &mut Rng) {
        let mut left = units;
        while left > 0 {
            let len = left.min(1 + rng.below(most));
            let lpa = part.0 + rng.below(part.1 - len + 1);
            self.submit(RequestOp::Write { fua: false }, Lpa(lpa), len, AppId::SYSTEM);
            left -= len;
        }
    }

    /// Overwrites a page whose copy by GC waits for a full row, or `lpa` if there is none.
    fn overtake(&mut self, lpa: Lpa, which: u32) {
        let copies = self.rig.device().copies();
        let waiting: Vec<Lpa> = copies.iter().filter(|copy| !copy.programming).map(|copy| copy.lpa).collect();
        let lpa = if waiting.is_empty() { lpa } else { waiting[which as usize % waiting.len()] };
        self.submit(RequestOp::Write { fua: true }, lpa, 1, AppId::SYSTEM);
    }

    fn submit(&mut self, op: RequestOp, lpa: Lpa, len: u32, app: AppId) {
        self.around.submitting = true;
        while self.rig.outstanding() >= self.script.depth {
            self.step();
        }
        self.around.submitting = false;
        self.rig.submit_now(op, lpa, len, app);
    }

    /// Handles the next event, and cuts the power if that is due.
    fn step(&mut self) {
        self.rig.step();
        if let Some(armed) = &mut self.armed
            && armed.is_due(&self.rig)
        {
            self.cut_what_is_due();
        }
    }

    fn cut_what_is_due(&mut self) {
        let Some(Armed { cut, .. }) = self.armed.take() else { return };
        let mut dice = Rng::new(cut.dice);
        self.cut(&mut dice);
        for &events in &cut.again {
            self.rig.recover_for(events);
            if !self.rig.device().is_ready() {
                self.cut(&mut dice);
            }
        }
        self.rig.recover_for(u32::MAX);
        let recovery_ns = self.rig.device().stats().recovery_ns;
        self.report.longest_recovery_ns = self.report.longest_recovery_ns.max(recovery_ns);
        self.rig.attach();
        if cut.look {
            self.look();
        }
    }

    fn cut(&mut self, dice: &mut Rng) {
        let recovering = !self.rig.device().is_ready();
        let around = Around {
            link: self.rig.on_link(),
            overlapping: self.rig.has_overlap(),
            reordering: self.script.parts.scheduler != SchedulerKind::Noop && self.rig.outstanding() > 1,
            surveying: !recovering && self.rig.is_surveying(),
            submitting: self.around.submitting && !recovering,
            unread: self.around.unread && !recovering,
            ..self.around
        };
        self.report.note(self.rig.doing(), &around);
        self.rig.cut_and_boot(dice);
        (self.around.unread, self.around.foreground, self.around.given_back) = (true, false, false);
    }

    /// Reads everything, or what the script concerns of a large device.
    fn look(&mut self) {
        match self.script.kind {
            Kind::Large => self.rig.read_ranges(&self.script.concerned(self.rig.units())),
            _ => self.rig.read_all(),
        }
        self.around.unread = false;
    }
}
