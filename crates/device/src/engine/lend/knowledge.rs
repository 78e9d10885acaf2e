//! What the firmware knows of the mapping table: the view of a map unit for everybody who has a proof.

use nand::{Cause, Completed, Priority, Work};
use units::{Lpa, Ppa, SegmentId, Superblock};

use crate::engine::core::Core;
use crate::entry_cache::EntryCache;
use crate::knowledge::{
    JobRead, Loaded, LoadedSet, MapView, PiecesRead, ProgrammedSet, Round, Sharing, Snapshot, Truth,
};
use crate::meta::{Kind, Rebuilt};
use crate::ops::Purpose;

impl Core {
    /// The content of a map unit that is in SRAM.
    #[inline]
    pub fn view(&self, loaded: &Loaded) -> MapView<'_> {
        self.meta.pages().view(loaded)
    }

    /// The content of a map unit in the segment cache, which becomes the most recently used.
    #[inline]
    pub fn hit(&mut self, unit: SegmentId) -> Option<MapView<'_>> {
        let loaded = self.sram.segment_hit(unit)?;
        Some(self.meta.pages().view(loaded))
    }

    /// The content of a map unit that was never written: the directory says so.
    #[inline]
    pub fn unwritten(&self, unit: SegmentId) -> Option<Loaded> {
        self.meta.expected(unit).unwritten()
    }

    /// The content of a map unit that a command wanted: `read` for it, never written, in the segment cache now, or, if
    /// other parts of its segment have been read for the command, in SRAM when the command began.
    ///
    /// # Panics
    /// If it is none of these.
    pub fn for_command(&self, unit: SegmentId, read: &LoadedSet) -> MapView<'_> {
        match read.get(unit) {
            Some(loaded) => self.view(loaded),
            None => {
                let copied = || {
                    let wanted = self.segment_of(unit);
                    let here =
                        self.sram.holds_segment(unit) || read.iter().any(|r| self.segment_of(r.unit()) == wanted);
                    assert!(here, "nothing has brought {unit} into SRAM for a command");
                    self.truth().copied_for_command(unit)
                };
                self.view(&self.unwritten(unit).unwrap_or_else(copied))
            }
        }
    }

    fn segment_of(&self, unit: SegmentId) -> SegmentId {
        Lpa(self.meta.units().range(unit).start).segment()
    }

    /// Submits the reads of a round for the exclusive job. Gives their number.
    pub(in crate::engine) fn read_round(&mut self, round: &mut Round, sharing: Sharing, cause: Cause) -> u64 {
        let flash_units = self.meta.units().flash_units();
        round.read(sharing, |ppa| self.job_read(ppa, flash_units, cause))
    }

    /// The reads of a round are done.
    pub fn round_arrived(&self, round: &mut Round) {
        round.arrive(&self.job_reads, self.meta.units().flash_units());
    }

    /// The map units that programs of the exclusive job have put on flash since this was asked last.
    pub fn take_programmed(&mut self) -> ProgrammedSet {
        std::mem::take(&mut self.programmed)
    }

    /// After a power cut: the snapshot in a metadata superblock, all of which has been read.
    pub(in crate::engine) fn snapshot_read(&self, sb: Superblock, read: &PiecesRead) -> Option<&Snapshot> {
        let units = self.meta.snapshot_units();
        self.meta.pages().snapshot(sb, self.layout.first_ppa(sb), units, read)
    }

    /// After a power cut: takes over the places that were found, and the numbers that were found with them.
    pub(in crate::engine) fn restore_directory(&mut self, rebuilt: Rebuilt) {
        let truth = Truth::new(&self.nand, self.meta.pages());
        let numbers = (0..self.meta.units().count()).map(SegmentId).map(|unit| truth.number_on_flash(unit)).collect();
        self.meta.restore(rebuilt, numbers);
    }

    /// After a power cut: counts the pages that the map units name which a read has brought.
    pub(in crate::engine) fn count_valid(&mut self, read: &Completed) {
        let (Work::Read { ppa, .. }, Some(spare)) = (read.work(), self.nand.spare(read, 0)) else { return };
        let flash_units = self.meta.units().flash_units();
        for piece in self.meta.pieces_at(ppa, spare.lpa) {
            let Kind::Segment(unit) = self.meta.kind(piece) else { continue };
            // Others that share the flash unit may have moved since.
            let Some(loaded) = self.meta.expected(unit).arrived(read, flash_units) else { continue };
            for ppa in self.view(&loaded).entries().into_iter().filter_map(Ppa::unpack) {
                let sb = self.superblock_of(ppa);
                self.counted[sb.index()] += 1;
            }
        }
    }

    /// A map unit in the segment cache, which becomes the most recently used, for a search that uses it soon.
    pub fn searched_in_cache(&mut self, unit: SegmentId) -> Option<Loaded> {
        let cached = self.sram.segment_hit(unit)?;
        Some(Truth::new(&self.nand, self.meta.pages()).searched_in_cache(cached))
    }

    /// What the log knows of an address, over the entry in its map unit.
    #[inline]
    pub fn over_log(&self, lpa: Lpa, entry: Option<Ppa>) -> Option<Ppa> {
        match self.log.get(lpa) {
            Some(logged) => self.logged_over(logged, entry),
            None => entry,
        }
    }

    /// Address and place of every unit of user data in the `units` units from `first` on, for a valid page search.
    ///
    /// Before it uses them, the search has to read what tells firmware the same: the segment bitmap of the superblock,
    /// or these spare areas ([`Core::scan_for_search`]).
    pub fn addresses(&self, first: Ppa, units: u32) -> Vec<(Lpa, Ppa)> {
        self.truth().addresses(first, units)
    }

    /// True if the mapping still names a page that a valid page search has found, with the map unit in SRAM.
    ///
    /// To be asked only of such pages. Firmware keeps a list of them, from which a map flush takes those whose entries
    /// it changes, so it needs no other read of the map unit.
    #[inline]
    pub fn still_names(&self, lpa: Lpa, found: Ppa) -> bool {
        self.over_log(lpa, self.truth().entry_when_found(lpa)) == Some(found)
    }

    /// An entry that the entry cache holds, which becomes the most recently used; `None` if it does not.
    ///
    /// Only entries of map units that are in SRAM may be taken in there.
    #[inline]
    pub fn cached_entry(&self, entries: &mut EntryCache, lpa: Lpa) -> Option<Option<Ppa>> {
        entries.touch(lpa).then(|| self.truth().cached_entry(lpa))
    }

    /// What only the simulator knows. Schemes get no more of it than the methods of `Core` say.
    #[inline]
    pub(in crate::engine) fn truth(&self) -> Truth<'_> {
        Truth::new(&self.nand, self.meta.pages())
    }

    /// Reads the row units of an exclusive job; the job goes on when all its operations are done.
    pub(in crate::engine) fn job_read(&mut self, ppa: Ppa, units: u32, cause: Cause) -> JobRead {
        if self.job_ops == 0 {
            self.job_reads.clear();
        }
        self.job_ops += 1;
        let read = self.job_reads.begin();
        self.submit(Work::Read { ppa, units }, Priority::MapRead, cause, Purpose::JobRead { read });
        read
    }
}
