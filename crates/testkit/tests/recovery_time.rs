//! Duration of recovery on the device of the HP-UFS paper (Fig. 11). UFS allows 1500 ms from power-on.
//!
//! `cargo test --release -p ufsim-testkit recovery_time:: -- --nocapture` prints the figures.

use campaign::Rng;
use campaign::recovery::{PAGES, SEGMENTS, recovered, recovery, rig, worst_cut};
use ftl::DeviceStats;
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

/// What is set up is what recovery finds: so many pages of so many segments, and nothing of the filling.
fn checked_recovery(segments: u32, pages: u32) -> DeviceStats {
    let stats = recovery(segments, pages, None);
    print(&format!("{segments} segments, {pages} pages"), &stats);
    assert_eq!(stats.recovery_segments, u64::from(segments));
    // Where a short row was padded, a log block more was begun. Until the scan finds its end it has read as many blank
    // pages as the 384 buffers hold.
    let scanned = u64::from(pages)..=u64::from(pages) + 384;
    assert!(scanned.contains(&stats.recovery_units_scanned), "{} pages scanned", stats.recovery_units_scanned);
    stats
}

/// Claim hp-ufs.f11.recovery under the limits of the profile: 8 log blocks of 4096 pages, of which the host's stream
/// fills 7, and 20 MiB of segments in the host.
#[test]
fn the_limits_of_the_profile_bound_the_worst_case() {
    let one = worst_cut(&[], 1);
    let worst = worst_cut(&[], 4);
    print("worst case of the profile", &worst.stats);
    assert!(worst.stats.recovery_ns >= one.stats.recovery_ns, "the last of four cuts is the only one of one");
    let full = 7 * 4096;
    let scanned = worst.stats.recovery_units_scanned;
    assert!((6 * 4096..=full).contains(&scanned), "{scanned} pages scanned");
    // What flash lacks is dirty in the host's cache, which keeps 8 slots free, in the log, or has just been programmed
    // out of a buffer of the 1.5 MB.
    let (cached, logged, buffers) = (20 * 256, 1536, 384);
    let segments = worst.stats.recovery_segments;
    assert!((cached - 8..=cached + logged + buffers).contains(&segments), "{segments} segments recovered");
    assert!(worst.stats.recovery_ns < LIMIT_NS);
}

/// A host that caches all segments writes one back only when its log block has to go. So nearly all pages of the other
/// log blocks lack their segment, one for each.
#[test]
fn with_more_host_memory_the_log_blocks_alone_bound_the_worst_case() {
    let worst = worst_cut(&["host.memory_mib=\"unlimited\""], 4);
    print("worst case, all segments cached", &worst.stats);
    let segments = worst.stats.recovery_segments;
    assert!((5 * 4096..=7 * 4096).contains(&segments), "{segments} segments recovered");
    assert!(worst.stats.recovery_units_scanned >= segments, "every segment has a page in a log block");
    assert!(worst.stats.recovery_ns < LIMIT_NS);
}

/// Claim hp-ufs.f11.segments-dominate: the number of segments matters more than the number of scanned pages.
#[test]
fn segments_cost_more_than_scanned_pages() {
    let (few, many) = (checked_recovery(1024, PAGES), checked_recovery(SEGMENTS, PAGES));
    let (short, long) = (checked_recovery(4096, 4096), checked_recovery(4096, PAGES));
    let by_segments = many.recovery_ns - few.recovery_ns;
    let by_pages = long.recovery_ns - short.recovery_ns;
    assert!(by_segments > 2 * by_pages, "{by_segments} ns for segments, {by_pages} ns for pages");
}

/// The same number of parts is read, from as many places, but they fill a quarter of the pages when they are written.
#[test]
fn parts_of_segments_are_written_in_a_quarter_of_the_time() {
    let (whole, parts) = (recovery(SEGMENTS, PAGES, Some(4)), recovery(SEGMENTS, PAGES, Some(1)));
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
    let mut rig = recovered(SEGMENTS, PAGES, None);
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
    /// Whatever is written, with the paper's limit of log blocks the device is ready in time. The host may cache all
    /// segments, so that as many as can be are left to recovery.
    #[test]
    fn recovery_stays_within_the_limit_of_ufs(
        segments in prop_oneof![Just(SEGMENTS), 1..SEGMENTS, 1..64u32],
        writes in 10_000..60_000u32,
        stride in 1..5000u32,
        trims in 0..40u32,
        seed in any::<u64>(),
    ) {
        let mut rig = rig(&["host.memory_mib=\"unlimited\""]);
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
