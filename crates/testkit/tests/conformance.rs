//! Tests that every registered mapping scheme must pass: one set of tests per line of the registration.

use campaign::{Rig, Rng};
use device::{DeviceStats, MappingKind, registered_mappings};
use lab::profile::{Override, Profile, parse_override};
use lab::schemes;
use units::Nanos;

/// Runs `body` on the tiny profile for every preset with this mapping scheme.
fn with_each_system(kind: MappingKind, body: impl Fn(Rig, &str)) {
    with_each_system_of(&[], kind, body);
}

fn with_each_system_of(set: &[Override], kind: MappingKind, body: impl Fn(Rig, &str)) {
    let presets: Vec<_> = schemes().iter().filter(|preset| preset.parts().mapping == kind).collect();
    assert!(!presets.is_empty(), "mapping scheme {} is in no preset", kind.name());
    for settings in settings(kind) {
        let own = settings.split(' ').filter(|text| !text.is_empty());
        let own = own.map(|text| parse_override(&format!("scheme.{text}")).expect("a well formed override"));
        let set: Vec<Override> = set.iter().cloned().chain(own).collect();
        let profile = Profile::load("tiny", &set).expect("an embedded profile");
        for preset in &presets {
            body(Rig::new(&profile, preset.parts(), Nanos::from_micros(3)), &format!("{} {settings}", preset.name()));
        }
    }
}

/// Parameters of a scheme, beside those that presets bring: parts in which it can write segments, and ways of flushing.
fn settings(kind: MappingKind) -> &'static [&'static str] {
    match kind {
        MappingKind::SegmentLog => &[
            "",
            "*.segment_kib=2",
            "*.segment_kib=1",
            "*.flush_mode=background",
            "*.flush_mode=background *.segment_kib=2 *.flush_order=address *.flush_buffers=3",
            "*.flush_mode=pipelined *.segment_kib=1 *.flush_buffers=5",
        ],
        MappingKind::HpUfs => &["", "*.segment_kib=2", "*.segment_kib=1"],
        _ => &[""],
    }
}

fn data_survives_gc(kind: MappingKind) {
    with_each_system(kind, |mut rig, name| {
        let mut rng = Rng::new(11);
        rig.churn(&mut rng, 40_000, 32_768, 16);
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.gc_victims > 100 && stats.erases > 100, "{name}: GC hardly ran: {stats:?}");
    });
}

fn a_hot_spot_keeps_the_last_version(kind: MappingKind) {
    with_each_system(kind, |mut rig, _| {
        let mut rng = Rng::new(12);
        rig.churn(&mut rng, 20_000, 200, 24);
        rig.settle();
        rig.read_all();
    });
}

/// Everything is trimmed as soon as it is acknowledged, part of it while it is being programmed. So superblocks fill up
/// without valid pages. They are erased without GC, because there is nothing to copy.
fn what_the_host_trims_is_erased_without_gc(kind: MappingKind) {
    with_each_system(kind, |mut rig, name| {
        for n in 0..6_000 {
            let lpa = units::Lpa(n % 24 * 8);
            rig.submit(host::RequestOp::Write { fua: false }, lpa, 8, 8);
            rig.submit(host::RequestOp::Unmap, lpa, 8, 8);
        }
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.data_units_programmed > 40_960, "{name}: less was written than the flash holds: {stats:?}");
        assert_eq!(stats.gc_victims, 0, "{name}: {stats:?}");
    });
}

fn every_operation_has_a_cause_and_a_time(kind: MappingKind) {
    with_each_system(kind, |mut rig, name| {
        let mut rng = Rng::new(13);
        rig.churn(&mut rng, 10_000, 32_768, 8);
        rig.settle();
        let (stats, nand) = (rig.device().stats(), *rig.device().nand_counters());
        let programmed = nand.total_bytes(nand::Kind::Program) / 4096;
        let accounted =
            stats.data_units_programmed + stats.gc_units_programmed + stats.padding_units + stats.map_units_programmed;
        assert_eq!(programmed, accounted, "{name}: units programmed and their kinds");
        let dies = 4;
        assert_eq!(nand.total_ops(nand::Kind::Erase) % dies, 0, "{name}: a superblock is erased on all dies");
        assert!(stats.data_units_programmed <= stats.host_units_written, "{name}");
    });
}

