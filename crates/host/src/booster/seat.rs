//! The traits of a booster. It decides and returns values; the driver acts.
//!
//! A booster implements [`Booster`], [`Counted`], [`OwnCommands`], [`HostMemory`] and [`Apps`], and [`Tamper`] for
//! tests. All except the first two have defaults for the trait as a whole: a booster without commands of its own has
//! `impl OwnCommands for NoBooster {}`.

use std::hash::{Hash, Hasher};

use std::collections::VecDeque;

use ufs::{Command, DataIn, DataOut, Op, Response, Status};
use units::{AppId, CounterSets, Lpa, Ppa, Seq, SimTime, Superblock};

use crate::app::AppSignal;
use crate::request::{Part, RequestOp};

/// Bytes of an entry of HPB 2.0, which is sealed.
pub(crate) const SEALED_BYTES: u64 = 8;

/// Decision about a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Send this command, which covers the first `units` units of the part.
    Send { op: Op, units: u32 },
    /// The booster keeps the part until it can be sent, and returns it through `ready`.
    Park,
    /// An internal command goes first; ask again after it.
    InternalFirst,
}

/// A command that the booster itself wants to send.
#[derive(Clone, PartialEq, Hash, Debug)]
pub(crate) struct Internal {
    /// The command.
    pub op: Op,
    /// The data that it carries.
    pub data: DataOut,
}

impl From<Op> for Internal {
    fn from(op: Op) -> Internal {
        Internal { op, data: DataOut::None }
    }
}

/// Handling of requests.
pub(crate) trait Booster: Sized {
    /// Prefetches what a request that reads or changes this address will need, for the caches of the simulating
    /// processor. Must not change any state.
    fn prefetch(&self, _lpa: Lpa, _changes: bool) {}

    /// Decides about a part. A command may have at most `max_units` units.
    fn plan(&mut self, now: SimTime, part: &mut Part, max_units: u32) -> Step;

    /// Adds what every command carries.
    fn stamp(&mut self, _command: &mut Command) {}

    /// Handles the response to `op`. Appends parts that need not wait any longer to `ready`.
    fn on_response(&mut self, now: SimTime, op: &Op, response: &mut Response, ready: &mut VecDeque<Part>);
}

/// Figures that every booster reports.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Usage {
    /// Parts of reads whose mapping the booster had.
    pub hits: u64,
    /// Parts of reads whose mapping the booster did not have.
    pub misses: u64,
    /// DRAM that cached mappings take now, in bytes.
    pub dram_bytes: u64,
    /// DRAM that cached mappings may take, in bytes.
    pub dram_bytes_limit: u64,
}

/// Counts for reports: no part of the state.
impl Hash for Usage {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Counters of a booster.
pub(crate) trait Counted {
    /// Its own counters; each set is declared with [`units::counters!`].
    type Counters: CounterSets;

    /// The present values of its own counters.
    fn counters(&self) -> Self::Counters;

    /// The figures that every booster reports. The default is that of a booster without cache.
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// Commands that a booster sends by itself. By default it sends none.
pub(crate) trait OwnCommands {
    /// The device has recovered from a power cut. Segments on flash hold every change up to `applied`.
    fn after_power_cut(&mut self, _applied: Seq) {}

    /// The first request after an idle time has arrived.
    fn resume(&mut self, _now: SimTime) {}

    /// True while no user command may be sent.
    fn holds_back(&self) -> bool {
        false
    }

    /// The next command that has to be sent before user commands.
    fn urgent(&mut self) -> Option<Internal> {
        None
    }

    /// The next command to send when no user command can be sent. `idle_since`: the time when the last user request
    /// completed; `None` while one is under way.
    fn lazy(&mut self, _now: SimTime, _idle_since: Option<SimTime>) -> Option<Internal> {
        None
    }

    /// The earliest time at which `lazy` could give a command without any other event.
    fn next_wake(&self, _idle_since: Option<SimTime>) -> Option<SimTime> {
        None
    }
}

/// Host DRAM. By default a booster takes none.
pub(crate) trait HostMemory {
    /// Sets the limit. What no longer fits is dropped at once, or by commands that follow.
    fn set_limit(&mut self, _bytes: u64) {}

    /// DRAM that the booster takes from the phone now, in bytes.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// The part of it that the limit does not govern: lists and tables beside the cached mappings.
    fn fixed_bytes(&self) -> u64 {
        0
    }

    /// True if the phone may lower the limit while it is short of memory.
    fn follows_pressure(&self) -> bool {
        false
    }
}

/// Signals of the phone about its apps. By default a booster ignores them.
pub(crate) trait Apps {
    /// The state of an app has changed.
    fn signal(&mut self, _now: SimTime, _signal: AppSignal) {}

    /// `victim` is about to be killed for `bytes` of memory. Gives back as many of these bytes as it can, at once.
    /// Returns the number of bytes given back.
    fn reclaim(&mut self, _now: SimTime, _victim: AppId, _bytes: u64) -> u64 {
        0
    }
}

/// The valid pages of a block as the host knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockValidity {
    /// Number of valid pages.
    pub valid: u32,
    /// A bit for each page.
    pub bitmap: Box<[u64]>,
}

/// For tests: reads the booster's tables, and puts false entries into them. The host is not trusted (HPB 2017 Sec.
/// 2.2.5), so tests falsify what it keeps. By default a booster has no tables.
pub(crate) trait Tamper {
    /// Overwrites the cached address of an LPA, but nothing derived from it. False if it is not cached.
    fn tamper(&mut self, _lpa: Lpa, _ppa: Option<Ppa>) -> bool {
        false
    }

    /// The cached address of an LPA.
    fn mapping(&self, _lpa: Lpa) -> Option<Option<Ppa>> {
        None
    }

    /// Overwrites the cached sealed entry of an LPA. False if it is not cached.
    fn tamper_sealed(&mut self, _lpa: Lpa, _entry: u64) -> bool {
        false
    }

    /// The cached sealed entry of an LPA.
    fn sealed(&self, _lpa: Lpa) -> Option<u64> {
        None
    }

    /// Valid page count and bitmap of a block.
    fn validity(&self, _block: Superblock) -> Option<BlockValidity> {
        None
    }
}

/// The plain command for a part, without help of a booster.
#[inline]
pub(super) fn plain(part: &Part, max_units: u32) -> Step {
    let len = part.len.min(max_units);
    let lpa = part.lpa;
    let op = match part.op {
        RequestOp::Read => Op::Read { lpa, len },
        RequestOp::Write { fua } => Op::Write { lpa, len, fua },
        RequestOp::Flush => Op::Flush,
        RequestOp::Unmap => Op::Unmap { lpa, len },
    };
    Step::Send { op, units: len }
}

/// The entries in the response to a READ BUFFER, plain ones in the lower half; `None` if it has failed.
pub(super) fn entries_in(response: &mut Response) -> Option<Vec<u64>> {
    match std::mem::take(&mut response.data) {
        _ if response.status != Status::Good => None,
        DataIn::Sealed(entries) => Some(entries),
        DataIn::Plain(entries) => Some(entries.into_iter().map(u64::from).collect()),
        _ => None,
    }
}
