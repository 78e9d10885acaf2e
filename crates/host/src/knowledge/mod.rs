//! What the host knows of the device's mapping cache (MAP+ Sec. V-D.1), for schedulers that send hits first.
//!
//! | name | whence |
//! |---|---|
//! | `full` | the laboratory lends a view of the device; nothing a phone has, and charged nothing |
//! | `poll` | a vendor command retrieves the cached addresses every N requests ([`ufs::Op::CacheQuery`]) |
//! | `lru` | the host simulates a cache of the same size with the LRU algorithm |

mod polled;
mod simulated;

use ufs::{DataIn, DeviceInfo, Op};
use units::Lpa;

use crate::sched::SchedConfig;
use polled::Polled;
use simulated::Simulated;

/// Tells which translations need no flash read in the device.
pub trait CacheView {
    /// Would none of these units need one now?
    fn cached(&self, lpa: Lpa, len: u32) -> bool;
}

/// Nothing is cached, as far as anyone knows.
#[derive(Clone, Copy, Debug)]
pub struct Blind;

impl CacheView for Blind {
    fn cached(&self, _lpa: Lpa, _len: u32) -> bool {
        false
    }
}

/// How the host knows what the device's mapping cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheKnowledge {
    /// The caller of the driver tells ([`Driver::next_command_seeing`](crate::Driver::next_command_seeing)), always exactly.
    Full,
    /// The driver asks the device now and then.
    Poll,
    /// The driver simulates the cache.
    Lru,
}

impl CacheKnowledge {
    /// All of them.
    pub const ALL: [CacheKnowledge; 3] = [CacheKnowledge::Full, CacheKnowledge::Poll, CacheKnowledge::Lru];

    /// The names by which they are chosen.
    pub fn name(self) -> &'static str {
        match self {
            CacheKnowledge::Full => "full",
            CacheKnowledge::Poll => "poll",
            CacheKnowledge::Lru => "lru",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<CacheKnowledge> {
        CacheKnowledge::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The driver's knowledge.
pub(crate) enum Knowledge {
    /// Nobody asks.
    Unused,
    /// See [`CacheKnowledge::Full`].
    Full,
    /// See [`CacheKnowledge::Poll`].
    Polled(Polled),
    /// See [`CacheKnowledge::Lru`].
    Simulated(Simulated),
}

impl Knowledge {
    /// Knowledge of a device that has just been attached: its cache is empty.
    pub fn new(config: &SchedConfig, info: &DeviceInfo) -> Knowledge {
        match config.knowledge {
            CacheKnowledge::Full => Knowledge::Full,
            CacheKnowledge::Poll => Knowledge::Polled(Polled::new(config.poll_requests)),
            CacheKnowledge::Lru => Knowledge::Simulated(Simulated::new(config.cache_entries.min(info.capacity_units))),
        }
    }

    /// What a scheduler is lent; `device` is what the caller of the driver knows.
    #[inline]
    pub fn view<'a>(&'a self, device: &'a dyn CacheView) -> &'a dyn CacheView {
        match self {
            Knowledge::Unused => &Blind,
            Knowledge::Full => device,
            Knowledge::Polled(polled) => polled,
            Knowledge::Simulated(simulated) => simulated,
        }
    }

    /// A user command that accesses these units is sent.
    #[inline]
    pub fn accessed(&mut self, lpa: Lpa, units: u32) {
        if let Knowledge::Simulated(simulated) = self {
            simulated.access(lpa, units);
        }
    }

    /// A request has been handed in.
    #[inline]
    pub fn requested(&mut self) {
        match self {
            Knowledge::Polled(polled) => polled.requested(),
            Knowledge::Simulated(simulated) => simulated.requested(),
            Knowledge::Unused | Knowledge::Full => {}
        }
    }

    /// For the statistics, now and then: entries that the host believes to be cached, and how many of them `device` holds.
    #[inline]
    pub fn compare(&mut self, device: &dyn CacheView) -> Option<(u64, u64)> {
        match self {
            Knowledge::Simulated(simulated) => simulated.compare(device),
            _ => None,
        }
    }

    /// The query to send now, if it is time for one.
    #[inline]
    pub fn query(&mut self) -> Option<Op> {
        match self {
            Knowledge::Polled(polled) => polled.query(),
            _ => None,
        }
    }

    /// Takes in the answer to a query. One without runs leaves what was known before: the device has not got the command.
    pub fn answered(&mut self, data: &mut DataIn) {
        if let Knowledge::Polled(polled) = self {
            let runs = match std::mem::take(data) {
                DataIn::Runs(runs) => Some(runs),
                _ => None,
            };
            polled.answered(runs);
        }
    }
}
