//! SQLite as a workload: the library itself, on a file system in simulated time.
//!
//! SQLite runs unchanged. Its VFS is a model of Linux: a page cache and a file system, ext4 in
//! ordered mode or F2FS, whose block requests go to the simulated device. So a transaction takes the simulated time
//! that its syncs and reads take, and [`SqliteSource`] hands out the latency of each. Transactions are those of
//! Mobibench.
//!
//! ```text
//!   statement -> SQLite -> VFS -> page cache -> file system -> batches of block requests -> run loop
//! ```
//!
//! # Glossary
//! - **transaction**: one SQL statement, committed by itself; also each table made, and each part of the fill.
//! - **fill**: tables and rows made before anything is measured; **phase**: the transactions of one operation.
//! - **volume**: a file system on a disk ([`fs::Volume`]); **personality**: what ext4 and F2FS do differently.
//! - **barrier**: a write with preflush and FUA, which makes a journal transaction or a checkpoint count.
//! - **version**: what one write put into a unit. The simulated device knows which version a unit holds, and
//!   [`versions::Versions`] what stands in it.
//! - **image**: contents of a whole disk ([`block::Image`]), for instance after a power cut.
//! - **coroutine**: the database's thread, which never runs at the same time as the run loop.
//!
//! # Contract
//! - One specification gives one sequence of requests, whatever else the process does. SQLite's own random numbers, the
//!   salts and nonces of its journals, come from the operating system, and only change bytes that nothing depends on.
//! - File-system metadata are bytes in blocks, and mounting reads nothing else. What was synced is there after a power
//!   cut at any moment, and so are SQLite's transactions, as far as SQLite promises it ([`SqliteSpec::may_lose`]).
//! - Time passes in block requests, in think time and in the processor times of the specification, and nowhere else.
//!   Work that the kernel does in the background is done between transactions, in nobody's latency.
//!
//! # Power cuts of a simulated device
//! Ask the device which write each unit of [`versions::Versions::possible`] holds, and give the answers to
//! [`SqliteSource::inspect_cut`]: it mounts the image, lets SQLite recover, and compares all rows. A unit's write is
//! known by its stamp: the run loop numbers writes and trims from 1 as they are submitted, this crate only its own
//! writes, so number = stamp - (writes and trims submitted before this source), and 0 for older stamps.
//!
//! # Limits
//! A request that fails with the flash looks like one that succeeded: a [`workload::Source`] is not told. Read-ahead is
//! 32 KiB for a reader that goes straight on, otherwise none. There is one connection and one directory.

pub mod block;
mod coroutine;
mod database;
pub mod fs;
mod host;
pub mod life;
pub mod plan;
#[cfg(test)]
mod ram;
mod source;
pub mod spec;
pub mod versions;
mod vfs;

pub use database::DatabaseError;
pub use life::{Found, inspect};
pub use source::{Requests, SqliteSource, Transactions};
pub use spec::{SpecError, SqliteSpec};
