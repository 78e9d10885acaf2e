//! Duration of recovery on the device of the HP-UFS paper (Fig. 11).
//!
//! A device is filled, runs and loses power under one set of limits: nothing is changed on the way.
//!
//! - [`worst_cut`]: the longest recovery that a run under the limits of profile `hp-ufs` can need.
//! - [`recovered`], [`recovery`]: the sweep of the figure, by numbers of segments and of pages that the paper gives.
//!   Some of them are more than the profile's limits let come about, so it has limits of its own.

mod sweep;
mod worst;

use lab::profile::{Profile, parse_override};
use lab::schemes;

use crate::rig::{Defects, Rig};

pub use ftl::DeviceStats;
pub use sweep::{PAGES, recovered, recovery};
pub use worst::{WorstCut, worst_cut};

/// Segments of the paper's device.
pub const SEGMENTS: u32 = 32_768;

/// A new HP-UFS device of 128 GiB: profile `hp-ufs`, its link included, with these settings (`key=value`).
///
/// # Panics
/// If a setting is not one of the profile.
pub fn rig(settings: &[&str]) -> Rig {
    let set: Vec<_> = settings.iter().map(|text| parse_override(text).expect("a well formed setting")).collect();
    let profile = Profile::load("hp-ufs", &set).expect("an embedded profile");
    let preset = schemes().iter().find(|p| p.name == "hp-ufs").expect("a preset");
    Rig::linked(&profile, preset.parts, profile.link_config(), Defects::default())
}
