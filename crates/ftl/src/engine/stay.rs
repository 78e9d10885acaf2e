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
use units::SimTime;

use crate::core::Job;
use crate::engine::state::Translation;

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

/// The end of a part of a way: what it was, as a number, and until when. The numbers of stays are the first ones; the
/// others are for those who follow a request outside of the device.
///
/// One word, because a log of requests has some ten of them for each of many million requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u64);

impl Mark {
    /// Numbers of parts. The other bits are enough for nine years.
    pub const PARTS: usize = 1 << Mark::PART_BITS;
    const PART_BITS: u32 = 6;

    /// The part of this number lasted until `at`.
    #[inline]
    pub fn new(part: usize, at: SimTime) -> Mark {
        debug_assert!(part < Mark::PARTS && at.0 >> (u64::BITS - Mark::PART_BITS) == 0, "part {part} until {at:?}");
        Mark(at.0 << Mark::PART_BITS | part as u64)
    }

    /// The stay lasted until `at`.
    #[inline]
    pub fn of(stay: Stay, at: SimTime) -> Mark {
        Mark::new(stay as usize, at)
    }

    /// Number of the part.
    #[inline]
    pub fn part(self) -> usize {
        self.0 as usize % Mark::PARTS
    }

    /// Its end.
    #[inline]
    pub fn at(self) -> SimTime {
        SimTime(self.0 >> Mark::PART_BITS)
    }
}

/// What there is to tell of a command.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// How its units were translated.
    pub translation: Translation,
    /// What it has waited for, in order, with the end of each stay; nothing without
    /// [`Device::note_stays`](crate::Device::note_stays).
    pub stays: &'a [Mark],
}

/// The state of the front end that many commands may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Front {
    /// What holds it.
    pub job: Option<Job>,
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
    /// By tag.
    courses: Box<[Course; TAGS]>,
    /// Commands that may have got to another stay in the present event.
    pub(crate) moved: Vec<u8>,
    /// Other commands than those of `moved` change their stay only when this does.
    pub(crate) front: Front,
    /// The wait for its die of the flash operation that ends in the present event; `None` if it had none.
    pub(crate) operation: Option<Wait>,
}

/// What one command waits for.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
struct Course {
    now: Stay,
    /// Loads of map units that it waits for.
    loads: u32,
    /// What it has waited for before, with the end of each stay.
    ended: Vec<Mark>,
}

impl Stays {
    /// Nothing under way.
    pub fn new() -> Stays {
        let course = |_| Course { now: Stay::Queue, loads: 0, ended: Vec::new() };
        let courses = Box::new(std::array::from_fn(course));
        Stays { courses, moved: Vec::new(), front: Front::default(), operation: None }
    }

    /// A command has come.
    #[inline(never)]
    pub fn begin(&mut self, tag: u8) {
        self.moved.push(tag);
        let course = &mut self.courses[usize::from(tag)];
        course.now = Stay::Queue;
        course.ended.clear();
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
        self.courses[usize::from(tag)].now
    }

    /// The command of this tag waits for one more load of a map unit.
    pub fn load_begun(&mut self, tag: u8) {
        self.courses[usize::from(tag)].loads += 1;
    }

    /// One of the loads that the command of this tag waits for is done.
    pub fn load_done(&mut self, tag: u8) {
        self.courses[usize::from(tag)].loads -= 1;
    }

    /// True if a command waits for a load of a map unit.
    pub fn loads(&self, tag: u8) -> bool {
        self.courses[usize::from(tag)].loads > 0
    }

    /// From `time` on a command waits for this. Where it goes on to wait for flash, it waits for another operation.
    pub fn note(&mut self, tag: u8, stay: Stay, time: SimTime) {
        let before = std::mem::replace(&mut self.courses[usize::from(tag)].now, stay);
        if before != stay || self.operation.is_some() && stay.is_for_flash() {
            self.end(tag, before, time);
        }
    }

    /// A command is answered at `time`, and its response leaves at `left`.
    #[inline(never)]
    pub fn answered(&mut self, tag: u8, time: SimTime, left: SimTime) {
        self.end(tag, self.now(tag), time);
        self.courses[usize::from(tag)].ended.push(Mark::of(Stay::Firmware, left));
    }

    #[inline]
    fn end(&mut self, tag: u8, stay: Stay, time: SimTime) {
        if self.operation.is_some() && stay.is_for_flash() {
            self.end_before_operation(tag, stay);
        }
        self.courses[usize::from(tag)].ended.push(Mark::of(stay, time));
    }

    /// Ends a stay when the operation was submitted that ends in the present event, and adds what that has waited for.
    #[inline(never)]
    fn end_before_operation(&mut self, tag: u8, stay: Stay) {
        let Some(wait) = &self.operation else { return };
        let ended = &mut self.courses[usize::from(tag)].ended;
        let mut until = wait.submitted;
        ended.push(Mark::of(stay, until));
        for (cause, time) in wait.causes() {
            until = until + time;
            ended.push(Mark::of(Stay::behind(cause), until));
        }
    }

    /// What a command has waited for, in order, with the end of each stay. A stay whose end does not lie behind the
    /// end before has no length.
    pub fn of(&self, tag: u8) -> &[Mark] {
        &self.courses[usize::from(tag)].ended
    }
}

/// What is noted for reports is no part of the device's state.
#[cfg(feature = "explore")]
impl std::hash::Hash for Stays {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
