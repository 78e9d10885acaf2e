//! What operations have waited for on their dies, for reports. Nobody pays for it before it is asked for.

use units::{Nanos, SimTime};

use crate::op::Cause;

/// How long an operation has waited on its die, by the cause of what the die did meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// When the operation was submitted.
    pub submitted: SimTime,
    /// In the order of [`Cause::ALL`]. Together the time from its submission to its start.
    pub behind: [Nanos; Cause::COUNT],
}

impl Wait {
    const NONE: Wait = Wait { submitted: SimTime::START, behind: [Nanos::ZERO; Cause::COUNT] };
}

/// The waits of the operations under way. A die is never idle while an operation waits for it, so what it did in the
/// meantime is the difference of two sums.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Time that each die has worked, by cause, in operations that have ended.
    worked: Vec<[Nanos; Cause::COUNT]>,
    /// For each place of the slab: what its die had worked when the operation was submitted; from its start on, its
    /// wait.
    waits: Vec<Wait>,
    last: Wait,
}

impl Waits {
    /// No operation is under way on any of these dies, or nobody will ask for those that are.
    pub fn new(dies: usize) -> Waits {
        Waits { worked: vec![[Nanos::ZERO; Cause::COUNT]; dies], waits: Vec::new(), last: Wait::NONE }
    }

    /// An operation is submitted. `running` is the cause of what its die works on, and for how long it has.
    pub fn submitted(&mut self, now: SimTime, die: u32, slot: u32, running: Option<(Cause, Nanos)>) {
        if self.waits.len() <= slot as usize {
            self.waits.resize(slot as usize + 1, Wait::NONE);
        }
        let mut behind = self.worked[die as usize];
        if let Some((cause, time)) = running {
            behind[cause.index()] += time;
        }
        self.waits[slot as usize] = Wait { submitted: now, behind };
    }

    /// An operation starts.
    #[inline(never)]
    pub fn started(&mut self, die: u16, slot: u32) {
        // Operations that were under way before the first call of `submitted` have no place.
        let Some(wait) = self.waits.get_mut(slot as usize) else { return };
        let worked = &self.worked[usize::from(die)];
        wait.behind = std::array::from_fn(|cause| Nanos(worked[cause].0.saturating_sub(wait.behind[cause].0)));
    }

    /// An operation ends, after so much time since its start.
    #[inline(never)]
    pub fn ended(&mut self, die: u16, slot: u32, cause: Cause, took: Nanos) {
        self.worked[usize::from(die)][cause.index()] += took;
        self.last = self.waits.get(slot as usize).copied().unwrap_or(Wait::NONE);
    }

    /// The wait of the operation that has ended last.
    pub fn last(&self) -> &Wait {
        &self.last
    }
}
