//! From a profile and parts to a system.

use ftl::Device;
use host::{Driver, HostConfigError};
use ufs::Link;
use workload::named_seed;

use crate::error::LabError;
use crate::profile::Profile;
use crate::run::System;
use crate::stack::Stack;
use crate::stack::system::Parts;

/// Builds a system from a profile. `seed` decides the key with which an HPB device seals entries.
///
/// # Errors
/// If the driver's settings do not fit the device.
pub fn assemble(profile: &Profile, parts: Parts, seed: u64) -> Result<System, LabError> {
    let faulty = profile.device_config(sealing_key(seed)).faults.any();
    let mut system = System::of(assemble_stack(profile, parts, seed)?).with_host_time(profile.block_config(seed));
    if faulty {
        system.allow_faults();
    }
    Ok(system)
}

/// Builds driver, link and device from a profile, for who has a run loop of his own.
///
/// # Errors
/// If the driver's settings do not fit the device.
pub fn assemble_stack(profile: &Profile, parts: Parts, seed: u64) -> Result<Stack, LabError> {
    let device = Device::new(profile.device_of(parts, sealing_key(seed)), parts.mapping);
    let config = profile.host_config(parts);
    let info = device.info();
    config.check(&info).map_err(|error| misfit(profile, &error))?;
    let stack = Stack::new(Driver::new(config, info), Link::new(profile.link_config()), device);
    Ok(stack.with_power(profile.power_config(seed)))
}

/// The driver's settings do not fit the device.
pub(crate) fn misfit(profile: &Profile, error: &HostConfigError) -> LabError {
    let section = if error.field.starts_with("scheme.") { "" } else { "host." };
    LabError::Config(format!("profile {}: {section}{error}", profile.origin))
}

/// Key with which an HPB device seals entries until its first reboot.
pub(crate) fn sealing_key(seed: u64) -> [u64; 2] {
    [0, 1].map(|half| named_seed(seed, "hpb sealing key", half))
}
