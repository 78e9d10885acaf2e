//! What the scheme declares, and its decisions without a device around them.

use nand::Geometry;
use units::Nanos;

use super::declared::{HpbControl, HpbEntry};
use super::updates::{Order, Update, order};
use super::*;
use crate::small;
use ftl::seat::State;
use ftl::testing::{self, Bench, ROW, UNITS};
use ftl::{LogConfig, SramConfig};
use ufs::{DataOut, Op};

fn params() -> SegmentLogParams {
    small::params::<crate::SegmentLog>()
}

/// 4096 addresses in four segments, superblocks of 64 units.
fn device(cfg: EngineConfig) -> (Core, SegmentLog) {
    let units = SegmentLog::map_units(&cfg, &params());
    let core = Core::in_test(cfg, units);
    let map = SegmentLog::new(&core, &params());
    (core, map)
}

/// Puts a segment with these entries on flash and into the segment cache.
fn put_segment(core: &mut Core, unit: MapUnit, entries: &[(u32, u32)]) {
    let place = core.layout().first_ppa(Superblock(83)).offset(unit.0);
    let programmed = Programmed::in_test(Piece::of(unit), place);
    core.segment_written(&programmed, Seq(0));
    entries.iter().for_each(|&(lpa, ppa)| core.set_entry(&programmed, Lpa(lpa), Some(Ppa(ppa))));
    core.meta_in_test().moved(Piece::of(unit), place);
    core.keep_segment(&Loaded::assumed(unit));
}

/// The host's write of an address is on flash.
fn write(core: &mut Core, map: &mut SegmentLog, lpa: u32, ppa: u32) {
    let (lpa, ppa, seq) = (Lpa(lpa), Ppa(ppa), core.take_seq_in_test(1));
    map.placed(core.superblock_of(ppa), 1);
    map.committed(core, Commit { lpa, ppa, seq, source: None, newest: true, overtaken: false });
}

/// The device with a parameter of its own.
fn device_with(own: SegmentLogParams) -> (Core, SegmentLog) {
    let cfg = small::config();
    let core = Core::in_test(cfg.clone(), SegmentLog::map_units(&cfg, &own));
    let map = SegmentLog::new(&core, &own);
    (core, map)
}

/// A change with this number is on flash. Others may have been committed before.
fn commit(core: &mut Core, map: &mut SegmentLog, seq: u64, (lpa, ppa): (u32, u32), source: Option<u32>) {
    map.placed(core.superblock_of(Ppa(ppa)), 1);
    let source = source.map(Superblock);
    let unit = Commit { lpa: Lpa(lpa), ppa: Ppa(ppa), seq: Seq(seq), source, newest: true, overtaken: false };
    map.committed(core, unit);
}

fn flushed(map: &SegmentLog) -> Vec<(u32, Option<u32>)> {
    map.updates.sorted.iter().map(|update| (update.lpa.0, update.ppa.map(|ppa| ppa.0))).collect()
}

#[test]
fn a_flush_takes_map_units_in_the_order_of_the_log_or_of_addresses() {
    for (flush_order, expected) in [(Order::Log, [2100, 2101, 7, 1024]), (Order::Address, [7, 1024, 2100, 2101])] {
        let (mut core, mut map) = device_with(SegmentLogParams { flush_order, ..params() });
        [2101, 7, 2100, 1024].iter().zip(0..).for_each(|(&lpa, ppa)| write(&mut core, &mut map, lpa, ppa));
        map.sort_log(&core, core.logged_up_to());
        assert_eq!(flushed(&map).iter().map(|(lpa, _)| *lpa).collect::<Vec<_>>(), expected, "{flush_order:?}");
    }
}

