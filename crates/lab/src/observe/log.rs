//! A log of requests, kept when somebody wants it: who asked for what, when, for how long, what the traced device took
//! for it, where the time went, and where the mapping of a read came from.
//!
//! The log is kept in memory up to a number of requests, or handed over in parts as it grows, so that a run of any
//! length needs no more memory for it than some parts.
//!
//! Neither driver nor device tell each other where a mapping came from. The laboratory asks both of them, by tag, when
//! a response arrives at the host. Requests under way are remembered here and not in the run loop's own table, so that
//! a run without a log pays nothing for it.

use std::fmt;
use std::ops::ControlFlow;

use ftl::Translation;
use host::HostMapping;
use ufs::Tag;
use units::SimTime;
use workload::{Issued, ReadOutcome, Ticket, WorkRequest};

use super::records::{LogPart, Records};
use super::stages::{Mark, Stage};
use crate::report::requests::{Requests, Slot};
use crate::stack::Seen;

/// Numbers that a tag may have.
const TAGS: usize = 1 << u8::BITS;

/// Where the mapping of a command's units came from, by what the two sides of the link say about it.
pub(crate) fn outcome(host: HostMapping, device: Translation) -> ReadOutcome {
    match (host, device) {
        (HostMapping::Fetched, _) | (_, Translation { map_reads: 1.., .. }) => ReadOutcome::Map,
        (HostMapping::Known, Translation { refused: false, .. }) => ReadOutcome::Host,
        _ => ReadOutcome::Sram,
    }
}

/// Takes over a part of a log. It may stop the run.
pub type LogSink = Box<dyn FnMut(LogPart) -> ControlFlow<()> + Send>;

/// What becomes of the requests of a log.
pub enum Logging {
    /// The first so many are kept to the end.
    First(usize),
    /// All are handed over as the run goes on, in parts of so many (at least one; the last has fewer): a run of any
    /// length needs no more memory for the log than some parts.
    Parts(usize, LogSink),
}

