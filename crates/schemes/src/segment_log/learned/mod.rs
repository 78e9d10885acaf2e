//! `cached = "learned"`: map units in SRAM as segments that were learned from their entries, after LeaFTL (Sun et al.,
//! ASPLOS 2023).
//!
//! A map unit that is read, or that a map flush has written, is taken apart into groups of 256 addresses, and each is
//! learned (`group`, `segment`). Later flushes add what they have changed, as segments of the top level. After so many
//! units from the host all cached groups are compacted. Map units leave in order of use.
//!
//! A segment of LeaFTL may predict any place within its error bound. Here it may predict only a place that was
//! programmed together with the right one, because then the spare areas of the page that was read tell which of them
//! is right: they know all addresses of their program, and no older version of the address can be among those of
//! another. So a misprediction costs one read of a page whose word line has just been sensed, and never an older
//! version of the data.
//!
//! The table on flash stays that of `segment-log`. A map unit there takes a flash unit, however few bytes it was
//! learned in, and a map flush changes it as a whole. Where the learned form is exact it tells the whole unit, and
//! neither a flush nor a valid page search has to read it. With a prediction in it, both do.

mod group;
mod segment;

use std::collections::BTreeMap;

use lists::Lru;
use ufs::LpaRun;
use units::{Lpa, MIB, MapUnit, Ppa, UNIT_BYTES};

use super::declared::SegmentLogParams;
use super::updates::Update;
use ftl::seat::{Core, Loaded, MapUnits, Piece, Programmed, ProgrammedSet};
use group::{Group, Told};
use segment::{GROUP, Point};

/// Bytes of a map unit beside its groups: its number, its length, two neighbours in the list.
const HEADER: u64 = 8;
const UNITS_PER_MIB: u32 = (MIB / UNIT_BYTES) as u32;

/// What the cache tells of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Unmapped.
    Nowhere,
    /// On this page.
    Exact(Ppa),
    /// On this page, or on another that was programmed together with it.
    Predicted(Ppa),
}

/// A cached map unit.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
struct Unit {
    number: u32,
    groups: Vec<Group>,
}

impl Unit {
    fn bytes(&self) -> u64 {
        HEADER + self.groups.iter().map(Group::bytes).sum::<u64>()
    }
}

/// Learned map units in order of use. They always equal flash, because a map flush changes both.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Learned {
    /// Bytes for all of them, and those that are taken.
    limit: u64,
    taken: u64,
    /// Error bound of predictions, in pages.
    gamma: u32,
    units: MapUnits,
    /// Units from the host after which groups are compacted, and those since.
    compact_after: Option<u32>,
    written: u32,
    /// Slot of a map unit. An index of the simulator; firmware would hash.
    slot_of: BTreeMap<u32, u32>,
    order: Lru<u32, Unit>,
    free: Vec<u32>,
}

impl Learned {
    /// An empty cache of `bytes` bytes.
    pub fn new(bytes: u64, units: MapUnits, own: &SegmentLogParams) -> Learned {
        Learned {
            limit: bytes,
            taken: 0,
            gamma: own.learned_gamma,
            units,
            compact_after: own.learned_compact_mib.count().map(|mib| mib * UNITS_PER_MIB),
            written: 0,
            slot_of: BTreeMap::new(),
            order: Lru::new(),
            free: Vec::new(),
        }
    }

    /// Pages by which a prediction may miss.
    pub fn gamma(&self) -> u32 {
        self.gamma
    }

    /// Bytes that are taken.
    pub fn bytes(&self) -> u64 {
        self.taken
    }

    /// Map units in the cache.
    pub fn len(&self) -> u64 {
        self.slot_of.len() as u64
    }

    /// Segments in the cache, and groups that have none because a plain table is smaller.
    pub fn counts(&self) -> (u64, u64) {
        let groups = || self.slot_of.values().flat_map(|&slot| &self.order[slot].groups);
        let plain = groups().filter(|group| matches!(group, Group::Plain(_))).count();
        (groups().map(Group::segments).sum::<usize>() as u64, plain as u64)
    }

    /// True if the map unit is cached. Does not count as a use.
    pub fn holds(&self, unit: MapUnit) -> bool {
        self.slot_of.contains_key(&unit.0)
    }

    /// The cached addresses.
    pub fn runs(&self) -> impl Iterator<Item = LpaRun> {
        let ranges = self.slot_of.keys().map(|&unit| self.units.range(MapUnit(unit)));
        ranges.map(|range| LpaRun { lpa: Lpa(range.start), len: range.end - range.start })
    }

    /// Where an address is, if its map unit is cached. The unit becomes the most recently used.
    pub fn place(&mut self, lpa: Lpa) -> Option<Place> {
        let unit = self.units.of(lpa);
        let &slot = self.slot_of.get(&unit.0)?;
        self.order.touch(slot);
        let at = self.units.slot(lpa) as usize;
        Some(match self.order[slot].groups[at / GROUP].told((at % GROUP) as u8) {
            None => Place::Nowhere,
            // Without an error bound every segment is exact.
            Some(Told { ppa, is_exact }) if is_exact || self.gamma == 0 => Place::Exact(ppa),
            Some(Told { ppa, .. }) => Place::Predicted(ppa),
        })
    }

