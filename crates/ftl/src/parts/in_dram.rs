//! A scheme with its whole mapping table in DRAM inside the device. Nothing of such a table is on flash but the
//! segments with trims ([`TrimmedSegments`]); recovery finds everything else in the spare areas.

use std::fmt::Debug;

use params::Params;
use ufs::LpaRun;
use units::{CounterSet, Lpa, Ppa, Seq, Superblock};

use crate::core::Core;
use crate::knowledge::{Loaded, ProgrammedSet};
use crate::parts::trimmed::TrimmedSegments;
use crate::parts::validity::ValidCounts;
use crate::seat::{
    Absorb, Commit, Declared, Explored, Flush, HostSays, LoadedFor, MapMemory, NoBackground, NoPlacement, NoProtocol,
    Reclaim, Recover, Resolved, Scheme, Search, Table, Translate,
};
use crate::space::gc::Victim;

/// The table, and the number of valid pages of each superblock.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct DramTable {
    /// Packed PPA by LPA; 0 = unmapped, so that a table of zeroes takes no memory before it is used.
    entries: Vec<u32>,
    valid: ValidCounts,
}

impl DramTable {
    /// The place of an address.
    #[inline]
    pub fn mapped(&self, lpa: Lpa) -> Option<Ppa> {
        Ppa::unpack(self.entries[lpa.index()])
    }

    /// Valid pages of a superblock.
    pub fn valid(&self, sb: Superblock) -> u32 {
        self.valid.get(sb)
    }
}

/// What is special to a scheme with its table in DRAM: how GC finds valid pages. [`InDram`] makes a scheme of it.
pub trait DramPolicy: Explored + Debug + Send + Sized + 'static {
    /// See [`Declared::NAME`].
    const NAME: &'static str;
    /// See [`Declared::Params`].
    type Params: Params + Copy + Default;
    /// See [`Declared::Counters`].
    type Counters: CounterSet;
    /// See [`Scheme::VARIANTS`].
    const VARIANTS: &'static [&'static [&'static str]] = &[];

    /// For a device without valid pages.
    fn new(core: &Core, own: &Self::Params) -> Self;

    /// The present values of its counters.
    fn counters(&self) -> Self::Counters;

    /// Bytes of DRAM beside the table and the counts of valid pages.
    fn bytes(&self) -> u64 {
        0
    }

    /// A page has become valid.
    #[inline]
    fn page_valid(&mut self, ppa: Ppa) {
        let _ = ppa;
    }

    /// A page has become invalid.
    #[inline]
    fn page_invalid(&mut self, ppa: Ppa) {
        let _ = ppa;
    }

    /// The victim has been chosen.
    fn chosen(&mut self, core: &Core, victim: &mut Victim) {
        let _ = (core, victim);
    }

    /// See [`Reclaim::search`].
    fn search(&mut self, core: &Core, table: &DramTable, victim: &mut Victim, budget: usize) -> Search;
}

/// A scheme with its table in DRAM.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct InDram<P> {
    table: DramTable,
    trims: TrimmedSegments,
    policy: P,
}

impl<P: DramPolicy> InDram<P> {
    #[inline]
    fn page_valid(&mut self, core: &Core, ppa: Ppa) {
        self.policy.page_valid(ppa);
        self.table.valid.add(core.superblock_of(ppa));
    }

    #[inline]
    fn page_invalid(&mut self, core: &mut Core, ppa: Ppa) {
        self.policy.page_invalid(ppa);
        self.table.valid.release(core, ppa);
    }
}

impl<P: DramPolicy> Declared for InDram<P> {
    const NAME: &'static str = P::NAME;
    type Params = P::Params;
    type Counters = P::Counters;

    fn counters(&self, _core: &Core) -> P::Counters {
        self.policy.counters()
    }
}

