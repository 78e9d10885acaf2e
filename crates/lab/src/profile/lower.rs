//! From a profile to the configurations of device, driver and link.

use ftl::{DeviceConfig, GcConfig, GcPace, LogConfig, SramConfig, WritePathConfig};
use host::HostConfig;
use host::block::{BlockConfig, Cost, IdleConfig, PreemptConfig, StallConfig};
use nand::{CellTiming, Faults, FreeWork, Geometry, Timing};
use ufs::{LinkConfig, OtherUse, PowerConfig, Protocol};
use units::{MIB, Nanos, UNIT_BYTES};
use workload::{MergeLimits, named_seed};

use super::tables::Tables;
use super::{Profile, ProfileError};
use crate::energy::EnergyModel;
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
                own_cache: None,
            },
            write_through: v.sram.write_through,
            write_path: self.write_path(),
            mappings: v.mappings.clone(),
            log: self.log(),
            gc: GcConfig {
                pace: GcPace::from_name(v.gc.pace).expect("the schema lists the paces there are"),
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

    /// What the write path takes besides flash operations.
    fn write_path(&self) -> WritePathConfig {
        let w = &self.values.write_path;
        let micros = |us: u32| Nanos::from_micros(us.into());
        let millis = |ms: u32| Nanos::from_millis(ms.into());
        WritePathConfig {
            rest_after: w.rest_ms.count().map(millis),
            wake: micros(w.wake_us),
            flush: micros(w.flush_us),
            flush_rest_after: w.flush_rest_ms.count().map(millis),
            flush_wake: micros(w.flush_wake_us),
        }
    }

    /// The device of a system. With `sram.covers = "all"`, what the tables of its scheme take is missing from the
    /// pool, and there from the segment cache. A scheme with a cache of its own has it in place of the segment cache.
    ///
    /// # Panics
    /// If [`Profile::check_parts`] refuses the parts.
    pub fn device_of(&self, parts: Parts, key: [u64; 2]) -> DeviceConfig {
        let config = self.device_config(key);
        if self.values.sram.covers != "all" {
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
        let cache = buffers_for(Tables::of(&asked, parts.mapping).own_cache);
        let sram = SramConfig { pool: sram.pool - cache, ..sram };
        DeviceConfig { sram, ..config }
    }

    /// Buffers of the pool whose SRAM the tables of a system take.
    fn buffers_of_tables(&self, parts: Parts) -> u16 {
        if self.values.sram.covers != "all" {
            return 0;
        }
        let Tables { plain, sealing, own_cache } = Tables::of(&self.device_config([0; 2]), parts.mapping);
        let all = if parts.booster.speaks() == Protocol::Hpb { sealing } else { plain };
        buffers_for(all - own_cache)
    }

    /// Checks that the segment cache is larger than the tables that take its place.
    fn check_tables(&self, parts: Parts) -> Result<(), String> {
        let kib = u32::from(self.buffers_of_tables(parts)) * UNIT_KIB;
        let cache = self.values.sram.segment_cache_kib;
        super::checks::require(
            kib == 0 || cache > kib,
            "sram.segment_cache_kib",
            cache,
            format!(
                "above {kib}, the tables of \"{}\" in SRAM, which sram.covers = \"all\" takes from it",
                parts.mapping.name()
            ),
        )
    }

    /// What flash operations take.
    pub(super) fn timing(&self) -> Timing {
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
            free: FreeWork::from_name(self.values.what_if.free).expect("the schema lists what there is"),
        }
    }

    /// What a reader of the results has to know, if some work takes no time.
    pub(crate) fn what_if(&self) -> Option<String> {
        let free = self.values.what_if.free;
        (free != FreeWork::Nothing.name()).then(|| format!("what_if.free = \"{free}\": these operations took no time"))
    }

    fn log(&self) -> LogConfig {
        let log = &self.values.log;
        LogConfig { entries: log.entries as u16, max_log_blocks: log.max_log_blocks as u8 }
    }

    /// Checks that a device and a driver of this profile can have these parts.
    ///
    /// # Errors
    /// Names the key, the value and the allowed range.
    pub fn check_parts(&self, parts: Parts) -> Result<(), ProfileError> {
        let fits = parts.mapping.check(&self.device_config([0; 2])).map_err(|error| error.to_string());
        // What the tables leave has to be enough, too.
        let fits = fits
            .and_then(|()| self.check_tables(parts))
            .and_then(|()| parts.mapping.check(&self.device_of(parts, [0; 2])).map_err(|error| error.to_string()));
        let fits = fits.and_then(|()| super::checks::check_reorder(&self.values, &self.host_config(parts)));
        fits.map_err(|problem| ProfileError { profile: self.origin.clone(), problem })
    }

    /// The driver of a system.
    pub fn host_config(&self, parts: Parts) -> HostConfig {
        let h = &self.values.host;
        HostConfig {
            tags: h.tags as u8,
            internal_tags: h.internal_tags as u8,
            max_transfer_units: h.max_transfer_kib / UNIT_KIB,
            scheduler: parts.scheduler,
            booster: parts.booster,
            memory_limit_bytes: h.memory_mib.count().map(|mib| u64::from(mib) * MIB),
            schedulers: self.values.schedulers,
            boosters: self.values.boosters,
        }
    }

    /// How far the block layer merges neighbouring requests.
    pub fn merge_limits(&self) -> MergeLimits {
        let m = &self.values.merge;
        MergeLimits {
            bytes: u64::from(m.max_kib) * 1024,
            segments: m.max_segments.into(),
            plug_requests: m.plug_requests as usize,
            plug_gap: Nanos::from_micros(m.plug_gap_us.into()),
            plug_sync_gap: Nanos::from_micros(m.plug_sync_gap_us.count().unwrap_or(m.plug_gap_us).into()),
        }
    }

    /// What takes time on the host; `seed` decides what is drawn.
    pub fn block_config(&self, seed: u64) -> BlockConfig {
        let h = &self.values.host_time;
        let nanos = |ns: u32| Nanos(ns.into());
        let micros = |us: u32| Nanos::from_micros(us.into());
        let millis = |ms: u32| Nanos::from_millis(ms.into());
        let cost = |[submit, submit_page, delay, complete, complete_page]: [u32; 5]| Cost {
            submit: nanos(submit),
            submit_page: nanos(submit_page),
            delay: nanos(delay),
            complete: nanos(complete),
            complete_page: nanos(complete_page),
        };
        let write = [
            h.write_submit_ns,
            h.write_submit_page_ns,
            h.write_delay_ns,
            h.write_complete_ns,
            h.write_complete_page_ns,
        ];
        let meta =
            [h.meta_submit_ns, h.meta_submit_page_ns, h.meta_delay_ns, h.meta_complete_ns, h.meta_complete_page_ns];
        let meta = std::array::from_fn(|i| meta[i].count().unwrap_or(write[i]));
        let read =
            [h.read_submit_ns, h.read_submit_page_ns, h.read_delay_ns, h.read_complete_ns, h.read_complete_page_ns];
        let other = [h.other_submit_ns, 0, h.other_delay_ns, h.other_complete_ns, 0];
        BlockConfig {
            nr_requests: h.nr_requests.count(),
            processors: h.processors.count().map(|count| count as u16),
            costs: [read, write, meta, other].map(cost),
            idle: h
                .processor_idle_us
                .count()
                .map(|after| IdleConfig { after: micros(after), wake: micros(h.processor_wake_us) }),
            stalls: (h.stall_percent > 0).then(|| StallConfig {
                percent: h.stall_percent,
                pause: millis(h.stall_pause_ms),
                after: (millis(h.stall_after_min_ms), millis(h.stall_after_max_ms)),
                length: (micros(h.stall_min_us), micros(h.stall_max_us)),
            }),
            preempt: (h.preempt_per_million > 0).then(|| PreemptConfig {
                per_million: h.preempt_per_million,
                length: (micros(h.preempt_min_us), micros(h.preempt_max_us)),
            }),
            seed: named_seed(seed, "host time", 0),
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

    /// When link and device go into power states, and what that takes; `seed` decides what is drawn.
    pub fn power_config(&self, seed: u64) -> PowerConfig {
        let p = &self.values.power;
        let micros = |us: u32| Nanos::from_micros(us.into());
        let millis = |ms: u32| Nanos::from_millis(ms.into());
        PowerConfig {
            auto_hibern8: p.auto_hibern8_idle_us.count().map(micros),
            hibern8_enter: micros(p.hibern8_enter_us),
            hibern8_exit: micros(p.hibern8_exit_us),
            clkgate_delay: p.clkgate_delay_ms.count().map(millis),
            clk_ungate: micros(p.clk_ungate_us),
            autosuspend_delay: p.autosuspend_delay_ms.count().map(millis),
            sleep_enter: micros(p.sleep_enter_us),
            sleep_exit: micros(p.sleep_exit_us),
            clkgate_jitter: micros(p.clkgate_jitter_us),
            other_use: (p.other_use_percent > 0)
                .then(|| OtherUse { percent: p.other_use_percent, within: millis(p.other_use_within_ms) }),
            seed: named_seed(seed, "power", 0),
        }
    }

    /// What the device draws.
    pub fn energy_model(&self) -> EnergyModel {
        let e = &self.values.energy;
        EnergyModel {
            vcc_mv: e.vcc_mv,
            vccq2_mv: e.vccq2_mv,
            die_ua: e.die_ua,
            busy_ua: e.busy_ua,
            idle_ua: e.idle_ua,
            hibern8_ua: e.hibern8_ua,
            clk_gated_ua: e.clk_gated_ua,
            sleep_ua: e.sleep_ua,
        }
    }
}

/// Buffers of 4 KiB; the profile's ranges keep them within 16 bits.
/// Buffers that so many bytes fill, the last one in part.
fn buffers_for(bytes: u64) -> u16 {
    bytes.div_ceil(UNIT_BYTES).try_into().unwrap_or(u16::MAX)
}

fn buffers(kib: u32) -> u16 {
    (kib / UNIT_KIB) as u16
}

/// Rounded to the nearest byte: 1 MiB/s is 1.048576 bytes per microsecond.
fn bytes_per_us(mib_per_s: u32) -> u32 {
    ((u64::from(mib_per_s) * MIB + 500_000) / 1_000_000) as u32
}
