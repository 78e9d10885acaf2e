//! What flash and firmware are busy with: see [`crate::report::watch`].

use ufs::Tag;
use units::SimTime;

use super::state::Engine;
use super::waiting::Waiter;
use crate::core::Job;
use crate::core::ops::Purpose;
use crate::report::watch::{Event, Levels, Origin, Work};
use crate::seat::Mapping;
use crate::sram::pool::Owner;

impl<M: Mapping> Engine<M> {
    /// What goes on, as if it ended at `now`; see [`Device::under_way`](crate::Device::under_way).
    pub fn events_under_way(&self, now: SimTime) -> Vec<Event> {
        let mut events = Vec::new();
        self.core.nand.usage_under_way(now).into_iter().for_each(|used| self.tell_use(used, &mut events));
        let job = self.core.job.map(|job| (job.into(), self.core.job_began));
        let beside = self.core.flushing.then_some((Work::FlushBeside, self.flush_began()));
        let firmware = job.into_iter().chain(beside);
        events.extend(firmware.map(|(work, began)| Event::Firmware { work, began, ended: now }));
        events
    }

    /// When the map flush beside commands began, as far as somebody watched.
    pub(super) fn flush_began(&self) -> SimTime {
        self.core.watch.as_ref().map_or(self.core.now, |watch| watch.flush_began)
    }

    /// Notes the uses of flash that an event has ended, before the firmware forgets what they were for.
    #[inline(never)]
    pub(super) fn note_flash(&mut self) {
        let Some(mut watch) = self.core.watch.take() else { return };
        while let Some(used) = self.core.nand.take_usage() {
            self.tell_use(used, &mut watch.events);
        }
        self.core.watch = Some(watch);
    }

    /// Tells a use, and of a die also the requests that its operation is for; none if it is the firmware's own.
    fn tell_use(&self, used: nand::Usage, events: &mut Vec<Event>) {
        events.push(Event::Flash(used));
        let nand::Resource::Die(_) = used.resource else { return };
        let mut tell = |origin| {
            // Units of one write come after each other.
            if events.last() != Some(&Event::For(origin)) {
                events.push(Event::For(origin));
            }
        };
        let token = used.op.token;
        match self.core.ops.purpose(token) {
            Purpose::HostRead { tag, .. } => tell(Origin::Command(Tag(tag))),
            Purpose::HostProgram { n, .. } => {
                let stamp = |i| self.core.buffer.unit(self.core.ops.buf(token, i)).1;
                (0..n).for_each(|i| tell(Origin::Write(stamp(i))));
            }
            Purpose::SegmentLoad { units } => {
                let loads = self.loads.active.iter().filter(|load| load.units == units);
                let tags = loads.flat_map(|load| &load.waiters).filter_map(Waiter::tag);
                tags.for_each(|tag| tell(Origin::Command(Tag(tag))));
            }
            _ => {}
        }
    }

    /// How full queues and buffers are.
    pub fn levels(&self) -> Levels {
        let owners = [Owner::Write, Owner::Read, Owner::Load, Owner::Map, Owner::Flush, Owner::Gc];
        Levels {
            sram: owners.map(|owner| self.core.sram.used(owner)),
            log: self.core.log.len() as u32,
            free_superblocks: self.core.blocks.free(),
            queued: self.incoming.len() as u32,
        }
    }
}

impl From<Job> for Work {
    fn from(job: Job) -> Work {
        match job {
            Job::MapFlush => Work::MapFlush,
            Job::Gc => Work::Gc,
            Job::MetaGc => Work::MetaGc,
            Job::Recovery => Work::Recovery,
        }
    }
}
