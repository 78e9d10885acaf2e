//! `ideal`: a device with DRAM for the whole table, the valid page bitmap and the counts. There is no mapping I/O at
//! all (HP-UFS Sec. IV-A), only data I/O, and GC knows all valid pages.

use ftl::parts::{DramPolicy, DramTable, InDram};
use ftl::seat::{Core, Search, Victim};
use params::NoParams;
use units::{NoCounters, Ppa};

/// Table, bitmap and counts in DRAM.
pub type Ideal = InDram<Bitmap>;

/// The valid page bitmap: a bit for each page.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Bitmap(Vec<u64>);

impl DramPolicy for Bitmap {
    const NAME: &'static str = "ideal";
    type Params = NoParams;
    type Counters = NoCounters;

    fn new(core: &Core, _own: &NoParams) -> Bitmap {
        let units = core.blocks().count() as usize * core.layout().superblock_units() as usize;
        Bitmap(table::zeroed(units.div_ceil(64)))
    }

    fn counters(&self) -> NoCounters {
        NoCounters::default()
    }

    fn bytes(&self) -> u64 {
        8 * self.0.len() as u64
    }

    #[inline]
    fn page_valid(&mut self, ppa: Ppa) {
        self.0[ppa.index() / 64] |= 1 << (ppa.0 % 64);
    }

    #[inline]
    fn page_invalid(&mut self, ppa: Ppa) {
        self.0[ppa.index() / 64] &= !(1 << (ppa.0 % 64));
    }

    fn chosen(&mut self, core: &Core, victim: &mut Victim) {
        let first = core.layout().first_ppa(victim.sb).index();
        let last = first + core.layout().superblock_units() as usize;
        // Bits of a superblock need not start at a word border.
        let mut bits = vec![0u64; (last - first).div_ceil(64)];
        for (i, ppa) in (first..last).enumerate() {
            bits[i / 64] |= (self.0[ppa / 64] >> (ppa % 64) & 1) << (i % 64);
        }
        victim.bitmap = bits.into();
    }

    fn search(&mut self, core: &Core, _table: &DramTable, victim: &mut Victim, budget: usize) -> Search {
        let first = core.layout().first_ppa(victim.sb);
        match victim.take_from_bitmap(first, core.layout().superblock_units(), budget) {
            true => Search::Exhausted,
            false => Search::Found,
        }
    }
}

#[cfg(test)]
#[path = "ideal_tests.rs"]
mod tests;
