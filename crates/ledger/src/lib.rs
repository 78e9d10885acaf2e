//! What each unit may hold.
//!
//! # The rule
//! Writes and trims are numbered in the order in which they are submitted. Those of the same address take effect in
//! this order, also when several are outstanding: schedulers keep it, and the device handles commands in the order of
//! their arrival. So an address has *versions*, one of which is the present one, and the present one only becomes
//! newer.
//!
//! - **A read** may give the version that was present when it was submitted, or any newer one submitted before it
//!   ended. Present is at least the newest version that has been acknowledged, and at least what an earlier read has
//!   given.
//! - **A flush** makes durable, for each address, the newest version that was acknowledged before the flush was
//!   submitted. **FUA** makes its own version durable. A durable version makes all older ones impossible.
//! - **A unit that has come to flash** is durable, flush or not: for who is told of programs.
//! - **A power cut** leaves, address by address, the durable version or any newer one that had been submitted. Which
//!   one it is, the first read tells; then it is durable.
//! - **A failed write** may have been written in part: its version is one that was submitted and never acknowledged.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

use host::{Request, RequestOp};
use units::Lpa;

/// Marks the number of a trim.
const TRIM: u32 = 1 << 31;

/// A version of a unit: the number of the write or trim that made it; 0 is the zeroes of a new device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Version(u32);

impl Version {
    /// The version that a write makes.
    pub fn written(number: u32) -> Version {
        assert!(number < TRIM, "numbers have 31 bits");
        Version(number)
    }

    /// The version that a trim makes.
    pub fn trimmed(number: u32) -> Version {
        Version(Version::written(number).0 | TRIM)
    }

    /// The version that a request makes, whose stamp is its number; `None` for reads and flushes.
    pub fn made_by(request: &Request) -> Option<Version> {
        match request.op {
            RequestOp::Write { .. } => Some(Version::written(request.stamp)),
            RequestOp::Unmap => Some(Version::trimmed(request.stamp)),
            RequestOp::Read | RequestOp::Flush => None,
        }
    }

    /// The number of the request that made it.
    pub fn number(self) -> u32 {
        self.0 & !TRIM
    }

    /// True if a trim has made it.
    pub fn is_trim(self) -> bool {
        self.0 & TRIM != 0
    }

    /// The stamp that a read of it gives; 0 = zeroes.
    pub fn stamp(self) -> u32 {
        if self.is_trim() { 0 } else { self.0 }
    }
}

/// Consecutive units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first one.
    pub lpa: Lpa,
    /// Their number.
    pub len: u32,
}

impl Span {
    /// The units of a request.
    pub fn of(request: &Request) -> Span {
        Span { lpa: request.lpa, len: request.len }
    }

    fn units(self) -> std::ops::Range<u32> {
        self.lpa.0..self.lpa.0 + self.len
    }

    /// True if both have a unit in common.
    pub fn meets(self, other: Span) -> bool {
        self.lpa.0 < other.lpa.0 + other.len && other.lpa.0 < self.lpa.0 + self.len
    }
}

#[derive(Clone, Copy, Hash, Debug)]
struct Candidate {
    version: Version,
    /// It was submitted before the last power cut, and nobody has read since whether it is there.
    unknown: bool,
}

/// A unit that may hold one of several versions after a power cut.
#[derive(Clone, Debug)]
struct Open {
    durable: Version,
    /// Newer versions, in the order of their numbers.
    newer: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Ack {
    order: u64,
    span: Span,
    version: Version,
}

/// What a read in flight may give.
#[derive(Debug)]
pub struct Expected {
    span: Span,
    /// The oldest allowed version of each unit.
    oldest: Vec<Version>,
    /// Newer versions that are allowed as well, by unit.
    newer: Vec<(u32, Version)>,
}

impl Expected {
    /// A write or trim is being submitted while the read is under way.
    pub fn submitted(&mut self, span: Span, version: Version) {
        if self.span.meets(span) {
            let (first, last) = (self.span.units(), span.units());
            let common = first.start.max(last.start)..first.end.min(last.end);
            self.newer.extend(common.map(|unit| (unit, version)));
        }
    }
}

impl Expected {
    fn versions(&self, lpa: Lpa) -> impl DoubleEndedIterator<Item = Version> + Clone {
        let oldest = self.oldest[lpa.index() - self.span.lpa.index()];
        let newer = self.newer.iter().filter(move |(unit, _)| *unit == lpa.0).map(|(_, version)| *version);
        std::iter::once(oldest).chain(newer)
    }

