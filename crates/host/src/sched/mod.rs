//! Schedulers: the order in which parts that wait for a tag are sent. `seat` has the trait of a scheduler. This
//! file lists the schedulers, and has the enum dispatch to the one in use.
//!
//! `noop` is a queue. The others are policies of [`ordered`], which has their common part. When a part becomes visible,
//! a policy asks once whether its mappings are in the device's mapping cache
//! ([`CacheView`](crate::knowledge::view::CacheView)). There are two vendor commands for schedulers:
//!
//! - *Cache query*: sent every `poll_requests` requests if the host asks the device. The device lists runs of cached
//!   addresses.
//! - *Batch notice*: sent before the first request of a batch of more than one unit. The device reads the translation
//!   page once, at the notice or with the first miss, as the mapping scheme has it. Requests that arrive meanwhile wait
//!   for the same read.
//!
//! A notice promises nothing: each request is resolved as if no notice had come. So a lying host gains only a read.
//!
//! # Glossary
//! - **pending queue**: the parts that a scheduler may choose from, at most `queue` of its parameters ([`pending`]).
//! - **hit**: a part whose mappings are all in the device's mapping cache, as far as the host knows
//!   ([`knowledge`](crate::knowledge)).
//! - **batch**: parts whose mappings are in the same translation page ([`batches`]).
//! - **due**: a part that has waited for as long as its deadline allows ([`ordered`]).

mod batches;
mod batching;
pub(crate) mod config;
mod ordered;
mod pending;
mod seat;
mod sorted;
mod turns;

use std::collections::VecDeque;

use units::{Counter, CounterSets, SimTime};

use self::config::{HitBatchParams, Settings};
use crate::knowledge::view::CacheView;
use crate::request::Part;

pub(crate) use self::seat::{Batch, Scheduler};

units::kinds! {
    /// The schedulers.
    pub SchedulerKind, list schedulers {
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
        /// The same with sorted batches (MAP+ Sec. V-C).
        Bs = "bs" in bs::Bs;
        /// Hit prioritised and request batched.
        Map = "map" in map::Map;
        /// Hit prioritised, with sorted batches.
        MapPlus = "map-plus" in map_plus::MapPlus;
        /// Linux's deadline scheduler.
        MqDeadline = "mq-deadline" in mq_deadline::MqDeadline;
    }
}

macro_rules! dispatch {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $module:ident::$type:ident;)+) => {
        $(mod $module;)+

        /// The scheduler in use. There is one per driver, so its size does not matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Hash)]
        pub(crate) enum AnyScheduler {
            $($variant($module::$type),)+
        }

        /// Calls the same method of the scheduler in use.
        macro_rules! with_scheduler {
            ($any:expr, $scheduler:ident => $call:expr) => {
                match $any {
                    $(AnyScheduler::$variant($scheduler) => $call,)+
                }
            };
        }

        impl AnyScheduler {
            /// A scheduler without parts.
            pub fn of_kind(kind: SchedulerKind, all: &SchedulerParams, map_page_entries: u32) -> AnyScheduler {
                match kind {
                    $(SchedulerKind::$variant => {
                        AnyScheduler::$variant(Scheduler::new(&all.$variant, map_page_entries))
                    })+
                }
            }
        }

        params::owners! {
            /// The parameters of all schedulers, by variant of [`SchedulerKind`].
            pub SchedulerParams { $($name $variant: $module::Params,)+ }
        }

        impl SchedulerKind {
            /// The parameters that concern the driver and the pending queue.
            pub(crate) fn shared(self, all: &SchedulerParams) -> HitBatchParams {
                match self {
                    $(SchedulerKind::$variant => Settings::shared(&all.$variant),)+
                }
            }

            /// The counters that only this scheduler has.
            pub fn counters(self) -> Vec<&'static Counter> {
                match self {
                    $(SchedulerKind::$variant => <$module::$type as Scheduler>::Counters::declared(),)+
                }
            }

            /// True if it asks what the device's mapping cache holds.
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

schedulers!(dispatch);

impl AnyScheduler {
    /// Adds a part.
    #[inline]
    pub fn push(&mut self, part: Part) {
        match self {
            AnyScheduler::Noop(fifo) => fifo.push(part),
            _ => self.push_to_other(part),
        }
    }

    /// Not inlined, so that `noop`, which most runs use, stays fast.
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

    /// The queue of `noop`, so that the next part can be planned where it stands; `None` of a scheduler that chooses.
    #[inline]
    pub fn fifo(&mut self) -> Option<&mut VecDeque<Part>> {
        match self {
            AnyScheduler::Noop(fifo) => Some(fifo.queue()),
            _ => None,
        }
    }

    /// See [`Scheduler::pop`].
    #[inline(never)]
    pub fn pop(&mut self, now: SimTime, cache: &dyn CacheView) -> Option<Part> {
        with_scheduler!(self, s => s.pop(now, cache))
    }

    /// Counters that only this scheduler has, in the order of [`SchedulerKind::counters`].
    pub fn counted(&self) -> Vec<(&'static Counter, u64)> {
        with_scheduler!(self, s => s.counters().counted())
    }
}

#[cfg(test)]
mod tests;
