//! Requests of the block layer (HP-UFS Sec. III-B, III-C).

use ufs::Op;
use units::{Lpa, Ppa, SegmentId};

use super::segment_cache::{Lookup, SlotIndex};
use super::state::HpUfs;
use crate::booster::seat::{Step, plain};
use crate::request::Part;

impl HpUfs {
    /// Sec. III-C. Sends the run of consecutive physical addresses at the start of the part, if its segment is cached.
    pub(super) fn plan_read(&mut self, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        let segment = part.lpa.segment();
        self.note_use(part.app, segment, true);
        let lookup = self.cache.lookup(segment);
        if lookup == Lookup::Absent {
            self.want(segment);
        }
        self.want_rest(part.lpa, len);
        if !part.counted {
            part.counted = true;
            match lookup {
                Lookup::Cached(_) => self.usage.hits += 1,
                _ => self.usage.misses += 1,
            }
        }
        let Lookup::Cached(slot) = lookup else {
            self.wants.park(segment, *part);
            return Step::Park;
        };
        self.cache.touch(slot);
        let (units, ppa) = self.run(slot, part.lpa, len);
        self.stats.mapped_reads += 1;
        let op = Op::MappedRead { lpa: part.lpa, len: units, ppa };
        if units == part.len || part.lpa.offset(units).segment() != segment {
            self.leave_segment(part, slot);
        }
        Step::Send { op, units }
    }

    /// Requests loads of all segments of a range except the first, so that they are loading when the part needs them.
    fn want_rest(&mut self, lpa: Lpa, len: u32) {
        let last = lpa.offset(len - 1).segment();
        for segment in lpa.segment().0 + 1..=last.0 {
            if self.cache.lookup(SegmentId(segment)) == Lookup::Absent {
                self.want(SegmentId(segment));
            }
        }
    }

    fn leave_segment(&mut self, part: &mut Part, slot: SlotIndex) {
        part.counted = false;
        if std::mem::take(&mut part.pinned) {
            self.cache.unpin(slot);
            self.pending.work = true;
        }
    }

    /// The run at the start of a range: its length, and its place on flash.
    fn run(&self, mut slot: SlotIndex, lpa: Lpa, len: u32) -> (u32, Option<Ppa>) {
        let first = self.cache.entry(slot, lpa);
        let mut units = 1;
        while units < len {
            let next = lpa.offset(units);
            if next.slot() == 0 {
                let Lookup::Cached(following) = self.cache.lookup(next.segment()) else { break };
                slot = following;
            }
            let expected = if first == 0 { 0 } else { first + units };
            if self.cache.entry(slot, next) != expected {
                break;
            }
            units += 1;
        }
        (units, Ppa::unpack(first))
    }

    /// Sec. III-B. A write or unmap needs no address, but its change will need the segment. So the segment is fetched
    /// first, and the command does not wait for it.
    #[inline]
    pub(super) fn plan_change(&mut self, part: &mut Part, max_units: u32) -> Step {
        let len = part.len.min(max_units);
        let mut fetch = false;
        for segment in part.lpa.segment().0..=part.lpa.offset(len - 1).segment().0 {
            fetch |= self.use_for_change(SegmentId(segment), part);
        }
        if fetch {
            part.counted = true;
            return Step::InternalFirst;
        }
        part.counted = false;
        plain(part, max_units)
    }

    /// Notes the use of a segment by a write or unmap. True if a fetch of the segment has just been queued.
    #[inline]
    fn use_for_change(&mut self, segment: SegmentId, part: &Part) -> bool {
        self.note_use(part.app, segment, false);
        let lookup = self.cache.lookup(segment);
        if !part.counted {
            match lookup {
                Lookup::Absent => self.stats.write_misses += 1,
                _ => self.stats.write_hits += 1,
            }
        }
        match lookup {
            Lookup::Absent => self.want(segment),
            Lookup::Loading => false,
            Lookup::Cached(slot) => {
                self.cache.touch(slot);
                false
            }
        }
    }
}
