//! Pieces of the mapping table.

use nand::{Cause, Priority, Work};
use ufs::SegmentState;
use units::{Lpa, MapUnit, Ppa, Seq};

use crate::core::ops::{ProgramReason, Purpose};
use crate::core::{Core, META_RESERVE, MapPrograms};
use crate::knowledge::meta::Meta;
use crate::knowledge::{Programmed, Round, Sharing, TrimRecord};
use crate::table::directory::Piece;
use crate::table::map_units::MapUnits;

impl Core {
    /// Where the pieces of metadata are, and how they share flash units.
    #[inline(always)]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The division of the mapping table into map units.
    #[inline(always)]
    pub fn units(&self) -> MapUnits {
        self.meta.units()
    }

    /// The place of a map unit on flash; `None` if it was never written.
    #[inline(always)]
    pub fn place_of(&self, unit: MapUnit) -> Option<Ppa> {
        self.meta.place(self.meta.segment_piece(unit))
    }

    /// True if metadata superblocks are so short that some have to be collected before more metadata is programmed.
    pub fn metadata_runs_short(&self) -> bool {
        self.meta.free() <= META_RESERVE
    }

    /// Reads the map units of a round for a map flush. Gives the number of reads. The flush continues when all of its
    /// operations are done.
    pub fn read_for_flush(&mut self, round: &mut Round, sharing: Sharing) -> u64 {
        let reads = self.read_round(round, sharing, Cause::MapRead);
        self.stats.segment_reads += reads;
        reads
    }

    /// Reads the map units of a round for a valid page search. Gives the number of reads.
    pub fn read_for_search(&mut self, round: &mut Round) -> u64 {
        let reads = self.read_round(round, Sharing::IfAdjacent, Cause::ValidPageSearch);
        self.stats.search_segment_reads += reads;
        reads
    }

    /// Reads the spare areas of `units` units for a valid page search, or as many flash units of a segment bitmap.
    pub fn scan_for_search(&mut self, ppa: Ppa, units: u32) {
        self.job_read(ppa, units, Cause::ValidPageSearch);
    }

    /// Programs map units for a map flush. The flush continues when all of them are on flash.
    pub fn program_map_units(&mut self, pieces: &[Piece]) {
        self.stats.segment_writes += pieces.len() as u64;
        self.program_all_pieces(pieces, ProgramReason::Job);
    }

    /// Programs segment bitmaps for a map flush.
    pub fn program_bitmaps(&mut self, pieces: &[Piece]) {
        self.program_all_pieces(pieces, ProgramReason::Job);
    }

    /// Programs up to a row of map units while commands run. Gives the place of the first and the number of units
    /// taken. When the program is done, the engine calls
    /// [`Background::piece_programmed`](crate::seat::Background::piece_programmed) for each.
    pub fn program_in_background(&mut self, pieces: &[Piece]) -> (Ppa, usize) {
        let (ppa, taken) = self.program_pieces(pieces, ProgramReason::Background);
        self.stats.segment_writes += taken as u64;
        (ppa, taken)
    }

    /// Reads the map unit at a place for a map flush that does other things meanwhile. When the read is done, the
    /// engine calls [`Flush::read_done`](crate::seat::Flush::read_done).
    pub fn read_beside(&mut self, place: Ppa, priority: Priority) {
        self.stats.segment_reads += 1;
        let work = Work::Read { ppa: place, units: self.meta.units().flash_units() };
        self.submit(work, priority, Cause::MapRead, Purpose::FlushRead { place });
    }

    /// Programs up to a row of map units for a map flush that does other things meanwhile. Gives the number of units
    /// taken. When the program is done, the engine calls
    /// [`Flush::unit_programmed`](crate::seat::Flush::unit_programmed) for each.
    pub fn program_beside(&mut self, pieces: &[Piece]) -> usize {
        let (_, taken) = self.program_pieces(pieces, ProgramReason::Flush);
        self.stats.segment_writes += taken as u64;
        taken
    }

    /// Programs segment bitmaps that have the changes up to `last`, for a map flush that does other things meanwhile.
    pub fn program_bitmaps_beside(&mut self, pieces: &[Piece], last: Seq) {
        self.bitmaps_in_flight = pieces.len() as u32;
        self.bitmaps_have = last;
        self.program_all_pieces(pieces, ProgramReason::Flush);
    }

    /// Writes a snapshot of the directory, for a scheme that says when
    /// ([`Scheme::schedules_directory`](crate::seat::Scheme::schedules_directory)): now, or at the start of the next
    /// metadata superblock if the open one has no room.
    pub fn write_directory(&mut self) {
        if self.meta.schedule_snapshot() {
            self.program_snapshot();
        }
    }

    /// Parts of segment bitmaps whose programs are in flight.
    #[inline]
    pub fn bitmaps_in_flight(&self) -> u32 {
        self.bitmaps_in_flight
    }

    /// A map unit is on flash, complete up to `seq`.
    pub fn segment_written(&mut self, programmed: &Programmed, seq: Seq) {
        self.meta.segment_written(programmed, seq);
    }

    /// A map unit with these entries, packed, is on flash, complete up to `seq`, and so was a newer copy of it before.
    pub fn older_copy_written(&mut self, programmed: &Programmed, seq: Seq, packed: &[u32]) {
        self.meta.pages_mut().set_older(programmed, seq, packed);
    }

    /// The host attests that the map unit on flash is complete up to `seq`.
    pub fn raise_segment_seq(&mut self, unit: MapUnit, seq: Seq) {
        self.meta.raise_segment_seq(unit, seq);
    }

    /// Sets an entry of a map unit that is on flash now.
    #[inline]
    pub fn set_entry(&mut self, programmed: &Programmed, lpa: Lpa, ppa: Option<Ppa>) {
        self.meta.pages_mut().set_entry(programmed, lpa, ppa);
    }

    /// Sets all entries, packed, of a map unit that is on flash now.
    pub fn set_unit(&mut self, programmed: &Programmed, packed: &[u32]) {
        self.meta.pages_mut().set_unit(programmed, packed);
    }

    /// Prefetches the entry of an address, which will be looked up when its map unit has been read.
    #[inline]
    pub fn prefetch_entry(&self, lpa: Lpa) {
        self.meta.pages().prefetch_entry(lpa);
    }

    /// Prefetches where the content of a map unit is, which will be replaced soon.
    #[inline]
    pub fn prefetch_unit(&self, unit: MapUnit) {
        self.meta.pages().prefetch(unit);
    }

    /// Sets all entries of a map unit that is a whole segment and is on flash now.
    pub fn set_unit_state(&mut self, programmed: &Programmed, state: SegmentState) {
        self.meta.pages_mut().set_unit_state(programmed, state);
    }

    /// Valid pages of each superblock, counted by recovery in the map units that it has read. Gives them once.
    pub fn take_counted(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.counted)
    }

    /// The trims that recovery has found in the journal. Gives them once.
    pub fn take_restored_trims(&mut self) -> Vec<TrimRecord> {
        self.trims.take_restored()
    }

    /// The table that recovery has rebuilt for a scheme that keeps it in DRAM, packed, by LPA. Gives it once.
    pub fn take_rebuilt(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.rebuilt)
    }

    /// Flash units of metadata programmed since power-on, by what they held.
    pub fn map_programs(&self) -> MapPrograms {
        self.map_programs
    }
}