    /// Whether the read may have given a unit with this stamp, whatever has become of it since; 0 = zeroes.
    ///
    /// # Errors
    /// The stamps that it might have given, the oldest first.
    pub fn allows(&self, lpa: Lpa, stamp: u32) -> Result<(), Vec<u32>> {
        let stamps = self.versions(lpa).map(Version::stamp);
        if stamps.clone().any(|allowed| allowed == stamp) { Ok(()) } else { Err(stamps.collect()) }
    }
}

/// A version has become durable. All versions up to another, and not that one, are impossible from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The unit.
    pub unit: u32,
    /// The version that was durable until now.
    pub before: Version,
    /// The version that is durable.
    pub durable: Version,
    /// Number of the last version that has become impossible or durable.
    pub until: u32,
}

/// What each unit may hold, by the rule above.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The oldest version that a read may give, in the form of [`Version`]: memory that is zero at first is not touched
    /// before it is used, so a large device costs what it holds. A unit that is not in `open` holds this version, and
    /// it is durable.
    present: Vec<u32>,
    open: BTreeMap<u32, Open>,
    /// Acknowledged and not yet durable, in the order of acknowledgement.
    acked: VecDeque<Ack>,
    acknowledgements: u64,
    /// What has been settled, in this order, for who stores the data; `None` if nobody wants to know.
    settled: Option<Vec<Settled>>,
    /// So many acknowledgements may be kept before those are looked for that no longer matter.
    crowded: usize,
}

/// Acknowledgements that are kept without a look at whether they matter.
const FEW_ACKS: usize = 4096;

impl Ledger {
    /// A new device of `units` units.
    pub fn new(units: u32) -> Ledger {
        Ledger {
            present: vec![0; units as usize],
            open: BTreeMap::new(),
            acked: VecDeque::new(),
            acknowledgements: 0,
            settled: None,
            crowded: FEW_ACKS,
        }
    }

    /// A device at rest whose units hold these versions, all of them durable.
    pub fn at_rest(present: impl IntoIterator<Item = Version>) -> Ledger {
        Ledger { present: present.into_iter().map(|version| version.0).collect(), ..Ledger::new(0) }
    }

    /// Notes from now on what is settled.
    pub fn note_settled(&mut self) {
        self.settled.get_or_insert_default();
    }

