//! Durations of operations.

use std::hash::{Hash, Hasher};

use params::Counts;
use units::{Nanos, UNIT_BYTES, bytes_per_us};

use crate::free::{FreeWork, MetadataPrograms, WhatIfParams};
use crate::geometry::{CellType, Geometry};
use crate::lanes::Sharing;
use crate::op::Kind;
use crate::retry::{Retry, RetryParams};
use crate::suspend::{Suspend, SuspendParams};

params::params! {
    /// Cell times and the rate of channels: `[nand]`.
    pub TimingParams {
        /// SLC: page read time (tR).
        slc_read_us: count(1 to 100000);
        /// SLC: page program time (tPROG).
        slc_program_us: count(1 to 100000);
        /// SLC: block erase time (tBERS).
        slc_erase_us: count(1 to 1000000);
        /// Data cells (MLC, TLC): page read time (tR); a list has the pages of a word line, the lower one first,
        /// such as [40, 60, 80], or 40,60,80 on a command line.
        tlc_read_us: counts(1 to 100000);
        /// Data cells (MLC, TLC): page program time (tPROG); a list as for tlc_read_us. With nand.word_line_pages above
        /// 1 it is the time of all of these pages.
        tlc_program_us: counts(1 to 100000);
        /// Data cells (MLC, TLC): block erase time (tBERS).
        tlc_erase_us: count(1 to 1000000);
        /// Rate of a channel; 0 = transfers take no time.
        transfer_mib_per_s: count(0 to 16384);
        /// A read of the page that the die sensed last skips tR.
        page_register: switch;
        /// Cached program: while the cells of a die program, the data of the program that is next on it comes already.
        cache_program: switch = false, "as in the papers: a die does one thing at a time";
        /// Independent plane reads: reads of different planes of a die go on at the same time, whatever they read
        /// there; the channel transfers one after the other. Without it only units of one row are read together.
        independent_plane_reads: switch = false, "as in the papers: a die does one thing at a time";
        /// Cached read: the cells of a plane are sensed while the data of the read before it cross the channel.
        cache_read: switch = false, "as in the papers: a die does one thing at a time";
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

/// A time for each page of a word line: page `i` of a block has time `i` modulo their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageTimes {
    times: [Nanos; Counts::MOST],
    len: u32,
}

impl PageTimes {
    /// The times of a parameter in microseconds.
    pub fn of(us: Counts) -> PageTimes {
        let mut times = [Nanos::ZERO; Counts::MOST];
        times.iter_mut().zip(us.all()).for_each(|(time, &us)| *time = Nanos::from_micros(us.into()));
        PageTimes { times, len: us.all().len() as u32 }
    }

    /// The time of a page.
    #[inline]
    fn page(&self, page: u32) -> Nanos {
        self.times[(page % self.len) as usize]
    }

    fn mean(&self) -> Nanos {
        Nanos(self.times.iter().map(|time| time.0).sum::<u64>() / u64::from(self.len))
    }
}

/// Times of the pages of a word line of data cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByPage {
    /// tR.
    pub reads: PageTimes,
    /// tPROG.
    pub programs: PageTimes,
}

impl ByPage {
    /// True if all pages have the same times.
    fn is_flat(&self) -> bool {
        self.reads.len == 1 && self.programs.len == 1
    }
}

/// Durations of the array's phases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Metadata superblocks.
    pub slc: CellTiming,
    /// Data superblocks; of pages that differ, the mean.
    pub tlc: CellTiming,
    /// Times of the pages of a word line of data cells; `None` if they are alike.
    pub by_page: Option<ByPage>,
    /// Bandwidth of a channel in bytes per microsecond, that is in MB/s; 0 = transfers take no time.
    pub channel_bytes_per_us: u32,
    /// True if reads can use the page register: a read of the row that its die sensed last skips tR, if no other
    /// operation has run on that die since.
    pub page_register: bool,
    /// True if the data of the next program of a die comes while its cells program.
    pub cache_program: bool,
    /// How reads share a die.
    pub sharing: Sharing,
    /// How often reads are repeated; `None` = never.
    pub retry: Option<Retry>,
    /// How programs and erases are interrupted by reads.
    pub suspend: Suspend,
    /// Work that takes no time.
    pub free: FreeWork,
    /// How long programs of metadata take.
    pub metadata_programs: MetadataPrograms,
}

