//! Segments written in parts of 1 and 2 KiB (`scheme.*.segment_kib`): no data is lost, and less is written.

use campaign::{Rig, Rng};
use ftl::DeviceStats;
use lab::profile::{Profile, parse_override};
use lab::schemes;
use proptest::prelude::*;
use ufsim_testkit::small_profile_with;
use units::Nanos;

const SCHEMES: [&str; 3] = ["ufs", "hpb", "hp-ufs"];

fn rig(profile: &Profile, scheme: &str) -> Rig {
    let preset = schemes().iter().find(|preset| preset.name == scheme).expect("a preset");
    Rig::new(profile, preset.parts, Nanos::from_micros(3))
}

/// Overrides that make the profile `tiny` larger: 256 segments, of which a log block of 256 units touches some.
const MANY_SEGMENTS: [&str; 3] = ["device.capacity_mib=1024", "nand.data_superblocks=1100", "nand.meta_superblocks=16"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Writes, trims, reads and flushes on a device on which everything happens often, and power cuts at any moment.
    /// The oracle of the bench knows what each unit may hold.
    #[test]
    fn the_oracle_agrees_whatever_the_size(
        seed in any::<u64>(),
        segment_kib in prop_oneof![Just(1u32), Just(2), Just(4)],
        scheme in prop_oneof![Just("ufs"), Just("hpb"), Just("hp-ufs")],
        span in prop_oneof![Just(300u32), Just(4096)],
        requests in 1..2500u32,
        depth in 1..24usize,
        cuts in 0..3u32,
    ) {
        let profile = small_profile_with(&[&format!("scheme.*.segment_kib={segment_kib}")]);
        let mut rig = rig(&profile, scheme);
        let mut rng = Rng::new(seed);
        for _ in 0..cuts {
            rig.churn(&mut rng, requests, span, depth);
            let more = rng.below(120);
            rig.run(more);
            rig.power_cut(&mut rng, 1);
        }
        rig.churn(&mut rng, requests, span, depth);
        rig.settle();
        rig.read_all();
    }
}

/// Writes single units all over the device, without GC.
fn scattered(segment_kib: u32, scheme: &str) -> DeviceStats {
    let size = format!("scheme.*.segment_kib={segment_kib}");
    let set = MANY_SEGMENTS.into_iter().chain([size.as_str()]);
    let set: Vec<_> = set.map(|text| parse_override(text).expect("a well formed override")).collect();
    let profile = Profile::load("tiny", &set).expect("overrides within their limits");
    let mut rig = rig(&profile, scheme);
    let mut rng = Rng::new(5);
    let units = rig.device().info().capacity_units;
    for _ in 0..12_000 {
        rig.submit(host::RequestOp::Write { fua: false }, units::Lpa(rng.below(units)), 1, 8);
    }
    rig.settle();
    rig.read_all();
    rig.device().stats()
}

/// Scattered writes touch about as many parts as segments, so smaller parts reduce the written bytes accordingly.
#[test]
fn smaller_parts_of_scattered_writes_take_fewer_pages() {
    for scheme in SCHEMES {
        let [whole, halves, quarters] = [4, 2, 1].map(|kib| scattered(kib, scheme));
        assert!(whole.segment_writes < halves.segment_writes, "{scheme}: {whole:?}");
        assert!(halves.segment_writes < quarters.segment_writes, "{scheme}: {halves:?}");
        assert!(whole.map_units_programmed > halves.map_units_programmed, "{scheme}: {halves:?}");
        assert!(halves.map_units_programmed > quarters.map_units_programmed, "{scheme}: {quarters:?}");
    }
}
