//! Makes a failing case smaller, so that what is left says why it fails: acts are left out in ever smaller groups (as
//! Zeller and Hildebrandt's delta debugging does), then what is special about the device.

use crate::case::{Case, Ended, PLAIN};

/// Most cases that are tried. A case with few acts takes milliseconds.
const ATTEMPTS: u32 = 1500;
/// The acts of all of them, as a multiple of those of the case: how long a search may take, on any machine alike.
const EFFORT: usize = 60;

/// The smallest case found that fails like `case`, whose failure was told by `what` at the act numbered `last`; and the
/// message of its failure. `tried` hears how many cases have been tried.
pub(crate) fn smallest(case: &Case, what: String, last: u32, tried: &dyn Fn(u32)) -> (Case, String) {
    let mut best = case.clone();
    let acts: Vec<u32> = case.kept(&case.script()).filter(|&at| at <= last).collect();
    let effort = acts.len() * EFFORT;
    best.reduced.acts = Some(acts);
    let mut shrinker = Shrinker { best, what, attempts: 0, effort, tried };
    // Without conditions and a queue, few acts depend on others.
    let keys = case.script().set.into_iter().map(|(key, _)| key.to_owned());
    let names: Vec<String> = PLAIN.map(str::to_owned).into_iter().chain(keys).collect();
    if !shrinker.make_all_plain(&names) {
        shrinker.make_plain(&names[..PLAIN.len()]);
    }
    shrinker.leave_out_acts();
    if shrinker.make_plain(&names) {
        shrinker.leave_out_acts();
    }
    (shrinker.best, shrinker.what)
}

struct Shrinker<'a> {
    /// The smallest failing case so far, whose `acts` are given.
    best: Case,
    what: String,
    attempts: u32,
    /// Acts that may still be tried.
    effort: usize,
    tried: &'a dyn Fn(u32),
}

impl Shrinker<'_> {
    fn acts(&self) -> &[u32] {
        self.best.reduced.acts.as_deref().unwrap_or_default()
    }

    fn is_spent(&self) -> bool {
        self.attempts == ATTEMPTS || self.effort == 0
    }

    /// Takes a smaller case if it fails, too.
    fn try_case(&mut self, mut case: Case) -> bool {
        if self.is_spent() {
            return false;
        }
        self.attempts += 1;
        self.effort = self.effort.saturating_sub(case.reduced.acts.as_ref().map_or(0, Vec::len));
        (self.tried)(self.attempts);
        let Ended::Broken { what, last } = case.attempt() else { return false };
        if let Some(acts) = &mut case.reduced.acts {
            acts.retain(|&at| at <= last);
        }
        (self.best, self.what) = (case, what);
        true
    }

    fn leave_out_acts(&mut self) {
        let mut group = self.acts().len().div_ceil(2);
        while group > 0 {
            let mut found = false;
            // From the end: what stands last depends on what stands first.
            let mut end = self.acts().len();
            while end > 0 {
                end = end.min(self.acts().len());
                let begin = end.saturating_sub(group);
                let mut case = self.best.clone();
                case.reduced.acts = Some([&self.acts()[..begin], &self.acts()[end..]].concat());
                found |= self.try_case(case);
                end = begin;
            }
            if group > 1 {
                group = group.div_ceil(2);
            } else if !found || self.is_spent() {
                return;
            }
        }
    }

    /// True if all of these could be made plain at once, which takes one attempt.
    fn make_all_plain(&mut self, names: &[String]) -> bool {
        let mut case = self.best.clone();
        case.reduced.plain = names.to_vec();
        self.try_case(case)
    }

    /// True if any of these could be made plain.
    fn make_plain(&mut self, names: &[String]) -> bool {
        let mut found = false;
        for name in names {
            if !self.best.reduced.plain.contains(name) {
                let mut case = self.best.clone();
                case.reduced.plain.push(name.clone());
                found |= self.try_case(case);
            }
        }
        found
    }
}