    /// What has been settled since the last call, in this order.
    pub fn take_settled(&mut self) -> Vec<Settled> {
        self.settled.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Units of the device.
    pub fn units(&self) -> u32 {
        self.present.len() as u32
    }

    /// A write or trim is being submitted.
    pub fn submitted(&mut self, span: Span, version: Version) {
        for unit in span.units() {
            let durable = Version(self.present[unit as usize]);
            let open = self.open.entry(unit).or_insert_with(|| Open { durable, newer: Vec::new() });
            open.newer.push(Candidate { version, unknown: false });
        }
    }

    /// A write or trim is acknowledged; it is durable if `durable`.
    pub fn acked(&mut self, span: Span, version: Version, durable: bool) {
        for unit in span.units() {
            self.at_least(unit, version);
            if durable {
                self.make_durable(unit, version);
            }
        }
        self.acknowledgements += 1;
        if !durable {
            self.acked.push_back(Ack { order: self.acknowledgements, span, version });
        }
    }

    /// A write of this unit has come to flash.
    pub fn programmed(&mut self, lpa: Lpa, version: Version) {
        self.at_least(lpa.0, version);
        self.make_durable(lpa.0, version);
        if self.acked.len() > self.crowded {
            self.forget_acks();
        }
    }

    /// Forgets acknowledgements of what is durable: a host that never flushes would gather them for ever.
    fn forget_acks(&mut self) {
        let open = &self.open;
        self.acked.retain(|ack| {
            let mut newer = open.range(ack.span.units()).map(|(_, open)| open.durable.number());
            newer.any(|durable| durable < ack.version.number())
        });
        self.crowded = FEW_ACKS.max(2 * self.acked.len());
    }

    /// The oldest version that a read of a unit may give.
    pub fn present(&self, lpa: Lpa) -> Version {
        Version(self.present[lpa.index()])
    }

    /// Versions that reads may give in place of the present one, by unit.
    pub fn doubtful(&self) -> impl Iterator<Item = (Lpa, Version)> {
        self.open.iter().flat_map(|(&unit, open)| {
            let present = self.present(Lpa(unit)).number();
            let newer = open.newer.iter().map(|candidate| candidate.version);
            newer.filter(move |version| version.number() > present).map(move |version| (Lpa(unit), version))
        })
    }

    /// The version of a unit that no power cut can take.
    pub fn durable(&self, lpa: Lpa) -> Version {
        self.open.get(&lpa.0).map_or(Version(self.present[lpa.index()]), |open| open.durable)
    }

    /// True if a unit holds zeroes and nothing else can come.
    pub fn is_blank(&self, lpa: Lpa) -> bool {
        Version(self.present[lpa.index()]).stamp() == 0 && !self.open.contains_key(&lpa.0)
    }

    /// Number of acknowledgements so far, for a flush that is being submitted.
    pub fn acknowledgements(&self) -> u64 {
        self.acknowledgements
    }

    /// A flush has completed that was submitted after `until` acknowledgements.
    pub fn flushed(&mut self, until: u64) {
        while let Some(&ack) = self.acked.front().filter(|ack| ack.order <= until) {
            self.acked.pop_front();
            for unit in ack.span.units() {
                self.make_durable(unit, ack.version);
            }
        }
    }

    /// The power has been cut. Reads and flushes under way have to be forgotten.
    pub fn power_cut(&mut self) {
        self.acked.clear();
        for (&unit, open) in &mut self.open {
            self.present[unit as usize] = open.durable.0;
            open.newer.iter_mut().for_each(|candidate| candidate.unknown = true);
        }
    }

    /// What a read may give that is being submitted.
    pub fn expected(&self, span: Span) -> Expected {
        let oldest = self.present[span.lpa.index()..][..span.len as usize].iter().map(|&present| Version(present));
        let oldest = oldest.collect();
        let mut newer = Vec::new();
        for (&unit, open) in self.open.range(span.units()) {
            let present = Version(self.present[unit as usize]).number();
            let allowed = open.newer.iter().filter(|candidate| candidate.version.number() > present);
            newer.extend(allowed.map(|candidate| (unit, candidate.version)));
        }
        Expected { span, oldest, newer }
    }

    /// A read has given a unit with this stamp; 0 = zeroes.
    ///
    /// # Errors
    /// The stamps that it might have given, the oldest first.
    pub fn read(&mut self, expected: &Expected, lpa: Lpa, stamp: u32) -> Result<(), Vec<u32>> {
        expected.allows(lpa, stamp)?;
        let mut found = expected.versions(lpa).filter(|version| version.stamp() == stamp);
        // Of several trims it may have been any.
        let first = found.next().expect("it is allowed");
        if first.number() < self.durable(lpa).number() {
            // Something else became durable while the read was under way: it may have been before or after.
            return Ok(());
        }
        let last = found.next_back().unwrap_or(first);
        self.at_least(lpa.0, first);
        self.settle(lpa.0, first, last);
        Ok(())
    }

    /// The stamp of what a unit holds, if nothing is under way and it is known; 0 = zeroes.
    pub fn held(&self, lpa: Lpa) -> u32 {
        Version(self.present[lpa.index()]).stamp()
    }

    /// True if a newer version than the write of this stamp is durable.
    pub fn is_past(&self, lpa: Lpa, stamp: u32) -> bool {
        self.durable(lpa).number() > stamp
    }

    fn at_least(&mut self, unit: u32, version: Version) {
        let present = &mut self.present[unit as usize];
        if version.number() > Version(*present).number() {
            *present = version.0;
        }
    }

    fn make_durable(&mut self, unit: u32, version: Version) {
        let Some(open) = self.open.get_mut(&unit) else { return };
        if version.number() > open.durable.number() {
            let before = std::mem::replace(&mut open.durable, version);
            open.newer.retain(|candidate| candidate.version.number() > version.number());
            let settled = Settled { unit, before, durable: version, until: version.number() };
            self.settled.as_mut().into_iter().for_each(|all| all.push(settled));
        }
        self.close(unit);
    }

    /// If a read has told what a power cut has left, nothing else of that time is possible any more. It gave one of the
    /// versions from `first` to `last`, which have the same content.
    fn settle(&mut self, unit: u32, first: Version, last: Version) {
        let Some(open) = self.open.get_mut(&unit) else { return };
        let Some(end) = open.newer.iter().rfind(|candidate| candidate.unknown) else { return };
        if last.number() > end.version.number() {
            return;
        }
        let until = end.version.number();
        let before = std::mem::replace(&mut open.durable, first);
        let settled = Settled { unit, before, durable: first, until };
        self.settled.as_mut().into_iter().for_each(|all| all.push(settled));
        open.newer.retain(|candidate| !candidate.unknown);
        self.close(unit);
    }

    fn close(&mut self, unit: u32) {
        if self.open.get(&unit).is_some_and(|open| open.newer.is_empty()) {
            self.open.remove(&unit);
        }
    }
}

/// Two ledgers of the same hash say the same of everything that follows: which request has made the content of a unit
/// counts only as long as another content is possible.
impl Hash for Ledger {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Ledger { present, open, acked, acknowledgements, settled: _, crowded: _ } = self;
        let number = |unit: usize, stamp: u32| if open.contains_key(&(unit as u32)) { present[unit] } else { stamp };
        let stamps = present.iter().map(|&version| Version(version).stamp());
        stamps.enumerate().for_each(|(unit, stamp)| number(unit, stamp).hash(state));
        for (unit, Open { durable, newer }) in open {
            (unit, durable.stamp(), newer).hash(state);
            let waiting =
                acked.iter().filter(|ack| ack.span.units().contains(unit) && ack.version.number() > durable.number());
            waiting.for_each(|ack| (ack.order, ack.version).hash(state));
        }
        acknowledgements.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Span = Span { lpa: Lpa(3), len: 1 };

