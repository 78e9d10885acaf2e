//! Counters of the array, by cause.

use std::hash::{Hash, Hasher};

use units::{Nanos, UNIT_BYTES};

use crate::op::{Cause, Kind, Op};

/// Sums over all finished operations. An operation is counted when it finishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    busy_ns: [u64; Cause::COUNT],
    ops: [[u64; Kind::COUNT]; Cause::COUNT],
    bytes: [[u64; Kind::COUNT]; Cause::COUNT],
    register_hits: u64,
    retries: [u64; Cause::COUNT],
    failures: [u64; Kind::COUNT],
}

impl Counters {
    /// Time during which operations of a cause occupied a die, with waits for the channel, summed over dies, in
    /// nanoseconds. Reads that share a die count one by one.
    pub fn busy_ns(&self, cause: Cause) -> u64 {
        self.busy_ns[cause.index()]
    }

    /// Time during which all operations occupied dies, in nanoseconds.
    pub fn total_busy_ns(&self) -> u64 {
        self.busy_ns.iter().sum()
    }

    /// Operations of a cause and kind.
    pub fn ops(&self, cause: Cause, kind: Kind) -> u64 {
        self.ops[cause.index()][kind.index()]
    }

    /// Operations of a kind.
    pub fn total_ops(&self, kind: Kind) -> u64 {
        self.ops.iter().map(|by_kind| by_kind[kind.index()]).sum()
    }

    /// Bytes read or programmed, padding included; 0 for erases.
    pub fn bytes(&self, cause: Cause, kind: Kind) -> u64 {
        self.bytes[cause.index()][kind.index()]
    }

    /// Bytes of all operations of a kind, padding included.
    pub fn total_bytes(&self, kind: Kind) -> u64 {
        self.bytes.iter().map(|by_kind| by_kind[kind.index()]).sum()
    }

    /// Reads whose row was in the page register.
    pub fn register_hits(&self) -> u64 {
        self.register_hits
    }

    /// Steps of read retries in reads of a cause.
    pub fn retries(&self, cause: Cause) -> u64 {
        self.retries[cause.index()]
    }

    /// Operations of a kind that themselves failed (see [`Faults`](crate::Faults)).
    pub fn failures(&self, kind: Kind) -> u64 {
        self.failures[kind.index()]
    }

    /// Counts since `earlier`, an older copy of these counters.
    ///
    /// # Panics
    /// If `earlier` is not older.
    pub fn since(&self, earlier: &Counters) -> Counters {
        fn less(now: u64, earlier: u64) -> u64 {
            now.checked_sub(earlier).expect("counters only grow: `earlier` is the newer copy")
        }
        let mut difference = *self;
        difference.register_hits = less(self.register_hits, earlier.register_hits);
        for kind in 0..Kind::COUNT {
            difference.failures[kind] = less(self.failures[kind], earlier.failures[kind]);
        }
        for cause in 0..Cause::COUNT {
            difference.retries[cause] = less(self.retries[cause], earlier.retries[cause]);
            difference.busy_ns[cause] = less(self.busy_ns[cause], earlier.busy_ns[cause]);
            for kind in 0..Kind::COUNT {
                difference.ops[cause][kind] = less(self.ops[cause][kind], earlier.ops[cause][kind]);
                difference.bytes[cause][kind] = less(self.bytes[cause][kind], earlier.bytes[cause][kind]);
            }
        }
        difference
    }

    #[inline]
    pub(crate) fn count(&mut self, op: &Op, busy: Nanos, register_hit: bool) {
        let (cause, kind) = (op.cause.index(), op.work.kind().index());
        self.busy_ns[cause] += busy.0;
        self.ops[cause][kind] += 1;
        self.bytes[cause][kind] += u64::from(op.work.units()) * UNIT_BYTES;
        self.register_hits += u64::from(register_hit);
    }

    #[cold]
    pub(crate) fn count_retries(&mut self, cause: Cause, retries: u8) {
        self.retries[cause.index()] += u64::from(retries);
    }

    pub(crate) fn count_failure(&mut self, kind: Kind) {
        self.failures[kind.index()] += 1;
    }
}

/// Counters only count: no part of the state.
impl Hash for Counters {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Priority, Work};
    use units::Ppa;

    #[test]
    fn a_warm_up_can_be_taken_off() {
        let work = Work::Read { ppa: Ppa(0), units: 3 };
        let op = Op { work, priority: Priority::Gc, cause: Cause::GcRead, token: 0 };
        let mut counters = Counters::default();
        counters.count(&op, Nanos(7), false);
        let warm = counters;
        counters.count(&op, Nanos(10), true);
        let difference = counters.since(&warm);
        assert_eq!(difference.busy_ns(Cause::GcRead), 10);
        assert_eq!(difference.ops(Cause::GcRead, Kind::Read), 1);
        assert_eq!(difference.bytes(Cause::GcRead, Kind::Read), 3 * 4096);
        assert_eq!((difference.register_hits(), difference.total_busy_ns()), (1, 10));
        assert_eq!((counters.total_ops(Kind::Read), counters.total_bytes(Kind::Read)), (2, 24_576));
        assert_eq!(counters.since(&counters), Counters::default());
    }

    #[test]
    #[should_panic(expected = "counters only grow")]
    fn a_newer_copy_cannot_be_taken_off() {
        let mut newer = Counters::default();
        let work = Work::Read { ppa: Ppa(0), units: 1 };
        let op = Op { work, priority: Priority::Gc, cause: Cause::GcRead, token: 0 };
        newer.count(&op, Nanos(1), false);
        Counters::default().since(&newer);
    }
}
