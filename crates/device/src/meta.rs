//! Metadata superblocks and the directory: where every piece of metadata is on flash.
//!
//! A piece is a map unit (an L2P segment or a part of one, a translation page), a part of the segment bitmap of a
//! superblock, a part of a record of log blocks, or a page of the journal of trims. All take one flash unit but map
//! units, which take several or share one (`MapUnits`); of those that share one, the spare area names each
//! (`Pages::labels`). The directory is small enough for SRAM (4 bytes per piece). So that it survives a power cut, a
//! snapshot of it stands at the beginning of every metadata superblock; what was written since is found by scanning the
//! superblocks that were filled since (as MSFTL Sec. 3.3 does for its directory).

use std::collections::VecDeque;
use std::ops::Range;

use nand::Layout;
use units::{Ppa, SegmentId, Seq, Superblock, UNIT_BYTES};

use crate::directory::{Directory, JOURNAL_PAGES, Piece};
use crate::knowledge::{Expected, Pages, Programmed, Record, Snapshot, TrimRecord};
use crate::map_units::{MapUnits, Numbered};

/// What a piece is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An L2P segment.
    Segment(SegmentId),
    /// A part of the segment bitmap of a data superblock.
    Bitmap,
    /// A part of one of the two records.
    Record(usize),
    /// A page of the journal of trims.
    Journal(usize),
}

/// How pieces that are programmed together share out the flash units: in their order, map units that are smaller than a
/// flash unit side by side.
#[derive(Clone, Copy, Debug)]
pub struct Placing {
    units: MapUnits,
    segments: u32,
    next: u32,
    /// Map units that still fit the last flash unit.
    left: u32,
}

impl Placing {
    /// The flash units of the next piece, counted from the start of the program.
    #[inline]
    pub fn put(&mut self, piece: Piece) -> Range<u32> {
        let is_segment = piece.0 < self.segments;
        if is_segment && self.left > 0 {
            self.left -= 1;
            return self.next - 1..self.next;
        }
        let first = self.next;
        self.next += if is_segment { self.units.flash_units() } else { 1 };
        self.left = if is_segment { self.units.per_flash_unit() - 1 } else { 0 };
        first..self.next
    }

    /// Flash units so far.
    #[inline]
    pub fn units(&self) -> u32 {
        self.next
    }

    /// Is the first of these in use already?
    #[inline]
    pub fn shares(&self, units: &Range<u32>) -> bool {
        units.start < self.next
    }
}

/// Everything about metadata superblocks and the directory.
#[derive(Debug)]
pub struct Meta {
    layout: Layout,
    units: MapUnits,
    segments: u32,
    first: u32,
    /// Parts of a record.
    record_parts: u32,
    /// Contents of the pages.
    pages: Pages,
    directory: Directory,
    /// Up to which change each segment on flash is complete: what is stored with it, or what the host has attested.
    /// Empty if only spare areas say it ([`Numbered::Spare`]).
    seq: Vec<Seq>,
    /// Valid units per metadata superblock.
    valid: Vec<u32>,
    free: VecDeque<Superblock>,
    closed: Vec<Superblock>,
    open: Option<(Superblock, u32)>,
    /// Closed because their snapshots could not be programmed.
    abandoned: Vec<Superblock>,
    /// Order of programs; in the spare area of every piece.
    stamp: u32,
}

/// Where metadata superblocks stand after a power cut.
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Place of every piece, packed.
    pub place: Vec<u32>,
    /// Erased superblocks.
    pub free: Vec<Superblock>,
    /// All others.
    pub used: Vec<Superblock>,
    /// Highest stamp seen.
    pub stamp: u32,
}

impl Meta {
    /// Nothing written yet.
    pub fn new(layout: Layout, units: MapUnits) -> Meta {
        Meta::with_pages(layout, units, Pages::new(units, JOURNAL_PAGES as usize))
    }

