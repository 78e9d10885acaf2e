//! The oracle: every read returns, for every unit, what was last written there.
//!
//! It knows the last acknowledged write or trim of every unit. A read remembers these when it is submitted. It may
//! return that, or a newer write or trim of the same unit that was submitted before the read ended: writes on their way
//! may or may not be visible. Requests to the same address take effect in the order in which they were submitted;
//! schedulers keep that order.
//!
//! Writes and trims are numbered together from 1. The device stores the number of the write in place of the data.

mod history;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use ledger::{Ledger, Span, Version};
use thiserror::Error;
use ufs::{Content, DataIn};
use units::Lpa;
use workload::Footprint;

use history::{Change, Effect, History};

/// Marks the number of a trim. Numbers have 31 bits.
const TRIM: u32 = 1 << 31;
/// Units that are read back together if any of them was written.
const STRETCH: u32 = 128;

/// What a read remembers. Reused from read to read, so that long reads do not allocate every time.
#[derive(Debug, Default)]
pub struct Remembered {
    /// Generation of reads that it belongs to; see [`History`].
    generation: u32,
    /// Acknowledged state of the first unit.
    first: u32,
    /// Acknowledged states of all units, if there is more than one.
    all: Vec<u32>,
}

/// A unit of a request.
#[derive(Clone, Copy)]
struct Position {
    unit: u32,
    /// Units of the request.
    len: u32,
}

/// The state of every unit as the host may rely on it.
#[derive(Debug)]
pub struct Oracle {
    /// Number of the last acknowledged write or trim (marked) by unit; 0 = never written.
    acked: Vec<u32>,
    history: History,
}

/// What has been written to a device in all, for a read-back.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Units that were ever written or trimmed, with units between them that were not.
    pub ranges: Footprint,
    /// Units that hold data.
    pub data_units: u64,
    /// Units that were trimmed since they were last written.
    pub trimmed_units: u64,
}

/// A read returned something it must not return.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("read of {lpa} (unit {unit} of {len}): expected {expected}, got {got}")]
pub struct Violation {
    /// The address.
    pub lpa: Lpa,
    /// Position in the request.
    pub unit: u32,
    /// Length of the request.
    pub len: u32,
    /// What would have been right.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl Oracle {
    /// A device of `units` units on which nothing has been written.
    pub fn new(units: u32) -> Oracle {
        Oracle { acked: table::zeroed(units as usize), history: History::new(0, Vec::new()) }
    }

    /// What a ledger tells of a device that is switched off, after `issued` writes and trims. It may know later ones
    /// that are still to come.
    pub fn of_ledger(ledger: &Ledger, issued: u32) -> Oracle {
        let state = |version: Version| version.number() | if version.is_trim() { TRIM } else { 0 };
        let acked = (0..ledger.units()).map(|unit| state(ledger.present(Lpa(unit)))).collect();
        let effect = |version: Version| if version.is_trim() { Effect::Trim } else { Effect::Write };
        let change = |(lpa, version)| (Version::number(version), Change { lpa, len: 1, effect: effect(version) });
        let mut doubtful: Vec<_> = ledger.doubtful().map(change).filter(|&(number, _)| number <= issued).collect();
        doubtful.sort_by_key(|&(number, change)| (number, change.lpa));
        doubtful.dedup_by(|(number, next), (same, change)| {
            let goes_on = number == same && next.lpa.0 == change.lpa.0 + change.len;
            change.len += u32::from(goes_on);
            goes_on
        });
        Oracle { acked, history: History::new(issued, doubtful) }
    }

    /// What a ledger has to know of the device, and the number of the last write or trim, at rest.
    pub fn to_ledger(&self) -> (Ledger, u32) {
        let version = |state: u32| match state & TRIM {
            0 => Version::written(state),
            _ => Version::trimmed(state & !TRIM),
        };
        let mut ledger = Ledger::at_rest(self.acked.iter().map(|&state| version(state)));
        for &(number, change) in self.history.refused() {
            let version = match change.effect {
                Effect::Write => Version::written(number),
                Effect::Trim => Version::trimmed(number),
            };
            ledger.submitted(Span { lpa: change.lpa, len: change.len }, version);
        }
        (ledger, self.history.issued())
    }

    /// The state of a device that is switched off: nothing is under way.
    pub(crate) fn at_rest(self) -> Oracle {
        let history = History::new(self.history.issued(), self.history.refused().to_vec());
        Oracle { history, ..self }
    }

