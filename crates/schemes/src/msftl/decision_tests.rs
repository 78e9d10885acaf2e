//! Decisions of the schemes without a device around them, with `mini-page`: four translation pages of 1024 entries.

use nand::Geometry;
use params::CountOr;

use super::rounds::{InRounds, Load, Phase};
use super::*;
use crate::small;
use ftl::LogConfig;
use ftl::seat::{Owner, Piece, Programmed};

type Map = MiniPage;

const OWN: MiniPageParams = MiniPageParams { flush_mib: 1, gc_mib: 2, directory_mib: CountOr::Word("block") };

/// Rows of 8 units, and log room for 128 entries.
fn config() -> EngineConfig {
    let cfg = small::config();
    let geometry = Geometry { planes: 2, units_per_page: 4, ..cfg.geometry };
    EngineConfig { geometry, log: LogConfig { entries: 128, ..cfg.log }, ..cfg }
}

fn device(cfg: EngineConfig) -> (Core, Map) {
    let units = Map::map_units(&cfg, &OWN);
    let core = Core::in_test(cfg, units);
    let map = Map::new(&core, &OWN);
    (core, map)
}

/// Puts a translation page with these entries on flash.
fn put_page(core: &mut Core, unit: MapUnit, entries: &[(u32, u32)]) {
    let place = core.layout().first_ppa(Superblock(83)).offset(unit.0);
    let programmed = Programmed::in_test(Piece::of(unit), place);
    core.segment_written(&programmed, Seq(0));
    entries.iter().for_each(|&(lpa, ppa)| core.set_entry(&programmed, Lpa(lpa), Some(Ppa(ppa))));
    core.meta_in_test().moved(Piece::of(unit), place);
}

/// The host's write of an address is on flash.
fn write(core: &mut Core, map: &mut Map, lpa: u32, ppa: u32) {
    commit(core, map, (lpa, ppa), None);
}

/// A unit from the host, or copied by GC from a superblock, is on flash.
fn commit(core: &mut Core, map: &mut Map, (lpa, ppa): (u32, u32), source: Option<Superblock>) {
    let (lpa, ppa, seq) = (Lpa(lpa), Ppa(ppa), core.take_seq_in_test(1));
    map.placed(core.superblock_of(ppa), 1);
    map.committed(core, Commit { lpa, ppa, seq, source, newest: true, overtaken: false });
}

#[test]
fn what_is_in_sram_or_was_never_written_is_cached() {
    let (mut core, mut map) = device(config());
    [1, 2].iter().for_each(|&unit| put_page(&mut core, MapUnit(unit), &[]));
    core.keep_segment(&Loaded::assumed(MapUnit(2)));
    write(&mut core, &mut map, 1030, 0);
    let cached = [(0, true), (1029, false), (1030, true), (1031, false), (2048, true), (3072, true)];
    for (lpa, cached) in cached {
        assert_eq!(map.cached(&core, Lpa(lpa)), cached, "{lpa}");
    }
    let run = |lpa, len| LpaRun { lpa: Lpa(lpa), len };
    let mut runs = Vec::new();
    map.cached_runs(&core, &mut runs);
    assert_eq!(runs, [run(2048, 1024), run(1030, 1)]);
    assert_eq!(map.batch(&mut core, &[run(1030, 1), run(1031, 1)], false), Some(MapUnit(1)));
    assert_eq!(map.batch(&mut core, &[run(1030, 1)], false), None, "it is in the mapping cache");
    assert_eq!(map.batch(&mut core, &[run(1031, 1)], true), None, "writes need no translation page");
}

/// The mapping cache has room for 256 units of the host, 512 copies, eight rows of 8 units, and two trims.
const CACHE: usize = 256 + 512 + 64 + 64;

fn with_room() -> (Core, Map) {
    let cfg = config();
    let entries = Map::log_entries(&cfg, &OWN);
    assert_eq!(usize::from(entries), CACHE);
    device(EngineConfig { log: LogConfig { entries, ..cfg.log }, ..cfg })
}

/// 1 MiB, 256 units.
#[test]
fn programs_stop_at_the_data_of_a_flush() {
    let (mut core, mut map) = with_room();
    assert_eq!(map.room(&core), CACHE);
    (0..255).for_each(|i| write(&mut core, &mut map, 2 * i, i));
    assert_eq!((map.room(&core), map.wants_flush(&core)), (CACHE - 255, false));
    write(&mut core, &mut map, 2 * 255, 255);
    assert_eq!((map.room(&core), map.wants_flush(&core)), (0, true));
}

/// MSFTL Sec. 4.1: the flush goes "along with the user writes". Copies take room in the cache and nothing else.
#[test]
fn copies_bring_no_flush_nearer_until_the_mapping_cache_is_full() {
    let (mut core, mut map) = with_room();
    (0..100).for_each(|i| write(&mut core, &mut map, 2 * i, i));
    (100..800).for_each(|i| commit(&mut core, &mut map, (2 * i, i), Some(Superblock(70))));
    assert_eq!((map.room(&core), map.wants_flush(&core)), (CACHE - 800, false));
    // What is left is for two rows under way and a trim.
    (800..848).for_each(|i| commit(&mut core, &mut map, (2 * i, i), Some(Superblock(70))));
    assert!(core.log().room() == 48 && !map.wants_flush(&core));
    commit(&mut core, &mut map, (2 * 848, 848), Some(Superblock(70)));
    assert!(map.wants_flush(&core), "all that is cached is evicted");
    map.begin(&mut core);
    assert_eq!(map.counters(&core).pmt_early_flushes, 1);
}