    /// After a power cut: nothing but what stands in the pages.
    pub fn with_pages(layout: Layout, units: MapUnits, pages: Pages) -> Meta {
        let geometry = *layout.geometry();
        let segments = units.count();
        let first = geometry.data_superblocks;
        // A record names the log blocks and has two bits for every data superblock.
        let record_parts = (256 + geometry.data_superblocks.div_ceil(4)).div_ceil(UNIT_BYTES as u32);
        let bitmaps = geometry.data_superblocks * units.bitmap_parts();
        let pieces = segments + bitmaps + 2 * record_parts + JOURNAL_PAGES;
        let labelled =
            if units.per_flash_unit() > 1 { geometry.meta_superblocks * layout.superblock_units() } else { 0 };
        let mut pages = pages.divided(units);
        pages.resize_labels(labelled as usize);
        Meta {
            units,
            segments,
            first,
            record_parts,
            pages,
            directory: Directory::new(pieces),
            seq: vec![Seq(0); if units.numbered() == Numbered::Directory { segments as usize } else { 0 }],
            valid: vec![0; geometry.meta_superblocks as usize],
            free: (first..first + geometry.meta_superblocks).map(Superblock).collect(),
            closed: Vec::new(),
            open: None,
            abandoned: Vec::new(),
            stamp: 0,
            layout,
        }
    }

    /// How the mapping table is divided into pieces.
    #[inline]
    pub fn units(&self) -> MapUnits {
        self.units
    }

    /// Contents of the pages. What stands in map units takes a proof to see.
    #[inline]
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// The same, to be changed with what has been programmed.
    #[inline]
    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// All parts of a record have been programmed, this one last.
    ///
    /// # Panics
    /// If `last` is no part of that record.
    pub(crate) fn record_written(&mut self, last: &Programmed, slot: usize, record: Record) {
        assert!(self.kind(last.piece()) == Kind::Record(slot), "{last:?} is no part of record {slot}");
        self.pages.set_record(last, slot, record);
    }

    /// A page of the journal has been programmed.
    ///
    /// # Panics
    /// If `programmed` is not that page.
    pub(crate) fn journal_written(&mut self, programmed: &Programmed, page: usize, trims: Vec<TrimRecord>) {
        assert!(
            self.kind(programmed.piece()) == Kind::Journal(page),
            "{programmed:?} is not page {page} of the journal"
        );
        self.pages.set_journal(programmed, page, trims);
    }

    /// What is left of metadata without power.
    pub fn into_pages(self) -> Pages {
        self.pages
    }

    /// The directory.
    #[inline]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Takes over what a scan has found; `numbers` are the sequence numbers stored with the map units.
    pub fn restore(&mut self, rebuilt: Rebuilt, numbers: Vec<Seq>) {
        self.directory = Directory::restored(rebuilt.place);
        self.valid.fill(0);
        for (_, ppa) in self.directory.on_flash() {
            self.valid[(self.layout.superblock_of(ppa).0 - self.first) as usize] += 1;
        }
        if !self.seq.is_empty() {
            self.seq = numbers;
        }
        self.free = rebuilt.free.into();
        self.closed = rebuilt.used;
        self.open = None;
        self.stamp = rebuilt.stamp;
    }

    /// Number of pieces that the directory has a place for.
    pub fn pieces(&self) -> u32 {
        self.directory.pieces()
    }

    /// Units that a snapshot takes: place and sequence number of every piece, the erase count of every data superblock.
    /// Where the numbers stand in spare areas, one stands for all that were written before: the highest.
    pub fn snapshot_units(&self) -> u32 {
        let pieces = match self.units.numbered() {
            Numbered::Directory => 8 * self.pieces(),
            Numbered::Spare => 4 * self.pieces() + 4,
        };
        let bytes = pieces + 4 * self.first;
        bytes.div_ceil(UNIT_BYTES as u32).next_multiple_of(self.program_units())
    }

