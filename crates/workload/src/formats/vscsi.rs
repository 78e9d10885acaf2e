//! Traces of VMware's `vscsiStats`, as CloudPhysics published them: records of one size, little-endian, one after
//! another, without a header.
//!
//! | bytes of version 1 | bytes of version 2 | field |
//! |---|---|---|
//! | 0 to 3 | 4 to 7 | `sn`, serial number |
//! | 4 to 7 | 8 to 11 | `len`, length in bytes |
//! | 8 to 11 | 12 to 15 | `nSG`, entries of the scatter-gather list |
//! | 12 and 13 | 0 and 1 | `cmd`, first byte of the SCSI command |
//! | 14 and 15 | 2 and 3 | `ver`, the version in its upper byte |
//! | 16 to 23 | 16 to 23 | `lbn`, first block of 512 B |
//! | 24 to 31 | 24 to 31 | `ts`, time in microseconds |
//! | | 32 to 39 | `rt`, response time in microseconds |

use units::{Nanos, SimTime};

use super::frame::Frame;
use super::{Definition, Framing, Origin, Source};
use crate::trace::{Records, TraceFile};
use crate::{TraceError, WorkOp, WorkRequest};

pub(super) const DEFINITION: Definition = Definition {
    needs: "commands that read, write or flush",
    framing: Framing::Records(frame),
    source: Source::Files { fits, read },
    stacked: false,
    tick_ns: 1000,
    writer: None,
};

/// Records of the beginning that have to be of one version.
const FIRST: usize = 16;

/// Microseconds up to which a time fits.
const MOST_US: u64 = u64::MAX / 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

impl Version {
    fn size(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    fn number(self) -> u16 {
        match self {
            Version::One => 1,
            Version::Two => 2,
        }
    }

    /// The version of which the first records are.
    fn of(bytes: &[u8]) -> Option<Version> {
        [Version::Two, Version::One].into_iter().find(|version| {
            let first: Vec<Record> =
                bytes.chunks_exact(version.size()).take(FIRST).map(|b| version.record(b)).collect();
            let fits = |r: &Record| r.version == version.number() && r.command <= 0xff;
            !first.is_empty() && first.iter().all(fits)
        })
    }

    /// The record in bytes of its size.
    fn record(self, bytes: &[u8]) -> Record {
        let number = |at: usize, size: usize| {
            bytes[at..at + size].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let (command, version, length) = match self {
            Version::One => (12, 14, 4),
            Version::Two => (0, 2, 8),
        };
        Record {
            command: number(command, 2),
            version: (number(version, 2) >> 8) as u16,
            bytes: number(length, 4),
            sector: number(16, 8),
            time_us: number(24, 8),
            response_us: (self == Version::Two).then(|| number(32, 8)),
        }
    }
}

/// What is used of a record.
#[derive(Clone, Copy)]
struct Record {
    command: u64,
    version: u16,
    bytes: u64,
    sector: u64,
    time_us: u64,
    response_us: Option<u64>,
}

impl Record {
    /// What it does to blocks: READ, WRITE and SYNCHRONIZE CACHE of all lengths, and WRITE AND VERIFY. The ranges of
    /// UNMAP do not stand in the record.
    fn operation(&self) -> Option<WorkOp> {
        match self.command {
            0x08 | 0x28 | 0xa8 | 0x88 => Some(WorkOp::Read),
            0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(WorkOp::Write),
            0x35 | 0x91 => Some(WorkOp::Flush),
            _ => None,
        }
    }
}

/// What stands at the beginning of these bytes: a record of either version has its number in its place, and a
/// command of one byte. The field of version 2 that lies where version 1 has its number is the upper half of a small
/// one.
pub(super) fn frame(bytes: &[u8]) -> Frame {
    let is = |number: usize, command: usize, version: u8| bytes[number] == version && bytes[command] == 0;
    let version = match bytes.len() {
        0..16 => return Frame::Unfinished,
        _ if is(15, 13, 1) => Version::One,
        _ if is(3, 1, 2) => Version::Two,
        _ => return Frame::Wrong,
    };
    if version.size() <= bytes.len() { Frame::Whole(version.size()) } else { Frame::Unfinished }
}

fn fits(head: &[u8]) -> bool {
    Version::of(head).is_some()
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    for (number, file) in (0..).zip(files) {
        read_file(file, Origin { file: number }, records)?;
    }
    Ok(())
}

fn read_file(file: &TraceFile, origin: Origin, records: &mut Records) -> Result<(), TraceError> {
    let wrong = |record: u64, problem: String| TraceError::Record { file: file.name.clone(), record, problem };
    let Some(version) = Version::of(&file.bytes) else {
        return Err(wrong(1, "is no record of vscsiStats of version 1 or 2".into()));
    };
    let chunks = file.bytes.chunks_exact(version.size());
    let (count, rest) = (chunks.len() as u64, chunks.remainder().len());
    let device = records.devices.index_of(&origin.file.to_le_bytes(), || format!("vscsi {}", origin.file));
    for (number, bytes) in (1..).zip(chunks) {
        let record = version.record(bytes);
        if record.version != version.number() {
            let problem = format!("has version {}; the file begins with version {}", record.version, version.number());
            return Err(wrong(number, problem));
        }
        if record.time_us > MOST_US {
            return Err(wrong(number, format!("ts is {}; allowed are 0 to {MOST_US} us", record.time_us)));
        }
        records.report.events += 1;
        records.report.queue_events += 1;
        let Some(op) = record.operation() else {
            records.report.ignored_queue_events += 1;
            continue;
        };
        let request = WorkRequest {
            arrival: SimTime(record.time_us * 1000),
            phone_latency: record.response_us.map(|us| Nanos(us.saturating_mul(1000))),
            ..origin.request(number, op, record.sector, record.bytes)
        };
        records.push(device, request);
    }
    if rest > 0 {
        records.report.cut.push(format!("{}: record {}", file.name, count + 1));
    }
    Ok(())
}
