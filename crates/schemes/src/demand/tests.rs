//! Decisions of the schemes, without a device around them.

use super::nodes::TpftlParams;
use super::settings::{CmtParams, DemandParams, SingleParams};
use super::*;
use crate::small;
use ftl::SramConfig;
use ftl::seat::{MapUnits, Mapping};

/// 4096 addresses, 512 in a translation page, all of them mapped.
pub(super) fn core() -> Core {
    core_with(8)
}

/// The same, of whose translation pages only so many have been written: the first ones.
fn core_with(written: u32) -> Core {
    let cfg = small::config();
    let units = Dftl::map_units(&cfg, &small::params::<crate::Dftl>());
    let mut core = Core::in_test(cfg, units);
    let meta = core.layout().first_ppa(Superblock(80));
    for unit in (0..written).map(MapUnit) {
        let piece = core.meta().segment_piece(unit);
        core.meta_in_test().moved(piece, meta.offset(unit.0));
    }
    for lpa in (0..512 * written).map(Lpa) {
        core.assume_entry(lpa, Some(Ppa(lpa.0)));
    }
    core
}

/// Makes a translation page on flash one without runs.
pub(super) fn tear(core: &mut Core, unit: MapUnit) {
    for lpa in core.units().range(unit) {
        core.assume_entry(Lpa(lpa), Some(Ppa(3 * lpa)));
    }
}

/// Looks an address up as a read does, and loads its translation page if that is needed. Gives the first answer.
fn read<C: EntryCache, const TWO_LEVELS: bool>(map: &mut Demand<C, TWO_LEVELS>, core: &mut Core, lpa: u32) -> Resolved {
    let answer = map.resolve(core, Lpa(lpa), HostSays::Nothing);
    if let Resolved::Load(_) = answer {
        let loaded = Loaded::assumed(core.units().of(Lpa(lpa)));
        assert_eq!(map.resolve_loaded(core, &loaded, Lpa(lpa), LoadedFor::Read), Some(Ppa(lpa)));
    }
    answer
}

/// The host announces reads of these runs.
fn announce<C: EntryCache, const TWO_LEVELS: bool>(
    map: &mut Demand<C, TWO_LEVELS>,
    core: &mut Core,
    runs: &[(u32, u32)],
) {
    let runs: Vec<LpaRun> = runs.iter().map(|&(lpa, len)| LpaRun { lpa: Lpa(lpa), len }).collect();
    assert_eq!(map.batch(core, &runs, false), None, "the first miss reads the translation page");
}

fn cached<C: EntryCache, const TWO_LEVELS: bool>(map: &Demand<C, TWO_LEVELS>, core: &Core) -> Vec<u32> {
    map.in_caches(core).map(|lpa| lpa.0).collect()
}

fn at(lpa: u32) -> Resolved {
    Resolved::Page { ppa: Ppa(lpa), from_host: false }
}

#[test]
fn every_page_of_a_translation_page_misses_by_itself() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 64);
    for lpa in [5, 6, 700] {
        assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(MapUnit(lpa / 512)));
        assert_eq!(read(&mut map, &mut core, lpa), at(lpa));
    }
    assert_eq!((map.counters.cmt_read_misses, map.counters.cmt_read_hits), (3, 3));
    assert_eq!(map.in_caches(&core).collect::<Vec<_>>(), [Lpa(5), Lpa(6), Lpa(700)]);
}

#[test]
fn a_page_cache_below_makes_neighbours_hit() {
    // 8 KiB: a translation page, and 512 entries.
    let mut core = core();
    let mut map = Cdftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 1024);
    assert_eq!(read(&mut map, &mut core, 5), Resolved::Load(MapUnit(0)));
    assert_eq!(read(&mut map, &mut core, 6), at(6));
    assert_eq!(map.in_caches(&core).count(), 512);
    assert_eq!(read(&mut map, &mut core, 700), Resolved::Load(MapUnit(1)));
    assert_eq!(read(&mut map, &mut core, 6), at(6));
    assert_eq!(read(&mut map, &mut core, 7), Resolved::Load(MapUnit(0)), "its page has left");
    assert_eq!((map.counters.cmt_read_misses, map.counters.cmt_read_hits), (3, 2));
}

