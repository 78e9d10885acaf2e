//! The oracle: every read returns, for every unit, what was last written there.
//!
//! It knows the last acknowledged write or trim of every unit. A read remembers these when it is submitted. What it
//! returns must be at least as new, must belong to the address that was read, and must have been written at all:
//! writes still on their way may or may not be visible. Requests to the same address take effect in the order in
//! which they were submitted; schedulers keep that order.
//!
//! Writes and trims are numbered together from 1. The device stores the number of the write in place of the data.

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use thiserror::Error;
use ufs::{Content, DataIn};
use units::Lpa;

/// Marks the number of a trim. Numbers have 31 bits.
const TRIM: u32 = 1 << 31;

/// What a read remembers. Reused from read to read, so that long reads do not allocate every time.
#[derive(Debug, Default)]
pub struct Remembered {
    /// Generation of reads that it belongs to; see [`Oracle::forget_old_trims`].
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

/// A trim that a read under way may have met.
#[derive(Debug)]
struct Trim {
    lpa: Lpa,
    len: u32,
    number: u32,
    /// Generation of reads in which it was acknowledged.
    acked: Option<u32>,
}

/// The state of every unit as the host may rely on it.
#[derive(Debug)]
pub struct Oracle {
    /// Number of the last acknowledged write or trim (marked) by unit; 0 = never written.
    acked: Vec<u32>,
    /// The last number given out.
    issued: u32,
    trims: Vec<Trim>,
    generation: u32,
    /// Reads under way of the previous and of the current generation.
    open: [u32; 2],
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
        Oracle { acked: table::zeroed(units as usize), issued: 0, trims: Vec::new(), generation: 1, open: [0; 2] }
    }

    /// The state of a device that is switched off: no read is under way that a trim could matter to.
    pub(crate) fn at_rest(self) -> Oracle {
        Oracle { trims: Vec::new(), generation: 1, open: [0; 2], ..self }
    }

