//! Events of one file.

use std::collections::BTreeMap;

use crate::formats::frame::Frame;
use crate::{TraceError, TraceReport};

/// `BLK_IO_TRACE_MAGIC` with the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u8 = 7;
const HEADER_BYTES: usize = 48;

/// Categories: the upper half of `action`.
pub(super) mod category {
    pub const WRITE: u32 = 1 << 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const SYNC: u32 = 1 << 3;
    pub const PC: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const AHEAD: u32 = 1 << 11;
    pub const META: u32 = 1 << 12;
    pub const DISCARD: u32 = 1 << 13;
    pub const FUA: u32 = 1 << 15;
}

/// Actions: the lower half of `action`.
const ACTION_QUEUE: u32 = 1;
const ACTION_ISSUE: u32 = 7;
const ACTION_COMPLETE: u32 = 8;
const NOTE_PROCESS: u32 = 0;

/// What an event that is kept says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Queue,
    Issue,
    Complete,
    /// Index into [`Events::names`].
    Name(u32),
}

/// An event that is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub time: u64,
    pub sector: u64,
    pub number: u64,
    pub bytes: u32,
    pub category: u32,
    pub pid: u32,
    pub device: u32,
    pub file: u16,
    pub kind: Kind,
}

/// The events kept of all files, and counts of all.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub list: Vec<Event>,
    pub names: Vec<String>,
    pub report: TraceReport,
}

/// Reads integers in the byte order of the file.
#[derive(Clone, Copy)]
struct Header<'a> {
    bytes: &'a [u8; HEADER_BYTES],
    big_endian: bool,
}

impl Header<'_> {
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.bytes[at + if self.big_endian { N - 1 - i } else { i }])
    }
    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.field(at))
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.field(at))
    }
    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.field(at))
    }
}

/// Counts missing sequence numbers. The tracer numbers the events of a CPU from 1; notes have no number.
#[derive(Default)]
struct Sequence {
    last: Option<u32>,
}

impl Sequence {
    fn gap(&mut self, number: u32) -> u64 {
        let gap = self.last.map_or(0, |last| number.wrapping_sub(last).wrapping_sub(1));
        self.last = Some(number);
        // Sub-buffers may be out of order: a step backwards is no gap.
        if gap > u32::MAX / 2 { 0 } else { u64::from(gap) }
    }
}

/// Whether a file begins with the magic, in either byte order.
pub(super) fn fits(head: &[u8]) -> bool {
    let is_magic = |number: u32| number & !0xff == MAGIC;
    head.first_chunk().is_some_and(|b| is_magic(u32::from_le_bytes(*b)) || is_magic(u32::from_be_bytes(*b)))
}

/// What stands at the beginning of these bytes: an event, with its payload, has its magic in either byte order.
pub(crate) fn frame(bytes: &[u8]) -> Frame {
    let Some(start) = bytes.first_chunk() else { return Frame::Unfinished };
    if !fits(bytes) {
        return Frame::Wrong;
    }
    let big_endian = u32::from_be_bytes(*start) & !0xff == MAGIC;
    let Some(header) = bytes.first_chunk() else { return Frame::Unfinished };
    let length = HEADER_BYTES + usize::from(Header { bytes: header, big_endian }.u16(46));
    if length <= bytes.len() { Frame::Whole(length) } else { Frame::Unfinished }
}

/// Appends the events of a file. One that ends within an event gives those before it.
///
/// # Errors
/// [`TraceError::Truncated`] if there is none before it, [`TraceError::BadMagic`], [`TraceError::BadVersion`].
pub(super) fn read_file(name: &str, file: u16, bytes: &[u8], events: &mut Events) -> Result<(), TraceError> {
    let big_endian = bytes.first_chunk().is_some_and(|b| u32::from_be_bytes(*b) & !0xff == MAGIC);
    // A file of a CPU has its events alone; one of `blkparse -d` has those of all.
    let mut sequences: BTreeMap<u32, Sequence> = BTreeMap::new();
    let mut rest = bytes;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let at = Place { name, number, offset: (bytes.len() - rest.len()) as u64 };
        let Some(header) = at.header(rest, big_endian)? else { return at.cut(HEADER_BYTES, rest.len(), events) };
        let header = Header { bytes: header, big_endian };
        let length = HEADER_BYTES + usize::from(header.u16(46));
        let Some(payload) = rest.get(HEADER_BYTES..length) else { return at.cut(length, rest.len(), events) };
        keep(header, payload, (file, number), events);
        if header.u32(28) >> 16 & category::NOTIFY == 0 {
            let sequence = sequences.entry(header.u32(40)).or_default();
            events.report.sequence_gaps += sequence.gap(header.u32(4));
        }
        rest = &rest[length..];
    }
    Ok(())
}

/// Where an event is, for messages.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    number: u64,
    offset: u64,
}

impl Place<'_> {
    /// The file ends within an event.
    fn cut(self, needed: usize, found: usize, events: &mut Events) -> Result<(), TraceError> {
        if self.number > 1 {
            events.report.cut.push(format!("{}: event {}", self.name, self.number));
            return Ok(());
        }
        Err(TraceError::Truncated {
            file: self.name.into(),
            event: self.number,
            offset: self.offset,
            needed: needed as u64,
            found: found as u64,
        })
    }

    /// The header at the start of `rest`, if all of it is there. A wrong magic is reported before a lack of bytes: a
    /// foreign file is usually both.
    fn header(self, rest: &[u8], big_endian: bool) -> Result<Option<&[u8; HEADER_BYTES]>, TraceError> {
        if let Some(start) = rest.first_chunk() {
            let found = if big_endian { u32::from_be_bytes(*start) } else { u32::from_le_bytes(*start) };
            let (file, event, offset) = (self.name.to_owned(), self.number, self.offset);
            if found & !0xff != MAGIC {
                return Err(TraceError::BadMagic { file, event, offset, found });
            }
            if found as u8 != VERSION {
                return Err(TraceError::BadVersion { file, event, offset, found: found as u8 });
            }
        }
        Ok(rest.first_chunk())
    }
}

fn keep(header: Header<'_>, payload: &[u8], (file, number): (u16, u64), events: &mut Events) {
    let (action, category) = (header.u32(28) & 0xffff, header.u32(28) >> 16);
    let report = &mut events.report;
    report.events += 1;
    let kind = if category & category::NOTIFY != 0 {
        if action != NOTE_PROCESS {
            report.other_notes += 1;
            return;
        }
        report.process_notes += 1;
        let text = payload.split(|&b| b == 0).next().unwrap_or_default();
        events.names.push(String::from_utf8_lossy(text).into_owned());
        Kind::Name(events.names.len() as u32 - 1)
    } else {
        match action {
            ACTION_QUEUE => Kind::Queue,
            ACTION_ISSUE => Kind::Issue,
            ACTION_COMPLETE => Kind::Complete,
            _ => {
                report.ignored_events += 1;
                return;
            }
        }
    };
    let event = Event {
        time: header.u64(8),
        sector: header.u64(16),
        number,
        bytes: header.u32(24),
        category,
        pid: header.u32(32),
        device: header.u32(36),
        file,
        kind,
    };
    events.list.push(event);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_gaps_count_missing_events_and_survive_the_wrap() {
        let mut s = Sequence::default();
        assert_eq!([5, 6, 9, 8, 9].map(|n| s.gap(n)), [0, 0, 2, 0, 0]);
        let mut s = Sequence::default();
        assert_eq!([u32::MAX, 0, 2].map(|n| s.gap(n)), [0, 0, 1]);
    }
}
