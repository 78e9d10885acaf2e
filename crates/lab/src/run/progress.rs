//! How far a run is, told to its caller a few times per second. Only here is the wall clock read.

use std::ops::ControlFlow;

use units::{Nanos, SimTime};

use crate::run::Watch;

/// A run calls back at most this often.
const CALLS_PER_SECOND: u32 = 5;

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// "age", "precondition", "run" or "verify".
    pub phase: &'static str,
    /// Bytes of completed requests in this phase.
    pub done_bytes: u64,
    /// Bytes of the phase, where known.
    pub total_bytes: Option<u64>,
    /// Simulated time.
    pub sim: Nanos,
}

/// Asked a few times per second how to go on.
pub type OnProgress<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

#[expect(clippy::disallowed_types, reason = "the border measures how fast the simulator is; no model sees this")]
mod wall {
    /// A stop watch.
    #[derive(Clone)]
    pub struct Wall(std::time::Instant);

    impl Wall {
        /// Starts now.
        pub fn start() -> Wall {
            Wall(std::time::Instant::now())
        }

        /// Seconds since the start.
        pub fn seconds(&self) -> f64 {
            self.0.elapsed().as_secs_f64()
        }
    }
}
pub(crate) use wall::Wall;

/// Lets only a few calls per second through, the first at once.
pub(crate) fn throttled<'a>(phase: &'static str, wall: &'a Wall, progress: &'a mut OnProgress) -> Box<Watch<'a>> {
    let mut next = 0.0;
    Box::new(move |at: workload::Progress, now: SimTime| {
        let seconds = wall.seconds();
        if seconds < next {
            return ControlFlow::Continue(());
        }
        next = seconds + 1.0 / f64::from(CALLS_PER_SECOND);
        progress(Progress { phase, done_bytes: at.done, total_bytes: at.total, sim: now.since(SimTime::START) })
    })
}
