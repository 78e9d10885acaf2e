//! How simulated time relates to that of the wall.

use std::time::Duration;

use units::{Nanos, SimTime};

use crate::wall::Moment;

/// How time passes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// So many simulated seconds pass in a second.
    Real { speed: f64 },
    /// Simulated time passes while requests are under way, as fast as it goes.
    Free,
}

impl Pace {
    /// Simulated seconds in a second; `None` if nobody knows before.
    pub fn speed(self) -> Option<f64> {
        match self {
            Pace::Real { speed } => Some(speed),
            Pace::Free => None,
        }
    }
}

/// A clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pace: Pace,
    wall: Moment,
    sim: SimTime,
}

impl Clock {
    /// A clock on which it is `sim` at a moment.
    pub fn start(pace: Pace, wall: Moment, sim: SimTime) -> Clock {
        Clock { pace, wall, sim }
    }

    /// True if simulated time follows that of the wall.
    pub fn is_real(&self) -> bool {
        matches!(self.pace, Pace::Real { .. })
    }

    /// The simulated time at a moment; `None` if it does not depend on that.
    pub fn sim_at(&self, wall: Moment) -> Option<SimTime> {
        let Pace::Real { speed } = self.pace else { return None };
        let passed = wall.since(self.wall).as_nanos() as f64 * speed;
        Some(self.sim + Nanos(passed as u64))
    }

    /// The first moment at which the simulated time has come; `None` if it does not depend on that.
    pub fn wall_at(&self, sim: SimTime) -> Option<Moment> {
        let Pace::Real { speed } = self.pace else { return None };
        let passed = (sim.since(self.sim).0 as f64 / speed).ceil() as u64;
        let mut wall = self.wall.after(Duration::from_nanos(passed));
        // Floats lose the last digits.
        while self.sim_at(wall).is_some_and(|at| at < sim) {
            wall = wall.after(Duration::from_nanos(1 + (1.0 / speed) as u64));
        }
        Some(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_never_comes_before_its_time() {
        for speed in [0.01, 0.3, 1.0, 7.0] {
            let clock = Clock::start(Pace::Real { speed }, Moment(77), SimTime(1_000_000_007));
            for ns in [0, 1, 2, 999, 123_456_789, 98_765_432_109_877] {
                let sim = SimTime(1_000_000_007 + ns);
                let wall = clock.wall_at(sim).expect("the clock is real");
                let at = clock.sim_at(wall).expect("the clock is real");
                assert!(at >= sim, "{speed}: {at} is before {sim}");
                let late = at.since(sim).0;
                assert!(late as f64 <= 2.0 * (speed + 1.0) + ns as f64 * 1e-15, "{speed}: {late} ns late");
            }
        }
        let free = Clock::start(Pace::Free, Moment(0), SimTime::START);
        assert!(free.wall_at(SimTime(5)).is_none() && !free.is_real());
    }
}
