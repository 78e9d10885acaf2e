//! Parts that many schemes have in common: a whole table in DRAM, the trims of one, counts of valid pages.

mod in_dram;
mod trimmed;
pub(crate) mod unit_writes;
mod validity;

pub use in_dram::{DramPolicy, DramTable, InDram};
pub use trimmed::TrimmedSegments;
pub use validity::ValidCounts;
