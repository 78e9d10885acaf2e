//! A log of requests, kept when somebody wants it: who asked for what, when, for how long, what the traced device took
//! for it, where the time went, and where the mapping of a read came from.
//!
//! The log is kept in memory up to a number of requests, or handed over in pieces as it grows, so that a run of any
//! length needs no more memory for it than one piece.
//!
//! Neither driver nor device tell each other where a mapping came from. The laboratory asks both of them, by tag, when
//! a response arrives at the host. Requests under way are remembered here and not in the run loop's own table, so that
//! a run without a log pays nothing for it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};

use ftl::{Mark, Translation};
use host::HostMapping;
use units::SimTime;
use workload::report::columns::Column;
use workload::{Issued, ReadOutcome, Ticket, WorkRequest};

use crate::log_columns::log_columns;
use crate::records::{Records, RequestRecord};
use crate::requests::Slot;
use crate::stages::{Path, Stage};

/// Where the mapping of a command's units came from, by what the two sides of the link say about it.
pub(crate) fn outcome(host: HostMapping, device: Translation) -> ReadOutcome {
    match (host, device) {
        (HostMapping::Fetched, _) | (_, Translation { map_reads: 1.., .. }) => ReadOutcome::Map,
        (HostMapping::Known, Translation { refused: false, .. }) => ReadOutcome::Host,
        _ => ReadOutcome::Sram,
    }
}

/// Requests that have completed, in the order of their completion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoggedRequests {
    /// The first of them, as many as the log has room for.
    pub records: Vec<RequestRecord>,
    /// Requests that completed after it was full.
    pub left_out: u64,
}

impl LoggedRequests {
    /// A row for each request, with times in nanoseconds from `start` on.
    pub fn columns(&self, start: SimTime) -> Vec<Column> {
        let mut records = Records::default();
        self.records.iter().for_each(|record| records.add(record));
        log_columns(&records, start)
    }
}

/// A part of a log that has been handed over.
///
/// Whoever has it makes a part of a file of it ([`LogFile`](crate::LogFile)), perhaps in a thread of its own. When it
/// is dropped, its memory goes back to the log.
#[derive(Debug)]
pub struct Piece {
    records: Records,
    start: SimTime,
    back: Sender<Records>,
}

impl Piece {
    /// Number of requests.
    #[expect(clippy::len_without_is_empty, reason = "no piece is empty")]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    /// From when on its times count.
    pub(crate) fn start(&self) -> SimTime {
        self.start
    }

    /// Its requests, in the order of their completion.
    pub fn requests(&self) -> impl Iterator<Item = RequestRecord> {
        self.records.iter()
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        // The run may be over; then nobody needs it.
        let _ = self.back.send(records);
    }
}

/// Takes over a piece of a log; the texts are the names of processes so far. It may stop the run.
pub type Sink = Box<dyn FnMut(Piece, &[String]) -> ControlFlow<()> + Send>;

/// What becomes of the requests of a log.
pub enum Keep {
    /// The first so many are kept.
    First(usize),
    /// All are handed over, so many at a time.
    Pieces {
        /// Requests of a piece; the last one may be shorter.
        length: usize,
        /// From when on times count.
        start: SimTime,
        /// Who gets them.
        sink: Sink,
    },
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keep::First(most) => write!(f, "First({most})"),
            Keep::Pieces { length, .. } => write!(f, "Pieces({length})"),
        }
    }
}

/// A request under way.
#[derive(Clone, Debug)]
struct UnderWay {
    /// `None` if there is none, or none of the log.
    request: Option<WorkRequest>,
    /// When the workload handed it in.
    entered: SimTime,
    /// Its path has begun, and is in [`Paths::others`].
    has_path: bool,
}

/// The paths of requests under way. That of the request that was asked for last is at the end of all marks, where it
/// stays if the request completes. Most requests take one command and complete when its response has come, so that a
/// path has rarely to be put aside.
#[derive(Debug, Default)]
struct Paths {
    /// The request that was asked for last, if it has not completed: the marks from `begin` on are its own.
    last: Option<usize>,
    begin: usize,
    /// The marks of others that have begun, by place.
    others: Vec<Vec<Mark>>,
}

