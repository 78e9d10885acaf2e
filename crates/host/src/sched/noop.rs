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

impl Fifo {
    /// The parts in the order in which they came.
    #[inline]
    pub fn queue(&mut self) -> &mut VecDeque<Part> {
        &mut self.0
    }
}

impl Scheduler for Fifo {
    type Counters = (NoCounters,);

    type Params = Params;

    fn new(_own: &Params, _map_page_entries: u32) -> Fifo {
        Fifo(VecDeque::new())
    }

    #[inline]
    fn push(&mut self, part: Part) {
        // Filled in its place: put together elsewhere and moved there, it is slow.
        self.0.push_back(Part::BLANK);
        let Part { request, op, lpa, len, app, counted, pinned } = part;
        let last = self.0.back_mut().expect("one was added");
        (last.request, last.op, last.lpa, last.len) = (request, op, lpa, len);
        (last.app, last.counted, last.pinned) = (app, counted, pinned);
    }

    #[inline]
    fn pop(&mut self, _now: SimTime, _cache: &dyn CacheView) -> Option<Part> {
        self.0.pop_front()
    }

    fn counters(&self) -> Self::Counters {
        (NoCounters {},)
    }
}
