//! Settings of the driver.

use std::fmt;

use ufs::DeviceInfo;
use units::Nanos;

use crate::booster::registry::BoosterKind;
use crate::sched::config::SchedConfig;
use crate::sched::registry::SchedulerKind;

/// Tags that a UFS host has (JESD220C clause 10.7.1).
pub(crate) const MAX_TAGS: u8 = 32;

/// Longest pending queue of a scheduler: a notice of a batch has a run for each of its requests.
const MAX_QUEUE: u64 = ufs::MAX_BATCH_RUNS as u64;

/// Bytes of a sealed HPB entry.
pub(crate) const SEALED_BYTES: u64 = 8;

/// Settings of the driver. [`HostConfig::check`] says which values are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostConfig {
    /// Commands in flight at most, 2..=32.
    pub tags: u8,
    /// Of these, how many user commands may not use, so that metadata always gets through; `1..tags`.
    pub internal_tags: u8,
    /// Longest command in 4 KiB units, from 1.
    pub max_transfer_units: u32,
    /// Order of user commands.
    pub scheduler: SchedulerKind,
    /// Settings of the scheduler.
    pub sched: SchedConfig,
    /// Use of host DRAM.
    pub booster: BoosterKind,
    /// Most DRAM that cached mappings may take, in bytes: at least two segments (8 KiB) for `hp-ufs`, one group for
    /// `hpb`, `foam` and `hpbvalve`, one region for `hpb-linux`. `None`: as much as the whole mapping table needs.
    pub memory_limit_bytes: Option<u64>,
    /// `hp-ufs`: capacity of the reorder buffer in entries (HP-UFS Sec. IV-A: 2K).
    pub reorder_entries: u32,
    /// `hpb`: READ BUFFER is sent this long after it became necessary even if the device is busy. `None`: in idle
    /// time only (HPB 2017 Sec. 2.2.2).
    pub hpb_max_defer: Option<Nanos>,
    /// `hpb`: groups are also read at boot, and again when the device reports a change (HPB 2017). Otherwise only when
    /// a read misses (HP-UFS Sec. II).
    pub hpb_eager: bool,
    /// `hpb`: the device is idle once no user request has been outstanding for this long.
    pub hpb_idle: Nanos,
    /// `hpb-linux`, `foam`: memory that is taken from boot on, whether it is used or not (`ufshpb_host_map_kbytes`, the
    /// memory pool of Linux), at most as much as the limit. `None`: all that the limit allows.
    pub hpb_reserved_bytes: Option<u64>,
    /// `hpb-linux`, `foam`, `hpbvalve`: when subregions are fetched and dropped.
    pub hpb_params: HpbParams,
    /// `hpbvalve`: what is remembered of apps.
    pub hpbvalve: HpbvalveConfig,
}

/// Parameters of the Linux driver by their names in sysfs (`hpb_params`), with the defaults of Linux 6.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HpbParams {
    /// Reads of a subregion after which it is fetched, from 1.
    pub activation_thld: u32,
    /// Counts of reads are divided by 2 to the power of this now and then, 1..=31.
    pub normalization_factor: u8,
    /// Reads that a region needs to replace another one.
    pub eviction_thld_enter: u32,
    /// A region with more reads than this is not replaced.
    pub eviction_thld_exit: u32,
    /// Time without reads that counts as one expiry.
    pub read_timeout: Nanos,
    /// Expiries after which entries are dropped, from 1.
    pub read_timeout_expiries: u32,
    /// Time between two looks at the timeouts, not 0.
    pub timeout_polling_interval: Nanos,
    /// Fetches under way at a time, from 1.
    pub inflight_map_req: u8,
}

impl Default for HpbParams {
    fn default() -> HpbParams {
        HpbParams {
            activation_thld: 8,
            normalization_factor: 1,
            eviction_thld_enter: 256,
            eviction_thld_exit: 128,
            read_timeout: Nanos::from_millis(1000),
            read_timeout_expiries: 100,
            timeout_polling_interval: Nanos::from_millis(200),
            inflight_map_req: 1,
        }
    }
}

/// What `hpbvalve` remembers of apps (HPBvalve Sec. 5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HpbvalveConfig {
    /// Apps that have profile lists, from 1.
    pub profile_apps: u16,
    /// Bytes of all profile lists.
    pub profile_bytes: u64,
}

impl Default for HpbvalveConfig {
    fn default() -> HpbvalveConfig {
        HpbvalveConfig { profile_apps: 20, profile_bytes: 1 << 20 }
    }
}

