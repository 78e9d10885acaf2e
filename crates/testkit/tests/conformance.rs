//! Tests that every registered mapping scheme must pass.

use campaign::Rng;
use ftl::MappingKind;
use lab::profile::parse_override;
use ufsim_testkit::conformance::{with_each_system_of, with_each_variant_of};

macro_rules! conformance {
    ($($Scheme:ident)*) => { $(ufsim_testkit::conformance!($Scheme = ftl::MappingKind::of::<schemes::$Scheme>());)* };
}
schemes::registered!(conformance);

/// A mapping cache of single entries gives the same data as one of segments.
#[test]
fn single_entries_in_sram_are_never_out_of_date() {
    let set = ["scheme.segment-log.cached=entries", "sram.segment_cache_kib=4"];
    let set = set.map(|text| parse_override(text).expect("a well formed override"));
    with_each_system_of(&set, MappingKind::of::<schemes::SegmentLog>(), |mut rig, name| {
        let mut rng = Rng::new(16);
        rig.churn(&mut rng, 20_000, 3_000, 16);
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.segment_hits > 500 && stats.segment_misses > 500, "{name}: {stats:?}");
    });
}

/// Reads that share dies and are repeated, programs that are interrupted for them, and refresh of what is read often,
/// under every scheme.
#[test]
fn data_survive_reads_that_share_dies() {
    let set = [
        "nand.independent_plane_reads=true",
        "nand.cache_read=true",
        "nand.program_suspends=2",
        "nand.retry_fresh_steps=[1, 3]",
        "nand.retry_cycles=[0, 4]",
        "wear.refresh_reads=20",
    ];
    let set = set.map(|text| parse_override(text).expect("a well formed override"));
    for &kind in schemes::all() {
        with_each_system_of(&set, kind, |mut rig, name| {
            rig.churn(&mut Rng::new(19), 3_000, 3_000, 16);
            for _ in 0..4 {
                rig.settle();
                rig.read_all();
            }
            assert!(rig.device().stats().refresh_victims > 0, "{name}: nothing was refreshed");
        });
    }
}

/// WriteBooster that a host has flushed whenever no command is under way, under every scheme.
#[test]
fn data_survive_write_booster() {
    // Of two logical units, the first of which is as large as an HPB region, half of what is written is the first's.
    let dedicated = ["device.further_lus_mib=96", "slc.dedicated_lu=0"];
    for more in [&["slc.user_space=preserved"][..], &["slc.user_space=reduced"], &dedicated] {
        let set = ["slc.superblocks=20", "slc.write_booster=true"].iter().chain(more);
        let set: Vec<_> = set.map(|text| parse_override(text).expect("a well formed override")).collect();
        for &kind in schemes::all() {
            with_each_system_of(&set, kind, |mut rig, name| {
                let (mut rng, units) = (Rng::new(17), rig.device().info().capacity_units);
                // Of a device that is written everywhere, a buffer that preserves user space is hardly used.
                for _ in 0..8 {
                    rig.churn(&mut rng, 800, units / 2, 16);
                    rig.settle();
                }
                rig.read_all();
                let stats = rig.device().stats();
                assert!(stats.slc_units_programmed > 5_000 && stats.slc_victims > 20, "{name}: {stats:?}");
            });
        }
    }
}

/// Hot data in superblocks of their own, under every scheme, with GC at the reserve and far from it.
#[test]
fn data_survive_hot_superblocks() {
    for runs in ["alone", "beside"] {
        let runs = format!("gc.runs={runs}");
        let set = ["gc.hot_region_kib=1024", "log.max_log_blocks=6", "sram.reserve_kib=64", "gc.pace=gained", &runs];
        let set = set.map(|text| parse_override(text).expect("a well formed override"));
        for &kind in schemes::all() {
            with_each_variant_of(&set, kind, |mut rig, name| {
                let mut rng = Rng::new(18);
                rig.churn(&mut rng, 8_000, 32_768, 16);
                // What is hot moves.
                for hot in [1_000, 4_000, 1_000] {
                    rig.churn(&mut rng, 2_500, hot, 16);
                    rig.churn(&mut rng, 1_000, 32_768, 16);
                }
                rig.settle();
                rig.read_all();
                let stats = rig.device().stats();
                assert!(stats.hot_units_programmed > 1_000 && stats.hot_units_copied > 100, "{name}: {stats:?}");
            });
        }
    }
}

/// Rows that are no power of two: three pages of a word line on six planes, which also read for themselves.
#[test]
fn data_survive_six_planes() {
    let set = [
        "nand.planes=6",
        "nand.page_kib=4",
        "nand.word_line_pages=3",
        "nand.pages_per_block=18",
        "nand.data_superblocks=120",
        "nand.independent_plane_reads=true",
        "sram.pool_kib=512",
        "sram.reserve_kib=144",
    ];
    let set = set.map(|text| parse_override(text).expect("a well formed override"));
    for &kind in schemes::all() {
        with_each_variant_of(&set, kind, |mut rig, name| {
            rig.churn(&mut Rng::new(20), 25_000, 32_768, 16);
            rig.settle();
            rig.read_all();
            let stats = rig.device().stats();
            assert!(stats.gc_victims > 20, "{name}: GC hardly ran: {stats:?}");
        });
    }
}
