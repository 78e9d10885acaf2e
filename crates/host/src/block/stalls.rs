//! Stalls of the processors some time after a burst of requests has begun.
//!
//! A governor sees load some time after it has begun, and changes frequency and voltage; while it does, nothing goes
//! on. A *burst* begins with the first request after a pause without any. Whether it has a stall, when, and of what
//! length is drawn for this request.

use units::{Dice, Nanos, SimTime};

/// Tells what is drawn for a request's burst from what is drawn for the request.
const SALT: u64 = 0x7374_616c_6c73;

/// Which bursts have a stall, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StallConfig {
    /// Of a hundred bursts, so many have a stall if they last long enough.
    pub percent: u32,
    /// A pause of at least this without requests ends a burst.
    pub pause: Nanos,
    /// From the beginning of the burst to the stall: at least and at most.
    pub after: (Nanos, Nanos),
    /// Its length: at least and at most.
    pub length: (Nanos, Nanos),
}

/// A stall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stall {
    pub at: SimTime,
    pub length: Nanos,
}

/// Bursts and their stalls.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    config: StallConfig,
    seed: u64,
    /// Since when there has been no request; `None` before the first one.
    quiet_since: Option<SimTime>,
    due: Option<Stall>,
}

impl Stalls {
    pub fn new(config: StallConfig, seed: u64) -> Stalls {
        Stalls { config, seed: seed ^ SALT, quiet_since: None, due: None }
    }

    /// A request has come while there was none; so many came before it.
    pub fn begin(&mut self, now: SimTime, number: u64) {
        let goes_on = self.quiet_since.is_some_and(|since| now.since(since) < self.config.pause);
        if goes_on {
            return;
        }
        let StallConfig { percent, after, length, .. } = self.config;
        let mut dice = Dice::of(self.seed, number);
        let mut drawn = |(least, most): (Nanos, Nanos)| Nanos(dice.between(least.0, most.0));
        let (after, length) = (drawn(after), drawn(length));
        self.due = dice.happens(percent, 100).then(|| Stall { at: now + after, length });
    }

    /// The last request has ended.
    pub fn end(&mut self, now: SimTime) {
        self.quiet_since = Some(now);
    }

    /// When the next stall begins.
    pub fn next(&self) -> Option<SimTime> {
        self.due.map(|stall| stall.at)
    }

    /// The stall that has begun by now.
    pub fn take(&mut self, now: SimTime) -> Option<Stall> {
        self.due.take_if(|stall| stall.at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: StallConfig =
        StallConfig { percent: 100, pause: Nanos(1000), after: (Nanos(15), Nanos(150)), length: (Nanos(4), Nanos(9)) };

    #[test]
    fn every_burst_has_its_stall_within_bounds() {
        let mut stalls = Stalls::new(CONFIG, 3);
        let mut seen = std::collections::BTreeSet::new();
        for burst in 0..500 {
            let begin = SimTime(burst * 10_000);
            stalls.begin(begin, burst);
            let at = stalls.next().expect("every burst has one");
            assert_eq!(stalls.take(SimTime(at.0 - 1)), None);
            let stall = stalls.take(at).expect("it is due");
            assert!((15..=150).contains(&(at - begin).0) && (4..=9).contains(&stall.length.0), "{stall:?}");
            seen.insert((at - begin).0);
            // The burst goes on after a short pause.
            stalls.end(at);
            stalls.begin(SimTime(at.0 + 999), burst + 1_000_000);
            assert_eq!(stalls.next(), None);
            stalls.end(SimTime(at.0 + 1000));
        }
        assert!(seen.len() > 100, "{} moments", seen.len());
    }

    #[test]
    fn so_many_bursts_of_a_hundred_have_one() {
        let mut stalls = Stalls::new(StallConfig { percent: 30, ..CONFIG }, 3);
        let mut count = 0;
        for burst in 0..10_000 {
            stalls.begin(SimTime(burst * 10_000), burst);
            count += u32::from(stalls.next().is_some());
            stalls.end(SimTime(burst * 10_000 + 1));
        }
        // Standard deviation 46.
        assert!((2_800..3_200).contains(&count), "{count}");
    }
}
