//! First in, first out.

use std::collections::VecDeque;

use units::{NoCounters, SimTime};

use super::seat::Scheduler;
use crate::knowledge::view::CacheView;
use crate::request::Part;

pub(crate) use params::NoParams as Params;

/// First in, first out, as Linux's `none` for multi-queue devices and `noop` before it.
#[derive(Clone, Hash)]
pub(crate) struct Fifo(VecDeque<Part>);

impl Scheduler for Fifo {
    type Counters = (NoCounters,);

    type Params = Params;

    fn new(_own: &Params, _map_page_entries: u32) -> Fifo {
        Fifo(VecDeque::new())
    }

    #[inline]
    fn push(&mut self, part: Part) {
        self.0.push_back(part);
    }

    #[inline]
    fn pop(&mut self, _now: SimTime, _cache: &dyn CacheView) -> Option<Part> {
        self.0.pop_front()
    }

    fn counters(&self) -> Self::Counters {
        (NoCounters {},)
    }
}