    /// True if the cache tells all entries of a map unit exactly.
    pub fn tells(&self, unit: MapUnit) -> bool {
        let slot = self.slot_of.get(&unit.0);
        slot.is_some_and(|&slot| self.gamma == 0 || self.order[slot].groups.iter().all(Group::is_exact))
    }

    /// The content of a map unit, if the cache tells it.
    pub fn made(&self, core: &Core, unit: MapUnit) -> Option<Loaded> {
        if !self.tells(unit) {
            return None;
        }
        let groups = &self.order[self.slot_of[&unit.0]].groups;
        let range = self.units.range(unit);
        let mut entries = vec![Ppa::pack(None); (range.end - range.start) as usize];
        entries.chunks_mut(GROUP).zip(groups).for_each(|(entries, group)| group.write(entries));
        Some(core.made_of_entries(unit, &entries))
    }

    /// Learns a map unit that was read. A copy that has been replaced on flash since is not kept.
    pub fn take_in(&mut self, core: &Core, loaded: &Loaded) {
        if core.view(loaded).is_newest() && !self.holds(loaded.unit()) {
            self.learn(core, loaded);
        }
    }

    fn learn(&mut self, core: &Core, loaded: &Loaded) {
        let entries = core.view(loaded).entries();
        let groups = entries.chunks(GROUP).map(|entries| self.group(core, entries)).collect();
        let slot = self.free.pop().unwrap_or_else(|| self.order.add(Unit::default()));
        self.order[slot] = Unit { number: loaded.unit().0, groups };
        self.order.insert(slot);
        self.slot_of.insert(loaded.unit().0, slot);
        self.taken += self.order[slot].bytes();
        self.make_room();
    }

    fn group(&self, core: &Core, entries: &[u32]) -> Group {
        let points = (0..).zip(entries).filter_map(|(at, &entry)| Some(self.point(core, at, Ppa::unpack(entry)?)));
        Group::of(&points.collect::<Vec<_>>(), entries.len())
    }

    fn point(&self, core: &Core, at: u32, ppa: Ppa) -> Point {
        let together = core.programmed_together(ppa);
        let least = together.start.max(ppa.0.saturating_sub(self.gamma));
        Point { at: at as u8, place: ppa.0, allowed: least..=(together.end - 1).min(ppa.0 + self.gamma) }
    }

    /// Drops map units, the least recently used first, until the others are within the limit.
    fn make_room(&mut self) {
        while self.taken > self.limit {
            let oldest = self.order.oldest().expect("what is cached takes bytes");
            let unit = std::mem::take(&mut self.order[oldest]);
            self.taken -= unit.bytes();
            self.slot_of.remove(&unit.number);
            self.order.remove(oldest);
            self.free.push(oldest);
        }
    }

    /// The map units of a round were programmed, with these updates.
    pub fn round_programmed(&mut self, core: &Core, programmed: &ProgrammedSet, updates: &[Update]) {
        let mut at = 0;
        for of_unit in updates.chunk_by(|a, b| a.rank == b.rank) {
            if let Some(programmed) = programmed.next(&mut at, Piece::of(self.units.of(of_unit[0].lpa))) {
                self.programmed(core, programmed, of_unit);
            }
        }
    }

    /// A map unit was programmed with these updates. It is in a buffer of the flush still, so all of its entries are
    /// known.
    pub fn programmed(&mut self, core: &Core, programmed: &Programmed, updates: &[Update]) {
        let loaded = core.just_programmed(programmed);
        let Some(&slot) = self.slot_of.get(&loaded.unit().0) else {
            return self.learn(core, &loaded);
        };
        self.order.touch(slot);
        let mut unit = std::mem::take(&mut self.order[slot]);
        self.taken -= unit.bytes();
        let group_of = |update: &Update| self.units.slot(update.lpa) as usize / GROUP;
        let mut held: Vec<&Update> = updates.iter().filter(|update| update.holds).collect();
        held.sort_unstable_by_key(|update| update.lpa);
        for of_group in held.chunk_by(|a, b| group_of(a) == group_of(b)) {
            let range = self.units.range(loaded.unit());
            let first = group_of(of_group[0]) * GROUP;
            let addresses = GROUP.min((range.end - range.start) as usize - first);
            let at = |update: &Update| self.units.slot(update.lpa) - first as u32;
            let mapped = of_group.iter().filter_map(|update| Some(self.point(core, at(update), update.ppa?)));
            let unmapped = of_group.iter().filter(|update| update.ppa.is_none()).map(|update| at(update) as u8);
            let group = &mut unit.groups[first / GROUP];
            if !group.change(&mapped.collect::<Vec<_>>(), &unmapped.collect::<Vec<_>>(), addresses) {
                let entries = core.view(&loaded).entries();
                *group = self.group(core, &entries[first..first + addresses]);
            }
        }
        self.taken += unit.bytes();
        self.order[slot] = unit;
        self.make_room();
    }

    /// A unit from the host is on flash.
    pub fn unit_written(&mut self) {
        self.written = self.written.saturating_add(1);
    }

    /// A map flush has ended. Compacts all groups when it is time.
    pub fn flush_ended(&mut self) {
        if self.compact_after.is_none_or(|after| self.written < after) {
            return;
        }
        self.written = 0;
        for &slot in self.slot_of.values() {
            let unit = &mut self.order[slot];
            self.taken -= unit.bytes();
            unit.groups.iter_mut().for_each(Group::compact);
            self.taken += unit.bytes();
        }
    }
}
