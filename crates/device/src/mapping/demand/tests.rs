//! Decisions of the schemes, without a device around them.

use nand::{CellTiming, Faults, FreeWork, Geometry, Timing};
use units::Nanos;

use super::*;
use crate::config::{GcConfig, GcPace, HpbConfig, LogConfig, MsftlConfig, SramConfig};

/// 4096 addresses, 512 in a translation page; `entries` fit the SRAM.
fn core(entries: u64) -> Core {
    let us = Nanos::from_micros;
    let cell = CellTiming { read: us(35), program: us(350), erase: us(3000) };
    let cfg = DeviceConfig {
        geometry: Geometry {
            channels: 1,
            dies_per_channel: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 64,
            data_superblocks: 80,
            meta_superblocks: 4,
        },
        timing: Timing { slc: cell, tlc: cell, channel_bytes_per_us: 0, page_register: false, free: FreeWork::Nothing },
        capacity_units: 4096,
        command_cost: Nanos(0),
        idle_flush: us(100),
        write_through: true,
        sram: SramConfig { pool: 32, segment_cache: 1, reserve: 12, entries: false },
        map_segment_bytes: 4096,
        cmt: CmtConfig { cache_bytes: 8 * entries, entry_bytes: 8, background: None },
        msftl: MsftlConfig { page_bytes: 4096, segment_bytes: 1024, flush_units: 256 },
        log: LogConfig { entries: 128, flush_above: 96, handover_above: 64, gc_pause_at: 64, max_log_blocks: 8 },
        gc: GcConfig { pace: GcPace::Searched, start: 8, relaxed: 6, hurried: 4, reserve: 2, units_per_step: 64 },
        wear_spread: 64,
        hpb: HpbConfig {
            group_entries: 1024,
            tracked_groups: 0,
            pending_entries: 1,
            seal_cost: Nanos(0),
            region_groups: 1,
            max_blocks: 128,
            recommend_after: None,
            max_active_regions: 1,
            key: [0, 0],
        },
        faults: Faults::default(),
        sabotage: None,
    };
    let units = Dftl::map_units(&cfg);
    let mut core = Core::new(cfg, units);
    let meta = core.layout.first_ppa(Superblock(80));
    for unit in (0..8).map(SegmentId) {
        core.meta.moved(core.meta.segment_piece(unit), meta.offset(unit.0));
    }
    for lpa in (0..4096).map(Lpa) {
        core.meta.pages.set_entry(lpa, Some(Ppa(lpa.0)));
    }
    core
}

/// Looks an address up as a read does, with its load; what it says before that.
fn read<const TWO_LEVELS: bool>(map: &mut Demand<TWO_LEVELS>, core: &mut Core, lpa: u32) -> Resolved {
    let said = map.resolve(core, Lpa(lpa), HostSays::Nothing);
    if let Resolved::Load(_) = said {
        assert_eq!(map.resolve_loaded(core, Lpa(lpa)), Some(Ppa(lpa)));
    }
    said
}

fn at(lpa: u32) -> Resolved {
    Resolved::Page { ppa: Ppa(lpa), from_host: false }
}

#[test]
fn every_page_of_a_translation_page_misses_by_itself() {
    let mut core = core(64);
    let mut map = Dftl::new(&core);
    for lpa in [5, 6, 700] {
        assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(SegmentId(lpa / 512)));
        assert_eq!(read(&mut map, &mut core, lpa), at(lpa));
    }
    assert_eq!((core.stats.cmt_read_misses, core.stats.cmt_read_hits), (3, 3));
    assert_eq!(map.in_caches(&core).collect::<Vec<_>>(), [Lpa(5), Lpa(6), Lpa(700)]);
}

#[test]
fn a_page_cache_below_makes_neighbours_hit() {
    // 8 KiB: a translation page, and 512 entries.
    let mut core = core(1024);
    let mut map = Cdftl::new(&core);
    assert_eq!(read(&mut map, &mut core, 5), Resolved::Load(SegmentId(0)));
    assert_eq!(read(&mut map, &mut core, 6), at(6));
    assert_eq!(map.in_caches(&core).count(), 512);
    assert_eq!(read(&mut map, &mut core, 700), Resolved::Load(SegmentId(1)));
    assert_eq!(read(&mut map, &mut core, 6), at(6));
    assert_eq!(read(&mut map, &mut core, 7), Resolved::Load(SegmentId(0)), "its page has left");
    assert_eq!((core.stats.cmt_read_misses, core.stats.cmt_read_hits), (3, 2));
}

#[test]
fn what_was_announced_comes_with_the_first_miss_of_its_page() {
    let mut core = core(64);
    let mut map = Dftl::new(&core);
    map.prefetch(&core, [3, 4, 9, 600].map(Lpa));
    assert_eq!(read(&mut map, &mut core, 4), Resolved::Load(SegmentId(0)));
    assert_eq!(map.in_caches(&core).collect::<Vec<_>>(), [Lpa(3), Lpa(4), Lpa(9)]);
    assert_eq!(read(&mut map, &mut core, 9), at(9));
    assert_eq!(read(&mut map, &mut core, 600), Resolved::Load(SegmentId(1)));
    assert_eq!(read(&mut map, &mut core, 10), Resolved::Load(SegmentId(0)), "nobody announced it");
}

#[test]
fn a_full_cache_drops_what_is_clean_and_asks_for_a_flush_of_what_is_not() {
    let mut core = core(16);
    let mut map = Dftl::new(&core);
    (0..20).for_each(|lpa| assert_eq!(read(&mut map, &mut core, lpa), Resolved::Load(SegmentId(0))));
    assert_eq!(map.in_caches(&core).map(|lpa| lpa.0).collect::<Vec<_>>(), (4..20).collect::<Vec<_>>());
    (4..20).for_each(|lpa| {
        map.cmt.set(Lpa(lpa), Some(Ppa(lpa)));
    });
    assert_eq!(read(&mut map, &mut core, 1000), Resolved::NoRoom);
    assert!(map.wants_flush(&core));
    assert_eq!(map.wanted.evict, Some(SegmentId(0)));
    assert_eq!(read(&mut map, &mut core, 1000), Resolved::NoRoom);
    assert_eq!(core.stats.cmt_read_misses, 21, "asked twice, missed once");
}
