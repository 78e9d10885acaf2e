//! Input: text. It is read as a profile, and each line as an override (`section.key=value`) of the profile `tiny`.

use lab::profile::{Override, Profile, ProfileError, parse_override};
use lab::schemes;
use units::Nanos;

use campaign::{Defects, Rig, Rng};

/// Largest flash for which a system is built and used: 1 GiB.
const MOST_UNITS: u32 = 1 << 18;

/// Most overrides; a profile has fewer keys.
const MOST_OVERRIDES: usize = 64;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    accept(Profile::parse("fuzzed.toml", text, &[]), bytes.len());
    let overrides: Vec<Override> = text.lines().take(MOST_OVERRIDES).filter_map(|l| parse_override(l).ok()).collect();
    if !overrides.is_empty() {
        accept(Profile::load("tiny", &overrides), bytes.len());
    }
}

/// An accepted profile makes a system that works.
fn accept(profile: Result<Profile, ProfileError>, choice: usize) {
    let profile = match profile {
        Ok(profile) => profile,
        Err(error) => return assert!(!error.problem.trim().is_empty()),
    };
    let config = profile.device_config([3, 5]);
    assert_eq!(config.geometry.checked_total_units(), Some(config.geometry.total_units()));
    assert!(profile.capacity_units() < config.geometry.total_units());
    let _ = profile.link_config();
    for preset in schemes() {
        let _ = profile.host_config(preset.parts);
    }
    if config.geometry.total_units() <= MOST_UNITS {
        use_system(&profile, choice);
    }
}

/// Sends a few requests through driver and device; the rig checks all reads.
fn use_system(profile: &Profile, choice: usize) {
    let preset = &schemes()[choice % schemes().len()];
    if profile.check_parts(preset.parts).is_err() {
        return;
    }
    let faults = profile.device_config([3, 5]).faults;
    let defects = Defects { faults, sabotage: None };
    let mut rig = Rig::defective(profile, preset.parts, Nanos::from_micros(5), defects);
    let span = rig.device().info().capacity_units.min(300);
    rig.churn(&mut Rng::new(7), 40, span, 6);
    rig.settle();
}
