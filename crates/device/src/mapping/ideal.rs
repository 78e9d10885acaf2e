//! `ideal`: a device with DRAM for the whole table, the valid page bitmap and the counts. There is no mapping I/O at
//! all (HP-UFS Sec. IV-A), only data I/O, and GC knows all valid pages.

use params::NoParams;
use ufs::LpaRun;
use units::{Lpa, NoCounters, Ppa, Seq, Superblock};

use crate::engine::core::Core;
use crate::gc::Victim;
use crate::knowledge::{Loaded, ProgrammedSet};
use crate::seat::{
    Absorb, Commit, Declared, Flush, HostSays, LoadedFor, MapMemory, NoBackground, NoPlacement, NoProtocol, Reclaim,
    Recover, Resolved, Scheme, Search, Table, Translate,
};
use crate::trimmed::TrimmedSegments;
use crate::validity::ValidCounts;

/// Table, bitmap and counts in DRAM.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Ideal {
    table: Vec<u32>,
    bitmap: Vec<u64>,
    valid: ValidCounts,
    trims: TrimmedSegments,
}

impl Ideal {
    fn set_valid(&mut self, core: &Core, ppa: Ppa) {
        self.bitmap[ppa.index() / 64] |= 1 << (ppa.0 % 64);
        self.valid.add(core.superblock_of(ppa));
    }

    fn clear_valid(&mut self, core: &mut Core, ppa: Ppa) {
        self.bitmap[ppa.index() / 64] &= !(1 << (ppa.0 % 64));
        self.valid.release(core, ppa);
    }

    fn mapped(&self, lpa: Lpa) -> Option<Ppa> {
        Ppa::unpack(self.table[lpa.index()])
    }
}

impl Declared for Ideal {
    type Params = NoParams;
    type Counters = NoCounters;

    fn counters(&self, _core: &Core) -> NoCounters {
        NoCounters::default()
    }
}

impl Scheme for Ideal {
    fn new(core: &Core, _own: &NoParams) -> Ideal {
        let units = core.blocks().count() as usize * core.layout().superblock_units() as usize;
        Ideal {
            table: table::zeroed(core.capacity_units() as usize),
            bitmap: table::zeroed(units.div_ceil(64)),
            valid: ValidCounts::new(core),
            trims: TrimmedSegments::default(),
        }
    }

    fn cache_entries(&self, core: &Core) -> u64 {
        core.capacity_units().into()
    }

    fn memory(&self, _core: &Core) -> MapMemory {
        let dram = 4 * self.table.len() as u64 + 8 * self.bitmap.len() as u64 + self.valid.table_bytes();
        MapMemory { dram, ..MapMemory::default() }
    }
}

impl Translate for Ideal {
    #[inline]
    fn resolve(&mut self, _core: &mut Core, lpa: Lpa, _host: HostSays) -> Resolved {
        Resolved::own(self.mapped(lpa))
    }

    fn resolve_loaded(&mut self, _core: &mut Core, _loaded: &Loaded, lpa: Lpa, _purpose: LoadedFor) -> Option<Ppa> {
        self.mapped(lpa)
    }

    fn cached(&self, _core: &Core, _lpa: Lpa) -> bool {
        true
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        runs.push(LpaRun { lpa: Lpa(0), len: core.capacity_units() });
    }

    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        table::prefetch(&self.table[lpa.index()]);
    }
}

impl Absorb for Ideal {
    fn room(&self, _core: &Core) -> usize {
        usize::MAX
    }

    #[inline]
    fn committed(&mut self, core: &mut Core, unit: Commit) {
        let old = self.mapped(unit.lpa);
        if !unit.holds(core, old) {
            return;
        }
        self.table[unit.lpa.index()] = Ppa::pack(Some(unit.ppa));
        self.set_valid(core, unit.ppa);
        if let Some(old) = old {
            self.clear_valid(core, old);
        }
    }

    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        // The host or GC may have overwritten all of its pages before this last program was done.
        self.valid.retire_if_empty(core, sb);
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, _seq: Seq) {
        self.trims.touch(lpa.segment());
        for lpa in (0..n).map(|i| lpa.offset(i)) {
            if let Some(old) = Ppa::unpack(std::mem::take(&mut self.table[lpa.index()])) {
                self.clear_valid(core, old);
            }
        }
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.trims.wanted = true;
    }
}

impl Flush for Ideal {
    fn wants_flush(&self, _core: &Core) -> bool {
        self.trims.wanted
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        self.trims.flush(core, &self.table)
    }
}

impl Reclaim for Ideal {
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        let mut victim = self.valid.victim(core, named, |_| true)?;
        let first = core.layout().first_ppa(victim.sb).index();
        let last = first + core.layout().superblock_units() as usize;
        // Bits of a superblock need not start at a word border.
        let mut bits = vec![0u64; (last - first).div_ceil(64)];
        for (i, ppa) in (first..last).enumerate() {
            bits[i / 64] |= (self.bitmap[ppa / 64] >> (ppa % 64) & 1) << (i % 64);
        }
        victim.bitmap = bits.into();
        Some(victim)
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        let first = core.layout().first_ppa(victim.sb);
        if victim.take_from_bitmap(first, core.layout().superblock_units(), budget) {
            Search::Exhausted
        } else {
            Search::Found
        }
    }

    fn still_valid(&self, _core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        self.mapped(lpa) == Some(ppa)
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.valid.mark_collected(sb);
        self.valid.retire_if_empty(core, sb);
    }
}

impl Recover for Ideal {
    const TABLE: Table = Table::Dram;

    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.trims.on_power_loss(core, survived);
    }

    fn restored(core: &mut Core, own: &NoParams) -> Ideal {
        let mut map = Ideal::new(core, own);
        map.table.copy_from_slice(&core.take_rebuilt());
        for at in 0..map.table.len() {
            if let Some(ppa) = Ppa::unpack(map.table[at]) {
                map.set_valid(core, ppa);
            }
        }
        map.valid.retire_all_empty(core);
        map.trims = TrimmedSegments::restored(core);
        map
    }
}

impl NoPlacement for Ideal {}
impl NoBackground for Ideal {}
impl NoProtocol for Ideal {}

#[cfg(test)]
#[path = "ideal_tests.rs"]
mod tests;