/// Changes 1 to 4 are up to the cut. 5 is in flight, 6 and 7 have finished before it.
#[test]
fn a_flush_beside_commands_takes_the_table_as_it_was_at_the_cut() {
    let (mut core, mut map) = device_with(SegmentLogParams { flush_mode: Mode::Background, ..params() });
    commit(&mut core, &mut map, 1, (9, 0), None);
    commit(&mut core, &mut map, 2, (9, 1), None);
    commit(&mut core, &mut map, 4, (30, 2), Some(70));
    commit(&mut core, &mut map, 6, (9, 3), None);
    commit(&mut core, &mut map, 7, (30, 4), None);
    map.sort_log(&core, Seq(4));
    assert_eq!(flushed(&map), [(9, Some(1)), (30, Some(2))], "not 6 and 7, which have taken their place in the index");
    assert_eq!(map.updates.sorted[1].source, Some(Superblock(70)), "whether the copy holds is still to be seen");
    // A trim after the cut may be lost, and then what it took away has to come back.
    map.trimmed(&mut core, Lpa(40), 1, Seq(9));
    commit(&mut core, &mut map, 3, (40, 5), None);
    map.sort_log(&core, Seq(4));
    assert_eq!(flushed(&map), [(9, Some(1)), (30, Some(2)), (40, Some(5))]);
    map.finish(&mut core);
    assert_eq!(core.log().entries().map(|entry| entry.seq.0).collect::<Vec<_>>(), [6, 7, 9]);
}

/// Changes 2 and 4 are copies by GC. 5, which the host has written, is after the cut.
#[test]
fn a_copy_up_to_the_cut_that_the_host_has_overtaken_does_not_hold() {
    let (mut core, mut map) = device_with(SegmentLogParams { flush_mode: Mode::Background, ..params() });
    commit(&mut core, &mut map, 1, (9, 0), None);
    commit(&mut core, &mut map, 2, (9, 130), Some(70));
    commit(&mut core, &mut map, 3, (30, 1), None);
    commit(&mut core, &mut map, 5, (9, 200), None);
    commit(&mut core, &mut map, 6, (30, 201), None);
    commit(&mut core, &mut map, 4, (30, 131), Some(70));
    map.sort_log(&core, Seq(4));
    assert_eq!(flushed(&map), [(9, Some(0)), (30, Some(1))]);
}

/// Superblock 0 is written up to the cut, 1 partly after it.
#[test]
fn a_superblock_stays_a_log_block_until_the_flush_of_its_last_change_ends() {
    let (mut core, mut map) = device_with(SegmentLogParams { flush_mode: Mode::Background, ..params() });
    commit(&mut core, &mut map, 1, (9, 0), None);
    commit(&mut core, &mut map, 2, (8, 64), None);
    commit(&mut core, &mut map, 3, (7, 65), None);
    let blocks = |map: &SegmentLog, core: &Core| map.log_blocks(core).iter().map(|sb| sb.0).collect::<Vec<_>>();
    map.sort_log(&core, Seq(2));
    assert_eq!(blocks(&map, &core), [0, 1]);
    map.finish(&mut core);
    assert_eq!(blocks(&map, &core), [1]);
    map.sort_log(&core, Seq(3));
    map.finish(&mut core);
    assert_eq!(blocks(&map, &core), []);
}

/// "rounds" and "pipelined" wait until no program is in flight. Only "rounds" has no pipeline.
#[test]
fn a_flush_proceeds_in_the_mode_of_the_profile() {
    let modes = [
        (Mode::Rounds, false, Phase::Written),
        (Mode::Pipelined, false, Phase::Pipeline),
        (Mode::Background, true, Phase::Pipeline),
    ];
    for (flush_mode, beside, phase) in modes {
        for in_flight in [false, true] {
            let (mut core, mut map) = device_with(SegmentLogParams { flush_mode, ..params() });
            write(&mut core, &mut map, 5, 0);
            if in_flight {
                core.program_beside(&[Piece(3)]);
            }
            assert!(!map.flush(&mut core), "it has to wait for some program");
            let begins = beside || !in_flight;
            assert_eq!(map.phase, if begins { phase } else { Phase::Start }, "{flush_mode:?}, in flight: {in_flight}");
            assert_eq!((map.beside_commands(), map.pipeline.is_empty()), (beside, map.phase != Phase::Pipeline));
        }
    }
}

