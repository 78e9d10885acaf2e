//! `dftl`, `cdftl`, `tpftl` and `sftl`: L2P entries are loaded on demand. One type, with one level of caching or two,
//! and the cache of entries as a parameter.
//!
//! - `dftl` (Gupta et al., ASPLOS 2009, as MAP+ Sec. IV-A and V-D use it): translation pages are on flash, their places
//!   (GTD) and a cache of single entries (CMT) in SRAM. A read or write whose entry is not in the CMT waits until the
//!   entry has been loaded. If a changed entry has to leave to make room, its translation page is written before the
//!   load.
//! - `cdftl` (Qin et al., RTAS 2011): whole translation pages are cached below the CMT, in half of the SRAM. An entry
//!   that misses the CMT comes from the cached page if there is one. An entry that leaves the CMT changes the cached
//!   page, or, if there is none, the page on flash. A changed page that leaves is written without being read.
//! - `sftl` (Jiang et al., MSST 2011): whole translation pages are cached, and each takes the bytes that its runs of
//!   consecutive places need: see `ctp.rs`. They serve reads. A page that leaves with few changed entries leaves these
//!   behind in a buffer of single entries, where those of one page gather until they are written together.
//! - `tpftl` (Zhou et al., EuroSys 2015): the cached entries of a translation page form a node; the coldest node loses
//!   entries, clean ones first, and a miss loads those that will be needed next. See `nodes.rs`. That a page is written
//!   with all of its dirty entries ("batch update") is what all schemes here do.
//!
//! Reads and writes both take the entry in (MAP+ eqs. 1 to 4). Addresses whose translation page was never written need
//! no flash read.
//!
//! - **Lookups** of reads come one after another, and so do those of writes (`engine/lookups.rs`): the scheme makes
//!   room, loads the entry, and then looks up the next unit. An entry that waits for room counts as one miss, however
//!   often it asks.
//! - **Room** is made before the load, and reserved for it. If the entry that leaves is changed, its translation page
//!   is written first, with every changed entry of that page. That is an exclusive job: a page states up to which
//!   number it is complete, so no program may be in flight.
//! - **Writes.** The entry of a write is pinned from its acceptance to its commit. So the old page is known in time,
//!   valid page counts are exact, and an empty superblock needs no GC. The slot remembers the number of the newest
//!   change, since programs may finish in another order.
//! - **Copies and trims** of addresses that are in no cache go into the log. They are settled when their translation
//!   page is in SRAM: a copy holds if the old entry names its source. Until then the page of the copy counts as valid.
//!   A superblock that the log names can not be a victim, because a copy of a copy would look overtaken. GC ends its
//!   victim with a flush of the log.
//! - **Power.** A power cut loses changed entries. Recovery finds them in the spare areas of the superblocks that they
//!   name. Log blocks are these superblocks, those that the log names, and open ones. Before their number exceeds
//!   `log.max_log_blocks`, the pages with entries that name the oldest one are written.
//! - **Idle time.** After `background_us` without commands, translation pages are written one at a time. A command that
//!   arrives while a page is being read stops this. A command that arrives during the program waits for it, as for any
//!   program on a die.
//!
//! `lab/tests/map_plus.rs` predicts the mean latencies of reads, writes, writes under GC and of a queue by the
//! equations of MAP+ (Sec. IV-A) from miss ratio, dirty ratio and write amplification.

mod ahead;
mod cmt;
mod coldest;
mod ctp;
mod dirty;
mod entries;
mod flush;
mod known;
mod nodes;
mod page;
mod room;
mod search;
mod settings;
mod sftl;
mod slots;

use std::collections::BTreeSet;

use params::ParamError;
use ufs::LpaRun;
use units::{Lpa, MapUnit, Nanos, Ppa, Seq, Superblock, UNIT_BYTES, UNIT_KIB};

use self::cmt::Cmt;
use self::ctp::Ctp;
use self::entries::EntryCache;
use self::flush::{FlushState, Wanted};
use self::nodes::Nodes;
pub use self::settings::DemandParams;
use self::settings::Own;
use self::sftl::SftlParams;
use super::{portions, rounds};
use ftl::EngineConfig;
use ftl::parts::ValidCounts;
use ftl::seat::{
    Absorb, Admission, Change, Commit, Core, Declared, Flush, HostSays, Loaded, LoadedFor, MapMemory, MapShape,
    NoBackground, NoProtocol, Numbered, Placement, ProgrammedSet, Reclaim, Recover, Resolved, Scheme, Search, Stream,
    Table, Translate, Victim,
};

