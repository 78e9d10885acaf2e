//! Metadata superblocks, and the place of every piece of metadata.
//!
//! A piece is a map unit (an L2P segment or a part of one, a translation page), a part of the segment bitmap of a
//! superblock, a part of a record of log blocks, or a page of the journal of trims. A map unit takes several flash
//! units, or one, or shares one (`MapUnits`); the spare area of a shared one names each map unit (`Pages::labels`). All
//! other pieces take one. The directory fits SRAM (4 bytes per piece). To survive a power cut, a snapshot of it is
//! written at the start of every metadata superblock, or when the scheme says so. Recovery finds later changes by
//! scanning the superblocks that were filled since (as MSFTL Sec. 3.3 does for its directory).

use std::collections::VecDeque;
use std::ops::Range;

use nand::Layout;
use units::{MapUnit, Ppa, Seq, Superblock, UNIT_BYTES};

use crate::knowledge::{Expected, Pages, Programmed, Snapshot};
use crate::table::directory::{Directory, JOURNAL_PAGES, Piece};
use crate::table::map_units::{MapUnits, Numbered};

/// Kind of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// An L2P segment.
    Segment(MapUnit),
    /// A part of the segment bitmap of this data superblock.
    Bitmap(Superblock),
    /// A part of one of the two records.
    Record(usize),
    /// A page of the journal of trims.
    Journal(usize),
}

impl Kind {
    /// True if such a piece may leave the directory. A power cut may bring its place in an older snapshot back.
    pub fn can_be_dropped(self) -> bool {
        matches!(self, Kind::Bitmap(_) | Kind::Journal(_))
    }
}

/// Layout of pieces that are programmed together: in their order, with as many small map units in a flash unit as fit.
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

    /// Flash units placed so far.
    #[inline]
    pub fn units(&self) -> u32 {
        self.next
    }

    /// True if the first of these flash units holds an earlier piece, too.
    #[inline]
    pub fn shares(&self, units: &Range<u32>) -> bool {
        units.start < self.next
    }
}

/// Metadata superblocks and the directory.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Meta {
    layout: Layout,
    units: MapUnits,
    segments: u32,
    first: u32,
    /// Number of parts of a record.
    record_parts: u32,
    /// Content of the metadata pages.
    pages: Pages,
    directory: Directory,
    /// The number up to which each segment on flash is complete: the one stored with it, or one that the host has
    /// attested. Empty if only spare areas have it ([`Numbered::Spare`]).
    seq: Vec<Seq>,
    /// Valid units per metadata superblock.
    valid: Vec<u32>,
    free: VecDeque<Superblock>,
    closed: Vec<Superblock>,
    open: Option<(Superblock, u32)>,
    /// Closed superblocks whose snapshot could not be programmed.
    abandoned: Vec<Superblock>,
    /// True if the scheme says when a snapshot is written; else every superblock begins with one.
    scheduled: bool,
    /// If so: a snapshot has to be written as soon as there is room.
    due: bool,
    /// If so: first units of the last snapshots, oldest first. The superblock of the newest one is not collected.
    snapshots: Vec<Ppa>,
    /// Number of the last program; the spare area of every piece has one.
    stamp: u32,
}

/// State of the metadata superblocks that recovery has found.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug, Default)]
pub struct Rebuilt {
    /// Place of every piece, packed.
    pub place: Vec<u32>,
    /// Erased superblocks.
    pub free: Vec<Superblock>,
    /// All other superblocks.
    pub used: Vec<Superblock>,
    /// Highest stamp found.
    pub stamp: u32,
}

fn metadata_units(layout: &Layout) -> u32 {
    layout.geometry().meta_superblocks * layout.superblock_units()
}

impl Meta {
    /// Metadata of a new device: nothing is written.
    pub fn new(layout: Layout, units: MapUnits) -> Meta {
        Meta::with_pages(layout, Pages::new(units))
    }

