//! The mapping table as a whole: its map units, the directory of their places, and the log of what has changed.

pub mod directory;
pub mod log;
pub mod map_units;
