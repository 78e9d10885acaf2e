//! Loads of map units from flash to SRAM, and the commands that wait for them.

use nand::{Cause, Completed, Priority, Work};
use ufs::{DataIn, Op};
use units::{Lpa, MapUnit, Ppa, SegmentId};

use super::state::Engine;
use super::waiting::{Load, Run, Then, Waiter};
use crate::core::ops::Purpose;
use crate::knowledge::{ExpectedSet, Loaded, LoadedSet, Sight};
use crate::seat::{LoadedFor, Mapping};
use crate::sram::pool::Owner;
use crate::table::map_units::UnitSet;

impl<M: Mapping> Engine<M> {
    pub(super) fn load_for_unit(&mut self, segment: MapUnit, tag: u8, i: u32) {
        let cmd = &mut self.commands[usize::from(tag)];
        cmd.remaining += 1;
        cmd.translation.map_reads += 1;
        self.core.stats.segment_misses += 1;
        let lpa = self.read_lpa(tag, i);
        self.core.publisher.missed(lpa);
        self.core.prefetch_entry(lpa);
        self.load(UnitSet::one(segment), Waiter::Unit { tag, i });
    }

    pub(super) fn load_for_command(&mut self, units: UnitSet, tag: u8, then: Then<M::Awaited>) {
        self.load(units, Waiter::Command { tag, then });
    }

    pub(super) fn load_for_write(&mut self, segment: MapUnit, lpa: Lpa) {
        self.core.stats.segment_misses += 1;
        self.core.prefetch_entry(lpa);
        self.load(UnitSet::one(segment), Waiter::Write { lpa });
    }

    fn load(&mut self, units: UnitSet, waiter: Waiter<M::Awaited>) {
        if let Some(watch) = &mut self.core.watch {
            waiter.tag().into_iter().for_each(|tag| watch.stays.load_begun(tag));
        }
        if let Some(load) = self.loads.active.iter_mut().find(|l| l.units == units) {
            load.waiters.push(waiter);
            return;
        }
        let mut waiters = self.loads.spare_lists.pop().unwrap_or_default();
        waiters.push(waiter);
        self.loads.active.push(Load { units, expected: ExpectedSet::default(), reads: 0, held: 0, waiters });
        let begun = self.read_units(self.loads.active.len() - 1);
        self.loads.waiting += usize::from(!begun);
    }

    /// Submits the reads of the load at a place of the list, one for all map units in the same flash unit. False if
    /// there are too few buffers.
    fn read_units(&mut self, at: usize) -> bool {
        let (core, load) = (&mut self.core, &mut self.loads.active[at]);
        let flash_units = core.meta.units().flash_units();
        load.expected = ExpectedSet::new(core.meta.directory(), load.units);
        let n = load.expected.places().count();
        let buffers = (n as u32 * flash_units) as u16;
        if !core.sram.take(Owner::Load, buffers) {
            return false;
        }
        (load.reads, load.held) = (n as u32, buffers);
        for ppa in load.expected.places() {
            let work = Work::Read { ppa, units: flash_units };
            core.stats.segment_reads += 1;
            core.submit(work, Priority::MapRead, Cause::MapRead, Purpose::SegmentLoad { units: load.units });
        }
        true
    }

    #[inline(never)]
    pub(super) fn retry_loads(&mut self) {
        let mut i = 0;
        while self.loads.waiting > 0 && i < self.loads.active.len() {
            if self.loads.active[i].reads == 0 {
                if !self.read_units(i) {
                    return;
                }
                self.loads.waiting -= 1;
            }
            i += 1;
        }
    }

    /// One of the reads of a load is done.
    pub(super) fn units_loaded(&mut self, done: &Completed, units: UnitSet) {
        let at = self.loads.active.iter().position(|l| l.units == units);
        let at = at.expect("a load is listed until it is done");
        let flash_units = self.core.meta.units().flash_units();
        let sight = Sight::new(done, &self.core.nand, self.core.meta.pages());
        self.loads.active[at].expected.arrive(&sight, flash_units, self.core.meta.directory());
        self.loads.active[at].reads -= 1;
        if self.loads.active[at].reads > 0 {
            return;
        }
        let mut load = self.loads.active.swap_remove(at);
        let loaded = load.expected.loaded(self.core.meta.directory());
        self.core.sram.give(Owner::Load, load.held);
        if !M::ON_DEMAND {
            loaded.iter().for_each(|loaded| self.core.sram.keep_segment(loaded));
        }
        // Consecutive pages become one flash read, as for segments that are in SRAM already.
        let mut run: Option<(u8, Run)> = None;
        for waiter in load.waiters.drain(..) {
            self.waiter_moved(&waiter);
            match waiter {
                Waiter::Unit { tag, i } => {
                    self.lookups.read_load_done();
                    let found = self.unit_resolved(&loaded, tag, i);
                    match (&mut run, found) {
                        (Some((of, r)), Some(ppa)) if *of == tag && self.continues(r, i, ppa) => r.n += 1,
                        (_, Some(ppa)) => {
                            self.read_loaded_run(&mut run);
                            run = Some((tag, Run { first: i, ppa, n: 1 }));
                        }
                        (_, None) => self.read_part_done(tag),
                    }
                }
                Waiter::Command { tag, then } => self.command_loaded(tag, then, &loaded),
                Waiter::Write { lpa } => {
                    self.lookups.write_load_done();
                    let loaded = self.unit_of(&loaded, lpa);
                    self.map.resolve_loaded(&mut self.core, loaded, lpa, LoadedFor::Write);
                }
            }
        }
        self.read_loaded_run(&mut run);
        self.loads.spare_lists.push(load.waiters);
    }