impl TimingParams {
    /// The times that they stand for.
    pub fn timing(&self, suspend: &SuspendParams, retry: &RetryParams, what_if: &WhatIfParams) -> Timing {
        let micros = |us: u32| Nanos::from_micros(us.into());
        let by_page = ByPage { reads: PageTimes::of(self.tlc_read_us), programs: PageTimes::of(self.tlc_program_us) };
        Timing {
            slc: CellTiming {
                read: micros(self.slc_read_us),
                program: micros(self.slc_program_us),
                erase: micros(self.slc_erase_us),
            },
            tlc: CellTiming {
                read: by_page.reads.mean(),
                program: by_page.programs.mean(),
                erase: micros(self.tlc_erase_us),
            },
            by_page: (!by_page.is_flat()).then_some(by_page),
            channel_bytes_per_us: bytes_per_us(self.transfer_mib_per_s),
            page_register: self.page_register,
            cache_program: self.cache_program,
            sharing: Sharing { planes: self.independent_plane_reads, cache: self.cache_read },
            retry: retry.retry(),
            suspend: suspend.suspend(),
            free: what_if.free,
            metadata_programs: what_if.metadata_programs,
        }
    }
}

impl Timing {
    /// Cells of these times and nothing else: transfers take no time, every read senses its page, nothing is cached,
    /// retried or suspended, and no work is free.
    pub const fn of(slc: CellTiming, tlc: CellTiming) -> Timing {
        Timing {
            slc,
            tlc,
            by_page: None,
            channel_bytes_per_us: 0,
            page_register: false,
            cache_program: false,
            sharing: Sharing::NONE,
            retry: None,
            suspend: Suspend::NEVER,
            free: FreeWork::Nothing,
            metadata_programs: MetadataPrograms::Pages,
        }
    }

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

    /// True if the kind of work and of cells alone decides how long a cell phase takes: pages are alike, reads are
    /// neither repeated nor share dies, and no work is free.
    pub fn is_plain(&self, geometry: &Geometry) -> bool {
        let whole = self.metadata_programs == MetadataPrograms::Pages;
        let alike = geometry.word_line_pages == 1 && self.by_page.is_none() && whole;
        alike && self.retry.is_none() && self.free == FreeWork::Nothing && !self.sharing.is_on()
    }

    /// Duration of a metadata program of so many units where seven of eight are charged, as was published; `None` where
    /// that is not asked for.
    pub fn as_published(&self, is_metadata: bool, kind: Kind, units: u32) -> Option<Nanos> {
        let slips = self.metadata_programs == MetadataPrograms::AsPublished;
        let charged = u64::from((7 * units).div_ceil(8));
        (slips && is_metadata && kind == Kind::Program).then(|| Nanos(self.slc.program.0 * charged))
    }

    /// Duration of the cell phase of a read or program of pages that differ, or of several at once. `page` is the first
    /// in its block, and the operation has `pages` of these; an erase has none.
    pub fn cell_of_pages(&self, cell: CellType, kind: Kind, page: u32, pages: u32, one_shot: bool) -> Nanos {
        let sum = |times: &PageTimes| Nanos((page..page + pages).map(|page| times.page(page).0).sum());
        if kind == Kind::Erase || one_shot && (cell, kind) == (CellType::Tlc, Kind::Program) {
            return self.cell(cell, kind);
        }
        match (cell, kind, &self.by_page) {
            (CellType::Tlc, Kind::Read, Some(by_page)) => sum(&by_page.reads),
            (CellType::Tlc, Kind::Program, Some(by_page)) => sum(&by_page.programs),
            _ => Nanos(self.cell(cell, kind).0 * u64::from(pages)),
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

    fn timing_with(what_if: &WhatIfParams) -> Timing {
        Timing {
            channel_bytes_per_us: 1200,
            free: what_if.free,
            metadata_programs: what_if.metadata_programs,
            ..Timing::of(CellTiming { program: Nanos::from_micros(150), ..CELL }, CELL)
        }
    }

    #[test]
    fn transfers_are_rounded_up_to_a_nanosecond() {
        let timing = timing_with(&WhatIfParams::default());
        // 4096 B / 1200 B/us = 3.41333.. us, and eight of them are 27.30666.. us.
        assert_eq!(timing.transfer(1), Nanos(3_414));
        assert_eq!(timing.transfer(8), Nanos(27_307));
        assert_eq!(Timing { channel_bytes_per_us: 4096, ..timing }.transfer(3), Nanos(3_000));
        assert_eq!(Timing { channel_bytes_per_us: 0, ..timing }.transfer(8), Nanos::ZERO);
    }

    #[test]
    fn seven_of_eight_units_of_metadata_are_charged_as_was_published() {
        let what_if = WhatIfParams { metadata_programs: MetadataPrograms::AsPublished, ..WhatIfParams::default() };
        let program = |what_if: &WhatIfParams, is_metadata, units| {
            let timing = timing_with(what_if);
            timing.as_published(is_metadata, Kind::Program, units).map(|time| time.0 / 1000)
        };
        // 64 units on eight channels: 1.05 ms in the place of 0.15 ms; one alone: one program.
        assert_eq!([8, 4, 1].map(|units| program(&what_if, true, units)), [Some(1050), Some(600), Some(150)]);
        assert_eq!(program(&what_if, false, 8), None);
        assert_eq!(program(&WhatIfParams::default(), true, 8), None);
    }
}
