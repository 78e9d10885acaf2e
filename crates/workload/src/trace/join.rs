//! Several traces as one.
//!
//! Each trace has a time of its own, which begins with its shift: so much silence lies before its first request. The
//! rule says how these times become one:
//!
//! - **merge**: all run at once. The time of a request is that of its trace.
//! - **append**: one after another. The time of a trace begins when the last request of the one before it has come.
//! - **alternate**: in turns, in the order in which they are named, as a user changes between apps. In a turn the time
//!   of a trace goes on for the length of a turn while the others stand still; the turn in which its last request comes
//!   ends with that request, and from then on it has no turn. A turn without requests takes its time as well.
//!
//! Requests that come at the same moment keep the order in which their traces are named. The first request comes at
//! time 0.
//!
//! Addresses are shared, so that sector 80 of every trace is the same one, or stacked: every trace gets a range of its
//! own, one after another in their order. A process is called `LABEL: NAME`, for the processes of two traces are two,
//! though they may have the same name.

use units::{Nanos, SimTime};

use super::data::MAX_REPEATED;
use super::normalise::RANGE_SECTORS;
use super::records::Names;
use super::{Format, Recorded, Trace, TraceDevice, TraceError, TraceReport};
use crate::source::LATEST;
use crate::{SECTOR_BYTES, WorkOp, WorkRequest};

/// Turns after which the rule says no: each takes time, also one without requests.
const MOST_TURNS: u64 = 100_000_000;

/// Characters that the format of a joined trace does not allow in a name.
fn plain(name: &str) -> String {
    name.replace(|c: char| c == ',' || c.is_control(), "_")
}

/// How the times of several traces become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinRule {
    /// All at once.
    Merge,
    /// In turns.
    Alternate {
        /// Length of a turn, at least 1 ns.
        turn: Nanos,
    },
    /// One after another.
    Append,
}

/// What becomes of the addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinAddresses {
    /// They stay as recorded.
    Shared,
    /// Each trace has a range of its own.
    Stacked,
}

/// A trace to join with others.
#[derive(Clone, PartialEq, Debug)]
pub struct JoinPart {
    /// What it is called in the names of devices and processes.
    pub label: String,
    /// Silence before its first request.
    pub shift: Nanos,
    /// The trace.
    pub trace: Trace,
}

impl JoinPart {
    /// The time of a request in its trace.
    fn own(&self, number: usize) -> u64 {
        self.shift.0.saturating_add(self.trace.requests[number].arrival.0)
    }

    fn len(&self) -> usize {
        self.trace.requests.len()
    }

    /// Time of its last request.
    fn end(&self) -> u64 {
        self.len().checked_sub(1).map_or(0, |last| self.own(last))
    }

    /// Sectors up to the highest that is touched.
    fn sectors(&self) -> u64 {
        let ends = self.trace.requests.iter().filter(|r| r.op != WorkOp::Flush).map(end_sector);
        ends.max().unwrap_or(0).div_ceil(RANGE_SECTORS).saturating_mul(RANGE_SECTORS)
    }
}

fn end_sector(request: &WorkRequest) -> u64 {
    request.sector.saturating_add(request.bytes.div_ceil(SECTOR_BYTES))
}

/// A request of the joined trace: when, of which part, and which.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    part: usize,
    number: usize,
}

impl Trace {
    /// Joins traces. [`TraceReport::origin`] of the result says how, then has a line for each part.
    ///
    /// # Errors
    /// [`TraceError::Join`] if there are fewer than two, or too many requests or turns; [`TraceError::BeyondModel`] and
    /// [`TraceError::TooLate`] for a request that has no place, named as in its own file.
    pub fn joined(
        name: &str,
        parts: &[JoinPart],
        rule: JoinRule,
        addresses: JoinAddresses,
    ) -> Result<Trace, TraceError> {
        let requests: usize = parts.iter().map(JoinPart::len).sum();
        if parts.len() < 2 {
            return Err(join_error(format!("{} trace cannot be joined; name at least two", parts.len())));
        }
        if requests > MAX_REPEATED {
            return Err(join_error(format!("{requests} requests are too many; at most {MAX_REPEATED} in all")));
        }
        let order = order(parts, rule)?;
        let devices = lay_out(parts, addresses);
        let mut names = Names::default();
        let mut report = report_of(parts, rule, addresses);
        let start = order.first().map_or(0, |place| place.at);
        let mut requests = Vec::with_capacity(order.len());
        for (line, place) in (1..).zip(&order) {
            let (part, r) = (&parts[place.part], parts[place.part].trace.requests[place.number]);
            let first = if addresses == JoinAddresses::Stacked { devices[place.part].first_sector } else { 0 };
            let sector = if r.op == WorkOp::Flush { r.sector } else { r.sector.saturating_add(first) };
            let process = part.trace.processes.get(usize::from(r.process.0)).map_or("(unknown)", String::as_str);
            let joined = WorkRequest {
                arrival: SimTime(place.at - start),
                sector,
                line,
                process: names.index_of(&plain(&format!("{}: {process}", part.label))),
                stream: crate::StreamId(0),
                ..r
            };
            check(&joined, &r, &part.trace)?;
            report.count(&joined);
            requests.push(joined);
        }
        report.duration = requests.last().map_or(Nanos::ZERO, |r| r.arrival.since(SimTime::START));
        Ok(Trace {
            name: name.into(),
            requests,
            processes: names.table,
            files: vec![name.into()],
            format: Format::Csv,
            devices,
            report,
        })
    }
}

fn join_error(problem: String) -> TraceError {
    TraceError::Join { problem }
}