/// One level of caching.
pub type Dftl = Demand<Cmt, false>;
/// Two levels.
pub type Cdftl = Demand<Cmt, true>;
/// One level, in clusters.
pub type Tpftl = Demand<Nodes, false>;
/// Two levels, with compressed pages, and entries only of writes.
pub type Sftl = Demand<Cmt<SftlParams>, true>;

units::counters! {
    /// What `dftl`, `cdftl`, `tpftl` and `sftl` count.
    DemandCounters
    /// Units read whose entry was in the mapping cache of `dftl`, `cdftl`, `tpftl` or `sftl`.
    cmt_read_hits,
    /// Units read whose entry had to be loaded.
    cmt_read_misses,
    /// Units written whose entry was in the mapping cache.
    cmt_write_hits,
    /// Units written whose entry was not in the mapping cache.
    cmt_write_misses,
    /// Of these, those whose translation page was never written, so that nothing had to be read.
    cmt_unwritten_misses,
    /// Entries, or whole pages, that could not leave the mapping cache before a translation page was written.
    cmt_dirty_evictions,
    /// Translation pages written.
    cmt_page_writes,
    /// Changed entries in the translation pages written.
    cmt_entries_written,
    /// Translation pages written in idle time.
    cmt_background_flushes,
    /// Entries taken in with a missed one of the same translation page: announced by the host, or prefetched.
    cmt_prefetched,
    /// Changed entries that a translation page left behind in the buffer of `sftl`, so that it was not written.
    cmt_entries_left,
}

/// Log entries that a single trim may take.
const TRIM_ENTRIES: usize = 32;

/// Kind of access that a lookup is for.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// Result of a lookup.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
enum Found {
    /// In the entry cache, with this value.
    Cached(Option<Ppa>),
    /// On flash, in this translation page. The cache has reserved room for it.
    OnFlash(MapUnit),
    /// Unmapped: its translation page was never written.
    Unwritten,
    /// The cache has no room; an entry or page has to leave first.
    NoRoom,
}

/// State of the schemes.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Demand<C: EntryCache, const TWO_LEVELS: bool> {
    cmt: C,
    ctp: Ctp,
    /// Number of entries, and the pages, that are being loaded: one for reads and one for writes.
    loading: u64,
    loading_pages: Vec<MapUnit>,
    /// Announced entries. They are taken in when their translation page is read for another entry.
    expected: BTreeSet<Lpa>,
    /// The miss that is being handled, of reads and of writes. It counts once.
    pending_miss: [Option<Lpa>; 2],
    valid: ValidCounts,
    /// Number of changed entries in the caches, by the superblock that they name.
    changed_in: Vec<u32>,
    /// Translation pages with trims that flash lacks.
    trimmed: BTreeSet<MapUnit>,
    wanted: Wanted,
    flush: FlushState,
    /// Time without commands after which changed entries are written.
    background: Option<Nanos>,
    own: C::Own,
    counters: DemandCounters,
}

/// Bytes that compressed pages may grow beyond their limit, until a flush has written one.
fn growth(own: &impl Own) -> u64 {
    if own.compressed() { UNIT_BYTES } else { 0 }
}

/// Bytes of the cache in all, except for [`growth`].
fn cache_bytes(cfg: &EngineConfig, own: &impl Own) -> u64 {
    let most = cfg.sram.own_cache.map_or(u64::MAX, |most| most.saturating_sub(growth(own)));
    own.common().cache_bytes().min(most)
}

/// Bytes for single entries, and for whole translation pages.
fn division(own: &impl Own, cache_bytes: u64, two_levels: bool) -> (u64, u64) {
    let pages = if two_levels { own.page_bytes(cache_bytes) } else { 0 };
    (cache_bytes.saturating_sub(pages), pages)
}

impl<C: EntryCache, const TWO_LEVELS: bool> Demand<C, TWO_LEVELS> {
    /// State for a device fresh from the factory with a cache of `bytes`.
    fn with_cache(core: &Core, own: &C::Own, bytes: u64) -> Demand<C, TWO_LEVELS> {
        let units = core.units();
        let (entries, pages) = division(own, bytes, TWO_LEVELS);
        let superblocks = core.blocks().count();
        Demand {
            cmt: C::new(own, entries, units),
            ctp: Ctp::new(pages, units, own.compressed()),
            loading: 0,
            loading_pages: Vec::new(),
            expected: BTreeSet::new(),
            pending_miss: [None; 2],
            valid: ValidCounts::new(core),
            changed_in: vec![0; superblocks as usize],
            trimmed: BTreeSet::new(),
            wanted: Wanted::default(),
            flush: FlushState::default(),
            background: own.common().background_us.count().map(|us| Nanos::from_micros(us.into())),
            own: *own,
            counters: DemandCounters::default(),
        }
    }

