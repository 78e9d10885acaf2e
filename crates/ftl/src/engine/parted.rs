//! Host data that wait in two queues, because not all of them go to the same superblocks: hot data (`hot.rs`), and data
//! that a dedicated WriteBooster is not for (`slc.dedicated_lu`, JESD220G clause 13.4.18.2).
//!
//! Data of addresses that the buffer serves go where all host data would go with a shared buffer. Others always go to
//! ordinary superblocks, to the one that host data have when the buffer is off or full. So both queues fill the same
//! stream, in turns, and each of its rows holds data of one queue.

use units::Lpa;

use super::rows::NextRow;
use super::state::Engine;
use crate::seat::Mapping;
use crate::space::blocks::Stream;

impl<M: Mapping> Engine<M> {
    /// Puts `n` units of a write into buffers.
    #[inline(never)]
    pub(super) fn put_parted(&mut self, first: Lpa, n: u32, stamp: u32) {
        if self.core.heat.is_some() {
            return self.put_by_heat(first, n, stamp);
        }
        for lpa in (0..n).map(|i| first.offset(i)) {
            let served = self.core.is_served(lpa);
            self.core.buffer.put_apart(lpa, stamp, !served, false);
        }
    }

    /// Programs rows of the data that wait apart.
    #[inline(never)]
    pub(super) fn program_apart_rows(&mut self) {
        while self.core.exclusive_job().is_none() && !self.core.buffer.apart_queue.is_empty() {
            let (queued, forced) = (self.core.buffer.apart_queue.len() as u32, self.core.buffer.is_apart_forced());
            let (stream, next) = match self.core.heat.is_some() {
                true => self.next_hot_row(queued, forced),
                false => (Stream::Host, self.next_row(queued, forced, false)),
            };
            match next {
                NextRow::Of(n) => self.program_row(stream, n, |buffer| buffer.apart_queue.pop_front()),
                NextRow::NotDue | NextRow::Blocked => return,
            }
        }
    }

    /// FUA units that may share a row, from the first on, and whether WriteBooster serves them.
    #[inline(never)]
    pub(super) fn fua_of_a_kind(&self) -> (u32, bool) {
        let served = |&id: &u16| self.core.is_served(self.core.buffer.unit(id).0);
        let queue = &self.core.buffer.fua_queue;
        let first = queue.front().is_none_or(served);
        (queue.iter().take_while(|id| served(id) == first).count() as u32, first)
    }
}
