//! Commands of a host outside enter the engine, and leave it.

use ufs::{BoosterControl, Command, Op};
use units::SimTime;

use crate::ask::Ask;
use crate::engine::Engine;
use crate::outside::{Relayed, TAGS};

impl Engine {
    /// A command of a host outside leaves it at a time. `data` are the bytes of a write. Its tag must be below 32, and
    /// free: its end has been taken out of [`Engine::relayed`].
    ///
    /// # Panics
    /// If the engine has a driver of its own or the tag is wrong; see also [`Engine::step`].
    pub fn relay(&mut self, at: SimTime, command: Command, data: Vec<u8>) {
        assert!(usize::from(command.tag.0) < TAGS, "{command:?}: UFS has 32 tags");
        match ask_of(&command, data) {
            Some(ask) => self.enter_ask(at, u64::from(command.tag.0), ask, Some(command)),
            None => {
                self.arrive(at);
                let stack = self.stack();
                stack.driver.relay_command(stack.now(), None, command);
                self.host_turn();
            }
        }
    }

    /// The host outside controls WriteBooster at a time. Nothing happens without it.
    pub fn control_booster(&mut self, at: SimTime, control: BoosterControl) {
        if self.stack().device.booster().is_none() {
            return;
        }
        self.arrive(at);
        let stack = self.stack();
        stack.device.control_booster(stack.now(), control);
        stack.schedule_device();
    }

    /// The next command from outside that has ended.
    pub fn relayed(&mut self) -> Option<Relayed> {
        self.outside.as_mut()?.next()
    }
}

/// The request that a command from outside stands for; `None` for one that moves or orders no data of the user.
fn ask_of(command: &Command, data: Vec<u8>) -> Option<Ask> {
    match command.op {
        Op::Read { lpa, len } | Op::HpbRead { lpa, len, .. } | Op::MappedRead { lpa, len, .. } => {
            Some(Ask::Read { first: lpa.0, len })
        }
        Op::Write { lpa, fua, .. } => Some(Ask::Write { first: lpa.0, data, fua }),
        Op::Unmap { lpa, len } => Some(Ask::Trim { first: lpa.0, len, fua: false }),
        Op::Flush => Some(Ask::Flush),
        _ => None,
    }
}
