//! Schedulers: in which order parts that wait for a tag are sent. To add one, write its file and register it in the
//! list below.
//!
//! # Glossary
//! - **pending queue**: the parts that a scheduler may choose from, at most [`SchedConfig::queue`] ([`pending`]).
//! - **hit**: a part whose mappings are all in the device's mapping cache, as far as the host knows
//!   ([`knowledge`](crate::knowledge)).
//! - **batch**: parts whose mappings are in the same translation page ([`batches`]).
//! - **due**: a part that has waited for as long as its deadline allows ([`ordered`]).

mod batches;
mod batching;
mod ordered;
mod pending;
mod rings;
mod sorted;
mod turns;

use ufs::LpaRun;
use units::{Nanos, SimTime};

use crate::knowledge::{CacheKnowledge, CacheView};
use crate::request::Part;
use crate::stats::HostStats;

/// Settings of the schedulers. `noop` has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SchedConfig {
    /// Parts that a scheduler may choose from, 1..=1024 (MAP+ Sec. VI-A: 128).
    pub queue: u16,
    /// A part that has waited for so long goes before its turn (MAP+ Sec. V-A: 10 ms). `mq-deadline` has its own times.
    pub deadline: Nanos,
    /// How the host knows what the device's mapping cache holds.
    pub knowledge: CacheKnowledge,
    /// [`CacheKnowledge::Poll`]: requests between two queries, from 1 (MAP+ Sec. V-D: 1000).
    pub poll_requests: u32,
    /// [`CacheKnowledge::Lru`]: entries that the host believes the mapping cache to have, from 1.
    pub cache_entries: u32,
    /// The device is told of a batch before its requests (MAP+ Sec. V-D).
    pub batch_notice: bool,
    /// The requests of an announced batch share the firmware's cost of a command.
    pub packed_commands: bool,
}

impl Default for SchedConfig {
    fn default() -> SchedConfig {
        SchedConfig {
            queue: 128,
            deadline: Nanos::from_millis(10),
            knowledge: CacheKnowledge::Full,
            poll_requests: 1000,
            cache_entries: 2048,
            batch_notice: true,
            packed_commands: false,
        }
    }
}

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
    /// Does it ask what the device's mapping cache holds?
    const QUERIES: bool = false;

    /// A scheduler without parts, for a device whose translation pages have `map_page_entries` entries.
    fn new(config: &SchedConfig, map_page_entries: u32) -> Self;

    /// Takes in a part.
    fn push(&mut self, part: Part);

    /// Looks at parts that have come; `cache` tells what the device's mapping cache holds. Called whenever something may
    /// have come, whether or not a part can be sent.
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

    /// Adds its counters.
    fn report(&self, stats: &mut HostStats) {
        let _ = stats;
    }
}