/// Four segments that were never written, in rows of one unit and two buffers: each is programmed as soon as a buffer
/// is free, and the third enters when the first is on flash.
#[test]
fn the_pipeline_holds_as_many_map_units_as_it_has_buffers() {
    let own = SegmentLogParams { flush_mode: Mode::Pipelined, flush_buffers: 2, ..params() };
    let (mut core, mut map) = device_with(own);
    [0, 1024, 2048, 3072].iter().zip(0..).for_each(|(&lpa, ppa)| write(&mut core, &mut map, lpa, ppa));
    assert!(!map.flush(&mut core));
    assert_eq!((map.done, core.buffers_available(Owner::Map)), (2, 32 - 2));
    let programs = |core: &Core| core.programs_in_flight();
    // The first program of metadata is the snapshot that a superblock begins with.
    let before = programs(&core);
    let place = core.layout().first_ppa(Superblock(82));
    map.unit_programmed(&mut core, &Programmed::in_test(Piece(0), place));
    assert_eq!(core.buffers_available(Owner::Map), 32 - 1);
    assert!(!map.flush(&mut core));
    assert_eq!((map.done, programs(&core) - before, core.buffers_available(Owner::Map)), (3, 1, 32 - 2));
    assert_eq!(core.inspect(Lpa(0)), (Some(Ppa(0)), Seq(4)), "complete up to the cut");
}

/// A victim that GC collects during a flush has lost its pages in SRAM alone, until the flush ends.
#[test]
fn what_is_collected_during_a_flush_is_erased_after_it() {
    let (mut core, mut map) = device_with(SegmentLogParams { flush_mode: Mode::Background, ..params() });
    let full = core.take_seq_in_test(64);
    assert_eq!(core.blocks_in_test().open_next(Stream::Gc), Some(Superblock(0)));
    core.blocks_in_test().place(Stream::Gc, 64, 64, full.plus(63));
    core.blocks_in_test().programmed(Superblock(0), 64);
    write(&mut core, &mut map, 5, 200);
    assert!(!map.flush(&mut core), "a segment is being programmed");
    map.collected(&mut core, Superblock(0));
    assert_eq!(core.blocks().state(Superblock(0)), State::Closed);
    let place = core.layout().first_ppa(Superblock(82));
    map.unit_programmed(&mut core, &Programmed::in_test(Piece(0), place));
    assert!(!map.flush(&mut core) && !map.gc_ready(&core), "bitmaps are being programmed");
    core.bitmaps_done_in_test();
    assert!(map.flush(&mut core) && map.gc_ready(&core));
    assert_eq!(core.blocks().state(Superblock(0)), State::Erasing);
}

#[test]
fn an_empty_victim_is_erased_at_once_if_no_flush_is_under_way() {
    let (mut core, mut map) = device(small::config());
    let full = core.take_seq_in_test(64);
    assert_eq!(core.blocks_in_test().open_next(Stream::Host), Some(Superblock(0)));
    core.blocks_in_test().place(Stream::Host, 64, 64, full.plus(63));
    core.blocks_in_test().programmed(Superblock(0), 64);
    map.collected(&mut core, Superblock(0));
    assert_eq!(core.blocks().state(Superblock(0)), State::Erasing);
}

#[test]
fn updates_are_sorted_by_rank_and_address() {
    let update = |(rank, lpa)| Update { rank, lpa: Lpa(lpa), ppa: None, source: None, holds: true };
    let unsorted = [(1, 9), (0, 5), (2, 7), (0, 3), (2, 8), (0, 4)].map(update);
    let mut sorted = Vec::new();
    order(&unsorted, &mut [3, 1, 2], &mut sorted);
    let found: Vec<_> = sorted.iter().map(|update| (update.rank, update.lpa.0)).collect();
    assert_eq!(found, [(0, 3), (0, 4), (0, 5), (1, 9), (2, 7), (2, 8)]);
}

/// Rows of 8 units, 512 units in a superblock of 64 pages.
fn large(pages_per_block: u32, meta_superblocks: u32, capacity_units: u32) -> EngineConfig {
    let cfg = small::config();
    let geometry = Geometry { planes: 2, units_per_page: 4, pages_per_block, meta_superblocks, ..cfg.geometry };
    EngineConfig { geometry, capacity_units, log: LogConfig { entries: 128, ..cfg.log }, ..cfg }
}