    /// Writes what is expected of every unit.
    pub(crate) fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        to.table("oracle.issued", &[self.history.issued()])?;
        to.table("oracle.acked", &self.acked)?;
        let refused = self.history.refused().iter().flat_map(|&(number, change)| {
            let mark = if change.effect == Effect::Trim { TRIM } else { 0 };
            [number | mark, change.lpa.0, change.len]
        });
        to.table("oracle.refused", &refused.collect::<Vec<_>>())
    }

    /// Reads what [`Oracle::save`] has written for a device of `units` units.
    pub(crate) fn load<R: Read>(units: u32, from: &mut Reader<R>) -> Result<Oracle, ArchiveError> {
        let mut issued = [0];
        from.table_into("oracle.issued", &mut issued)?;
        let mut acked: Vec<u32> = table::zeroed(units as usize);
        from.table_into("oracle.acked", &mut acked)?;
        let newest = acked.iter().map(|state| state & !TRIM).max().unwrap_or(0);
        if newest > issued[0] || issued[0] >= TRIM {
            let what = format!("has write {newest} of {}", issued[0]);
            return Err(ArchiveError::table("oracle.acked", what));
        }
        let refused: Vec<u32> = from.table("oracle.refused", MOST_REFUSED)?;
        let refused = refused_changes(&refused, issued[0], units)
            .ok_or_else(|| ArchiveError::table("oracle.refused", "has requests that were never made"))?;
        Ok(Oracle { acked, history: History::new(issued[0], refused) })
    }

    /// Prefetches what is known of an address.
    #[inline]
    pub fn prefetch(&self, lpa: Lpa) {
        if let Some(acked) = self.acked.get(lpa.index()) {
            table::prefetch(acked);
        }
    }

    /// Number for a write of `len` units from `lpa` on that is being submitted.
    #[inline]
    pub fn write_submitted(&mut self, lpa: Lpa, len: u32) -> u32 {
        // The table is far larger than any cache. Touching the entry now lets the memory work while the request is
        // on its way; waiting for it at the acknowledgement took a third of a whole random write.
        table::prefetch(&self.acked[lpa.index()]);
        self.begin(Change { lpa, len, effect: Effect::Write })
    }

    /// Number for a trim that is being submitted.
    pub fn trim_submitted(&mut self, lpa: Lpa, len: u32) -> u32 {
        self.begin(Change { lpa, len, effect: Effect::Trim })
    }

    #[inline]
    fn begin(&mut self, change: Change) -> u32 {
        let number = self.history.begin(change);
        assert!(number < TRIM, "more than 2^31 - 1 writes in one run: numbers have 31 bits");
        number
    }

    /// The write has been acknowledged.
    #[inline]
    pub fn write_acked(&mut self, lpa: Lpa, len: u32, number: u32) {
        self.ack(lpa, len, number);
        self.history.acked(number);
    }

    /// The trim has been acknowledged.
    pub fn trim_acked(&mut self, lpa: Lpa, len: u32, number: u32) {
        self.ack(lpa, len, number | TRIM);
        self.history.acked(number);
    }

    /// A write or trim was refused. From now on each of its units may have changed or not.
    pub fn refused(&mut self, number: u32) {
        self.history.refuse(number);
    }

    /// An older request acknowledged late changes nothing: the newer one has replaced its data.
    #[inline(always)]
    fn ack(&mut self, lpa: Lpa, len: u32, state: u32) {
        for slot in &mut self.acked[lpa.index()..lpa.index() + len as usize] {
            if *slot & !TRIM < state & !TRIM {
                *slot = state;
            }
        }
    }

    /// A read of `lpa` is about to be submitted.
    #[inline]
    pub fn read_announced(&self, lpa: Lpa) {
        table::prefetch(&self.acked[lpa.index()]);
    }

    /// A read is being submitted.
    #[inline]
    pub fn read_submitted(&mut self, lpa: Lpa, len: u32, memory: &mut Remembered) {
        memory.generation = self.history.read_began();
        memory.first = self.acked[lpa.index()];
        if len > 1 {
            memory.all.clear();
            memory.all.extend_from_slice(&self.acked[lpa.index()..lpa.index() + len as usize]);
        }
    }

    /// The read has ended without data.
    pub fn read_failed(&mut self, memory: &Remembered) {
        self.history.read_ended(memory.generation);
    }

    /// The read has ended; call it for every read, with the data or before giving up on it.
    ///
    /// # Errors
    /// If it returned something it must not return.
    #[inline]
    pub fn read_done(&mut self, lpa: Lpa, len: u32, memory: &Remembered, data: &DataIn) -> Result<(), Violation> {
        self.history.read_ended(memory.generation);
        match data {
            DataIn::One(got) if len == 1 => self.check(lpa, Position { unit: 0, len: 1 }, memory.first, *got),
            DataIn::Many(units) if units.len() == len as usize => {
                let states = if len == 1 { std::slice::from_ref(&memory.first) } else { &memory.all[..] };
                for (i, (&state, &got)) in states.iter().zip(units).enumerate() {
                    self.check(lpa.offset(i as u32), Position { unit: i as u32, len }, state, got)?;
                }
                Ok(())
            }
            other => Err(Violation { lpa, unit: 0, len, expected: format!("{len} units of data"), got: shape(other) }),
        }
    }

    #[inline]
    fn check(&self, lpa: Lpa, position: Position, state: u32, got: Option<Content>) -> Result<(), Violation> {
        let as_acked = match got {
            Some(c) => c.lpa == lpa && c.stamp == state && state & TRIM == 0 && state != 0,
            None => state == 0 || state & TRIM != 0,
        };
        if as_acked || self.is_newer(lpa, state, got) { Ok(()) } else { Err(self.violation(lpa, position, state, got)) }
    }

    /// True if the content is that of a write or trim of the unit which the read may have met since it was submitted.
    #[inline(never)]
    fn is_newer(&self, lpa: Lpa, state: u32, got: Option<Content>) -> bool {
        let acked = state & !TRIM;
        match got {
            Some(c) => c.lpa == lpa && c.stamp > acked && self.history.has_written(c.stamp, lpa),
            None => self.history.newer(acked, lpa).any(|(_, effect)| effect == Effect::Trim),
        }
    }

    #[cold]
    fn violation(&self, lpa: Lpa, position: Position, state: u32, got: Option<Content>) -> Violation {
        let Position { unit, len } = position;
        let number = state & !TRIM;
        let last = match (state, state & TRIM) {
            (0, _) => format!("{lpa} never written"),
            (_, 0) => format!("{lpa} of write {number}"),
            _ => format!("{lpa} trimmed by {number}"),
        };
        let newer = self.history.newer(number, lpa).map(|(number, effect)| match effect {
            Effect::Write => format!(", or of write {number} under way"),
            Effect::Trim => format!(", or trimmed by {number} under way"),
        });
        let got = match got {
            Some(c) => format!("{} of write {}", c.lpa, c.stamp),
            None => "zeroes".into(),
        };
        Violation { lpa, unit, len, expected: last + &newer.collect::<String>(), got }
    }

    /// Everything that was ever written or trimmed, refused requests included.
    pub fn written(&self) -> Written {
        let (mut data_units, mut trimmed_units) = (0, 0);
        let mut stretches = Vec::new();
        for (first, states) in (0..).step_by(STRETCH as usize).zip(self.acked.chunks(STRETCH as usize)) {
            let changed = states.iter().filter(|&&state| state != 0).count() as u64;
            let trimmed = states.iter().filter(|&&state| state & TRIM != 0).count() as u64;
            data_units += changed - trimmed;
            trimmed_units += trimmed;
            if changed > 0 {
                stretches.push((Lpa(first), states.len() as u32));
            }
        }
        stretches.extend(self.history.refused().iter().map(|(_, change)| (change.lpa, change.len)));
        Written { ranges: Footprint::from_ranges(stretches), data_units, trimmed_units }
    }
}