    /// Finds the entry of an address, and counts the lookup.
    fn find(&mut self, core: &mut Core, lpa: Lpa, access: Access) -> Found {
        if let Some(entry) = self.cmt.get(lpa) {
            // The load that this access waited for is not a use.
            if self.pending_miss[access as usize] != Some(lpa) {
                self.cmt.touch(lpa);
            }
            self.count_lookup(lpa, access, true);
            return Found::Cached(entry);
        }
        let unit = core.units().of(lpa);
        let on_flash = core.place_of(unit).is_some();
        let held = self.ctp.holds(unit);
        if !on_flash && !held && matches!(access, Access::Read) {
            return Found::Unwritten;
        }
        if !held {
            self.count_lookup(lpa, access, false);
        }
        if held && self.own.compressed() && matches!(access, Access::Read) {
            self.count_lookup(lpa, access, true);
            self.ctp.touch(unit);
            return Found::Cached(self.ctp.get(core, lpa).flatten());
        }
        let more = match held || !on_flash {
            true => 0,
            false => {
                self.expect_with(lpa);
                self.expected_with(core, unit)
            }
        };
        if !self.make_room(core, 1 + more) {
            return Found::NoRoom;
        }
        if held {
            self.count_lookup(lpa, access, true);
            self.ctp.touch(unit);
            return Found::Cached(self.cache_from_page(core, lpa).flatten());
        }
        // `sftl` always caches whole pages, so also those that begin with this write.
        if TWO_LEVELS && (on_flash || self.own.compressed()) && !self.make_page_room(core, unit) {
            return Found::NoRoom;
        }
        if !on_flash {
            self.counters.cmt_unwritten_misses += 1;
            return Found::Unwritten;
        }
        self.loading += 1;
        Found::OnFlash(unit)
    }

    /// Counts a lookup. One that has to wait asks again, and counts only once.
    fn count_lookup(&mut self, lpa: Lpa, access: Access, hit: bool) {
        let pending_miss = &mut self.pending_miss[access as usize];
        if *pending_miss == Some(lpa) {
            if hit {
                *pending_miss = None;
            }
            return;
        }
        *pending_miss = (!hit).then_some(lpa);
        let stats = &mut self.counters;
        let counter = match (access, hit) {
            (Access::Read, true) => &mut stats.cmt_read_hits,
            (Access::Read, false) => &mut stats.cmt_read_misses,
            (Access::Write, true) => &mut stats.cmt_write_hits,
            (Access::Write, false) => &mut stats.cmt_write_misses,
        };
        *counter += 1;
    }

