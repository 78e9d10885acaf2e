//! The table of biosnoop (bcc and libbpf-tools): `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, with white
//! space between. A line is printed when a request completes, so it began earlier by the latency, and the time in the
//! queue if there is one.

use units::{Nanos, SimTime};

use super::rwbs::Rwbs;
use super::text::{Field, Line, lines};
use super::{Definition, Framing, HEAD_LINES, Origin, Source};
use crate::trace::{Recorded, Records, TraceFile};
use crate::{TraceError, WorkRequest};

/// Milliseconds are read as seconds, with three digits more.
const MS_PER_SECOND: u64 = 1000;

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Files { fits, read },
    stacked: true,
    tick_ns: 1_000_000_000,
    writer: None,
};

fn is_header(line: Line<'_>) -> bool {
    line.text.trim_ascii_start().starts_with(b"TIME(s)")
}

fn fits(head: &[u8]) -> bool {
    lines("", head).take(HEAD_LINES).any(is_header)
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    records.report.recorded = Recorded::Below;
    for (number, file) in (0..).zip(files) {
        let rows = || lines(&file.name, &file.bytes).skip_while(|line| !is_header(*line));
        let queued = rows().next().is_some_and(|line| super::text::find(line.text, b"QUE(ms)").is_some());
        let mut found = Vec::new();
        for line in rows().filter(|line| !is_header(*line)) {
            records.report.events += 1;
            match Row::of(line, queued) {
                Ok(row) => found.push(row),
                Err(error) => records.report.leave_out(&error),
            }
        }
        // Times count from the first completion: what began before would have a negative time.
        let before = found.iter().map(|row| row.took().saturating_sub(row.ended)).max().unwrap_or(0);
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
    queue: u64,
    latency: u64,
}

impl<'a> Row<'a> {
    fn of(line: Line<'a>, queued: bool) -> Result<Row<'a>, TraceError> {
        let mut words = line.words();
        let mut all = Vec::new();
        while let Some(word) = words.optional("field") {
            all.push(word);
        }
        // A name may have spaces, so the fields behind it are counted from the end.
        let behind = if queued { 7 } else { 6 };
        let split = all.len().checked_sub(behind).filter(|&split| split >= 2);
        let Some(split) = split else {
            let allowed = "TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)";
            return Err(line.error(line.text.len(), format!("the line has too few fields; allowed: {allowed}")));
        };
        let (time, names, rest) = (all[0], &all[1..split], &all[split..]);
        rest[0].named("PID").number()?;
        let letters = rest[2].named("T");
        let rwbs = Rwbs::parse(letters.text).ok_or_else(|| letters.wrong("R or W, or the kernel's letters"))?;
        let ms = |field: Field<'_>, what| Ok::<_, TraceError>(field.named(what).seconds()? / MS_PER_SECOND);
        Ok(Row {
            line: line.number,
            comm: String::from_utf8_lossy(names[0].until(names[names.len() - 1])),
            disk: rest[1],
            rwbs,
            sector: rest[3].named("sector").number()?,
            bytes: rest[4].named("bytes").number()?,
            ended: time.named("time").seconds()?,
            queue: if queued { ms(rest[5], "time in the queue")? } else { 0 },
            latency: ms(rest[behind - 1], "latency")?,
        })
    }

    fn took(&self) -> u64 {
        self.queue + self.latency
    }

    fn record(&self, before: u64, origin: Origin, records: &mut Records) {
        records.report.queue_events += 1;
        let Some((op, flags)) = self.rwbs.request(self.bytes) else {
            records.report.ignored_queue_events += 1;
            return;
        };
        let device = records.devices.index_of(self.disk.text, || self.disk.string().into_owned());
        let request = WorkRequest {
            arrival: SimTime((self.ended + before).saturating_sub(self.took())),
            phone_latency: Some(Nanos(self.took())),
            flags,
            process: records.names.index_of(&self.comm),
            ..origin.request(self.line, op, self.sector, self.bytes)
        };
        records.push(device, request);
    }
}
