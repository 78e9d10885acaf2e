//! The trait of a scheduler. It orders parts; the driver sends them.

use ufs::LpaRun;
use units::{CounterSets, SimTime};

use super::config::Settings;
use crate::knowledge::view::CacheView;
use crate::request::Part;

/// A batch that is about to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Batch {
    /// True if it writes or trims.
    pub write: bool,
    /// Number of its requests.
    pub requests: u32,
    /// The runs that they access in its translation page, and those in the next one that begin in it.
    pub runs: Box<[LpaRun]>,
}

impl Batch {
    /// True if the batch should be announced. For a single unit, the device reads the translation page anyway.
    pub fn needs_notice(&self) -> bool {
        self.runs.iter().map(|run| u64::from(run.len)).sum::<u64>() > 1
    }
}

/// A scheduler orders parts; it does not send them. A part that waits for the booster has left the scheduler.
pub(crate) trait Scheduler {
    /// Its own counters; each set is declared with [`units::counters!`].
    type Counters: CounterSets;

    /// True if it asks what the device's mapping cache holds.
    const QUERIES: bool = false;

    /// Its parameters; declared with [`params::params!`].
    type Params: Settings;

    /// A scheduler without parts, for a device whose translation pages have `map_page_entries` entries.
    fn new(own: &Self::Params, map_page_entries: u32) -> Self;

    /// Adds a part.
    fn push(&mut self, part: Part);

    /// Makes new parts visible. `cache` tells what the device's mapping cache holds. Called whenever parts may have
    /// been added, whether or not one can be sent.
    fn admit(&mut self, now: SimTime, cache: &dyn CacheView) {
        let _ = (now, cache);
    }

    /// Makes the next choice if none is made yet. If it opens a batch, gives the batch, once.
    fn open_batch(&mut self, now: SimTime) -> Option<Batch> {
        let _ = now;
        None
    }

    /// The part to send next; `None` if there is none.
    fn pop(&mut self, now: SimTime, cache: &dyn CacheView) -> Option<Part>;

    /// The present values of its own counters.
    fn counters(&self) -> Self::Counters;
}
