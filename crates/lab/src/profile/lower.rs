//! From a profile to the configurations of device, driver and link.

use ftl::{BoosterHost, Covers, Device, DeviceConfig, SramConfig};
use host::HostConfig;
use host::block::BlockConfig;
use nand::{FreeWork, Geometry, MetadataPrograms, Timing, WhatIfParams};
use params::ParamError;
use ufs::{LinkConfig, PowerConfig, Protocol};
use units::{LogicalUnit, LogicalUnits, MIB, Nanos, UNIT_BYTES, UNIT_KIB};
use workload::named_seed;

use super::{Profile, ProfileError};
use crate::stack::system::Parts;

impl Profile {
    /// Addressable capacity in 4 KiB units.
    pub fn capacity_units(&self) -> u32 {
        self.values.capacity_mib() * (MIB / UNIT_BYTES) as u32
    }

    /// The logical units.
    pub fn logical_units(&self) -> LogicalUnits {
        self.values.logical_units()
    }

    /// The logical unit to which WriteBooster is dedicated; `None` if there is none, or all share it.
    pub fn boosted_unit(&self) -> Option<LogicalUnit> {
        let lun = self.values.slc.dedicated_lu.count()?;
        self.logical_units().get(u8::try_from(lun).ok()?)
    }

    /// Shape of the flash.
    pub fn geometry(&self) -> Geometry {
        self.values.geometry()
    }

    /// The device. `key` seals the entries published to an HPB host, and decides which flash operations fail.
    pub fn device_config(&self, key: [u64; 2]) -> DeviceConfig {
        let v = &self.values;
        DeviceConfig {
            geometry: self.geometry(),
            timing: self.timing(),
            capacity_units: self.capacity_units(),
            command_cost: Nanos(v.firmware.command_ns.into()),
            idle_flush: Nanos::from_micros(v.firmware.idle_flush_us.into()),
            sram: v.sram.config(),
            write_through: v.sram.write_through,
            write_path: v.write_path.config(),
            mappings: v.mappings.clone(),
            log: v.log.config(),
            gc: v.gc.config(v.what_if.copies_percent),
            slc: v.slc.config(
                v.gc.hurried_superblocks,
                BoosterHost {
                    flags: v.host.booster_flags(),
                    hibernates_after: v.power.config(0).hibernates_after(), // whatever is drawn
                    serves: self.boosted_unit().map(|unit| (unit.first, unit.units)),
                },
            ),
            wear_spread: v.wear.spread_erases,
            refresh_reads: v.wear.refresh_reads.count(),
            endurance: v.wear.endurance(),
            host_tags: v.host.config().tags,
            faults: v.faults.faults(key[0]),
            sabotage: None,
            seal_key: key,
        }
    }

    /// The device of a system. With `sram.covers = "all"`, what the tables of its scheme take is missing from the
    /// pool, and there from the segment cache. A scheme with a cache of its own has it in place of the segment cache.
    ///
    /// # Panics
    /// If [`Profile::check_parts`] refuses the parts.
    pub fn device_of(&self, parts: Parts, key: [u64; 2]) -> DeviceConfig {
        let config = self.device_config(key);
        if self.values.sram.covers != Covers::All {
            return config;
        }
        let tables = self.buffers_of_tables(parts);
        let Some(segment_cache) = config.sram.segment_cache.checked_sub(tables) else {
            panic!("no segment cache is left beside {tables} buffers of tables: the parts were not checked");
        };
        let own_cache = Some(u64::from(segment_cache) * UNIT_BYTES);
        let sram = SramConfig { pool: config.sram.pool - tables, segment_cache, own_cache, ..config.sram };
        // Of whatever key: it decides no size.
        let asked = DeviceConfig { sram, ..self.device_config([0; 2]) };
        let cache = buffers_for(Device::new(asked, parts.mapping).own_cache_bytes());
        let sram = SramConfig { pool: sram.pool - cache, ..sram };
        DeviceConfig { sram, ..config }
    }

    /// Buffers of the pool whose SRAM the tables of a system take.
    fn buffers_of_tables(&self, parts: Parts) -> u16 {
        if self.values.sram.covers != Covers::All {
            return 0;
        }
        // Only a device knows, and takes a millisecond to build.
        let device = Device::new(self.device_config([0; 2]), parts.mapping);
        buffers_for(device.table_bytes(parts.booster.speaks() == Protocol::Hpb) - device.own_cache_bytes())
    }

