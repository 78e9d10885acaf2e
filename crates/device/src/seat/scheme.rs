//! What a scheme is.

use super::answers::{HostRole, MapMemory};
use super::declared::Declared;
use crate::config::EngineConfig;
use crate::engine::core::Core;
use crate::map_units::{MapShape, MapUnits};

/// What a scheme is, asked once.
pub trait Scheme: Declared {
    /// What the host may do for it.
    const HOST: HostRole = HostRole::None;

    /// What one piece of metadata holds of the table.
    fn map_shape(own: &Self::Params) -> MapShape {
        let _ = own;
        MapShape::SEGMENT
    }

    /// The whole table in such pieces.
    fn map_units(cfg: &EngineConfig, own: &Self::Params) -> MapUnits {
        MapUnits::new(cfg.capacity_units, Self::map_shape(own))
    }

    /// Entries of the log buffer.
    fn log_entries(cfg: &EngineConfig, own: &Self::Params) -> u16 {
        let _ = own;
        cfg.log.entries
    }

    /// State for a device fresh from the factory.
    fn new(core: &Core, own: &Self::Params) -> Self;

    /// Memory that its tables take.
    fn memory(&self, core: &Core) -> MapMemory;
}
