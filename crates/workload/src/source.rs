//! What the run loop sees of a workload.

use std::collections::BTreeMap;

use units::{AppId, Lpa, SimTime};

use crate::report::Report;
use crate::request::{ReadOutcome, WorkRequest};

/// No source waits for a moment after this, 146 years: a run adds its own times to it, on a clock of 64 bits.
pub(crate) const LATEST: SimTime = SimTime(1 << 62);

/// Number of an outstanding request. Small, reused after [`Source::completed`], so it indexes arrays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u32);

impl Ticket {
    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a group of streams that are reported together; indexes [`Source::groups`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u16);

impl GroupId {
    /// Array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A group of streams that are reported together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupInfo {
    /// Name of the fio job or trace file.
    pub name: String,
    /// False if none of its requests is measured.
    pub measured: bool,
    /// What a fio job says, by option, and rw, bs, iodepth and numjobs in any case; nothing for other workloads.
    pub options: BTreeMap<String, String>,
}

/// A request to submit now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issued {
    /// Name it by this in [`Source::completed`].
    pub ticket: Ticket,
    /// Its group.
    pub group: GroupId,
    /// False for warm-up: it is simulated, but belongs in no statistic.
    pub measured: bool,
    /// The request, its arrival set: the moment from which its latency counts.
    pub request: WorkRequest,
}

/// Answer of [`Source::next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Submit this now and ask again.
    Request(Issued),
    /// Nothing now. Ask again at this time (always later than now), or after any completion.
    Wait(SimTime),
    /// Nothing until a completion.
    Blocked,
    /// Tell or ask the storage driver this, hand the answer to [`Source::answered`], and ask again.
    Driver(DriverCall),
    /// Every request has been issued; completions may still be outstanding.
    Done,
}

/// What a source that stands for a phone's operating system has to say to the storage driver (HPBvalve Sec. 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriverCall {
    /// The app comes to the foreground.
    LaunchStart(AppId),
    /// The app in the foreground has drawn its first frame.
    LaunchEnd(AppId),
    /// The app has been killed.
    Ended(AppId),
    /// The app is about to be killed for so many bytes; the answer is what the driver gives back instead.
    Reclaim(AppId, u64),
    /// The phone lacks so many bytes of memory, and has no page cache left to drop.
    Pressed(u64),
    /// The phone is not short of memory any more.
    Relieved,
    /// The driver may have at most so many bytes of host memory in all: an allocation beyond them fails. `u64::MAX`
    /// takes the bound away.
    Room(u64),
    /// The answer is the host memory that the driver has taken, in bytes.
    Memory,
    /// The answer is the number of commands by which the driver has fetched mappings so far.
    Fetches,
}

/// How far a source is, in bytes of completed requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Bytes of the requests completed so far.
    pub done: u64,
    /// Bytes in all, where that is known before the end: not for time-based jobs.
    pub total: Option<u64>,
}

/// A workload as the run loop drives it.
///
/// At every moment of interest the loop calls [`Source::next`] until it answers anything but a request. The first call
/// fixes the start of the workload: recorded times, delays and run times count from it.
pub trait Source {
    /// The next request to submit at `now`, or when to ask again. `now` never decreases.
    fn next(&mut self, now: SimTime) -> Next;

    /// The request `ticket` has completed at `now`. Ask [`Source::next`] afterwards.
    ///
    /// # Panics
    /// If no such request is outstanding.
    fn completed(&mut self, ticket: Ticket, now: SimTime);

    /// Where the next request will probably be, asked after each request. What is known of this place is fetched from
    /// memory meanwhile; nothing else follows from a wrong answer, nor from none.
    fn coming(&self) -> Option<Lpa> {
        None
    }

    /// Whether requests may be merged with others. If so, [`Source::take_riders`] is asked after every request.
    fn merges(&self) -> bool {
        false
    }

    /// Gives the requests that are merged with the one that [`Source::next`] has just issued: their ranges and its own
    /// make one without a hole. They are one request for the driver, and complete when it does.
    fn take_riders(&mut self, _into: &mut Vec<Issued>) {}

    /// The driver's answer to [`Next::Driver`]; 0 to what is no question.
    fn answered(&mut self, _answer: u64, _now: SimTime) {}

    /// Whether the source is to be told where the mappings of its reads came from.
    fn wants_read_outcomes(&self) -> bool {
        false
    }

    /// Where the mapping of the read `ticket` came from, told just before it completes.
    fn read_outcome(&mut self, _ticket: Ticket, _outcome: ReadOutcome) {}

    /// How far the source is.
    fn progress(&self) -> Progress;

    /// Groups of streams, indexed by [`GroupId`].
    fn groups(&self) -> &[GroupInfo];

    /// Names of processes, indexed by [`crate::ProcessId`]; empty where requests name none.
    fn processes(&self) -> &[String] {
        &[]
    }

    /// The units that the source may read.
    fn footprint(&self) -> Footprint;

    /// The units that the source may read, write or trim: what a preconditioning pass fills.
    fn preconditioning_ranges(&self) -> Footprint;

    /// Asks the source to keep a log of its reads for its report. Sources that have none ignore it.
    fn keep_reads(&mut self) {}

    /// What the source has to say besides its requests. To be asked once, after the end.
    fn report(&mut self) -> Report {
        Report::default()
    }

    /// What the source itself has to say about the run, once it has ended.
    ///
    /// # Errors
    /// If the program could not do its work, or found something wrong with its data.
    fn verdict(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Why a program above the block layer is not content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// What it was asked for cannot be done, for instance because its volume is full.
    Wish(String),
    /// Its data are not what it wrote.
    Data(String),
}

/// A run of units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitRange {
    /// First unit.
    pub first: Lpa,
    /// Number of units, at least 1.
    pub count: u32,
}

/// A set of units: ranges in ascending order that neither overlap nor touch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    ranges: Vec<UnitRange>,
}

impl Footprint {
    /// The union of ranges given as (first unit, count) in any order.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (Lpa, u32)>) -> Footprint {
        let mut sorted: Vec<_> = ranges.into_iter().filter(|&(_, count)| count > 0).collect();
        sorted.sort_unstable();
        let mut merged: Vec<UnitRange> = Vec::new();
        for (first, count) in sorted {
            let end = u64::from(first.0) + u64::from(count);
            match merged.last_mut() {
                Some(last) if u64::from(first.0) <= u64::from(last.first.0) + u64::from(last.count) => {
                    let reach = end.max(u64::from(last.first.0) + u64::from(last.count));
                    last.count = (reach - u64::from(last.first.0)).min(u64::from(u32::MAX)) as u32;
                }
                _ => merged.push(UnitRange { first, count }),
            }
        }
        Footprint { ranges: merged }
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[UnitRange] {
        &self.ranges
    }

    /// Number of units in the set.
    pub fn units(&self) -> u64 {
        self.ranges.iter().map(|r| u64::from(r.count)).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footprint_merges_overlapping_and_touching_ranges() {
        let f = Footprint::from_ranges([(Lpa(10), 5), (Lpa(0), 2), (Lpa(15), 1), (Lpa(11), 1), (Lpa(20), 0)]);
        let expected = [UnitRange { first: Lpa(0), count: 2 }, UnitRange { first: Lpa(10), count: 6 }];
        assert_eq!(f.ranges(), expected);
        assert_eq!(f.units(), 8);
        assert!(Footprint::default().is_empty());
    }
}
