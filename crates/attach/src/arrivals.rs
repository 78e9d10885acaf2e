//! The log of arrivals: what has come to a device and when, as a trace in ufsim's own CSV. Its simulated times decide
//! everything that happens, so a device that gets the same arrivals does the same.
//!
//! A line `# origin: ...` in its place tells what else was done to the device: `cut at NS`, `save at NS`, `memory NS
//! BYTES`, or `faults NS READS PROGRAMS ERASES` (those that fail of a million). `refused NS KIND` is a request that
//! never came to the device, because the store had no space for its data. For commands that take traces these are
//! remarks, and the rest is a trace like others. Data is not in it.

use std::io::{self, BufRead, Write};

use nand::Faults;
use thiserror::Error;
use units::SimTime;

use crate::UNIT;
use crate::ask::Ask;
use crate::engine::Engine;
use crate::hole::Hole;

const HEADER: &str = "time_ns,op,device,sector,bytes,flags,latency_ns,process";
const REMARK: &str = "# origin: ";
const SECTOR: u64 = 512;
const UNIT_SECTORS: u64 = UNIT as u64 / SECTOR;

/// Where a log goes.
pub struct ArrivalLog {
    to: Box<dyn Write + Send>,
    /// Why it has ended early.
    failed: Option<io::Error>,
}

impl ArrivalLog {
    /// Begins a log.
    ///
    /// # Errors
    /// If its first line cannot be written.
    pub fn new(mut to: Box<dyn Write + Send>) -> io::Result<ArrivalLog> {
        writeln!(to, "{HEADER}")?;
        Ok(ArrivalLog { to, failed: None })
    }

    /// Whether a file that begins with these bytes may be a log.
    pub fn begins(head: &[u8]) -> bool {
        head.starts_with(HEADER.as_bytes())
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.failed.is_none()
            && let Err(error) = writeln!(self.to, "{line}")
        {
            self.failed = Some(error);
        }
    }

    /// A request arrives.
    pub(crate) fn arrived(&mut self, at: SimTime, ask: &Ask) {
        let (first, len) = ask.span();
        let (op, sector, bytes) = (Ask::KINDS[ask.kind()], u64::from(first) * UNIT_SECTORS, len * UNIT as u64);
        let fua = matches!(ask, Ask::Write { fua: true, .. } | Ask::Trim { fua: true, .. });
        self.line(format_args!("{},{op},live,{sector},{bytes},{},,", at.0, if fua { "fua" } else { "" }));
    }

    /// A request has been refused for want of space.
    pub(crate) fn refused(&mut self, at: SimTime, kind: usize) {
        self.line(format_args!("{REMARK}refused {} {}", at.0, Ask::KINDS[kind]));
    }

    /// The power is cut.
    pub(crate) fn cut(&mut self, at: SimTime) {
        self.line(format_args!("{REMARK}cut at {}", at.0));
    }

    /// The state is to be saved.
    pub(crate) fn saved(&mut self, at: SimTime) {
        self.line(format_args!("{REMARK}save at {}", at.0));
    }

    /// The limit of host memory changes.
    pub(crate) fn memory(&mut self, at: SimTime, bytes: u64) {
        self.line(format_args!("{REMARK}memory {} {bytes}", at.0));
    }

    /// Flash operations begin to fail, or stop to.
    pub(crate) fn faults(&mut self, at: SimTime, faults: Faults) {
        let Faults { read_per_million, program_per_million, erase_per_million, .. } = faults;
        let rates = format_args!("{read_per_million} {program_per_million} {erase_per_million}");
        self.line(format_args!("{REMARK}faults {} {rates}", at.0));
    }

    /// Writes what is still in memory.
    ///
    /// # Errors
    /// If that, or anything before, could not be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.failed {
            Some(error) => Err(error),
            None => self.to.flush(),
        }
    }
}

/// Why a log cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The file has said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is not what a server writes.
    #[error("line {0}: {1}")]
    Line(usize, String),
    /// The caller asked for it.
    #[error("interrupted")]
    Interrupted,
}

