//! What commands wait for inside the device, for reports. No firmware has this; a host can not ask for it.
//!
//! Each command in the device is in one [`Stay`] at any time, and its stays follow each other without a gap. Which one
//! it is in follows from the queues and jobs of the firmware (`engine/stays.rs`), which say whose place has changed. A
//! command of many units may wait for several things at once; it counts as waiting for the first of them in the order
//! of `Stay`.
//!
//! A stay that waits for flash ends when an operation does. Then the flash says what this operation has waited for on
//! its die, and that part of the stay becomes another one, that for the die. The causes stand there in their own order:
//! their lengths are exact, their order in time is not kept.

use nand::{Cause, Wait};
use ufs::Tag;
use units::SimTime;

use super::watch::{Event, Work};

/// Declares the stays, in order.
macro_rules! stays {
    ($($(#[$doc:meta])* $stay:ident,)+) => {
        /// What a command waits for. Numbers without gaps, so that tables can have a place for each.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Stay {
            $($(#[$doc])* $stay,)+
        }

        impl Stay {
            /// All stays, in order.
            pub const ALL: [Stay; [$(Stay::$stay),+].len()] = [$(Stay::$stay),+];
        }
    };
}
stays! {
    /// The firmware thread, which works on commands that came before.
    Queue,
    /// The front end, which a step of GC holds.
    Gc,
    /// The front end, which the collection of metadata holds.
    MetaGc,
    /// The front end, which a map flush holds.
    MapFlush,
    /// The mapping, which is rebuilt after a power cut.
    Recovery,
    /// Room in SRAM, or its turn: writes are accepted in order.
    Sram,
    /// A map unit that is read from flash, or lookups that come before.
    MapRead,
    /// Reads of its pages.
    FlashRead,
    /// Programs of its pages, or of those that it flushes.
    Program,
    /// The firmware thread, which works on the command.
    Firmware,
    /// A die that had other operations to do: reads of the host,
    DieHostRead,
    /// programs of what the host wrote,
    DieHostWrite,
    /// reads of the mapping,
    DieMapRead,
    /// programs of the mapping,
    DieMapWrite,
    /// operations of GC,
    DieGc,
    /// erases.
    DieErase,
}

impl Stay {
    fn is_for_flash(self) -> bool {
        matches!(self, Stay::MapRead | Stay::FlashRead | Stay::Program)
    }

    /// A die had other operations to do for this cause.
    fn behind(cause: Cause) -> Stay {
        match cause {
            Cause::HostRead => Stay::DieHostRead,
            Cause::HostWrite => Stay::DieHostWrite,
            Cause::MapRead | Cause::Recovery => Stay::DieMapRead,
            Cause::MapWrite => Stay::DieMapWrite,
            Cause::GcRead | Cause::GcWrite | Cause::ValidPageSearch => Stay::DieGc,
            Cause::Erase => Stay::DieErase,
        }
    }
}

/// The state of the front end that many commands may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Front {
    /// What holds it.
    pub job: Option<Work>,
    /// The command that is accepted next.
    pub next: Option<u8>,
    /// That command waits for a map unit.
    pub loads: bool,
}

/// Numbers that a tag may have.
const TAGS: usize = 1 << u8::BITS;

/// The stays of the commands under way, by tag.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Stays {
    /// What each waits for now.
    now: [Stay; TAGS],
    /// Loads of map units that each waits for.
    loads: [u32; TAGS],
    /// Commands that may have got to another stay in the present event.
    pub(crate) moved: Vec<u8>,
    /// Other commands than those of `moved` change their stay only when this does.
    pub(crate) front: Front,
    /// The wait for its die of the flash operation that ends in the present event; `None` if it had none.
    pub(crate) operation: Option<Wait>,
}

impl Stays {
    /// Nothing under way.
    pub fn new() -> Stays {
        let (now, loads) = ([Stay::Queue; TAGS], [0; TAGS]);
        Stays { now, loads, moved: Vec::new(), front: Front::default(), operation: None }
    }

    /// A command has come.
    #[inline(never)]
    pub fn begin(&mut self, tag: u8) {
        self.moved.push(tag);
        self.set(tag, Stay::Queue);
    }

    /// A command waits for this when watching begins.
    pub fn set(&mut self, tag: u8, stay: Stay) {
        self.now[usize::from(tag)] = stay;
    }

    /// The command of this tag goes on or begins to wait in the present event.
    #[inline(never)]
    pub fn moved(&mut self, tag: u8) {
        if self.moved.last() != Some(&tag) {
            self.moved.push(tag);
        }
    }

    /// What a command waits for now.
    pub fn now(&self, tag: u8) -> Stay {
        self.now[usize::from(tag)]
    }

    /// The command of this tag waits for one more load of a map unit.
    pub fn load_begun(&mut self, tag: u8) {
        self.loads[usize::from(tag)] += 1;
    }

    /// One of the loads that the command of this tag waits for is done.
    pub fn load_done(&mut self, tag: u8) {
        self.loads[usize::from(tag)] -= 1;
    }

    /// True if a command waits for a load of a map unit.
    pub fn loads(&self, tag: u8) -> bool {
        self.loads[usize::from(tag)] > 0
    }

    /// From `time` on a command waits for this. Where it goes on to wait for flash, it waits for another operation.
    pub fn note(&mut self, tag: u8, stay: Stay, time: SimTime, to: &mut Vec<Event>) {
        let before = std::mem::replace(&mut self.now[usize::from(tag)], stay);
        if before != stay || self.operation.is_some() && stay.is_for_flash() {
            self.end(tag, before, time, to);
        }
    }

    /// A command is answered at `time`, and its response leaves at `left`.
    pub fn answered(&mut self, tag: u8, time: SimTime, left: SimTime, to: &mut Vec<Event>) {
        self.end(tag, self.now(tag), time, to);
        to.push(Event::Stayed { tag: Tag(tag), stay: Stay::Firmware, until: left });
    }

    #[inline]
    fn end(&mut self, tag: u8, stay: Stay, time: SimTime, to: &mut Vec<Event>) {
        if self.operation.is_some() && stay.is_for_flash() {
            self.end_before_operation(tag, stay, to);
        }
        to.push(Event::Stayed { tag: Tag(tag), stay, until: time });
    }

    /// Ends a stay when the operation was submitted that ends in the present event, and adds what that has waited for.
    #[inline(never)]
    fn end_before_operation(&mut self, tag: u8, stay: Stay, to: &mut Vec<Event>) {
        let Some(wait) = &self.operation else { return };
        let tag = Tag(tag);
        let mut until = wait.submitted;
        to.push(Event::Stayed { tag, stay, until });
        for (cause, time) in wait.causes() {
            until = until + time;
            to.push(Event::Stayed { tag, stay: Stay::behind(cause), until });
        }
    }
}
