//! The ceilings that a profile tells of are ceilings: no run exceeds them, and `ideal` comes near.

use crate::common::{closed, request, tiny};
use ufsim_lab::profile::{Ceiling, LIMITS};
use ufsim_lab::{RunResult, Spec};
use workload::{WorkOp, WorkRequest};

const UNIT: u64 = 4096;

/// Share of the ceiling that `ideal` has to reach. Dies that are chosen at random are not all busy all the time: with n
/// requests under way on d dies it is about n / (n + d - 1) of the time.
const SEQUENTIAL: f64 = 0.95;
const RANDOM: f64 = 0.80;

/// A device, and what its profile is changed to, so that each kind of limit is the lowest one somewhere.
const DEVICES: &[(&str, &[(&str, u64)])] = &[
    ("hp-ufs", &[]),
    ("hp-ufs", &[("link.down_mib_per_s", 100), ("link.up_mib_per_s", 50)]),
    ("hp-ufs", &[("nand.transfer_mib_per_s", 20)]),
    ("hp-ufs", &[("firmware.command_ns", 400_000)]),
    ("hp-ufs", &[("host.tags", 3), ("host.internal_tags", 2)]),
    // As many as several hardware queues hold, behind a link so slow to answer that they are not enough.
    ("hp-ufs", &[("host.tags", 256), ("link.upiu_ns", 500_000)]),
    ("hpb", &[]),
    ("msftl", &[("superblock.dies", 4), ("nand.data_superblocks", 3760), ("nand.meta_superblocks", 16)]),
    ("emmc-map-plus", &[]),
    ("tiny", &[]),
];

fn spec(profile: &str, set: &[(&str, u64)], scheme: &str) -> Spec {
    let mut spec = tiny(scheme, 1);
    (spec.profile, spec.precondition) = (profile.into(), "footprint".into());
    spec.set = set.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect();
    spec
}

/// Bytes of all requests: long beyond the write buffer, and a part of the device.
fn span(ceiling: &Ceiling, capacity_units: u64) -> u64 {
    let most = if ceiling.pattern.sequential { 256 << 20 } else { 32 << 20 };
    (capacity_units * UNIT / 2).min(most)
}

/// Requests of the pattern. Random ones go once to each of their addresses.
fn requests(ceiling: &Ceiling, capacity_units: u64) -> Vec<WorkRequest> {
    let op = if ceiling.pattern.writes { WorkOp::Write } else { WorkOp::Read };
    let units = ceiling.request_bytes / UNIT;
    let count = span(ceiling, capacity_units) / ceiling.request_bytes;
    if ceiling.pattern.sequential {
        return (0..count).map(|n| request(op, n * units, units)).collect();
    }
    // Enough to choose among, and not so much that writing it first takes long.
    let places = (capacity_units / 2).min(1 << 18);
    (0..count).map(|n| request(op, scattered(n, places), 1)).collect()
}

/// A permutation of `0..places` that looks random: odd factors and shifted bits permute the numbers below the next
/// power of two, and are repeated until the number falls inside.
fn scattered(n: u64, places: u64) -> u64 {
    let bits = places.next_power_of_two().trailing_zeros();
    let mask = (1 << bits) - 1;
    let mix = |at: u64| {
        let at = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        (at ^ (at >> (bits / 2))).wrapping_mul(0x2545_f491_4f6c_dd1d) & mask
    };
    let mut at = mix(n);
    while at >= places {
        at = mix(at);
    }
    at
}

/// Requests per second. What still lies in SRAM at the end was not written to flash in that time.
fn sustained(result: &RunResult, ceiling: &Ceiling, pool_bytes: u64) -> f64 {
    let buffered = if ceiling.pattern.writes { pool_bytes / ceiling.request_bytes } else { 0 };
    (result.completed - buffered) as f64 / result.sim_seconds
}

fn check(profile: &str, set: &[(&str, u64)], scheme: &str, reach: f64) {
    let spec = spec(profile, set, scheme);
    let values = spec.resolve().unwrap().profile;
    let pool = u64::from(values.values.sram.pool_kib) * 1024;
    for ceiling in values.ceilings() {
        let mut spec = spec.clone();
        if !ceiling.pattern.sequential {
            // The few units that are read share rows. That two of a row are read in succession is no part of it.
            spec.set.insert("nand.page_register".into(), false.into());
        }
        let result = closed(&spec, requests(&ceiling, values.capacity_units().into()), 256).unwrap();
        let share = sustained(&result, &ceiling, pool) / ceiling.requests_per_s();
        let limit = LIMITS[ceiling.lowest().0].name;
        let what = format!("{profile} {set:?} {scheme}: {} by {limit}", ceiling.pattern.name);
        println!("{what}: {:.1} %", share * 100.0);
        let least = if ceiling.pattern.sequential { reach * SEQUENTIAL } else { reach * RANDOM };
        // A bit of a float.
        assert!(share <= 1.0 + 1e-9, "{what}: {share} of the ceiling");
        assert!(share >= least, "{what}: {share} of the ceiling, at least {least} expected");
    }
}

#[test]
fn ideal_reaches_most_of_every_ceiling_and_exceeds_none() {
    DEVICES.iter().for_each(|(profile, set)| check(profile, set, "ideal", 1.0));
}

/// What lies in a block of one die comes from one die, so only random reads use all of them.
#[test]
fn narrow_superblocks_exceed_no_ceiling() {
    check("msftl", &[], "ideal", 0.0);
}

#[test]
fn no_scheme_exceeds_them() {
    for scheme in ["ufs", "hpb", "hp-ufs", "dftl", "msftl"] {
        check("tiny", &[], scheme, 0.0);
    }
}

#[test]
fn each_part_is_the_lowest_limit_somewhere() {
    let lowest = |&(profile, set): &(&str, &[(&str, u64)])| {
        let ceilings = spec(profile, set, "ideal").resolve().unwrap().profile.ceilings();
        ceilings.map(|ceiling| ceiling.lowest().0)
    };
    let found: Vec<usize> = DEVICES.iter().flat_map(lowest).collect();
    (0..LIMITS.len()).for_each(|limit| assert!(found.contains(&limit), "{}", LIMITS[limit].name));
}
