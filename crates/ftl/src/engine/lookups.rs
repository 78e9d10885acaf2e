//! Lookups one after another, for mapping schemes with [`Translate::ON_DEMAND`](crate::seat::Translate::ON_DEMAND).
//!
//! One firmware thread translates page by page: it makes room in the mapping cache, loads the entry, and only then
//! looks the next page up (MAP+ Sec. IV-A, Fig. 1). Flash reads of data whose page is known run meanwhile.

use ufs::LpaRun;
use units::MapUnit;

use super::state::Engine;
use super::waiting::Run;
use crate::core::{DeviceEvent, Job};
use crate::seat::{Admission, HostSays, Mapping, Resolved};

impl<M: Mapping> Engine<M> {
    /// Continues the lookups of the reads that have started, in order.
    pub(super) fn look_up(&mut self) {
        while M::ON_DEMAND && !self.lookups.read_loading {
            let Some(&(tag, next)) = self.lookups.reads.front() else { return };
            let len = self.commands[usize::from(tag)].contents.len() as u32;
            let next = self.look_up_units(tag, next, len);
            if next < len {
                self.lookups.reads[0].1 = next;
                if !self.lookups.read_loading {
                    return;
                }
            } else {
                self.lookups.reads.pop_front();
                self.moved(tag);
                self.read_part_done(tag);
            }
        }
    }

    /// Looks units of a read up until one has to wait. Gives the first unit that has not been looked up.
    fn look_up_units(&mut self, tag: u8, first: u32, len: u32) -> u32 {
        let mut run: Option<Run> = None;
        let mut i = first;
        self.map.request(LpaRun { lpa: self.read_lpa(tag, first), len: len - first });
        while i < len && !self.lookups.read_loading {
            let lpa = self.read_lpa(tag, i);
            if let Some(stamp) = self.core.buffer.get(lpa) {
                self.read_from_buffer(tag, i, lpa, stamp);
                i += 1;
                continue;
            }
            match self.map.resolve(&mut self.core, lpa, HostSays::Nothing) {
                Resolved::Page { ppa, .. } => match &mut run {
                    Some(r) if self.continues(r, i, ppa) => r.n += 1,
                    _ => {
                        self.read_pending_run(tag, &mut run);
                        run = Some(Run { first: i, ppa, n: 1 });
                    }
                },
                Resolved::Unmapped => self.core.stats.unmapped_units_read += 1,
                Resolved::Load(unit) => {
                    self.lookups.read_loading = true;
                    self.load_for_unit(unit, tag, i);
                }
                Resolved::NoRoom => break,
                Resolved::Unknown => unreachable!("a device with a mapping of its own knows it"),
            }
            i += 1;
        }
        self.read_pending_run(tag, &mut run);
        i
    }

    /// Number of the `most` first units of `rest` that may be accepted now, and the map unit that the next one needs.
    pub(super) fn admit(&mut self, rest: LpaRun, most: u32) -> (u32, Option<MapUnit>) {
        self.map.request(rest);
        for i in 0..most {
            if self.lookups.write_loading {
                return (i, None);
            }
            match self.map.admit(&mut self.core, rest.lpa.offset(i)) {
                Admission::Ready => {}
                Admission::Load(unit) => {
                    self.lookups.write_loading = true;
                    return (i, Some(unit));
                }
                Admission::NoRoom => return (i, None),
            }
        }
        (most, None)
    }

    /// Begins an idle flush after some time without commands. It writes changed entries that would have to be written
    /// later (MAP+ Sec. IV-B: "flushed as many dirty mapping entries as possible in background"). True if a job has
    /// begun.
    pub(super) fn begin_idle_flush(&mut self) -> bool {
        let Some(wait) = self.map.idle_flush_after().filter(|_| M::ON_DEMAND && self.is_quiet()) else {
            self.lookups.quiet_since = None;
            return false;
        };
        let due = *self.lookups.quiet_since.get_or_insert(self.core.now) + wait;
        if self.core.now < due {
            if !self.lookups.quiet_wake {
                self.lookups.quiet_wake = true;
                self.core.effects.wakes.push((due, DeviceEvent::Quiet));
            }
            return false;
        }
        self.core.begin_job(Job::MapFlush);
        self.core.stats.map_flushes += 1;
        self.map.begin_idle_flush();
        true
    }

    fn is_quiet(&self) -> bool {
        let commands = [&self.incoming, &self.ordered, &self.waiting_metadata].iter().all(|queue| queue.is_empty());
        let waiting = !self.lookups.reads.is_empty() || !self.waiting_reads.is_empty() || !self.flushes.is_empty();
        commands && !waiting && self.core.buffer.held() == 0 && self.core.nand.idle()
    }
}
