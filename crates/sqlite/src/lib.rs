//! SQLite as a workload: the library itself, on a file system in simulated time.

pub mod block;
mod database;
pub mod fs;
mod host;
pub mod plan;
#[cfg(test)]
mod ram;
pub mod session;
pub mod spec;
pub mod versions;
mod vfs;
