//! What operations have waited for on their dies, for reports. Nobody pays for it before it is asked for.

use units::{Nanos, SimTime};

use crate::op::Cause;

/// How long an operation has waited on its die, by the cause of what the die did meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait<'a> {
    /// When the operation was submitted.
    pub submitted: SimTime,
    /// What its die did, together the time from its submission to its start. Nothing if the die was idle, as it is for
    /// most operations.
    pub behind: &'a Behind,
}

/// Times by cause.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Behind {
    /// The causes whose time is not 0, a bit for each by [`Cause::index`]; the times of others mean nothing.
    causes: u16,
    times: [Nanos; Cause::COUNT],
}

// There is a bit for each cause.
const _: () = assert!(Cause::COUNT <= u16::BITS as usize);

/// Behind nothing.
static NOTHING: Behind = Behind { causes: 0, times: [Nanos::ZERO; Cause::COUNT] };

impl Behind {
    /// True if there was nothing to wait for.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        self.causes == 0
    }

    /// The causes for which there was a wait, in the order of [`Cause::ALL`], each with its time.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Nanos)> {
        let mut left = self.causes;
        std::iter::from_fn(move || {
            let cause = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((Cause::ALL[cause], self.times[cause]))
        })
    }
}

/// The waits of the operations under way. A die is never idle while an operation waits for it, so what it did in the
/// meantime is the difference of two sums. An operation that need not wait only leaves the time of its submission.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Time that each die has worked, by cause, in operations that have ended while others waited for it.
    worked: Vec<[Nanos; Cause::COUNT]>,
    /// By place of the slab: when the operation was submitted, and whether its die had other work.
    submitted: Vec<(SimTime, bool)>,
    /// For each place of the slab whose die had other work: what it had worked when the operation was submitted; from
    /// its start on, its wait.
    behind: Vec<Behind>,
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
            self.make_room(slot);
        }
        self.submitted[slot] = (now, running.is_some());
        if let Some((cause, time)) = running {
            let times = &mut self.behind[slot].times;
            *times = self.worked[die as usize];
            times[cause.index()] += time;
        }
    }

    /// Makes the place of the slab one of these, too.
    #[cold]
    fn make_room(&mut self, slot: usize) {
        self.submitted.resize(slot + 1, (SimTime::START, false));
        self.behind.resize(slot + 1, NOTHING);
    }

    /// An operation starts.
    #[inline]
    pub fn started(&mut self, die: u16, slot: u32) {
        // Operations that were under way before the first call of `submitted` have no place.
        if let Some((_, true)) = self.submitted.get(slot as usize) {
            let worked = &self.worked[usize::from(die)];
            let Behind { causes, times } = &mut self.behind[slot as usize];
            *causes = 0;
            for (cause, (time, worked)) in times.iter_mut().zip(worked).enumerate() {
                *time = Nanos(worked.0.saturating_sub(time.0));
                *causes |= u16::from(*time > Nanos::ZERO) << cause;
            }
        }
    }

    /// An operation ends. If others have waited for its die: its cause, and the time since its start.
    #[inline]
    pub fn ended(&mut self, die: u16, slot: u32, held_up: Option<(Cause, Nanos)>) {
        if let Some((cause, took)) = held_up {
            self.worked[usize::from(die)][cause.index()] += took;
        }
        self.last = slot as usize;
    }

    /// The wait of the operation that has ended last. Has to be asked for before another one is submitted.
    #[inline]
    pub fn last(&self) -> Wait<'_> {
        let (submitted, queued) = self.submitted.get(self.last).copied().unwrap_or((SimTime::START, false));
        Wait { submitted, behind: if queued { &self.behind[self.last] } else { &NOTHING } }
    }
}
