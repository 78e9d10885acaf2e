//! One block request.

use units::{Lpa, Nanos, SimTime, UNIT_BYTES};

use crate::report::columns::Word;

/// Bytes in a sector, the unit of block addresses in traces.
pub const SECTOR_BYTES: u64 = 512;

const SECTORS_PER_UNIT: u64 = UNIT_BYTES / SECTOR_BYTES;

/// Index into a table of process names ([`crate::Trace::processes`], or the job clones of a fio file).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProcessId(pub u16);

/// Number of a stream: the per-CPU file of a trace ([`crate::Trace::files`]) or the clone of a fio job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StreamId(pub u16);

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WorkOp {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Makes everything that was completed before durable; carries no data.
    Flush,
    /// Discards data.
    Trim,
}

impl WorkOp {
    /// Names in the order of the enum.
    pub const NAMES: [&'static str; 4] = ["read", "write", "flush", "trim"];

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Properties of a request besides its operation, as the block layer names them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags {
    /// Force unit access: the data are durable at completion.
    pub fua: bool,
    /// Somebody waits for the request.
    pub sync: bool,
    /// File-system metadata.
    pub meta: bool,
    /// Read ahead of a program's wish.
    pub readahead: bool,
    /// A flush comes before the data.
    pub preflush: bool,
}

/// One block I/O request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkRequest {
    /// In a trace: time since the first request. Out of a source: when the request enters the block layer.
    pub arrival: SimTime,
    /// First sector (512 B).
    pub sector: u64,
    /// Length; 0 for a flush.
    pub bytes: u64,
    /// Where in the input it came from: event number in its trace file, counted from 1, or line of the fio job.
    pub line: u64,
    /// Completion minus queue time on the traced phone; `None` for generated and never-completed requests.
    pub phone_latency: Option<Nanos>,
    /// What it does.
    pub op: WorkOp,
    /// Its flags.
    pub flags: Flags,
    /// Who asked.
    pub process: ProcessId,
    /// The per-CPU file or job clone it came from.
    pub stream: StreamId,
}

impl WorkRequest {
    /// A request for whole units of 4 KiB at the very beginning: without flags, of process 0 and stream 0, and of no
    /// line.
    pub fn plain(op: WorkOp, first_unit: u64, units: u64) -> WorkRequest {
        WorkRequest {
            arrival: SimTime::START,
            sector: first_unit * SECTORS_PER_UNIT,
            bytes: units * UNIT_BYTES,
            line: 0,
            phone_latency: None,
            op,
            flags: Flags::default(),
            process: ProcessId(0),
            stream: StreamId(0),
        }
    }

    /// The request widened to whole 4 KiB units: first unit and count. A flush has count 0.
    ///
    /// # Panics
    /// If the request ends above 2^32 units. Sources never give such requests: they are bound to a device's capacity.
    #[inline]
    pub fn units(&self) -> (Lpa, u32) {
        let first = self.sector / SECTORS_PER_UNIT;
        let end = self.end_unit();
        assert!(
            end <= 1 << 32 && first < 1 << 32,
            "request at sector {} of {} bytes lies beyond every device",
            self.sector,
            self.bytes
        );
        let count = if self.bytes == 0 { 0 } else { end - first };
        (Lpa(first as u32), count as u32)
    }

    /// One past the last unit touched, saturating.
    #[inline]
    pub(crate) fn end_unit(&self) -> u64 {
        let end_sector = self.sector.saturating_add(self.bytes.div_ceil(SECTOR_BYTES));
        end_sector.div_ceil(SECTORS_PER_UNIT)
    }

    /// The units that a write covers only in part, its first and its last: first unit and count. They have to be read
    /// before the write, for the device knows only whole units.
    pub fn partly_written(&self) -> [Option<(Lpa, u32)>; 2] {
        if self.op != WorkOp::Write || self.bytes == 0 || self.is_aligned() {
            return [None, None];
        }
        let (first, count) = self.units();
        let offset = self.sector % SECTORS_PER_UNIT * SECTOR_BYTES;
        let head = offset > 0;
        let tail = !(offset + self.bytes).is_multiple_of(UNIT_BYTES);
        match (head, tail) {
            (true, true) if count <= 2 => [Some((first, count)), None],
            (head, tail) => [head.then_some((first, 1)), tail.then_some((first.offset(count - 1), 1))],
        }
    }

    /// Whether both ends lie on unit borders.
    pub fn is_aligned(&self) -> bool {
        self.sector.is_multiple_of(SECTORS_PER_UNIT) && self.bytes.is_multiple_of(UNIT_BYTES)
    }
}

/// Where the mapping of a read came from; of a read in several commands, the dearest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReadOutcome {
    /// The host had it and sent it along.
    Host,
    /// The device had it in SRAM (or needed none: the data were in its buffer).
    Sram,
    /// The device read it from flash.
    Map,
}

impl ReadOutcome {
    /// Names in the order of the enum.
    pub const NAMES: [&'static str; 3] = ["host", "sram", "map"];
}

impl From<ReadOutcome> for Word {
    fn from(outcome: ReadOutcome) -> Word {
        Word(Some(outcome as u16))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn request(sector: u64, bytes: u64) -> WorkRequest {
        WorkRequest { sector, bytes, ..WorkRequest::plain(WorkOp::Read, 0, 0) }
    }

    #[test]
    fn requests_widen_to_whole_units() {
        for (sector, bytes, first, count) in
            [(0, 4096, 0, 1), (8, 8192, 1, 2), (7, 512, 0, 1), (7, 1024, 0, 2), (9, 4096, 1, 2), (16, 0, 2, 0)]
        {
            assert_eq!(request(sector, bytes).units(), (Lpa(first), count), "{sector}+{bytes}");
        }
        assert!(request(8, 8192).is_aligned());
        assert!(!request(1, 4096).is_aligned());
        assert!(!request(8, 512).is_aligned());
    }

    #[test]
    fn a_write_names_the_units_that_it_covers_in_part() {
        let one = |first, count| Some((Lpa(first), count));
        for (sector, bytes, expected) in [
            (8, 8192, [None, None]),
            (9, 512, [one(1, 1), None]),
            (8, 512, [None, one(1, 1)]),
            (15, 1024, [one(1, 2), None]),
            (9, 4096 * 3, [one(1, 1), one(4, 1)]),
            (9, 7 * 512 + 4096, [one(1, 1), None]),
            (8, 4097, [None, one(2, 1)]),
        ] {
            let write = WorkRequest { op: WorkOp::Write, ..request(sector, bytes) };
            assert_eq!(write.partly_written(), expected, "{sector}+{bytes}");
            assert_eq!(request(sector, bytes).partly_written(), [None, None], "a read");
        }
    }

    #[test]
    #[should_panic(expected = "beyond every device")]
    fn a_request_beyond_every_device_is_caught() {
        request(u64::MAX, 4096).units();
    }
}
