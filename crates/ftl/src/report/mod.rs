//! What is noted for reports only: counters, and what flash and firmware are busy with.

pub mod stats;
pub mod stay;
pub mod watch;
