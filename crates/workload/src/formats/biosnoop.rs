//! Tables of tracers with a header and white space between the columns, such as `TIME(s) COMM PID DISK T SECTOR BYTES
//! [QUE(ms)] LAT(ms)` of biosnoop (bcc and libbpf-tools) and `[STARTs] ENDs COMM PID TYPE DEV BLOCK BYTES LATms` of
//! iosnoop (perf-tools). Columns are found by their names; others are passed over. A line is printed when a request
//! completes, so it began earlier by the latency and the time in the queue, unless the table has its beginning.

use units::{Nanos, SimTime};

use super::rwbs::Rwbs;
use super::text::{Field, Line, lines};
use super::{Definition, Framing, HEAD_LINES, Origin, Source};
use crate::trace::{Recorded, Records, TraceFile};
use crate::{TraceError, WorkRequest};

/// What a column is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Began,
    Ended,
    Comm,
    Disk,
    Operation,
    Sector,
    Bytes,
    /// A part of the time that a request took.
    Took,
}

/// Names of columns; times with the nanoseconds by which a second in them is to be divided.
const COLUMNS: [(&str, What, u64); 19] = [
    ("TIME(s)", What::Ended, 1),
    ("TIME(ms)", What::Ended, 1000),
    ("TIME(us)", What::Ended, 1_000_000),
    ("ENDs", What::Ended, 1),
    ("STARTs", What::Began, 1),
    ("COMM", What::Comm, 1),
    ("DISK", What::Disk, 1),
    ("DEV", What::Disk, 1),
    ("T", What::Operation, 1),
    ("TYPE", What::Operation, 1),
    ("RWBS", What::Operation, 1),
    ("SECTOR", What::Sector, 1),
    ("BLOCK", What::Sector, 1),
    ("BYTES", What::Bytes, 1),
    ("QUE(ms)", What::Took, 1000),
    ("LAT(ms)", What::Took, 1000),
    ("LATms", What::Took, 1000),
    ("LAT(us)", What::Took, 1_000_000),
    ("LATus", What::Took, 1_000_000),
];

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Files { fits, read },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

/// The columns of a table: what each is, if it is of use, and by what its times are divided.
struct Header(Vec<Option<(What, u64)>>);

impl Header {
    /// The header that a line is. Every table of block requests has a time, a name and a device.
    fn of(line: Line<'_>) -> Option<Header> {
        let mut words = line.words();
        let known = |word: Field<'_>| COLUMNS.iter().find(|column| column.0.as_bytes() == word.text);
        let columns = std::iter::from_fn(|| words.optional("column")).map(|word| known(word).map(|c| (c.1, c.2)));
        let header = Header(columns.collect());
        let is_one = [What::Comm, What::Disk].into_iter().all(|what| header.has(what));
        (is_one && (header.has(What::Ended) || header.has(What::Began))).then_some(header)
    }

    fn has(&self, what: What) -> bool {
        self.0.iter().flatten().any(|(column, _)| *column == what)
    }

    /// A table without one of these tells no requests.
    fn checked(self, line: Line<'_>) -> Result<Header, TraceError> {
        let needed = [("T", What::Operation), ("SECTOR", What::Sector), ("BYTES", What::Bytes)];
        match needed.into_iter().find(|(_, what)| !self.has(*what)) {
            None => Ok(self),
            Some((name, _)) => {
                let told =
                    format!("the table has no column {name}: its requests cannot be repeated; biosnoop of bcc has one");
                Err(line.error(0, told))
            }
        }
    }
}

