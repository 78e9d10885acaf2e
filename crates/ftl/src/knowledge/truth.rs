//! Knowledge of the simulator that firmware does not have.

use std::collections::BTreeSet;
use std::ops::Range;

use nand::{Nand, Sensed, Spare};
use units::{Lpa, MapUnit, Ppa, Seq, UNIT_BYTES};

use super::pages::Pages;
use super::proof::Loaded;
use crate::knowledge::meta::Meta;
use crate::table::directory::{Directory, Piece};
use crate::table::map_units::MapUnits;

/// Shortcuts of the simulator. Each stands for knowledge that firmware has in another form or at another moment, and
/// has paid for. The method says why. There are no other shortcuts.
///
/// Only the engine can use it. Schemes reach parts of it through methods of [`Core`](crate::core::Core), each
/// for one purpose and with conditions.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    nand: &'a Nand,
    pages: &'a Pages,
    directory: &'a Directory,
    units: MapUnits,
}

impl<'a> Truth<'a> {
    /// Shortcuts to the pages that the directory of `meta` names, and to what was programmed on `nand`.
    pub(crate) fn new(nand: &'a Nand, meta: &'a Meta) -> Truth<'a> {
        Truth { nand, pages: meta.pages(), directory: meta.directory(), units: meta.units() }
    }

    /// The entry of an address in the copy of its map unit that the directory names.
    #[inline]
    fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        let unit = self.units.of(lpa);
        self.pages.view_at(unit, self.directory.place(Piece::of(unit))).entry(lpa)
    }

    /// Address and place of every unit of user data in the `units` units from `first` on.
    ///
    /// Stands for the spare areas of a portion of a victim, which the engine reads before it uses the result.
    pub(crate) fn addresses(&self, first: Ppa, units: u32) -> Vec<(Lpa, Ppa)> {
        let mut found = Vec::with_capacity(units as usize);
        for ppa in (0..units).map(|i| first.offset(i)) {
            if let (Sensed::Unit(spare), _) = self.nand.observe(ppa) {
                found.push((Lpa(spare.lpa), ppa));
            }
        }
        found
    }

    /// Address and place of every unit of user data in the `units` units from `first` on that lies in a map unit which
    /// the superblock's segment bitmap names. Each part of the bitmap has the map units of pages up to the number
    /// given for it.
    ///
    /// Firmware looks for the superblock in all entries of the map units that the bitmap names. A page in another map
    /// unit is not found. The engine reads the bitmap before it uses the result.
    pub(crate) fn addresses_named(&self, first: Ppa, units: u32, last: &[Seq]) -> Vec<(Lpa, Ppa)> {
        let covered = |unit: MapUnit| last[unit.index() / (8 * UNIT_BYTES as usize)];
        let pages = || (0..units).map(|i| first.offset(i)).map(|ppa| (ppa, self.nand.observe(ppa)));
        let mut found = Vec::with_capacity(units as usize);
        let mut all_named = true;
        for (ppa, (sensed, seq)) in pages() {
            if let Sensed::Unit(spare) = sensed {
                all_named &= seq <= covered(self.units.of(Lpa(spare.lpa)));
                found.push((Lpa(spare.lpa), ppa));
            }
        }
        if !all_named {
            let unit = |spare: Spare| self.units.of(Lpa(spare.lpa));
            let named: BTreeSet<MapUnit> = pages()
                .filter_map(|(_, (sensed, seq))| match sensed {
                    Sensed::Unit(spare) if seq <= covered(unit(spare)) => Some(unit(spare)),
                    _ => None,
                })
                .collect();
            found.retain(|&(lpa, _)| named.contains(&self.units.of(lpa)));
        }
        found
    }

    /// The entry on flash of an address whose page GC has found valid, with the map unit in SRAM, and has read since.
    ///
    /// Firmware keeps the list of the pages found. An entry on flash changes only in a map flush, which sees the old
    /// entry and can take its page off the list. So the list tells what the entry tells.
    #[inline]
    pub(crate) fn entry_when_found(&self, lpa: Lpa) -> Option<Ppa> {
        self.entry(lpa)
    }

    /// The place of an address on flash, for a question to the laboratory, which no device answers: a valid page bitmap
    /// that is assumed to be at hand, or a page drawn at random (`what_if.copies_percent`). The engine reads the page's
    /// spare area before it uses a copy.
    #[inline]
    pub(crate) fn entry_at_hand(&self, lpa: Lpa) -> Option<Ppa> {
        self.entry(lpa)
    }

    /// An entry in the entry cache of `segment-log`, which keeps no values.
    ///
    /// The entry was copied from a map unit that had been read. A map flush changes both.
    #[inline]
    pub(crate) fn cached_entry(&self, lpa: Lpa) -> Option<Ppa> {
        self.entry(lpa)
    }

    /// An entry of a translation page in the page cache of `cdftl` or `sftl`, which keeps only what was set there.
    ///
    /// The page was read when it came. A map flush changes both.
    #[inline]
    pub(crate) fn unchanged_entry(&self, lpa: Lpa) -> Option<Ppa> {
        self.pages.entry(lpa)
    }

    /// A map unit in the buffer in which the entries of an HPB group are collected.
    ///
    /// Each unit of the group was read, or was in the segment cache or a run when the command began, and was copied to
    /// that buffer. A map flush that changes the unit later changes it in SRAM.
    pub(crate) fn in_group_buffer(&self, unit: MapUnit) -> Loaded {
        Loaded::by_argument(self.directory, unit)
    }

    /// A part of a segment that was in the segment cache when a host asked for the segment. It may have left the cache
    /// since, while other parts were read.
    ///
    /// Firmware copies it to the buffer of the command when the command begins.
    pub(crate) fn copied_for_command(&self, unit: MapUnit) -> Loaded {
        Loaded::by_argument(self.directory, unit)
    }

    /// A map unit in the buffer of a job that has programmed it.
    ///
    /// The buffer holds what the job has programmed, and so what is at the place that the directory names.
    pub(crate) fn as_on_flash(&self, unit: MapUnit) -> Loaded {
        Loaded::by_argument(self.directory, unit)
    }

    /// The first place of a map unit, if the entries of all of its addresses follow each other.
    ///
    /// The unit is in SRAM when this is asked, because it has just been programmed or recovery has read it; or the
    /// answer is known since then, and is only checked.
    pub(crate) fn run(&self, unit: MapUnit) -> Option<Ppa> {
        let addresses = self.units.range(unit);
        let first = self.entry(Lpa(addresses.start))?;
        let follows = |(i, lpa)| self.entry(Lpa(lpa)) == Some(first.offset(i));
        (self.has_ends(unit, first) && (0..).zip(addresses).all(follows)).then_some(first)
    }

    /// True if the first and the last entry of a map unit are those of a run that begins at `first`.
    pub(crate) fn has_ends(&self, unit: MapUnit, first: Ppa) -> bool {
        let Range { start, end } = self.units.range(unit);
        [start, end - 1].into_iter().all(|lpa| self.entry(Lpa(lpa)) == Some(first.offset(lpa - start)))
    }

    /// True if the entry of an address is as far from that of its map unit's first address as in a run.
    pub(crate) fn continues_run(&self, unit: MapUnit, lpa: Lpa) -> bool {
        let start = self.units.range(unit).start;
        let first = self.entry(Lpa(start)).map(|first| first.offset(lpa.0 - start));
        first.is_some() && self.entry(lpa) == first
    }

    /// A map unit that was in the segment cache when a search planned to use it. It may leave while others are read.
    ///
    /// When firmware finds the unit in the cache, it looks up the addresses of the plan and keeps one bit for each. What
    /// changes an entry during the search, a write or a flush beside it, stands in the log, which still answers.
    pub(crate) fn searched_in_cache(&self, cached: &Loaded) -> Loaded {
        cached.copied()
    }

    /// The number up to which the copy of a map unit at this place is complete, after a power cut.
    ///
    /// The number is in the snapshot of the directory, or in the spare area of the map unit. Before it asks, recovery
    /// has read both: the snapshot, and everything that was programmed since.
    pub(crate) fn number_on_flash(&self, unit: MapUnit, place: Option<Ppa>) -> Seq {
        self.pages.view_at(unit, place).seq()
    }
}
