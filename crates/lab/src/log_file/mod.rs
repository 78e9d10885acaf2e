//! The file of a log of requests: Parquet, made while the run goes on.
//!
//! A general writer looks at each value of each column several times, which took longer than the simulation of the
//! request. This one knows what a log is like: it takes some thousand requests at a time, which stay in a processor's
//! cache; most stages took no time, and their pages are copied (`parquet.rs`). How numbers are packed is
//! in `pack.rs`, the language of headers in `thrift.rs`.
//!
//! The names of the columns and their order are the caller's, as is what the file says of itself.

mod pack;
mod parquet;
mod thrift;

use std::io;

use ufs::Status;
use units::{Nanos, SimTime};
use workload::WorkOp;

use self::parquet::{File, Kind};
use crate::records::{Entry, Records};
use crate::request_log::Piece;
use crate::stages::Stage;

/// Requests of a row group.
pub const GROUP: usize = 1 << 17;
/// Requests that are looked at by one column after another: as many as fit the nearest cache of a processor.
const BLOCK: usize = 256;
/// Where the mapping of a read came from, in the order of [`workload::ReadOutcome`].
const OUTCOMES: [&str; 3] = ["host", "sram", "map"];
/// Stands for no word.
const NO_WORD: u16 = u16::MAX;
/// Columns whose smallest and largest values each row group tells, so that readers can skip some.
const RANGES: [&str; 3] = ["arrival_ns", "completion_ns", "latency_ns"];

/// A list of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Words {
    Kinds,
    Outcomes,
    Processes,
}

/// What gives the values of some requests; times count from a moment on.
type Get<T> = fn(&[Entry], SimTime, &mut Vec<T>);

/// A column: what gives its values, and those that are not in the file yet, whose memory is used again.
#[derive(Debug)]
enum Column {
    Whole(Get<u64>, Vec<u64>),
    Real(Get<f64>, Vec<f64>),
    Switch(Get<bool>, Vec<bool>),
    /// Places in a list of words, of the whole row group: the list may still grow.
    Word(Words, Get<u16>, Vec<u16>),
    Stage(usize, Vec<u64>),
}

macro_rules! each {
    ($kind:ident, $entry:ident => $value:expr) => {
        each!($kind, $entry, _start => $value)
    };
    ($kind:ident, $entry:ident, $start:ident => $value:expr) => {
        Column::$kind(|entries, $start, to| to.extend(entries.iter().map(|$entry| $value)), Vec::new())
    };
}

macro_rules! word {
    ($words:ident, $entry:ident => $value:expr) => {
        Column::Word(Words::$words, |entries, _, to| to.extend(entries.iter().map(|$entry| $value)), Vec::new())
    };
}

impl Column {
    /// The column of this name; `None` if a log has none.
    fn of(name: &str) -> Option<Column> {
        if let Some(stage) = Stage::COLUMNS.iter().position(|&stage| stage == name) {
            return Some(Column::Stage(stage, Vec::new()));
        }
        Some(match name {
            "arrival_ns" => each!(Whole, entry, start => entry.request.arrival.since(start).0),
            "completion_ns" => each!(Whole, entry, start => entry.completed.since(start).0),
            "latency_ns" => each!(Whole, entry => entry.latency().0),
            "lba_units" => each!(Whole, entry => u64::from(entry.lpa.0)),
            "units" => each!(Whole, entry => u64::from(entry.len)),
            "sector" => each!(Whole, entry => entry.request.sector),
            "bytes" => each!(Whole, entry => entry.request.bytes),
            "file" => each!(Whole, entry => u64::from(entry.request.stream.0)),
            "line" => each!(Whole, entry => entry.request.line),
            "recorded_ns" => each!(Real, entry => number(entry.request.phone_latency)),
            "waiting_ns" => each!(Real, entry => number(entry.dispatched.map(|at| at.since(entry.request.arrival)))),
            "fua" => each!(Switch, entry => entry.request.flags.fua),
            "sync" => each!(Switch, entry => entry.request.flags.sync),
            "meta" => each!(Switch, entry => entry.request.flags.meta),
            "readahead" => each!(Switch, entry => entry.request.flags.readahead),
            "preflush" => each!(Switch, entry => entry.request.flags.preflush),
            "measured" => each!(Switch, entry => entry.measured),
            "failed" => each!(Switch, entry => entry.status != Status::Good),
            "kind" => word!(Kinds, entry => entry.request.op as u16),
            "process" => word!(Processes, entry => entry.request.process.0),
            "outcome" => word!(Outcomes, entry => entry.outcome.map_or(NO_WORD, |outcome| outcome as u16)),
            _ => return None,
        })
    }

    fn kind(&self) -> Kind {
        match self {
            Column::Whole(..) | Column::Stage(..) => Kind::Whole,
            Column::Real(..) => Kind::Real,
            Column::Switch(..) => Kind::Switch,
            Column::Word(..) => Kind::Word,
        }
    }

    /// Adds the values of some requests, but for stages.
    fn fill(&mut self, entries: &[Entry], start: SimTime) {
        match self {
            Column::Whole(get, values) => get(entries, start, values),
            Column::Real(get, values) => get(entries, start, values),
            Column::Switch(get, values) => get(entries, start, values),
            Column::Word(_, get, places) => get(entries, start, places),
            Column::Stage(..) => {}
        }
    }

