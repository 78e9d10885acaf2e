//! What operations have waited for on their dies, for reports. Nobody pays for it before it is asked for.

use units::{Nanos, SimTime};

use crate::op::Cause;

/// How long an operation has waited on its die, by the cause of what the die did meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait<'a> {
    /// When the operation was submitted.
    pub submitted: SimTime,
    /// In the order of [`Cause::ALL`], together the time from its submission to its start. `None` if the die was idle,
    /// as it is for most operations.
    pub behind: Option<&'a [Nanos; Cause::COUNT]>,
}

/// The waits of the operations under way. A die is never idle while an operation waits for it, so what it did in the
/// meantime is the difference of two sums. An operation that need not wait only leaves the time of its submission.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Time that each die has worked, by cause, in operations that have ended.
    worked: Vec<[Nanos; Cause::COUNT]>,
    /// By place of the slab: when the operation was submitted, and whether its die had other work.
    submitted: Vec<(SimTime, bool)>,
    /// For each place of the slab whose die had other work: what it had worked when the operation was submitted; from
    /// its start on, its wait.
    behind: Vec<[Nanos; Cause::COUNT]>,
    /// Place of the operation that has ended last. Nothing else is there before the next is submitted.
    last: usize,
}

impl Waits {
    /// No operation is under way on any of these dies, or nobody will ask for those that are.
    pub fn new(dies: usize) -> Waits {
        let worked = vec![[Nanos::ZERO; Cause::COUNT]; dies];
        Waits { worked, submitted: Vec::new(), behind: Vec::new(), last: 0 }
    }

    /// An operation is submitted. `running` is the cause of what its die works on, and for how long it has.
    #[inline]
    pub fn submitted(&mut self, now: SimTime, die: u32, slot: u32, running: Option<(Cause, Nanos)>) {
        let slot = slot as usize;
        if self.submitted.len() <= slot {
            self.submitted.resize(slot + 1, (SimTime::START, false));
            self.behind.resize(slot + 1, [Nanos::ZERO; Cause::COUNT]);
        }
        self.submitted[slot] = (now, running.is_some());
        if let Some((cause, time)) = running {
            let behind = &mut self.behind[slot];
            *behind = self.worked[die as usize];
            behind[cause.index()] += time;
        }
    }

    /// An operation starts.
    #[inline]
    pub fn started(&mut self, die: u16, slot: u32) {
        // Operations that were under way before the first call of `submitted` have no place.
        if let Some((_, true)) = self.submitted.get(slot as usize) {
            let worked = &self.worked[usize::from(die)];
            let behind = &mut self.behind[slot as usize];
            *behind = std::array::from_fn(|cause| Nanos(worked[cause].0.saturating_sub(behind[cause].0)));
        }
    }

    /// An operation ends, after so much time since its start.
    #[inline]
    pub fn ended(&mut self, die: u16, slot: u32, cause: Cause, took: Nanos) {
        self.worked[usize::from(die)][cause.index()] += took;
        self.last = slot as usize;
    }

    /// The wait of the operation that has ended last. Has to be asked for before another one is submitted.
    pub fn last(&self) -> Wait<'_> {
        let (submitted, queued) = self.submitted.get(self.last).copied().unwrap_or((SimTime::START, false));
        Wait { submitted, behind: queued.then(|| &self.behind[self.last]) }
    }
}
