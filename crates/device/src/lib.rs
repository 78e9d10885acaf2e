//! The firmware of a flash device without DRAM.
//!
//! # Glossary
//! - **front end**: takes commands in the order of arrival; one thread, a fixed cost per command.
//! - **pool**: the SRAM, 4 KiB buffers shared by write data, L2P segments, GC and operations in flight.
//! - **row**: one page on every plane of a die, programmed at once; **stripe**: a row on every die.
//! - **superblock**: one block on every plane of every die; unit of allocation, GC and log blocks.
//! - **L2P log buffer**: new mappings, in SRAM, that are not yet in a segment on flash.
//! - **map unit**: what one piece of metadata holds of the mapping table: an L2P segment or a part of one, or a
//!   translation page.
//! - **CMT**, **GTD**: the cached mapping table of DFTL, and its global translation directory, here part of the
//!   directory.
//! - **translation block**: a metadata superblock, where translation pages or mapping segments (MSFTL) are; **MSD**:
//!   the directory of mapping segments.
//! - **log block**: a superblock whose mappings are not all in segments on flash; recovery replays it.
//! - **exclusive job**: a map flush or GC step; the one firmware thread starts no command until it is done.
//!
//! - **scheme**: a mapping scheme. It decides; the **engine** asks it, in its [`seat`]s, and acts.
//! - **round**: what a map flush reads, changes and programs at a time. A **batch** is what a host announces (MAP+).
//!
//! # Contract
//! The device owns no clock: [`Device::command`] and [`Device::wake`] take the time, and what it wants done later
//! stands in [`Device::effects`]. It decides only from its SRAM, from flash it has read (and been charged for), and
//! from what the host sent.

mod blocks;
mod buffer;
mod config;
mod device;
mod directory;
mod engine;
mod entry_cache;
mod gc;
mod knowledge;
mod log;
mod map_units;
mod mapping;
mod meta;
mod ops;
mod pace;
mod publish;
mod recommend;
mod records;
pub mod seat;
mod sram;
mod stats;
mod stored;
mod trimmed;
mod trims;
mod unit_writes;
mod validity;

pub use config::{Config, EngineConfig, GcConfig, GcPace, LogConfig, Sabotage, SramConfig};
pub use device::{Device, DeviceConfig, Unpowered};
pub use engine::core::{DeviceEvent, Effects};
pub use engine::power::Moment;
pub use engine::state::Translation;
pub use mapping::{MappingKind, MappingParams};
pub use stats::DeviceStats;
