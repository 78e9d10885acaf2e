//! Metadata on flash: L2P segments and the segment bitmaps of superblocks, in SLC superblocks of their own.
//!
//! Every piece is one unit. The directory of places is small enough for SRAM (4 bytes per segment). What a segment
//! page holds is kept in `images`; firmware may look at it only after the read of that page, or for a segment that it
//! has in SRAM, and every caller here is charged for that read first.

use std::collections::VecDeque;

use nand::Layout;
use ufs::{SegmentImage, copy_segment, recycle_segment};
use units::{Lpa, Ppa, SEGMENT_ENTRIES, SegmentId, Seq, Superblock};

/// A piece of metadata: segments first, then one bitmap per data superblock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Piece(pub u32);

/// Everything about metadata superblocks and the directory.
#[derive(Debug)]
pub struct Meta {
    layout: Layout,
    segments: u32,
    first: u32,
    /// L2P entries as they stand on flash, packed, by segment; `None` = never written. A segment that comes from the
    /// host is moved in here, not copied.
    images: Vec<Option<Box<SegmentImage>>>,
    /// Place of every piece, packed.
    place: Vec<u32>,
    /// Host or device sequence number written with each segment.
    seq: Vec<Seq>,
    /// Valid units per metadata superblock.
    valid: Vec<u32>,
    free: VecDeque<Superblock>,
    closed: Vec<Superblock>,
    open: Option<(Superblock, u32)>,
}

impl Meta {
    /// Nothing written yet.
    pub fn new(layout: Layout, capacity_units: u32) -> Meta {
        let geometry = *layout.geometry();
        let segments = capacity_units.div_ceil(SEGMENT_ENTRIES);
        let first = geometry.data_superblocks;
        Meta {
            segments,
            first,
            images: (0..segments).map(|_| None).collect(),
            place: vec![0; (segments + geometry.data_superblocks) as usize],
            seq: vec![Seq(0); segments as usize],
            valid: vec![0; geometry.meta_superblocks as usize],
            free: (first..first + geometry.meta_superblocks).map(Superblock).collect(),
            closed: Vec::new(),
            open: None,
            layout,
        }
    }

    /// The piece that holds a segment.
    pub fn segment_piece(&self, segment: SegmentId) -> Piece {
        Piece(segment.0)
    }

    /// The piece that holds the segment bitmap of a data superblock.
    pub fn bitmap_piece(&self, sb: Superblock) -> Piece {
        Piece(self.segments + sb.0)
    }

    /// Where a piece is on flash, if it was ever written.
    #[inline]
    pub fn place(&self, piece: Piece) -> Option<Ppa> {
        Ppa::unpack(self.place[piece.0 as usize])
    }

    /// The entry of an address in the segment on flash.
    #[inline]
    pub fn entry(&self, lpa: Lpa) -> Option<Ppa> {
        self.images[lpa.segment().index()].as_ref().and_then(|image| Ppa::unpack(image[lpa.slot()]))
    }

    /// Sets an entry of a segment that is about to be, or has just been, programmed.
    #[inline]
    pub fn set_entry(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        let image = self.images[lpa.segment().index()].get_or_insert_with(|| Box::new([0; SEGMENT_ENTRIES as usize]));
        image[lpa.slot()] = Ppa::pack(ppa);
    }

    /// A copy of a whole segment.
    pub fn segment(&self, segment: SegmentId) -> Box<SegmentImage> {
        match &self.images[segment.index()] {
            Some(image) => copy_segment(image),
            None => Box::new([0; SEGMENT_ENTRIES as usize]),
        }
    }

    /// Replaces a whole segment.
    pub fn set_segment(&mut self, segment: SegmentId, image: Box<SegmentImage>) {
        if let Some(old) = self.images[segment.index()].replace(image) {
            recycle_segment(old);
        }
    }

    /// Sequence number that the segment was last written with, or attested for.
    #[inline]
    pub fn segment_seq(&self, segment: SegmentId) -> Seq {
        self.seq[segment.index()]
    }

    /// Raises the sequence number of a segment.
    pub fn raise_segment_seq(&mut self, segment: SegmentId, seq: Seq) {
        let slot = &mut self.seq[segment.index()];
        *slot = (*slot).max(seq);
    }

    /// Free metadata superblocks.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Units up to the end of the row that is written next.
    pub fn room_in_row(&mut self) -> u32 {
        let (sb, offset) = self.open_block();
        self.layout.units_left_in_row(self.layout.first_ppa(sb).offset(offset))
    }

    fn open_block(&mut self) -> (Superblock, u32) {
        if self.open.is_none() {
            let sb = self.free.pop_front().expect("metadata GC keeps superblocks free");
            self.open = Some((sb, 0));
        }
        self.open.expect("opened above")
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
        let old = std::mem::replace(&mut self.place[piece.0 as usize], Ppa::pack(Some(ppa)));
        if let Some(old) = Ppa::unpack(old) {
            let at = self.valid_slot(old);
            self.valid[at] -= 1;
        }
        let at = self.valid_slot(ppa);
        self.valid[at] += 1;
    }

    /// Forgets a piece, for the bitmap of an erased superblock.
    pub fn drop_piece(&mut self, piece: Piece) {
        if let Some(old) = Ppa::unpack(std::mem::take(&mut self.place[piece.0 as usize])) {
            let at = self.valid_slot(old);
            self.valid[at] -= 1;
        }
    }

    fn valid_slot(&self, ppa: Ppa) -> usize {
        (self.layout.superblock_of(ppa).0 - self.first) as usize
    }

    /// The closed metadata superblock with the fewest valid pieces, and these pieces with their places in order of
    /// place. It leaves the list of closed ones.
    pub fn take_victim(&mut self) -> Option<(Superblock, Vec<(Ppa, Piece)>)> {
        let at = (0..self.closed.len())
            .min_by_key(|&i| (self.valid[(self.closed[i].0 - self.first) as usize], self.closed[i]))?;
        let sb = self.closed.swap_remove(at);
        let mut pieces: Vec<(Ppa, Piece)> = (0..self.place.len() as u32)
            .map(Piece)
            .filter_map(|piece| Some((self.place(piece)?, piece)))
            .filter(|(ppa, _)| self.layout.superblock_of(*ppa) == sb)
            .collect();
        pieces.sort_unstable();
        Some((sb, pieces))
    }

    /// A metadata superblock is erased.
    pub fn erased(&mut self, sb: Superblock) {
        assert_eq!(self.valid[(sb.0 - self.first) as usize], 0, "metadata {sb} erased with valid pieces");
        self.free.push_back(sb);
    }

    /// Bytes of SRAM that the directory and the sequence numbers of the segments take (4 bytes each).
    pub fn table_bytes(&self) -> u64 {
        4 * (self.place.len() as u64 + self.seq.len() as u64)
    }
}
