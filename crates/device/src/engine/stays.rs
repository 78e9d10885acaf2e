//! Which stay each command is in, as the queues and jobs of the firmware tell: see [`crate::stays`].

use std::collections::VecDeque;

use ufs::Op;

use super::core::Job;
use super::state::Firmware;
use super::waiting::Waiter;
use crate::seat::Mapping;
use crate::stays::{Stay, Stays};

impl<M: Mapping> Firmware<M> {
    /// Notes from now on what commands wait for.
    pub fn note_stays(&mut self) {
        self.core.nand.note_waits();
        self.stays = Some(Box::new(Stays::new()));
    }

    /// A command may wait for something else from now on.
    #[inline(always)]
    pub(super) fn moved(&mut self, tag: u8) {
        if let Some(stays) = &mut self.stays {
            stays.moved(tag);
        }
    }

    /// Commands that wait for a map unit move when it has been read.
    pub(super) fn waiter_moved(&mut self, waiter: &Waiter<M::Awaited>) {
        match *waiter {
            Waiter::Unit { tag, .. } | Waiter::Command { tag, .. } => self.moved(tag),
            Waiter::Write { .. } => self.ordered.front().copied().into_iter().for_each(|tag| self.moved(tag)),
        }
    }

    /// An operation of the flash ends in the present event.
    #[inline(never)]
    pub(super) fn note_operation(&mut self) {
        if let (Some(stays), Some(wait)) = (&mut self.stays, self.core.nand.last_wait()) {
            stays.operation_ended(wait);
        }
    }

    /// Notes what commands wait for until the next event.
    #[inline(never)]
    pub(super) fn update_stays(&mut self) {
        let Some(mut stays) = self.stays.take() else { return };
        let front = (self.held_by(), self.ordered.front().map(|&tag| (tag, self.lookups.write_loading)));
        self.note_moved(&mut stays);
        // What follows is not the work of the operation.
        stays.operation = None;
        let before = std::mem::replace(&mut stays.front, front);
        if before.0 != front.0 {
            stays.moved.extend(self.incoming.iter().chain(&self.ordered));
        } else if before.1 != front.1 {
            stays.moved.extend([before.1, front.1].into_iter().flatten().map(|(tag, _)| tag));
        }
        self.note_moved(&mut stays);
        debug_assert!(self.stays_hold(&stays), "a command has moved, and nobody has said so");
        self.stays = Some(stays);
    }

    #[inline]
    fn note_moved(&self, stays: &mut Stays) {
        while let Some(tag) = stays.moved.pop() {
            if self.commands[usize::from(tag)].active {
                stays.note(tag, self.stay_of(tag), self.core.now);
            }
        }
    }

    fn stays_hold(&self, stays: &Stays) -> bool {
        let under_way = (0..=u8::MAX).zip(&self.commands).filter(|(_, command)| command.active);
        under_way.into_iter().all(|(tag, _)| stays.now(tag) == self.stay_of(tag))
    }

    /// What a command waits for. Each kind of command can be in some of the queues only.
    ///
    /// Not inlined, or all queues are looked up at the end of each event, whether or not a command has moved.
    #[inline(never)]
    fn stay_of(&self, tag: u8) -> Stay {
        if has(&self.incoming, tag) {
            return self.held_by().unwrap_or(Stay::Queue);
        }
        match self.commands[usize::from(tag)].op {
            Op::Read { .. } | Op::HpbRead { .. } | Op::MappedRead { .. } => self.stay_of_read(tag),
            Op::Write { .. } | Op::Flush | Op::Unmap { .. } => self.stay_of_ordered(tag),
            _ if self.waiting_metadata.contains(&tag) || self.loads.group_queue.contains(&tag) => Stay::Sram,
            _ if self.waits_for_load(tag) => Stay::MapRead,
            Op::SegmentWrite { .. } => Stay::Program,
            _ => Stay::FlashRead,
        }
    }

    fn stay_of_read(&self, tag: u8) -> Stay {
        if self.waiting_reads.iter().any(|read| read.tag == tag) {
            Stay::Sram
        } else if self.lookups.reads.iter().any(|&(reader, _)| reader == tag) || self.loads_for_read(tag) {
            Stay::MapRead
        } else {
            Stay::FlashRead
        }
    }

    fn stay_of_ordered(&self, tag: u8) -> Stay {
        if !has(&self.ordered, tag) {
            return Stay::Program;
        }
        let looks_up = self.lookups.write_loading && self.ordered.front() == Some(&tag);
        self.held_by().unwrap_or(if looks_up { Stay::MapRead } else { Stay::Sram })
    }

    /// The job that keeps commands from being started or accepted.
    fn held_by(&self) -> Option<Stay> {
        self.core.job.map(|job| match job {
            Job::MapFlush => Stay::MapFlush,
            Job::Gc => Stay::Gc,
            Job::MetaGc => Stay::MetaGc,
            Job::Recovery => Stay::Recovery,
        })
    }

    /// A read that has not asked for a map unit waits for none.
    fn loads_for_read(&self, tag: u8) -> bool {
        self.commands[usize::from(tag)].translation.map_reads > 0 && self.waits_for_load(tag)
    }

    fn waits_for_load(&self, tag: u8) -> bool {
        let names = |waiter: &Waiter<M::Awaited>| match *waiter {
            Waiter::Unit { tag: of, .. } | Waiter::Command { tag: of, .. } => of == tag,
            Waiter::Write { .. } => false,
        };
        self.loads.active.iter().any(|load| load.waiters.iter().any(names))
    }
}

/// Whether a tag is in a queue. Most queues are empty whenever somebody asks, or the tag has just been added.
#[inline]
fn has(queue: &VecDeque<u8>, tag: u8) -> bool {
    queue.back() == Some(&tag) || queue.len() > 1 && queue.iter().any(|&other| other == tag)
}
