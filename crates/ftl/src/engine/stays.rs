//! Which stay each command is in, as the queues and jobs of the firmware tell: see [`crate::report::stay`].

use std::collections::VecDeque;

use ufs::Op;
use units::SimTime;

use super::state::Engine;
use super::waiting::Waiter;
use crate::core::Job;
use crate::report::stay::{Front, Stay, Stays};
use crate::report::watch::{Event, Scope, Watch, Work};
use crate::seat::Mapping;

impl<M: Mapping> Engine<M> {
    /// Notes from now on so much of what happens.
    pub fn watch(&mut self, scope: Scope) {
        let all = scope == Scope::All;
        self.core.nand.watch(scope > Scope::Nothing, all);
        let before = self.core.watch.take();
        self.core.watch = (scope > Scope::Nothing).then(|| before.unwrap_or_else(|| self.fresh_watch()));
        self.core.watch.iter_mut().for_each(|watch| watch.all = all);
    }

    fn fresh_watch(&self) -> Box<Watch> {
        let mut stays = Stays::new();
        let waiters = self.loads.active.iter().flat_map(|load| &load.waiters);
        waiters.filter_map(Waiter::tag).for_each(|tag| stays.load_begun(tag));
        for tag in self.under_way() {
            stays.set(tag, self.stay_of(tag, &stays));
        }
        Box::new(Watch { all: false, events: Vec::new(), stays, flush_began: self.core.now })
    }

    /// Tags of the commands under way.
    fn under_way(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).zip(&self.commands).filter(|(_, command)| command.active).map(|(tag, _)| tag)
    }

    /// A command may wait for something else from now on.
    #[inline(always)]
    pub(super) fn moved(&mut self, tag: u8) {
        if let Some(watch) = &mut self.core.watch {
            watch.stays.moved(tag);
        }
    }

    /// Commands that wait for a map unit move when it has been read.
    pub(super) fn waiter_moved(&mut self, waiter: &Waiter<M::Awaited>) {
        if let Some(watch) = &mut self.core.watch {
            waiter.tag().into_iter().for_each(|tag| watch.stays.load_done(tag));
            waiter.tag().or(self.ordered.front().copied()).into_iter().for_each(|tag| watch.stays.moved(tag));
        }
    }

    /// The firmware begins to work on a command.
    #[cold]
    #[inline(never)]
    pub(super) fn note_start(&mut self, tag: u8) {
        self.moved(tag);
        let work = Work::Command(self.commands[usize::from(tag)].op);
        self.core.note_work(work, self.core.now, self.thread_until);
    }

    /// The response of a command leaves at this time.
    #[cold]
    #[inline(never)]
    pub(super) fn note_answered(&mut self, tag: u8, left: SimTime) {
        if let Some(watch) = &mut self.core.watch {
            watch.stays.answered(tag, self.core.now, left, &mut watch.events);
        }
    }

    /// An operation of the flash ends in the present event.
    #[cold]
    #[inline(never)]
    pub(super) fn note_operation(&mut self) {
        if let (Some(watch), Some(wait)) = (&mut self.core.watch, self.core.nand.last_wait()) {
            watch.stays.operation = Some(*wait);
        }
    }

    /// Notes what commands wait for until the next event.
    #[cold]
    #[inline(never)]
    pub(super) fn update_stays(&mut self) {
        let Some(mut watch) = self.core.watch.take() else { return };
        let Watch { stays, events, .. } = &mut *watch;
        self.note_moved(stays, events);
        // What follows is not the work of the operation.
        stays.operation = None;
        if !self.incoming.is_empty() || !self.ordered.is_empty() {
            self.note_front(stays, events);
        }
        debug_assert!(self.stays_hold(stays), "a command has moved, and nobody has said so");
        self.core.watch = Some(watch);
    }

    /// Commands wait for the front end: notes what has become of it.
    #[inline(never)]
    fn note_front(&self, stays: &mut Stays, events: &mut Vec<Event>) {
        let (job, next) = (self.core.exclusive_job().map(Work::from), self.ordered.front().copied());
        let front = Front { job, next, loads: next.is_some() && self.lookups.write_loading };
        if stays.front == front {
            return;
        }
        let before = std::mem::replace(&mut stays.front, front);
        if before.job != front.job {
            stays.moved.extend(self.incoming.iter().chain(&self.ordered));
        } else {
            stays.moved.extend([before.next, front.next].into_iter().flatten());
        }
        self.note_moved(stays, events);
    }

    #[inline]
    fn note_moved(&self, stays: &mut Stays, events: &mut Vec<Event>) {
        while let Some(tag) = stays.moved.pop() {
            if self.commands[usize::from(tag)].active {
                stays.note(tag, self.stay_of(tag, stays), self.core.now, events);
            }
        }
    }

    fn stays_hold(&self, stays: &Stays) -> bool {
        self.under_way().all(|tag| stays.now(tag) == self.stay_of(tag, stays))
    }

    /// What a command waits for. Each kind of command can be in some of the queues only.
    ///
    /// Not inlined, or all queues are looked up at the end of each event, whether or not a command has moved.
    #[inline(never)]
    fn stay_of(&self, tag: u8, stays: &Stays) -> Stay {
        if has(&self.incoming, tag) {
            return self.held_by().unwrap_or(Stay::Queue);
        }
        match self.commands[usize::from(tag)].op {
            Op::Read { .. } | Op::HpbRead { .. } | Op::MappedRead { .. } => self.stay_of_read(tag, stays),
            Op::Write { .. } | Op::Flush | Op::Unmap { .. } => self.stay_of_ordered(tag),
            _ if self.waiting_metadata.contains(&tag) || self.loads.group_queue.contains(&tag) => Stay::Sram,
            _ if stays.loads(tag) => Stay::MapRead,
            Op::SegmentWrite { .. } => Stay::Program,
            _ => Stay::FlashRead,
        }
    }

    fn stay_of_read(&self, tag: u8, stays: &Stays) -> Stay {
        if self.waiting_reads.iter().any(|read| read.tag == tag) {
            Stay::Sram
        } else if self.lookups.reads.iter().any(|&(reader, _)| reader == tag) || stays.loads(tag) {
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
        self.core.exclusive_job().map(|job| match job {
            Job::MapFlush => Stay::MapFlush,
            Job::Gc => Stay::Gc,
            Job::MetaGc => Stay::MetaGc,
            Job::Recovery => Stay::Recovery,
        })
    }
}

/// Whether a tag is in a queue. Most queues are empty whenever somebody asks, or the tag has just been added.
#[inline]
fn has(queue: &VecDeque<u8>, tag: u8) -> bool {
    !queue.is_empty() && (queue.back() == Some(&tag) || queue.iter().any(|&other| other == tag))
}
