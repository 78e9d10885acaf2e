//! GC in idle time: steps for which no write pays, for free superblocks or to fold those in SLC mode.

use ufs::BoosterControl;
use units::SimTime;

use super::state::Engine;
use crate::config::IdleGc;
use crate::core::DeviceEvent;
use crate::seat::{HostRole, Mapping};
use crate::space::gc::{Reason, Victim};

/// Since when the device has been without requests. Kept only where that matters: with `Core::has_more_occasions`.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub(super) struct IdleTime {
    /// Requests of the host under way; commands of a mapping scheme's own protocol do not count.
    requests: u32,
    since: Option<SimTime>,
    /// The earliest wake that is on its way. A later one may be, too: GC and folding wait for times of their own.
    wake: Option<SimTime>,
}

impl IdleTime {
    /// A command has arrived. GC beside commands may not have ended when it is answered.
    #[inline(always)]
    pub(super) fn arrived(&mut self, is_request: bool) {
        self.requests += u32::from(is_request);
        if is_request {
            self.since = None;
        }
    }

    /// A command has been answered.
    #[inline(always)]
    pub(super) fn answered(&mut self, is_request: bool) {
        self.requests -= u32::from(is_request);
    }

    /// A wake has come.
    pub(super) fn woken(&mut self, now: SimTime) {
        self.wake = self.wake.filter(|&due| due > now);
    }

    /// Asks for a wake, unless one comes as early: what is due then asks again for what is due later.
    fn wants(&mut self, due: SimTime) -> bool {
        let is_earlier = self.wake.is_none_or(|wake| due < wake);
        if is_earlier {
            self.wake = Some(due);
        }
        is_earlier
    }
}

impl<M: Mapping> Engine<M> {
    /// The host controls WriteBooster by a QUERY REQUEST.
    pub fn control_booster(&mut self, now: SimTime, control: BoosterControl) {
        self.core.now = now;
        self.core.control_booster(control);
        self.run_until_blocked();
        if self.core.watch.is_some() {
            self.update_stays();
        }
    }

    /// Begins a GC step if the device has been idle for long enough and wants more free superblocks, or has some in SLC
    /// mode. True if it has begun.
    pub(super) fn begin_idle_gc(&mut self) -> bool {
        if !self.core.cfg.works_in_idle_time() {
            return false;
        }
        if self.core.cfg.slc.booster.is_some() {
            let hibernates = self.hibernates();
            self.core.note_flush(hibernates);
        }
        if self.idle_time.requests > 0 || self.core.buffer.held() > 0 {
            self.idle_time.since = None;
            return false;
        }
        let since = *self.idle_time.since.get_or_insert(self.core.now);
        self.note_worthless_victim();
        self.begin_what_idle_time_is_for(since)
    }

    /// Begins what is wanted first, once the device has been idle for so long; if there is nothing to begin, what is
    /// wanted besides.
    fn begin_what_idle_time_is_for(&mut self, since: SimTime) -> bool {
        let Some((reason, after)) = self.core.idle_gc_wanted() else {
            return self.core.cfg.slc.booster.is_some()
                && M::HOST != HostRole::KeepsMapping
                && self.core.blocks.keeps_folded()
                && self.flush_map_to_fold();
        };
        let due = since + after;
        if self.core.now < due {
            if self.idle_time.wants(due) {
                self.core.effects.wakes.push((due, DeviceEvent::IdleGc));
            }
            return false;
        }
        let nothing =
            reason == Reason::Fold && M::HOST != HostRole::KeepsMapping && self.core.blocks.first_in_slc().is_none();
        if nothing || !self.map.gc_ready(&self.core) {
            return false;
        }
        let begun = self.begin_due_gc_step(self.core.blocks.free(), reason);
        self.core.stats.gc_idle_steps += u64::from(begun);
        // A scheme that has asked the host for a victim goes on when that has answered.
        if begun || M::HOST == HostRole::KeepsMapping {
            return begun;
        }
        if reason == Reason::Fold {
            return self.flush_map_to_fold();
        }
        self.core.futile.collect = true;
        self.begin_what_idle_time_is_for(since)
    }

    /// What is left of a victim that writes have paid for may not be worth idle time. It keeps nothing from being
    /// folded, unless a host names the victims: that one folds by its own policy.
    fn note_worthless_victim(&mut self) {
        if self.gc.victim.is_some() && !self.is_worth() {
            self.core.futile.collect = true;
            self.core.futile.fold |= M::HOST == HostRole::KeepsMapping;
        }
    }

    /// Nothing can be folded now, or what was folded is not free yet. Asks for a map flush if that may help. True if it
    /// can begin; one that is under way, or programs, will end and bring the firmware back here.
    fn flush_map_to_fold(&mut self) -> bool {
        if self.core.flushing || self.core.programs > 0 {
            return false;
        }
        let flushes = self.wants_flush_for_victim();
        self.core.futile.fold = !flushes;
        flushes
    }

    /// A superblock that has to be copied is no victim, perhaps because the log names it. True if a map flush can begin
    /// now.
    pub(super) fn wants_flush_for_victim(&mut self) -> bool {
        if self.core.flushing || self.core.programs > 0 {
            return false;
        }
        self.core.fold_waits = true;
        self.map.starved(&mut self.core);
        self.core.fold_waits = false;
        self.map.wants_flush(&self.core)
    }

    /// True if the link has been without requests for so long that it hibernates.
    fn hibernates(&self) -> bool {
        let after = self.core.cfg.slc.booster.and_then(|booster| booster.host.hibernates_after);
        let idle = self.idle_time.since.filter(|_| self.idle_time.requests == 0);
        after.zip(idle).is_some_and(|(after, since)| since + after <= self.core.now)
    }

    /// True if there is a victim, and it is worth idle time.
    pub(super) fn is_worth(&self) -> bool {
        self.gc.victim.as_ref().is_some_and(|victim| self.gains_enough(victim))
    }

    /// True if a victim gains enough for a step in idle time, or was not chosen for what it gains.
    pub(super) fn gains_enough(&self, victim: &Victim) -> bool {
        let gain_percent = self.core.cfg.gc.idle.map_or(IdleGc::LEAST_GAIN_PERCENT, |idle| idle.gain_percent);
        let most = self.core.layout.superblock_units() * (100 - gain_percent);
        victim.wear || self.core.blocks.slc().holds(victim.sb) || victim.valid * 100 <= most
    }
}
