//! SQLite as a workload: the library itself, on a file system in simulated time.
//!
//! SQLite runs unchanged. Its VFS is a model of Linux: a page cache and a file system, ext4 in ordered mode or F2FS,
//! whose block requests go to the simulated device. So a transaction takes the simulated time of its syncs and reads,
//! and [`SqliteSource`] reports the latency of each. Transactions are those of Mobibench.
//!
//! ```text
//!   statement -> SQLite -> VFS -> page cache -> file system -> batches of block requests -> run loop
//! ```
//!
//! # Glossary
//! - **transaction**: one SQL statement, committed by itself, or one for each table in a program; also the making of a
//!   table, and each part of the fill.
//! - **fill**: tables and rows made before anything is measured; **phase**: the transactions of one operation.
//! - **volume**: a file system on a disk ([`fs::Volume`]); **personality**: the differences of ext4 and F2FS.
//! - **barrier**: a write with preflush and FUA, which makes a journal transaction or a checkpoint valid.
//! - **version**: the content that one write gave to a unit. The simulated device knows which version a unit holds, and
//!   [`versions::Versions`] its bytes.
//! - **image**: contents of a whole disk ([`block::Image`]), for instance after a power cut.
//! - **program**: what Mobibench is started for: an operation, so many transactions of it, on databases opened anew.
//! - **coroutine**: the database's thread, which never runs at the same time as the run loop.
//! - **script**: what a database has asked of its disk, to be played again. Programs are recorded and played.
//!
//! # Contract
//! - One specification gives one sequence of requests, whatever else the process does. SQLite's own random numbers, for
//!   the salts and nonces of its journals, come from the operating system. They change only bytes on which nothing
//!   depends.
//! - File-system metadata are encoded in blocks, and a mount reads nothing else. What was synced survives a power cut
//!   at any moment, and so do SQLite's transactions, as far as SQLite promises it ([`SqliteSpec::may_lose`]).
//! - Only block requests, think time and the processor times of the specification take simulated time. The kernel's
//!   background work runs between transactions, so no latency contains it.
//!
//! # Power cuts of a simulated device
//! Ask the device which write each unit of [`versions::Versions::possible`] holds, and pass the answers to
//! [`SqliteSource::inspect_cut`]. It mounts the image, lets SQLite recover, and compares all rows. A unit's write is
//! known by its stamp. The run loop numbers writes and trims from 1 as they are submitted; this crate numbers only its
//! own writes. So number = stamp - (writes and trims submitted before this source), and 0 for older stamps.
//!
//! # Limits
//! A request that fails on flash looks like a successful one, because a [`workload::Source`] is not told. Read-ahead is
//! 32 KiB for a sequential reader, otherwise none. There is one connection at a time and one directory. The content of
//! what programs write is checked where they are recorded, and a power cut of a device can not be inspected there.

pub mod block;
mod coroutine;
mod database;
pub mod fs;
mod host;
pub mod life;
pub mod plan;
#[cfg(test)]
mod ram;
mod script;
mod source;
pub mod spec;
pub mod versions;
mod vfs;

pub use database::DatabaseError;
pub use life::{Found, inspect};
pub use source::{Requests, SqliteSource, Transactions};
pub use spec::{SpecError, SqliteSpec};
