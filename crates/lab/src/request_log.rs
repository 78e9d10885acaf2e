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

use device::Translation;
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
    /// Its path has a place in [`Paths::others`].
    has_path: bool,
}

/// The paths of requests under way. Most requests take one command, and their path is made when its response has come:
/// all of these in the same memory, which is near the processor for that.
#[derive(Debug)]
struct Paths {
    /// The request that was asked for last, and its path.
    last: Option<usize>,
    path: Path,
    /// Paths of others that have begun.
    others: Vec<Path>,
}

impl Paths {
    /// The path of the request of this place.
    #[inline]
    fn of(&mut self, place: usize, under_way: &mut [UnderWay]) -> &mut Path {
        if self.last != Some(place) {
            self.keep_last(under_way);
            self.last = Some(place);
            let UnderWay { request, entered, has_path } = &under_way[place];
            if *has_path {
                self.path = self.others[place];
            } else {
                self.path.restart(request.map_or(*entered, |request| request.arrival));
                self.path.extend(Stage::Outside, *entered);
            }
        }
        &mut self.path
    }

    /// Another path comes; that of a request that goes on is kept.
    #[inline]
    fn keep_last(&mut self, under_way: &mut [UnderWay]) {
        if let Some(place) = self.last {
            if self.others.len() <= place {
                self.others.resize(place + 1, Path::from(SimTime::START));
            }
            self.others[place] = self.path;
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
        let paths = Paths { last: None, path: Path::from(SimTime::START), others: Vec::new() };
        let (under_way, records) = (Vec::new(), Records::default());
        RequestLog { keep, under_way, paths, records, left_out: 0, spare: channel(), stopped: false }
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
    pub(crate) fn path(&mut self, ticket: Ticket) -> Option<&mut Path> {
        let place = ticket.index();
        self.under_way.get(place)?.request.as_ref()?;
        Some(self.paths.of(place, &mut self.under_way))
    }

    /// Logs a request that completes now. One that was submitted before the log began is not in it.
    #[inline(never)]
    pub(crate) fn completed(&mut self, ticket: Ticket, slot: &Slot, now: SimTime, processes: &[String]) {
        let place = ticket.index();
        let Some(request) = self.under_way.get(place).and_then(|under_way| under_way.request) else { return };
        let path = self.paths.of(place, &mut self.under_way);
        path.extend(Stage::Wake, now);
        if let Keep::First(most) = self.keep
            && self.records.len() == most
        {
            self.left_out += 1;
        } else {
            self.records.push(&request, slot, path, now);
        }
        self.paths.last = None;
        self.under_way[place].request = None;
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
        let records = self.records.iter().collect();
        self.records.clear();
        LoggedRequests { records, left_out: std::mem::take(&mut self.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