fn fits(head: &[u8]) -> bool {
    lines("", head).take(HEAD_LINES).any(|line| Header::of(line).is_some())
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    records.report.recorded = Recorded::Below;
    for (number, file) in (0..).zip(files) {
        let (mut header, mut found) = (None, Vec::new());
        for line in lines(&file.name, &file.bytes) {
            if let Some(new) = Header::of(line) {
                header = Some(new.checked(line)?);
                continue;
            }
            // What stands before the header is a message of the tool.
            let Some(header) = &header else { continue };
            records.report.events += 1;
            match Row::of(line, header) {
                Ok(row) => found.push(row),
                Err(error) => records.report.leave_out(&error),
            }
        }
        // Times count from the first completion: what began before would have a negative time.
        let before = found.iter().map(|row| row.took.saturating_sub(row.ended)).max().unwrap_or(0);
        for row in found {
            row.record(before, Origin { file: number }, records);
        }
    }
    Ok(())
}

struct Row<'a> {
    line: u64,
    comm: std::borrow::Cow<'a, str>,
    disk: Field<'a>,
    rwbs: Rwbs,
    sector: u64,
    bytes: u64,
    ended: u64,
    took: u64,
    /// Whether the table has the time that a request took.
    timed: bool,
}

impl<'a> Row<'a> {
    fn of(line: Line<'a>, header: &Header) -> Result<Row<'a>, TraceError> {
        let mut words = line.words();
        let all: Vec<Field<'a>> = std::iter::from_fn(|| words.optional("field")).collect();
        // A name may have spaces, so the columns behind it are counted from the end.
        let columns = &header.0;
        let comm = columns.iter().position(|column| matches!(column, Some((What::Comm, _)))).unwrap_or(0);
        let Some(more) = all.len().checked_sub(columns.len()) else {
            let told = format!("the line has {} fields; allowed: {} as in the header", all.len(), columns.len());
            return Err(line.error(line.text.len(), told));
        };
        let place = |nth: usize| if nth > comm { nth + more } else { nth };
        let value = |what: What, name| {
            let is = |nth: &usize| columns[*nth].is_some_and(|(column, _)| column == what);
            (0..columns.len()).find(is).map(|nth| all[place(nth)].named(name))
        };
        let needed = |what, name| {
            value(what, name).ok_or_else(|| line.error(line.text.len(), format!("the line has no {name}")))
        };
        let times = |what: What, name: &'static str| {
            let of_column = |(nth, column): (usize, &Option<(What, u64)>)| {
                let (_, divisor) = column.filter(|(column, _)| *column == what)?;
                Some(all[place(nth)].named(name).seconds().map(|ns| ns / divisor))
            };
            columns.iter().enumerate().filter_map(of_column).collect::<Result<Vec<u64>, _>>()
        };
        let took = times(What::Took, "latency")?;
        let total = took.iter().copied().fold(0, u64::saturating_add);
        let ended = match (times(What::Began, "time")?.first(), times(What::Ended, "time")?.first()) {
            (Some(began), _) => began.saturating_add(total),
            (None, ended) => ended.copied().unwrap_or(0),
        };
        let letters = needed(What::Operation, "T")?;
        let rwbs = Rwbs::parse(letters.text).ok_or_else(|| letters.wrong("R or W, or the kernel's letters"))?;
        Ok(Row {
            line: line.number,
            comm: String::from_utf8_lossy(all[comm].until(all[comm + more])),
            disk: needed(What::Disk, "DISK")?,
            rwbs,
            sector: needed(What::Sector, "sector")?.number()?,
            bytes: needed(What::Bytes, "bytes")?.number()?,
            ended,
            took: total,
            timed: !took.is_empty(),
        })
    }

    fn record(&self, before: u64, origin: Origin, records: &mut Records) {
        records.report.queue_events += 1;
        let Some((op, flags)) = self.rwbs.request(self.bytes) else {
            records.report.ignored_queue_events += 1;
            return;
        };
        let device = records.devices.index_of(self.disk.text, || self.disk.string().into_owned());
        let request = WorkRequest {
            arrival: SimTime((self.ended + before).saturating_sub(self.took)),
            phone_latency: self.timed.then_some(Nanos(self.took)),
            flags,
            process: records.names.index_of(&self.comm),
            ..origin.request(self.line, op, self.sector, self.bytes)
        };
        records.push(device, request);
    }
}