    /// Programs of metadata are multiples of this: whole plane pages, and room for a whole map unit, so that none is
    /// ever split.
    #[inline]
    pub fn program_units(&self) -> u32 {
        self.layout.geometry().units_per_page.max(self.units.flash_units())
    }

    /// The layout of a program.
    #[inline]
    pub fn placing(&self) -> Placing {
        Placing { units: self.units, segments: self.segments, next: 0, left: 0 }
    }

    /// Notes in the spare areas from `ppa` on which of these pieces share a unit. It may be noted while the program
    /// begins: a unit that is not programmed completely cannot be read.
    pub fn label(&mut self, ppa: Ppa, pieces: &[u32]) {
        if self.units.per_flash_unit() == 1 {
            return;
        }
        let first = self.label_slot(ppa);
        let mut placing = self.placing();
        for &piece in pieces {
            let fresh = placing;
            let units = placing.put(Piece(piece));
            let label = self.pages.label(first + units.start as usize);
            if !fresh.shares(&units) {
                label.clear();
            }
            label.push(piece);
        }
    }

    /// The pieces in a unit whose spare area was read and shows `mark`.
    pub fn pieces_at(&self, ppa: Ppa, mark: u32) -> Vec<Piece> {
        let label = self.pages.label_at(self.label_slot(ppa)).filter(|label| label.first() == Some(&mark));
        label.map_or_else(|| vec![Piece(mark)], |label| label.iter().copied().map(Piece).collect())
    }

    fn label_slot(&self, ppa: Ppa) -> usize {
        (ppa.0 - self.layout.first_ppa(Superblock(self.first)).0) as usize
    }

    /// Flash units that a piece takes, if it does not share one.
    #[inline]
    pub fn units_of(&self, piece: Piece) -> u32 {
        if piece.0 < self.segments { self.units.flash_units() } else { 1 }
    }

    /// What stands in the spare area of part `i` of a snapshot in place of a piece.
    pub fn snapshot_mark(&self, i: u32) -> u32 {
        self.pieces() + i
    }

    /// What a piece is.
    pub fn kind(&self, piece: Piece) -> Kind {
        let records = self.first_record();
        let journal = records + 2 * self.record_parts;
        match piece.0 {
            n if n < self.segments => Kind::Segment(SegmentId(n)),
            n if n < records => Kind::Bitmap,
            n if n < journal => Kind::Record(((n - records) / self.record_parts) as usize),
            n => Kind::Journal((n - journal) as usize),
        }
    }

    fn first_record(&self) -> u32 {
        self.segments + self.first * self.units.bitmap_parts()
    }

    /// The parts of a record.
    pub fn record_pieces(&self, slot: usize) -> Vec<Piece> {
        let start = self.first_record() + slot as u32 * self.record_parts;
        (start..start + self.record_parts).map(Piece).collect()
    }

    /// A page of the journal.
    pub fn journal_piece(&self, page: usize) -> Piece {
        Piece(self.first_record() + 2 * self.record_parts + page as u32)
    }

    /// The piece that holds a segment.
    pub fn segment_piece(&self, segment: SegmentId) -> Piece {
        Piece::of(segment)
    }

    /// The parts of the segment bitmap of a data superblock.
    pub fn bitmap_pieces(&self, sb: Superblock) -> impl Iterator<Item = Piece> + use<> {
        let parts = self.units.bitmap_parts();
        let first = self.segments + sb.0 * parts;
        (first..first + parts).map(Piece)
    }

    /// Where a piece is on flash, if it was ever written.
    #[inline]
    pub fn place(&self, piece: Piece) -> Option<Ppa> {
        self.directory.place(piece)
    }

    /// A map unit, and where it is.
    #[inline]
    pub fn expected(&self, unit: SegmentId) -> Expected {
        Expected::new(&self.directory, unit)
    }

    /// The next stamp.
    pub fn next_stamp(&mut self) -> u32 {
        self.stamp = self.stamp.checked_add(1).expect("fewer than 2^32 metadata units are ever written");
        self.stamp
    }

