//! Duration of recovery on the device of the HP-UFS paper (Fig. 11). UFS allows 1500 ms from power-on.
//!
//! `cargo test --release -p ufsim-testkit --test recovery_time -- --nocapture` prints the figures.

use campaign::Rng;
use campaign::recovery::{PAGES, SEGMENTS, recovered, recovery, rig};
use device::DeviceStats;
use host::RequestOp;
use proptest::prelude::*;
use units::Lpa;

const LIMIT_NS: u64 = 1_500_000_000;

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn print(what: &str, s: &DeviceStats) {
    println!(
        "{what:<34} {:>6} units scanned, {:>5} segments: {:>6.1} ms = directory {:.1} + scan {:.1} + segment read \
         {:.1} + update {:.1} + segment write {:.1}",
        s.recovery_units_scanned,
        s.recovery_segments,
        ms(s.recovery_ns),
        ms(s.recovery_directory_ns),
        ms(s.recovery_scan_ns),
        ms(s.recovery_segment_read_ns),
        ms(s.recovery_update_ns),
        ms(s.recovery_segment_write_ns),
    );
}

/// Claim hp-ufs.f11.recovery: 8 log blocks of 16 MiB, every page in a different segment. The paper says about 300 ms.
#[test]
fn the_worst_case_of_the_paper_is_in_the_band_of_its_claim() {
    let worst = recovery(SEGMENTS, PAGES, 4);
    print("worst case", &worst);
    assert_eq!(worst.recovery_segments, u64::from(SEGMENTS));
    assert!(worst.recovery_units_scanned >= u64::from(SEGMENTS));
    assert!((150.0..600.0).contains(&ms(worst.recovery_ns)), "{} ms", ms(worst.recovery_ns));
}

/// Claim hp-ufs.f11.segments-dominate: the number of segments matters more than the number of scanned pages.
#[test]
fn segments_cost_more_than_scanned_pages() {
    let few = recovery(1024, PAGES, 4);
    let many = recovery(SEGMENTS, PAGES, 4);
    let short = recovery(4096, 4096, 4);
    let long = recovery(4096, PAGES, 4);
    for (what, s) in
        [("1024 segments", &few), ("32768 segments", &many), ("4096 pages", &short), ("32768 pages", &long)]
    {
        print(what, s);
    }
    let by_segments = many.recovery_ns - few.recovery_ns;
    let by_pages = long.recovery_ns - short.recovery_ns;
    assert!(by_segments > 2 * by_pages, "{by_segments} ns for segments, {by_pages} ns for pages");
}

/// The same number of parts is read, from as many places, but they fill a quarter of the pages when they are written.
#[test]
fn parts_of_segments_are_written_in_a_quarter_of_the_time() {
    let (whole, parts) = (recovery(SEGMENTS, PAGES, 4), recovery(SEGMENTS, PAGES, 1));
    print("worst case, parts of 1 KiB", &parts);
    assert_eq!(parts.recovery_segments, whole.recovery_segments);
    let ratio = parts.recovery_segment_write_ns as f64 / whole.recovery_segment_write_ns as f64;
    // The last round need not fill a program on every die.
    assert!((0.25..0.32).contains(&ratio), "{ratio} of the time");
}

/// HP-UFS leaves open how the host finds the valid pages again. Here it reads every segment before it sends the first
/// request. The reads go to all dies at once, so they take little more than their share of the die time.
#[test]
fn the_host_soon_knows_again_what_is_valid() {
    let mut rig = recovered(SEGMENTS, PAGES, 4);
    let ready = rig.now();
    rig.attach();
    rig.submit(RequestOp::Read, Lpa(0), 1, 1);
    rig.wait();
    let took = rig.now() - ready;
    println!("reading {SEGMENTS} segments for bitmap and counts: {:.1} ms", ms(took.0));
    let stats = rig.device().stats();
    // At best one tR of 25 us gives the eight segments of a page on two planes, on eight dies at a time.
    let least = u64::from(SEGMENTS) / 8 / 8 * 25_000;
    assert!(took.0 > least, "{took:?} for {SEGMENTS} segments: {stats:?}");
    assert!(took.0 + stats.recovery_ns < LIMIT_NS, "{took:?} after {} ms of recovery", ms(stats.recovery_ns));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    /// Whatever is written, with the limits of the paper the device is ready in time.
    #[test]
    fn recovery_stays_within_the_limit_of_ufs(
        segments in prop_oneof![Just(SEGMENTS), 1..SEGMENTS, 1..64u32],
        writes in 10_000..60_000u32,
        stride in 1..5000u32,
        trims in 0..40u32,
        seed in any::<u64>(),
    ) {
        let mut rig = rig(8, 4);
        let mut rng = Rng::new(seed);
        for i in 0..writes {
            let segment = (i.wrapping_mul(stride)) % segments;
            let lpa = Lpa(segment * 1024 + rng.below(1024));
            rig.submit(RequestOp::Write { fua: rng.below(50) == 0 }, lpa, 1, 24);
            if rng.below(1000) < trims {
                let lpa = Lpa(rng.below(SEGMENTS * 1000));
                rig.submit(RequestOp::Unmap, lpa, 1 + rng.below(5000), 24);
            }
        }
        rig.cut_and_recover(&mut rng, 0);
        let stats = rig.device().stats();
        prop_assert!(stats.recovery_ns < LIMIT_NS, "{} ms", ms(stats.recovery_ns));
        prop_assert!(stats.recovery_ns > 0);
    }
}
