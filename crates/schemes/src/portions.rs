//! Valid pages of a GC victim for schemes without a bitmap.
//!
//! The device reads the spare areas of the victim, a portion at a time, and sorts the addresses that it finds. It looks
//! each address up in what the scheme has in SRAM, or else in its map unit, which it reads once for all of its
//! addresses in the portion. Pages found valid are read once more to be copied.

use units::{Lpa, MapUnit, Ppa};

use ftl::seat::{Core, Loaded, MapUnits, Owner, Search, Victim};

/// Units of a portion. Their addresses and places, 8 bytes each, fill one SRAM buffer.
const PORTION: u32 = 512;

/// What a scheme does for the search.
pub(super) trait LooksUp {
    /// The mapping of an address. `loaded` is its map unit; `None` if the scheme has the entry in a cache of its own.
    fn current(&self, core: &Core, lpa: Lpa, loaded: Option<&Loaded>) -> Option<Ppa>;

    /// Reads the map units of the next addresses of the victim's plan, as many as there are buffers for. True if it has
    /// submitted a flash read.
    fn read_plan(&self, core: &mut Core, victim: &mut Victim) -> bool;
}

/// Reads the map units of the next addresses of a plan that are not in SRAM. Units that share a flash unit and follow
/// each other take one read. `made` gives those that the scheme can make without a read, in no buffer. True if it has
/// submitted a flash read.
pub(super) fn read_map_units(
    core: &mut Core,
    victim: &mut Victim,
    mut made: impl FnMut(&Core, MapUnit) -> Option<Loaded>,
) -> bool {
    let units = core.units();
    let mut read = 0;
    victim.loaded = victim.cursor;
    victim.round.clear();
    victim.at = 0;
    while let Some(&(lpa, _)) = victim.plan.get(victim.loaded) {
        let unit = units.of(lpa);
        if let Some(loaded) = core.searched_in_cache(unit) {
            victim.round.add_loaded(loaded);
        } else if let Some(loaded) = made(core, unit).or_else(|| core.unwritten(unit)) {
            victim.round.add_loaded(loaded);
        } else {
            let more = units.buffers(read + 1) as u16 - victim.held;
            if !core.take_buffers(Owner::Map, more) {
                assert!(read > 0, "the reserve leaves buffers for a valid page search");
                break;
            }
            victim.held += more;
            read += 1;
            victim.round.add(core.meta().directory(), unit);
        }
        let unread = &victim.plan[victim.loaded..];
        victim.loaded += unread.iter().take_while(|(lpa, _)| units.of(*lpa) == unit).count();
    }
    core.read_for_search(&mut victim.round) > 0
}

/// Takes valid pages, up to `budget`, from the part of the victim's plan whose map units are in SRAM. `current` gives
/// the mapping of an address; it is passed the address's map unit if that is in the victim's round.
pub(super) fn take_valid(
    units: MapUnits,
    victim: &mut Victim,
    budget: usize,
    current: impl Fn(Lpa, Option<&Loaded>) -> Option<Ppa>,
) {
    while victim.cursor < victim.loaded && victim.found.len() < budget {
        let (lpa, ppa) = victim.plan[victim.cursor];
        victim.cursor += 1;
        let loaded = victim.round.seek(&mut victim.at, units.of(lpa));
        if current(lpa, loaded) == Some(ppa) {
            victim.found.push(ppa);
        }
    }
}

/// See [`Reclaim::search`](ftl::seat::Reclaim::search).
pub(super) fn search(map: &impl LooksUp, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
    core.give_buffers(Owner::Map, std::mem::take(&mut victim.held));
    core.round_arrived(&mut victim.round);
    loop {
        take_valid(core.units(), victim, budget, |lpa, loaded| map.current(core, lpa, loaded));
        let portion_done = victim.cursor == victim.plan.len();
        victim.searched = victim.scanned - (victim.plan.len() - victim.cursor) as u32;
        if portion_done && (victim.random || victim.scanned == core.blocks().units_of(victim.sb)) {
            victim.searched = core.layout().superblock_units();
            return Search::Exhausted;
        }
        if victim.found.len() >= budget {
            // The buffers of these map units go to the copies, so the next step has to read the units that it needs
            // again.
            victim.loaded = victim.cursor;
            return Search::Found;
        }
        if portion_done {
            scan_portion(core, victim);
            return Search::Reading;
        }
        if map.read_plan(core, victim) {
            return Search::Reading;
        }
    }
}

/// Reads the spare areas of the next portion. Only addresses and places stay in SRAM.
fn scan_portion(core: &mut Core, victim: &mut Victim) {
    let row = core.layout().row_units();
    let n = (PORTION / row * row).max(row).min(core.blocks().units_of(victim.sb) - victim.scanned);
    let first = core.layout().first_ppa(victim.sb).offset(victim.scanned);
    for start in (0..n).step_by(row as usize) {
        core.scan_for_search(first.offset(start), row);
    }
    victim.plan = core.addresses(first, n);
    victim.plan.sort_unstable();
    (victim.cursor, victim.loaded) = (0, 0);
    victim.scanned += n;
}

#[cfg(test)]
#[path = "portions_tests.rs"]
mod tests;
