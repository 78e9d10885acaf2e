//! Which pages of a GC victim are valid: looked up in the caches, or else in their translation pages.

use units::{Lpa, Ppa};

use super::Demand;
use crate::engine::core::Core;
use crate::gc::Victim;
use crate::mapping::portions::LooksUp;
use crate::sram::Owner;

impl<const TWO_LEVELS: bool> LooksUp for Demand<TWO_LEVELS> {
    fn current(&self, core: &Core, lpa: Lpa) -> Option<Ppa> {
        self.mapping_of(core, lpa)
    }

    fn read_plan(&self, core: &mut Core, victim: &mut Victim) -> bool {
        let units = core.units();
        let mut reading = false;
        victim.loaded = victim.cursor;
        while let Some(&(lpa, _)) = victim.plan.get(victim.loaded) {
            let unit = units.of(lpa);
            let rest = &victim.plan[victim.loaded..];
            let same = rest.iter().take_while(|(lpa, _)| units.of(*lpa) == unit);
            let (n, known) = same.fold((0, true), |(n, known), (lpa, _)| (n + 1, known && self.is_cached(core, *lpa)));
            let place = core.place_of(unit).filter(|_| !known);
            if let Some(ppa) = place {
                if !core.take_buffers(Owner::Map, 1) {
                    assert!(reading, "the reserve leaves buffers for a valid page search");
                    break;
                }
                victim.held += 1;
                core.read_for_search(ppa, 1);
                reading = true;
            }
            victim.loaded += n;
        }
        reading
    }
}
