//! From a profile to the configurations of device, driver and link.

use device::{DeviceConfig, GcConfig, GcPace, LogConfig, MappingKind, MappingParams, SramConfig};
use host::{CacheKnowledge, HostConfig, HpbParams, HpbvalveConfig, SchedConfig};
use nand::{CellTiming, Faults, FreeWork, Geometry, Timing};
use params::Owners;
use ufs::LinkConfig;
use units::{MIB, Nanos, UNIT_BYTES};

use super::{CountOr, Profile, ProfileError};
use crate::system::Parts;

/// KiB of a mapping unit.
pub(super) const UNIT_KIB: u32 = (UNIT_BYTES / 1024) as u32;

impl Profile {
    /// Addressable capacity in 4 KiB units.
    pub fn capacity_units(&self) -> u32 {
        self.values.device.capacity_mib * (MIB / UNIT_BYTES) as u32
    }

    /// Shape of the flash.
    pub fn geometry(&self) -> Geometry {
        super::checks::geometry(&self.values)
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
            sram: SramConfig {
                pool: buffers(v.sram.pool_kib),
                segment_cache: buffers(v.sram.segment_cache_kib),
                reserve: buffers(v.sram.reserve_kib),
                entries: false,
            },
            write_through: v.sram.write_through,
            mappings: self.mappings(),
            log: self.log(),
            gc: GcConfig {
                pace: GcPace::from_name(&v.gc.pace).expect("the schema lists the paces there are"),
                start: v.gc.start_superblocks,
                relaxed: v.gc.relaxed_superblocks,
                hurried: v.gc.hurried_superblocks,
                reserve: v.gc.reserve_superblocks,
                units_per_step: v.gc.units_per_step,
            },
            wear_spread: v.wear.spread_erases,
            faults: Faults {
                seed: key[0],
                program_per_million: v.faults.program_per_million,
                erase_per_million: v.faults.erase_per_million,
                read_per_million: v.faults.read_per_million,
            },
            sabotage: None,
            seal_key: key,
        }
    }

    fn mappings(&self) -> MappingParams {
        let v = &self.values;
        let or = |value: &CountOr, word| value.count().map_or(params::CountOr::Word(word), params::CountOr::Count);
        let mut all = MappingParams::default();
        for (key, value) in [
            ("segment_kib", v.map.segment_kib),
            ("flush_above_entries", v.log.flush_above_entries),
            ("handover_above_entries", v.log.handover_above_entries),
            ("gc_pause_at_entries", v.log.gc_pause_at_entries),
            ("entry_bytes", v.cmt.entry_bytes),
            ("page_kib", v.msftl.page_kib),
            ("segment_bytes", v.msftl.segment_bytes),
            ("flush_mib", v.msftl.flush_mib),
            ("hpb_group_entries", v.hpb.group_entries),
            ("hpb_tracked_groups", v.hpb.tracked_groups),
            ("hpb_pending_entries", v.hpb.pending_entries),
            ("hpb_seal_ns", v.hpb.seal_ns),
            ("hpb_region_groups", v.hpb.region_groups),
            ("hpb_max_read_blocks", v.hpb.max_read_blocks),
            ("hpb_recommend_after_reads", v.hpb.recommend_after_reads),
            ("hpb_max_active_regions", v.hpb.max_active_regions),
        ] {
            all.set("*", key, value).expect("checked");
        }
        all.set("*", "cached", v.sram.cached.as_str()).expect("checked");
        all.set("*", "hpb_control", v.hpb.control.as_str()).expect("checked");
        for own in [&mut all.Dftl, &mut all.Cdftl] {
            own.cache_kib = or(&v.cmt.cache_kib, "unlimited");
            own.background_us = or(&v.cmt.background_us, "never");
        }
        all
    }

    fn timing(&self) -> Timing {
        let n = &self.values.nand;
        let cell = |read: u32, program: u32, erase: u32| CellTiming {
            read: Nanos::from_micros(read.into()),
            program: Nanos::from_micros(program.into()),
            erase: Nanos::from_micros(erase.into()),
        };
        Timing {
            slc: cell(n.slc_read_us, n.slc_program_us, n.slc_erase_us),
            tlc: cell(n.tlc_read_us, n.tlc_program_us, n.tlc_erase_us),
            channel_bytes_per_us: bytes_per_us(n.transfer_mib_per_s),
            page_register: n.page_register,
            free: FreeWork::from_name(&self.values.what_if.free).expect("the schema lists what there is"),
        }
    }

    /// What a reader of the results has to know, if some work takes no time.
    pub(crate) fn what_if(&self) -> Option<String> {
        let free = &self.values.what_if.free;
        (free != FreeWork::Nothing.name()).then(|| format!("what_if.free = \"{free}\": these operations took no time"))
    }

    fn log(&self) -> LogConfig {
        let log = &self.values.log;
        LogConfig { entries: log.entries as u16, max_log_blocks: log.max_log_blocks as u8 }
    }

    /// Can a device of this profile have this mapping?
    ///
    /// # Errors
    /// Names the key, the value and the allowed range.
    pub fn check_mapping(&self, mapping: MappingKind) -> Result<(), ProfileError> {
        super::checks::check_mapping(&self.values, mapping)
            .map_err(|problem| ProfileError { profile: self.origin.clone(), problem })
    }

    /// The driver of a system.
    pub fn host_config(&self, parts: Parts) -> HostConfig {
        let h = &self.values.host;
        HostConfig {
            tags: h.tags as u8,
            internal_tags: h.internal_tags as u8,
            max_transfer_units: h.max_transfer_kib / UNIT_KIB,
            scheduler: parts.scheduler,
            sched: self.sched_config(),
            booster: parts.booster,
            memory_limit_bytes: h.memory_mib.count().map(|mib| u64::from(mib) * MIB),
            reorder_entries: h.reorder_entries,
            hpb_max_defer: micros(&h.hpb_max_defer_us),
            hpb_eager: h.hpb_eager,
            hpb_idle: Nanos::from_micros(h.hpb_idle_us.into()),
            hpb_reserved_bytes: h.hpb_reserved_mib.count().map(|mib| u64::from(mib) * MIB),
            hpb_params: self.hpb_params(),
            hpbvalve: HpbvalveConfig {
                profile_apps: self.values.hpbvalve.profile_apps as u16,
                profile_bytes: u64::from(self.values.hpbvalve.profile_kib) * 1024,
            },
        }
    }

    fn hpb_params(&self) -> HpbParams {
        let p = &self.values.hpb_params;
        HpbParams {
            activation_thld: p.activation_thld,
            normalization_factor: p.normalization_factor as u8,
            eviction_thld_enter: p.eviction_thld_enter,
            eviction_thld_exit: p.eviction_thld_exit,
            read_timeout: Nanos::from_millis(p.read_timeout_ms.into()),
            read_timeout_expiries: p.read_timeout_expiries,
            timeout_polling_interval: Nanos::from_millis(p.timeout_polling_interval_ms.into()),
            inflight_map_req: p.inflight_map_req as u8,
        }
    }

    fn sched_config(&self) -> SchedConfig {
        let s = &self.values.sched;
        SchedConfig {
            queue: s.queue as u16,
            deadline: Nanos::from_micros(s.deadline_us.into()),
            knowledge: CacheKnowledge::from_name(&s.cache_knowledge).expect("the schema lists the kinds there are"),
            poll_requests: s.poll_requests,
            cache_entries: s.cache_entries,
            batch_notice: s.batch_notice,
            packed_commands: s.packed_commands,
        }
    }

    /// The link.
    pub fn link_config(&self) -> LinkConfig {
        let l = &self.values.link;
        LinkConfig {
            down_bytes_per_us: bytes_per_us(l.down_mib_per_s),
            up_bytes_per_us: bytes_per_us(l.up_mib_per_s),
            upiu_latency: Nanos(l.upiu_ns.into()),
        }
    }
}

/// Buffers of 4 KiB; the profile's ranges keep them within 16 bits.
fn buffers(kib: u32) -> u16 {
    (kib / UNIT_KIB) as u16
}

fn micros(value: &CountOr) -> Option<Nanos> {
    value.count().map(|us| Nanos::from_micros(us.into()))
}

/// Rounded to the nearest byte: 1 MiB/s is 1.048576 bytes per microsecond.
fn bytes_per_us(mib_per_s: u32) -> u32 {
    ((u64::from(mib_per_s) * MIB + 500_000) / 1_000_000) as u32
}
