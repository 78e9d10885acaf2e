//! What flash and firmware are busy with, and what is in SRAM, for reports. No firmware has this; a host can not ask
//! for it. A device that nobody asks notes nothing.
//!
//! - **Activity**: the use of a die, a channel or the firmware thread, or an exclusive job, from its beginning to its
//!   end. Those of one die, channel or thread do not overlap; nor do jobs.
//! - **Origin**: a request that a flash operation is for.
//! - **Levels**: how full the firmware's queues and buffers are at a moment.

use ufs::{Op, Tag};
use units::SimTime;

use crate::sram::pool::OWNERS;

/// Something that takes time, with its beginning and its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Activity {
    /// What it is.
    pub work: Work,
    /// When it began.
    pub began: SimTime,
    /// When it ended, or will end; or until when it was seen.
    pub ended: SimTime,
}

/// What a part of the device is busy with.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// A die or a channel, with an operation for these requests.
    Flash(nand::Resource, nand::Op, Vec<Origin>),
    /// The firmware thread, with a command.
    Command(Op),
    /// The firmware thread, with seals of entries.
    Seals,
    /// Everything, with a map flush.
    MapFlush,
    /// The same beside commands, which go on.
    FlushBeside,
    /// Everything, with a step of GC.
    Gc,
    /// Everything, with the collection of metadata superblocks.
    MetaGc,
    /// Everything, with the mapping after a power cut.
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

/// Activities that have ended; they are noted if somebody wants to know.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Default, Debug)]
pub struct Activities {
    ended: Option<Vec<Activity>>,
    /// When the last map flush beside commands began.
    pub flush_began: SimTime,
}

impl Activities {
    /// Notes activities from now on, or no more.
    pub fn wanted(&mut self, wanted: bool) {
        self.ended = wanted.then(Vec::new);
    }

    /// True if activities are noted.
    #[inline]
    pub fn are_wanted(&self) -> bool {
        self.ended.is_some()
    }

    /// Notes an activity, if that is wanted.
    #[inline]
    pub fn note(&mut self, work: Work, began: SimTime, ended: SimTime) {
        if let Some(list) = &mut self.ended {
            list.push(Activity { work, began, ended });
        }
    }

    /// Takes out what has been noted.
    pub fn take(&mut self, into: &mut Vec<Activity>) {
        self.ended.iter_mut().for_each(|list| into.append(list));
    }
}

/// What is noted for reports is no part of the device's state.
#[cfg(feature = "explore")]
impl std::hash::Hash for Activities {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
