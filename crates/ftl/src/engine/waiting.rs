//! Queues of work that waits inside the firmware.

use std::collections::VecDeque;

use ufs::Op;
use units::{Lpa, Ppa, Seq, SimTime, Superblock};

use crate::knowledge::ExpectedSet;
use crate::space::blocks::Stream;
use crate::table::directory::Piece;
use crate::table::map_units::UnitSet;

/// A run of pages that waits for SRAM buffers.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct WaitingRead {
    pub(super) tag: u8,
    pub(super) first: u32,
    pub(super) ppa: Ppa,
    pub(super) n: u32,
}

/// Units resolved to consecutive pages of one row.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) ppa: Ppa,
    pub(super) n: u32,
}

/// A waiter for a map unit that is being loaded.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) enum Waiter<A> {
    /// Unit `i` of a read command.
    Unit { tag: u8, i: u32 },
    /// A command that is answered when its last load is done.
    Command { tag: u8, then: Then<A> },
    /// The write that is accepted next; only with [`Translate::ON_DEMAND`](crate::seat::Translate::ON_DEMAND).
    Write { lpa: Lpa },
}

impl<A> Waiter<A> {
    /// The command that waits, if it has asked for the load by itself.
    pub(super) fn tag(&self) -> Option<u8> {
        match *self {
            Waiter::Unit { tag, .. } | Waiter::Command { tag, .. } => Some(tag),
            Waiter::Write { .. } => None,
        }
    }
}

/// How a command is answered when its loads are done.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) enum Then<A> {
    /// With nothing.
    Done,
    /// With the entries of this group.
    Publish(u32),
    /// With the scheme's answer.
    Ask(A),
}

#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub(super) struct Load<A> {
    pub(super) units: UnitSet,
    /// Their places on flash.
    pub(super) expected: ExpectedSet,
    /// Reads under way; 0 = the load waits for buffers.
    pub(super) reads: u32,
    /// Buffers that the load holds until its last read is done, for the units that have been read.
    pub(super) held: u16,
    pub(super) waiters: Vec<Waiter<A>>,
}

/// All loads under way. There are few, so a scan finds one fastest.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub(super) struct Loads<A> {
    pub(super) active: Vec<Load<A>>,
    pub(super) spare_lists: Vec<Vec<Waiter<A>>>,
    pub(super) waiting: usize,
    /// The READ BUFFER command that holds the group buffer, and the commands that wait for it.
    pub(super) group: Option<u8>,
    pub(super) group_queue: VecDeque<u8>,
}

impl<A> Default for Loads<A> {
    fn default() -> Loads<A> {
        Loads { active: Vec::new(), spare_lists: Vec::new(), waiting: 0, group: None, group_queue: VecDeque::new() }
    }
}

impl<A> Loads<A> {
    /// True if any load waits for buffers.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }
}

/// Lookups under way, and the time since which the device has been without commands.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// Reads with units that have not been looked up: tag and next unit.
    pub(super) reads: VecDeque<(u8, u32)>,
    /// True if a unit of a read, or of the first write, waits for a map unit.
    pub(super) read_loading: bool,
    pub(super) write_loading: bool,
    pub(super) quiet_since: Option<SimTime>,
    pub(super) quiet_wake: bool,
}

impl Lookups {
    /// A read has started.
    pub(super) fn add(&mut self, tag: u8) {
        self.reads.push_back((tag, 0));
    }

    /// The map unit that a read waited for has been loaded.
    pub(super) fn read_load_done(&mut self) {
        self.read_loading = false;
    }

    /// The map unit that a write waited for has been loaded.
    pub(super) fn write_load_done(&mut self) {
        self.write_loading = false;
    }

    /// The wake for idle time has arrived.
    pub(super) fn quiet_over(&mut self) {
        self.quiet_wake = false;
    }
}

/// The commands that a notice has announced as one packed command.
#[derive(Clone, Copy, Hash, Debug, Default)]
pub(super) struct Pack {
    /// Commands of the pack that have not started.
    pub(super) left: u32,
}

impl Pack {
    /// True if this command belongs to the pack. The notice has paid its cost.
    pub(super) fn takes(&mut self, op: &Op) -> bool {
        let packable = op.is_user() && *op != Op::Flush;
        let takes = packable && self.left > 0;
        self.left -= u32::from(takes);
        takes
    }
}

/// A flush that waits for data accepted before it.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct Flushing {
    pub(super) tag: u8,
    /// Units accepted before this one belong to the flush.
    pub(super) below: u64,
    /// Number of them that are not on flash yet.
    pub(super) left: usize,
    /// Trims with a sequence number below this belong to the flush.
    pub(super) trims_below: Seq,
}

/// A metadata superblock being collected.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub(super) struct MetaGc {
    pub(super) victim: Option<Superblock>,
    pub(super) pieces: Vec<(Ppa, Piece)>,
    /// Buffers that hold the first `round` of the pieces.
    pub(super) held: u16,
    pub(super) round: usize,
    pub(super) erasing: bool,
}

/// A row whose program has failed.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub(super) struct FailedRow {
    pub(super) stream: Stream,
    /// Write buffers or copies.
    pub(super) items: Vec<u32>,
    /// Sequence number of the first item.
    pub(super) seq: Seq,
}
