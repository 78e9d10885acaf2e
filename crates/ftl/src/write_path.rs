//! A write path that rests: the first write after a pause takes longer, and a flush takes time of its own.
//!
//! What makes data durable is not always ready: supplies for programs are off, a cache is in another mode. Writes,
//! flushes and trims wait in their queue until it is; reads pass them. A flush, and a write with FUA, may take time
//! besides the programs that it waits for, and more of it after a pause without one.

use units::{Nanos, SimTime};

params::params! {
    /// What makes data durable takes time besides flash operations: when it has rested, and for flushes. Unless a
    /// profile says otherwise, it takes none.
    pub WritePathParams {
        /// A pause without writes, flushes and trims after which the write path rests: the next of them finds it not
        /// ready, and those that follow wait with it. Reads pass.
        rest_ms: count_or("never" 1 to 1000000) = "never", "never unless a profile has it";
        /// Until the write path is ready again.
        wake_us: count(0 to 10000000) = 1000,
            "a Pixel 4: the first write after 100 ms without writes takes about 1 ms more";
        /// What a flush or a FUA write takes besides the programs that it waits for. Writes that follow wait with it.
        flush_us: count(0 to 10000000) = 0, "nothing unless a profile has it";
        /// A pause without flushes and FUA writes after which the next takes longer.
        flush_rest_ms: count_or("never" 1 to 1000000) = "never", "never unless a profile has it";
        /// By how much.
        flush_wake_us: count(0 to 10000000) = 900,
            "a Pixel 4: a flush takes 690 us, and 1.6 ms if the last one is over 100 ms ago";
    }
}

impl WritePathParams {
    /// What they stand for.
    pub fn config(&self) -> WritePathConfig {
        let micros = |us: u32| Nanos::from_micros(us.into());
        let millis = |ms: u32| Nanos::from_millis(ms.into());
        WritePathConfig {
            rest_after: self.rest_ms.count().map(millis),
            wake: micros(self.wake_us),
            flush: micros(self.flush_us),
            flush_rest_after: self.flush_rest_ms.count().map(millis),
            flush_wake: micros(self.flush_wake_us),
        }
    }
}

/// What the write path takes besides its flash operations. Nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct WritePathConfig {
    /// A pause without writes, flushes and trims after which it rests; `None` = it never does.
    pub rest_after: Option<Nanos>,
    /// Until it is ready again.
    pub wake: Nanos,
    /// Of a flush or a FUA write.
    pub flush: Nanos,
    /// A pause without either after which the next one takes longer; `None` = it never does.
    pub flush_rest_after: Option<Nanos>,
    /// By how much.
    pub flush_wake: Nanos,
}

/// How far the command is that is next in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Front {
    /// Nobody has looked at it.
    New,
    /// It waits for the write path.
    Waits(SimTime),
    /// It may be accepted.
    Passed,
}

/// What is to be done with the command that is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It may be accepted.
    Accept,
    /// It waits; ask again at this time.
    AskAt(SimTime),
    /// It still waits for the time that was told before.
    Wait,
}

/// The write path of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WritePath {
    config: WritePathConfig,
    front: Front,
    last_use: SimTime,
    last_flush: SimTime,
}

impl WritePath {
    /// One that has just been used; `None` if it takes no time.
    pub fn new(config: WritePathConfig, now: SimTime) -> Option<WritePath> {
        let none = WritePathConfig { wake: Nanos::ZERO, flush_wake: Nanos::ZERO, ..config };
        (none != WritePathConfig::default()).then_some(WritePath {
            config,
            front: Front::New,
            last_use: now,
            last_flush: now,
        })
    }

    /// What is to be done with the command that is next. `flushes`: it is a flush or has FUA.
    pub fn turn(&mut self, now: SimTime, flushes: bool) -> Turn {
        match self.front {
            Front::Passed => return Turn::Accept,
            Front::Waits(until) if now < until => return Turn::Wait,
            Front::Waits(_) => {}
            Front::New => {
                let until = now + self.takes(now, flushes);
                if until > now {
                    self.front = Front::Waits(until);
                    return Turn::AskAt(until);
                }
            }
        }
        self.front = Front::Passed;
        self.last_use = now;
        if flushes {
            self.last_flush = now;
        }
        Turn::Accept
    }

    /// The command has been accepted as a whole.
    pub fn accepted(&mut self) {
        self.front = Front::New;
    }

    fn takes(&self, now: SimTime, flushes: bool) -> Nanos {
        let rested = |after: Option<Nanos>, last: SimTime| after.is_some_and(|after| now.since(last) >= after);
        let WritePathConfig { rest_after, wake, flush, flush_rest_after, flush_wake } = self.config;
        let mut takes = Nanos::ZERO;
        if rested(rest_after, self.last_use) {
            takes += wake;
        }
        if flushes {
            takes += flush;
            if rested(flush_rest_after, self.last_flush) {
                takes += flush_wake;
            }
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: WritePathConfig = WritePathConfig {
        rest_after: Some(Nanos(100)),
        wake: Nanos(10),
        flush: Nanos(7),
        flush_rest_after: Some(Nanos(150)),
        flush_wake: Nanos(9),
    };

    /// When a command that comes is accepted.
    fn accepted(path: &mut WritePath, now: u64, flushes: bool) -> u64 {
        let at = match path.turn(SimTime(now), flushes) {
            Turn::AskAt(at) => {
                assert_eq!(path.turn(SimTime(at.0 - 1), flushes), Turn::Wait);
                assert_eq!(path.turn(at, flushes), Turn::Accept);
                at.0
            }
            turn => {
                assert_eq!(turn, Turn::Accept);
                now
            }
        };
        assert_eq!(path.turn(SimTime(at + 1), flushes), Turn::Accept, "it waits once");
        path.accepted();
        at
    }

    #[test]
    fn a_pause_and_a_flush_take_their_times() {
        let mut path = WritePath::new(CONFIG, SimTime(0)).expect("it takes time");
        for (now, flushes, expected) in [
            (99, false, 99),
            (198, false, 198),
            (298, false, 308),
            // A flush after 399 without one, and one after 20.
            (399, true, 399 + 16),
            (435, true, 435 + 7),
            (442 + 149, true, 591 + 10 + 7),
            (608 + 150, true, 758 + 10 + 7 + 9),
        ] {
            assert_eq!(accepted(&mut path, now, flushes), expected, "at {now}");
        }
    }

    #[test]
    fn one_that_takes_no_time_is_none() {
        let idle = WritePathConfig { wake: Nanos(10), flush_wake: Nanos(9), ..WritePathConfig::default() };
        assert_eq!(WritePath::new(idle, SimTime(0)), None);
    }
}
