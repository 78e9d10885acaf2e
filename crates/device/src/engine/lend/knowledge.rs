//! What the firmware knows of the mapping table: the view of a map unit for everybody who has a proof.

use nand::{Cause, Completed, Priority, Work};
use units::{Lpa, Ppa, SegmentId, Superblock};

use crate::engine::core::Core;
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

    /// The content of a map unit that a command wanted: read for it, never written, or in the segment cache when the
    /// command began.
    pub fn for_command(&self, unit: SegmentId, read: &LoadedSet) -> MapView<'_> {
        match read.get(unit) {
            Some(loaded) => self.view(loaded),
            None => {
                let copied = || self.truth().copied_for_command(unit);
                self.view(&self.unwritten(unit).unwrap_or_else(copied))
            }
        }
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

    /// What only the simulator knows.
    #[inline]
    pub fn truth(&self) -> Truth<'_> {
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