fn refused(cfg: &EngineConfig, own: SegmentLogParams) -> String {
    SegmentLog::check(cfg, &own, "own").expect_err("refused").to_string()
}

#[test]
fn groups_and_the_start_of_a_flush_have_to_fit() {
    let cfg = large(64, 5, 4096);
    for hpb_group_entries in [512, 1024, 2048, 65536] {
        assert!(SegmentLog::check(&cfg, &SegmentLogParams { hpb_group_entries, ..params() }, "own").is_ok());
    }
    for hpb_group_entries in [768, 1536] {
        let expected = format!("own.hpb_group_entries = {hpb_group_entries}: must be 512 or a multiple of 1024");
        assert_eq!(refused(&cfg, SegmentLogParams { hpb_group_entries, ..params() }), expected);
    }
    let above = |flush_above_entries| SegmentLogParams { flush_above_entries, ..params() };
    assert!(SegmentLog::check(&cfg, &above(120), "own").is_ok(), "there is room for a row");
    let row = "own.flush_above_entries = 121: must be at least a row of 8 units below log.entries = 128";
    assert_eq!(refused(&cfg, above(121)), row);
    for entries in [128, 129] {
        let expected = format!("own.flush_above_entries = {entries}: must be below log.entries = 128");
        assert_eq!(refused(&cfg, above(entries)), expected);
    }
}

/// 65,923 KiB of table. In parts of 1 KiB, the bitmap of each of 80 superblocks has a bit for each of 65,923 parts and
/// takes three units instead of one. In the directory that makes 65,923 + 160 places of 8 bytes, and 12 bytes for each
/// superblock: 130 units and 8. On flash it makes 16,481 + 160 units, 80 bitmaps and 40 others.
///
/// In whole segments the directory has 16,481 places: 33 units and 8.
#[test]
fn the_metadata_of_the_table_has_to_fit() {
    let capacity = 65_923 * 256;
    let parts = |segment_kib| SegmentLogParams { segment_kib, ..params() };
    let snapshot = |pages: u32, units: u32| {
        format!(
            "nand.pages_per_block = {pages}: must be so many that a snapshot of the directory, {units} units, fits \
             half of {}",
            8 * pages
        )
    };
    assert_eq!(refused(&large(34, 60, capacity), parts(1)), snapshot(34, 138));
    assert_eq!(refused(&large(10, 400, capacity), parts(4)), snapshot(10, 41));
    // 512 units, less those of a snapshot: 45 superblocks and four.
    let superblocks = "nand.meta_superblocks = 48: must be at least 49 for 16761 units of metadata: segments, segment \
                       bitmaps, records, journal";
    assert_eq!(refused(&large(64, 48, capacity), parts(1)), superblocks);
    assert!(SegmentLog::check(&large(64, 49, capacity), &parts(1), "own").is_ok());
}

#[test]
fn what_is_chosen_by_name_is_published_and_cached() {
    let published = |hpb_control| SegmentLog::published(&SegmentLogParams { hpb_control, ..params() }).recommend_after;
    assert_eq!((published(HpbControl::Host), published(HpbControl::Device)), (None, Some(8)));
    let sealed = |hpb_entry| SegmentLog::published(&SegmentLogParams { hpb_entry, hpb_seal_ns: 70, ..params() });
    let told = |entry| (sealed(entry).sealed, sealed(entry).seal_cost);
    assert_eq!((told(HpbEntry::Plain), told(HpbEntry::Sealed)), ((false, Nanos::ZERO), (true, Nanos(70))));
    let entries = |cached| SegmentLog::caches_entries(&SegmentLogParams { cached, ..params() });
    assert!(entries(Cached::Entries) && entries(Cached::Learned) && !entries(Cached::Segments));
}

/// 16 bytes for each of 128 log entries; 4 for the places of 4 segments, 80 bitmaps, 2 records and 32 pages of the
/// journal, and for the number of each segment; 2 for the valid page count of each of 80 superblocks.
#[test]
fn its_tables_take_what_their_entries_take() {
    let (core, map) = device(small::config());
    let MapMemory { sram, dram, .. } = map.memory(&core);
    assert_eq!((sram, dram), (16 * 128 + 4 * (4 + 80 + 2 + 32) + 4 * 4 + 2 * 80, 0));
}

