//! A small device.

use nand::{CellTiming, Faults, Geometry, Timing};
use units::Nanos;

use crate::config::{EngineConfig, GcConfig, GcPace, GcRuns, LogConfig, SramConfig};
use crate::write_path::WritePathConfig;

/// 4096 addresses on one die, 512 in a translation page.
pub fn small() -> EngineConfig {
    let us = Nanos::from_micros;
    let cell = CellTiming { read: us(35), program: us(350), erase: us(3000) };
    EngineConfig {
        geometry: Geometry {
            channels: 1,
            dies_per_channel: 1,
            superblock_dies: 1,
            planes: 1,
            units_per_page: 1,
            pages_per_block: 64,
            word_line_pages: 1,
            data_superblocks: 80,
            meta_superblocks: 4,
        },
        timing: Timing::of(cell, cell),
        capacity_units: 4096,
        command_cost: Nanos(0),
        idle_flush: us(100),
        write_through: true,
        write_path: WritePathConfig::default(),
        sram: SramConfig { pool: 32, segment_cache: 1, reserve: 12, entries: false, own_cache: None },
        mappings: (),
        log: LogConfig { entries: 128, max_log_blocks: 8 },
        gc: GcConfig {
            pace: GcPace::Searched,
            start: 8,
            relaxed: 6,
            hurried: 4,
            reserve: 2,
            units_per_step: 64,
            victims: ufs::Victims::GREEDY,
            runs: GcRuns::Alone,
            idle: None,
            copies_percent: 0,
            hot_region: None,
        },
        slc: crate::slc_config::SlcConfig::NONE,
        wear_spread: 64,
        refresh_reads: None,
        host_tags: 32,
        endurance: crate::Endurance::default(),
        seal_key: [0, 0],
        faults: Faults::default(),
        sabotage: None,
    }
}
