//! Decisions of the schemes, without a device around them.

use super::*;
use crate::mapping::small;

/// 4096 addresses, 512 in a translation page.
fn core() -> Core {
    let cfg = small::config();
    let units = Dftl::map_units(&cfg, &small::params().Dftl);
    let mut core = Core::in_test(cfg, units);
    let meta = core.layout().first_ppa(Superblock(80));
    for unit in (0..8).map(SegmentId) {
        let piece = core.meta().segment_piece(unit);
        core.meta_in_test().moved(piece, meta.offset(unit.0));
    }
    for lpa in (0..4096).map(Lpa) {
        core.meta_in_test().pages_mut().assume_entry(lpa, Some(Ppa(lpa.0)));
    }
    core
}

/// Looks an address up as a read does, and loads its translation page if that is needed. Gives the first answer.
fn read<const TWO_LEVELS: bool>(map: &mut Demand<TWO_LEVELS>, core: &mut Core, lpa: u32) -> Resolved {
    let answer = map.resolve(core, Lpa(lpa), HostSays::Nothing);
    if let Resolved::Load(_) = answer {
        let loaded = Loaded::assumed(core.units().of(Lpa(lpa)));
        assert_eq!(map.resolve_loaded(core, &loaded, Lpa(lpa), LoadedFor::Read), Some(Ppa(lpa)));
    }
    answer
}

fn at(lpa: u32) -> Resolved {
    Resolved::Page { ppa: Ppa(lpa), from_host: false }
}

#[test]
fn every_page_of_a_translation_page_misses_by_itself() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params().Dftl, 8 * 64);
    for lpa in [5, 6, 700] {
        assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(SegmentId(lpa / 512)));
        assert_eq!(read(&mut map, &mut core, lpa), at(lpa));
    }
    assert_eq!((map.counters.cmt_read_misses, map.counters.cmt_read_hits), (3, 3));
    assert_eq!(map.in_caches(&core).collect::<Vec<_>>(), [Lpa(5), Lpa(6), Lpa(700)]);
}

#[test]
fn a_page_cache_below_makes_neighbours_hit() {
    // 8 KiB: a translation page, and 512 entries.
    let mut core = core();
    let mut map = Cdftl::with_cache(&core, &small::params().Dftl, 8 * 1024);
    assert_eq!(read(&mut map, &mut core, 5), Resolved::Load(SegmentId(0)));
    assert_eq!(read(&mut map, &mut core, 6), at(6));
    assert_eq!(map.in_caches(&core).count(), 512);
    assert_eq!(read(&mut map, &mut core, 700), Resolved::Load(SegmentId(1)));
    assert_eq!(read(&mut map, &mut core, 6), at(6));
    assert_eq!(read(&mut map, &mut core, 7), Resolved::Load(SegmentId(0)), "its page has left");
    assert_eq!((map.counters.cmt_read_misses, map.counters.cmt_read_hits), (3, 2));
}

#[test]
fn what_was_announced_comes_with_the_first_miss_of_its_page() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params().Dftl, 8 * 64);
    map.load_ahead(&core, [3, 4, 9, 600].map(Lpa));
    assert_eq!(read(&mut map, &mut core, 4), Resolved::Load(SegmentId(0)));
    assert_eq!(map.in_caches(&core).collect::<Vec<_>>(), [Lpa(3), Lpa(4), Lpa(9)]);
    assert_eq!(read(&mut map, &mut core, 9), at(9));
    assert_eq!(read(&mut map, &mut core, 600), Resolved::Load(SegmentId(1)));
    assert_eq!(read(&mut map, &mut core, 10), Resolved::Load(SegmentId(0)), "nobody announced it");
}

#[test]
fn a_full_cache_drops_what_is_clean_and_asks_for_a_flush_of_what_is_not() {
    let mut core = core();
    let mut map = Dftl::with_cache(&core, &small::params().Dftl, 8 * 16);
    (0..20).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(SegmentId(0))));
    assert_eq!(map.in_caches(&core).map(|lpa| lpa.0).collect::<Vec<_>>(), (4..20).collect::<Vec<_>>());
    (4..20).for_each(|lpa| {
        map.cmt.set(Lpa(lpa), Some(Ppa(lpa)));
    });
    assert_eq!(read(&mut map, &mut core, 1000), Resolved::NoRoom);
    assert!(map.wants_flush(&core));
    assert_eq!(map.wanted.evict, Some(SegmentId(0)));
    assert_eq!(read(&mut map, &mut core, 1000), Resolved::NoRoom);
    assert_eq!(map.counters.cmt_read_misses, 21, "asked twice, missed once");
}