    fn ledger() -> Ledger {
        Ledger::new(8)
    }

    fn write(ledger: &mut Ledger, number: u32) -> Version {
        let version = Version::written(number);
        ledger.submitted(A, version);
        version
    }

    fn trim(ledger: &mut Ledger, number: u32) -> Version {
        let version = Version::trimmed(number);
        ledger.submitted(A, version);
        version
    }

    /// The stamps that a read submitted now may give.
    fn stamps(ledger: &Ledger) -> Vec<u32> {
        let expected = ledger.expected(A);
        let newer = expected.newer.iter().map(|(_, version)| version.stamp());
        std::iter::once(expected.oldest[0].stamp()).chain(newer).collect()
    }

    fn read(ledger: &mut Ledger, stamp: u32) -> Result<(), Vec<u32>> {
        let expected = ledger.expected(A);
        ledger.read(&expected, A.lpa, stamp)
    }

    #[test]
    fn a_read_gives_what_was_acknowledged_or_anything_newer() {
        let mut ledger = ledger();
        let first = write(&mut ledger, 1);
        assert_eq!(stamps(&ledger), [0, 1]);
        ledger.acked(A, first, false);
        write(&mut ledger, 2);
        let third = write(&mut ledger, 3);
        assert_eq!(stamps(&ledger), [1, 2, 3]);
        ledger.acked(A, third, false);
        assert_eq!(stamps(&ledger), [3], "the second one takes effect before the third");
        assert_eq!(read(&mut ledger, 2), Err(vec![3]));
    }

    #[test]
    fn what_a_read_has_given_does_not_become_older() {
        let mut ledger = ledger();
        write(&mut ledger, 1);
        write(&mut ledger, 2);
        assert_eq!(read(&mut ledger, 1), Ok(()));
        assert_eq!(read(&mut ledger, 0), Err(vec![1, 2]));
    }

