//! What the firmware knows of the mapping table. Every view of a map unit needs a proof.

use nand::{Cause, Completed, Priority, Work};
use units::{Lpa, MapUnit, Ppa, Seq, Superblock};

use crate::core::Core;
use crate::core::ops::Purpose;
use crate::knowledge::meta::{Kind, Rebuilt};
use crate::knowledge::{
    JobRead, Loaded, LoadedSet, MapView, PiecesRead, Programmed, ProgrammedSet, Round, Sharing, Sight, Snapshot, Truth,
};
use crate::sabotage::Sabotage;
use crate::sram::entry_cache::EntryCache;
use crate::table::directory::Piece;

impl Core {
    /// The content of a map unit that is in SRAM.
    #[inline]
    pub fn view(&self, loaded: &Loaded) -> MapView<'_> {
        self.meta.pages().view(loaded)
    }

    /// Adds the entries of addresses whose map units are in a round to `found`. The addresses have the order of the
    /// round's units.
    pub fn look_up(&self, round: &Round, addresses: impl Iterator<Item = Lpa>, found: &mut Vec<Option<Ppa>>) {
        round.look_up(self.meta.pages(), self.units(), addresses, found);
    }

    /// The content of a map unit, if the segment cache holds it. The unit becomes the most recently used.
    #[inline]
    pub fn hit(&mut self, unit: MapUnit) -> Option<MapView<'_>> {
        let loaded = self.sram.segment_hit(unit)?;
        Some(self.meta.pages().view(loaded))
    }

    /// The proof that a map unit was never written, if the directory says so.
    #[inline]
    pub fn unwritten(&self, unit: MapUnit) -> Option<Loaded> {
        self.meta.expected(unit).unwritten()
    }

    /// The content of a map unit that a command needs. The unit was `read` for the command, was never written, or is in
    /// the segment cache now. If other parts of its segment were read for the command, it was in SRAM when the command
    /// began.
    ///
    /// # Panics
    /// If it is none of these.
    pub fn for_command(&self, unit: MapUnit, read: &LoadedSet) -> MapView<'_> {
        match read.get(unit) {
            Some(loaded) => self.view(loaded),
            None => {
                let copied = || {
                    let units = self.meta.units();
                    let wanted = units.segment_of(unit);
                    let in_sram =
                        self.sram.holds_segment(unit) || read.iter().any(|r| units.segment_of(r.unit()) == wanted);
                    assert!(in_sram, "nothing has brought {unit} into SRAM for a command");
                    self.truth().copied_for_command(unit)
                };
                self.view(&self.unwritten(unit).unwrap_or_else(copied))
            }
        }
    }

    /// Submits the reads of a round for the exclusive job. Gives the number of reads.
    pub(crate) fn read_round(&mut self, round: &mut Round, sharing: Sharing, cause: Cause) -> u64 {
        let flash_units = self.meta.units().flash_units();
        round.read(sharing, |ppa| self.job_read(ppa, flash_units, cause))
    }

    /// The reads of a round are done.
    pub fn round_arrived(&self, round: &mut Round) {
        round.arrive(&self.job_reads, self.meta.units().flash_units(), self.meta.pages());
    }

    /// The map units that programs of the exclusive job have put on flash since the last call.
    pub fn take_programmed(&mut self) -> ProgrammedSet {
        std::mem::take(&mut self.programmed)
    }

    /// The snapshot from `first` on, for recovery, as far as its units have been read. The first has `stamp`.
    pub(crate) fn snapshot_read(&self, first: Ppa, stamp: u32, read: &PiecesRead) -> Option<Snapshot> {
        self.meta.pages().snapshot(self.layout.superblock_of(first), first, stamp, read)
    }

    /// Sets the directory to the places that recovery has found, with the sequence numbers that are stored with the map
    /// units at the places `numbered`, packed: the same ones.
    pub(crate) fn restore_directory(&mut self, rebuilt: Rebuilt, numbered: &[u32]) {
        let truth = self.truth();
        let units = (0..self.meta.units().count()).map(MapUnit);
        let place = |unit| Ppa::unpack(numbered[self.meta.segment_piece(unit).0 as usize]);
        let numbers = units.map(|unit| truth.number_on_flash(unit, place(unit))).collect();
        self.meta.restore(rebuilt, numbers);
    }

    /// Counts the valid pages in the map units that recovery has read with `read`.
    pub(crate) fn count_valid(&mut self, read: &Completed) {
        let (Work::Read { ppa, .. }, Some(spare)) = (read.work(), self.nand.spare(read, 0)) else { return };
        let flash_units = self.meta.units().flash_units();
        for piece in self.meta.pieces_at(ppa, spare.lpa) {
            let Kind::Segment(unit) = self.meta.kind(piece) else { continue };
            if self.sabotaged(Sabotage::WrongCount) && unit.0 % 4 == 1 {
                continue;
            }
            // Another map unit in the same flash unit may have a newer place.
            let sight = Sight::new(read, &self.nand, self.meta.pages());
            let Some(loaded) = self.meta.expected(unit).arrived(&sight, flash_units) else { continue };
            for ppa in self.view(&loaded).entries().into_iter().filter_map(Ppa::unpack) {
                let sb = self.superblock_of(ppa);
                self.counted[sb.index()] += 1;
            }
        }
    }

    /// The first place of a map unit that has just been programmed, if all of its addresses have places, and these
    /// follow each other. The entry of a `changed` address is looked at first: most changes break a run.
    pub fn programmed_run(&self, programmed: &Programmed, changed: Lpa) -> Option<Ppa> {
        let unit = MapUnit(programmed.piece().0);
        self.truth().continues_run(unit, changed).then(|| self.truth().run(unit))?
    }

    /// The same, for a map unit that recovery has read.
    pub fn restored_run(&self, unit: MapUnit) -> Option<Ppa> {
        self.truth().run(unit)
    }

    /// The content of a map unit, made of the first place of its data, which lie together.
    ///
    /// # Panics
    /// If they do not.
    pub fn made_of_run(&self, unit: MapUnit, first: Ppa) -> Loaded {
        let right = self.keeps_stale_runs() || self.truth().has_ends(unit, first);
        assert!(right, "the data of {unit} do not lie together from {first} on");
        debug_assert!(self.keeps_stale_runs() || self.truth().run(unit) == Some(first));
        self.truth().as_on_flash(unit)
    }

    /// The content of a map unit, made of all of its entries, packed, which the scheme has kept in another form.
    ///
    /// # Panics
    /// If one of them is not what flash has.
    pub fn made_of_entries(&self, unit: MapUnit, entries: &[u32]) -> Loaded {
        let loaded = self.truth().as_on_flash(unit);
        assert!(self.view(&loaded).entries() == entries, "the scheme has other entries of {unit} than flash");
        loaded
    }

    /// Sabotage: a run stays one when its map unit has been changed.
    pub fn keeps_stale_runs(&self) -> bool {
        self.sabotaged(Sabotage::StaleRun)
    }

    /// A map unit in the segment cache, for a search that uses it soon. The unit becomes the most recently used.
    pub fn searched_in_cache(&mut self, unit: MapUnit) -> Option<Loaded> {
        let cached = self.sram.segment_hit(unit)?;
        Some(Truth::new(&self.nand, &self.meta).searched_in_cache(cached))
    }

    /// The mapping of an address: its log entry, over `entry` from its map unit.
    #[inline]
    pub fn over_log(&self, lpa: Lpa, entry: Option<Ppa>) -> Option<Ppa> {
        match self.log.get(lpa) {
            Some(logged) => self.logged_over(logged, entry),
            None => entry,
        }
    }

    /// Address and place of every unit of user data in the `units` units from `first` on, for a valid page search.
    ///
    /// Before the search uses them, it must read these spare areas ([`Core::scan_for_search`]).
    pub fn addresses(&self, first: Ppa, units: u32) -> Vec<(Lpa, Ppa)> {
        self.truth().addresses(first, units)
    }

    /// Reads the segment bitmap of a superblock for a valid page search. If it has none, all of its spare areas tell
    /// the same.
    pub fn read_bitmap(&mut self, sb: Superblock) {
        let parts: Vec<Ppa> = self.bitmap_places(sb).map(|(_, place)| place).collect();
        parts.iter().for_each(|&place| self.scan_for_search(place, 1));
        if parts.is_empty() {
            let (first, row) = (self.layout.first_ppa(sb), self.layout.row_units());
            let rows = (0..self.blocks.units_of(sb)).step_by(row as usize);
            rows.for_each(|start| self.scan_for_search(first.offset(start), row));
        }
    }

    fn bitmap_places(&self, sb: Superblock) -> impl Iterator<Item = (Piece, Ppa)> {
        self.meta.bitmap_pieces(sb).filter_map(|part| Some((part, self.meta.place(part)?)))
    }

    /// Address and place of every unit of user data of a superblock in the map units that its segment bitmap names. The
    /// bitmap has been read ([`Core::read_bitmap`]).
    ///
    /// # Panics
    /// If the read has shown something else, or the bitmap of another filling of the superblock.
    pub fn pages_named_by_bitmap(&self, sb: Superblock) -> Vec<(Lpa, Ppa)> {
        let (first, n) = (self.layout.first_ppa(sb), self.layout.superblock_units());
        if self.bitmap_places(sb).next().is_none() {
            return self.truth().addresses(first, n);
        }
        let (pages, erases, mut reads) = (self.meta.pages(), self.nand.erase_count(sb), 0);
        let mut covered = |part| {
            let Some(place) = self.meta.place(part) else { return Seq(0) };
            self.job_reads.check_next(&mut reads, part, place, pages);
            let covered = pages.bitmap(part, place);
            assert!(covered.erases == erases, "{sb} was erased {erases} times; its bitmap at {place}: {covered:?}");
            covered.last
        };
        let last: Vec<Seq> = self.meta.bitmap_pieces(sb).map(&mut covered).collect();
        self.truth().addresses_named(first, n, &last)
    }

    /// Address and place of every valid unit of a superblock, for a search that is a question to the laboratory: what
    /// would it read if a valid page bitmap were at hand? No device of `segment-log` has one.
    pub fn pages_known_valid(&self, sb: Superblock) -> Vec<(Lpa, Ppa)> {
        let (first, n, truth) = (self.layout.first_ppa(sb), self.layout.superblock_units(), self.truth());
        let mut found = truth.addresses(first, n);
        found.retain(|&(lpa, ppa)| self.over_log(lpa, truth.entry_at_hand(lpa)) == Some(ppa));
        found
    }

    /// True if the mapping still names a page that a valid page search has found, with the map unit in SRAM.
    ///
    /// Only such pages may be asked about. Firmware keeps a list of them. A map flush removes those whose entries it
    /// changes, so firmware needs no second read of the map unit.
    #[inline]
    pub fn still_names(&self, lpa: Lpa, found: Ppa) -> bool {
        self.over_log(lpa, self.truth().entry_when_found(lpa)) == Some(found)
    }

    /// An entry of the entry cache, which becomes the most recently used. `None` if the cache does not hold it.
    ///
    /// Only entries of map units that are in SRAM may be inserted in that cache.
    #[inline]
    pub fn cached_entry(&self, entries: &mut EntryCache, lpa: Lpa) -> Option<Option<Ppa>> {
        entries.touch(lpa).then(|| self.truth().cached_entry(lpa))
    }

    /// An entry that has not been set since its translation page came into a page cache. Such a cache keeps only
    /// entries that were set there.
    ///
    /// Only pages that are loaded may come into that cache. What a flush sets on flash must be set there, too.
    #[inline]
    pub fn unchanged_entry(&self, lpa: Lpa) -> Option<Ppa> {
        self.truth().unchanged_entry(lpa)
    }

    /// What only the simulator knows. A scheme reaches it only through the methods of `Core`.
    #[inline]
    pub(crate) fn truth(&self) -> Truth<'_> {
        Truth::new(&self.nand, &self.meta)
    }

    /// Reads row units for an exclusive job, which continues when all of its operations are done.
    pub(crate) fn job_read(&mut self, ppa: Ppa, units: u32, cause: Cause) -> JobRead {
        if self.job_ops == 0 {
            self.job_reads.clear();
        }
        self.job_ops += 1;
        let read = self.job_reads.begin();
        self.submit(Work::Read { ppa, units }, Priority::MapRead, cause, Purpose::JobRead { read });
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::map_units::{MapShape, MapUnits};
    use crate::testing::small;

    /// A device on which map unit 1 is on flash and unit 0 was never written. Nothing is in SRAM.
    fn core() -> Core {
        let mut core = Core::in_test(small(), MapUnits::new(4096, MapShape::SEGMENT));
        let (piece, place) = (core.meta().segment_piece(MapUnit(1)), core.layout().first_ppa(Superblock(80)));
        core.meta_in_test().moved(piece, place);
        core
    }

    #[test]
    fn a_command_sees_what_was_never_written() {
        let core = core();
        let entries = core.for_command(MapUnit(0), &LoadedSet::default()).entries();
        assert!(entries.iter().all(|&packed| Ppa::unpack(packed).is_none()));
    }

    #[test]
    #[should_panic(expected = "nothing has brought")]
    fn a_command_does_not_see_what_nobody_has_read() {
        core().for_command(MapUnit(1), &LoadedSet::default());
    }
}
