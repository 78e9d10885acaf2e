//! HP-UFS with a model device that delivers changes out of order, repeats them, copies pages while they are being
//! overwritten, refuses bitmaps and fails metadata commands. The device checks every command; see `model`.

use crate::model::{Nature, World};
use params::Owners;
use proptest::prelude::*;
use ufs::DeviceInfo;
use ufsim_host::{AppSignal, BoosterKind, BoosterParams, HostConfig, RequestOp};
use units::AppId;

const SEGMENT_BYTES: u64 = 4096;

/// Eleven segments, the last one not full.
const INFO: DeviceInfo =
    DeviceInfo { capacity_units: 10_500, superblocks: 512, superblock_units: 64, ..DeviceInfo::USUAL };

fn config(limit_segments: Option<u64>, max_transfer_units: u32) -> HostConfig {
    let mut boosters = BoosterParams::default();
    for (key, value) in [("reorder_entries", 512), ("profile_apps", 2), ("profile_kib", 1)] {
        boosters.set("*", key, value).expect("it is allowed");
    }
    HostConfig {
        booster: BoosterKind::HpUfs,
        memory_limit_bytes: limit_segments.map(|segments| segments * SEGMENT_BYTES),
        boosters,
        max_transfer_units,
        ..HostConfig::default()
    }
}

fn nature(window: u32) -> Nature {
    Nature { log_entries: 400, window, fail: 3, hints: 15 }
}

/// A request somewhere in `lpas`. Most are short, and many use the same few addresses.
fn submit_any(world: &mut World, lpas: u32) {
    let random = &mut world.random;
    let len = if random.percent(70) { 1 + random.below(3) } else { 1 + random.below(300) };
    let lpa = if random.percent(50) { random.below(lpas.min(200)) * (lpas / 200) } else { random.below(lpas) };
    let len = len.min(lpas - lpa);
    let op = match random.below(100) {
        0..35 => RequestOp::Read,
        35..90 => RequestOp::Write { fua: random.percent(5) },
        90..97 => RequestOp::Unmap,
        _ => RequestOp::Flush,
    };
    world.submit(op, lpa, len);
}

/// What is not used for a millisecond is given up.
fn forgetful(config: HostConfig) -> HostConfig {
    let mut boosters = config.boosters;
    boosters.set("*", "unused_ms", 1).expect("it is allowed");
    HostConfig { boosters, ..config }
}

/// Apps start, end and are about to be killed. Reclaim gives back at most what was asked for, in whole segments.
fn apps_come_and_go(world: &mut World) {
    let (app, other) = (AppId(world.random.below(4) as u16), AppId(world.random.below(4) as u16));
    world.app = app;
    let now = world.now;
    match world.random.below(40) {
        0 => world.driver.signal(now, AppSignal::LaunchStart(app)),
        1 => world.driver.signal(now, AppSignal::LaunchEnd(other)),
        2 => world.driver.signal(now, AppSignal::Ended(other)),
        3 => {
            let held = world.driver.stats().dram_bytes_used;
            let freed = world.driver.reclaim(now, other, 6_000);
            assert_eq!(held - world.driver.stats().dram_bytes_used, freed, "what is given back is free at once");
            assert!(freed.is_multiple_of(SEGMENT_BYTES) && freed <= 8_192);
        }
        _ => return,
    }
    world.pump();
}

/// Memory becomes short, and is there again.
fn memory_comes_and_goes(world: &mut World) {
    let now = world.now;
    match world.random.below(100) {
        0 => world.driver.pressed(now, 3 * SEGMENT_BYTES),
        1 | 2 => world.driver.relieved(now),
        _ => return,
    }
    world.pump();
}

