//! A small device for tests of what a scheme decides.

use nand::{CellTiming, Faults, FreeWork, Geometry, Timing};
use units::Nanos;

use crate::config::{CmtConfig, DeviceConfig, GcConfig, GcPace, HpbConfig, LogConfig, MsftlConfig, SramConfig};

/// 4096 addresses on one die, 512 in a translation page, of which `entries` fit the SRAM.
pub fn config(entries: u64) -> DeviceConfig {
    let us = Nanos::from_micros;
    let cell = CellTiming { read: us(35), program: us(350), erase: us(3000) };
    DeviceConfig {
        geometry: Geometry {
            channels: 1,
            dies_per_channel: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 64,
            data_superblocks: 80,
            meta_superblocks: 4,
        },
        timing: Timing { slc: cell, tlc: cell, channel_bytes_per_us: 0, page_register: false, free: FreeWork::Nothing },
        capacity_units: 4096,
        command_cost: Nanos(0),
        idle_flush: us(100),
        write_through: true,
        sram: SramConfig { pool: 32, segment_cache: 1, reserve: 12, entries: false },
        map_segment_bytes: 4096,
        cmt: CmtConfig { cache_bytes: 8 * entries, entry_bytes: 8, background: None },
        msftl: MsftlConfig { page_bytes: 4096, segment_bytes: 1024, flush_units: 256 },
        log: LogConfig { entries: 128, flush_above: 96, handover_above: 64, gc_pause_at: 64, max_log_blocks: 8 },
        gc: GcConfig { pace: GcPace::Searched, start: 8, relaxed: 6, hurried: 4, reserve: 2, units_per_step: 64 },
        wear_spread: 64,
        hpb: HpbConfig {
            group_entries: 1024,
            tracked_groups: 0,
            pending_entries: 1,
            seal_cost: Nanos(0),
            region_groups: 1,
            max_blocks: 128,
            recommend_after: None,
            max_active_regions: 1,
            key: [0, 0],
        },
        faults: Faults::default(),
        sabotage: None,
    }
}
