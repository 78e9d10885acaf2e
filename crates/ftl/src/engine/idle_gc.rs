//! GC in idle time: steps for which no write pays.

use units::SimTime;

use super::state::Engine;
use crate::config::IdleGc;
use crate::core::DeviceEvent;
use crate::seat::{HostRole, Mapping};

/// Since when the device has been without requests.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub(super) struct IdleTime {
    /// Requests of the host under way; commands of a mapping scheme's own protocol do not count.
    requests: u32,
    since: Option<SimTime>,
    /// The device will be woken when it has been idle for long enough.
    wake: bool,
}

impl IdleTime {
    /// A command has arrived.
    #[inline(always)]
    pub(super) fn arrived(&mut self, is_request: bool) {
        self.requests += u32::from(is_request);
    }

    /// A command has been answered.
    #[inline(always)]
    pub(super) fn answered(&mut self, is_request: bool) {
        self.requests -= u32::from(is_request);
    }

    /// The wake has come.
    pub(super) fn woken(&mut self) {
        self.wake = false;
    }
}

impl<M: Mapping> Engine<M> {
    /// Begins a GC step if the device has been idle for long enough and wants more free superblocks. True if it has
    /// begun.
    #[inline(always)]
    pub(super) fn begin_idle_gc(&mut self) -> bool {
        match self.core.cfg.gc.idle {
            Some(idle) => self.begin_gc_if_idle(idle),
            None => false,
        }
    }

    #[inline(never)]
    fn begin_gc_if_idle(&mut self, idle: IdleGc) -> bool {
        if self.idle_time.requests > 0 || self.core.buffer.held() > 0 {
            self.idle_time.since = None;
            return false;
        }
        let due = *self.idle_time.since.get_or_insert(self.core.now) + idle.after;
        let free = self.core.blocks.free();
        if self.gc.victim.is_some() {
            self.core.idle_gc_is_futile |= !self.is_worth(idle);
        }
        if free >= idle.until || self.core.idle_gc_is_futile {
            return false;
        }
        if self.core.now < due {
            if !self.idle_time.wake {
                self.idle_time.wake = true;
                self.core.effects.wakes.push((due, DeviceEvent::IdleGc));
            }
            return false;
        }
        if !self.map.gc_ready(&self.core) {
            return false;
        }
        let begun = self.begin_due_gc_step(free, Some(idle));
        self.core.stats.gc_idle_steps += u64::from(begun);
        // A scheme that has asked the host for a victim goes on when that has answered.
        self.core.idle_gc_is_futile |= !begun && M::HOST != HostRole::KeepsMapping;
        begun
    }
}
