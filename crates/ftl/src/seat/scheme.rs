//! Properties of a scheme: the host's role, the shape of its table, its memory.

use super::answers::{HostRole, MapMemory};
use super::declared::Declared;
use crate::config::EngineConfig;
use crate::core::Core;
use crate::table::map_units::{MapShape, MapUnits};

/// Properties of a scheme, and its state on a new device.
pub trait Scheme: Declared {
    /// What the host may do for it.
    const HOST: HostRole = HostRole::None;

    /// True if its map units may be smaller than a flash unit, and share one.
    const SHARES_UNITS: bool = false;

    /// True if its map units are translation pages, which flushes read, change and write elsewhere.
    const TRANSLATION_PAGES: bool = false;

    /// True if every superblock has a segment bitmap ([`MapUnits::with_bitmaps`]).
    const BITMAPS: bool = false;

    /// True if a parameter lets its first level name the place of data ([`Core::programmed_run`]).
    const RUNS: bool = false;

    /// Sets of parameters, `key=value` each, under which the scheme is tested beside its defaults.
    const VARIANTS: &'static [&'static [&'static str]] = &[];

    /// The part of the table that one piece of metadata holds.
    fn map_shape(own: &Self::Params) -> MapShape {
        let _ = own;
        MapShape::SEGMENT
    }

    /// The whole table, divided into map units of [`Scheme::map_shape`].
    fn map_units(cfg: &EngineConfig, own: &Self::Params) -> MapUnits {
        MapUnits::new(cfg.capacity_units, Self::map_shape(own))
    }

    /// True if the scheme says when the directory is written ([`Core::write_directory`]). Else every metadata
    /// superblock begins with it.
    fn schedules_directory(own: &Self::Params) -> bool {
        let _ = own;
        false
    }

    /// Entries that the log buffer can hold.
    fn log_entries(cfg: &EngineConfig, own: &Self::Params) -> u16 {
        let _ = own;
        cfg.log.entries
    }

    /// State of a device fresh from the factory.
    fn new(core: &Core, own: &Self::Params) -> Self;

    /// L2P entries that its mapping cache holds, where it is not the part of the pool for segments.
    fn cache_entries(&self, core: &Core) -> u64 {
        u64::from(core.cfg().sram.segment_cache) * u64::from(units::SEGMENT_ENTRIES)
    }

    /// Memory that the scheme's tables take.
    fn memory(&self, core: &Core) -> MapMemory;
}