/// Refused requests that a file may have, in numbers of which each takes three.
const MOST_REFUSED: usize = 3 << 24;

/// Refused changes as a file has them. `None` if a device of `units` units that has had `issued` changes cannot have
/// them.
fn refused_changes(numbers: &[u32], issued: u32, units: u32) -> Option<Vec<(u32, Change)>> {
    let changes = numbers.chunks_exact(3).map(|three| {
        let effect = if three[0] & TRIM == 0 { Effect::Write } else { Effect::Trim };
        (three[0] & !TRIM, Change { lpa: Lpa(three[1]), len: three[2], effect })
    });
    let changes: Vec<_> = changes.collect();
    let whole = numbers.len().is_multiple_of(3);
    let ascending = changes.is_sorted_by(|one, next| (one.0, one.1.lpa) < (next.0, next.1.lpa));
    let known = changes.iter().all(|(number, change)| {
        let end = change.lpa.0.checked_add(change.len);
        (1..=issued).contains(number) && end.is_some_and(|end| end <= units)
    });
    (whole && ascending && known).then_some(changes)
}

fn shape(data: &DataIn) -> String {
    match data {
        DataIn::None => "no data".into(),
        DataIn::One(_) => "1 unit".into(),
        DataIn::Many(units) => format!("{} units", units.len()),
        _ => "metadata".into(),
    }
}
