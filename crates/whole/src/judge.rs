//! What clients may hold, from what was promised to them: their own truth, which knows nothing of the server's.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Expected, Ledger, Span, Version};
use units::Lpa;

use crate::page;

/// Units that clients use.
pub const UNITS: u32 = 64;

/// A request of a client that has not been answered.
#[derive(Debug)]
pub enum Flight {
    Read {
        span: Span,
        expected: Expected,
    },
    Change {
        span: Span,
        version: Version,
        fua: bool,
    },
    /// What it is to make durable: the newest acknowledged version of each unit.
    Flush {
        covered: Vec<(u32, Version)>,
    },
}

/// The judge. A broken promise is an error in words.
pub struct Judge {
    ledger: Ledger,
    /// Writes and trims so far.
    numbers: u32,
    /// By unit: the newest version that was acknowledged since the power was switched on.
    acked: BTreeMap<u32, Version>,
    /// Requests under way, by connection and cookie.
    flights: BTreeMap<(u64, u64), Flight>,
    /// Units of changes whose client has gone without an answer. They may take effect at any time until the next cut.
    floating: BTreeSet<u32>,
    /// Connections whose host has lost its power.
    dead: BTreeSet<u64>,
    /// Units that were read and compared.
    pub checked: u64,
}

impl Judge {
    pub fn new() -> Judge {
        Judge {
            ledger: Ledger::new(UNITS),
            numbers: 0,
            acked: BTreeMap::new(),
            flights: BTreeMap::new(),
            floating: BTreeSet::new(),
            dead: BTreeSet::new(),
            checked: 0,
        }
    }

    /// True if a client may change these units: no other change of them is under way.
    pub fn may_change(&self, span: Span) -> bool {
        let under_way = self.flights.iter().any(|((connection, _), flight)| {
            let alive = !self.dead.contains(connection);
            matches!(flight, Flight::Change { span: other, .. } if alive && other.meets(span))
        });
        !under_way && self.floating.range(span.lpa.0..span.lpa.0 + span.len).next().is_none()
    }

    /// A connection sends a read.
    pub fn reads(&mut self, of: (u64, u64), span: Span) {
        let expected = self.ledger.expected(span);
        self.flights.insert(of, Flight::Read { span, expected });
    }

    /// A connection sends a write or a trim. Gives its number. That of a dead host is none: nobody may ever see it.
    pub fn changes(&mut self, of: (u64, u64), span: Span, (trims, fua): (bool, bool)) -> u32 {
        self.numbers += 1;
        let number = self.numbers;
        let version = if trims { Version::trimmed(number) } else { Version::written(number) };
        if !self.dead.contains(&of.0) {
            self.ledger.submitted(span, version);
            for flight in self.flights.values_mut() {
                if let Flight::Read { expected, .. } = flight {
                    expected.submitted(span, version);
                }
            }
        }
        self.flights.insert(of, Flight::Change { span, version, fua });
        number
    }

    /// A connection sends a flush.
    pub fn flushes(&mut self, of: (u64, u64)) {
        let covered = self.acked.iter().map(|(&unit, &version)| (unit, version)).collect();
        self.flights.insert(of, Flight::Flush { covered });
    }

    /// Bytes of the data that a request gets back, if it succeeds.
    pub fn bytes_back(&self, of: (u64, u64)) -> Option<usize> {
        match self.flights.get(&of)? {
            Flight::Read { span, .. } => Some(span.len as usize * page::BYTES),
            Flight::Change { .. } | Flight::Flush { .. } => Some(0),
        }
    }

    /// A request has failed, which is no promise.
    pub fn failed(&mut self, of: (u64, u64)) {
        self.flights.remove(&of);
    }

    /// A request has succeeded.
    ///
    /// # Errors
    /// A promise that has been broken.
    pub fn succeeded(&mut self, of: (u64, u64), data: &[u8]) -> Result<(), String> {
        let dead = self.dead.contains(&of.0);
        match self.flights.remove(&of).expect("it was under way") {
            Flight::Read { span, expected } => self.read(span, &expected, data, dead),
            Flight::Change { span, version, fua } => {
                // What was acknowledged before a cut, and not made durable, may be gone.
                if !dead || fua {
                    self.ledger.acked(span, version, fua);
                }
                if !dead {
                    self.acked.extend((span.lpa.0..span.lpa.0 + span.len).map(|unit| (unit, version)));
                }
                Ok(())
            }
            Flight::Flush { covered } => {
                for (unit, version) in covered {
                    self.ledger.acked(Span { lpa: Lpa(unit), len: 1 }, version, true);
                }
                Ok(())
            }
        }
    }

    fn read(&mut self, span: Span, expected: &Expected, data: &[u8], dead: bool) -> Result<(), String> {
        for (unit, bytes) in (span.lpa.0..).zip(data.chunks_exact(page::BYTES)) {
            let number = page::number_of(bytes, unit)?;
            let allowed = match dead {
                true => expected.allows(Lpa(unit), number),
                false => self.ledger.read(expected, Lpa(unit), number),
            };
            if let Err(allowed) = allowed {
                return Err(format!("unit {unit} holds write {number}; allowed: one of {allowed:?} (0 = zeroes)"));
            }
            self.checked += 1;
        }
        Ok(())
    }

    /// A connection has ended: of what it had under way nobody knows what will become.
    pub fn left(&mut self, connection: u64) {
        let of = (connection, 0)..=(connection, u64::MAX);
        let gone: Vec<_> = self.flights.range(of).map(|(of, _)| *of).collect();
        for of in gone {
            let dead = self.dead.contains(&connection);
            if let Some(Flight::Change { span, .. }) = self.flights.remove(&of)
                && !dead
            {
                self.floating.extend(span.lpa.0..span.lpa.0 + span.len);
            }
        }
    }

    /// The power has been cut, and these connections are those of hosts that lost it.
    pub fn power_cut(&mut self, connections: impl IntoIterator<Item = u64>) {
        self.ledger.power_cut();
        self.acked.clear();
        self.floating.clear();
        self.dead.extend(connections);
    }

    /// The server has ended in an ordinary way: what was acknowledged is durable.
    pub fn closed(&mut self) {
        for (unit, version) in std::mem::take(&mut self.acked) {
            self.ledger.acked(Span { lpa: Lpa(unit), len: 1 }, version, true);
        }
    }

    /// Nothing is known any more of what a unit holds: what was lost has been told.
    pub fn forget(&mut self) {
        *self = Judge { numbers: self.numbers, checked: self.checked, ..Judge::new() };
    }
}
