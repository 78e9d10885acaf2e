//! What a host's I/O scheduler may ask and announce about the mapping cache (MAP+ Sec. V-D): which entries are in it,
//! and which entries the next batch of requests needs.

use ufs::{DataIn, DataOut, LpaRun, MAX_BATCH_RUNS, MAX_CACHED_RUNS, Op, Status};
use units::{Lpa, Nanos};

use super::state::Engine;
use super::waiting::Then;
use crate::seat::Mapping;
use crate::table::map_units::UnitSet;

/// Most requests of a packed command (eMMC 5.0, JESD84-B50 clause 6.6.29.1: up to 63 entries in a packed command
/// header).
const MAX_PACKED: u32 = 63;

impl<M: Mapping> Engine<M> {
    /// True if translating these units needs no flash read. Must not change counters or LRU order.
    pub fn cached(&self, lpa: Lpa, len: u32) -> bool {
        let cached = |lpa: Lpa| self.map.cached(&self.core, lpa) || self.core.buffer.get(lpa).is_some();
        let capacity = self.core.cfg.capacity_units;
        lpa.0.checked_add(len).is_some_and(|end| end <= capacity) && (0..len).all(|i| cached(lpa.offset(i)))
    }

    /// Time of the firmware thread for a command that is about to start. A command of a pack costs nothing; its notice
    /// has paid.
    #[inline]
    pub(super) fn command_cost(&mut self, tag: u8) -> Nanos {
        let cmd = &mut self.commands[usize::from(tag)];
        if self.pack.left > 0 && self.pack.takes(&cmd.op) {
            cmd.cost = Nanos::ZERO;
        }
        cmd.cost
    }

    /// Answers a cache query. The response takes a command's time of the firmware thread, and its bytes on the link.
    #[inline(never)]
    pub(super) fn answer_cache_query(&mut self, tag: u8) {
        let mut runs = Vec::new();
        self.map.cached_runs(&self.core, &mut runs);
        runs.truncate(MAX_CACHED_RUNS as usize);
        self.respond_with(tag, |data| *data = DataIn::Runs(runs));
    }

    /// Handles a batch notice: loads the part of the mapping table that the batch needs. The notice is answered when
    /// the load is done; requests that arrive before wait for the same read.
    pub(super) fn start_batch(&mut self, tag: u8) {
        let cmd = &self.commands[usize::from(tag)];
        let Op::BatchNotice { write, packed, requests } = cmd.op else {
            unreachable!("{:?} announces no batch", cmd.op);
        };
        let Some(runs) = self.batch_runs(tag) else {
            self.commands[usize::from(tag)].status = Status::InvalidField;
            return self.respond(tag);
        };
        let needed = self.map.batch(&mut self.core, &runs, write);
        self.pack.left = if packed { requests.min(MAX_PACKED) } else { 0 };
        match needed {
            None => self.respond(tag),
            Some(segment) => {
                self.commands[usize::from(tag)].remaining = 1;
                self.load_for_command(UnitSet::one(segment), tag, Then::Done);
            }
        }
    }

    /// The runs of a notice; `None` if they are not allowed: none or too many, outside the device, or in several
    /// translation pages.
    fn batch_runs(&mut self, tag: u8) -> Option<Box<[LpaRun]>> {
        let DataOut::Runs(runs) = std::mem::take(&mut self.commands[usize::from(tag)].data) else { return None };
        let capacity = self.core.cfg.capacity_units;
        let inside = |run: &LpaRun| run.len > 0 && run.lpa.0.checked_add(run.len).is_some_and(|end| end <= capacity);
        let units = self.core.meta.units();
        let page = |lpa: Lpa| units.of(lpa);
        let first = page(runs.first()?.lpa);
        let in_first_page = |run: &LpaRun| page(run.lpa) == first && page(run.lpa.offset(run.len - 1)) == first;
        let allowed = runs.len() <= MAX_BATCH_RUNS as usize && runs.iter().all(|run| inside(run) && in_first_page(run));
        allowed.then_some(runs)
    }
}
