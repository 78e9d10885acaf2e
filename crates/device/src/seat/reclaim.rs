//! Garbage collection: what is collected, and what in it is valid.

use units::{Lpa, Ppa, Superblock};

use super::answers::Search;
use crate::engine::core::Core;
use crate::gc::Victim;

/// Decisions of garbage collection and wear levelling. The engine reads, copies and erases.
pub trait Reclaim {
    /// May a step start now?
    fn gc_ready(&self, core: &Core) -> bool {
        let _ = core;
        true
    }

    /// A superblock to collect: `named` for wear levelling, else the one with the fewest valid pages. `None` if there
    /// is none, or if the host has to be asked first.
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim>;

    /// Appends valid pages of the victim to its list, up to `budget` in all.
    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search;

    /// A page of the victim was read, and its spare area names `lpa`: is it worth copying?
    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool;

    /// Everything valid in the victim has been copied.
    fn collected(&mut self, core: &mut Core, sb: Superblock);

    /// Host writes wait for a free superblock.
    fn starved(&mut self, core: &mut Core) {
        let _ = core;
    }
}
