//! What operations have waited for on their dies, for reports. Nobody pays for it before it is asked for.

use units::{Nanos, SimTime};

use crate::op::Cause;

/// The wait of an operation for its die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// When the operation was submitted.
    pub submitted: SimTime,
    /// What its die did until the operation started, by [`Cause::index`].
    times: [Nanos; Cause::COUNT],
}

impl Wait {
    /// The causes for which there was a wait, in the order of [`Cause::ALL`], each with its time. Together they are the
    /// time from the operation's submission to its start.
    #[inline]
    pub fn causes(&self) -> impl Iterator<Item = (Cause, Nanos)> {
        Cause::ALL.into_iter().zip(self.times).filter(|&(_, time)| time > Nanos::ZERO)
    }
}

/// The waits of the operations that found their die at work. A die is never idle while an operation waits for it, so
/// what it did in the meantime is the difference of two sums. An operation that need not wait leaves nothing.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Time that each die has worked, by cause, in operations that have ended while others waited for it.
    worked: Vec<[Nanos; Cause::COUNT]>,
    /// By place of the slab. Until its operation starts: what the die had worked when it was submitted.
    queued: Vec<Wait>,
    /// By die: the operation that runs has a wait.
    waited: Vec<bool>,
    /// Place of the wait of the operation that has ended last. Nothing else is there before the next is submitted.
    last: Option<usize>,
}

/// Stands for an operation that was queued before anybody wanted to know.
const UNKNOWN: Wait = Wait { submitted: SimTime(u64::MAX), times: [Nanos::ZERO; Cause::COUNT] };

impl Waits {
    /// No operation is under way on any of these dies, or nobody will ask for those that are.
    pub fn new(dies: usize) -> Waits {
        let worked = vec![[Nanos::ZERO; Cause::COUNT]; dies];
        Waits { worked, queued: Vec::new(), waited: vec![false; dies], last: None }
    }

    /// An operation is queued, because its die works on one of this cause, since so long.
    #[inline]
    pub fn queued(&mut self, now: SimTime, die: u32, slot: u32, (cause, time): (Cause, Nanos)) {
        let slot = slot as usize;
        if self.queued.len() <= slot {
            self.make_room(slot);
        }
        let Wait { submitted, times } = &mut self.queued[slot];
        (*submitted, *times) = (now, self.worked[die as usize]);
        times[cause.index()] += time;
    }

    #[cold]
    fn make_room(&mut self, slot: usize) {
        self.queued.resize(slot + 1, UNKNOWN);
    }

    /// An operation that was queued starts.
    #[inline]
    pub fn started(&mut self, die: u16, slot: u32) {
        if let Some(wait) = self.queued.get_mut(slot as usize)
            && wait.submitted != UNKNOWN.submitted
        {
            self.waited[usize::from(die)] = true;
            for (time, worked) in wait.times.iter_mut().zip(&self.worked[usize::from(die)]) {
                *time = Nanos(worked.0.wrapping_sub(time.0));
            }
        }
    }

    /// An operation ends. If others have waited for its die: its cause, and the time since its start.
    #[inline]
    pub fn ended(&mut self, die: u16, slot: u32, held_up: Option<(Cause, Nanos)>) {
        let die = usize::from(die);
        if let Some((cause, took)) = held_up {
            self.worked[die][cause.index()] += took;
        }
        self.last = std::mem::take(&mut self.waited[die]).then_some(slot as usize);
    }

    /// A die has worked so long on an operation of this cause.
    pub fn worked(&mut self, die: u16, cause: Cause, time: Nanos) {
        self.worked[usize::from(die)][cause.index()] += time;
    }

    /// True if the operation that starts now had waited. Its die keeps that in mind no longer.
    pub fn take_waited(&mut self, die: u16) -> bool {
        std::mem::take(&mut self.waited[usize::from(die)])
    }

    /// An operation of this cause is interrupted after it has had its die so long. True if it had waited for it.
    pub fn paused(&mut self, die: u16, cause: Cause, took: Nanos) -> bool {
        self.worked(die, cause, took);
        self.take_waited(die)
    }

    /// An operation that was interrupted goes on; `waited` is what [`Waits::paused`] has said of it.
    pub fn goes_on(&mut self, die: u16, waited: bool) {
        self.waited[usize::from(die)] = waited;
    }

    /// The wait of the operation that has ended last; `None` if it found its die idle. Has to be asked for before
    /// another one is submitted.
    #[inline]
    pub fn last(&self) -> Option<&Wait> {
        self.last.map(|slot| &self.queued[slot])
    }
}
