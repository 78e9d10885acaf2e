//! The slots of the transfer request list, as far as the medium is concerned.

use crate::registers::SLOTS;

/// What a slot is doing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Slot {
    /// Nothing in the medium.
    #[default]
    Free,
    /// Its command is in the medium.
    AtWork,
    /// Its command is in the medium, and nobody waits for the answer any more.
    GivenUp {
        /// The next command waits for the slot.
        next_waits: bool,
    },
}

/// All slots.
#[derive(Clone, Default, Debug)]
pub struct Slots([Slot; SLOTS as usize]);

impl Slots {
    /// The state of one.
    pub fn get(&self, slot: u8) -> Slot {
        self.0[usize::from(slot)]
    }

    /// Changes one.
    pub fn set(&mut self, slot: u8, state: Slot) {
        self.0[usize::from(slot)] = state;
    }

    /// The command of a slot is given up. True if it was at work.
    pub fn give_up(&mut self, slot: u8) -> bool {
        match self.get(slot) {
            Slot::AtWork => {
                self.set(slot, Slot::GivenUp { next_waits: false });
                true
            }
            Slot::GivenUp { .. } => {
                self.set(slot, Slot::GivenUp { next_waits: false });
                false
            }
            Slot::Free => false,
        }
    }
}
