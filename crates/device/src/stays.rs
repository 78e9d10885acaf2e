//! What commands wait for inside the device, for reports. No firmware has this; a host can not ask for it.
//!
//! Each command in the device is in one [`Stay`] at any time, and its stays follow each other without a gap. Which one
//! it is in follows from the queues and jobs of the firmware whenever time goes on (`engine/stays.rs`). A command of
//! many units may wait for several things at once; it counts as waiting for the first of them in the order of `Stay`.

use units::SimTime;

/// What a command waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stay {
    /// The firmware thread, which works on commands that came before.
    Queue,
    /// The front end, which a step of GC holds, of metadata too.
    Gc,
    /// The front end, which a map flush holds.
    MapFlush,
    /// The mapping, which is rebuilt after a power cut.
    Recovery,
    /// Room in SRAM, or its turn: writes are accepted in order.
    Sram,
    /// A map unit that is read from flash, or lookups that come before.
    MapRead,
    /// Reads of its pages: the dies' turn and the reads.
    FlashRead,
    /// Programs of its pages, or of those that it flushes.
    Program,
    /// The firmware thread, which works on the command.
    Firmware,
}

/// The stays of the commands under way, by tag.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Stays {
    /// Tags of commands in the device.
    under_way: Vec<u8>,
    /// What each of them waits for now.
    now: [Stay; TAGS],
    /// What each has waited for before, with the end of each stay.
    ended: Vec<Vec<(Stay, SimTime)>>,
}

/// Numbers that a tag may have.
const TAGS: usize = 1 << u8::BITS;

impl Stays {
    /// Nothing under way.
    pub fn new() -> Stays {
        Stays { under_way: Vec::new(), now: [Stay::Queue; TAGS], ended: vec![Vec::new(); TAGS] }
    }

    /// A command has come.
    pub fn begin(&mut self, tag: u8) {
        self.under_way.push(tag);
        self.now[usize::from(tag)] = Stay::Queue;
        self.ended[usize::from(tag)].clear();
    }

    /// Tags of commands in the device.
    pub fn under_way(&self) -> &[u8] {
        &self.under_way
    }

    /// From `time` on a command waits for this.
    pub fn note(&mut self, tag: u8, stay: Stay, time: SimTime) {
        let before = std::mem::replace(&mut self.now[usize::from(tag)], stay);
        if before != stay {
            self.end(tag, before, time);
        }
    }

    /// A command is answered at `time`, and its response leaves at `left`.
    pub fn answered(&mut self, tag: u8, time: SimTime, left: SimTime) {
        self.end(tag, self.now[usize::from(tag)], time);
        self.end(tag, Stay::Firmware, left);
        self.under_way.retain(|&other| other != tag);
    }

    fn end(&mut self, tag: u8, stay: Stay, time: SimTime) {
        self.ended[usize::from(tag)].push((stay, time));
    }

    /// What a command has waited for, in order, with the end of each stay. They may have no length.
    pub fn of(&self, tag: u8) -> &[(Stay, SimTime)] {
        &self.ended[usize::from(tag)]
    }
}

/// What is noted for reports is no part of the device's state.
#[cfg(feature = "explore")]
impl std::hash::Hash for Stays {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}
