//! SQLite as a workload: the library itself, on a file system in simulated time.

pub mod block;
mod coroutine;
mod database;
pub mod fs;
mod host;
pub mod plan;
#[cfg(test)]
mod ram;
pub mod session;
mod source;
pub mod spec;
pub mod versions;
mod vfs;

pub use database::DatabaseError;
pub use session::{Found, inspect};
pub use source::{Requests, SqliteSource, Transactions};
pub use spec::{SpecError, SqliteSpec};
