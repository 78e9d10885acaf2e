//! `no-bitmap`: a device with DRAM for the L2P table and the valid page counts, but without valid page bitmap. GC knows
//! which superblock has the fewest valid pages, not which pages these are: it reads the victim and copies what the
//! table still names, until the count says that nothing valid is left. Against `ideal` it shows what the bitmap saves.

use ufs::LpaRun;
use units::{Lpa, Ppa, Seq, Superblock};

use crate::seat::*;

params::params! {
    /// `no-bitmap`: how GC searches its victim.
    pub NoBitmapParams {
        /// A victim in which nothing is valid any more is read no further.
        stop_early: switch = true, "assumed: the counts are in DRAM, so that looking at one takes no time";
    }
}

units::counters! {
    /// What `no-bitmap` counts.
    NoBitmapCounters
    /// Units of victims that GC did not read, because nothing valid was left in them.
    no_bitmap_unread_units,
}

/// Table and counts in DRAM.
#[derive(Debug)]
pub struct NoBitmap {
    /// Packed PPA by LPA; 0 = unmapped, so that a table of zeroes takes no memory before it is used.
    table: Vec<u32>,
    valid: ValidCounts,
    trims: TrimmedSegments,
    stop_early: bool,
    counters: NoBitmapCounters,
}

impl NoBitmap {
    fn mapped(&self, lpa: Lpa) -> Option<Ppa> {
        Ppa::unpack(self.table[lpa.index()])
    }
}

impl Declared for NoBitmap {
    type Params = NoBitmapParams;
    type Counters = NoBitmapCounters;

    fn counters(&self, _core: &Core) -> NoBitmapCounters {
        self.counters
    }
}

impl Scheme for NoBitmap {
    fn new(core: &Core, own: &NoBitmapParams) -> NoBitmap {
        NoBitmap {
            table: table::zeroed(core.capacity_units() as usize),
            valid: ValidCounts::new(core),
            trims: TrimmedSegments::default(),
            stop_early: own.stop_early,
            counters: NoBitmapCounters::default(),
        }
    }

    fn memory(&self, _core: &Core) -> MapMemory {
        MapMemory { dram: 4 * self.table.len() as u64 + self.valid.table_bytes(), ..MapMemory::default() }
    }
}

impl Translate for NoBitmap {
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
}

impl Absorb for NoBitmap {
    /// Nothing is logged, so nothing can fill up.
    fn room(&self, _core: &Core) -> usize {
        usize::MAX
    }

    fn committed(&mut self, core: &mut Core, unit: Commit) {
        let old = self.mapped(unit.lpa);
        if !unit.holds(core, old) {
            return;
        }
        self.table[unit.lpa.index()] = Ppa::pack(Some(unit.ppa));
        self.valid.add(core.superblock_of(unit.ppa));
        if let Some(old) = old {
            self.valid.release(core, old);
        }
    }

    /// This program may have been the last of a superblock in which nothing is valid any more.
    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        self.valid.retire_if_empty(core, sb);
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, _seq: Seq) {
        self.trims.touch(lpa.segment());
        for lpa in (0..n).map(|i| lpa.offset(i)) {
            if let Some(old) = Ppa::unpack(std::mem::take(&mut self.table[lpa.index()])) {
                self.valid.release(core, old);
            }
        }
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.trims.wanted = true;
    }
}

/// Only trims are flushed: recovery finds everything else in the spare areas.
impl Flush for NoBitmap {
    fn wants_flush(&self, _core: &Core) -> bool {
        self.trims.wanted
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        self.trims.flush(core, &self.table)
    }
}

impl Reclaim for NoBitmap {
    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        self.valid.victim(core, named, |_| true)
    }

    /// Any page may be valid. The firmware reads what is listed here, and charges it to GC.
    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        let (first, units) = (core.layout().first_ppa(victim.sb), core.layout().superblock_units());
        if self.stop_early && self.valid.get(victim.sb) == 0 {
            self.counters.no_bitmap_unread_units += u64::from(units - victim.searched);
            victim.searched = units;
        }
        while victim.searched < units && victim.found.len() < budget {
            victim.found.push(first.offset(victim.searched));
            victim.searched += 1;
        }
        if victim.searched == units { Search::Exhausted } else { Search::Found }
    }

    /// The address comes from the spare area of the page that was read.
    fn still_valid(&self, _core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        self.mapped(lpa) == Some(ppa)
    }

    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.valid.mark_collected(sb);
        self.valid.retire_if_empty(core, sb);
    }
}

impl Recover for NoBitmap {
    const TABLE: Table = Table::Dram;

    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.trims.on_power_loss(core, survived);
    }

    fn restored(core: &mut Core, own: &NoBitmapParams) -> NoBitmap {
        let mut map = NoBitmap { table: core.take_rebuilt(), ..NoBitmap::new(core, own) };
        for ppa in map.table.iter().filter_map(|&packed| Ppa::unpack(packed)) {
            map.valid.add(core.superblock_of(ppa));
        }
        map.valid.retire_all_empty(core);
        map.trims = TrimmedSegments::restored(core);
        map
    }
}

impl NoPlacement for NoBitmap {}
impl NoBackground for NoBitmap {}
impl NoProtocol for NoBitmap {}
