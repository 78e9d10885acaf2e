//! What a scheduler is asked. It orders parts; the driver sends them.

use ufs::LpaRun;
use units::{CounterSets, SimTime};

use super::config::Settings;
use crate::knowledge::view::CacheView;
use crate::request::Part;

/// A batch that is about to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    /// It writes or trims.
    pub write: bool,
    /// Requests in it.
    pub requests: u32,
    /// What they access of its translation page.
    pub runs: Box<[LpaRun]>,
}

impl Batch {
    /// A single unit has its translation page read for it anyway.
    pub fn needs_notice(&self) -> bool {
        self.runs.iter().map(|run| u64::from(run.len)).sum::<u64>() > 1
    }
}

/// A scheduler orders; it does not send. A part that must wait for the booster has left the scheduler.
pub(crate) trait Scheduler {
    /// What it counts; each set is declared with [`units::counters!`].
    type Counters: CounterSets;

    /// Does it ask what the device's mapping cache holds?
    const QUERIES: bool = false;

    /// Its parameters; declared with [`params::params!`].
    type Params: Settings;

    /// A scheduler without parts, for a device whose translation pages have `map_page_entries` entries.
    fn new(own: &Self::Params, map_page_entries: u32) -> Self;

    /// Takes in a part.
    fn push(&mut self, part: Part);

    /// Looks at parts that have come; `cache` tells what the device's mapping cache holds. Called whenever something
    /// may have come, whether or not a part can be sent.
    fn admit(&mut self, now: SimTime, cache: &dyn CacheView) {
        let _ = (now, cache);
    }

    /// Makes the next choice if none is made yet. If it opens a batch, gives the batch, once.
    fn open_batch(&mut self, now: SimTime) -> Option<Batch> {
        let _ = now;
        None
    }

    /// The part to send next, if any is left.
    fn pop(&mut self, now: SimTime, cache: &dyn CacheView) -> Option<Part>;

    /// What it has counted.
    fn counters(&self) -> Self::Counters;
}