#[test]
fn what_was_announced_comes_with_the_first_miss_of_its_page() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 64);
    announce(&mut map, &mut core, &[(3, 2), (9, 1), (600, 1)]);
    assert_eq!(read(&mut map, &mut core, 4), Resolved::Load(MapUnit(0)));
    assert_eq!(map.in_caches(&core).collect::<Vec<_>>(), [Lpa(3), Lpa(4), Lpa(9)]);
    assert_eq!(read(&mut map, &mut core, 9), at(9));
    assert_eq!(read(&mut map, &mut core, 600), Resolved::Load(MapUnit(1)));
    assert_eq!(read(&mut map, &mut core, 10), Resolved::Load(MapUnit(0)), "nobody announced it");
}

#[test]
fn a_full_cache_drops_what_is_clean_and_asks_for_a_flush_of_what_is_not() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 16);
    (0..20).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(MapUnit(0))));
    assert_eq!(map.in_caches(&core).map(|lpa| lpa.0).collect::<Vec<_>>(), (4..20).collect::<Vec<_>>());
    (4..20).for_each(|lpa| {
        map.cmt.set(Lpa(lpa), Some(Ppa(lpa)));
    });
    assert_eq!(read(&mut map, &mut core, 1000), Resolved::NoRoom);
    assert!(map.wants_flush(&core));
    assert_eq!(map.wanted.evict, Some(MapUnit(0)));
    assert_eq!(read(&mut map, &mut core, 1000), Resolved::NoRoom);
    assert_eq!(map.counters.cmt_read_misses, 21, "asked twice, missed once");
}

#[test]
fn announced_entries_take_a_quarter_of_the_cache_and_no_more() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 18);
    (3584..3602).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(MapUnit(7))));
    announce(&mut map, &mut core, &[(100, 10)]);
    assert_eq!(read(&mut map, &mut core, 0), Resolved::Load(MapUnit(0)));
    // Four of ten, in place of the five entries that came first.
    let left = 3589..3602;
    assert_eq!(cached(&map, &core), [0, 100, 101, 102, 103].into_iter().chain(left).collect::<Vec<_>>());
}

#[test]
fn nothing_announced_is_expected_from_a_page_that_is_not_read() {
    // The page cache has the page: 16 entries below it, and ten announced.
    let mut core = core();
    let mut two = Cdftl::with_cache(&core, &small::params::<crate::Dftl>(), 4096 + 8 * 16);
    assert_eq!(read(&mut two, &mut core, 5), Resolved::Load(MapUnit(0)));
    (6..21).for_each(|lpa| assert_eq!(read(&mut two, &mut core, lpa), at(lpa)));
    announce(&mut two, &mut core, &[(100, 10)]);
    assert_eq!(read(&mut two, &mut core, 30), at(30));
    assert_eq!((two.cmt.len(), two.cmt.is_cached(Lpa(5))), (16, false), "one entry leaves for one that comes");

    // The page was never written.
    let mut core = core_with(7);
    let mut one = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 16);
    (5..21).for_each(|lpa| assert_eq!(read(&mut one, &mut core, lpa), Resolved::Load(MapUnit(0))));
    announce(&mut one, &mut core, &[(3600, 10)]);
    assert_eq!(one.admit(&mut core, Lpa(3590)), Admission::Ready);
    assert_eq!(cached(&one, &core), (6..21).chain([3590]).collect::<Vec<_>>());
    assert_eq!((one.counters.cmt_write_misses, one.counters.cmt_unwritten_misses), (1, 1));
}