impl Default for HostConfig {
    fn default() -> HostConfig {
        HostConfig {
            tags: MAX_TAGS,
            internal_tags: 8,
            max_transfer_units: 128,
            scheduler: SchedulerKind::Noop,
            sched: SchedConfig::default(),
            booster: BoosterKind::None,
            memory_limit_bytes: None,
            reorder_entries: 2048,
            hpb_max_defer: None,
            hpb_eager: true,
            hpb_idle: Nanos::from_millis(1),
            hpb_reserved_bytes: Some(2 << 20),
            hpb_params: HpbParams::default(),
            hpbvalve: HpbvalveConfig::default(),
        }
    }
}

/// A setting that is not allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostConfigError {
    /// Name of the field.
    pub field: &'static str,
    /// What it was set to.
    pub value: String,
    /// What it may be set to.
    pub allowed: String,
}

impl fmt::Display for HostConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: must be {}", self.field, self.value, self.allowed)
    }
}

impl std::error::Error for HostConfigError {}

impl HostConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field with a value out of its range.
    pub fn check(&self, info: &DeviceInfo) -> Result<(), HostConfigError> {
        within("tags", self.tags.into(), 2, MAX_TAGS.into())?;
        within("internal_tags", self.internal_tags.into(), 1, u64::from(self.tags) - 1)?;
        within("max_transfer_units", self.max_transfer_units.into(), 1, u32::MAX.into())?;
        within("sched.queue", self.sched.queue.into(), 1, MAX_QUEUE)?;
        within("sched.poll_requests", self.sched.poll_requests.into(), 1, u32::MAX.into())?;
        within("sched.cache_entries", self.sched.cache_entries.into(), 1, u32::MAX.into())?;
        within("reorder_entries", self.reorder_entries.into(), 1, u32::MAX.into())?;
        self.hpb_params.check()?;
        within("hpbvalve.profile_apps", self.hpbvalve.profile_apps.into(), 1, u16::MAX.into())?;
        match self.memory_limit_bytes {
            Some(bytes) => self.check_limit(info, bytes),
            None => Ok(()),
        }
    }

    /// Checks a memory limit for the booster that is set.
    pub(crate) fn check_limit(&self, info: &DeviceInfo, bytes: u64) -> Result<(), HostConfigError> {
        within("memory_limit_bytes", bytes, self.booster.smallest_limit(info), u64::MAX)
    }
}

impl HpbParams {
    fn check(&self) -> Result<(), HostConfigError> {
        within("hpb_params.activation_thld", self.activation_thld.into(), 1, u32::MAX.into())?;
        within("hpb_params.normalization_factor", self.normalization_factor.into(), 1, 31)?;
        within("hpb_params.eviction_thld_enter", self.eviction_thld_enter.into(), 1, u32::MAX.into())?;
        let most = u64::from(self.eviction_thld_enter) - 1;
        within("hpb_params.eviction_thld_exit", self.eviction_thld_exit.into(), 0, most)?;
        within("hpb_params.read_timeout_expiries", self.read_timeout_expiries.into(), 1, u32::MAX.into())?;
        let interval = self.timeout_polling_interval.0;
        within("hpb_params.timeout_polling_interval", interval, 1, u64::MAX)?;
        within("hpb_params.inflight_map_req", self.inflight_map_req.into(), 1, MAX_TAGS.into())
    }
}

fn within(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), HostConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(HostConfigError { field, value: value.to_string(), allowed: format!("{min} to {max}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: DeviceInfo = DeviceInfo {
        capacity_units: 1 << 20,
        superblocks: 300,
        superblock_units: 4096,
        hpb_group_entries: 4096,
        hpb_region_groups: 1,
        hpb_max_blocks: 128,
        hpb_device_control: false,
        map_page_entries: 1024,
    };

    #[test]
    fn the_defaults_are_allowed_for_every_booster() {
        for &booster in BoosterKind::ALL {
            let config = HostConfig { booster, ..HostConfig::default() };
            assert_eq!(config.check(&INFO), Ok(()));
        }
    }

    #[test]
    fn an_error_names_field_value_and_range() {
        let config = HostConfig { tags: 33, ..HostConfig::default() };
        assert_eq!(config.check(&INFO).unwrap_err().to_string(), "tags = 33: must be 2 to 32");
        let config = HostConfig { internal_tags: 32, ..HostConfig::default() };
        assert_eq!(config.check(&INFO).unwrap_err().field, "internal_tags");
    }

    #[test]
    fn each_booster_has_a_smallest_memory_limit() {
        let limited = |booster, bytes| HostConfig { booster, memory_limit_bytes: Some(bytes), ..HostConfig::default() };
        assert!(limited(BoosterKind::None, 0).check(&INFO).is_ok());
        assert!(limited(BoosterKind::HpUfs, 8191).check(&INFO).is_err());
        assert!(limited(BoosterKind::HpUfs, 8192).check(&INFO).is_ok());
        assert!(limited(BoosterKind::Hpb, 32767).check(&INFO).is_err());
        assert!(limited(BoosterKind::Hpb, 32768).check(&INFO).is_ok());
    }
}