/// Of the rows under way only those of the host count.
#[test]
fn a_flush_is_early_if_the_hosts_data_is_not_complete() {
    for (units, early) in [(255, 1), (256, 0)] {
        let (mut core, mut map) = with_room();
        (0..units).for_each(|i| write(&mut core, &mut map, 2 * i, i));
        commit(&mut core, &mut map, (2 * units, units), Some(Superblock(70)));
        map.begin(&mut core);
        assert_eq!(map.counters(&core).pmt_early_flushes, early, "after {units} units");
    }
}

/// A trim may take 32 entries, and two rows may be under way.
#[test]
fn a_crowded_mapping_cache_is_flushed_before_its_data_is_complete() {
    let (mut core, mut map) = device(config());
    (0..80).for_each(|i| write(&mut core, &mut map, 2 * i, i));
    assert!(core.log().room() == 32 + 2 * 8 && !map.wants_flush(&core));
    write(&mut core, &mut map, 2 * 80, 80);
    assert!(map.wants_flush(&core));
}

#[test]
fn gc_that_finds_no_victim_has_the_mapping_cache_flushed() {
    let (mut core, mut map) = with_room();
    write(&mut core, &mut map, 0, 0);
    map.starved(&mut core);
    assert!(!map.wants_flush(&core), "a flush would free nothing");
    assert!(map.victim(&mut core, None).is_none());
    map.starved(&mut core);
    assert!(map.wants_flush(&core));
}

/// Of eight log blocks, the last is left to GC.
#[test]
fn the_limit_of_log_blocks_asks_for_a_flush() {
    let (mut core, mut map) = device(config());
    (0..6).for_each(|sb| map.placed(Superblock(sb), 1));
    assert!(map.may_open(&mut core, Stream::Host) && !map.wants_flush(&core));
    map.placed(Superblock(6), 1);
    assert!(!map.may_open(&mut core, Stream::Host) && map.wants_flush(&core));
}

#[test]
fn a_page_is_copied_only_if_the_mapping_names_it() {
    let (mut core, mut map) = device(config());
    put_page(&mut core, MapUnit(0), &[(0, 5)]);
    assert!(map.still_valid(&core, Lpa(0), Ppa(5)));
    assert!(!map.still_valid(&core, Lpa(0), Ppa(6)));
    write(&mut core, &mut map, 0, 600);
    assert!(!map.still_valid(&core, Lpa(0), Ppa(5)), "the host has overwritten it");
}

/// There is one buffer, so a round has one translation page. The first round opens a translation block.
#[test]
fn a_flush_that_has_begun_pauses_when_two_translation_blocks_are_free() {
    for (blocks, pauses) in [(4, false), (3, true), (2, true)] {
        let cfg = config();
        let geometry = Geometry { meta_superblocks: blocks, ..cfg.geometry };
        let (mut core, mut map) = device(EngineConfig { geometry, ..cfg });
        let others = core.buffers_available(Owner::Gc) - 1;
        assert!(core.take_buffers(Owner::Gc, others));
        write(&mut core, &mut map, 0, 0);
        write(&mut core, &mut map, 1024, 1);
        map.begin(&mut core);
        assert_eq!(map.load(&mut core), Load::InSram, "one that has written nothing goes on with {blocks}");
        assert!(map.program(&mut core));
        map.written(&mut core);
        assert_eq!(map.load(&mut core), if pauses { Load::Ended } else { Load::InSram }, "{blocks}");
        // The change that is on flash leaves the mapping cache, and the other one waits for the next flush.
        assert_eq!((core.log().get(Lpa(0)).is_none(), map.wants_flush(&core)), (pauses, pauses));
        assert!(core.log().get(Lpa(1024)).is_some());
    }
}

#[test]
fn after_a_power_cut_a_page_has_its_changes_if_its_program_survived() {
    for (step, survives) in [(Phase::Written, true), (Phase::Written, false), (Phase::Apply, false)] {
        let (mut core, mut map) = device(config());
        put_page(&mut core, MapUnit(0), &[(7, 1)]);
        core.keep_segment(&Loaded::assumed(MapUnit(0)));
        map.unflushed.valid.add(Superblock(0));
        write(&mut core, &mut map, 7, 600);
        map.begin(&mut core);
        assert_eq!(map.load(&mut core), Load::InSram);
        if step == Phase::Written {
            assert!(map.program(&mut core));
        }
        *map.phase() = step;
        let mut survived = ProgrammedSet::default();
        if survives {
            survived.add(Programmed::in_test(Piece::of(MapUnit(0)), core.layout().first_ppa(Superblock(82))));
        }
        map.on_power_loss(&mut core, &survived);
        let expected = if survives { (Some(Ppa(600)), Seq(1)) } else { (Some(Ppa(1)), Seq(0)) };
        assert_eq!(core.inspect(Lpa(7)), expected);
    }
}
