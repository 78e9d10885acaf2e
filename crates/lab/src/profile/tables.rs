//! What the tables of a device take of its SRAM.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ftl::{Device, DeviceConfig, MappingKind};

/// Bytes of SRAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tables {
    /// All tables, with a host that does not keep sealed entries.
    pub plain: u64,
    /// All tables, with one that does.
    pub sealing: u64,
    /// The mapping scheme's own cache, a part of both.
    pub own_cache: u64,
}

/// What has been asked before. Only a device knows, and takes a millisecond to build; a sweep asks at every check of
/// every point, mostly for the same few devices.
static KNOWN: Mutex<BTreeMap<String, Tables>> = Mutex::new(BTreeMap::new());

/// Answers that are kept at most.
const MOST: usize = 256;

impl Tables {
    /// Those of this device.
    pub fn of(config: &DeviceConfig, mapping: MappingKind) -> Tables {
        // All fields are part of the text, so that no value can be forgotten.
        let name = format!("{mapping:?} {config:?}");
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tables) = known().get(&name) {
            return *tables;
        }
        let tables = Tables::asked(Device::new(config.clone(), mapping));
        let mut known = known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(name, tables);
        tables
    }

    fn asked(device: Device) -> Tables {
        Tables {
            plain: device.table_bytes(false),
            sealing: device.table_bytes(true),
            own_cache: device.own_cache_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn the_second_answer_is_the_first_and_no_other_devices() {
        let profile = Profile::load("hp-ufs", &[]).unwrap();
        let config = |capacity_units| DeviceConfig { capacity_units, ..profile.device_config([0; 2]) };
        let (whole, half) = (config(profile.capacity_units()), config(profile.capacity_units() / 2));
        for mapping in schemes::all().iter().copied() {
            for config in [&whole, &half, &whole, &half] {
                assert_eq!(Tables::of(config, mapping), Tables::asked(Device::new(config.clone(), mapping)));
            }
            assert_ne!(Tables::of(&whole, mapping), Tables::of(&half, mapping), "{mapping:?}");
        }
    }
}