/// There is nothing to load, and nothing to keep.
#[test]
fn a_read_of_a_page_that_was_never_written_takes_no_room_and_is_no_lookup() {
    let mut core = core_with(7);
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 16);
    for lpa in 0..16 {
        read(&mut map, &mut core, lpa);
        map.cmt.set(Lpa(lpa), Some(Ppa(lpa)));
    }
    assert_eq!(map.resolve(&mut core, Lpa(3700), HostSays::Nothing), Resolved::Unmapped);
    let counters = map.counters;
    assert_eq!((counters.cmt_read_misses, counters.cmt_read_hits, counters.cmt_unwritten_misses), (16, 0, 0));
    assert!(!map.wants_flush(&core));
}

#[test]
fn what_needs_no_flash_read_is_cached_trimmed_or_was_never_written() {
    let mut core = core_with(7);
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 64);
    read(&mut map, &mut core, 5);
    let seq = core.take_seq_in_test(2);
    map.trimmed(&mut core, Lpa(40), 2, seq);
    let answers = [5, 6, 39, 40, 41, 42, 3583, 3584].map(|lpa| map.cached(&core, Lpa(lpa)));
    assert_eq!(answers, [true, false, false, true, true, false, false, true]);
    assert_eq!(map.resolve(&mut core, Lpa(41), HostSays::Nothing), Resolved::Unmapped);
    assert_eq!((core.stats_in_test().log_hits, map.counters.cmt_read_misses), (1, 1), "the log answers");
    // A copy in the log tells nothing: only the page on flash tells whether the host has overtaken it.
    let seq = core.take_seq_in_test(1);
    let (ppa, source) = (Ppa(4000), Some(Superblock(0)));
    map.committed(&mut core, Commit { lpa: Lpa(50), ppa, seq, source, newest: true, overtaken: false });
    assert!(!map.cached(&core, Lpa(50)));
    assert_eq!(map.resolve(&mut core, Lpa(50), HostSays::Nothing), Resolved::Load(MapUnit(0)));
}

#[test]
fn a_host_that_asks_is_told_runs_of_cached_addresses() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params::<crate::Dftl>(), 8 * 64);
    for lpa in [9, 511, 6, 512, 5, 700, 7] {
        read(&mut map, &mut core, lpa);
    }
    let mut runs = Vec::new();
    map.cached_runs(&core, &mut runs);
    let runs: Vec<(u32, u32)> = runs.iter().map(|run| (run.lpa.0, run.len)).collect();
    assert_eq!(runs, [(5, 3), (9, 1), (511, 2), (700, 1)]);
}

/// 1088 KiB, the default, and entries of 4 bytes. Half of it holds 136 translation pages, the rest 139,264 entries.
#[test]
fn two_levels_share_the_cache_by_halves() {
    let base = small::params::<crate::Dftl>();
    let own = CmtParams {
        single: SingleParams { common: DemandParams { entry_bytes: 4, ..base.single.common }, ..base.single },
        ..base
    };
    let shape = MapShape { entries: 1024, bytes: 4096, numbered: Numbered::Directory };
    let parts = |kib: u64, capacity, two_levels| {
        let units = MapUnits::new(capacity, shape);
        let (bytes, pages) = division(&own, kib * 1024, two_levels);
        (Cmt::new(&own, bytes, units).capacity(), Ctp::new(pages, units, false).limit() / 4096)
    };
    assert_eq!(parts(1088, 1 << 20, false), (278_528, 0));
    assert_eq!(parts(1088, 1 << 20, true), (139_264, 136));
    assert_eq!(parts(6, 1 << 20, true), (512, 1), "at least one page");
    assert_eq!(parts(1088, 5000, true), (5000, 5), "no more than the whole table");
}

/// Parameters with 16 KiB of cache. Entries have 8 bytes, of `tpftl` 6 and 8 for a node; a translation page has 512.
fn small_cache<M: Mapping>() -> M::Params {
    small::with::<M>(&[("cache_kib", 16)])
}

