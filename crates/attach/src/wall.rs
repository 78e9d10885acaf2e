//! The wall's clock, which is lent: the real one, or that of a simulation.

#![expect(clippy::disallowed_types, reason = "the border to the wall clock is here")]

use std::time::{Duration, Instant};

/// A moment: nanoseconds since the clock began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment a while later.
    pub fn after(self, more: Duration) -> Moment {
        Moment(self.0.saturating_add(more.as_nanos() as u64))
    }

    /// The time since an earlier moment; none if that is later.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Tells what time it is.
pub trait Wall: Send + Sync {
    /// The present moment; never earlier than the last one told.
    fn now(&self) -> Moment;
}

/// The clock of this machine.
#[derive(Debug)]
pub struct RealWall(Instant);

impl RealWall {
    /// A clock that begins now.
    pub fn start() -> RealWall {
        RealWall(Instant::now())
    }
}

impl Wall for RealWall {
    fn now(&self) -> Moment {
        Moment(self.0.elapsed().as_nanos() as u64)
    }
}
