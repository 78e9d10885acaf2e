//! Input: text. It is read as a profile, and line by line as overrides (`section.key=value`) of the profile `tiny`.

use lab::profile::{Override, Profile, ProfileError, parse_override};
use lab::system::PRESETS;
use units::Nanos;

use campaign::{Defects, Rig, Rng};

/// Systems are built and used up to this size of their flash, 1 GiB.
const MOST_UNITS: u32 = 1 << 18;

/// More than a profile has keys.
const MOST_OVERRIDES: usize = 64;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    accept(Profile::parse("fuzzed.toml", text, &[]), bytes.len());
    let overrides: Vec<Override> = text.lines().take(MOST_OVERRIDES).filter_map(|l| parse_override(l).ok()).collect();
    if !overrides.is_empty() {
        accept(Profile::load("tiny", &overrides), bytes.len());
    }
}

/// What has been accepted makes a system that works.
fn accept(profile: Result<Profile, ProfileError>, choice: usize) {
    let profile = match profile {
        Ok(profile) => profile,
        Err(error) => return assert!(!error.problem.trim().is_empty()),
    };
    let config = profile.device_config([3, 5]);
    assert_eq!(config.geometry.checked_total_units(), Some(config.geometry.total_units()));
    assert!(profile.capacity_units() < config.geometry.total_units());
    let _ = profile.link_config();
    for preset in PRESETS {
        let _ = profile.host_config(preset.parts);
    }
    if config.geometry.total_units() <= MOST_UNITS {
        use_it(&profile, choice);
    }
}

/// A few requests through driver and device; the rig checks what is read.
fn use_it(profile: &Profile, choice: usize) {
    let preset = &PRESETS[choice % PRESETS.len()];
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
