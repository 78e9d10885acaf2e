//! HP-UFS Sec. III-E: a host write and a GC copy of the same address overtake each other. The device copies a page
//! whose bitmap bit is out of date, and the host has to discard the copy by its source block.

use campaign::{Rig, Rng};
use lab::{profile::Profile, schemes};
use proptest::prelude::*;
use units::Nanos;

/// A slow link makes the host's bitmap out of date when it arrives. Writes to few addresses overwrite them while they
/// are being copied.
fn race(seed: u64, delay_us: u64, span: u32, depth: usize) -> (u64, u64) {
    let profile = Profile::load("tiny", &[]).expect("an embedded profile");
    let parts = schemes().iter().find(|p| p.name == "hp-ufs").expect("a preset").parts;
    let mut rig = Rig::new(&profile, parts, Nanos::from_micros(delay_us));
    let mut rng = Rng::new(seed);
    // Fill most of the device once, so that GC always has work, then overwrite a part of it.
    for lpa in (0..30_000).step_by(40) {
        rig.submit(host::RequestOp::Write { fua: false }, units::Lpa(lpa), 40, 8);
    }
    rig.churn(&mut rng, 8_000, span, depth);
    rig.settle();
    rig.read_all();
    (rig.driver().counter("units_discarded"), rig.device().stats().gc_units_programmed)
}

#[test]
fn overtaken_copies_are_made_and_discarded() {
    let (mut discarded, mut copied) = (0, 0);
    for seed in 1..=6 {
        let (d, c) = race(seed, 150, 20_000, 32);
        discarded += d;
        copied += c;
    }
    assert!(discarded > 100 && copied > 10_000, "the race hardly happened: {discarded} of {copied} copies discarded");
}

/// A copy waits for a full row while its source block is erased and filled again, with newer data of the same address.
/// The property below has found this.
#[test]
fn a_waiting_copy_does_not_outlive_its_source_block() {
    race(4_348_220_376_973_065_884, 187, 27_014, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_last_version_wins_whatever_the_timing(
        seed in any::<u64>(), delay_us in 1u64..400, span in 1_000u32..30_000, depth in 1usize..=32,
    ) {
        race(seed, delay_us, span, depth);
    }
}
