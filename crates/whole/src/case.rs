//! A case: everything that happens follows from its seed. Its text form repeats it.

use std::fmt::{Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use attach::{Hole, Pace};
use campaign::{Rng, message, quietly};
use files::Simulated;
use lab::aged::Header;
use lab::{Preset, Spec, schemes};

use crate::process::Setting;
use crate::report::Report;
use crate::world::World;

/// Steps of a case, if nothing else is said.
const STEPS: u32 = 2000;
/// Cases that are tried to make one smaller.
const TRIES: u32 = 60;
/// The last things that happened, which a failure tells.
const TOLD: usize = 30;

/// What can be left out of a case.
pub const KINDS: [&str; 6] = ["kills", "disk", "lies", "rogues", "control", "log"];

/// What is left out of a case.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Left(Vec<String>);

impl Left {
    /// True if something of this kind is left out.
    pub fn has(&self, kind: &str) -> bool {
        self.0.iter().any(|left| left == kind)
    }
}

/// A case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    pub seed: u64,
    pub steps: u32,
    pub left: Left,
    /// A promise that is broken on purpose.
    pub sabotage: Option<Hole>,
}

/// A case in which a promise was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    pub case: Case,
    /// The promise.
    pub what: String,
    /// What happened before.
    pub told: Vec<String>,
}

impl Case {
    /// The case of a seed.
    pub fn new(seed: u64) -> Case {
        Case { seed, steps: STEPS, left: Left::default(), sabotage: None }
    }

    /// The scheme of the case.
    pub fn preset(&self) -> &'static Preset {
        let presets = schemes();
        &presets[(self.seed % presets.len() as u64) as usize]
    }

    fn setting(&self) -> Setting {
        let spec = Spec { profile: "tiny".into(), ..Spec::new(self.preset().name, "") };
        let machine = spec.resolve().expect("profile tiny suits every scheme");
        let header = Header::new(&spec, &machine, "the simulation of the whole");
        let pace = match Rng::new(!self.seed).below(3) {
            0 => Pace::Real { speed: 1.0 },
            1 => Pace::Real { speed: 0.05 },
            _ => Pace::Free,
        };
        Setting {
            machine: Arc::new(machine),
            header,
            seed: self.seed,
            pace,
            sabotage: self.sabotage,
            disk: Simulated::new(),
            time: Arc::default(),
            margin: Arc::default(),
        }
    }

    /// Runs the case, and makes it smaller if it fails. `tried` hears how many smaller ones have been tried.
    ///
    /// # Errors
    /// The smallest case found that breaks a promise.
    pub fn run(&self, tried: &dyn Fn(u32)) -> Result<Report, Box<Failure>> {
        let (what, steps) = match self.attempt(&mut None) {
            Ok(report) => return Ok(report),
            Err(broken) => broken,
        };
        let (case, what) = self.smallest(what, steps, tried);
        let mut told = Some(Vec::new());
        // It has failed before, and fails again.
        let _ = case.attempt(&mut told);
        let mut told = told.unwrap_or_default();
        let told = told.split_off(told.len().saturating_sub(TOLD));
        Err(Box::new(Failure { case, what, told }))
    }

    /// Runs the case as it is.
    ///
    /// # Errors
    /// The case itself, if it breaks a promise.
    pub fn run_as_it_is(&self) -> Result<Report, Box<Failure>> {
        let mut told = Some(Vec::new());
        let ended = self.attempt(&mut told);
        ended.map_err(|(what, _)| Box::new(Failure { case: self.clone(), what, told: told.unwrap_or_default() }))
    }

    /// Clients misbehave for so long, beside one that checks what it gets; nothing else happens.
    ///
    /// # Errors
    /// The promise that was broken.
    pub fn abuse(seed: u64, time: Duration) -> Result<Report, String> {
        let left = Left(["kills", "disk", "lies", "control", "log"].map(str::to_owned).to_vec());
        let case = Case { left, ..Case::new(seed) };
        let mut world = World::new(&case, case.setting());
        world.abuse(time)?;
        Ok(world.report)
    }

    /// Runs the case as it is. What it tells comes in `told`, if that is wanted.
    ///
    /// # Errors
    /// The promise that was broken, and the steps that it took.
    fn attempt(&self, told: &mut Option<Vec<String>>) -> Result<Report, (String, u32)> {
        let mut steps = 0;
        let mut world = World::new(self, self.setting());
        world.told = told.take();
        let run = || {
            while steps < self.steps {
                steps += 1;
                world.step()?;
            }
            world.finish()
        };
        let ended = quietly(|| catch_unwind(AssertUnwindSafe(run)));
        *told = world.told.take();
        match ended {
            Ok(Ok(())) => Ok(world.report),
            Ok(Err(what)) => Err((what, steps)),
            Err(payload) => {
                // Locks may be held by what has panicked; nothing of it is used any more.
                std::mem::forget(world);
                Err((message(payload.as_ref()), steps))
            }
        }
    }

    /// A smaller case that fails, too.
    fn smallest(&self, what: String, steps: u32, tried: &dyn Fn(u32)) -> (Case, String) {
        let mut best = (Case { steps, ..self.clone() }, what);
        let mut tries = 0;
        let mut attempt = |case: Case, best: &mut (Case, String)| {
            if tries == TRIES {
                return;
            }
            tries += 1;
            tried(tries);
            if let Err((what, steps)) = case.attempt(&mut None) {
                *best = (Case { steps, ..case }, what);
            }
        };
        for kind in KINDS {
            let mut case = best.0.clone();
            case.left.0.push(kind.into());
            attempt(case, &mut best);
        }
        let mut fewer = best.0.steps / 2;
        while fewer > 0 {
            let case = Case { steps: best.0.steps.saturating_sub(fewer), ..best.0.clone() };
            attempt(case, &mut best);
            fewer /= 2;
        }
        best
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.seed)?;
        if self.steps != STEPS {
            write!(f, "/steps={}", self.steps)?;
        }
        if !self.left.0.is_empty() {
            write!(f, "/without={}", self.left.0.join(","))?;
        }
        match self.sabotage {
            Some(hole) => write!(f, "/break={}", hole.name()),
            None => Ok(()),
        }
    }
}

impl FromStr for Case {
    type Err = String;

    /// # Errors
    /// A message with the part that is wrong, and what would be right.
    fn from_str(text: &str) -> Result<Case, String> {
        let wrong = |why: String| format!("case = \"{text}\": {why}");
        let mut parts = text.split('/');
        let seed = parts.next().unwrap_or_default();
        let mut case = Case::new(seed.parse().map_err(|_| wrong(format!("\"{seed}\" is not a seed")))?);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "steps" => {
                    case.steps = value.parse().map_err(|_| wrong(format!("\"{value}\" is no number of steps")))?;
                }
                "without" => {
                    case.left = Left(value.split(',').map(str::to_owned).collect());
                    if let Some(kind) = case.left.0.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
                        return Err(wrong(format!("without \"{kind}\": must be one of {}", KINDS.join(", "))));
                    }
                }
                "break" => {
                    let told = || wrong(format!("break = \"{value}\": must be one of {}", Hole::NAMES.join(", ")));
                    case.sabotage = Some(Hole::from_name(value).ok_or_else(told)?);
                }
                _ => return Err(wrong(format!("\"{key}\" must be one of steps, without, break"))),
            }
        }
        Ok(case)
    }
}
