//! The firmware of a flash device without DRAM.
//!
//! # Contract
//! The device owns no clock: the caller passes the time to [`Device::command`] and [`Device::wake`]. What the device
//! wants done later stands in [`Device::effects`]. It decides only from its SRAM, from flash it has read (and been
//! charged for), and from what the host sent.
//!
//! What the words mean, `docs/reference/glossary.md` says.

mod config;
mod core;
mod device;
mod engine;
mod kind;
mod knowledge;
mod metadata;
pub mod parts;
mod publish;
mod report;
mod sabotage;
pub mod seat;
mod slc_config;
mod space;
mod sram;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod write_path;

pub use self::core::{DeviceEvent, Effects};
pub use config::{
    CleanFrom, Config, Covers, DirtyFrom, Endurance, EngineConfig, FirmwareParams, GcConfig, GcPace, GcParams, GcRuns,
    HpbConfig, IdleGc, LogConfig, LogParams, SramConfig, SramParams, WearParams,
};
pub use device::{Device, Unpowered};
pub use engine::power::{GcCopy, Moment};
pub use engine::state::Translation;
pub use kind::{DeviceConfig, MappingKind, MappingParams};
pub use report::stats::DeviceStats;
pub use report::stay::Stay;
pub use report::watch::{Event, Levels, Origin, Scope, Work};
pub use sabotage::Sabotage;
pub use slc_config::{BoosterConfig, BoosterHost, SlcConfig, SlcParams};
pub use write_path::{WritePathConfig, WritePathParams};