    /// Writes what is expected of every unit.
    pub(crate) fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        to.table("oracle.issued", &[self.issued])?;
        to.table("oracle.acked", &self.acked)
    }

    /// Reads what [`Oracle::save`] has written for a device of `units` units.
    pub(crate) fn load<R: Read>(units: u32, from: &mut Reader<R>) -> Result<Oracle, ArchiveError> {
        let mut oracle = Oracle::new(units);
        let mut issued = [0];
        from.table_into("oracle.issued", &mut issued)?;
        from.table_into("oracle.acked", &mut oracle.acked)?;
        oracle.issued = issued[0];
        let newest = oracle.acked.iter().map(|state| state & !TRIM).max().unwrap_or(0);
        if newest > oracle.issued || oracle.issued >= TRIM {
            let what = format!("has write {newest} of {}", oracle.issued);
            return Err(ArchiveError::table("oracle.acked", what));
        }
        Ok(oracle)
    }

    /// Number for a write from `lpa` on that is being submitted.
    #[inline]
    pub fn write_submitted(&mut self, lpa: Lpa) -> u32 {
        // The table is far larger than any cache. Touching the entry now lets the memory work while the request is
        // on its way; waiting for it at the acknowledgement took a third of a whole random write.
        table::prefetch(&self.acked[lpa.index()]);
        self.next_number()
    }

    #[inline]
    fn next_number(&mut self) -> u32 {
        assert!(self.issued < TRIM - 1, "more than 2^31 - 2 writes in one run: numbers have 31 bits");
        self.issued += 1;
        self.issued
    }

    /// Number for a trim that is being submitted.
    pub fn trim_submitted(&mut self, lpa: Lpa, len: u32) -> u32 {
        let number = self.next_number();
        self.forget_old_trims();
        self.trims.push(Trim { lpa, len, number, acked: None });
        number
    }

    /// The write has been acknowledged.
    #[inline]
    pub fn write_acked(&mut self, lpa: Lpa, len: u32, number: u32) {
        self.ack(lpa, len, number);
    }

    /// The trim has been acknowledged.
    pub fn trim_acked(&mut self, lpa: Lpa, len: u32, number: u32) {
        self.ack(lpa, len, number | TRIM);
        if let Some(trim) = self.trims.iter_mut().find(|t| t.number == number) {
            trim.acked = Some(self.generation);
        }
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
        memory.generation = self.generation;
        memory.first = self.acked[lpa.index()];
        if len > 1 {
            memory.all.clear();
            memory.all.extend_from_slice(&self.acked[lpa.index()..lpa.index() + len as usize]);
        }
        self.open[1] += 1;
    }

    /// The read has ended without data.
    pub fn read_failed(&mut self, memory: &Remembered) {
        self.open[usize::from(memory.generation == self.generation)] -= 1;
    }

    /// The read has ended; call it for every read, with the data or before giving up on it.
    ///
    /// # Errors
    /// If it returned something it must not return.
    #[inline]
    pub fn read_done(&mut self, lpa: Lpa, len: u32, memory: &Remembered, data: &DataIn) -> Result<(), Violation> {
        self.open[usize::from(memory.generation == self.generation)] -= 1;
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
        let good = match got {
            Some(c) => c.lpa == lpa && c.stamp >= state & !TRIM && c.stamp <= self.issued && c.stamp != 0,
            None => state == 0 || state & TRIM != 0 || self.trimmed_since(lpa, state),
        };
        if good { Ok(()) } else { Err(self.violation(lpa, position, state, got)) }
    }

    /// True if a trim submitted after the acknowledged write covers the unit.
    fn trimmed_since(&self, lpa: Lpa, state: u32) -> bool {
        self.trims.iter().any(|t| t.number > state && lpa >= t.lpa && lpa.0 - t.lpa.0 < t.len)
    }

    #[cold]
    fn violation(&self, lpa: Lpa, position: Position, state: u32, got: Option<Content>) -> Violation {
        let Position { unit, len } = position;
        let number = state & !TRIM;
        let expected = match (state, state & TRIM) {
            (0, _) => format!("{lpa} never written, or any write up to {}", self.issued),
            (_, 0) => format!("{lpa} of write {number} to {}", self.issued),
            _ => format!("{lpa} trimmed by {number}, or a write from {} to {}", number + 1, self.issued),
        };
        let got = match got {
            Some(c) => format!("{} of write {}", c.lpa, c.stamp),
            None => "zeroes".into(),
        };
        Violation { lpa, unit, len, expected, got }
    }

    /// A trim matters only to reads that were submitted before it was acknowledged. Reads are counted in two
    /// generations; once those of the previous one have ended, the trims acknowledged in it can go.
    fn forget_old_trims(&mut self) {
        if self.open[0] == 0 {
            let current = self.generation;
            self.trims.retain(|t| t.acked.is_none_or(|g| g >= current));
            self.generation += 1;
            self.open = [self.open[1], 0];
        }
    }
}

