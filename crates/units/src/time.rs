//! Simulated time. Decisions use integers; floats are only for reports.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

/// A moment of simulated time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SimTime(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// This duration as seconds, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl SimTime {
    /// The start of the run.
    pub const START: SimTime = SimTime(0);

    /// Time since `earlier`, or zero if `earlier` is in the future.
    pub fn since(self, earlier: SimTime) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for SimTime {
    type Output = SimTime;
    #[inline]
    fn add(self, d: Nanos) -> SimTime {
        SimTime(self.0 + d.0)
    }
}

impl Sub for SimTime {
    type Output = Nanos;
    #[inline]
    fn sub(self, earlier: SimTime) -> Nanos {
        Nanos(self.0 - earlier.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, d: Nanos) -> Nanos {
        Nanos(self.0 + d.0)
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, d: Nanos) {
        self.0 += d.0;
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
