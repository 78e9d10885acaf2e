//! `what_if.copies_percent`: copies at a given rate, at random places. What the mapping costs hangs on how many places
//! GC moves; here that is given, and no victim's content decides it.
//!
//! As the host writes, steps of GC become due that copy pages of flash at uniform places, as many as `units_per_step`
//! units take. A page holds data if the table on flash names any of its units; as with GC's victims, what has not been
//! flushed is left alone. Each is searched, read and programmed as a page of a victim is. No superblock is freed: GC
//! collects what the copies leave behind when free superblocks run short.

use units::{Dice, Lpa, Ppa};

use super::state::Engine;
use crate::seat::Mapping;
use crate::space::gc::Victim;

/// Draws for a page that holds data, on average, before the device counts as empty.
const DRAWS: u32 = 64;

impl<M: Mapping> Engine<M> {
    /// Begins a step that copies at random, or goes on with one, if it is due. True if it has begun.
    #[inline(never)]
    pub(super) fn begin_random_copies(&mut self, free: u32) -> bool {
        if self.gc.urgent(free) || !self.map.gc_ready(&self.core) {
            return false;
        }
        if let Some(victim) = &self.gc.victim {
            return victim.random && self.begin_step_of_victim(free);
        }
        let plan = self.random_pages(self.gc.copies_due());
        if plan.is_empty() {
            return false;
        }
        self.gc.copies_planned(plan.len());
        self.gc.victim = Some(Victim::at_random(plan));
        self.begin_step_of_victim(free)
    }

    /// Reads the spare areas of pages at random places, once, with the rows that they lie in, as a search does.
    pub(super) fn scan_random_pages(&mut self) {
        let Some(victim) = self.gc.victim.as_mut().filter(|victim| victim.random && !victim.opened) else { return };
        victim.opened = true;
        let mut rows: Vec<Ppa> = victim.plan.iter().map(|&(_, ppa)| self.core.layout.row_start(ppa)).collect();
        rows.sort_unstable();
        rows.dedup();
        let row = self.core.layout.row_units();
        rows.into_iter().for_each(|start| self.core.scan_for_search(start, row));
    }

    /// Addresses and places of `units` units in pages at random places.
    fn random_pages(&self, units: u32) -> Vec<(Lpa, Ppa)> {
        let page = self.core.layout.geometry().units_per_page;
        let pages = self.core.capacity_units() / page;
        let mut dice = Dice::of(self.core.cfg.seal_key[0], self.core.next_seq().0);
        let mut plan: Vec<(Lpa, Ppa)> = Vec::new();
        for _ in 0..units.div_ceil(page) * DRAWS {
            if plan.len() >= units as usize {
                break;
            }
            let first = Lpa(dice.between(0, u64::from(pages) - 1) as u32 * page);
            let drawn = (0..page).map(|i| first.offset(i)).filter_map(|lpa| Some((lpa, self.settled_place(lpa)?)));
            if !plan.iter().any(|&(lpa, _)| lpa.0 / page == first.0 / page) {
                plan.extend(drawn);
            }
        }
        plan
    }

    /// The place of an address, if the table on flash names it and nothing newer is known.
    fn settled_place(&self, lpa: Lpa) -> Option<Ppa> {
        let waits = self.gc.waiting().any(|page| page.lpa == lpa);
        if waits || self.core.is_buffered(lpa) || self.core.log.get(lpa).is_some() {
            return None;
        }
        self.core.truth().entry_at_hand(lpa)
    }
}
