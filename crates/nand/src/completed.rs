//! A completed operation. A completed read is the only way to learn what flash holds.

use units::Ppa;

use crate::op::{Cause, Kind, Op, Priority, Work};

/// A completed operation. Only [`Nand::wake`](crate::Nand::wake) makes one, when the last phase of the operation has
/// ended. So a completed read proves that its time has passed and that it has been counted.
///
/// [`Nand::spare`](crate::Nand::spare), [`Nand::sensed`](crate::Nand::sensed), [`Nand::seq`](crate::Nand::seq) and
/// [`Nand::unit_seq`](crate::Nand::unit_seq) give the content of a unit only for a completed read that covers it.
///
/// It cannot be copied: its proof holds at the time of completion.
///
/// # No code outside of this crate can make one
/// This compiles:
/// ```
/// use ufsim_nand::{Completed, Nand, Spare};
/// fn look(nand: &Nand, read: &Completed) -> Option<Spare> {
///     nand.spare(read, 0)
/// }
/// ```
/// This does not, because the fields are private (E0451):
/// ```compile_fail,E0451
/// use ufsim_nand::{Completed, Nand, Op, Spare};
/// fn look(nand: &Nand, op: Op) -> Option<Spare> {
///     let read = Completed { op, failed: false };
///     nand.spare(&read, 0)
/// }
/// ```
/// There is no default either (E0277):
/// ```compile_fail,E0277
/// fn make<T: Default>() -> T { T::default() }
/// let read: ufsim_nand::Completed = make();
/// ```
/// It cannot be cloned (E0277):
/// ```compile_fail,E0277
/// fn keep<T: Clone>(read: &T) -> T { read.clone() }
/// fn keep_read(read: &ufsim_nand::Completed) -> ufsim_nand::Completed { keep(read) }
/// ```
/// The same functions work for other types:
/// ```
/// fn make<T: Default>() -> T { T::default() }
/// fn keep<T: Clone>(read: &T) -> T { read.clone() }
/// let counters: ufsim_nand::Counters = make();
/// assert_eq!(keep(&counters), counters);
/// ```
#[derive(PartialEq, Eq, Debug)]
pub struct Completed {
    op: Op,
    failed: bool,
}

impl Completed {
    #[inline(always)]
    pub(crate) fn new(op: Op, failed: bool) -> Completed {
        Completed { op, failed }
    }

    /// The submitter's own number.
    #[inline(always)]
    pub fn token(&self) -> u32 {
        self.op.token
    }

    /// The work that was done.
    #[inline(always)]
    pub fn work(&self) -> Work {
        self.op.work
    }

    /// The cause under which it was counted.
    pub fn cause(&self) -> Cause {
        self.op.cause
    }

    /// The priority class in which it was queued.
    pub fn priority(&self) -> Priority {
        self.op.priority
    }

    /// True if the operation itself failed (see [`Faults`](crate::Faults)). False for a read that found earlier damage.
    #[inline(always)]
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// True if this is a read that did not fail and that covers the `n` units from `ppa` on.
    #[inline]
    pub fn has_read(&self, ppa: Ppa, n: u32) -> bool {
        match self.op.work {
            Work::Read { ppa: first, units } => {
                !self.failed && first <= ppa && u64::from(ppa.0) + u64::from(n) <= u64::from(first.0) + u64::from(units)
            }
            Work::Program { .. } | Work::Erase { .. } => false,
        }
    }

    /// A new operation that repeats this failed read, with the same token.
    ///
    /// # Panics
    /// If this is not a read: a failed program or erase is not repeated at the same place.
    pub fn read_again(&self) -> Op {
        assert!(self.op.work.kind() == Kind::Read, "only reads are repeated: {self:?}");
        self.op
    }

    /// The address of unit `i` of this read.
    ///
    /// # Panics
    /// If this is not a read, or has no unit `i`.
    #[inline]
    pub(crate) fn unit(&self, i: u32) -> Ppa {
        match self.op.work {
            Work::Read { ppa, units } if i < units => ppa.offset(i),
            work => panic!("spare area of unit {i} of {work:?}: only what was read has one"),
        }
    }
}