impl Engine {
    /// Repeats what a log tells, and goes on until everything has ended. Data is zeroes. `goes_on` is asked now and
    /// then. A last line without an end, which a killed server leaves, is not repeated; false says that there was one.
    ///
    /// # Errors
    /// If it is no log of arrivals, or does not fit the device, or does not go on.
    ///
    /// # Panics
    /// See [`Engine::step`].
    pub fn replay(&mut self, mut log: impl BufRead, mut goes_on: impl FnMut() -> bool) -> Result<bool, ReplayError> {
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            log.read_line(&mut line)?;
            let Some(whole) = line.strip_suffix('\n').or(self.half_line(&line)) else { break };
            if number % ASK_EVERY == 0 && !goes_on() {
                return Err(ReplayError::Interrupted);
            }
            self.replay_line(number, whole)?;
        }
        while self.is_busy() {
            self.step();
            while self.answer().is_some() {}
        }
        Ok(line.is_empty())
    }

    fn half_line<'a>(&self, line: &'a str) -> Option<&'a str> {
        (self.sabotage == Some(Hole::HalfLines) && !line.is_empty()).then_some(line)
    }

    fn replay_line(&mut self, number: usize, line: &str) -> Result<(), ReplayError> {
        let told = |what: &str| ReplayError::Line(number, what.into());
        if number == 1 {
            let is_log = line == HEADER;
            return is_log
                .then_some(())
                .ok_or_else(|| told("must be the header of ufsim's CSV, as serve --log writes it"));
        }
        if let Some(remark) = line.strip_prefix(REMARK) {
            return self.repeat(remark).map_err(|what| told(&what));
        }
        let (at, ask) = arrival(line).ok_or_else(|| told("must be a request of a log of arrivals"))?;
        if at < self.now() {
            return Err(told("its time is before that of the line above it"));
        }
        self.submit(at, 0, ask);
        while self.answer().is_some() {}
        Ok(())
    }

    fn repeat(&mut self, remark: &str) -> Result<(), String> {
        let words: Vec<&str> = remark.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().map_err(|error| format!("{word}: {error}"));
        match words[..] {
            ["cut", "at", at] => self.cut(SimTime(number(at)?)),
            ["save", "at", at] => {
                if !self.save(SimTime(number(at)?), Box::new(|device, _| device)) {
                    return Err("a state is being saved already".into());
                }
            }
            ["memory", at, bytes] => {
                self.set_memory(SimTime(number(at)?), number(bytes)?).map_err(|error| error.to_string())?;
            }
            ["faults", at, reads, programs, erases] => {
                let rate = |word: &str| word.parse::<u32>().map_err(|error| format!("{word}: {error}"));
                let (read_per_million, program_per_million) = (rate(reads)?, rate(programs)?);
                let erase_per_million = rate(erases)?;
                let faults = Faults { seed: 0, read_per_million, program_per_million, erase_per_million };
                self.set_faults(SimTime(number(at)?), faults);
            }
            ["refused", at, kind] => {
                let kind = Ask::KINDS.iter().position(|&known| known == kind).ok_or("must be the kind of a request")?;
                self.arrive(SimTime(number(at)?));
                self.tally.refused(kind);
            }
            _ => return Err("must be a remark of a log of arrivals".into()),
        }
        Ok(())
    }
}

fn arrival(line: &str) -> Option<(SimTime, Ask)> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[at, op, _, sector, bytes, flags, _, _] = &fields[..] else { return None };
    let (at, sector, bytes): (u64, u64, u64) = (at.parse().ok()?, sector.parse().ok()?, bytes.parse().ok()?);
    let first = u32::try_from(sector / UNIT_SECTORS).ok()?;
    let len = u32::try_from(bytes / UNIT as u64).ok()?;
    let whole = sector.is_multiple_of(UNIT_SECTORS) && bytes.is_multiple_of(UNIT as u64);
    let fua = flags == "fua";
    if !whole || !(fua || flags.is_empty()) {
        return None;
    }
    let ask = match op {
        "read" => Ask::Read { first, len },
        "write" if bytes <= MAX_WRITE => Ask::Write { first, data: vec![0; bytes as usize], fua },
        "trim" => Ask::Trim { first, len, fua },
        "flush" => Ask::Flush,
        _ => return None,
    };
    Some((SimTime(at), ask))
}

/// Lines after which the caller is asked whether to go on.
const ASK_EVERY: usize = 1 << 14;
/// No server accepts longer writes.
const MAX_WRITE: u64 = 1 << 30;
