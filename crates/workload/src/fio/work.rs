//! What a clone does: it makes requests of its own, or replays a log.

use units::SimTime;

use super::job::JobClone;
use super::player::Player;
use super::worker::{Step, Worker};
use crate::WorkOp;

/// The work of a clone.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Make(Box<Worker>),
    Play(Box<Player>),
}

/// Hands a call to whoever does the work.
macro_rules! either {
    ($work:expr, $name:ident => $call:expr) => {
        match $work {
            Work::Make($name) => $call,
            Work::Play($name) => $call,
        }
    };
}

impl Work {
    pub(super) fn of(clone: &JobClone<'_>) -> Work {
        match clone.job.log_of(clone.number) {
            Some(log) => Work::Play(Box::new(Player::new(clone, log))),
            None => Work::Make(Box::new(Worker::new(clone))),
        }
    }

    /// Fixes when the clone starts.
    pub(super) fn activate(&mut self, start: SimTime) {
        either!(self, work => work.activate(start));
    }

    /// What to do at `now`.
    #[inline(always)]
    pub(super) fn step(&mut self, now: SimTime) -> Step {
        either!(self, work => work.step(now))
    }

    /// Where the next request will probably be, in bytes from the start of the device, if that is known.
    #[inline]
    pub(super) fn coming(&self) -> Option<u64> {
        match self {
            Work::Make(worker) => worker.coming(),
            Work::Play(_) => None,
        }
    }

    /// A request has completed.
    #[inline]
    pub(super) fn completed(&mut self, op: WorkOp) {
        either!(self, work => work.completed(op));
    }

    /// Requests outstanding.
    #[inline]
    pub(super) fn outstanding(&self) -> u32 {
        either!(self, work => work.outstanding())
    }

    /// Bytes issued so far.
    pub(super) fn bytes(&self) -> u64 {
        either!(self, work => work.bytes())
    }

    /// Bytes that the clone will issue in all, about; `None` if time decides.
    pub(super) fn expected_bytes(&self) -> Option<u64> {
        either!(self, work => work.expected_bytes())
    }
}