macro_rules! schedulers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $module:ident::$type:ident;)+) => {
        $(mod $module;)+

        /// The schedulers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum SchedulerKind {
            $($(#[$doc])* $variant,)+
        }

        impl SchedulerKind {
            /// Every scheduler.
            pub const ALL: &'static [SchedulerKind] = &[$(SchedulerKind::$variant),+];
            /// The names by which they are chosen, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The scheduler of this name.
            pub fn from_name(name: &str) -> Option<SchedulerKind> {
                match name {
                    $($name => Some(SchedulerKind::$variant),)+
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(SchedulerKind::$variant => $name,)+
                }
            }
        }

        /// The scheduler in use. There is one per driver, so its size does not matter.
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum AnyScheduler {
            $($variant($module::$type),)+
        }

        /// Calls the same method of whatever scheduler is in use.
        macro_rules! with_scheduler {
            ($any:expr, $scheduler:ident => $call:expr) => {
                match $any {
                    $(AnyScheduler::$variant($scheduler) => $call,)+
                }
            };
        }

        impl AnyScheduler {
            /// A scheduler without parts.
            pub fn of_kind(kind: SchedulerKind, config: &SchedConfig, map_page_entries: u32) -> AnyScheduler {
                match kind {
                    $(SchedulerKind::$variant => {
                        AnyScheduler::$variant(Scheduler::new(config, map_page_entries))
                    })+
                }
            }
        }

        impl SchedulerKind {
            /// Does it ask what the device's mapping cache holds?
            pub fn queries_cache(self) -> bool {
                match self {
                    $(SchedulerKind::$variant => <$module::$type as Scheduler>::QUERIES,)+
                }
            }
        }

        #[cfg(test)]
        mod conformance {
            $(
                #[allow(non_snake_case)]
                mod $variant {
                    use crate::sched::{SchedulerKind, tests};

                    #[test]
                    fn every_part_comes_back_once() {
                        tests::every_part_comes_back_once(SchedulerKind::$variant);
                    }

                    #[test]
                    fn overlapping_parts_keep_their_order() {
                        tests::overlapping_parts_keep_their_order(SchedulerKind::$variant);
                    }

                    #[test]
                    fn nothing_starves() {
                        tests::nothing_starves(SchedulerKind::$variant);
                    }

                    #[test]
                    fn a_flush_waits_for_nothing_that_came_later() {
                        tests::a_flush_waits_for_nothing_that_came_later(SchedulerKind::$variant);
                    }

                    #[test]
                    fn a_batch_is_announced_as_it_is_sent() {
                        tests::a_batch_is_announced_as_it_is_sent(SchedulerKind::$variant);
                    }
                }
            )+
        }
    };
}

schedulers! {
    /// First in, first out.
    Noop = "noop" in noop::Fifo;
    /// Read over write.
    Row = "row" in row::Row;
    /// The smallest first, with read over write.
    Amphibian = "amphibian" in amphibian::Amphibian;
    /// Hit prioritised (MAP+ Sec. V-A).
    Hp = "hp" in hp::Hp;
    /// Request batched (MAP+ Sec. V-B).
    Rb = "rb" in rb::Rb;
    /// Hit prioritised and request batched.
    Map = "map" in map::Map;
    /// The same with sorted batches (MAP+ Sec. V-C).
    MapPlus = "map-plus" in map_plus::MapPlus;
    /// Linux's deadline scheduler.
    MqDeadline = "mq-deadline" in mq_deadline::MqDeadline;
}

impl AnyScheduler {
    /// Takes in a part.
    #[inline]
    pub fn push(&mut self, part: Part) {
        match self {
            AnyScheduler::Noop(fifo) => fifo.push(part),
            _ => self.push_to_other(part),
        }
    }

    /// Out of the way of `noop`, which is what most runs have.
    #[inline(never)]
    fn push_to_other(&mut self, part: Part) {
        with_scheduler!(self, s => s.push(part));
    }

    /// See [`Scheduler::admit`].
    #[inline]
    pub fn admit(&mut self, now: SimTime, cache: &dyn CacheView) {
        with_scheduler!(self, s => s.admit(now, cache));
    }

    /// See [`Scheduler::open_batch`].
    #[inline]
    pub fn open_batch(&mut self, now: SimTime) -> Option<Batch> {
        with_scheduler!(self, s => s.open_batch(now))
    }

    /// See [`Scheduler::pop`].
    #[inline]
    pub fn pop(&mut self, now: SimTime, cache: &dyn CacheView) -> Option<Part> {
        match self {
            AnyScheduler::Noop(fifo) => fifo.pop(now, cache),
            _ => self.pop_from_other(now, cache),
        }
    }

    #[inline(never)]
    fn pop_from_other(&mut self, now: SimTime, cache: &dyn CacheView) -> Option<Part> {
        with_scheduler!(self, s => s.pop(now, cache))
    }

    /// See [`Scheduler::report`].
    pub fn report(&self, stats: &mut HostStats) {
        with_scheduler!(self, s => s.report(stats));
    }
}

#[cfg(test)]
mod tests;
