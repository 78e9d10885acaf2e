//! HP-UFS against a model device that delivers changes out of order, repeats them, copies pages while they are being
//! overwritten, refuses bitmaps and fails metadata commands. The device checks every command; see `model`.

mod model;

use model::{Nature, World};
use proptest::prelude::*;
use ufs::DeviceInfo;
use ufsim_host::{BoosterKind, HostConfig, RequestOp};

const SEGMENT_BYTES: u64 = 4096;

/// Eleven segments, the last one not full.
const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 10_500,
    superblocks: 512,
    superblock_units: 64,
    hpb_group_entries: 4096,
    hpb_region_groups: 1,
    hpb_max_blocks: 128,
    hpb_device_control: false,
    map_page_entries: 1024,
};

fn config(limit_segments: Option<u64>, max_transfer_units: u32) -> HostConfig {
    HostConfig {
        booster: BoosterKind::HpUfs,
        memory_limit_bytes: limit_segments.map(|segments| segments * SEGMENT_BYTES),
        reorder_entries: 512,
        max_transfer_units,
        ..HostConfig::default()
    }
}

fn nature(window: u32) -> Nature {
    Nature { log_entries: 400, window, fail: 3, hints: 15 }
}

/// A request somewhere in `lpas`; most are short and many meet at the same few addresses.
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

fn run(world: &mut World, requests: u32, lpas: u32, depth: usize) {
    for _ in 0..requests {
        while world.outstanding() >= depth {
            world.step();
        }
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
    ) {
        let mut world = World::new(config(Some(limit), max_transfer_units), INFO, nature(window), seed);
        run(&mut world, 400, 2_300, depth);
        if shrink {
            prop_assert!(world.most_dram <= limit * SEGMENT_BYTES);
            world.driver.shrink(world.now, 2 * SEGMENT_BYTES).unwrap();
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
    for (name, value) in stats.fields() {
        let others = name.starts_with("hpb_")
            || name.starts_with("sched_")
            || name == "entry_transfers_to_report"
            || name == "polls";
        assert!(value > 0 || others, "{name} stayed 0, so this run does not test it");
    }
}

#[test]
fn an_unlimited_cache_fetches_each_segment_once() {
    let mut world = World::new(config(None, 128), INFO, Nature { fail: 0, ..nature(4) }, 3);
    run(&mut world, 3_000, INFO.capacity_units, 16);
    world.settle();
    world.device.check_host(&world.driver);
    let stats = world.driver.stats();
    assert_eq!(stats.segment_reads, u64::from(INFO.segments()));
    assert_eq!((stats.segments_dropped, stats.segment_writebacks_evict), (0, 0));
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