#[test]
fn an_index_by_address_takes_two_bytes_an_entry() {
    let sram = |flush_order| {
        let (core, map) = device_with(SegmentLogParams { flush_order, ..params() });
        map.memory(&core).sram
    };
    assert_eq!(sram(Order::Address) - sram(Order::Log), 2 * 128);
}

#[test]
fn a_flush_begins_above_the_limit() {
    let (mut core, mut map) = device(small::config());
    // No entry continues the one before.
    (0..96).for_each(|i| write(&mut core, &mut map, 2 * i, i));
    assert!(core.log().len() == 96 && !map.wants_flush(&core));
    write(&mut core, &mut map, 2 * 96, 96);
    assert!(map.wants_flush(&core));
}

#[test]
fn a_round_has_as_many_segments_as_the_cache_and_a_buffer_for_each() {
    let cfg = small::config();
    let (mut core, mut map) = device(EngineConfig { sram: SramConfig { segment_cache: 2, ..cfg.sram }, ..cfg });
    [0, 1024, 1025, 2048].iter().zip(0..).for_each(|(&lpa, ppa)| write(&mut core, &mut map, lpa, ppa));
    map.sort_log(&core, core.logged_up_to());
    assert!(!map.read_round(&mut core), "segments that were never written need no read");
    assert_eq!(map.round.units().collect::<Vec<_>>(), [0, 1].map(MapUnit));
    assert_eq!((map.round_end, map.held, core.buffers_available(Owner::Map)), (3, 2, 32 - 2));
}

/// A flush writes the segment bitmaps of the superblocks that the log names, and looks at those that it has emptied.
#[test]
fn a_superblock_that_keeps_valid_pages_is_not_concerned() {
    let (mut core, mut map) = device(small::config());
    put_segment(&mut core, MapUnit(0), &[(0, 0), (1, 1), (2, 64)]);
    [0, 0, 1].iter().for_each(|&sb| map.unflushed.valid.add(Superblock(sb)));
    // One of two pages in superblock 0 becomes invalid, and the only one in superblock 1.
    write(&mut core, &mut map, 0, 128);
    write(&mut core, &mut map, 2, 129);
    map.sort_log(&core, core.logged_up_to());
    map.read_round(&mut core);
    map.apply_round(&mut core);
    assert_eq!(map.concerned, [2, 1].map(Superblock));
    assert_eq!([0, 1, 2].map(|sb| map.unflushed.valid.get(Superblock(sb))), [1, 0, 2]);
}

#[test]
fn the_list_of_what_is_cached_has_each_entry_once() {
    let cfg = small::config();
    let core = Core::in_test(
        EngineConfig { sram: SramConfig { entries: true, ..cfg.sram }, ..cfg.clone() },
        SegmentLog::map_units(&cfg, &params()),
    );
    let map = SegmentLog::new(&core, &SegmentLogParams { cached: Cached::Entries, ..params() });
    let (mut core, mut map) = (core, map);
    write(&mut core, &mut map, 5, 0);
    write(&mut core, &mut map, 9, 1);
    let Cache::Entries(entries) = &mut map.cache else { panic!("a cache of entries") };
    [5, 7].iter().for_each(|&lpa| entries.insert(Lpa(lpa)));
    let mut runs = Vec::new();
    map.cached_runs(&core, &mut runs);
    runs.sort_unstable_by_key(|run| run.lpa);
    assert_eq!(runs, [5, 7, 9].map(|lpa| LpaRun { lpa: Lpa(lpa), len: 1 }));
}

/// A victim of 64 units with four pages in segment 0, two of which a step may copy.
#[test]
fn a_search_stops_at_its_budget_and_reads_its_segment_again() {
    let (mut core, mut map) = device(small::config());
    put_segment(&mut core, MapUnit(0), &[(0, 0), (1, 1), (2, 2), (3, 3)]);
    let mut victim = Victim::new(Superblock(0), false, 4);
    (victim.opened, victim.planned) = (true, true);
    victim.plan = (0..4).map(|i| (Lpa(i), Ppa(i))).collect();
    assert_eq!(map.search(&mut core, &mut victim, 2), Search::Found);
    assert_eq!(victim.found, [0, 1].map(Ppa));
    assert_eq!(victim.searched, 32, "half of its units");
    // The copies have taken the buffers.
    victim.found.clear();
    core.take_segment(MapUnit(0));
    assert_eq!(map.search(&mut core, &mut victim, 2), Search::Reading);
}