impl fmt::Debug for Logging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Logging::First(most) => write!(f, "First({most})"),
            Logging::Parts(length, _) => write!(f, "Parts({length})"),
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
    /// Gets the path of the request of this place to the end of all marks. False if there is no such request.
    #[inline]
    fn get(&mut self, place: usize, under_way: &mut [UnderWay], marks: &mut Vec<Mark>) -> bool {
        if under_way.get(place).is_none_or(|one| one.request.is_none()) {
            return false;
        }
        if self.last == Some(place) {
            return true;
        }
        if self.last.is_some() {
            self.put_aside(under_way, marks);
        }
        (self.last, self.begin) = (Some(place), marks.len());
        let UnderWay { entered, has_path, .. } = under_way[place];
        match has_path {
            true => marks.append(&mut self.others[place]),
            false => marks.push(Mark::new(Stage::Outside, entered)),
        }
        true
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
pub(super) struct RequestLog {
    wanted: Logging,
    /// From when on times count.
    start: SimTime,
    /// What the commands under way have done, by tag.
    ways: Box<[Vec<Mark>; TAGS]>,
    under_way: Vec<UnderWay>,
    paths: Paths,
    records: Records,
    left_out: u64,
    stopped: bool,
}

impl RequestLog {
    /// An empty log of a workload that begins now.
    pub(super) fn new(wanted: Logging, now: SimTime) -> RequestLog {
        RequestLog {
            wanted,
            start: now,
            ways: std::array::from_fn(|_| Vec::new()).into(),
            under_way: Vec::new(),
            paths: Paths::default(),
            records: Records::default(),
            left_out: 0,
            stopped: false,
        }
    }

    /// Remembers a request that the workload hands in now.
    #[inline(never)]
    pub(super) fn entered(&mut self, issued: &Issued, now: SimTime) {
        let place = issued.ticket.index();
        if self.under_way.len() <= place {
            self.under_way.resize(place + 1, UnderWay { request: None, entered: now, has_path: false });
        }
        self.under_way[place] = UnderWay { request: Some(issued.request), entered: now, has_path: false };
    }

    /// What driver, link and device have done.
    pub(super) fn seen(&mut self, seen: &[Seen]) {
        for &one in seen {
            let (tag, stage, until) = match one {
                Seen::Sent { tag, fetching, sent } => {
                    let way = &mut self.ways[usize::from(tag.0)];
                    way.clear();
                    way.push(Mark::new(Stage::Driver, fetching));
                    (tag, Stage::Fetch, sent)
                }
                Seen::Arrived { tag, at } => (tag, Stage::LinkDown, at),
                Seen::Device(ftl::Event::Stayed { tag, stay, until }) => (tag, stay.into(), until),
                _ => continue,
            };
            self.ways[usize::from(tag.0)].push(Mark::new(stage, until));
        }
    }

    /// The commands under way are lost.
    pub(super) fn cut(&mut self) {
        self.ways.iter_mut().for_each(Vec::clear);
    }

    /// The time up to now was spent in a stage by a request and by those that are merged with it, as far as it belongs
    /// to none yet.
    pub(super) fn spent(&mut self, leader: Ticket, requests: &mut Requests, stage: Stage, now: SimTime) {
        self.extend(leader, requests, &[Mark::new(stage, now)]);
    }

    /// A response to a command for a request has come to the host.
    pub(super) fn responded(&mut self, leader: Ticket, requests: &mut Requests, tag: Tag, now: SimTime) {
        let mut way = std::mem::take(&mut self.ways[usize::from(tag.0)]);
        way.push(Mark::new(Stage::LinkUp, now));
        self.extend(leader, requests, &way);
        self.ways[usize::from(tag.0)] = way;
    }

    /// Extends the paths of a request and of those that are merged with it, as far as they have begun in this log.
    #[inline]
    fn extend(&mut self, leader: Ticket, requests: &mut Requests, marks: &[Mark]) {
        for ticket in std::iter::successors(Some(leader), |&ticket| requests.get(ticket).rider) {
            if self.paths.get(ticket.index(), &mut self.under_way, &mut self.records.marks) {
                self.records.marks.extend_from_slice(marks);
            }
        }
    }

    /// Logs a request that completes now. One that was submitted before the log began is not in it.
    #[inline(never)]
    pub(super) fn completed(&mut self, ticket: Ticket, slot: &Slot, now: SimTime, processes: &[String]) {
        if !self.paths.get(ticket.index(), &mut self.under_way, &mut self.records.marks) {
            return;
        }
        self.paths.last = None;
        let begin = self.paths.begin;
        let Some(request) = self.under_way[ticket.index()].request.take() else { return };
        if let Logging::First(most) = self.wanted
            && self.records.len() == most
        {
            self.records.marks.truncate(begin);
            self.left_out += 1;
        } else {
            self.records.push(request, slot, self.records.marks.len() - begin, now);
        }
        if let Logging::Parts(length, _) = self.wanted
            && self.records.len() >= length
        {
            self.hand_over(processes);
        }
    }

    /// Hands over what has not been handed over yet, if the log is to be handed over at all.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, processes: &[String]) {
        if matches!(self.wanted, Logging::Parts(..)) && self.records.len() > 0 {
            let part = self.take(processes);
            self.records = part.records.as_large();
            if let Logging::Parts(_, sink) = &mut self.wanted {
                self.stopped = self.stopped || sink(part).is_break();
            }
        }
    }

    /// True if it is to be kept to the end.
    pub(super) fn keeps(&self) -> bool {
        matches!(self.wanted, Logging::First(_))
    }

    /// True if whoever takes the log wants no more.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What has been logged so far; the next call gives what comes after.
    pub(super) fn take(&mut self, processes: &[String]) -> LogPart {
        self.paths.put_aside(&mut self.under_way, &mut self.records.marks);
        let (records, left_out) = (std::mem::take(&mut self.records), std::mem::take(&mut self.left_out));
        LogPart { records, start: self.start, processes: processes.to_vec(), left_out }
    }
}

#[cfg(test)]
mod tests {
    use workload::WorkOp;

    use super::*;
    use crate::observe::records::LogRow;
    use crate::report::requests;

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
        let (mut log, mut requests) = (RequestLog::new(Logging::First(2), SimTime::START), Requests::default());
        for (ticket, at) in [(0, 100), (1, 120), (2, 130)] {
            log.entered(&issued(ticket, at), SimTime(at + 5));
            requests.enter(&issued(ticket, at));
        }
        log.spent(Ticket(0), &mut requests, Stage::Block, SimTime(140));
        log.spent(Ticket(1), &mut requests, Stage::Driver, SimTime(150));
        log.spent(Ticket(0), &mut requests, Stage::Queue, SimTime(160));
        log.spent(Ticket(2), &mut requests, Stage::Gc, SimTime(165));
        log.spent(Ticket(0), &mut requests, Stage::Sram, SimTime(170));
        for (ticket, at) in [(1, 175), (0, 180), (2, 190)] {
            log.completed(Ticket(ticket), requests.get(Ticket(ticket)), SimTime(at), &[]);
        }
        let part = log.take(&[]);
        let spent = |record: LogRow| {
            let took = record.stages.iter().enumerate().filter(|(_, time)| time.0 > 0);
            took.map(|(stage, time)| (stage, time.0)).collect::<Vec<_>>()
        };
        let [outside, block, driver, queue, sram, wake] =
            [Stage::Outside, Stage::Block, Stage::Driver, Stage::Queue, Stage::Sram, Stage::Wake].map(|s| s as usize);
        let [first, second] = part.rows().map(spent).collect::<Vec<_>>().try_into().expect("room for two");
        assert_eq!(first, [(outside, 5), (driver, 25), (wake, 25)]);
        assert_eq!(second, [(outside, 5), (block, 35), (queue, 20), (sram, 10), (wake, 10)]);
        assert_eq!(part.left_out, 1);
    }
}
