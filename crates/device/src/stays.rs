//! What commands wait for inside the device, for reports. No firmware has this; a host can not ask for it.
//!
//! Each command in the device is in one [`Stay`] at any time, and its stays follow each other without a gap. Which one
//! it is in follows from the queues and jobs of the firmware (`engine/stays.rs`), which say whose place has changed. A
//! command of many units may wait for several things at once; it counts as waiting for the first of them in the order
//! of `Stay`.
//!
//! A stay that waits for flash ends when an operation does. Then the flash says what this operation has waited for on
//! its die, and that part of the stay becomes [`Stay::Die`]. The causes stand there in their own order: their lengths
//! are exact, their order in time is not kept.

use nand::{Cause, Wait};
use units::{Nanos, SimTime};

/// What a command waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stay {
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
    /// A die that had other operations to do, for this cause.
    Die(Cause),
}

impl Stay {
    fn is_for_flash(self) -> bool {
        matches!(self, Stay::MapRead | Stay::FlashRead | Stay::Program)
    }
}

/// The stays of the commands under way, by tag.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Stays {
    /// What each command waits for now.
    now: [Stay; TAGS],
    /// What each has waited for before, with the end of each stay.
    ended: Vec<Vec<(Stay, SimTime)>>,
    /// Commands that may have got to another stay in the present event.
    pub(crate) moved: Vec<u8>,
    /// Who holds the front end, and the command that is accepted next, with whether it waits for a map unit. Other
    /// commands than those of `moved` change their stay only when these do.
    pub(crate) front: (Option<Stay>, Option<(u8, bool)>),
    /// When the flash operation was submitted that ends in the present event.
    pub(crate) operation: Option<SimTime>,
    /// What this operation has waited for on its die.
    behind: Vec<(Cause, Nanos)>,
}

/// Numbers that a tag may have.
const TAGS: usize = 1 << u8::BITS;

impl Stays {
    /// Nothing under way.
    pub fn new() -> Stays {
        let ended = vec![Vec::new(); TAGS];
        let (moved, behind) = (Vec::new(), Vec::new());
        Stays { now: [Stay::Queue; TAGS], ended, moved, front: (None, None), operation: None, behind }
    }

    /// A command has come.
    #[inline(never)]
    pub fn begin(&mut self, tag: u8) {
        self.moved.push(tag);
        self.now[usize::from(tag)] = Stay::Queue;
        self.ended[usize::from(tag)].clear();
    }

    /// The command of this tag goes on or begins to wait in the present event.
    #[inline(never)]
    pub fn moved(&mut self, tag: u8) {
        if self.moved.last() != Some(&tag) {
            self.moved.push(tag);
        }
    }

    /// A flash operation ends in the present event.
    pub fn operation_ended(&mut self, wait: Wait<'_>) {
        self.operation = Some(wait.submitted);
        self.behind.clear();
        if let Some(times) = wait.behind {
            let waited = Cause::ALL.into_iter().zip(times.iter().copied());
            self.behind.extend(waited.filter(|&(_, time)| time > Nanos::ZERO));
        }
    }

    /// What a command waits for now.
    pub fn now(&self, tag: u8) -> Stay {
        self.now[usize::from(tag)]
    }

    /// From `time` on a command waits for this. Where it goes on to wait for flash, it waits for another operation.
    pub fn note(&mut self, tag: u8, stay: Stay, time: SimTime) {
        let before = std::mem::replace(&mut self.now[usize::from(tag)], stay);
        if before != stay || self.operation.is_some() && stay.is_for_flash() {
            self.end(tag, before, time);
        }
    }

    /// A command is answered at `time`, and its response leaves at `left`.
    #[inline(never)]
    pub fn answered(&mut self, tag: u8, time: SimTime, left: SimTime) {
        self.end(tag, self.now[usize::from(tag)], time);
        self.ended[usize::from(tag)].push((Stay::Firmware, left));
    }

    fn end(&mut self, tag: u8, stay: Stay, time: SimTime) {
        let ended = &mut self.ended[usize::from(tag)];
        if let Some(submitted) = self.operation.filter(|_| stay.is_for_flash()) {
            ended.push((stay, submitted));
            let mut until = submitted;
            for &(cause, time) in &self.behind {
                until = until + time;
                ended.push((Stay::Die(cause), until));
            }
        }
        ended.push((stay, time));
    }

    /// What a command has waited for, in order, with the end of each stay. A stay whose end does not lie behind the
    /// end before has no length.
    pub fn of(&self, tag: u8) -> &[(Stay, SimTime)] {
        &self.ended[usize::from(tag)]
    }
}

/// What is noted for reports is no part of the device's state.
#[cfg(feature = "explore")]
impl std::hash::Hash for Stays {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
