//! What the engine lends a mapping scheme, by subject: methods of [`Core`](super::Core), whose fields only the
//! engine sees.
//!
//! - `allocation`: data superblocks, their states, and which have to be erased.
//! - `knowledge`: content of map units, for those who have read them.
//! - `table`: pieces of the mapping table on flash: places, reading, programming, content.
//! - `sram`: buffers, and map units cached in them.
//! - `changes`: the log of changes, sequence numbers, trims, entries that the host keeps.
//! - `state`: configuration, and what the engine is doing.

mod allocation;
mod changes;
mod knowledge;
mod sram;
mod state;
mod table;
#[cfg(any(test, feature = "testing"))]
mod testing;
