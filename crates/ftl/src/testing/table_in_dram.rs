//! A scheme for tests of the engine: its table and its valid page bitmap are in DRAM.

use std::collections::BTreeSet;

use params::NoParams;
use units::{NoCounters, Ppa};

use crate::core::Core;
use crate::parts::{DramPolicy, DramTable, InDram};
use crate::seat::{Search, Victim};

/// The table, and which pages are valid.
pub type TableInDram = InDram<ValidPages>;

/// The valid pages.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct ValidPages(BTreeSet<Ppa>);

impl DramPolicy for ValidPages {
    const NAME: &'static str = "table-in-dram";
    type Params = NoParams;
    type Counters = NoCounters;

    fn new(_core: &Core, _own: &NoParams) -> ValidPages {
        ValidPages(BTreeSet::new())
    }

    fn counters(&self) -> NoCounters {
        NoCounters::default()
    }

    fn page_valid(&mut self, ppa: Ppa) {
        self.0.insert(ppa);
    }

    fn page_invalid(&mut self, ppa: Ppa) {
        self.0.remove(&ppa);
    }

    fn search(&mut self, core: &Core, _table: &DramTable, victim: &mut Victim, budget: usize) -> Search {
        let (first, units) = (core.layout().first_ppa(victim.sb), core.layout().superblock_units());
        let valid = self.0.range(first.offset(victim.searched)..first.offset(units));
        let found: Vec<Ppa> = valid.take(budget - victim.found.len()).copied().collect();
        victim.searched =
            if victim.found.len() + found.len() < budget { units } else { found[found.len() - 1].0 - first.0 + 1 };
        victim.found.extend(found);
        if victim.searched == units { Search::Exhausted } else { Search::Found }
    }
}
