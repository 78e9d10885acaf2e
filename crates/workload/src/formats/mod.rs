//! The formats in which people have block traces. Each is a file here and a line of the registration; recognition,
//! error messages, listings and the tests of every format follow from it.
//!
//! A reader knows what stands in a file, and nothing else: [`crate::trace`] puts its records in order, lays out the
//! devices, cleans and checks them.

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod csv;
pub(crate) mod frame;
pub(crate) mod ftrace;
pub(crate) mod iolog;
mod kernel;
mod mobile;
mod mqsim;
mod msr;
mod nexus5;
pub(crate) mod perfetto;
mod rwbs;
mod spc;
mod systor17;
mod tencent;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod vscsi;

use std::io::{self, Write};

use crate::text_file::bytes_without_mark;
use crate::trace::{Records, TraceFile};
use crate::{SECTOR_BYTES, StreamId, Trace, TraceError, WorkOp, WorkRequest};
use frame::Framing;
use text::{Line, lines};

/// Lines at the beginning of a file among which one has to fit a format.
const HEAD_LINES: usize = 40;

/// Bytes of the beginning: `ftrace` has a long comment, blkparse's lines may be few.
pub(crate) const HEAD_BYTES: usize = 1 << 16;

units::kinds! {
    /// A format of block traces. Files are tried in this order.
    pub Format, list formats {
        /// Linux blktrace, binary: a directory of per-CPU files, or one of them
        Blktrace = "blktrace" in blktrace;
        /// Perfetto's own recordings (protocol buffers) with block_rq_* or ufshcd_command events of ftrace
        Perfetto = "perfetto" in perfetto;
        /// VMware vscsiStats, binary records of version 1 (32 bytes) or 2 (40 bytes)
        Vscsi = "vscsi" in vscsi;
        /// text of blkparse: major,minor cpu sequence seconds pid action rwbs sector + sectors [process]
        Blkparse = "blkparse" in blkparse;
        /// text of ftrace, atrace, systrace, trace-cmd report or perf script with block_rq_* or
        /// ufshcd_command events
        Ftrace = "ftrace" in ftrace;
        /// fio iolog, version 2 or 3
        Iolog = "iolog" in iolog;
        /// MobileBlockIOTraces CSV: proces,device,rw_flag,sector,size,timestamp
        Mobile = "mobile" in mobile;
        /// Nexus 5 (Zhou et al.): sector, sectors, bytes, flags and four times
        Nexus5 = "nexus5" in nexus5;
        /// tables of biosnoop, iosnoop and the like by their columns: TIME(s) COMM DISK T SECTOR BYTES [LAT(ms)] ...
        Biosnoop = "biosnoop" in biosnoop;
        /// SYSTOR '17 CSV: Timestamp,Response,IOType,LUN,Offset,Size
        Systor17 = "systor17" in systor17;
        /// Alibaba 2020 CSV: device_id,opcode,offset,length,timestamp
        Alibaba = "alibaba" in alibaba;
        /// Tencent CSV: Timestamp,Offset,Size,IOType,VolumeID
        Tencent = "tencent" in tencent;
        /// MSR Cambridge CSV: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
        Msr = "msr" in msr;
        /// SPC: ASU,LBA,Size,Opcode,Timestamp
        Spc = "spc" in spc;
        /// MQSim and SSDSim: time_ns device LBA sectors type (1 read, 0 write)
        Mqsim = "mqsim" in mqsim;
        /// ufsim's own CSV: time_ns,op,device,sector,bytes,flags,latency_ns,process
        Csv = "csv" in csv;
    }
}

macro_rules! definitions {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $module:ident;)+) => {
        impl Format {
            fn definition(self) -> &'static Definition {
                match self {
                    $(Format::$variant => &$module::DEFINITION,)+
                }
            }
        }
    };
}
formats!(definitions);

/// Of a trace that was not read from a file.
impl Default for Format {
    fn default() -> Format {
        Format::Blktrace
    }
}

/// What a format is.
pub(crate) struct Definition {
    /// What a file has to have, for a message about one that has none of it; empty where every line is a request.
    needs: &'static str,
    /// How its bytes come in records.
    framing: Framing,
    source: Source,
    /// Devices may stand above each other and show the same requests again, as dm-5 and sda do in Linux: one has to be
    /// chosen. Otherwise each is a volume of its own, and they are laid out one after another.
    pub stacked: bool,
    /// The unit of its times, in nanoseconds.
    pub tick_ns: u64,
    writer: Option<Writer>,
}

/// How a format is read.
enum Source {
    /// Line by line. `skips` knows headers.
    Lines { read: fn(Line<'_>, Origin, &mut Records) -> Result<(), TraceError>, skips: fn(Line<'_>) -> bool },
    /// All at once.
    Files { fits: fn(&[u8]) -> bool, read: fn(&[TraceFile], &mut Records) -> Result<(), TraceError> },
}

