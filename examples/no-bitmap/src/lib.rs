//! `no-bitmap`: a device with DRAM for the L2P table and the valid page counts, but without valid page bitmap. GC knows
//! which superblock has the fewest valid pages, not which pages these are: it reads the victim and copies what the
//! table still names, until the count says that nothing valid is left. Against `ideal` it shows what the bitmap saves.

use std::sync::Once;

use ftl::MappingKind;
use ftl::parts::{DramPolicy, DramTable, InDram};
use ftl::seat::{Core, Search, Victim};

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

/// Table and counts in DRAM, and nothing else.
pub type NoBitmap = InDram<ReadsEverything>;

/// GC reads all pages of a victim.
#[derive(Clone, Debug, Hash)]
pub struct ReadsEverything {
    stop_early: bool,
    counters: NoBitmapCounters,
}

impl DramPolicy for ReadsEverything {
    const NAME: &'static str = "no-bitmap";
    type Params = NoBitmapParams;
    type Counters = NoBitmapCounters;
    const VARIANTS: &'static [&'static [&'static str]] = &[&["stop_early=false"]];

    fn new(_core: &Core, own: &NoBitmapParams) -> ReadsEverything {
        ReadsEverything { stop_early: own.stop_early, counters: NoBitmapCounters::default() }
    }

    fn counters(&self) -> NoBitmapCounters {
        self.counters
    }

    /// Any page may be valid. The firmware reads what is listed here, and charges it to GC.
    fn search(&mut self, core: &Core, table: &DramTable, victim: &mut Victim, budget: usize) -> Search {
        let (first, units) = (core.layout().first_ppa(victim.sb), core.layout().superblock_units());
        if self.stop_early && table.valid(victim.sb) == 0 {
            self.counters.no_bitmap_unread_units += u64::from(units - victim.searched);
            victim.searched = units;
        }
        while victim.searched < units && victim.found.len() < budget {
            victim.found.push(first.offset(victim.searched));
            victim.searched += 1;
        }
        if victim.searched == units { Search::Exhausted } else { Search::Found }
    }
}

/// The scheme, added to those that there are, with a preset of its name.
pub fn kind() -> MappingKind {
    static ADDED: Once = Once::new();
    let kind = MappingKind::of::<NoBitmap>();
    ADDED.call_once(|| lab::add_scheme(kind, "A device with DRAM for the L2P table; GC reads every page of a victim"));
    kind
}
