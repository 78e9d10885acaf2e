//! Finding the valid pages of a GC victim: addresses are looked up in the mapping cache and in their pieces of the
//! table.

use units::{Lpa, Ppa};

use super::Flushed;
use crate::portions::{LooksUp, read_map_units};
use ftl::seat::{Core, Loaded, Victim};

impl<S> LooksUp for Flushed<S> {
    fn current(&self, core: &Core, lpa: Lpa, loaded: Option<&Loaded>) -> Option<Ppa> {
        loaded.and_then(|loaded| self.mapping_of(core, lpa, loaded))
    }

    fn read_plan(&self, core: &mut Core, victim: &mut Victim) -> bool {
        read_map_units(core, victim, |_, _| None)
    }
}
