//! Shared code of the tests of whole systems: fuzz targets, a host that sends a device anything, and a small device.
//! The bench that couples a driver and a device is in crate `campaign`. That crate is shipped; this one is not.

pub mod conformance;
pub mod fuzz;
pub mod hostile;

use lab::profile::{Profile, parse_override};

/// Overrides that make the profile `tiny` even smaller.
const SMALL: [&str; 10] = [
    "device.capacity_mib=16",
    "nand.channels=2",
    "nand.page_kib=4",
    "nand.data_superblocks=96",
    "nand.meta_superblocks=8",
    "gc.start_superblocks=40",
    "sram.pool_kib=160",
    "sram.segment_cache_kib=16",
    "sram.reserve_kib=32",
    "scheme.segment-log.hpb_group_entries=1024",
];

/// A device of 16 MiB with few superblocks, on which GC, writebacks and collection of metadata begin soon.
pub fn small_profile() -> Profile {
    small_profile_with(&[])
}

/// The same device with further overrides.
///
/// # Panics
/// If an override is not well formed, or not within its limits.
pub fn small_profile_with(more: &[&str]) -> Profile {
    let overrides = SMALL.iter().chain(more).map(|text| parse_override(text).expect("a well formed override"));
    Profile::load("tiny", &overrides.collect::<Vec<_>>()).expect("overrides within their limits")
}