impl Paths {
    /// The path of the request of this place.
    #[inline]
    fn of<'a>(&mut self, place: usize, under_way: &mut [UnderWay], marks: &'a mut Vec<Mark>) -> Option<Path<'a>> {
        under_way.get(place)?.request.as_ref()?;
        if self.last == Some(place) {
            return Some(Path { marks });
        }
        if self.last.is_some() {
            self.put_aside(under_way, marks);
        }
        (self.last, self.begin) = (Some(place), marks.len());
        let UnderWay { entered, has_path, .. } = under_way[place];
        if has_path {
            marks.append(&mut self.others[place]);
            return Some(Path { marks });
        }
        let mut path = Path { marks };
        path.extend(Stage::Outside, entered);
        Some(path)
    }

    /// Keeps the marks of a request that goes on elsewhere.
    #[inline(never)]
    fn put_aside(&mut self, under_way: &mut [UnderWay], marks: &mut Vec<Mark>) {
        if let Some(place) = self.last.take() {
            if self.others.len() <= place {
                self.others.resize_with(place + 1, Vec::new);
            }
            let kept = &mut self.others[place];
            kept.clear();
            kept.extend(marks.drain(self.begin..));
            under_way[place].has_path = true;
        }
    }
}

/// A log of requests while a run goes on.
#[derive(Debug)]
pub(crate) struct RequestLog {
    keep: Keep,
    under_way: Vec<UnderWay>,
    paths: Paths,
    records: Records,
    left_out: u64,
    /// Memory of pieces that comes back.
    spare: (Sender<Records>, Receiver<Records>),
    stopped: bool,
}

impl RequestLog {
    /// An empty log.
    pub(crate) fn new(keep: Keep) -> RequestLog {
        RequestLog {
            keep,
            under_way: Vec::new(),
            paths: Paths::default(),
            records: Records::default(),
            left_out: 0,
            spare: channel(),
            stopped: false,
        }
    }

    /// Remembers a request that the workload hands in now.
    #[inline(never)]
    pub(crate) fn entered(&mut self, issued: &Issued, now: SimTime) {
        let place = issued.ticket.index();
        if self.under_way.len() <= place {
            self.under_way.resize(place + 1, UnderWay { request: None, entered: now, has_path: false });
        }
        self.under_way[place] = UnderWay { request: Some(issued.request), entered: now, has_path: false };
    }

