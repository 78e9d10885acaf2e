//! The power-cut campaign: seeded cases with a random small device, scheme, workload and moments of the cut.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use ftl::Sabotage;
use host::SchedulerKind;
use lab::{Preset, schemes};
use nand::Faults;
use ufs::LinkConfig;
use units::Nanos;

use crate::player::Player;
use crate::report::Report;
use crate::rig::Defects;
use crate::script::{Act, Script};
use crate::shrink;

/// One case of the campaign. Its text form, [`Display`](std::fmt::Display), repeats it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Case {
    /// Decides everything that the other fields do not.
    pub seed: u64,
    /// A promise that the device breaks; `None` for a correct device.
    pub sabotage: Option<Sabotage>,
    /// What is left out.
    pub reduced: Reduced,
}

/// What is left out of a case to make it smaller.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reduced {
    /// The acts that are kept, by number, in order; `None` for all.
    pub acts: Option<Vec<u32>>,
    /// What is as in profile `tiny`: keys of the profile, and the names in [`PLAIN`].
    pub plain: Vec<String>,
}

/// What can be made plain apart from keys of the profile: no flash fails, scheduler `noop`, a link without time on the
/// wire, one request at a time, and power cuts that wait for nothing.
pub const PLAIN: [&str; 5] = ["when", "faults", "scheduler", "link", "depth"];

/// A case in which a promise was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case.
    pub case: Case,
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Message of the broken promise.
    pub what: String,
}

/// How a case has ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    Kept(Report),
    /// The promise that was broken, and the number of the last act.
    Broken {
        what: String,
        last: u32,
    },
    /// What is left does not make a device.
    Unfit(String),
}

/// The promises that a device can be made to break: name, and what the device does, in one line.
pub fn sabotages() -> Vec<(&'static str, &'static str)> {
    Sabotage::ALL.iter().map(|sabotage| (sabotage.name(), sabotage.doc())).collect()
}

/// The promise with this name.
///
/// # Errors
/// A message with all names.
pub fn sabotage(name: &str) -> Result<Sabotage, String> {
    let unknown = || format!("sabotage = \"{name}\": must be one of {}", Sabotage::NAMES.join(", "));
    Sabotage::from_name(name).ok_or_else(unknown)
}

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64) -> Case {
        Case { seed, ..Case::default() }
    }

    /// The cases of a scheme, in order of seed; none if there is no such scheme.
    pub fn of_scheme(name: &str) -> impl Iterator<Item = Case> {
        let presets = schemes();
        let first = presets.iter().position(|preset| preset.name == name);
        first.into_iter().flat_map(|first| (first as u64..).step_by(presets.len())).map(Case::new)
    }

    /// The scheme of the case.
    pub fn preset(&self) -> &'static Preset {
        let presets = schemes();
        &presets[(self.seed % presets.len() as u64) as usize]
    }

    /// Runs the case, and makes it smaller if it fails. `tried` hears how many smaller ones have been tried.
    ///
    /// # Errors
    /// The smallest case found that breaks a promise.
    pub fn run(&self, tried: &dyn Fn(u32)) -> Result<Report, Failure> {
        match self.attempt() {
            Ended::Kept(report) => Ok(report),
            Ended::Broken { what, last } => {
                let (case, what) = shrink::smallest(self, what, last, tried);
                Err(case.failure(what))
            }
            Ended::Unfit(why) => Err(self.failure(why)),
        }
    }

    /// Runs the case.
    ///
    /// # Errors
    /// The case itself, if it breaks a promise.
    pub fn run_as_it_is(&self) -> Result<Report, Failure> {
        match self.attempt() {
            Ended::Kept(report) => Ok(report),
            Ended::Broken { what, .. } | Ended::Unfit(what) => Err(self.failure(what)),
        }
    }

    /// What happens in the case, a line for each act.
    pub fn told(&self) -> Vec<String> {
        let script = self.script();
        self.kept(&script).map(|at| script.acts[at as usize].to_string()).collect()
    }

    /// The script without what is left out, but with all acts.
    pub(crate) fn script(&self) -> Script {
        let mut script = Script::of_seed(self.seed);
        for name in &self.reduced.plain {
            match name.as_str() {
                "faults" => script.faults = Faults::default(),
                "scheduler" => script.parts.scheduler = SchedulerKind::Noop,
                "depth" => script.depth = 1,
                "when" => script.acts.iter_mut().for_each(Act::cut_at_once),
                "link" => {
                    let upiu_latency = Nanos::from_micros(1);
                    script.link = LinkConfig { down_bytes_per_us: 0, up_bytes_per_us: 0, upiu_latency };
                }
                key => script.set.retain(|(set, _)| *set != key),
            }
        }
        script
    }

    /// Numbers of the acts that are kept.
    pub(crate) fn kept(&self, script: &Script) -> impl Iterator<Item = u32> + use<> {
        let all = script.acts.len() as u32;
        let kept = self.reduced.acts.clone().unwrap_or_else(|| (0..all).collect());
        kept.into_iter().filter(move |&at| at < all)
    }

    fn failure(&self, what: String) -> Failure {
        Failure { case: self.clone(), scheme: self.preset().name, what }
    }

    pub(crate) fn attempt(&self) -> Ended {
        let mut script = self.script();
        let numbers: Vec<u32> = self.kept(&script).collect();
        script.acts = numbers.iter().map(|&number| script.acts[number as usize].clone()).collect();
        let profile = match script.profile() {
            Ok(profile) if script.fits(profile.capacity_units()) => profile,
            Ok(_) => return Ended::Unfit("a request reaches beyond the device".into()),
            Err(error) => return Ended::Unfit(error.to_string()),
        };
        let defects = Defects { faults: script.faults, sabotage: self.sabotage };
        let at = Cell::new(None);
        let play = || {
            let mut player = Player::new(&script, &profile, defects);
            at.set(Some(0));
            for (act, &number) in script.acts.iter().zip(&numbers) {
                at.set(Some(number));
                player.act(act);
            }
            player.finish()
        };
        match (quietly(|| catch_unwind(AssertUnwindSafe(play))), at.get()) {
            (Ok(report), _) => Ended::Kept(report),
            (Err(payload), Some(last)) => Ended::Broken { what: message(payload.as_ref()), last },
            // A system that can not even be built has not broken a promise.
            (Err(payload), None) => Ended::Unfit(message(payload.as_ref())),
        }
    }
}

/// What a panic has said.
pub fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "a panic without a message".into())
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure whose panics are results, so they are not printed.
pub fn quietly<T>(run: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let result = run();
    QUIET.set(false);
    result
}