    #[test]
    fn a_read_under_way_may_give_what_comes_meanwhile() {
        let mut ledger = ledger();
        let mut expected = ledger.expected(A);
        let version = write(&mut ledger, 1);
        expected.submitted(A, version);
        expected.submitted(Span { lpa: Lpa(4), len: 2 }, Version::written(7));
        ledger.acked(A, version, true);
        assert_eq!(ledger.read(&expected, A.lpa, 7), Err(vec![0, 1]));
        assert_eq!(ledger.read(&expected, A.lpa, 0), Ok(()), "it was submitted before the write");
        assert_eq!(stamps(&ledger), [1], "but a read submitted now gives the write");
    }

    #[test]
    fn a_flush_covers_what_was_acknowledged_before_it() {
        let mut ledger = ledger();
        let first = write(&mut ledger, 1);
        ledger.acked(A, first, false);
        let until = ledger.acknowledgements();
        let second = write(&mut ledger, 2);
        ledger.acked(A, second, false);
        ledger.flushed(until);
        ledger.power_cut();
        assert_eq!(stamps(&ledger), [1, 2]);
    }

    #[test]
    fn a_durable_version_ends_older_ones_whether_acknowledged_or_not() {
        let mut ledger = ledger();
        write(&mut ledger, 1);
        let second = write(&mut ledger, 2);
        ledger.acked(A, second, true);
        ledger.power_cut();
        assert_eq!(stamps(&ledger), [2]);
        assert!(ledger.open.is_empty());
    }

    #[test]
    fn what_is_read_after_a_power_cut_stays() {
        for found in [0, 1, 2] {
            let mut ledger = ledger();
            let first = write(&mut ledger, 1);
            ledger.acked(A, first, false);
            write(&mut ledger, 2);
            ledger.power_cut();
            assert_eq!(read(&mut ledger, 3), Err(vec![0, 1, 2]));
            assert_eq!(read(&mut ledger, found), Ok(()));
            ledger.power_cut();
            assert_eq!(stamps(&ledger), [found]);
        }
    }

    #[test]
    fn a_write_after_the_cut_tells_nothing_about_what_the_cut_has_left() {
        let mut ledger = ledger();
        write(&mut ledger, 1);
        ledger.power_cut();
        let second = write(&mut ledger, 2);
        ledger.acked(A, second, false);
        assert_eq!(read(&mut ledger, 2), Ok(()));
        ledger.power_cut();
        assert_eq!(stamps(&ledger), [0, 1, 2]);
    }

    /// Zeroes may be those of the trim after the cut, which may be lost again.
    #[test]
    fn zeroes_settle_nothing_while_a_later_trim_may_have_made_them() {
        let mut ledger = ledger();
        let first = write(&mut ledger, 1);
        ledger.acked(A, first, true);
        trim(&mut ledger, 2);
        ledger.power_cut();
        trim(&mut ledger, 3);
        assert_eq!(read(&mut ledger, 0), Ok(()));
        ledger.power_cut();
        assert_eq!(stamps(&ledger), [1, 0, 0]);
        assert_eq!(read(&mut ledger, 0), Ok(()));
        assert_eq!(stamps(&ledger), [0]);
    }

    /// A flush of before the cut is known to have succeeded only while the read is under way.
    #[test]
    fn zeroes_of_before_or_after_a_durable_version_settle_nothing() {
        let mut ledger = ledger();
        let first = trim(&mut ledger, 1);
        ledger.acked(A, first, true);
        let second = write(&mut ledger, 2);
        trim(&mut ledger, 3);
        ledger.power_cut();
        let expected = ledger.expected(A);
        ledger.acked(A, second, true);
        assert_eq!(ledger.read(&expected, A.lpa, 0), Ok(()));
        assert_eq!(stamps(&ledger), [2, 0], "the trim after it may have come to flash, or not");
    }

    #[test]
    fn spans_meet_where_they_have_a_unit_in_common() {
        let span = |lpa, len| Span { lpa: Lpa(lpa), len };
        assert!(span(3, 2).meets(span(4, 1)) && span(0, 9).meets(span(4, 1)));
        assert!(!span(3, 1).meets(span(4, 1)) && !span(5, 1).meets(span(4, 1)));
    }
}