    fn read_loaded_run(&mut self, run: &mut Option<(u8, Run)>) {
        if let Some((tag, r)) = run.take() {
            self.read_run(tag, r.first, r.ppa, r.n);
            (0..r.n).for_each(|_| self.read_part_done(tag));
        }
    }

    /// The map unit of an address. It is among those that a load has read.
    #[inline]
    fn unit_of<'a>(&self, loaded: &'a LoadedSet, lpa: Lpa) -> &'a Loaded {
        loaded.get(self.core.meta.units().of(lpa)).expect("an address waits for the load of its own map unit")
    }

    /// The page of a unit whose map unit has been read; `None` if the unit needs no flash read.
    fn unit_resolved(&mut self, loaded: &LoadedSet, tag: u8, i: u32) -> Option<Ppa> {
        let lpa = self.read_lpa(tag, i);
        let loaded = self.unit_of(loaded, lpa);
        let found = self.map.resolve_loaded(&mut self.core, loaded, lpa, LoadedFor::Read);
        // The host may have written newer data while the map unit was read. The write buffer has it, or had it.
        if let Some(stamp) = self.core.buffer.get(lpa) {
            self.read_from_buffer(tag, i, lpa, stamp);
            return None;
        }
        self.core.stats.unmapped_units_read += u64::from(found.is_none());
        found
    }

    fn command_loaded(&mut self, tag: u8, then: Then<M::Awaited>, read: &LoadedSet) {
        let cmd = &mut self.commands[usize::from(tag)];
        cmd.remaining -= 1;
        if cmd.remaining > 0 {
            return;
        }
        let data = match then {
            Then::Done => DataIn::None,
            Then::Publish(group) => self.publish(tag, group),
            Then::Ask(awaited) => self.map.metadata_loaded(&mut self.core, awaited, read),
        };
        self.respond_with(tag, |to| *to = data);
        if self.loads.group == Some(tag) {
            self.loads.group = None;
            self.next_group();
        }
    }

    /// READ BUFFER: all segments of the group are collected in a buffer of the group's size. There is one such buffer.
    pub(super) fn start_group(&mut self, tag: u8) {
        self.loads.group_queue.push_back(tag);
        if self.loads.group.is_none() {
            self.next_group();
        }
    }

    fn next_group(&mut self) {
        let Some(tag) = self.loads.group_queue.pop_front() else { return };
        self.moved(tag);
        let Op::HpbReadBuffer { group } = self.commands[usize::from(tag)].op else {
            unreachable!("tag {tag} waits for a group without asking for one");
        };
        self.loads.group = Some(tag);
        let (first, n) = self.core.publisher.range(group);
        let last = first.offset(n - 1).segment();
        self.commands[usize::from(tag)].remaining = 1;
        for segment in (first.segment().0..=last.0).map(SegmentId) {
            let mut missing = UnitSet::default();
            for unit in self.core.meta.units().of_segment(segment).iter() {
                let piece = self.core.meta.segment_piece(unit);
                let in_sram = self.core.sram.segment_hit(unit).is_some() || self.map.tells(unit);
                if self.core.meta.place(piece).is_some() && !in_sram {
                    missing.add(unit);
                }
            }
            if !missing.is_empty() {
                self.commands[usize::from(tag)].remaining += 1;
                self.load_for_command(missing, tag, Then::Publish(group));
            }
        }
        self.command_loaded(tag, Then::Publish(group), &LoadedSet::default());
    }

    fn publish(&mut self, tag: u8, group: u32) -> DataIn {
        let (first, n) = self.core.publisher.range(group);
        let units = self.core.meta.units();
        let mut mapping = Vec::with_capacity(n as usize);
        let end = first.offset(n);
        let mut next = first;
        while next < end {
            let unit = units.of(next);
            let range = next.0..units.range(unit).end.min(end.0);
            next = Lpa(range.end);
            let loaded = self.core.truth().in_group_buffer(unit);
            self.map.tell(&mut self.core, &loaded, range, &mut mapping);
        }
        self.work_on_seals(tag, mapping.iter().flatten().count() as u32);
        self.core.publisher.publish(group, &mapping)
    }
}
