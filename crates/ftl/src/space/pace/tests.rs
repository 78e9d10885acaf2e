//! The arithmetic without a device: writes earn credit, searches repay it.

use proptest::prelude::*;

use super::*;
use crate::config::GcRuns;

const UNITS: u32 = 9216;

fn config(pace: GcPace, units_per_step: u32) -> GcConfig {
    GcConfig {
        pace,
        start: 48,
        relaxed: 32,
        hurried: 16,
        reserve: 8,
        units_per_step,
        victims: ufs::Victims::GREEDY,
        runs: GcRuns::Alone,
        idle: None,
        copies_percent: 0,
        hot_region: None,
    }
}

/// Searches in steps until the credit does not suffice any more. Gives the units searched.
fn work_off(pace: &mut Pace, step: u32, free: u32) -> u64 {
    let mut searched = 0;
    while pace.suffices(free) {
        pace.begin_step();
        pace.repay(step, free);
        searched += u64::from(step);
    }
    searched
}

#[test]
fn a_searched_unit_repays_a_written_one() {
    let mut pace = Pace::new(config(GcPace::Searched, 64), UNITS);
    for valid in [0, 9000] {
        pace.chosen(valid);
        for (free, factor) in [(33, 3), (32, 2), (17, 2), (16, 1), (9, 1)] {
            let searched: u64 = (0..100).map(|_| (pace.earn(64), work_off(&mut pace, 16, free)).1).sum();
            assert!((searched * factor).abs_diff(6400) <= 128, "{free} free, {valid} valid: {searched} searched");
        }
    }
}

proptest! {
    /// N / (N - V) units for each written unit at or below `hurried`, fewer above it, twice as many near the reserve.
    /// Exact except for credit that is left for the next step.
    #[test]
    fn a_gained_unit_repays_a_written_one(
        valid in 0..UNITS * 31 / 32, step in 4..1000u32, row in 1..64u32, free in 9..48u32,
    ) {
        let mut pace = Pace::new(config(GcPace::Gained, step), UNITS);
        pace.chosen(valid);
        let (written, mut searched) = (u64::from(row) * 4000, 0);
        for _ in 0..4000 {
            pace.earn(row);
            searched += work_off(&mut pace, step, free);
        }
        let halves = match free { 33.. => 6, 17..=32 => 4, 13..=16 => 2, _ => 1 };
        let gained = searched * u64::from(UNITS - valid) * halves / 2;
        let (paid, left) = (written * u64::from(UNITS), u64::from(step * (UNITS - valid)) * halves / 2);
        prop_assert!(gained <= paid && paid - gained < left.max(1), "{gained} of {paid}, {left} may be left");
    }

    /// A burst is not slowed down before the host has written a superblock ahead of GC, and all of it is paid for
    /// later.
    #[test]
    fn a_burst_runs_a_superblock_ahead_and_is_paid_for_later(valid in 0..UNITS * 31 / 32, burst in 1..UNITS) {
        let mut pace = Pace::new(config(GcPace::Gained, 256), UNITS);
        pace.chosen(valid);
        for _ in 0..burst {
            pace.earn(1);
            prop_assert!(!pace.behind());
        }
        let gained = work_off(&mut pace, 256, 16) * u64::from(UNITS - valid);
        let (paid, step) = (u64::from(burst) * u64::from(UNITS), 256 * u64::from(UNITS - valid));
        prop_assert!(gained <= paid && paid - gained < step);
        pace.earn(UNITS);
        pace.earn(1);
        prop_assert!(pace.behind());
    }

    /// The level under steady random writes settles above the reserve, also if a victim of wear levelling, which gains
    /// nothing, follows every fourth victim.
    #[test]
    fn the_level_settles_above_the_reserve(percent in 0..96u32, wear in any::<bool>(), row in 1..200u32) {
        let (mut pace, gain) = (Pace::new(config(GcPace::Gained, 256), UNITS), UNITS - UNITS * percent / 100);
        // In units. A victim becomes free as a whole when its search has ended; its copies have taken their units
        // before.
        let (mut level, mut searched, mut victims) = (i64::from(47 * UNITS), 0, 0);
        let mut lowest = level;
        pace.chosen(UNITS - gain);
        for _ in 0..400_000 {
            level -= i64::from(row);
            let free = |level: i64| (level / i64::from(UNITS)) as u32;
            if free(level) >= 48 {
                pace.forgive();
                continue;
            }
            pace.earn(row);
            while pace.suffices(free(level)) {
                pace.begin_step();
                let n = 256.min(UNITS - searched);
                let of_wear = wear && victims % 5 == 4;
                searched += n;
                level -= i64::from(if of_wear { n } else { n * (UNITS - gain) / UNITS });
                if searched == UNITS {
                    (searched, victims) = (0, victims + 1);
                    level += i64::from(UNITS);
                }
                pace.repay(n, free(level));
            }
            lowest = lowest.min(level);
        }
        prop_assert!(lowest > i64::from(9 * UNITS), "{} superblocks", lowest / i64::from(UNITS));
    }
}

#[test]
fn what_could_not_be_collected_for_long_does_not_end_in_a_burst() {
    let mut pace = Pace::new(config(GcPace::Gained, 256), UNITS);
    pace.chosen(UNITS / 2);
    for _ in 0..100 {
        pace.earn(UNITS);
    }
    assert!(
        work_off(&mut pace, 256, 16) <= 4 * u64::from(UNITS),
        "two superblocks of writes, each searched unit gains half"
    );
}

#[test]
fn a_victim_is_asked_for_again_after_more_writes_and_nothing_is_lost() {
    let mut pace = Pace::new(config(GcPace::Gained, 256), UNITS);
    pace.chosen(UNITS / 2);
    pace.earn(1000);
    assert!(pace.suffices(16));
    pace.postpone(16);
    assert!(!pace.suffices(16));
    pace.earn(16);
    assert!(pace.suffices(16), "an eighth of a step: 32 searched units gain 16");
    assert_eq!(work_off(&mut pace, 256, 16), 7 * 256, "1016 written units pay for 2032");
    pace.earn(8);
    assert!(pace.suffices(16), "and 8 more for what the eighth step lacks");
}

#[test]
fn steps_at_the_reserve_leave_no_debt_and_plenty_leaves_no_credit() {
    let mut pace = Pace::new(config(GcPace::Gained, 256), UNITS);
    pace.chosen(UNITS / 2);
    pace.repay(UNITS, 8);
    pace.earn(128);
    assert!(pace.suffices(16), "256 searched units gain 128");
    pace.forgive();
    assert!(!pace.suffices(16));
    pace.repay(256, 16);
    pace.forgive();
    pace.earn(128);
    assert!(!pace.suffices(16), "a debt is not forgiven");
}

#[test]
fn a_victim_that_is_all_valid_does_not_stop_writes_for_good() {
    let mut pace = Pace::new(config(GcPace::Gained, 256), UNITS);
    pace.chosen(UNITS);
    pace.earn(64);
    assert!(work_off(&mut pace, 256, 16) <= 64 * u64::from(LEAST_GAIN));
}