    /// Makes a page of the values, all but words.
    fn put(&mut self, number: usize, rows: usize, file: &mut File) -> io::Result<()> {
        match self {
            Column::Whole(_, values) => put(values, |values| file.whole(number, values)),
            Column::Real(_, values) => put(values, |values| file.real(number, values)),
            Column::Switch(_, values) => put(values, |values| file.switch(number, values)),
            Column::Stage(_, times) if times.is_empty() => file.zeros(number, rows),
            Column::Stage(_, times) => put(times, |times| file.whole(number, times)),
            Column::Word(..) => Ok(()),
        }
    }
}

/// A time; what is no number if there is none.
fn number(time: Option<Nanos>) -> f64 {
    time.map_or(f64::NAN, |time| time.0 as f64)
}

/// Hands over values and forgets them.
fn put<T>(values: &mut Vec<T>, to: impl FnOnce(&[T]) -> io::Result<()>) -> io::Result<()> {
    to(values)?;
    values.clear();
    Ok(())
}

/// A log that becomes a file. Whoever makes it puts the bytes that it gives one after another.
#[derive(Debug)]
pub struct LogFile {
    columns: Vec<Column>,
    /// The column of each stage.
    stages: Vec<Option<usize>>,
    file: File,
    /// What the file says of itself, by keys.
    about: Vec<(Vec<u8>, Vec<u8>)>,
    /// Requests of the row group so far.
    rows: usize,
    /// Names of processes so far.
    processes: Vec<String>,
}

impl LogFile {
    /// A file without rows, with these columns. `about` is what it says of itself, by keys.
    ///
    /// # Errors
    /// If a log has no column of such a name, or if there is no memory.
    pub fn new(names: Vec<String>, about: Vec<(Vec<u8>, Vec<u8>)>) -> io::Result<LogFile> {
        let unknown = |name: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("a log has no column '{name}'"));
        let column = |name: &String| Column::of(name).ok_or_else(|| unknown(name));
        let columns = names.iter().map(column).collect::<io::Result<Vec<_>>>()?;
        let place = |stage| columns.iter().position(|column| matches!(column, Column::Stage(of, _) if *of == stage));
        let stages = (0..Stage::COLUMNS.len()).map(place).collect();
        let kinds: Vec<_> = columns.iter().map(Column::kind).collect();
        let told = |name: &str| RANGES.contains(&name);
        let file = File::new(names.into_iter().zip(kinds).map(|(name, kind)| (told(&name), name, kind)))?;
        Ok(LogFile { columns, stages, file, about, rows: 0, processes: Vec::new() })
    }

    /// Adds requests; gives what has to be put to the end of the file, which is often nothing.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn add(&mut self, piece: &Piece, processes: &[String]) -> io::Result<Vec<u8>> {
        if self.rows + piece.len() > GROUP {
            self.end_group()?;
        }
        if self.processes.len() != processes.len() {
            self.processes = processes.to_vec();
        }
        let (records, start) = (piece.records(), piece.start());
        for block in records.entries().chunks(BLOCK) {
            self.columns.iter_mut().for_each(|column| column.fill(block, start));
        }
        self.fill_stages(records);
        for (number, column) in self.columns.iter_mut().enumerate() {
            column.put(number, records.len(), &mut self.file)?;
        }
        self.rows += records.len();
        if self.rows >= GROUP {
            self.end_group()?;
        }
        Ok(self.file.take())
    }

    /// Ends the file; gives what has to be put to its end.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn end(&mut self) -> io::Result<Vec<u8>> {
        self.end_group()?;
        self.file.end(&self.about);
        Ok(self.file.take())
    }

    /// Adds the times of stages. Those that took no time in any of these requests stay empty.
    fn fill_stages(&mut self, records: &Records) {
        // In the order of the stages, whatever that of the columns.
        let mut times: [Vec<u64>; Stage::COLUMNS.len()] =
            std::array::from_fn(|stage| self.times_of(stage).map(std::mem::take).unwrap_or_default());
        records.each_time(|row, stage, time| {
            let to = &mut times[stage];
            if to.is_empty() {
                to.resize(records.len(), 0);
            }
            to[row] += time.0;
        });
        for (stage, times) in times.into_iter().enumerate() {
            if let Some(of) = self.times_of(stage) {
                *of = times;
            }
        }
    }

    fn times_of(&mut self, stage: usize) -> Option<&mut Vec<u64>> {
        match &mut self.columns[self.stages[stage]?] {
            Column::Stage(_, times) => Some(times),
            _ => None,
        }
    }

    fn end_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        for (number, column) in self.columns.iter_mut().enumerate() {
            let Column::Word(words, _, places) = column else { continue };
            match words {
                Words::Kinds => self.file.words(number, places, &WorkOp::NAMES)?,
                Words::Outcomes => self.file.words(number, places, &OUTCOMES)?,
                Words::Processes if self.processes.is_empty() => self.file.words(number, places, &[""])?,
                Words::Processes => self.file.words(number, places, &self.processes)?,
            }
            places.clear();
        }
        self.file.end_group(self.rows);
        self.rows = 0;
        Ok(())
    }
}
