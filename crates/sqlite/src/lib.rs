//! SQLite as a workload: the library itself, on a file system in simulated time.

pub mod block;
pub mod fs;
mod host;
#[cfg(test)]
mod ram;
pub mod versions;
mod vfs;