impl Source {
    const fn lines(read: fn(Line<'_>, Origin, &mut Records) -> Result<(), TraceError>) -> Source {
        Source::Lines { read, skips: |_| false }
    }
}

/// The file that a line is in.
#[derive(Clone, Copy)]
struct Origin {
    file: u16,
}

impl Origin {
    /// A request without time, flags and process. A flush has neither place nor length.
    fn request(self, line: u64, op: WorkOp, sector: u64, bytes: u64) -> WorkRequest {
        let (sector, bytes) = if op == WorkOp::Flush { (0, 0) } else { (sector, bytes) };
        WorkRequest { sector, bytes, line, stream: StreamId(self.file), ..WorkRequest::plain(op, 0, 0) }
    }
}

/// How a format is written.
pub(crate) struct Writer {
    write: fn(&Trace, &mut dyn Write) -> io::Result<()>,
    pub carries: Carries,
}

/// What a format has room for.
#[derive(Clone, Copy)]
pub(crate) struct Carries {
    pub flushes: bool,
    pub trims: bool,
    pub flags: bool,
    pub processes: bool,
    pub latency: bool,
    pub device_names: bool,
    /// Lengths only in whole sectors.
    pub whole_sectors: bool,
    /// Times are cut to a multiple of this.
    pub tick_ns: u64,
}

impl Carries {
    const READS_AND_WRITES: Carries = Carries {
        flushes: false,
        trims: false,
        flags: false,
        processes: false,
        latency: false,
        device_names: false,
        whole_sectors: false,
        tick_ns: 1,
    };
}

impl Format {
    /// The format of a name.
    ///
    /// # Errors
    /// [`TraceError::BadFormat`], with the names there are.
    pub fn named(name: &str) -> Result<Format, TraceError> {
        Format::among(name, Format::ALL.iter().copied())
    }

    /// The format of a name, if it can be written.
    ///
    /// # Errors
    /// [`TraceError::BadFormat`], with the names of those that can.
    pub fn writable(name: &str) -> Result<Format, TraceError> {
        Format::among(name, Format::ALL.iter().copied().filter(|f| f.definition().writer.is_some()))
    }

    fn among(name: &str, formats: impl Iterator<Item = Format> + Clone) -> Result<Format, TraceError> {
        formats.clone().find(|format| format.name() == name).ok_or_else(|| {
            let allowed: Vec<_> = formats.map(Format::name).collect();
            TraceError::BadFormat { value: name.into(), allowed: allowed.join(", ") }
        })
    }

    /// Whether traces can be written in it.
    pub fn can_be_written(self) -> bool {
        self.definition().writer.is_some()
    }

    /// How its bytes come in records.
    pub(crate) fn framing(self) -> Framing {
        self.definition().framing
    }

    /// What a file of it has to have to hold requests; empty where every line is one.
    pub fn needs(self) -> &'static str {
        self.definition().needs
    }

    pub(crate) fn stacked(self) -> bool {
        self.definition().stacked
    }

    pub(crate) fn tick_ns(self) -> u64 {
        self.definition().tick_ns
    }

    pub(crate) fn carries(self) -> Option<Carries> {
        self.definition().writer.as_ref().map(|writer| writer.carries)
    }

    /// Writes a trace in this format.
    pub(crate) fn write(self, trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
        let writer = self.definition().writer.as_ref().expect("asked for a format that can be written");
        (writer.write)(trace, out)
    }

    /// The format whose reader finds a line or event of its own at the beginning of a file.
    pub(crate) fn recognise(bytes: &[u8]) -> Option<Format> {
        let head = &bytes[..bytes.len().min(HEAD_BYTES)];
        Format::ALL.iter().copied().find(|format| match &format.definition().source {
            Source::Files { fits, .. } if matches!(format.framing(), Framing::Lines) => fits(bytes_without_mark(head)),
            Source::Files { fits, .. } => fits(head),
            Source::Lines { read, skips } => {
                let mut scratch = Records::default();
                let mut fits = |line| skips(line) || read(line, Origin { file: 0 }, &mut scratch).is_ok();
                lines("", head).take(HEAD_LINES).any(&mut fits)
            }
        })
    }

    /// Reads files, already unpacked.
    ///
    /// # Errors
    /// What is wrong with them, with the place.
    pub(crate) fn read(self, files: &[TraceFile]) -> Result<Records, TraceError> {
        let mut records = Records::default();
        match &self.definition().source {
            Source::Files { read, .. } => read(files, &mut records)?,
            Source::Lines { read, skips } => {
                for (number, file) in (0..).zip(files) {
                    records.list.reserve(file.bytes.len() / 64);
                    for line in lines(&file.name, &file.bytes).filter(|line| !skips(*line)) {
                        records.report.events += 1;
                        records.report.queue_events += 1;
                        if let Err(error) = read(line, Origin { file: number }, &mut records) {
                            records.cut(line, &file.bytes, error)?;
                            records.report.queue_events -= 1;
                        }
                    }
                }
            }
        }
        records.report.files = files.len() as u64;
        Ok(records)
    }

    /// How messages call the place of a request.
    pub(crate) fn place(self, number: u64) -> String {
        match self {
            Format::Blktrace | Format::Perfetto => format!("event {number}"),
            Format::Vscsi => format!("record {number}"),
            _ => format!("line {number}"),
        }
    }
}

/// Sector and length of a range of bytes. A block device moves whole sectors, so the range begins with one.
fn bytes_at(offset: u64, size: u64) -> (u64, u64) {
    let into = if size == 0 { 0 } else { offset % SECTOR_BYTES };
    (offset / SECTOR_BYTES, size.saturating_add(into))
}

/// Name of a process without the id that some tools append.
fn comm(text: &[u8]) -> std::borrow::Cow<'_, str> {
    let at = text.iter().rposition(|&b| b == b'-').filter(|&at| {
        let id = &text[at + 1..];
        !id.is_empty() && id.iter().all(u8::is_ascii_digit)
    });
    String::from_utf8_lossy(&text[..at.unwrap_or(text.len())])
}

/// major:minor of the kernel's `dev_t`: 12 bits of major above 20 bits of minor number.
fn device_name(dev: u32) -> String {
    format!("{}:{}", dev >> 20, dev & 0xf_ffff)
}
