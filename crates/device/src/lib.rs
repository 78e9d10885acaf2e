//! The firmware of a flash device without DRAM.
//!
//! # Glossary
//! - **front end**: takes commands in the order of arrival; one thread, a fixed cost per command.
//! - **pool**: the SRAM, 4 KiB buffers shared by write data, L2P segments, GC and operations in flight.
//! - **row**: one page on every plane of a die, programmed at once; **stripe**: a row on every die.
//! - **superblock**: one block on every plane of every die; unit of allocation, GC and log blocks.
//! - **L2P log buffer**: new mappings, in SRAM, that are not yet in a segment on flash.
//! - **map unit**: what one piece of metadata holds of the mapping table: an L2P segment or a part of one, or a translation page.
//! - **CMT**, **GTD**: the cached mapping table of DFTL, and its global translation directory, here part of the directory.
//! - **translation block**: a metadata superblock, where translation pages or mapping segments (MSFTL) are; **MSD**: the
//!   directory of mapping segments.
//! - **log block**: a superblock whose mappings are not all in segments on flash; recovery replays it.
//! - **exclusive job**: a map flush or GC step; the one firmware thread starts no command until it is done.
//!
//! # Contract
//! The device owns no clock: [`Device::command`] and [`Device::wake`] take the time, and what it wants done later
//! stands in [`Device::effects`]. It decides only from its SRAM, from flash it has read (and been charged for), and
//! from what the host sent.

mod batch;
mod blocks;
mod buffer;
mod config;
mod core;
mod entry_cache;
mod firmware;
mod gc;
mod log;
mod map_units;
mod mapping;
mod meta;
mod ops;
mod pace;
mod pages;
mod publish;
mod recommend;
mod records;
mod sram;
mod stats;
mod stored;
mod trimmed;
mod trims;
mod validity;

pub use self::core::{DeviceEvent, Effects};
pub use config::{CmtConfig, DeviceConfig, GcConfig, GcPace, HpbConfig, LogConfig, MsftlConfig, Sabotage, SramConfig};
pub use firmware::{Moment, Translation};
pub use mapping::{Device, MappingKind, Unpowered};
pub use stats::DeviceStats;
