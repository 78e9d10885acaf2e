//! What flash and firmware are busy with: see [`crate::activity`].

use ufs::Tag;
use units::SimTime;

use super::state::Engine;
use super::waiting::Waiter;
use crate::core::Job;
use crate::core::ops::Purpose;
use crate::report::activity::{Activity, Levels, Origin, Work};
use crate::seat::Mapping;
use crate::sram::pool::Owner;

impl<M: Mapping> Engine<M> {
    /// What goes on at `now`, as if it ended then.
    pub fn activity_under_way(&self, now: SimTime) -> Vec<Activity> {
        let job = self.core.job.map(|job| (job.into(), self.core.job_began));
        let beside = self.core.flushing.then_some((Work::FlushBeside, self.core.activities.flush_began));
        let firmware = job.into_iter().chain(beside);
        let flash = self.core.nand.usage_under_way(now).into_iter();
        let flash = flash.map(|used| (Work::Flash(used.resource, used.op, self.origins(used.op.token)), used.began));
        flash.chain(firmware).map(|(work, began)| Activity { work, began, ended: now }).collect()
    }

    /// Notes the uses of flash that an event has ended, before the firmware forgets what they were for.
    #[inline(never)]
    pub(super) fn note_flash(&mut self) {
        let used: Vec<_> = self.core.nand.take_usage().collect();
        for nand::Usage { resource, op, began, ended } in used {
            let origins = self.origins(op.token);
            self.core.activities.note(Work::Flash(resource, op, origins), began, ended);
        }
    }

    /// The requests that an operation is for; none if it is the firmware's own.
    fn origins(&self, token: u32) -> Vec<Origin> {
        let command = |tag| Origin::Command(Tag(tag));
        let mut origins = match self.core.ops.purpose(token) {
            Purpose::HostRead { tag, .. } => vec![command(tag)],
            Purpose::HostProgram { n, .. } => {
                let stamp = |i| self.core.buffer.unit(self.core.ops.buf(token, i)).1;
                (0..n).map(|i| Origin::Write(stamp(i))).collect()
            }
            Purpose::SegmentLoad { units } => {
                let waiters =
                    self.loads.active.iter().filter(|load| load.units == units).flat_map(|load| &load.waiters);
                waiters.filter_map(Waiter::tag).map(command).collect()
            }
            _ => Vec::new(),
        };
        origins.dedup();
        origins
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
