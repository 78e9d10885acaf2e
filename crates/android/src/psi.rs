//! Pressure stall information: the share of recent time in which some task waited for memory.
//!
//! Linux counts the time in which at least one task is stalled (`some` of `/proc/pressure/memory`). It wakes processes
//! that have registered a limit for the stalled time within a window (Documentation/accounting/psi.rst). Android's
//! low-memory killer registers 70 ms of `some` within 1 s (source.android.com, "Low memory killer daemon":
//! `psi_partial_stall_ms` 70, window 1 s).

use std::collections::VecDeque;

use units::{Nanos, SimTime};

/// Stalls within a sliding window.
#[derive(Clone, Debug)]
pub struct Psi {
    window: Nanos,
    /// Stalls in order of time, without overlap: start and end of each.
    stalls: VecDeque<(SimTime, SimTime)>,
}

impl Psi {
    /// A window without stalls.
    pub fn new(window: Nanos) -> Psi {
        Psi { window, stalls: VecDeque::new() }
    }

    /// Notes that some task was stalled from `from` to `to`. Time that overlaps an earlier stall counts once: `some`
    /// counts time, not tasks.
    pub fn stalled(&mut self, from: SimTime, to: SimTime) {
        let from = self.stalls.back().map_or(from, |&(_, end)| from.max(end));
        if from < to {
            self.stalls.push_back((from, to));
        }
    }

    /// Time stalled within the window that ends at `now`.
    pub fn stalled_time(&mut self, now: SimTime) -> Nanos {
        let begin = SimTime(now.0.saturating_sub(self.window.0));
        while self.stalls.front().is_some_and(|&(_, to)| to <= begin) {
            self.stalls.pop_front();
        }
        let within = |&(from, to): &(SimTime, SimTime)| to.min(now).0.saturating_sub(from.max(begin).0);
        Nanos(self.stalls.iter().map(within).sum())
    }

    /// Stalled time as a share of the window, 0..=1.
    pub fn pressure(&mut self, now: SimTime) -> f64 {
        self.stalled_time(now).0 as f64 / self.window.0 as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    /// By hand: stalls 100..130 and 900..950 ms. At 1000 ms both are in the window: 80 ms. At 1120 ms the window begins
    /// at 120 ms, so 10 ms of the first are left: 60 ms. At 1130 ms the first has left the window: 50 ms. At 1920 ms
    /// 920..950 is left: 30 ms.
    #[test]
    fn a_window_slides_over_stalls() {
        let mut psi = Psi::new(Nanos::from_millis(1000));
        psi.stalled(ms(100), ms(130));
        psi.stalled(ms(900), ms(950));
        for (at, stalled) in [(1000, 80), (1120, 60), (1130, 50), (1920, 30), (1950, 0)] {
            assert_eq!(psi.stalled_time(ms(at)), Nanos::from_millis(stalled), "at {at} ms");
        }
    }

    #[test]
    fn two_tasks_at_once_count_once() {
        let mut psi = Psi::new(Nanos::from_millis(1000));
        psi.stalled(ms(100), ms(200));
        psi.stalled(ms(150), ms(180));
        psi.stalled(ms(190), ms(210));
        assert_eq!(psi.stalled_time(ms(500)), Nanos::from_millis(110));
        assert!((psi.pressure(ms(500)) - 0.11).abs() < 1e-12);
    }

    proptest! {
        /// Compared with a count of single milliseconds.
        #[test]
        fn it_counts_what_a_clock_would(
            stalls in prop::collection::vec((0u64..50, 0u64..40), 0..60),
            window in 1u64..300,
        ) {
            let mut psi = Psi::new(Nanos::from_millis(window));
            let mut seen = vec![false; 6000];
            let (mut at, mut now) = (0, 0);
            for (gap, length) in stalls {
                at += gap;
                psi.stalled(ms(at), ms(at + length));
                (at..at + length).for_each(|t| seen[t as usize] = true);
                now = now.max(at + length);
                let counted = (now.saturating_sub(window)..now).filter(|&t| seen[t as usize]).count() as u64;
                prop_assert_eq!(psi.stalled_time(ms(now)), Nanos::from_millis(counted));
            }
        }
    }
}
