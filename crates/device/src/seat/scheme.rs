//! What a scheme is.

use super::answers::{HostRole, MapMemory};
use crate::config::DeviceConfig;
use crate::engine::core::Core;
use crate::map_units::{MapShape, MapUnits};

/// What a scheme is, asked once.
pub trait Scheme: Sized {
    /// What the host may do for it.
    const HOST: HostRole = HostRole::None;

    /// What one piece of metadata holds of the table.
    fn map_shape(cfg: &DeviceConfig) -> MapShape {
        let _ = cfg;
        MapShape::SEGMENT
    }

    /// The whole table in such pieces.
    fn map_units(cfg: &DeviceConfig) -> MapUnits {
        MapUnits::new(cfg.capacity_units, Self::map_shape(cfg))
    }

    /// Entries of the log buffer.
    fn log_entries(cfg: &DeviceConfig) -> u16 {
        cfg.log.entries
    }

    /// State for a device fresh from the factory.
    fn new(core: &Core) -> Self;

    /// Memory that its tables take.
    fn memory(&self, core: &Core) -> MapMemory;
}