    /// True if the log might have no room for the next row or trim.
    fn log_is_crowded(&self, core: &Core) -> bool {
        !core.log().is_empty() && core.log().room() < TRIM_ENTRIES + 2 * core.layout().row_units() as usize
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Declared for Demand<C, TWO_LEVELS> {
    const NAME: &'static str = C::Own::NAMES[TWO_LEVELS as usize];
    type Params = C::Own;
    type Counters = DemandCounters;

    fn check(cfg: &EngineConfig, own: &Self::Params, table: &str) -> Result<(), ParamError> {
        let pages = u64::from(cfg.capacity_units).div_ceil(own.common().page_entries().into());
        cfg.check_metadata(pages, pages)?;
        // The entries of all writes under way stay in the cache, and as many again must be able to leave it.
        let entries = 2 * u32::from(cfg.sram.pool);
        let least = own.least_bytes(entries, TWO_LEVELS) / 1024;
        let kib = u32::try_from(cache_bytes(cfg, own) / 1024).unwrap_or(u32::MAX);
        if kib < least {
            let pool = u32::from(cfg.sram.pool) * UNIT_KIB;
            let allowed = format!("at least {least} with sram.pool_kib = {pool}");
            return Err(ParamError::must_be(table, "cache_kib", &kib.into(), allowed));
        }
        Ok(())
    }

    fn counters(&self, _core: &Core) -> DemandCounters {
        self.counters
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Scheme for Demand<C, TWO_LEVELS> {
    const TRANSLATION_PAGES: bool = true;

    fn map_shape(own: &C::Own) -> MapShape {
        MapShape { entries: own.common().page_entries(), bytes: UNIT_BYTES as u32, numbered: Numbered::Directory }
    }

    fn new(core: &Core, own: &C::Own) -> Demand<C, TWO_LEVELS> {
        Demand::with_cache(core, own, cache_bytes(core.cfg(), own))
    }

    fn cache_entries(&self, core: &Core) -> u64 {
        self.cmt.capacity() + self.ctp.whole_pages() * u64::from(core.units().entries())
    }

    fn memory(&self, core: &Core) -> MapMemory {
        let log = u64::from(core.cfg().log.entries) * 16;
        let (entries, _) = division(&self.own, cache_bytes(core.cfg(), &self.own), TWO_LEVELS);
        let cache = C::sram(&self.own, entries, core.units()) + self.ctp.limit() + growth(&self.own);
        MapMemory { sram: log + core.meta().table_bytes() + self.valid.table_bytes(), cache, dram: 0 }
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Translate for Demand<C, TWO_LEVELS> {
    const ON_DEMAND: bool = true;

    fn resolve(&mut self, core: &mut Core, lpa: Lpa, _host: HostSays) -> Resolved {
        if !self.is_cached(core, lpa) && core.log().get(lpa).is_some_and(|logged| logged.ppa.is_none()) {
            core.count_log_hit();
            return Resolved::Unmapped;
        }
        match self.find(core, lpa, Access::Read) {
            Found::Cached(Some(ppa)) => Resolved::Page { ppa, from_host: false },
            Found::Cached(None) | Found::Unwritten => Resolved::Unmapped,
            Found::OnFlash(unit) => {
                self.pending_miss[Access::Read as usize] = None;
                Resolved::Load(unit)
            }
            Found::NoRoom => Resolved::NoRoom,
        }
    }

    /// Puts the entry that was read into the place that the cache has reserved.
    fn resolve_loaded(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa, purpose: LoadedFor) -> Option<Ppa> {
        self.loading -= 1;
        if self.page_arrives(loaded.unit()) {
            self.cache_page(core, loaded);
        }
        let by_page = self.own.compressed() && purpose == LoadedFor::Read;
        let found = self.cmt.get(lpa).or_else(|| if by_page { self.ctp.get(core, lpa) } else { None });
        let entry = match found {
            Some(entry) => entry,
            None => self.cache(core, loaded, lpa),
        };
        self.take_expected(core, loaded);
        entry
    }

    fn admit(&mut self, core: &mut Core, lpa: Lpa) -> Admission {
        match self.find(core, lpa, Access::Write) {
            Found::Cached(_) => {}
            Found::Unwritten => {
                self.pending_miss[Access::Write as usize] = None;
                let unwritten = core.unwritten(core.units().of(lpa)).expect("it was found nowhere");
                if self.page_arrives(unwritten.unit()) {
                    self.cache_page(core, &unwritten);
                }
                self.cache(core, &unwritten, lpa);
            }
            Found::OnFlash(unit) => return Admission::Load(unit),
            Found::NoRoom => return Admission::NoRoom,
        }
        self.cmt.pin(lpa);
        Admission::Ready
    }

    /// True for an entry in a cache, trimmed in the log, or in a translation page that was never written.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool {
        let trimmed = || core.log().get(lpa).is_some_and(|logged| logged.ppa.is_none());
        let unwritten = || core.place_of(core.units().of(lpa)).is_none();
        self.is_cached(core, lpa) || trimmed() || unwritten()
    }

    fn request(&mut self, rest: LpaRun) {
        self.cmt.request(rest);
    }

    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        self.cmt.prefetch(lpa);
    }

    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>) {
        for lpa in self.in_caches(core) {
            match runs.last_mut() {
                Some(last) if last.end() == lpa => last.len += 1,
                _ => runs.push(LpaRun { lpa, len: 1 }),
            }
        }
    }

    /// The first miss of the batch reads the translation page and takes in the batch's other entries from it.
    fn batch(&mut self, _core: &mut Core, runs: &[LpaRun], _write: bool) -> Option<MapUnit> {
        let announced = runs.iter().flat_map(|run| (run.lpa.0..run.end().0).map(Lpa));
        self.load_ahead(announced);
        None
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Absorb for Demand<C, TWO_LEVELS> {
    fn room(&self, core: &Core) -> usize {
        core.log().room().saturating_sub(core.units_to_log() + TRIM_ENTRIES)
    }

    fn committed(&mut self, core: &mut Core, unit: Commit) {
        let Commit { lpa, ppa, seq, source, .. } = unit;
        let Some(source) = source else {
            if self.cmt.unpin(lpa, seq.0) {
                self.change(core, lpa, Some(ppa));
            }
            if self.own.compressed() {
                self.put_into_page(core, lpa);
            }
            return;
        };
        if !self.is_cached(core, lpa) {
            self.log_change(core, Change { lpa, ppa: Some(ppa), seq, source: Some(source) });
        } else if self.in_cache(core, lpa).flatten().is_some_and(|old| core.superblock_of(old) == source) {
            self.change(core, lpa, Some(ppa));
        }
    }

    fn program_done(&mut self, core: &mut Core, sb: Superblock) {
        self.valid.retire_if_empty(core, sb);
    }

    fn trimmed(&mut self, core: &mut Core, lpa: Lpa, n: u32, seq: Seq) {
        for i in 0..n {
            let (lpa, seq) = (lpa.offset(i), seq.plus(i));
            let unit = core.units().of(lpa);
            let cached = self.cmt.is_cached(lpa);
            if cached {
                self.cmt.trimmed(lpa, seq.0);
            }
            if cached || self.ctp.holds(unit) {
                self.change(core, lpa, None);
            } else if core.place_of(unit).is_some() {
                self.log_change(core, Change { lpa, ppa: None, seq, source: None });
            } else {
                continue;
            }
            self.trimmed.insert(unit);
        }
    }

    fn absorb_trims(&mut self, _core: &mut Core) {
        self.wanted.trims = true;
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Placement for Demand<C, TWO_LEVELS> {
    /// The number of log blocks limits how long recovery takes.
    fn may_open(&mut self, core: &mut Core, stream: Stream) -> bool {
        let may = core.log_block_fits(self.unsettled_blocks(core).len(), stream);
        self.wanted.blocks |= !may;
        may
    }

    fn log_blocks(&self, core: &Core) -> Vec<Superblock> {
        self.unsettled_blocks(core)
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Flush for Demand<C, TWO_LEVELS> {
    fn wants_flush(&self, core: &Core) -> bool {
        let Wanted { evict, log, trims, blocks, .. } = &self.wanted;
        evict.is_some() || *log || *trims || *blocks || self.log_is_crowded(core) || self.ctp.is_over()
    }

    fn flush(&mut self, core: &mut Core) -> bool {
        rounds::run_until_blocked(self, core)
    }

    fn idle_flush_after(&self) -> Option<Nanos> {
        let changed = !self.cmt.dirty().is_empty() || self.ctp.is_changed();
        self.background.filter(|_| changed)
    }

    fn begin_idle_flush(&mut self) {
        self.wanted.idle = true;
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Reclaim for Demand<C, TWO_LEVELS> {
    /// Lookups of commands evict entries that a search has found cached.
    const SEARCHES_BESIDE: bool = false;

    fn victim(&mut self, core: &mut Core, named: Option<Superblock>) -> Option<Victim> {
        // The log could not tell a copy of a copy from a copy that was overtaken.
        let logged = self.logged_blocks(core);
        self.valid.victim(core, named, |sb| !logged.contains(&sb))
    }

    fn search(&mut self, core: &mut Core, victim: &mut Victim, budget: usize) -> Search {
        portions::search(self, core, victim, budget)
    }

    fn still_valid(&self, core: &Core, lpa: Lpa, ppa: Ppa) -> bool {
        match self.in_cache(core, lpa) {
            Some(entry) => entry == Some(ppa),
            None => core.still_names(lpa, ppa),
        }
    }

    /// The victim becomes free when its last translation page has been written.
    fn collected(&mut self, core: &mut Core, sb: Superblock) {
        self.valid.mark_collected(sb);
        self.wanted.log |= !core.log().is_empty();
        self.valid.retire_if_empty(core, sb);
    }

    fn starved(&mut self, core: &mut Core) {
        self.wanted.log |= !core.log().is_empty();
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> Recover for Demand<C, TWO_LEVELS> {
    const TABLE: Table = Table::CountedSegments;

    fn on_power_loss(&mut self, core: &mut Core, survived: &ProgrammedSet) {
        self.flush_cut(core, survived);
    }

    /// Recovery has read all translation pages; the valid page counts follow from them.
    fn restored(core: &mut Core, own: &C::Own) -> Demand<C, TWO_LEVELS> {
        let mut map = Demand::new(core, own);
        map.valid = ValidCounts::restored(core);
        map.valid.retire_all_empty(core);
        map
    }
}

impl<C: EntryCache, const TWO_LEVELS: bool> NoBackground for Demand<C, TWO_LEVELS> {}
impl<C: EntryCache, const TWO_LEVELS: bool> NoProtocol for Demand<C, TWO_LEVELS> {}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod log_tests;