/// `tpftl` keeps 24 bytes free, and each entry may need a node. `cdftl` has two pages, and 1024 entries. `sftl` has
/// 14,670 bytes for three pages with headers, and 1714 for 214 entries.
#[test]
fn a_device_tells_how_many_entries_its_caches_hold() {
    fn entries<C: EntryCache, const TWO_LEVELS: bool>(own: &C::Own) -> u64 {
        let core = core();
        Demand::<C, TWO_LEVELS>::new(&core, own).cache_entries(&core)
    }
    assert_eq!(entries::<Cmt, false>(&small_cache::<crate::Dftl>()), 16_384 / 8);
    assert_eq!(entries::<Nodes, false>(&small_cache::<crate::Tpftl>()), (16_384 - 24) / 14);
    assert_eq!(entries::<Cmt, true>(&small_cache::<crate::Cdftl>()), 1024 + 2 * 512);
    assert_eq!(entries::<Cmt<SftlParams>, true>(&small_cache::<crate::Sftl>()), 214 + 3 * 512);
}

/// Beside the cache: 16 bytes for each of 128 log entries; 4 for the places of 8 translation pages, 80 bitmaps, 2
/// records and 32 pages of the journal, and for the number of each page; 2 for the valid page count of each of 80
/// superblocks. Compressed pages may grow beyond their limit by one whole page, also where other tables leave less.
#[test]
fn the_caches_take_what_they_are_given_and_what_their_pages_may_grow() {
    fn cache<C: EntryCache, const TWO_LEVELS: bool>(own: &C::Own, own_cache: Option<u64>) -> u64 {
        let cfg = small::config();
        let cfg = EngineConfig { sram: SramConfig { own_cache, ..cfg.sram }, ..cfg };
        let core = Core::in_test(cfg, core().units());
        let MapMemory { sram, cache, dram } = Demand::<C, TWO_LEVELS>::new(&core, own).memory(&core);
        assert_eq!((sram, dram), (16 * 128 + 4 * (8 + 80 + 2 + 32) + 4 * 8 + 2 * 80, 0));
        cache
    }
    for (left, bytes) in [(None, 16_384), (Some(16_384), 16_384), (Some(10_000), 10_000)] {
        assert_eq!(cache::<Cmt, false>(&small_cache::<crate::Dftl>(), left), bytes);
        assert_eq!(cache::<Nodes, false>(&small_cache::<crate::Tpftl>(), left), bytes);
        assert_eq!(cache::<Cmt, true>(&small_cache::<crate::Cdftl>(), left), bytes);
    }
    let sftl = |left| cache::<Cmt<SftlParams>, true>(&small_cache::<crate::Sftl>(), left);
    assert_eq!(sftl(None), 214 * 8 + 14_670 + 4096);
    // Of 12,288 bytes.
    assert_eq!(sftl(Some(16_384)), 163 * 8 + 10_980 + 4096);
}

/// A read of `sftl` is served by the page.
#[test]
fn what_was_loaded_becomes_a_single_entry_also_where_its_page_is_cached() {
    fn becomes_single<C: EntryCache, const TWO_LEVELS: bool>(own: &C::Own, purpose: LoadedFor) -> bool {
        let mut core = core();
        let mut map = Demand::<C, TWO_LEVELS>::with_cache(&core, own, 12 * 1024);
        let (lpa, unit) = (Lpa(5), MapUnit(0));
        match purpose {
            LoadedFor::Write => assert_eq!(map.admit(&mut core, lpa), Admission::Load(unit)),
            _ => assert_eq!(map.resolve(&mut core, lpa, HostSays::Nothing), Resolved::Load(unit)),
        }
        assert_eq!(map.resolve_loaded(&mut core, &Loaded::assumed(unit), lpa, purpose), Some(Ppa(5)));
        assert!(map.ctp.holds(unit));
        map.cmt.is_cached(lpa)
    }
    let both = [LoadedFor::Read, LoadedFor::Write];
    assert_eq!(
        both.map(|purpose| becomes_single::<Cmt, true>(&small::params::<crate::Cdftl>(), purpose)),
        [true, true]
    );
    assert_eq!(
        both.map(|purpose| becomes_single::<Cmt<SftlParams>, true>(&small::params::<crate::Sftl>(), purpose)),
        [false, true]
    );
}

