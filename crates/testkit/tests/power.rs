//! Power cuts at any moment: what was acknowledged and made durable is there, nothing is torn, nothing comes back.

use device::{MappingKind, registered_mappings};
use lab::{profile::Profile, schemes};
use ufsim_testkit::{Rig, Rng};
use units::Nanos;

fn cuts(kind: MappingKind, seeds: std::ops::Range<u64>, span: u32) {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    for preset in schemes().iter().filter(|preset| preset.parts.mapping == kind) {
        for seed in seeds.clone() {
            let mut rng = Rng::new(seed);
            let mut rig = Rig::new(&profile, preset.parts, Nanos::from_micros(3));
            for _ in 0..4 {
                let count = rng.below(3000);
                rig.churn(&mut rng, count, span, 16);
                let more = rng.below(200);
                rig.run(more);
                let again = rng.below(3);
                rig.power_cut(&mut rng, again);
            }
        }
    }
}

macro_rules! power {
    ($($(#[$doc:meta])* $name:literal => $variant:ident: $scheme:ty;)*) => {
        #[allow(non_snake_case)]
        mod survives {
            use super::*;

            $(#[test]
            fn $variant() {
                cuts(MappingKind::$variant, 0..6, 4096);
                cuts(MappingKind::$variant, 10..13, 30_000);
            })*
        }
    };
}
registered_mappings!(power);
