//! What flash and firmware do, for those who watch, and what is in SRAM. No firmware has this; a host can not ask for
//! it. A device that nobody watches notes nothing.
//!
//! - **Event**: something that has happened, with its times ([`Event`]). They come in one stream, in the order in which
//!   they were noted.
//! - **Origin**: a request that a flash operation is for.
//! - **Levels**: how full the firmware's queues and buffers are at a moment.

use ufs::{Op, Tag};
use units::SimTime;

use super::stay::{Stay, Stays};
use crate::sram::pool::OWNERS;

/// How much is noted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Scope {
    /// Nothing.
    #[default]
    Nothing,
    /// What commands wait for.
    Waits,
    /// Everything.
    All,
}

/// Something that has happened in the device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// A die or a channel was used for an operation. The uses of one of them do not overlap.
    Flash(nand::Usage),
    /// The use of a die just told was for this request, among others.
    For(Origin),
    /// The firmware has worked, or will have: what its thread does is told at the beginning. Works of the thread do not
    /// overlap; nor do exclusive jobs.
    Firmware {
        /// On what.
        work: Work,
        /// When it began.
        began: SimTime,
        /// When it ended, or will end; or until when it was seen.
        ended: SimTime,
    },
    /// The command under this tag has waited for this since its last stay ended, or since it was at the device. A stay
    /// that ends no later than the one before has no length.
    Stayed {
        /// The command.
        tag: Tag,
        /// What it waited for.
        stay: Stay,
        /// The end.
        until: SimTime,
    },
}

/// What the firmware works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Its thread, on a command.
    Command(Op),
    /// Its thread, on seals of entries.
    Seals,
    /// Everything, on a map flush.
    MapFlush,
    /// A map flush beside commands, which go on.
    FlushBeside,
    /// Everything, on a step of GC; commands may go on beside it.
    Gc,
    /// Everything, on the collection of metadata superblocks.
    MetaGc,
    /// Everything, on the mapping after a power cut.
    Recovery,
}

/// A request that a flash operation is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// That of the command under this tag, which has not been answered.
    Command(Tag),
    /// The write that gave its data this stamp.
    Write(u32),
}

/// How full queues and buffers are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Levels {
    /// SRAM buffers of the pool in use, in the order of [`Levels::OWNERS`].
    pub sram: [u16; OWNERS],
    /// Entries in the L2P log.
    pub log: u32,
    /// Free superblocks for data.
    pub free_superblocks: u32,
    /// Commands that the firmware has not started.
    pub queued: u32,
}

impl Levels {
    /// What SRAM buffers are used for: data of writes and reads under way, segments that commands need, segments of
    /// jobs and of a map flush beside commands, and pages that GC copies. Clean segments that are only cached take
    /// what is left of the pool.
    pub const OWNERS: [&'static str; OWNERS] = ["write", "read", "load", "job", "flush", "gc"];
}

/// What is noted while somebody watches.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Watch {
    /// More than waits is noted.
    pub(crate) all: bool,
    /// Events that nobody has taken yet.
    pub(crate) events: Vec<Event>,
    /// What the commands under way wait for.
    pub(crate) stays: Stays,
    /// When the last map flush beside commands began, as far as somebody watched.
    pub(crate) flush_began: SimTime,
}

/// What is noted for reports is no part of the device's state.
#[cfg(feature = "explore")]
impl std::hash::Hash for Watch {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