    /// Checks that the segment cache is larger than the tables that take its place.
    fn check_tables(&self, parts: Parts) -> Result<(), ParamError> {
        let kib = u32::from(self.buffers_of_tables(parts)) * UNIT_KIB;
        let cache = self.values.sram.segment_cache_kib;
        let takes = "which sram.covers = \"all\" takes from it";
        let allowed = format!("above {kib}, the tables of \"{}\" in SRAM, {takes}", parts.mapping.name());
        super::checks::require(kib == 0 || cache > kib, "sram", "segment_cache_kib", cache, allowed)
    }

    /// Cell times, and the rate of channels.
    pub fn timing(&self) -> Timing {
        let nand = &self.values.nand;
        nand.timing.timing(&nand.suspend, &nand.retry, &self.values.what_if)
    }

    /// What a reader of the results has to know, if some work takes another time than on a device.
    pub(crate) fn what_if(&self) -> Vec<String> {
        let WhatIfParams { free, metadata_programs, copies_percent } = self.values.what_if;
        let mut told = Vec::new();
        if free != FreeWork::Nothing {
            told.push(format!("what_if.free = \"{}\": these operations took no time", free.name()));
        }
        if metadata_programs != MetadataPrograms::Pages {
            let name = metadata_programs.name();
            told.push(format!("what_if.metadata_programs = \"{name}\": programs of metadata took longer than a page"));
        }
        if copies_percent > 0 {
            told.push(format!("what_if.copies_percent = {copies_percent}: pages at random places were copied besides"));
        }
        told
    }

    /// Checks that a device and a driver of this profile can have these parts.
    ///
    /// # Errors
    /// Names the key, the value and the allowed range.
    pub fn check_parts(&self, parts: Parts) -> Result<(), ProfileError> {
        let fits = parts
            .mapping
            .check(&self.device_config([0; 2]))
            // What the tables leave has to be enough, too.
            .and_then(|()| self.check_tables(parts))
            .and_then(|()| parts.mapping.check(&self.device_of(parts, [0; 2])))
            .and_then(|()| super::checks::check_reorder(&self.values, &self.host_config(parts)))
            .and_then(|()| super::checks::check_copies(&self.values, parts.mapping))
            .and_then(|()| self.check_regions(parts));
        fits.map_err(|error| ProfileError { profile: self.origin.clone(), problem: error.to_string() })
    }

    /// Checks that no HPB region lies in two logical units.
    fn check_regions(&self, parts: Parts) -> Result<(), ParamError> {
        let units = self.logical_units();
        if units.count() == 1 || parts.booster.speaks() != Protocol::Hpb {
            return Ok(());
        }
        let info = Device::new(self.device_config([0; 2]), parts.mapping).info();
        let region = info.hpb_group_entries.saturating_mul(info.hpb_region_groups);
        let wrong = units.all().find(|unit| !unit.first.0.is_multiple_of(region));
        let per_mib = (MIB / UNIT_BYTES) as u32;
        let (lun, first) = wrong.map_or((0, 0), |unit| (unit.lun, unit.first.0 / per_mib));
        let allowed = format!(
            "sizes with which every unit begins at a multiple of {} MiB, an HPB region of \"{}\"; unit {lun} begins at \
             {first} MiB",
            region / per_mib,
            parts.mapping.name()
        );
        let given = self.values.device.further_lus_mib;
        super::checks::require(wrong.is_none(), "device", "further_lus_mib", given, allowed)
    }

    /// The driver of a system.
    pub fn host_config(&self, parts: Parts) -> HostConfig {
        HostConfig {
            scheduler: parts.scheduler,
            booster: parts.booster,
            schedulers: self.values.schedulers,
            boosters: self.values.boosters,
            ..self.values.host.config()
        }
    }

    /// What takes time on the host; `seed` decides what is drawn.
    pub fn block_config(&self, seed: u64) -> BlockConfig {
        self.values.host_time.config(named_seed(seed, "host time", 0))
    }

    /// The link.
    pub fn link_config(&self) -> LinkConfig {
        self.values.link.config()
    }

    /// When link and device go into power states, and what that takes; `seed` decides what is drawn.
    pub fn power_config(&self, seed: u64) -> PowerConfig {
        self.values.power.config(named_seed(seed, "power", 0))
    }
}

/// Buffers that so many bytes fill, the last one in part.
fn buffers_for(bytes: u64) -> u16 {
    bytes.div_ceil(UNIT_BYTES).try_into().unwrap_or(u16::MAX)
}
