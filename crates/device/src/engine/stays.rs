//! Which stay each command is in, as the queues and jobs of the firmware tell: see [`crate::stays`].

use ufs::Op;

use super::core::Job;
use super::state::Firmware;
use super::waiting::Waiter;
use crate::seat::Mapping;
use crate::stays::{Stay, Stays};

impl<M: Mapping> Firmware<M> {
    /// Notes from now on what commands wait for.
    pub fn note_stays(&mut self) {
        self.stays = Some(Box::new(Stays::new()));
    }

    /// Notes what commands wait for until the next event.
    #[inline(never)]
    pub(super) fn update_stays(&mut self) {
        let Some(mut stays) = self.stays.take() else { return };
        for place in 0..stays.under_way().len() {
            let tag = stays.under_way()[place];
            stays.note(tag, self.stay_of(tag), self.core.now);
        }
        self.stays = Some(stays);
    }

    fn stay_of(&self, tag: u8) -> Stay {
        if self.incoming.contains(&tag) {
            return self.held_by().unwrap_or(Stay::Queue);
        }
        if self.ordered.contains(&tag) {
            let first = self.ordered.front() == Some(&tag);
            let looks_up = first && self.lookups.write_loading;
            return self.held_by().unwrap_or(if looks_up { Stay::MapRead } else { Stay::Sram });
        }
        if self.waiting_metadata.contains(&tag) || self.waiting_reads.iter().any(|read| read.tag == tag) {
            return Stay::Sram;
        }
        if self.lookups.reads.iter().any(|&(reader, _)| reader == tag) || self.waits_for_load(tag) {
            return Stay::MapRead;
        }
        match self.commands[usize::from(tag)].op {
            Op::Write { .. } | Op::Flush | Op::Unmap { .. } | Op::SegmentWrite { .. } => Stay::Program,
            _ => Stay::FlashRead,
        }
    }

    /// The job that keeps commands from being started or accepted.
    fn held_by(&self) -> Option<Stay> {
        self.core.job.map(|job| match job {
            Job::MapFlush => Stay::MapFlush,
            Job::Gc | Job::MetaGc => Stay::Gc,
            Job::Recovery => Stay::Recovery,
        })
    }

    fn waits_for_load(&self, tag: u8) -> bool {
        self.loads.active.iter().flat_map(|load| &load.waiters).any(|waiter| match *waiter {
            Waiter::Unit { tag: of, .. } | Waiter::Command { tag: of, .. } => of == tag,
            Waiter::Write { .. } => false,
        })
    }
}