fn shape(data: &DataIn) -> String {
    match data {
        DataIn::None => "no data".into(),
        DataIn::One(_) => "1 unit".into(),
        DataIn::Many(units) => format!("{} units", units.len()),
        DataIn::Segment(_) | DataIn::Entries(_) | DataIn::Sealed(_) | DataIn::Runs(_) => "metadata".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Lpa = Lpa(5);

    fn one(lpa: Lpa, stamp: u32) -> DataIn {
        DataIn::One(Some(Content { lpa, stamp }))
    }

    /// Submits a read, lets `during` happen, and ends the read with `data`.
    fn read(oracle: &mut Oracle, data: &DataIn, during: impl FnOnce(&mut Oracle)) -> Result<(), Violation> {
        let mut memory = Remembered::default();
        oracle.read_submitted(A, 1, &mut memory);
        during(oracle);
        oracle.read_done(A, 1, &memory, data)
    }

    fn write(oracle: &mut Oracle) -> u32 {
        let number = oracle.write_submitted(A);
        oracle.write_acked(A, 1, number);
        number
    }

    fn trim(oracle: &mut Oracle) -> u32 {
        let number = oracle.trim_submitted(A, 1);
        oracle.trim_acked(A, 1, number);
        number
    }

    #[test]
    fn an_unwritten_unit_reads_as_zeroes_and_nothing_else() {
        let mut oracle = Oracle::new(16);
        assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_ok());
        assert!(read(&mut oracle, &one(A, 1), |_| ()).is_err());
    }

    #[test]
    fn old_data_foreign_data_and_zeroes_are_refused() {
        let mut oracle = Oracle::new(16);
        let old = write(&mut oracle);
        let new = write(&mut oracle);
        assert!(read(&mut oracle, &one(A, new), |_| ()).is_ok());
        let error = read(&mut oracle, &one(A, old), |_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "read of LPA 5 (unit 0 of 1): expected LPA 5 of write 2 to 2, got LPA 5 of write 1"
        );
        assert!(read(&mut oracle, &one(Lpa(6), new), |_| ()).is_err());
        assert!(read(&mut oracle, &one(A, new + 1), |_| ()).is_err());
        assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err());
        assert!(read(&mut oracle, &DataIn::None, |_| ()).is_err());
    }

    #[test]
    fn a_write_under_way_may_be_seen_or_not() {
        for seen in [1, 2] {
            let mut oracle = Oracle::new(16);
            write(&mut oracle);
            oracle.write_submitted(A);
            assert!(read(&mut oracle, &one(A, seen), |_| ()).is_ok());
        }
        let mut oracle = Oracle::new(16);
        write(&mut oracle);
        assert!(
            read(&mut oracle, &one(A, 1), |o| assert_eq!(write(o), 2)).is_ok(),
            "what was acknowledged at submission counts"
        );
        assert!(read(&mut oracle, &one(A, 1), |_| ()).is_err());
    }

    #[test]
    fn a_late_acknowledgement_of_an_older_write_changes_nothing() {
        let mut oracle = Oracle::new(16);
        let slow = oracle.write_submitted(A);
        let fast = write(&mut oracle);
        oracle.write_acked(A, 1, slow);
        assert!(read(&mut oracle, &one(A, fast), |_| ()).is_ok());
        assert!(read(&mut oracle, &one(A, slow), |_| ()).is_err());
    }

    #[test]
    fn trimmed_data_does_not_come_back() {
        let mut oracle = Oracle::new(16);
        let old = write(&mut oracle);
        trim(&mut oracle);
        assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_ok());
        let error = read(&mut oracle, &one(A, old), |_| ()).unwrap_err();
        assert_eq!(error.expected, "LPA 5 trimmed by 2, or a write from 3 to 2");
        let new = write(&mut oracle);
        assert!(read(&mut oracle, &one(A, new), |_| ()).is_ok());
        assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err());
    }

    #[test]
    fn a_trim_under_way_may_be_seen_or_not() {
        for data in [DataIn::One(None), one(A, 1)] {
            let mut oracle = Oracle::new(16);
            write(&mut oracle);
            oracle.trim_submitted(A, 1);
            assert!(read(&mut oracle, &data, |_| ()).is_ok());
        }
        let mut oracle = Oracle::new(16);
        write(&mut oracle);
        oracle.trim_submitted(Lpa(6), 2);
        assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err(), "a trim of other units is no excuse");
    }

    #[test]
    fn a_read_remembers_a_trim_that_a_write_has_hidden_since() {
        let mut oracle = Oracle::new(16);
        write(&mut oracle);
        let hide = |o: &mut Oracle| {
            trim(o);
            write(o);
            for _ in 0..10 {
                let other = o.trim_submitted(Lpa(9), 1);
                o.trim_acked(Lpa(9), 1, other);
            }
        };
        assert!(read(&mut oracle, &DataIn::One(None), hide).is_ok());
        assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_err());
    }

    #[test]
    fn old_trims_are_forgotten() {
        let mut oracle = Oracle::new(16);
        for _ in 0..1000 {
            write(&mut oracle);
            trim(&mut oracle);
            assert!(read(&mut oracle, &DataIn::One(None), |_| ()).is_ok());
        }
        assert!(oracle.trims.len() < 4, "{} trims kept", oracle.trims.len());
    }

    #[test]
    fn every_unit_of_a_long_read_is_checked() {
        let mut oracle = Oracle::new(16);
        let number = oracle.write_submitted(A);
        oracle.write_acked(A, 2, number);
        let mut memory = Remembered::default();
        let content = |lpa, stamp| Some(Content { lpa, stamp });
        for (units, good) in [
            (vec![content(A, 1), content(Lpa(6), 1), None], true),
            (vec![content(A, 1), content(A, 1), None], false),
            (vec![content(A, 1), None, None], false),
            (vec![content(A, 1), content(Lpa(6), 1)], false),
        ] {
            oracle.read_submitted(A, 3, &mut memory);
            assert_eq!(oracle.read_done(A, 3, &memory, &DataIn::Many(units)).is_ok(), good);
        }
    }
}
