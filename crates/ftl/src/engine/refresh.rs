//! Refresh: a superblock with a block that was read too often is copied elsewhere and erased, as a victim of GC.

use units::Seq;

use super::state::Engine;
use crate::seat::{HostRole, Mapping};
use crate::space::gc::Reason;

/// When the superblock that is due could not be collected: the next change, and the map flushes so far. Before one of
/// both is another, nothing is different.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub(super) struct Refresh {
    blocked: Option<(Seq, u64)>,
    /// The next change when a map flush was asked for.
    asked: Option<Seq>,
}

impl<M: Mapping> Engine<M> {
    /// Begins a step of a refresh that is due, or of the victim before it. True if it has begun. Refresh frees nothing,
    /// so it leaves half of the reserve, as wear levelling does.
    pub(super) fn begin_refresh(&mut self) -> bool {
        if self.core.disturb.is_none() {
            return false;
        }
        let (free, now) = (self.core.blocks.free(), (self.core.next_seq(), self.core.stats.map_flushes));
        let under_way = self.gc.victim.as_ref().is_some_and(|victim| victim.refresh);
        let wanted = under_way || self.core.refresh_due().is_some() && self.refresh.blocked != Some(now);
        let may = free > self.core.cfg.gc.reserve / 2 && !self.core.is_read_only();
        if !wanted || !may || !self.map.gc_ready(&self.core) {
            return false;
        }
        if self.begin_due_gc_step(free, Reason::Refresh) {
            return true;
        }
        // A scheme that has asked the host for the superblock goes on when that has answered.
        if self.gc.victim.is_some() || M::HOST == HostRole::KeepsMapping {
            return false;
        }
        self.refresh.blocked = Some(now);
        // The log may still name it; once for each change.
        self.refresh.asked != Some(now.0) && {
            self.refresh.asked = Some(now.0);
            self.wants_flush_for_victim()
        }
    }
}
