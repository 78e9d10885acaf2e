//! Durations of operations.

use std::hash::{Hash, Hasher};

use units::{Nanos, UNIT_BYTES, bytes_per_us};

use crate::free::FreeWork;
use crate::geometry::CellType;
use crate::op::Kind;

params::params! {
    /// Cell times and the rate of channels: `[nand]`.
    pub TimingParams {
        /// SLC: page read time (tR).
        slc_read_us: count(1 to 100000);
        /// SLC: page program time (tPROG).
        slc_program_us: count(1 to 100000);
        /// SLC: block erase time (tBERS).
        slc_erase_us: count(1 to 1000000);
        /// Data cells (MLC, TLC): page read time (tR).
        tlc_read_us: count(1 to 100000);
        /// Data cells (MLC, TLC): page program time (tPROG).
        tlc_program_us: count(1 to 100000);
        /// Data cells (MLC, TLC): block erase time (tBERS).
        tlc_erase_us: count(1 to 1000000);
        /// Rate of a channel; 0 = transfers take no time.
        transfer_mib_per_s: count(0 to 16384);
        /// A read of the page that the die sensed last skips tR.
        page_register: switch;
    }
}

/// Durations of the cell phases of one kind of cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellTiming {
    /// tR: reading the cells of a row into its page register.
    pub read: Nanos,
    /// tPROG: programming the cells from the page register.
    pub program: Nanos,
    /// tBERS: erasing the block of every plane of one die.
    pub erase: Nanos,
}

/// Durations of the array's phases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Metadata superblocks.
    pub slc: CellTiming,
    /// Data superblocks.
    pub tlc: CellTiming,
    /// Bandwidth of a channel in bytes per microsecond, that is in MB/s; 0 = transfers take no time.
    pub channel_bytes_per_us: u32,
    /// True if reads can use the page register: a read of the row that its die sensed last skips tR, if no other
    /// operation has run on that die since.
    pub page_register: bool,
    /// Work that takes no time.
    pub free: FreeWork,
}

impl TimingParams {
    /// The times that they stand for, if work in `free` takes none.
    pub fn timing(&self, free: FreeWork) -> Timing {
        let cell = |[read, program, erase]: [u32; 3]| CellTiming {
            read: Nanos::from_micros(read.into()),
            program: Nanos::from_micros(program.into()),
            erase: Nanos::from_micros(erase.into()),
        };
        Timing {
            slc: cell([self.slc_read_us, self.slc_program_us, self.slc_erase_us]),
            tlc: cell([self.tlc_read_us, self.tlc_program_us, self.tlc_erase_us]),
            channel_bytes_per_us: bytes_per_us(self.transfer_mib_per_s),
            page_register: self.page_register,
            free,
        }
    }
}

impl Timing {
    /// Duration of the cell phase of an operation without a page register hit.
    #[inline]
    pub fn cell(&self, cell: CellType, kind: Kind) -> Nanos {
        let timing = match cell {
            CellType::Slc => &self.slc,
            CellType::Tlc => &self.tlc,
        };
        match kind {
            Kind::Read => timing.read,
            Kind::Program => timing.program,
            Kind::Erase => timing.erase,
        }
    }

    /// Time that `units` units, padding included, take on a channel, rounded up to whole nanoseconds.
    pub fn transfer(&self, units: u32) -> Nanos {
        if self.channel_bytes_per_us == 0 {
            return Nanos::ZERO;
        }
        let bytes = u64::from(units) * UNIT_BYTES;
        Nanos((bytes * 1_000).div_ceil(u64::from(self.channel_bytes_per_us)))
    }
}

/// Durations never change, so they are no part of the state of an array.
impl Hash for Timing {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: CellTiming =
        CellTiming { read: Nanos::from_micros(60), program: Nanos::from_micros(550), erase: Nanos::from_millis(5) };

    #[test]
    fn transfers_are_rounded_up_to_a_nanosecond() {
        let timing =
            Timing { slc: CELL, tlc: CELL, channel_bytes_per_us: 1200, page_register: false, free: FreeWork::Nothing };
        // 4096 B / 1200 B/us = 3.41333.. us, and eight of them are 27.30666.. us.
        assert_eq!(timing.transfer(1), Nanos(3_414));
        assert_eq!(timing.transfer(8), Nanos(27_307));
        assert_eq!(Timing { channel_bytes_per_us: 4096, ..timing }.transfer(3), Nanos(3_000));
        assert_eq!(Timing { channel_bytes_per_us: 0, ..timing }.transfer(8), Nanos::ZERO);
    }
}