impl<P: DramPolicy> Scheme for InDram<P> {
    const VARIANTS: &'static [&'static [&'static str]] = P::VARIANTS;

    fn new(core: &Core, own: &P::Params) -> InDram<P> {
        let entries = ::table::zeroed(core.capacity_units() as usize);
        let table = DramTable { entries, valid: ValidCounts::new(core) };
        InDram { table, trims: TrimmedSegments::default(), policy: P::new(core, own) }
    }

    fn cache_entries(&self, core: &Core) -> u64 {
        core.capacity_units().into()
    }

    fn memory(&self, _core: &Core) -> MapMemory {
        let table = 4 * self.table.entries.len() as u64 + self.table.valid.table_bytes();
        MapMemory { dram: table + self.policy.bytes(), ..MapMemory::default() }
    }
}

impl<P: DramPolicy> Translate for InDram<P> {
    #[inline]
    fn resolve(&mut self, _core: &mut Core, lpa: Lpa, _host: HostSays) -> Resolved {
        Resolved::own(self.table.mapped(lpa))
    }

    fn resolve_loaded(&mut self, _core: &mut Core, _loaded: &Loaded, lpa: Lpa, _purpose: LoadedFor) -> Option<Ppa> {
        self.table.mapped(lpa)
    }

    fn cached(&self, _core: &Core, _lpa: Lpa) -> bool {
        true
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        runs.push(LpaRun { lpa: Lpa(0), len: core.capacity_units() });
    }

    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        ::table::prefetch(&self.table.entries[lpa.index()]);
    }
}

impl<P: DramPolicy> Absorb for InDram<P> {
    /// Nothing is logged, so nothing can fill up.
    fn room(&self, _core: &Core) -> usize {
        usize::MAX
    }

    #[inline]
    fn committed(&mut self, core: &mut Core, unit: Commit) {
        let old = self.table.mapped(unit.lpa);
        if !unit.holds(core, old) {
            return;
        }
        self.table.entries[unit.lpa.index()] = Ppa::pack(Some(unit.ppa));
        self.page_valid(core, unit.ppa);
        if let Some(old) = old {
            self.page_invalid(core, old);
        }
    }

    /// The host or GC may have overwritten all of its pages before this last program was done.
    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        self.table.valid.retire_if_empty(core, sb);
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, _seq: Seq) {
        self.trims.touch(core.units().of(lpa));
        for lpa in (0..n).map(|i| lpa.offset(i)) {
            if let Some(old) = Ppa::unpack(std::mem::take(&mut self.table.entries[lpa.index()])) {
                self.page_invalid(core, old);
            }
        }
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.trims.wanted = true;
    }
}

/// Only trims are flushed.
impl<P: DramPolicy> Flush for InDram<P> {
    fn wants_flush(&self, _core: &Core) -> bool {
        self.trims.wanted
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        self.trims.flush(core, &self.table.entries)
    }
}

impl<P: DramPolicy> Reclaim for InDram<P> {
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        let mut victim = self.table.valid.victim(core, named, |_| true)?;
        self.policy.chosen(core, &mut victim);
        Some(victim)
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        self.policy.search(core, &self.table, victim, budget)
    }

    /// The address comes from the spare area of the page that was read.
    fn still_valid(&self, _core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        self.table.mapped(lpa) == Some(ppa)
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.table.valid.mark_collected(sb);
        self.table.valid.retire_if_empty(core, sb);
    }
}

impl<P: DramPolicy> Recover for InDram<P> {
    const TABLE: Table = Table::Dram;

    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.trims.on_power_loss(core, survived);
    }

    fn restored(core: &mut Core, own: &P::Params) -> InDram<P> {
        let mut map = InDram::new(core, own);
        map.table.entries = core.take_rebuilt();
        for at in 0..map.table.entries.len() {
            if let Some(ppa) = Ppa::unpack(map.table.entries[at]) {
                map.page_valid(core, ppa);
            }
        }
        map.table.valid.retire_all_empty(core);
        map.trims = TrimmedSegments::restored(core);
        map
    }
}

impl<P> NoPlacement for InDram<P> {}
impl<P> NoBackground for InDram<P> {}
impl<P> NoProtocol for InDram<P> {}
