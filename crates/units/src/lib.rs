//! Newtypes for addresses, time and sizes.
//!
//! What the words mean, `docs/reference/glossary.md` says.
//!
//! Only operators with a meaning exist: time - time = duration, time + duration = time.

mod addr;
mod app;
mod counters;
mod dice;
mod kinds;
mod lus;
mod time;

pub use addr::{Lpa, MapUnit, Ppa, SegmentId, Seq, Superblock};
pub use app::AppId;
pub use counters::{Counter, CounterSet, CounterSets, InDigest, NoCounters};
pub use dice::{Dice, splitmix64};
pub use lus::{LogicalUnit, LogicalUnits};
pub use time::{Nanos, SimTime};

/// Bytes in a mapping unit (HP-UFS Sec. II-A: "every 4 KB page is translated by the L2P mapping table").
pub const UNIT_BYTES: u64 = 4096;

/// KiB in a mapping unit.
pub const UNIT_KIB: u32 = (UNIT_BYTES / 1024) as u32;

/// L2P entries in a segment (HP-UFS Sec. II-A: 4 KB segments of 1,024 entries of 4 bytes).
pub const SEGMENT_ENTRIES: u32 = 1024;

/// Bytes in a MiB.
pub const MIB: u64 = 1 << 20;

/// A rate in bytes per microsecond, rounded to the nearest byte: 1 MiB/s is 1.048576 bytes per microsecond.
pub const fn bytes_per_us(mib_per_s: u32) -> u32 {
    ((mib_per_s as u64 * MIB + 500_000) / 1_000_000) as u32
}