#[test]
fn a_page_is_copied_only_if_the_mapping_names_it() {
    let (mut core, mut map) = device(small::config());
    put_segment(&mut core, MapUnit(0), &[(0, 5)]);
    assert!(map.still_valid(&core, Lpa(0), Ppa(5)));
    assert!(!map.still_valid(&core, Lpa(0), Ppa(6)));
    write(&mut core, &mut map, 0, 128);
    assert!(!map.still_valid(&core, Lpa(0), Ppa(5)), "the host has overwritten it");
}

#[test]
fn starved_gc_without_a_victim_asks_for_a_flush() {
    let (mut core, mut map) = device(small::config());
    write(&mut core, &mut map, 0, 0);
    assert!(map.victim(&mut core, None).is_none());
    assert!(!map.wants_flush(&core));
    map.starved(&mut core);
    assert!(map.wants_flush(&core));
}

#[test]
fn after_a_power_cut_a_segment_has_its_changes_if_its_program_survived() {
    for survives in [true, false] {
        let (mut core, mut map) = device(small::config());
        put_segment(&mut core, MapUnit(0), &[(7, 1)]);
        map.unflushed.valid.add(Superblock(0));
        write(&mut core, &mut map, 7, 128);
        map.sort_log(&core, core.logged_up_to());
        map.read_round(&mut core);
        map.apply_round(&mut core);
        map.phase = Phase::Written;
        check_power_loss(core, map, survives);
    }
}

fn check_power_loss(mut core: Core, mut map: SegmentLog, survives: bool) {
    let mut survived = ProgrammedSet::default();
    if survives {
        survived.add(Programmed::in_test(Piece::of(MapUnit(0)), core.layout().first_ppa(Superblock(82))));
    }
    map.on_power_loss(&mut core, &survived);
    let expected = if survives { (Some(Ppa(128)), Seq(1)) } else { (Some(Ppa(1)), Seq(0)) };
    assert_eq!(core.inspect(Lpa(7)), expected);
}

#[test]
fn after_a_power_cut_a_segment_in_the_pipeline_has_its_changes_if_its_program_survived() {
    for survives in [true, false] {
        let (mut core, mut map) = device_with(SegmentLogParams { flush_mode: Mode::Background, ..params() });
        put_segment(&mut core, MapUnit(0), &[(7, 1)]);
        map.unflushed.valid.add(Superblock(0));
        write(&mut core, &mut map, 7, 128);
        assert!(!map.flush(&mut core), "the segment is in the cache, and its program is under way");
        check_power_loss(core, map, survives);
    }
}

#[test]
fn a_row_of_copies_needs_room_in_the_log() {
    for (room, fits) in [(8, true), (7, false)] {
        let mut bench: Bench<SegmentLog> = Bench::new(testing::config(2), &params());
        bench.open_for_copies(UNITS);
        bench.collect_at(1, 1);
        bench.keep_copies(ROW);
        bench.leave_in_log(room);
        assert_eq!(bench.begins_gc_step(), fits, "the log has room for {room} of {ROW}");
        assert_eq!(bench.program_copies(), if fits { 0 } else { 8 });
        assert_eq!(bench.counts().1, if fits { 8 } else { 0 });
    }
}

#[test]
fn a_flush_is_seen_while_it_is_under_way() {
    let own = SegmentLogParams { flush_above_entries: 0, ..params() };
    let mut bench: Bench<SegmentLog> = Bench::new(testing::config(6), &own);
    bench.send(Op::Write { lpa: Lpa(0), len: UNITS, fua: false }, DataOut::Stamp(1), Seq(0));
    bench.go_on();
    let mut seen = false;
    while bench.step() {
        seen |= bench.moment().map_flush;
    }
    assert!(seen && !bench.moment().map_flush && bench.counts().0 > 0);
}
