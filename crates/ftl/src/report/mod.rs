//! What is noted for reports only: counters, and what flash and firmware are busy with.

pub mod activity;
pub mod stats;