/// 16 entries above a page.
#[test]
fn a_changed_entry_leaves_into_its_cached_page_without_a_write() {
    let mut core = core();
    let mut map = Cdftl::with_cache(&core, &small::params::<crate::Cdftl>(), 4096 + 8 * 16);
    for lpa in 5..21 {
        read(&mut map, &mut core, lpa);
        map.cmt.set(Lpa(lpa), Some(Ppa(4000 + lpa)));
    }
    assert_eq!(read(&mut map, &mut core, 30), at(30));
    assert!(!map.cmt.is_cached(Lpa(5)) && !map.wants_flush(&core));
    assert_eq!(map.ctp.changed_in(MapUnit(0)).collect::<Vec<_>>(), [Lpa(5)]);
    assert_eq!(map.in_cache(&core, Lpa(5)), Some(Some(Ppa(4005))));
}

/// 4116 bytes for pages: 12 more than a page without runs, where a change may need 16. And 16 entries.
#[test]
fn a_changed_entry_whose_page_may_not_grow_waits_for_a_write() {
    let mut core = core();
    tear(&mut core, MapUnit(0));
    let mut map = Sftl::with_cache(&core, &SftlParams { buffer_percent: 2, ..SftlParams::default() }, 4116 + 8 * 16);
    assert!(map.ctp.insert(&core, &Loaded::assumed(MapUnit(0))));
    for lpa in (5..21).map(Lpa) {
        map.cmt.insert(lpa, None);
        map.cmt.set(lpa, Some(Ppa(4000)));
    }
    assert_eq!(map.admit(&mut core, Lpa(30)), Admission::NoRoom);
    assert_eq!((map.wanted.evict, map.ctp.is_changed()), (Some(MapUnit(0)), false));
}

/// A request of twelve pages misses once for each translation page, and a cache of single entries twelve times.
#[test]
fn a_request_misses_once_in_each_translation_page() {
    let mut core = core();
    let mut map = Tpftl::with_cache(&core, &TpftlParams::default(), 2048);
    map.request(LpaRun { lpa: Lpa(506), len: 12 });
    assert_eq!(read(&mut map, &mut core, 506), Resolved::Load(MapUnit(0)));
    (507..512).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), at(lpa)));
    assert_eq!(read(&mut map, &mut core, 512), Resolved::Load(MapUnit(1)));
    (513..518).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), at(lpa)));
    let counters = map.counters;
    assert_eq!((counters.cmt_read_misses, counters.cmt_read_hits, counters.cmt_prefetched), (2, 10, 10));
    assert_eq!(read(&mut map, &mut core, 518), Resolved::Load(MapUnit(1)), "it was not asked for");
}

/// Two translation pages have changed; the colder one is written as a whole, and its entries leave one by one.
#[test]
fn a_written_page_gives_clean_victims() {
    let mut core = core();
    let own = TpftlParams { request_prefetch: false, selective_prefetch: false, ..TpftlParams::default() };
    let mut map = Tpftl::with_cache(&core, &own, 6 * 20 + 5 * 8);
    for lpa in [0, 1, 2, 3, 600, 601, 602, 603] {
        read(&mut map, &mut core, lpa);
        map.cmt.set(Lpa(lpa), Some(Ppa(lpa)));
    }
    let mut next = 604..;
    while map.cmt.room() > 0 {
        let lpa = next.next().unwrap();
        read(&mut map, &mut core, lpa);
        map.cmt.set(Lpa(lpa), Some(Ppa(lpa)));
    }
    assert_eq!(read(&mut map, &mut core, 700), Resolved::NoRoom);
    assert_eq!(map.wanted.evict, Some(MapUnit(0)));
    (0..4).for_each(|lpa| map.cmt.clean(Lpa(lpa)));
    map.wanted = Wanted::default();
    for lpa in 700..704 {
        assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(MapUnit(1)));
    }
    assert!(!map.wants_flush(&core));
    assert!((0..4).all(|lpa| !map.cmt.is_cached(Lpa(lpa))));
}

