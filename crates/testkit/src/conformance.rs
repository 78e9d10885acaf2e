//! The suite that every mapping scheme must pass, also one of another crate.
//!
//! ```ignore
//! ufsim_testkit::conformance!(no_bitmap = no_bitmap::kind());
//! ```
//!
//! makes a module `no_bitmap` with all of its tests. The expression gives the scheme's kind; for a scheme of another
//! crate it calls [`lab::add_scheme`] first, once in a process.

use campaign::{Case, Rig, Rng};
use ftl::{DeviceStats, MappingKind, Sabotage};
use lab::profile::{Override, Profile, parse_override};
use lab::{Preset, schemes};
use units::Nanos;

/// Runs `body` on the tiny profile for every system with this mapping scheme.
fn with_each_system(kind: MappingKind, body: impl Fn(Rig, &str)) {
    with_each_system_of(&[], kind, body);
}

/// The same with these values of the profile: every preset with the scheme as it is, and each variant of the scheme
/// under the first and the last of them, which is under the least host and the most. Campaigns draw more pairs.
pub fn with_each_system_of(set: &[Override], kind: MappingKind, body: impl Fn(Rig, &str)) {
    let presets: Vec<_> = of_scheme(kind).collect();
    let ends = if presets.len() > 1 { vec![presets[0], presets[presets.len() - 1]] } else { presets.clone() };
    with_variant(set, &[], &presets, &body);
    for variant in kind.variants() {
        with_variant(set, variant, &ends, &body);
    }
}

/// Only the first preset, for what does not depend on the host, as it is and with each variant of the scheme.
pub fn with_each_variant_of(set: &[Override], kind: MappingKind, body: impl Fn(Rig, &str)) {
    let first: Vec<_> = of_scheme(kind).take(1).collect();
    for variant in std::iter::once(&[][..]).chain(kind.variants().iter().copied()) {
        with_variant(set, variant, &first, &body);
    }
}

fn with_variant(set: &[Override], variant: &[&str], presets: &[&Preset], body: &impl Fn(Rig, &str)) {
    assert!(!presets.is_empty(), "the mapping scheme is in no preset");
    let own = variant.iter().map(|text| parse_override(&format!("scheme.*.{text}")).expect("a well formed override"));
    let set: Vec<Override> = set.iter().cloned().chain(own).collect();
    let profile = Profile::load("tiny", &set).expect("an embedded profile");
    for preset in presets {
        body(Rig::new(&profile, preset.parts, Nanos::from_micros(3)), &format!("{} {variant:?}", preset.name));
    }
}

/// What was written is read back after GC and wear levelling.
pub fn data_survives_gc(kind: MappingKind) {
    with_each_system(kind, |mut rig, name| {
        let mut rng = Rng::new(11);
        rig.churn(&mut rng, 24_000, 32_768, 16);
        rig.settle();
        rig.read_all();
        let stats = rig.device().stats();
        assert!(stats.gc_victims > 50 && stats.erases > 50, "{name}: GC hardly ran: {stats:?}");
    });
}

/// Overwrites of few addresses race with programs and copies.
pub fn a_hot_spot_keeps_the_last_version(kind: MappingKind) {
    with_each_system(kind, |mut rig, _| {
        let mut rng = Rng::new(12);
        rig.churn(&mut rng, 10_000, 200, 24);
        rig.settle();
        rig.read_all();
    });
}

