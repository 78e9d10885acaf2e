//! What SRAM holds of the table: whole map units in the pool, single entries, or learned map units. The last two take
//! the place of the first, and its bytes.

use ufs::LpaRun;
use units::{Lpa, MapUnit, UNIT_BYTES};

use super::declared::{Cached, SegmentLogParams};
use super::learned::{Learned, Place};
use ftl::seat::{Core, EntryCache, Loaded, LoadedFor, Resolved};

/// The cache of the scheme.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub enum Cache {
    /// The pool's segment cache.
    Segments,
    /// Single entries.
    Entries(EntryCache),
    /// Learned map units.
    Learned(Learned),
}

impl Cache {
    /// An empty cache of the size that the pool gives it.
    pub fn new(core: &Core, own: &SegmentLogParams) -> Cache {
        let bytes = u64::from(core.cfg().sram.segment_cache) * UNIT_BYTES;
        match own.cached {
            Cached::Segments => Cache::Segments,
            Cached::Entries => Cache::Entries(EntryCache::new(bytes)),
            Cached::Learned => Cache::Learned(Learned::new(bytes, core.units(), own)),
        }
    }

    /// The learned map units, if these are cached.
    pub fn learned(&mut self) -> Option<&mut Learned> {
        match self {
            Cache::Learned(learned) => Some(learned),
            _ => None,
        }
    }

    /// Where a unit is according to the cache. True for a prediction.
    #[inline]
    pub fn hit(&mut self, core: &mut Core, lpa: Lpa) -> Option<(Resolved, bool)> {
        match self {
            Cache::Segments => {
                let entry = core.hit(core.units().of(lpa))?.entry(lpa);
                Some((Resolved::own(entry), false))
            }
            Cache::Entries(entries) => Some((Resolved::own(core.cached_entry(entries, lpa)?), false)),
            Cache::Learned(learned) => learned.place(lpa).map(|place| match place {
                Place::Nowhere => (Resolved::Unmapped, false),
                Place::Exact(ppa) => (Resolved::own(Some(ppa)), false),
                Place::Predicted(ppa) => (Resolved::own(Some(ppa)), true),
            }),
        }
    }

    /// A map unit has been read for this address.
    pub fn arrived(&mut self, core: &Core, loaded: &Loaded, lpa: Lpa, purpose: LoadedFor) {
        match (purpose, self) {
            (LoadedFor::Read, Cache::Entries(entries)) => entries.insert(lpa),
            (LoadedFor::Read, Cache::Learned(learned)) => learned.take_in(core, loaded),
            _ => {}
        }
    }

    /// True if it holds the entry of an address, beside the pool. Does not count as a use.
    pub fn holds(&self, core: &Core, lpa: Lpa) -> bool {
        match self {
            Cache::Segments => false,
            Cache::Entries(entries) => entries.holds(lpa),
            Cache::Learned(learned) => learned.holds(core.units().of(lpa)),
        }
    }

    /// What it holds beside the pool.
    pub fn runs(&self) -> Vec<LpaRun> {
        match self {
            Cache::Segments => Vec::new(),
            Cache::Entries(entries) => entries.addresses().map(|lpa| LpaRun { lpa, len: 1 }).collect(),
            Cache::Learned(learned) => learned.runs().collect(),
        }
    }

    /// True if it tells all entries of a map unit, beside the pool.
    pub fn tells(&self, unit: MapUnit) -> bool {
        matches!(self, Cache::Learned(learned) if learned.tells(unit))
    }

    /// The content of a map unit, if it tells that.
    pub fn made(&self, core: &Core, unit: MapUnit) -> Option<Loaded> {
        match self {
            Cache::Learned(learned) => learned.made(core, unit),
            _ => None,
        }
    }
}
