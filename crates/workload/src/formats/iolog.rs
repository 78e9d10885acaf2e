//! fio's I/O logs (`write_iolog`, `read_iolog`), version 2: `FILE add|open|close`, `FILE read|write|sync|datasync|trim
//! OFFSET LENGTH`, `FILE wait MICROSECONDS`; version 3: the same behind a time in microseconds, without `wait`. fio's
//! documentation does not give the unit of version 3; fio 3.33 writes and reads microseconds. Every file is a device of
//! its own.

use std::io::{self, Write};

use units::SimTime;

use super::text::{Field, Fields, Line, lines};
use super::{Carries, Definition, Framing, Origin, Source, Writer, bytes_at};
use crate::trace::{Records, TraceFile};
use crate::{Trace, TraceError, WorkOp, WorkRequest};

const MICROSECOND_NS: u64 = 1_000;
const VERSION_2: &[u8] = b"fio version 2 iolog";
const VERSION_3: &[u8] = b"fio version 3 iolog";

pub(super) const DEFINITION: Definition = Definition {
    needs: "",
    framing: Framing::Lines,
    source: Source::Files { fits, read },
    stacked: false,
    tick_ns: MICROSECOND_NS,
    writer: Some(Writer {
        write,
        carries: Carries { flushes: true, trims: true, tick_ns: MICROSECOND_NS, ..Carries::READS_AND_WRITES },
    }),
};

fn fits(head: &[u8]) -> bool {
    head.starts_with(VERSION_2) || head.starts_with(VERSION_3)
}

fn read(files: &[TraceFile], records: &mut Records) -> Result<(), TraceError> {
    for (number, file) in (0..).zip(files) {
        let mut lines = lines(&file.name, &file.bytes);
        let Some(first) = lines.next() else { continue };
        let timed = match first.text.trim_ascii() {
            VERSION_2 => false,
            VERSION_3 => true,
            _ => {
                return Err(first.error(0, "not the first line of an iolog; allowed: fio version 2 iolog, or 3".into()));
            }
        };
        let mut log = Log { origin: Origin { file: number }, timed, now: 0 };
        for line in lines {
            records.report.events += 1;
            if let Err(error) = log.line(line, records) {
                records.cut(line, &file.bytes, error)?;
            }
        }
    }
    Ok(())
}

/// What a log has, in its order.
///
/// # Errors
/// What is wrong with it, with line and column.
pub(crate) fn records(file: &TraceFile) -> Result<Records, TraceError> {
    let mut records = Records::default();
    read(std::slice::from_ref(file), &mut records)?;
    Ok(records)
}

struct Log {
    origin: Origin,
    timed: bool,
    now: u64,
}

impl Log {
    fn line(&mut self, line: Line<'_>, records: &mut Records) -> Result<(), TraceError> {
        let mut fields = line.words();
        if self.timed {
            self.now = fields.need("time in microseconds")?.number_below(u64::MAX / MICROSECOND_NS)? * MICROSECOND_NS;
        }
        let file = fields.need("file name")?;
        let action = fields.need("action")?;
        let op = match action.text {
            b"add" | b"open" | b"close" => {
                records.devices.index_of(file.text, || file.string().into_owned());
                records.report.ignored_events += 1;
                return fields.end();
            }
            b"wait" if !self.timed => return self.wait(&mut fields, records),
            b"read" => WorkOp::Read,
            b"write" => WorkOp::Write,
            b"trim" => WorkOp::Trim,
            b"sync" | b"datasync" => WorkOp::Flush,
            _ => return Err(wrong_action(action, self.timed)),
        };
        let (offset, size) = match op {
            // fio writes the file's last offset and length 0 behind a sync.
            WorkOp::Flush => {
                fields.optional("offset").map(Field::number).transpose()?;
                fields.optional("length").map(Field::number).transpose()?;
                (0, 0)
            }
            _ => (fields.need("offset")?.number()?, fields.need("length")?.number()?),
        };
        fields.end()?;
        records.report.queue_events += 1;
        let (sector, bytes) = bytes_at(offset, size);
        let device = records.devices.index_of(file.text, || file.string().into_owned());
        let request = self.origin.request(line.number, op, sector, bytes);
        records.push(device, WorkRequest { arrival: SimTime(self.now), ..request });
        Ok(())
    }

    fn wait(&mut self, fields: &mut Fields<'_>, records: &mut Records) -> Result<(), TraceError> {
        records.report.ignored_events += 1;
        let wait = fields.need("time to wait, in microseconds")?;
        let later = wait.number()?.checked_mul(MICROSECOND_NS).and_then(|ns| self.now.checked_add(ns));
        self.now = later.ok_or_else(|| wait.wrong("less than 584 years of waiting in all"))?;
        fields.optional("length").map(Field::number).transpose()?;
        fields.end()
    }
}

fn wrong_action(action: Field<'_>, timed: bool) -> TraceError {
    let waits = if timed { "" } else { ", wait" };
    action.wrong(&format!("read, write, trim, sync, datasync, add, open, close{waits}"))
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "fio version 3 iolog")?;
    for device in 0..trace.devices.len() {
        writeln!(out, "0 disk.{device} add\n0 disk.{device} open")?;
    }
    for r in &trace.requests {
        let (device, sector) = trace.on_device(r);
        let action = match r.op {
            WorkOp::Read => "read",
            WorkOp::Write => "write",
            WorkOp::Trim => "trim",
            WorkOp::Flush => "sync",
        };
        let time = r.arrival.0 / MICROSECOND_NS;
        writeln!(out, "{time} disk.{device} {action} {} {}", sector * crate::SECTOR_BYTES, r.bytes)?;
    }
    let end = trace.duration().0 / MICROSECOND_NS;
    (0..trace.devices.len()).try_for_each(|device| writeln!(out, "{end} disk.{device} close"))
}
