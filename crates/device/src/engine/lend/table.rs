//! Pieces of the mapping table.

use std::ops::Range;

use nand::Cause;
use ufs::SegmentState;
use units::{Lpa, Ppa, SegmentId, Seq};

use crate::engine::core::{Core, META_RESERVE, MapPrograms};
use crate::map_units::MapUnits;
use crate::meta::{Meta, Piece};
use crate::ops::ProgramReason;

impl Core {
    /// Where the pieces of metadata are, and how they share flash units.
    #[inline(always)]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// How the mapping table is divided.
    #[inline(always)]
    pub fn units(&self) -> MapUnits {
        self.meta.units()
    }

    /// Where a map unit is on flash, if it was ever written.
    #[inline(always)]
    pub fn place_of(&self, unit: SegmentId) -> Option<Ppa> {
        self.meta.place(self.meta.segment_piece(unit))
    }

    /// True if metadata superblocks are so short that some have to be collected before more is programmed.
    pub fn metadata_runs_short(&self) -> bool {
        self.meta.free() <= META_RESERVE
    }

    /// Reads `units` flash units of the table for a map flush, which goes on when all its operations are done.
    pub fn read_for_flush(&mut self, ppa: Ppa, units: u32) {
        self.stats.segment_reads += 1;
        self.job_read(ppa, units, Cause::MapRead);
    }

    /// Reads flash units of the table for a valid page search.
    pub fn read_for_search(&mut self, ppa: Ppa, units: u32) {
        self.stats.search_segment_reads += 1;
        self.job_read(ppa, units, Cause::ValidPageSearch);
    }

    /// Reads the spare areas of `units` units, or as many flash units of a segment bitmap, for a valid page search.
    pub fn scan_for_search(&mut self, ppa: Ppa, units: u32) {
        self.job_read(ppa, units, Cause::ValidPageSearch);
    }

    /// Programs map units as part of a map flush, which goes on when all of them are on flash.
    pub fn program_map_units(&mut self, pieces: &[Piece]) {
        self.stats.segment_writes += pieces.len() as u64;
        self.program_all_pieces(pieces, ProgramReason::Job);
    }

    /// Programs segment bitmaps as part of a map flush.
    pub fn program_bitmaps(&mut self, pieces: &[Piece]) {
        self.program_all_pieces(pieces, ProgramReason::Job);
    }

    /// Programs map units beside commands, up to a row of them. Gives where it put the first and how many it took; the
    /// engine asks [`Background::piece_programmed`](crate::seat::Background::piece_programmed) about each.
    pub fn program_beside(&mut self, pieces: &[Piece]) -> (Ppa, usize) {
        let (ppa, taken) = self.program_pieces(pieces, ProgramReason::Background);
        self.stats.segment_writes += taken as u64;
        (ppa, taken)
    }

    /// A map unit is on flash, complete up to `seq`.
    pub fn segment_written(&mut self, unit: SegmentId, seq: Seq) {
        self.meta.segment_written(unit, seq);
    }

    /// The map unit on flash is complete up to `seq`, as the host attests.
    pub fn raise_segment_seq(&mut self, unit: SegmentId, seq: Seq) {
        self.meta.raise_segment_seq(unit, seq);
    }

    /// An entry of a map unit that is on flash now.
    #[inline]
    pub fn set_entry(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        self.meta.pages.set_entry(lpa, ppa);
    }

    /// Entries, packed, of a map unit that is on flash now.
    pub fn set_entries(&mut self, range: Range<u32>, packed: &[u32]) {
        self.meta.pages.set_entries(range, packed);
    }

    /// A whole segment that is on flash now.
    pub fn set_state(&mut self, segment: SegmentId, state: SegmentState) {
        self.meta.pages.set_state(segment, state);
    }

    /// The table that recovery has rebuilt for a scheme that keeps it in DRAM, packed, by LPA.
    pub fn take_rebuilt(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.rebuilt)
    }

    /// Flash units of metadata programmed since power-on, by what they held.
    pub fn map_programs(&self) -> MapPrograms {
        self.map_programs
    }
}
