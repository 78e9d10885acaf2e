//! The longest recovery that a run under given limits can need: every page is written to another segment.
//!
//! All segments are written in turn, in an order drawn once, again and again. So a segment comes again only after all
//! others, and no two pages of the log blocks are of the same one. When the second round ends, every segment has been
//! written to flash, wherever these limits put it: by evictions from the host's cache, by writebacks of log blocks, or
//! both.
//!
//! By then the run repeats itself with each log block: one is filled, and the oldest is written back. So cuts are tried
//! over the time of one log block, at equal distances; each is a run of its own.

use ftl::DeviceStats;
use host::RequestOp;
use units::Lpa;

use super::{SEGMENTS, rig};
use crate::rng::Rng;

/// Pages of a log block of 16 MiB.
const LOG_BLOCK: u32 = 4_096;
/// Writes of two rounds.
const TWO_ROUNDS: u32 = 2 * SEGMENTS;
/// Writes that are outstanding at a time: all tags of the host.
const DEPTH: usize = 32;

/// A power cut, and what recovery from it took.
#[derive(Clone, Debug)]
pub struct WorstCut {
    /// Pages that were submitted before the cut.
    pub writes: u32,
    /// Counters of the device when it was ready again.
    pub stats: DeviceStats,
}

/// Of so many `cuts`, the one with the longest recovery, and of several such the first. The device is that of profile
/// `hp-ufs` with these settings (`key=value`); without any, it is the profile's own.
///
/// # Panics
/// If a setting is not one of the profile, or `cuts` not in 1..=4096.
pub fn worst_cut(settings: &[&str], cuts: u32) -> WorstCut {
    assert!((1..=LOG_BLOCK).contains(&cuts), "{cuts} cuts: must be 1..={LOG_BLOCK}");
    let order = order();
    let before = |i: u32| TWO_ROUNDS - LOG_BLOCK + i * LOG_BLOCK / cuts;
    let cuts = (1..=cuts).map(|i| cut(settings, &order, before(i)));
    let longest = |a: WorstCut, b: WorstCut| if b.stats.recovery_ns > a.stats.recovery_ns { b } else { a };
    cuts.reduce(longest).expect("at least one cut")
}

/// The run up to a cut after so many pages, and recovery.
fn cut(settings: &[&str], order: &[u32], writes: u32) -> WorstCut {
    let mut rig = rig(settings);
    for (round, &segment) in (0..).flat_map(|round| order.iter().map(move |s| (round, s))).take(writes as usize) {
        rig.submit(RequestOp::Write { fua: false }, Lpa(segment * 1024 + round), 1, DEPTH);
    }
    rig.cut_and_recover(&mut Rng::new(1), 0);
    WorstCut { writes, stats: rig.device().stats() }
}

/// All segments, in the order in which they are written.
fn order() -> Vec<u32> {
    let mut rng = Rng::new(1);
    let mut order: Vec<u32> = (0..SEGMENTS).collect();
    for last in (1..SEGMENTS).rev() {
        order.swap(last as usize, rng.below(last + 1) as usize);
    }
    order
}