fn a_quiet_device_holds_no_buffers(kind: MappingKind) {
    with_each_system(kind, |mut rig, name| {
        let mut rng = Rng::new(14);
        for _ in 0..20 {
            rig.churn(&mut rng, 200, 4096, 8);
            rig.settle();
            assert!(rig.device().is_idle(), "{name}: not idle after everything has been answered");
        }
    });
}

/// A mapping cache of single entries gives the same data as one of segments.
#[test]
fn single_entries_in_sram_are_never_out_of_date() {
    let set = ["scheme.segment-log.cached=entries", "sram.segment_cache_kib=4"];
    let set = set.map(|text| parse_override(text).expect("a well formed override"));
    with_each_system_of(&set, MappingKind::SegmentLog, |mut rig, name| {
        let mut rng = Rng::new(16);
        rig.churn(&mut rng, 20_000, 3_000, 16);
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.segment_hits > 500 && stats.segment_misses > 500, "{name}: {stats:?}");
    });
}

/// Most of the device has cold data, and writes go to a small part. Without wear levelling the superblocks of the cold
/// data would never be erased.
fn wear_is_levelled(kind: MappingKind) {
    let spread = 8;
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    assert_eq!(profile.device_config([0, 0]).wear_spread, spread);
    with_each_system(kind, |rig, name| {
        let stats = wear_out_a_corner(rig);
        assert!(stats.max_erase_count > 3 * u64::from(spread), "{name}: too little was written: {stats:?}");
        assert!(stats.wear_victims > 0, "{name}: {stats:?}");
        // Levelling alternates with GC and moves one superblock at a time, so the coldest one lags behind the
        // threshold.
        let lag = stats.max_erase_count - stats.min_erase_count;
        assert!(lag <= 2 * u64::from(spread), "{name}: erase counts {lag} apart: {stats:?}");
    });
}

/// The same device without levelling: the check above would notice.
fn wear_without_levelling_is_noticed(kind: MappingKind) {
    let off = parse_override("wear.spread_erases=1000000").expect("a well formed override");
    with_each_system_of(&[off], kind, |rig, name| {
        let stats = wear_out_a_corner(rig);
        let lag = stats.max_erase_count - stats.min_erase_count;
        assert!(lag > 2 * 8, "{name}: erase counts are only {lag} apart without levelling: {stats:?}");
    });
}

/// Cold data over most of the device, and many writes in the remaining part.
fn wear_out_a_corner(mut rig: Rig) -> DeviceStats {
    let mut rng = Rng::new(15);
    for lpa in (0..28_000).step_by(16) {
        rig.submit(host::RequestOp::Write { fua: false }, units::Lpa(lpa), 16, 8);
    }
    for _ in 0..40_000 {
        let lpa = units::Lpa(28_000 + rng.below(290) * 16);
        rig.submit(host::RequestOp::Write { fua: false }, lpa, 16, 16);
    }
    rig.settle();
    rig.read_all();
    rig.device().stats()
}

macro_rules! conformance {
    ($($(#[$doc:meta])* $name:literal => $variant:ident: $scheme:ty $(, in $module:ident)?;)*) => {$(
        #[allow(non_snake_case)]
        mod $variant {
            use device::MappingKind;

            #[test]
            fn is_found_by_its_name() {
                assert_eq!(MappingKind::from_name($name), Some(MappingKind::$variant));
                assert!(MappingKind::NAMES.contains(&$name));
            }

            #[test]
            fn data_survives_gc() {
                super::data_survives_gc(MappingKind::$variant);
            }

            #[test]
            fn a_hot_spot_keeps_the_last_version() {
                super::a_hot_spot_keeps_the_last_version(MappingKind::$variant);
            }

            #[test]
            fn what_the_host_trims_is_erased_without_gc() {
                super::what_the_host_trims_is_erased_without_gc(MappingKind::$variant);
            }

            #[test]
            fn every_operation_has_a_cause_and_a_time() {
                super::every_operation_has_a_cause_and_a_time(MappingKind::$variant);
            }

            #[test]
            fn wear_is_levelled() {
                super::wear_is_levelled(MappingKind::$variant);
            }

            #[test]
            fn wear_without_levelling_is_noticed() {
                super::wear_without_levelling_is_noticed(MappingKind::$variant);
            }

            #[test]
            fn a_quiet_device_holds_no_buffers() {
                super::a_quiet_device_holds_no_buffers(MappingKind::$variant);
            }
        }
    )*};
}
registered_mappings!(conformance);