/// A request must have a place on a device and in time, as one that comes from a file.
fn check(joined: &WorkRequest, own: &WorkRequest, part: &Trace) -> Result<(), TraceError> {
    let place = || (part.file_name(own), part.format.place(own.line));
    if joined.end_unit() > u64::from(u32::MAX) {
        let (file, place) = place();
        return Err(TraceError::BeyondModel { file, place, sector: joined.sector, bytes: own.bytes });
    }
    if joined.arrival > LATEST {
        let (file, place) = place();
        return Err(TraceError::TooLate { file, place, after_ns: joined.arrival.0, most_ns: LATEST.0 });
    }
    Ok(())
}

/// All requests in the order in which they come.
fn order(parts: &[JoinPart], rule: JoinRule) -> Result<Vec<Place>, TraceError> {
    let mut order = Vec::with_capacity(parts.iter().map(JoinPart::len).sum());
    match rule {
        JoinRule::Merge => {
            for (part, from) in parts.iter().enumerate() {
                order.extend((0..from.len()).map(|number| Place { at: from.own(number), part, number }));
            }
            order.sort_by_key(|place| place.at);
        }
        JoinRule::Append => {
            let mut begin = 0_u64;
            for (part, from) in parts.iter().enumerate() {
                let at = |number| begin.saturating_add(from.own(number));
                order.extend((0..from.len()).map(|number| Place { at: at(number), part, number }));
                begin = begin.saturating_add(from.end());
            }
        }
        JoinRule::Alternate { turn } => in_turns(parts, turn, &mut order)?,
    }
    Ok(order)
}

fn in_turns(parts: &[JoinPart], turn: Nanos, order: &mut Vec<Place>) -> Result<(), TraceError> {
    let turns: u64 = parts.iter().map(|part| part.end() / turn.0.max(1) + 1).fold(0, u64::saturating_add);
    if turn == Nanos::ZERO {
        return Err(join_error("turns of 0 s never end; allowed is more than 0".into()));
    }
    if turns > MOST_TURNS {
        let seconds = turn.as_secs_f64();
        let problem = format!("turns of {seconds} s make {turns} turns; allowed are at most {MOST_TURNS}");
        return Err(join_error(problem));
    }
    // How far each trace is: requests, and its own time when its next turn begins.
    let mut next = vec![0_usize; parts.len()];
    let mut gone = vec![0_u64; parts.len()];
    let mut now = 0_u64;
    while order.len() < order.capacity() {
        for (part, from) in parts.iter().enumerate().filter(|(_, from)| from.len() > 0) {
            if next[part] == from.len() {
                continue;
            }
            let (begin, end) = (gone[part], gone[part].saturating_add(turn.0));
            while next[part] < from.len() && from.own(next[part]) < end {
                let number = next[part];
                order.push(Place { at: now.saturating_add(from.own(number) - begin), part, number });
                next[part] += 1;
            }
            let taken = if next[part] == from.len() { from.end() - begin } else { turn.0 };
            now = now.saturating_add(taken);
            gone[part] = end;
        }
    }
    Ok(())
}

/// The devices of the joined trace. Ranges are laid out as a reader of the file lays them out.
fn lay_out(parts: &[JoinPart], addresses: JoinAddresses) -> Vec<TraceDevice> {
    let requests = |part: &JoinPart| part.len() as u64;
    if addresses == JoinAddresses::Shared {
        let sectors = parts.iter().map(JoinPart::sectors).max().unwrap_or(0);
        let requests = parts.iter().map(requests).sum();
        return vec![TraceDevice { name: "shared".into(), first_sector: 0, sectors, requests }];
    }
    let mut first_sector = 0_u64;
    let mut devices = Vec::new();
    for (number, part) in (1..).zip(parts) {
        let (name, sectors) = (plain(&format!("{number} {}", part.label)), part.sectors());
        devices.push(TraceDevice { name, first_sector, sectors, requests: requests(part) });
        first_sector = first_sector.saturating_add(sectors.max(RANGE_SECTORS));
    }
    devices
}

/// What is told of a joined trace: where it comes from, and what its parts had to say of where they were recorded.
fn report_of(parts: &[JoinPart], rule: JoinRule, addresses: JoinAddresses) -> TraceReport {
    let rule = match rule {
        JoinRule::Merge => "merge: all at once".to_owned(),
        JoinRule::Append => "append: one after another".to_owned(),
        JoinRule::Alternate { turn } => format!("alternate: in turns of {} s", turn.as_secs_f64()),
    };
    let addresses = match addresses {
        JoinAddresses::Shared => "shared, as recorded",
        JoinAddresses::Stacked => "stacked, a range for each trace",
    };
    let mut origin = vec![format!("{} traces joined; {rule}; addresses {addresses}", parts.len())];
    for (number, JoinPart { label, shift, trace }) in (1..).zip(parts) {
        let mut line = format!("{number} {label}: {}, {}", trace.name, trace.format.name());
        line += &format!(", {} requests in {} s", trace.requests.len(), trace.duration().as_secs_f64());
        if *shift > Nanos::ZERO {
            line += &format!(", {} s of silence before", shift.as_secs_f64());
        }
        let cleaned = trace.report.cleaned.iter().map(|cleaned| format!(", {cleaned}"));
        line.extend(cleaned);
        origin.push(line);
        origin.extend(trace.report.origin.iter().map(|line| format!("{number} {label}: {line}")));
    }
    let origin = origin.iter().map(|line| line.replace(char::is_control, "_")).collect();
    let recorded = parts.iter().map(|part| part.trace.report.recorded).reduce(Recorded::and).unwrap_or_default();
    let sum = |count: fn(&TraceReport) -> u64| parts.iter().map(|part| count(&part.trace.report)).sum();
    TraceReport { files: sum(|r| r.files), events: sum(|r| r.events), origin, recorded, ..TraceReport::default() }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