    /// The path of a request that is under way; `None` if it was submitted before the log began.
    #[inline]
    pub(crate) fn path(&mut self, ticket: Ticket) -> Option<Path<'_>> {
        self.paths.of(ticket.index(), &mut self.under_way, &mut self.records.marks)
    }

    /// Logs a request that completes now. One that was submitted before the log began is not in it.
    #[inline(never)]
    pub(crate) fn completed(&mut self, ticket: Ticket, slot: &Slot, now: SimTime, processes: &[String]) {
        if self.paths.last != Some(ticket.index()) && self.path(ticket).is_none() {
            return;
        }
        self.paths.last = None;
        let begin = self.paths.begin;
        let Some(request) = self.under_way[ticket.index()].request.take() else { return };
        if let Keep::First(most) = self.keep
            && self.records.len() == most
        {
            self.records.marks.truncate(begin);
            self.left_out += 1;
        } else {
            self.records.push(request, slot, self.records.marks.len() - begin, now);
        }
        if let Keep::Pieces { length, .. } = self.keep
            && self.records.len() == length
        {
            self.hand_over(processes);
        }
    }

    /// Hands over what has not been handed over yet, if the log is to be handed over at all.
    #[inline(never)]
    pub(crate) fn hand_over(&mut self, processes: &[String]) {
        if let Keep::Pieces { sink, start, .. } = &mut self.keep
            && self.records.len() > 0
        {
            self.paths.put_aside(&mut self.under_way, &mut self.records.marks);
            let (back, spare) = &self.spare;
            let records = std::mem::replace(&mut self.records, spare.try_recv().unwrap_or_default());
            let piece = Piece { records, start: *start, back: back.clone() };
            self.stopped = self.stopped || sink(piece, processes).is_break();
        }
    }

    /// True if whoever takes the log wants no more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What has been logged so far; the next call gives what comes after.
    pub(crate) fn take(&mut self) -> LoggedRequests {
        self.paths.put_aside(&mut self.under_way, &mut self.records.marks);
        let records = self.records.iter().collect();
        self.records.clear();
        LoggedRequests { records, left_out: std::mem::take(&mut self.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use workload::WorkOp;

    use super::*;
    use crate::requests::{self, Requests};

    #[test]
    fn a_mapping_is_the_hosts_only_if_the_device_took_it() {
        let fine = Translation::default();
        let refused = Translation { refused: true, ..fine };
        let read = Translation { map_reads: 1, ..fine };
        for (host, device, expected) in [
            (HostMapping::Known, fine, ReadOutcome::Host),
            (HostMapping::Known, refused, ReadOutcome::Sram),
            (HostMapping::Known, Translation { refused: true, ..read }, ReadOutcome::Map),
            (HostMapping::Fetched, fine, ReadOutcome::Map),
            (HostMapping::Unknown, fine, ReadOutcome::Sram),
            (HostMapping::Unknown, read, ReadOutcome::Map),
        ] {
            assert_eq!(outcome(host, device), expected, "{host:?} and {device:?}");
        }
        assert!(ReadOutcome::Host < ReadOutcome::Sram && ReadOutcome::Sram < ReadOutcome::Map);
    }

    /// A read of one unit that arrives at `at`.
    fn issued(ticket: u32, at: u64) -> Issued {
        let read = requests::tests::issued(WorkOp::Read, 0, 4096);
        Issued { ticket: Ticket(ticket), request: WorkRequest { arrival: SimTime(at), ..read.request }, ..read }
    }

    #[test]
    fn paths_that_take_turns_are_told_apart() {
        let (mut log, mut requests) = (RequestLog::new(Keep::First(2)), Requests::default());
        for (ticket, at) in [(0, 100), (1, 120), (2, 130)] {
            log.entered(&issued(ticket, at), SimTime(at + 5));
            requests.enter(&issued(ticket, at));
        }
        let extend = |log: &mut RequestLog, ticket, stage, at| {
            log.path(Ticket(ticket)).expect("it is under way").extend(stage, SimTime(at));
        };
        extend(&mut log, 0, Stage::Block, 140);
        extend(&mut log, 1, Stage::Driver, 150);
        extend(&mut log, 0, Stage::Queue, 160);
        extend(&mut log, 2, Stage::Gc, 165);
        extend(&mut log, 0, Stage::Sram, 170);
        for (ticket, at) in [(1, 175), (0, 180), (2, 190)] {
            log.completed(Ticket(ticket), requests.get(Ticket(ticket)), SimTime(at), &[]);
        }
        assert!(log.path(Ticket(0)).is_none(), "it has completed");
        let LoggedRequests { records, left_out } = log.take();
        let spent = |record: &RequestRecord| {
            let took = record.stages.iter().enumerate().filter(|(_, time)| time.0 > 0);
            took.map(|(stage, time)| (stage, time.0)).collect::<Vec<_>>()
        };
        let [outside, block, driver, queue, sram, wake] =
            [Stage::Outside, Stage::Block, Stage::Driver, Stage::Queue, Stage::Sram, Stage::Wake].map(|s| s as usize);
        assert_eq!(spent(&records[0]), [(outside, 5), (driver, 25), (wake, 25)]);
        assert_eq!(spent(&records[1]), [(outside, 5), (block, 35), (queue, 20), (sram, 10), (wake, 10)]);
        assert_eq!((records.len(), left_out), (2, 1));
    }
}