/// Everything is trimmed as soon as it is acknowledged, part of it while it is being programmed. So superblocks fill up
/// without valid pages. They are erased without GC, because there is nothing to copy.
pub fn what_the_host_trims_is_erased_without_gc(kind: MappingKind) {
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

/// Units programmed add up to data, copies, map and padding.
pub fn every_operation_has_a_cause_and_a_time(kind: MappingKind) {
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

/// Nothing is in flight and no buffer is held after everything has been answered.
pub fn a_quiet_device_holds_no_buffers(kind: MappingKind) {
    with_each_system(kind, |mut rig, name| {
        let mut rng = Rng::new(14);
        for _ in 0..20 {
            rig.churn(&mut rng, 200, 4096, 8);
            rig.settle();
            assert!(rig.device().is_idle(), "{name}: not idle after everything has been answered");
        }
    });
}

/// Most of the device has cold data, and writes go to a small part. Without wear levelling the superblocks of the cold
/// data would never be erased.
pub fn wear_is_levelled(kind: MappingKind) {
    let spread = 8;
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    assert_eq!(profile.device_config([0, 0]).wear_spread, spread);
    with_each_variant_of(&[], kind, |rig, name| {
        let stats = wear_out_a_corner(rig);
        assert!(stats.max_erase_count > 3 * u64::from(spread), "{name}: too little was written: {stats:?}");
        assert!(stats.wear_victims > 0, "{name}: {stats:?}");
        // Levelling alternates with GC and moves one superblock at a time, so the coldest one lags behind the
        // threshold.
        let lag = stats.max_erase_count - stats.min_erase_count;
        assert!(lag <= 2 * u64::from(spread), "{name}: erase counts {lag} apart: {stats:?}");
    });
}

/// The same device without levelling, and the scheme as it is: the check above would notice.
pub fn wear_without_levelling_is_noticed(kind: MappingKind) {
    let off = parse_override("wear.spread_erases=1000000").expect("a well formed override");
    let first: Vec<_> = of_scheme(kind).take(1).collect();
    with_variant(&[off], &[], &first, &|rig: Rig, name: &str| {
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

/// Power cuts at any moment lose nothing.
pub fn power_cuts_lose_nothing(kind: MappingKind) {
    for case in of_scheme(kind).flat_map(|preset| Case::of_scheme(preset.name).take(20)) {
        let failed = |failure: campaign::Failure| panic!("{}: {}", failure.case, failure.what);
        case.run(&|_| ()).unwrap_or_else(failed);
    }
}

/// Cases in which a sabotage has to be found.
const CASES: usize = 200;

/// A campaign without findings proves something only if it finds defects that exist: each promise that the scheme can
/// break is missed soon, under every preset with the scheme.
pub fn every_canary_is_caught(kind: MappingKind) {
    let concerned = Sabotage::ALL.iter().copied().filter(|sabotage| sabotage.concerns(kind));
    let with_preset = concerned.flat_map(|sabotage| of_scheme(kind).map(move |preset| (sabotage, preset)));
    let has_runs = |preset: &Preset| preset.parts.brings.iter().any(|brought| brought.key == "first_level");
    for (sabotage, preset) in with_preset.filter(|(s, preset)| *s != Sabotage::StaleRun || has_runs(preset)) {
        let name = sabotage.name();
        let broken = |case: Case| Case { sabotage: Some(sabotage), ..case }.run_as_it_is().is_err();
        let found = Case::of_scheme(preset.name).take(CASES).position(broken);
        println!("{name:<24} {:<16} {:?}", preset.name, found.map(|before| before + 1));
        assert!(found.is_some(), "{name} under {} is not caught within {CASES} cases", preset.name);
    }
}

fn of_scheme(kind: MappingKind) -> impl Iterator<Item = &'static Preset> {
    schemes().iter().filter(move |preset| preset.parts.mapping == kind)
}

/// Makes a test of each function, which takes the kind of a scheme.
#[macro_export]
macro_rules! tests_of_scheme {
    ($kind:expr, $module:path: $($test:ident)+) => {
        $(
            #[test]
            fn $test() {
                use $module as tests;
                tests::$test($kind);
            }
        )+
    };
}

/// The suite for a scheme, as a module.
#[macro_export]
macro_rules! conformance {
    ($name:ident = $kind:expr) => {
        #[allow(non_snake_case)]
        mod $name {
            $crate::tests_of_scheme! { $kind, $crate::conformance:
                data_survives_gc
                a_hot_spot_keeps_the_last_version
                what_the_host_trims_is_erased_without_gc
                every_operation_has_a_cause_and_a_time
                a_quiet_device_holds_no_buffers
                wear_is_levelled
                wear_without_levelling_is_noticed
                power_cuts_lose_nothing
                every_canary_is_caught
            }
        }
    };
}
