//! What the host knows of the device's mapping cache (MAP+ Sec. V-D.1), for schedulers that send hits first.
//!
//! | name | source |
//! |---|---|
//! | `full` | the simulator lends a view of the device; no phone has that, and it costs nothing |
//! | `poll` | a vendor command retrieves the cached addresses every N requests ([`ufs::Op::CacheQuery`]) |
//! | `lru` | the host simulates a cache of the same size with the LRU algorithm |
//! | `fifo` | the same with the FIFO algorithm, which the paper does not have |

pub(crate) mod kind;
mod polled;
mod simulated;
pub(crate) mod view;

use ufs::{DataIn, DeviceInfo, Op};
use units::Lpa;

use self::kind::CacheKnowledge;
use self::polled::Polled;
use self::simulated::{Comparison, Simulated};
use self::view::{Blind, CacheView};
use crate::sched::config::KnowledgeParams;

/// The driver's knowledge.
#[derive(Clone, Hash)]
pub(crate) enum Knowledge {
    /// No scheduler asks.
    Unused,
    /// See [`CacheKnowledge::Full`].
    Full,
    /// See [`CacheKnowledge::Poll`].
    Polled(Polled),
    /// See [`CacheKnowledge::Lru`] and [`CacheKnowledge::Fifo`].
    Simulated(Simulated),
}

impl Knowledge {
    /// Knowledge of a device that has just been attached: its cache is empty.
    pub fn new(own: &KnowledgeParams, info: &DeviceInfo) -> Knowledge {
        match own.cache_knowledge {
            CacheKnowledge::Full => Knowledge::Full,
            CacheKnowledge::Poll => Knowledge::Polled(Polled::new(own.poll_requests)),
            CacheKnowledge::Lru | CacheKnowledge::Fifo => {
                let entries = own.cache_entries.count().unwrap_or(info.map_cache_entries);
                let refreshes = own.cache_knowledge == CacheKnowledge::Lru;
                Knowledge::Simulated(Simulated::new(entries.min(info.capacity_units), refreshes))
            }
        }
    }

    /// The view that a scheduler is lent. `device` is what the caller of the driver knows.
    #[inline]
    pub fn view<'a>(&'a self, device: &'a dyn CacheView) -> &'a dyn CacheView {
        match self {
            Knowledge::Unused => &Blind,
            Knowledge::Full => device,
            Knowledge::Polled(polled) => polled,
            Knowledge::Simulated(simulated) => simulated,
        }
    }

    /// Host memory that it takes, in bytes. What the simulator lends takes none.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Knowledge::Unused | Knowledge::Full => 0,
            Knowledge::Polled(polled) => polled.memory_bytes(),
            Knowledge::Simulated(simulated) => simulated.memory_bytes(),
        }
    }

    /// A user command that accesses these units is sent.
    #[inline]
    pub fn accessed(&mut self, lpa: Lpa, units: u32) {
        if let Knowledge::Simulated(simulated) = self {
            simulated.access(lpa, units);
        }
    }

    /// A request has been submitted.
    #[inline]
    pub fn requested(&mut self) {
        match self {
            Knowledge::Polled(polled) => polled.requested(),
            Knowledge::Simulated(simulated) => simulated.requested(),
            Knowledge::Unused | Knowledge::Full => {}
        }
    }

    /// For statistics, periodically: the number of entries that the host believes to be cached, and of those that
    /// `device` holds.
    #[inline]
    pub fn compare(&mut self, device: &dyn CacheView) -> Option<Comparison> {
        match self {
            Knowledge::Simulated(simulated) => simulated.compare(device),
            _ => None,
        }
    }

    /// The query to send now, if one is due.
    #[inline]
    pub fn query(&mut self) -> Option<Op> {
        match self {
            Knowledge::Polled(polled) => polled.query(),
            _ => None,
        }
    }

    /// Handles the answer to a query. If it has no runs, the device does not know the command, and the old knowledge
    /// stays.
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