/// 8 KiB: 7371 bytes of pages, where each takes 80 bytes as long as its places follow each other.
#[test]
fn a_compressed_page_serves_reads_of_all_its_addresses() {
    let mut core = core();
    let mut map = Sftl::with_cache(&core, &SftlParams::default(), 8 * 1024);
    for page in 0..8 {
        assert_eq!(read(&mut map, &mut core, 512 * page), Resolved::Load(MapUnit(page)));
    }
    (0..4096).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), at(lpa)));
    assert_eq!((map.counters.cmt_read_misses, map.counters.cmt_read_hits), (8, 4096));
    assert_eq!(map.cmt.len(), 0, "no entry of its own for what is only read");
}

/// There is no room for two pages without runs, and the page to be read may be one. Eight changes are few, and no more
/// than a quarter of the buffer, which has 768 entries or 21.
#[test]
fn a_page_with_few_changes_leaves_them_behind_and_is_not_written() {
    let (large, small) = ((50, 12, 100), (1, 8, 21));
    for ((buffer_percent, kib, room), changes, written) in
        [(large, 8, false), (large, 9, true), (small, 5, false), (small, 6, true)]
    {
        let mut core = core();
        let own = SftlParams { buffer_percent, ..SftlParams::default() };
        let mut map = Sftl::with_cache(&core, &own, kib * 1024);
        read(&mut map, &mut core, 0);
        for lpa in (3..3 + changes).map(Lpa) {
            map.ctp.set(&core, lpa, Some(Ppa(100)));
        }
        while map.cmt.room() > room {
            let lpa = Lpa(1024 + map.cmt.len() as u32);
            map.cmt.insert(lpa, None);
            map.cmt.pin(lpa);
        }
        tear(&mut core, MapUnit(5));
        assert!(map.ctp.insert(&core, &Loaded::assumed(MapUnit(5))));
        let answer = read(&mut map, &mut core, 512);
        let (noted, unit) = (map.wanted.evict, MapUnit(0));
        assert_eq!((answer == Resolved::NoRoom, noted == Some(unit)), (written, written), "{changes} {room}");
        let dirty = if written { 0 } else { u64::from(changes) };
        assert_eq!((map.counters.cmt_entries_left, map.cmt.dirty_in(unit).count() as u64), (dirty, dirty));
    }
}

/// A write takes an entry of the buffer while it is under way, and the cached page has the change after it.
#[test]
fn when_a_write_ends_its_entry_goes_into_the_cached_page() {
    for (held, kept) in [(true, 0), (false, 1)] {
        let mut core = core();
        let mut map = Sftl::with_cache(&core, &SftlParams::default(), 12 * 1024);
        read(&mut map, &mut core, 0);
        assert!(matches!(map.admit(&mut core, Lpa(7)), Admission::Ready));
        assert_eq!(map.cmt.len(), 1);
        if !held {
            map.ctp.remove(MapUnit(0));
        }
        map.valid.add(core.superblock_of(Ppa(7)));
        let (ppa, seq) = (Ppa(4096), core.take_seq_in_test(1));
        map.committed(&mut core, Commit { lpa: Lpa(7), ppa, seq, source: None, newest: true, overtaken: false });
        assert_eq!((map.cmt.len(), map.ctp.changed_in(MapUnit(0)).count()), (kept, 1 - kept as usize));
        assert_eq!(map.in_cache(&core, Lpa(7)), Some(Some(ppa)));
    }
}

/// The first write of a translation page makes the page: reads of the others find that they are unmapped.
#[test]
fn a_page_that_was_never_written_is_cached_with_its_first_write() {
    let mut core = core_with(7);
    let mut map = Sftl::with_cache(&core, &SftlParams::default(), 12 * 1024);
    assert!(matches!(map.admit(&mut core, Lpa(3584)), Admission::Ready));
    assert_eq!((map.ctp.holds(MapUnit(7)), map.counters.cmt_unwritten_misses), (true, 1));
    assert!(matches!(map.admit(&mut core, Lpa(3585)), Admission::Ready));
    assert_eq!((map.counters.cmt_write_misses, map.counters.cmt_write_hits), (1, 1));
    assert!(map.loading_pages.is_empty());
}
