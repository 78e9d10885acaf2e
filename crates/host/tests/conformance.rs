//! Tests that every booster and scheduler must pass.

use crate::model::{Nature, World};
use params::Owners;
use ufs::{DeviceInfo, Op};
use ufsim_host::{BoosterKind, BoosterParams, CacheKnowledge, HostConfig, RequestOp, SchedulerKind, SchedulerParams};
use units::Nanos;

const INFO: DeviceInfo = DeviceInfo {
    capacity_units: 9_000,
    superblocks: 2048,
    superblock_units: 64,
    hpb_group_entries: 1024,
    ..DeviceInfo::USUAL
};
const NATURE: Nature = Nature { log_entries: 400, window: 6, fail: 0, hints: 10 };

fn schedulers(knowledge: CacheKnowledge) -> SchedulerParams {
    let mut all = SchedulerParams::default();
    all.set("*", "cache_knowledge", knowledge.name()).expect("it is a kind");
    for (key, value) in [("poll_requests", 20), ("queue", 24), ("cache_entries", 2048)] {
        all.set("*", key, value).expect("it is allowed");
    }
    all
}

fn boosters() -> BoosterParams {
    let mut all = BoosterParams::default();
    let often = [("timeout_polling_interval_ms", 1), ("eviction_thld_enter", 2), ("eviction_thld_exit", 1)];
    for (key, value) in
        [("reorder_entries", 512), ("max_defer_us", 20), ("activation_thld", 1)].into_iter().chain(often)
    {
        all.set("*", key, value).expect("it is allowed");
    }
    all.set("hpb", "eager", true).expect("it is allowed");
    all
}

/// Every combination, with many tags and with few.
fn configs() -> impl Iterator<Item = HostConfig> {
    let pairs = BoosterKind::ALL.iter().flat_map(|&b| SchedulerKind::ALL.iter().map(move |&s| (b, s)));
    let knowledge = CacheKnowledge::ALL;
    pairs.flat_map(move |(booster, scheduler)| {
        [(32, 8, 0), (4, 2, 1), (2, 1, 2)].map(|(tags, internal_tags, known)| HostConfig {
            schedulers: schedulers(knowledge[known]),
            tags,
            internal_tags,
            booster,
            scheduler,
            boosters: boosters(),
            max_transfer_units: 32,
            memory_limit_bytes: Some(32 << 10),
        })
    })
}

fn named(config: &HostConfig) -> String {
    format!("{} with {} and {} tags", config.booster.name(), config.scheduler.name(), config.tags)
}

fn submit_any(world: &mut World) {
    let random = &mut world.random;
    let lpa = random.below(INFO.capacity_units);
    let longest = if random.percent(80) { 4 } else { 200 };
    let len = (1 + random.below(longest)).min(INFO.capacity_units - lpa);
    let op = match random.below(10) {
        0..5 => RequestOp::Read,
        5..8 => RequestOp::Write { fua: false },
        8 => RequestOp::Unmap,
        _ => RequestOp::Flush,
    };
    world.submit(op, lpa, len);
}

#[test]
fn every_request_completes_exactly_once_within_the_tags() {
    for (config, seed) in configs().zip(1..) {
        println!("{}", named(&config));
        let mut world = World::new(config, INFO, NATURE, seed);
        for _ in 0..1_000 {
            submit_any(&mut world);
            world.step();
            world.step();
            world.now = world.now + Nanos(50_000);
        }
        world.drain();
        let stats = world.driver.stats();
        assert_eq!((stats.requests, stats.completions), (1_000, 1_000));
        assert!(stats.dram_bytes_used <= stats.dram_bytes_limit);
        assert!(stats.tags_peak <= u64::from(config.tags));
        if config.booster != BoosterKind::None {
            assert!(stats.booster_hits > 0 && stats.booster_misses > 0 && stats.internal_commands > 0);
        }
    }
}

#[test]
fn stuck_user_commands_do_not_starve_internal_ones() {
    for config in configs() {
        println!("{}", named(&config));
        let mut world = World::new(config, INFO, NATURE, 9);
        for i in 0..32 {
            world.submit(RequestOp::Read, i % 8 * 1024, 1);
            world.submit(RequestOp::Write { fua: false }, i % 8 * 1024, 1);
        }
        // The device answers only metadata commands.
        for _ in 0..200 {
            while world.deliver() {}
            world.now = world.now + Nanos(10_000);
            world.pump();
            world.answer(|op| !op.is_user());
        }
        let (users, _) = world.device.in_flight();
        assert_eq!(users, usize::from(config.tags - config.internal_tags), "user commands use all of their tags");
        let answered = world.driver.counter("segment_reads") + world.driver.counter("hpb_read_buffers");
        assert_eq!(answered > 0, config.booster != BoosterKind::None, "{}", named(&config));
        world.drain();
    }
}

#[test]
fn a_request_that_waits_for_metadata_lets_others_pass() {
    for config in configs().filter(|config| config.tags == 32) {
        let mut world = World::new(config, INFO, NATURE, 11);
        world.submit(RequestOp::Read, 1024, 1);
        world.submit(RequestOp::Write { fua: false }, 5, 1);
        while world.deliver() {}
        while world.answer(|op| matches!(op, Op::Write { .. })) {}
        assert_eq!(world.outstanding(), 1, "{}: the write waits behind the read", named(&config));
        world.drain();
    }
}
