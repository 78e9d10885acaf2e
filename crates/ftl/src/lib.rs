//! The firmware of a flash device without DRAM.
//!
//! # Glossary
//! - **front end**: takes commands in the order of arrival; one thread, a fixed cost per command.
//! - **pool**: the SRAM. Its 4 KiB buffers are shared by write data, L2P segments, GC and operations in flight.
//! - **row**: one page on every plane of a die, programmed at once; **stripe**: a row on every die of a superblock.
//! - **superblock**: one block on every plane of every die, or of a group of dies; unit of allocation, GC and log
//!   blocks.
//! - **L2P log buffer**: new mappings, in SRAM, that are not yet in a segment on flash.
//! - **map unit**: the part of the mapping table that one piece of metadata holds: an L2P segment, a part of one, or a
//!   translation page.
//! - **CMT**: the cached mapping table of DFTL. **GTD**: its global translation directory, here part of the directory.
//! - **translation block**: a metadata superblock that holds translation pages or mapping segments (MSFTL); **MSD**:
//!   the directory of mapping segments.
//! - **log block**: a superblock whose mappings are not all in segments on flash; recovery replays it.
//! - **exclusive job**: a map flush, a GC step or the collection of metadata superblocks. The front end starts no
//!   command until it is done.
//! - **scheme**: a mapping scheme. The **engine** asks it for decisions, through the traits in [`seat`], and carries
//!   them out.
//! - **round**: the map units that a map flush reads, changes and programs together.
//! - **batch**: requests that a host announces together (MAP+).
//!
//! # Contract
//! The device owns no clock: the caller passes the time to [`Device::command`] and [`Device::wake`]. What the device
//! wants done later stands in [`Device::effects`]. It decides only from its SRAM, from flash it has read (and been
//! charged for), and from what the host sent.

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
mod space;
mod sram;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod write_path;

pub use self::core::{DeviceEvent, Effects};
pub use config::{
    Config, Covers, EngineConfig, FirmwareParams, GcConfig, GcPace, GcParams, HpbConfig, LogConfig, LogParams,
    SramConfig, SramParams, WearParams,
};
pub use device::{Device, Unpowered};
pub use engine::power::{GcCopy, Moment};
pub use engine::state::Translation;
pub use engine::stay::{Account, Mark, Stay};
pub use kind::{DeviceConfig, MappingKind, MappingParams};
pub use report::activity::{Activity, Levels, Origin, Work};
pub use report::stats::DeviceStats;
pub use sabotage::Sabotage;
pub use write_path::{WritePathConfig, WritePathParams};
