//! Garbage collection: which superblock, and which of its pages are valid.

use units::{Lpa, Ppa, Superblock};

use super::answers::Search;
use crate::core::Core;
use crate::space::gc::Victim;

/// Decisions of garbage collection and wear levelling. The engine reads, copies and erases.
pub trait Reclaim {
    /// True if commands may go on while a search is under way ([`GcRuns::Beside`](crate::config::GcRuns)): what it has
    /// found in SRAM stays there.
    const SEARCHES_BESIDE: bool = true;

    /// True if [`Reclaim::search`] takes a victim whose plan is pages of any superblocks ([`Victim::at_random`]).
    const COPIES_AT_RANDOM: bool = false;

    /// True if a GC step may start now.
    fn gc_ready(&self, core: &Core) -> bool {
        let _ = core;
        true
    }

    /// The superblock to collect: `named` for wear levelling, else the one with the fewest valid pages. `None` if there
    /// is none, or if the scheme has to ask the host first.
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim>;

    /// Appends valid pages of the victim to its list, until the list holds `budget` pages.
    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search;

    /// True if a page that was read from the victim is still worth copying. `lpa` is the address in its spare area.
    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool;

    /// True if copies are to be programmed in the order of their addresses, and not as their reads end: then data that
    /// lay together in a victim lie together again.
    fn copies_in_order(&self) -> bool {
        false
    }

    /// All valid pages of the victim have been copied.
    fn collected(&mut self, core: &mut Core, sb: Superblock);

    /// Host writes wait for a free superblock.
    fn starved(&mut self, core: &mut Core) {
        let _ = core;
    }
}
