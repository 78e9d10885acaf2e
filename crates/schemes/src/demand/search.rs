//! Finding the valid pages of a GC victim: addresses are looked up in the caches, or else in their translation pages.

use units::{Lpa, Ppa};

use super::Demand;
use super::entries::EntryCache;
use crate::portions::LooksUp;
use ftl::seat::{Core, Loaded, Owner, Victim};

impl<C: EntryCache, const TWO_LEVELS: bool> LooksUp for Demand<C, TWO_LEVELS> {
    fn current(&self, core: &Core, lpa: Lpa, loaded: Option<&Loaded>) -> Option<Ppa> {
        self.mapping_of(core, lpa, loaded)
    }

    fn read_plan(&self, core: &mut Core, victim: &mut Victim) -> bool {
        let units = core.units();
        let mut reading = false;
        victim.loaded = victim.cursor;
        victim.round.clear();
        victim.at = 0;
        while let Some(&(lpa, _)) = victim.plan.get(victim.loaded) {
            let unit = units.of(lpa);
            let unread = &victim.plan[victim.loaded..];
            let same = unread.iter().take_while(|(lpa, _)| units.of(*lpa) == unit);
            let (n, known) = same.fold((0, true), |(n, known), (lpa, _)| (n + 1, known && self.is_cached(core, *lpa)));
            if known {
                victim.round.add_in_scheme_cache(unit);
            } else if let Some(loaded) = core.unwritten(unit) {
                victim.round.add_loaded(loaded);
            } else {
                if !core.take_buffers(Owner::Map, 1) {
                    assert!(reading, "the reserve leaves buffers for a valid page search");
                    break;
                }
                victim.held += 1;
                victim.round.add(core.meta().directory(), unit);
                reading = true;
            }
            victim.loaded += n;
        }
        core.read_for_search(&mut victim.round) > 0
    }
}
