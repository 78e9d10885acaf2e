//! Settings of the driver.

use std::fmt;
use std::hash::{Hash, Hasher};

use params::{Owners, ParamError};
use ufs::{BoosterFlags, DeviceInfo, MAX_TAGS};
use units::{MIB, UNIT_KIB};

use crate::booster::BoosterKind;
use crate::booster::BoosterParams;
use crate::sched::SchedulerKind;
use crate::sched::SchedulerParams;

/// Slots of the one list of a host controller without several queues (UFSHCI 3.0, JESD223D: CAP.NUTRS).
pub(crate) const LIST_SLOTS: u16 = 32;

params::params! {
    /// The host's driver.
    pub HostParams {
        /// Commands in flight, in all hardware queues together (host_time.queues).
        tags: count(2 to 256);
        /// Tags kept for the driver's own commands.
        internal_tags: count(1 to 255);
        /// Largest transfer of one command.
        max_transfer_kib: count(4 to 4096);
        /// Host DRAM for cached L2P entries.
        memory_mib: count_or("unlimited" 1 to 65536);
        /// The driver switches WriteBooster on (sysfs: wb_on) if the device has it (slc.write_booster).
        wb_on: switch = true, "Linux, ufshcd_configure_wb: on when the device is found";
        /// It has WriteBooster flushed whenever no command is under way (sysfs: enable_wb_buf_flush).
        wb_buf_flush: switch = true, "Linux, ufshcd_configure_wb: set unless a controller's driver forbids it";
        /// It has WriteBooster flushed while the link hibernates. The idle time for that is the shortest of power.*.
        wb_buf_flush_during_h8: switch = true, "Linux, ufshcd_configure_wb: always set";
    }
}

impl HostParams {
    /// The flags of WriteBooster that the driver sets whenever the device has got power. It does not scale with the
    /// load, and does not keep the device awake for a flush.
    pub fn booster_flags(&self) -> BoosterFlags {
        let HostParams { wb_on: enabled, wb_buf_flush: flush, wb_buf_flush_during_h8: flush_in_hibernation, .. } =
            *self;
        BoosterFlags { enabled, flush, flush_in_hibernation }
    }

    /// These settings, without scheduler and booster.
    pub fn config(&self) -> HostConfig {
        HostConfig {
            tags: self.tags as u16,
            internal_tags: self.internal_tags as u16,
            max_transfer_units: self.max_transfer_kib / UNIT_KIB,
            memory_limit_bytes: self.memory_mib.count().map(|mib| u64::from(mib) * MIB),
            ..HostConfig::default()
        }
    }

    /// Refuses what does not fit together.
    ///
    /// # Errors
    /// Names the key, its value and the allowed range.
    pub fn check(&self) -> Result<(), ParamError> {
        let wrong = |key, value: u32, allowed| Err(ParamError::must_be("host", key, &value.into(), allowed));
        if self.internal_tags >= self.tags {
            return wrong("internal_tags", self.internal_tags, format!("below host.tags = {}", self.tags));
        }
        if !self.max_transfer_kib.is_multiple_of(UNIT_KIB) {
            return wrong("max_transfer_kib", self.max_transfer_kib, "a multiple of 4".into());
        }
        Ok(())
    }
}

/// Settings of the driver. [`HostConfig::check`] says which values are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostConfig {
    /// Most commands in flight, 2..=256.
    pub tags: u16,
    /// Tags that user commands may not use, so that metadata always gets through; `1..tags`.
    pub internal_tags: u16,
    /// Longest command in 4 KiB units, from 1.
    pub max_transfer_units: u32,
    /// Order of user commands.
    pub scheduler: SchedulerKind,
    /// The parameters of all schedulers. The one in use gets its own.
    pub schedulers: SchedulerParams,
    /// Use of host DRAM.
    pub booster: BoosterKind,
    /// Most DRAM that cached mappings may take, in bytes. At least two segments (8 KiB) for `hp-ufs`, one group for
    /// `hpb`, `foam` and `hpbvalve`, one region for `hpb-linux`. `None`: as much as the whole mapping table needs.
    pub memory_limit_bytes: Option<u64>,
    /// The parameters of all boosters. The one in use gets its own.
    pub boosters: BoosterParams,
}

impl Default for HostConfig {
    fn default() -> HostConfig {
        HostConfig {
            tags: LIST_SLOTS,
            internal_tags: 8,
            max_transfer_units: 128,
            scheduler: SchedulerKind::Noop,
            schedulers: SchedulerParams::default(),
            booster: BoosterKind::None,
            memory_limit_bytes: None,
            boosters: BoosterParams::default(),
        }
    }
}

/// A setting that is not allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostConfigError {
    /// Name of the field, or `scheme.NAME.KEY` of a parameter.
    pub field: String,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

impl fmt::Display for HostConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: must be {}", self.field, self.value, self.allowed)
    }
}

impl std::error::Error for HostConfigError {}

impl HostConfigError {
    fn of_scheme(error: ParamError) -> HostConfigError {
        let allowed = error.problem.trim_start_matches(": must be ").into();
        let field = format!("scheme.{}.{}", error.table, error.key);
        HostConfigError { field, value: error.value.unwrap_or_default(), allowed }
    }
}

