//! First in, first out.

use std::collections::VecDeque;

use super::Scheduler;
use crate::request::Part;

/// First in, first out, as Linux's `none` for multi-queue devices and `noop` before it.
#[derive(Default)]
pub(crate) struct Fifo(VecDeque<Part>);

impl Scheduler for Fifo {
    #[inline]
    fn push(&mut self, part: Part) {
        self.0.push_back(part);
    }

    #[inline]
    fn pop(&mut self) -> Option<Part> {
        self.0.pop_front()
    }
}