    /// Metadata after a power cut: only the pages are left.
    pub fn with_pages(layout: Layout, mut pages: Pages) -> Meta {
        let units = pages.units();
        let geometry = *layout.geometry();
        let segments = units.count();
        let first = geometry.data_superblocks;
        // A record names the log blocks and has two bits for each data superblock.
        let record_parts = (256 + geometry.data_superblocks.div_ceil(4)).div_ceil(UNIT_BYTES as u32);
        let bitmaps = geometry.data_superblocks * units.bitmap_parts();
        let pieces = segments + bitmaps + 2 * record_parts + JOURNAL_PAGES;
        let labelled = if units.per_flash_unit() > 1 { metadata_units(&layout) } else { 0 };
        pages.resize_labels(layout.first_ppa(Superblock(first)), labelled as usize);
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
            scheduled: false,
            due: false,
            snapshots: Vec::new(),
            stamp: 0,
            layout,
        }
    }

    /// The division of the mapping table into map units.
    #[inline]
    pub fn units(&self) -> MapUnits {
        self.units
    }

    /// Content of the metadata pages. A view of a map unit needs a proof.
    #[inline]
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Content of the metadata pages, for changes with proofs of programs.
    #[inline]
    pub(crate) fn pages_mut(&mut self) -> &mut Pages {
        &mut self.pages
    }

    /// The metadata pages, which are all that is left without power.
    pub fn into_pages(self) -> Pages {
        self.pages
    }

    /// The directory.
    #[inline]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Sets the directory to places that recovery has found. `numbers` are the sequence numbers stored with the map
    /// units.
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
        self.due = true;
        self.stamp = rebuilt.stamp;
    }

    /// Flash units of all metadata superblocks.
    pub fn flash_units(&self) -> u32 {
        metadata_units(&self.layout)
    }

    /// Number of pieces that the directory has a place for.
    pub fn pieces(&self) -> u32 {
        self.directory.pieces()
    }

    /// Units of a snapshot: place and sequence number of every piece, and the erase count of every data superblock. If
    /// spare areas have the numbers, the snapshot has only the highest number of all that was written before.
    pub fn snapshot_units(&self) -> u32 {
        let pieces = match self.units.numbered() {
            Numbered::Directory => 8 * self.pieces(),
            Numbered::Spare => 4 * self.pieces() + 4,
        };
        let bytes = pieces + 4 * self.first;
        bytes.div_ceil(UNIT_BYTES as u32).next_multiple_of(self.program_units())
    }

    /// Units of a program of metadata are a multiple of this. A program has whole plane pages, and room for a whole map
    /// unit, so that no map unit is ever split.
    #[inline]
    pub fn program_units(&self) -> u32 {
        self.layout.geometry().units_per_page.max(self.units.flash_units())
    }

    /// The layout of a new program.
    #[inline]
    pub fn placing(&self) -> Placing {
        Placing { units: self.units, segments: self.segments, next: 0, left: 0 }
    }

    /// Notes, for the spare areas from `ppa` on, which of these pieces share a flash unit. This may be noted when the
    /// program begins, because a unit that is not programmed completely cannot be read.
    pub fn label(&mut self, ppa: Ppa, pieces: &[u32]) {
        if self.units.per_flash_unit() == 1 {
            return;
        }
        let mut placing = self.placing();
        for &piece in pieces {
            let fresh = placing;
            let units = placing.put(Piece(piece));
            let label = self.pages.label(ppa.offset(units.start)).expect("every flash unit of metadata has a label");
            if !fresh.shares(&units) {
                label.clear();
            }
            label.push(piece);
        }
    }

    /// The pieces in a flash unit whose spare area was read and has `mark`.
    pub fn pieces_at(&self, ppa: Ppa, mark: u32) -> Vec<Piece> {
        let label = self.pages.label_at(ppa, mark);
        label.map_or_else(|| vec![Piece(mark)], |label| label.iter().copied().map(Piece).collect())
    }

    /// True if metadata is programmed at this place.
    #[inline]
    pub fn is_metadata(&self, ppa: Ppa) -> bool {
        ppa >= self.layout.first_ppa(Superblock(self.first))
    }

    /// Flash units of a piece; 1 if it shares one.
    #[inline]
    pub fn units_of(&self, piece: Piece) -> u32 {
        if piece.0 < self.segments { self.units.flash_units() } else { 1 }
    }

    /// The mark in the spare area of part `i` of a snapshot. Other spare areas have the number of a piece there.
    pub fn snapshot_mark(&self, i: u32) -> u32 {
        self.pieces() + i
    }

    /// The kind of a piece.
    #[inline]
    pub fn kind(&self, piece: Piece) -> Kind {
        if piece.0 < self.segments { Kind::Segment(MapUnit(piece.0)) } else { self.own_kind(piece) }
    }

    fn own_kind(&self, piece: Piece) -> Kind {
        let records = self.first_record();
        let journal = records + 2 * self.record_parts;
        match piece.0 {
            n if n < records => Kind::Bitmap(Superblock((n - self.segments) / self.units.bitmap_parts())),
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
    pub fn segment_piece(&self, segment: MapUnit) -> Piece {
        Piece::of(segment)
    }

    /// The parts of the segment bitmap of a data superblock.
    pub fn bitmap_pieces(&self, sb: Superblock) -> impl Iterator<Item = Piece> + use<> {
        let parts = self.units.bitmap_parts();
        let first = self.segments + sb.0 * parts;
        (first..first + parts).map(Piece)
    }

    /// Place of a piece; `None` if it was never written.
    #[inline]
    pub fn place(&self, piece: Piece) -> Option<Ppa> {
        self.directory.place(piece)
    }

    /// A map unit with its place.
    #[inline]
    pub fn expected(&self, unit: MapUnit) -> Expected {
        Expected::new(&self.directory, unit)
    }

    /// The next stamp.
    pub fn next_stamp(&mut self) -> u32 {
        self.stamp = self.stamp.checked_add(1).expect("fewer than 2^32 metadata units are ever written");
        self.stamp
    }

    /// The number up to which the segment on flash is complete. The directory must have it ([`Numbered::Directory`]).
    #[inline]
    pub fn segment_seq(&self, segment: MapUnit) -> Seq {
        self.seq[segment.index()]
    }

    /// Raises the number of a segment, if the directory has numbers.
    pub fn raise_segment_seq(&mut self, segment: MapUnit, seq: Seq) {
        if let Some(slot) = self.seq.get_mut(segment.index()) {
            *slot = (*slot).max(seq);
        }
    }

    /// A segment has been programmed. It is complete up to `seq`.
    pub fn segment_written(&mut self, programmed: &Programmed, seq: Seq) {
        self.pages.set_seq(programmed, seq);
        self.raise_segment_seq(MapUnit(programmed.piece().0), seq);
    }

    /// From now on the scheme says when a snapshot is written ([`Meta::schedule_snapshot`]).
    pub fn schedule_snapshots(&mut self) {
        self.scheduled = true;
    }

    /// True if the scheme says when a snapshot is written.
    pub fn snapshots_are_scheduled(&self) -> bool {
        self.scheduled
    }

    /// A snapshot has to be written: at the start of the next superblock, unless the open one has room for it now. True
    /// if it has.
    pub fn schedule_snapshot(&mut self) -> bool {
        self.due = true;
        let (all, needed) = (self.layout.superblock_units(), self.snapshot_units());
        self.open.is_some_and(|(_, offset)| offset + needed <= all)
    }

    /// True if a superblock that has just been opened has to begin with a snapshot.
    pub fn begins_with_snapshot(&self) -> bool {
        self.due || !self.scheduled
    }

    /// The caller writes a snapshot now, where metadata is programmed next.
    pub fn begin_snapshot(&mut self) {
        let (sb, offset) = self.open_block();
        let next = self.free.iter().take(2).copied().collect();
        let (stamp, place) = (self.stamp + 1, self.directory.to_packed());
        self.pages.add_snapshot(Snapshot { sb, stamp, place, next });
        self.due = false;
        if self.scheduled {
            self.snapshots.push(self.layout.first_ppa(sb).offset(offset));
        }
    }

    /// Opens the next superblock if none is open. True if it did.
    pub fn open_next(&mut self) -> bool {
        if self.open.is_some() {
            return false;
        }
        let sb = self.free.pop_front().expect("metadata GC keeps superblocks free");
        self.open = Some((sb, 0));
        self.abandoned.retain(|&other| other != sb);
        true
    }

    /// Free metadata superblocks.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Units up to the end of the row that is programmed next.
    pub fn room_in_row(&self) -> u32 {
        let (sb, offset) = self.open_block();
        self.layout.units_left_in_row(self.layout.first_ppa(sb).offset(offset))
    }

    fn open_block(&self) -> (Superblock, u32) {
        self.open.expect("a metadata superblock is opened before it is written")
    }

    /// Takes `units` units of the current row; they must be whole pages.
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

    /// A piece has been programmed at `ppa`. Updates the directory.
    #[inline]
    pub fn moved(&mut self, piece: Piece, ppa: Ppa) {
        if let Some(old) = self.directory.replace(piece, Some(ppa)) {
            let at = self.valid_slot(old);
            self.valid[at] -= 1;
        }
        let at = self.valid_slot(ppa);
        self.valid[at] += 1;
    }

    /// Removes a piece from the directory. Used for the bitmap of an erased superblock.
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
    /// place. The superblock leaves the list of closed ones. No program is in flight, so the newest snapshot is whole.
    pub fn take_victim(&mut self) -> Option<(Superblock, Vec<(Ppa, Piece)>)> {
        self.snapshots.drain(..self.snapshots.len().saturating_sub(1));
        let kept = self.snapshots.last().map(|&first| self.layout.superblock_of(first));
        let at = (0..self.closed.len())
            .filter(|&i| Some(self.closed[i]) != kept)
            .min_by_key(|&i| (self.valid[(self.closed[i].0 - self.first) as usize], self.closed[i]))?;
        let sb = self.closed.swap_remove(at);
        let first = self.layout.first_ppa(sb);
        let in_sb = self.directory.among(first..first.offset(self.layout.superblock_units()));
        // Whole numbers are sorted in less time than pairs.
        let mut keys: Vec<u64> = in_sb.map(|(piece, ppa)| u64::from(ppa.0) << 32 | u64::from(piece.0)).collect();
        keys.sort_unstable();
        let pieces = keys.into_iter().map(|key| (Ppa((key >> 32) as u32), Piece(key as u32)));
        if self.units.is_plain() {
            return Some((sb, pieces.collect()));
        }
        // Pieces of one flash unit come after those that share one or take several, so that the program has no gaps.
        let (singles, mut pieces): (Vec<_>, Vec<_>) = pieces.partition(|(_, piece)| piece.0 >= self.segments);
        pieces.extend(singles);
        Some((sb, pieces))
    }

    /// The part of a snapshot at `place` could not be programmed.
    pub fn snapshot_failed(&mut self, place: Ppa) {
        let units = self.snapshot_units();
        self.snapshots.retain(|&first| !(first..first.offset(units)).contains(&place));
        self.due = true;
        self.abandon(self.layout.superblock_of(place));
    }

    /// A part of the snapshot in a superblock could not be programmed. If the superblock is still open, it is closed,
    /// and another one has to be opened.
    pub fn abandon(&mut self, sb: Superblock) {
        if self.open.is_some_and(|(open, _)| open == sb) {
            self.open = None;
            self.closed.push(sb);
        }
        self.abandoned.push(sb);
    }

    /// True if a superblock is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// An abandoned superblock without valid pieces, for erase.
    pub fn take_abandoned(&mut self) -> Option<Superblock> {
        let kept = self.snapshots.last().map(|&first| self.layout.superblock_of(first));
        let empty = |sb: Superblock| self.valid[(sb.0 - self.first) as usize] == 0 && Some(sb) != kept;
        let useless = |sb: &Superblock| self.abandoned.contains(sb) && empty(*sb);
        let at = self.closed.iter().position(useless)?;
        Some(self.closed.swap_remove(at))
    }

    /// For recovery: takes a superblock off its list if no piece in it is valid; then it is to be erased and opened
    /// next. True if it was taken.
    pub fn take_next(&mut self, sb: Superblock) -> bool {
        if self.valid[(sb.0 - self.first) as usize] > 0 {
            return false;
        }
        self.free.retain(|&other| other != sb);
        self.closed.retain(|&other| other != sb);
        true
    }

    /// For recovery: takes any superblock without valid pieces except `keep`, erased ones first.
    pub fn take_any(&mut self, keep: Option<Superblock>) -> Option<Superblock> {
        let usable = |sb: &&Superblock| self.valid[(sb.0 - self.first) as usize] == 0 && Some(**sb) != keep;
        let sb = *self.free.iter().chain(&self.closed).find(usable)?;
        self.take_next(sb);
        Some(sb)
    }

    /// Moves these superblocks to the head of the free list.
    pub fn free_first(&mut self, first: &[Superblock]) {
        self.free.make_contiguous().sort_by_key(|sb| first.iter().position(|f| f == sb).unwrap_or(first.len()));
    }

    /// A metadata superblock has been erased.
    pub fn erased(&mut self, sb: Superblock) {
        assert_eq!(self.valid[(sb.0 - self.first) as usize], 0, "metadata {sb} erased with valid pieces");
        let first = self.layout.first_ppa(sb);
        self.pages.erased(first..first.offset(self.layout.superblock_units()));
        self.free.push_back(sb);
    }

    /// Bytes of the places of all map units: the GTD, or the MSD (MSFTL Sec. 3.3).
    pub fn map_directory_bytes(&self) -> u64 {
        4 * u64::from(self.segments)
    }

    /// Bytes of SRAM: the directory, and the sequence numbers of the segments if it has them (4 bytes each).
    pub fn table_bytes(&self) -> u64 {
        4 * (u64::from(self.directory.pieces()) + self.seq.len() as u64)
    }
}

#[cfg(test)]
#[path = "meta_tests.rs"]
mod tests;
