//! The search: depth first through all that may happen, with the states that have been seen.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fingerprint::{Seen, fingerprint};
use crate::scope::{Left, Scope, after};
use crate::start::Start;
use crate::system::{Power, Step, System};

/// What a search has found out.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Distinct states.
    pub states: u64,
    /// Steps taken, to new states and to known ones.
    pub steps: u64,
    /// Power cuts, each way in which the dice can fall counted.
    pub cuts: u64,
    /// Recovered devices of which every address was read.
    pub surveys: u64,
    /// Most steps from a start to a state.
    pub depth: u64,
    /// Levels of which every state was seen, with the distinct states up to the end of each.
    pub complete: Vec<(Left, u64)>,
    /// The first promise that was broken.
    pub failure: Option<Failure>,
}

impl Report {
    /// Adds the search of another scope, whose levels do not count as complete.
    pub fn add(&mut self, other: Report) {
        self.states += other.states;
        self.steps += other.steps;
        self.cuts += other.cuts;
        self.surveys += other.surveys;
        self.depth = self.depth.max(other.depth);
        self.failure = self.failure.take().or(other.failure);
    }
}

/// A broken promise, and how it came about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What was broken.
    pub what: String,
    /// The start.
    pub start: &'static str,
    /// The level.
    pub level: Left,
    /// Every step from there.
    pub steps: Vec<Step>,
}

/// A state on the way to the present one, and what is left to try there.
struct Place {
    /// `None` once the last step from here is under way.
    system: Option<System>,
    left: Left,
    untried: Vec<Step>,
}

/// Why the search of a level from a start has ended.
enum End {
    AllSeen,
    /// At [`Scope::most`] states.
    Most,
    /// The caller has said so.
    Told,
}

/// A search under way.
struct Search<'a> {
    scope: &'a Scope,
    seen: Seen,
    report: Report,
    way: Vec<Place>,
    /// The steps that lead along the way, and the one being taken.
    taken: Vec<Step>,
}

/// Explores a scope, one level after another, until a promise is broken. `go_on` is asked every thousand states, with
/// what is known so far.
///
/// A panic of driver or device is a broken promise, too. The caller may want to silence its message.
pub fn explore(scope: &Scope, go_on: &mut dyn FnMut(&Report) -> bool) -> Report {
    let mut search =
        Search { scope, seen: Seen::default(), report: Report::default(), way: Vec::new(), taken: Vec::new() };
    for &level in &scope.levels {
        let mut complete = true;
        for start in &scope.starts {
            match search.level(start, level, go_on) {
                Ok(End::AllSeen) => {}
                Ok(End::Most) => complete = false,
                Ok(End::Told) => return search.report,
                Err(what) => {
                    let failure = Failure { what, start: start.name, level, steps: search.taken };
                    return Report { failure: Some(failure), ..search.report };
                }
            }
        }
        if complete {
            search.report.complete.push((level, search.report.states));
        }
    }
    search.report
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic without a message".into())
}

impl Search<'_> {
    /// Tries everything from a start on.
    fn level(&mut self, start: &Start, level: Left, go_on: &mut dyn FnMut(&Report) -> bool) -> Result<End, String> {
        self.taken.clear();
        self.way.clear();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let system = self.scope.start(start)?;
            self.visit(system, level)?;
            self.run(go_on)
        }));
        result.unwrap_or_else(|payload| Err(message_of(payload.as_ref())))
    }

    /// Tries everything from the present way on.
    fn run(&mut self, go_on: &mut dyn FnMut(&Report) -> bool) -> Result<End, String> {
        let mut asked = self.report.states / 1000;
        let most = self.report.states.saturating_add(self.scope.most);
        while let Some(place) = self.way.last_mut() {
            let Some(step) = place.untried.pop() else {
                self.way.pop();
                self.taken.truncate(self.way.len().saturating_sub(1));
                continue;
            };
            self.advance(step)?;
            if self.report.states / 1000 > asked {
                asked = self.report.states / 1000;
                if !go_on(&self.report) {
                    return Ok(End::Told);
                }
                if self.report.states >= most {
                    return Ok(End::Most);
                }
            }
        }
        Ok(End::AllSeen)
    }

    /// Takes a step from the end of the way.
    fn advance(&mut self, step: Step) -> Result<(), String> {
        let place = self.way.last_mut().expect("a step starts somewhere");
        let left = after(place.left, &step);
        // The dice of a cut are known once they have fallen, so a cut may be followed by another one.
        let last = place.untried.is_empty() && !matches!(step, Step::Cut(_));
        let system = if last { place.system.take() } else { place.system.clone() };
        let mut system = system.expect("a place has its system until its last step");
        self.report.steps += 1;
        self.taken.push(step);
        let step = self.taken.last_mut().expect("pushed above");
        system.take(step)?;
        match step {
            Step::Cut(dice) => {
                self.report.cuts += 1;
                let following = dice.clone().following().map(Step::Cut);
                self.way.last_mut().expect("as above").untried.extend(following);
            }
            Step::Survey => self.report.surveys += 1,
            _ => {}
        }
        self.visit(system, left)
    }

    /// Goes to a state unless it has been seen.
    fn visit(&mut self, system: System, left: Left) -> Result<(), String> {
        if !self.seen.insert(fingerprint(&(&system, left))) {
            self.taken.pop();
            return Ok(());
        }
        self.report.states += 1;
        let untried = self.scope.steps(&system, left);
        if system.power() == Power::On {
            check_rest(&system)?;
        }
        self.way.push(Place { system: Some(system), left, untried });
        self.report.depth = self.report.depth.max(self.taken.len() as u64);
        Ok(())
    }
}

/// Checks a state in which nothing happens by itself: no request may wait, and everything can be read.
fn check_rest(system: &System) -> Result<(), String> {
    if !system.pending().is_empty() {
        return Ok(());
    }
    match system.oracle().under_way() {
        [] => system.check_contents(),
        waiting => Err(format!("nothing will ever happen, but requests wait: {waiting:?}")),
    }
}