    /// Up to which change the segment on flash is complete, for a directory that knows it.
    #[inline]
    pub fn segment_seq(&self, segment: SegmentId) -> Seq {
        self.seq[segment.index()]
    }

    /// Raises that number, where it is kept.
    pub fn raise_segment_seq(&mut self, segment: SegmentId, seq: Seq) {
        if let Some(slot) = self.seq.get_mut(segment.index()) {
            *slot = (*slot).max(seq);
        }
    }

    /// A segment has been programmed: its content is complete up to `seq`.
    pub fn segment_written(&mut self, programmed: &Programmed, seq: Seq) {
        self.pages.set_seq(programmed, seq);
        self.raise_segment_seq(SegmentId(programmed.piece().0), seq);
    }

    /// Opens the next superblock if none is open; true if it did, and a snapshot has to be written first.
    pub fn open_next(&mut self) -> bool {
        if self.open.is_some() {
            return false;
        }
        let sb = self.free.pop_front().expect("metadata GC keeps superblocks free");
        self.open = Some((sb, 0));
        self.abandoned.retain(|&other| other != sb);
        let next = self.free.iter().take(2).copied().collect();
        self.pages.add_snapshot(Snapshot { sb, place: self.directory.to_packed(), next });
        true
    }

    /// Free metadata superblocks.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Units up to the end of the row that is written next, in the open superblock.
    pub fn room_in_row(&self) -> u32 {
        let (sb, offset) = self.open_block();
        self.layout.units_left_in_row(self.layout.first_ppa(sb).offset(offset))
    }

    fn open_block(&self) -> (Superblock, u32) {
        self.open.expect("a metadata superblock is opened before it is written")
    }

    /// Takes `units` units, whole pages, of the current row.
    pub fn allocate(&mut self, units: u32) -> Ppa {
        let (sb, offset) = self.open_block();
        let ppa = self.layout.first_ppa(sb).offset(offset);
        if offset + units == self.layout.superblock_units() {
            self.closed.push(sb);
            self.open = None;
        } else {
            self.open = Some((sb, offset + units));
        }
        ppa
    }

    /// A piece was programmed at `ppa`: the directory follows.
    pub fn moved(&mut self, piece: Piece, ppa: Ppa) {
        if let Some(old) = self.directory.replace(piece, Some(ppa)) {
            let at = self.valid_slot(old);
            self.valid[at] -= 1;
        }
        let at = self.valid_slot(ppa);
        self.valid[at] += 1;
    }

    /// Forgets a piece, for the bitmap of an erased superblock.
    pub fn drop_piece(&mut self, piece: Piece) {
        if let Some(old) = self.directory.replace(piece, None) {
            let at = self.valid_slot(old);
            self.valid[at] -= 1;
        }
    }

    fn valid_slot(&self, ppa: Ppa) -> usize {
        (self.layout.superblock_of(ppa).0 - self.first) as usize
    }

    /// The closed metadata superblock with the fewest valid pieces, and these pieces with their places, in order of
    /// place. It leaves the list of closed ones.
    pub fn take_victim(&mut self) -> Option<(Superblock, Vec<(Ppa, Piece)>)> {
        let at = (0..self.closed.len())
            .min_by_key(|&i| (self.valid[(self.closed[i].0 - self.first) as usize], self.closed[i]))?;
        let sb = self.closed.swap_remove(at);
        let on_flash = self.directory.on_flash().map(|(piece, ppa)| (ppa, piece));
        let mut pieces: Vec<(Ppa, Piece)> = on_flash.filter(|(ppa, _)| self.layout.superblock_of(*ppa) == sb).collect();
        // Those of one unit behind those that share one, or take several: so a program has no gaps.
        let is_single = |piece: Piece| !self.units.is_plain() && piece.0 >= self.segments;
        pieces.sort_unstable_by_key(|&(ppa, piece)| (is_single(piece), ppa, piece));
        Some((sb, pieces))
    }

