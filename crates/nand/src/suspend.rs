//! Suspension of programs and erases, so that reads need not wait for them (Wu and He, "Reducing SSD read latency via
//! NAND flash program and erase suspension", FAST 2012).
//!
//! A read that a host or a lookup waits for stops the cells of its die, if they program or erase. When they have
//! stopped, all such reads of the die go first; then the operation goes on where it was. Both take time, and an
//! operation can be interrupted only so often.

use units::{Nanos, SimTime};

use crate::op::{Kind, Slot};

params::params! {
    /// Suspension of programs and erases: a part of `[nand]`.
    pub SuspendParams {
        /// Most suspensions of one program for reads that a host or a lookup waits for; 0 = it is never interrupted.
        program_suspends: count(0 to 255) = 0, "no program is interrupted";
        /// Most suspensions of one erase; 0 = it is never interrupted.
        erase_suspends: count(0 to 255) = 0, "no erase is interrupted";
        /// Time from the suspend command until the cells have stopped.
        suspend_us: count(0 to 10000) = 20, "assumed: cells stop at the end of a pulse, after tens of microseconds";
        /// Time that an operation takes to go on after a suspension.
        resume_us: count(0 to 10000) = 10, "assumed: half of what stopping takes, as no sheet that is public has it";
    }
}

/// How programs and erases are interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Suspend {
    /// Most suspensions of one program.
    pub programs: u8,
    /// Most suspensions of one erase.
    pub erases: u8,
    /// From the command until the cells have stopped.
    pub stop: Nanos,
    /// What an operation takes to go on.
    pub resume: Nanos,
}

impl Suspend {
    /// Nothing is interrupted.
    pub const NEVER: Suspend = Suspend { programs: 0, erases: 0, stop: Nanos::ZERO, resume: Nanos::ZERO };

    /// True if something may be interrupted.
    pub fn is_on(&self) -> bool {
        self.programs > 0 || self.erases > 0
    }

    /// How often an operation of this kind may be interrupted.
    pub(crate) fn most(&self, kind: Kind) -> u8 {
        match kind {
            Kind::Read => 0,
            Kind::Program => self.programs,
            Kind::Erase => self.erases,
        }
    }
}

impl SuspendParams {
    /// What they stand for.
    pub fn suspend(&self) -> Suspend {
        let count = |most: u32| u8::try_from(most).unwrap_or(u8::MAX);
        Suspend {
            programs: count(self.program_suspends),
            erases: count(self.erase_suspends),
            stop: Nanos::from_micros(self.suspend_us.into()),
            resume: Nanos::from_micros(self.resume_us.into()),
        }
    }
}

/// An operation that has been interrupted on its die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    pub slot: Slot,
    /// What its cells still need.
    pub left: Nanos,
    /// Since when they stand still.
    pub since: SimTime,
    /// The operation had waited for its die.
    pub waited: bool,
    pub history: History,
}

/// What has become of an operation since it started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    /// Since when it has its die: from its start, or from when it went on.
    pub since: SimTime,
    /// How long it has been interrupted, and how often.
    pub paused: Nanos,
    pub suspensions: u8,
}

impl History {
    /// That of an operation that starts now.
    pub fn from(now: SimTime) -> History {
        History { since: now, ..History::default() }
    }
}