fn run(world: &mut World, requests: u32, lpas: u32, depth: usize) {
    for _ in 0..requests {
        while world.outstanding() >= depth {
            world.step();
        }
        apps_come_and_go(world);
        submit_any(world, lpas);
        world.step();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_host_knows_the_truth_and_nobody_waits_forever(
        seed in any::<u64>(),
        limit in prop_oneof![Just(2u64), 3u64..6, 8u64..11, Just(11)],
        depth in prop_oneof![Just(1usize), 2usize..64],
        window in 1u32..20,
        max_transfer_units in prop_oneof![Just(1u32), 2u32..64, Just(128), Just(2048)],
        shrink in any::<bool>(),
        map_page_entries in prop_oneof![Just(256u32), Just(512), Just(1024)],
        forgets in any::<bool>(),
        booster in prop::sample::select(vec![BoosterKind::HpUfs, BoosterKind::HpbvalveHpUfs]),
    ) {
        let info = DeviceInfo { map_page_entries, ..INFO };
        let config = HostConfig { booster, ..config(Some(limit), max_transfer_units) };
        let config = if forgets { forgetful(config) } else { config };
        let mut world = World::new(config, info, nature(window), seed);
        run(&mut world, 400, 2_300, depth);
        for _ in 0..400 {
            memory_comes_and_goes(&mut world);
            run(&mut world, 1, INFO.capacity_units, depth);
        }
        if shrink {
            prop_assert!(world.most_dram <= limit * SEGMENT_BYTES);
            world.driver.set_memory_limit(world.now, 2 * SEGMENT_BYTES).unwrap();
        }
        run(&mut world, 400, INFO.capacity_units, depth);
        world.settle();
        world.device.check_host(&world.driver);
        prop_assert!(world.most_dram <= limit * SEGMENT_BYTES, "the limit was exceeded");
        if shrink {
            prop_assert!(world.driver.stats().dram_bytes_used <= 2 * SEGMENT_BYTES);
        }
    }
}

#[test]
fn the_races_do_happen() {
    let mut world = World::new(config(Some(4), 128), INFO, nature(12), 1);
    run(&mut world, 6_000, 2_300, 32);
    run(&mut world, 500, INFO.capacity_units, 32);
    world.settle();
    world.device.check_host(&world.driver);
    let stats = world.driver.stats();
    let device = &world.device;
    assert!(device.copies_too_late > 0, "no copy was overtaken by a write");
    assert!(device.attests > 0 && device.bitmaps_taken > 0 && device.copies_made > 100);
    let own = world.driver.scheme_counters().into_iter().map(|(counter, value)| (counter.name, value));
    for (name, value) in stats.fields().chain(own) {
        let other = ["hpb", "sched_", "hit_cnt", "miss_cnt", "rcmd_", "map_req_cnt", "umap_req_cnt", "subregions_"];
        let others = other.iter().any(|prefix| name.starts_with(prefix))
            || name == "entry_transfers_to_report"
            || name == "segments_expired"
            || name == "polls";
        assert!(value > 0 || others, "{name} stayed 0, so this run does not test it");
    }
}

/// The rest of the device is used once, and then only a few segments: the others leave, those with changes too.
#[test]
fn what_is_not_used_leaves_amid_everything_else() {
    let mut world = World::new(forgetful(config(Some(10), 128)), INFO, nature(12), 1);
    run(&mut world, 300, INFO.capacity_units, 32);
    run(&mut world, 6_000, 2_300, 32);
    world.settle();
    world.device.check_host(&world.driver);
    assert!(world.driver.counter("segments_expired") > 5, "{}", world.driver.counter("segments_expired"));
}

/// Segments that are sent in parts are up to date as well, and the parts are those that the device writes.
#[test]
fn parts_of_segments_come_where_they_are_smaller() {
    for (map_page_entries, some) in [(1024, false), (512, true), (256, true)] {
        let mut world = World::new(config(Some(10), 128), DeviceInfo { map_page_entries, ..INFO }, nature(12), 1);
        run(&mut world, 3_000, INFO.capacity_units, 32);
        world.settle();
        world.device.check_host(&world.driver);
        assert_eq!(world.device.parts_taken > 30, some, "{} of {map_page_entries}", world.device.parts_taken);
    }
}

/// App 1 reads four segments in its launch. Other apps evict them. Its next launch fetches them before it reads them.
#[test]
fn a_launch_fetches_ahead_and_keeps_what_is_its_own() {
    let config = HostConfig { booster: BoosterKind::HpbvalveHpUfs, ..config(Some(8), 128) };
    let mut world = World::new(config, INFO, Nature { fail: 0, hints: 0, ..nature(1) }, 7);
    let read = |world: &mut World, app: u16, segments: std::ops::Range<u32>| {
        world.app = AppId(app);
        segments.for_each(|segment| world.submit(RequestOp::Read, segment * 1024, 1));
        world.drain();
    };
    let launch = |world: &mut World, app: u16| {
        world.driver.signal(world.now, AppSignal::LaunchStart(AppId(app)));
        world.pump();
        world.drain();
    };
    launch(&mut world, 1);
    read(&mut world, 1, 0..4);
    launch(&mut world, 2);
    read(&mut world, 3, 4..11);
    let held = |world: &World, segment: u32| world.driver.mapping(units::Lpa(segment * 1024)).is_some();
    assert!((0..4).any(|segment| !held(&world, segment)), "the background had room for everything");
    let before = world.driver.counter("hpbvalve_launch_fetches");
    launch(&mut world, 1);
    assert!((0..4).all(|segment| held(&world, segment)), "they are there before they are read");
    read(&mut world, 3, 4..11);
    let misses = world.driver.stats().booster_misses;
    read(&mut world, 1, 0..4);
    assert_eq!(world.driver.stats().booster_misses, misses, "the background has taken a segment of app 1");
    assert!(world.driver.counter("hpbvalve_launch_fetches") > before);
    world.driver.signal(world.now, AppSignal::Ended(AppId(1)));
    let held = world.driver.stats().dram_bytes_used;
    let freed = world.driver.reclaim(world.now, AppId(1), 1 << 20);
    assert!(freed == held && freed > 0, "all of it is clean, and nobody needs it");
    assert_eq!(world.driver.reclaim(world.now, AppId(3), 4096), 0, "it was never in the foreground");
}

#[test]
fn an_unlimited_cache_fetches_each_segment_once() {
    let mut world = World::new(config(None, 128), INFO, Nature { fail: 0, ..nature(4) }, 3);
    run(&mut world, 3_000, INFO.capacity_units, 16);
    world.settle();
    world.device.check_host(&world.driver);
    let stats = world.driver.stats();
    assert_eq!(world.driver.counter("segment_reads"), u64::from(INFO.segments()));
    assert_eq!((world.driver.counter("segments_dropped"), world.driver.counter("segment_writebacks_evict")), (0, 0));
    assert_eq!(stats.dram_bytes_limit, 11 * SEGMENT_BYTES);
}

#[test]
fn a_full_log_drains_though_no_user_command_can_carry_the_news() {
    let mut world = World::new(config(None, 128), INFO, Nature { log_entries: 300, hints: 0, ..nature(1) }, 5);
    for i in 0..4_000 {
        world.submit(RequestOp::Write { fua: false }, i * 7 % INFO.capacity_units, 1);
    }
    world.drain();
    world.settle();
    world.device.check_host(&world.driver);
}
