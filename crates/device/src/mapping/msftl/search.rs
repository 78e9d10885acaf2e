//! Which pages of a GC victim are valid: looked up in the mapping cache and in their pieces of the table.

use nand::Cause;
use units::{Lpa, Ppa};

use super::Flushed;
use crate::core::Core;
use crate::gc::Victim;
use crate::mapping::portions::LooksUp;
use crate::sram::Owner;

impl<S> LooksUp for Flushed<S> {
    fn current(&self, core: &Core, lpa: Lpa) -> Option<Ppa> {
        self.mapping_of(core, lpa)
    }

    fn read_plan(&self, core: &mut Core, victim: &mut Victim) -> bool {
        let units = core.meta.units();
        let mut read = 0;
        let mut last = None;
        victim.loaded = victim.cursor;
        while let Some(&(lpa, _)) = victim.plan.get(victim.loaded) {
            let unit = units.of(lpa);
            if !core.sram.segment_hit(unit)
                && let Some(ppa) = Self::place(core, unit)
            {
                let more = units.buffers(read + 1) as u16 - victim.held;
                if !core.sram.take(Owner::Map, more) {
                    assert!(read > 0, "the reserve leaves buffers for a valid page search");
                    break;
                }
                victim.held += more;
                read += 1;
                if last.replace(ppa) != Some(ppa) {
                    core.job_read(ppa, units.flash_units(), Cause::ValidPageSearch);
                    core.stats.search_segment_reads += 1;
                }
            }
            let rest = &victim.plan[victim.loaded..];
            victim.loaded += rest.iter().take_while(|(lpa, _)| units.of(*lpa) == unit).count();
        }
        read > 0
    }
}
