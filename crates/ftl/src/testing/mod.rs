//! For tests of what the engine does, and of what schemes decide: a small device, and a firmware with its events.

mod small;
#[cfg(test)]
mod table_in_dram;

pub use crate::engine::testing::{Bench, ROW, UNITS, config};
pub use small::small;
#[cfg(test)]
pub use table_in_dram::TableInDram;