    /// A part of the snapshot in a superblock could not be programmed: if it is still open, another one has to be
    /// opened.
    pub fn abandon(&mut self, sb: Superblock) {
        if self.open.is_some_and(|(open, _)| open == sb) {
            self.open = None;
            self.closed.push(sb);
        }
        self.abandoned.push(sb);
    }

    /// Is a superblock open?
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// A superblock that was abandoned and holds nothing valid, to be erased. It needs no other place for anything.
    pub fn take_abandoned(&mut self) -> Option<Superblock> {
        let useless = |sb: &Superblock| self.abandoned.contains(sb) && self.valid[(sb.0 - self.first) as usize] == 0;
        let at = self.closed.iter().position(useless)?;
        Some(self.closed.swap_remove(at))
    }

    /// After a power cut: takes a superblock that is to be erased and opened next off its list, if no piece in it is
    /// valid.
    pub fn take_next(&mut self, sb: Superblock) -> bool {
        if self.valid[(sb.0 - self.first) as usize] > 0 {
            return false;
        }
        self.free.retain(|&other| other != sb);
        self.closed.retain(|&other| other != sb);
        true
    }

    /// The same for any superblock without valid pieces but `keep`, erased ones first.
    pub fn take_any(&mut self, keep: Option<Superblock>) -> Option<Superblock> {
        let usable = |sb: &&Superblock| self.valid[(sb.0 - self.first) as usize] == 0 && Some(**sb) != keep;
        let sb = *self.free.iter().chain(&self.closed).find(usable)?;
        self.take_next(sb);
        Some(sb)
    }

    /// Puts superblocks at the head of the free ones.
    pub fn free_first(&mut self, first: &[Superblock]) {
        self.free.make_contiguous().sort_by_key(|sb| first.iter().position(|f| f == sb).unwrap_or(first.len()));
    }

    /// A metadata superblock is erased.
    pub fn erased(&mut self, sb: Superblock) {
        assert_eq!(self.valid[(sb.0 - self.first) as usize], 0, "metadata {sb} erased with valid pieces");
        self.free.push_back(sb);
    }

    /// Bytes of the places of all map units: GTD, or MSD (MSFTL Sec. 3.3).
    pub fn map_directory_bytes(&self) -> u64 {
        4 * u64::from(self.segments)
    }

    /// Bytes of SRAM that the directory and the sequence numbers of the segments, if it has them, take (4 bytes each).
    pub fn table_bytes(&self) -> u64 {
        4 * (u64::from(self.directory.pieces()) + self.seq.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::core::Core;
    use crate::map_units::MapShape;
    use crate::mapping::small;

    fn core() -> Core {
        Core::in_test(small::config(), MapUnits::new(4096, MapShape::part_of_segment(4096)))
    }

    /// The last part of record 1 and page 3 of the journal are on flash.
    fn programmed(meta: &Meta) -> [Programmed; 2] {
        let last = *meta.record_pieces(1).last().expect("a record has parts");
        [last, meta.journal_piece(3)].map(|piece| Programmed::in_test(piece, Ppa(0)))
    }

    #[test]
    fn records_and_pages_of_the_journal_change_with_the_proof_of_their_program() {
        let mut core = core();
        let meta = core.meta_in_test();
        let [record, journal] = programmed(meta);
        meta.record_written(&record, 1, Record::default());
        meta.journal_written(&journal, 3, Vec::new());
    }

    #[test]
    #[should_panic = "is no part of record 0"]
    fn a_record_does_not_change_with_the_program_of_another() {
        let mut core = core();
        let meta = core.meta_in_test();
        let [record, _] = programmed(meta);
        meta.record_written(&record, 0, Record::default());
    }

    #[test]
    #[should_panic = "is not page 2 of the journal"]
    fn a_page_of_the_journal_does_not_change_with_the_program_of_another() {
        let mut core = core();
        let meta = core.meta_in_test();
        let [_, journal] = programmed(meta);
        meta.journal_written(&journal, 2, Vec::new());
    }
}
