//! A volume that small files fragment, and what is left of the speed of a large one: the loop of "Unleashing Zoned UFS"
//! (FAST 2026).
//!
//! # Glossary
//! - **round**: small files are written, every second of them is deleted, a large file is written and read. What
//!   is not deleted stays.
//! - **segment**: 2 MiB of the volume; **hole**: free units of a segment that has data.
//! - **logging**: data go to free segments, one after another; **filling**: data go to the holes of the segment that
//!   has most room ([`log`]). This is F2FS on a conventional device (`mode=adaptive`): it logs while there are free
//!   segments, and fills when few are left.
//!
//! # Contract
//! There is no chance: one description gives one sequence of requests, with so many of them outstanding at a time. A
//! part of a round begins when the one before has completed; a flush ends each part that writes.
//!
//! # Limits
//! Data alone are written: no nodes, checkpoints or other metadata. Segments are not cleaned by the host, there is no
//! idle time, and files are written back in the order in which they were made.

mod log;
mod source;
mod spec;

pub use source::FragmentationSource;
pub use spec::FragmentationSpec;