impl HostConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field with a value out of its range.
    pub fn check(&self, info: &DeviceInfo) -> Result<(), HostConfigError> {
        within("tags", self.tags.into(), 2, MAX_TAGS.into())?;
        within("internal_tags", self.internal_tags.into(), 1, u64::from(self.tags) - 1)?;
        within("max_transfer_units", self.max_transfer_units.into(), 1, u32::MAX.into())?;
        BoosterParams::read("", &|name| self.boosters.table_of(name)).map_err(HostConfigError::of_scheme)?;
        SchedulerParams::read("", &|name| self.schedulers.table_of(name)).map_err(HostConfigError::of_scheme)?;
        self.booster.check(&self.boosters).map_err(HostConfigError::of_scheme)?;
        self.check_entries(info)?;
        match self.memory_limit_bytes {
            Some(bytes) => self.check_limit(info, bytes),
            None => Ok(()),
        }
    }

    /// Only the driver of the 2017 paper knows plain entries. HPB 2.0 has entries of 8 bytes that the host cannot read,
    /// so its drivers cannot tell which chunks are contiguous (HPB 2017 Sec. 3.4).
    fn check_entries(&self, info: &DeviceInfo) -> Result<(), HostConfigError> {
        use BoosterKind::{Foam, HpbLinux, Hpbvalve};
        if !info.has_plain_entries() || !matches!(self.booster, HpbLinux | Foam | Hpbvalve) {
            return Ok(());
        }
        let allowed = format!("\"sealed\" for booster {}: entries of HPB 2.0 have 8 bytes", self.booster.name());
        Err(HostConfigError { field: "scheme.segment-log.hpb_entry".into(), value: "\"plain\"".into(), allowed })
    }

    /// Checks a memory limit for the booster that is set.
    pub(crate) fn check_limit(&self, info: &DeviceInfo, bytes: u64) -> Result<(), HostConfigError> {
        within("memory_limit_bytes", bytes, self.booster.smallest_limit(info), u64::MAX)
    }
}

fn within(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), HostConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(HostConfigError { field: field.into(), value: value.to_string(), allowed: format!("{min} to {max}") })
}

/// Settings never change, so they are no part of the state of a driver.
impl Hash for HostConfig {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: DeviceInfo = DeviceInfo { superblocks: 300, ..DeviceInfo::USUAL };

    #[test]
    fn the_defaults_are_allowed_for_every_booster() {
        for &booster in BoosterKind::ALL {
            let config = HostConfig { booster, ..HostConfig::default() };
            assert_eq!(config.check(&INFO), Ok(()));
        }
    }

    #[test]
    fn an_error_names_field_value_and_range() {
        let config = HostConfig { tags: 257, ..HostConfig::default() };
        assert_eq!(config.check(&INFO).unwrap_err().to_string(), "tags = 257: must be 2 to 256");
        let config = HostConfig { internal_tags: 32, ..HostConfig::default() };
        assert_eq!(config.check(&INFO).unwrap_err().field, "internal_tags");
    }

    #[test]
    fn an_error_in_a_parameter_names_its_key() {
        let refused = |booster, key: &str, value: u32| {
            let mut config = HostConfig { booster, ..HostConfig::default() };
            match key {
                "eviction_thld_exit" => config.boosters.HpbLinux.eviction_thld_exit = value,
                _ => config.schedulers.Row.queue.queue = value,
            }
            config.check(&INFO).map_err(|error| error.to_string())
        };
        let exit = refused(BoosterKind::HpbLinux, "eviction_thld_exit", 256).unwrap_err();
        assert_eq!(exit, "scheme.hpb-linux.eviction_thld_exit = 256: must be below eviction_thld_enter = 256");
        assert_eq!(refused(BoosterKind::None, "eviction_thld_exit", 256), Ok(()));
        assert_eq!(refused(BoosterKind::None, "queue", 0).unwrap_err(), "scheme.row.queue = 0: must be 1..=1024");
    }

    #[test]
    fn drivers_of_hpb_2_refuse_plain_entries() {
        let plain = DeviceInfo { hpb_entry_bytes: 4, ..INFO };
        let refused = |booster| HostConfig { booster, ..HostConfig::default() }.check(&plain).err();
        let refused: Vec<_> = BoosterKind::ALL.iter().filter_map(|&booster| refused(booster)).collect();
        assert_eq!(refused.len(), 3, "{refused:?}");
        assert_eq!(
            refused[0].to_string(),
            "scheme.segment-log.hpb_entry = \"plain\": must be \"sealed\" for booster hpb-linux: entries of HPB 2.0 \
             have 8 bytes"
        );
    }

    #[test]
    fn each_booster_has_a_smallest_memory_limit() {
        let limited = |booster, bytes| HostConfig { booster, memory_limit_bytes: Some(bytes), ..HostConfig::default() };
        assert!(limited(BoosterKind::None, 0).check(&INFO).is_ok());
        assert!(limited(BoosterKind::HpUfs, 8191).check(&INFO).is_err());
        assert!(limited(BoosterKind::HpUfs, 8192).check(&INFO).is_ok());
        assert!(limited(BoosterKind::Hpb, 32767).check(&INFO).is_err());
        assert!(limited(BoosterKind::Hpb, 32768).check(&INFO).is_ok());
        let plain = DeviceInfo { hpb_entry_bytes: 4, ..INFO };
        assert!(limited(BoosterKind::Hpb, 16383).check(&plain).is_err());
        assert!(limited(BoosterKind::Hpb, 16384).check(&plain).is_ok());
    }
}
