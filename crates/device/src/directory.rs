//! The directory: the place on flash of every piece of metadata.

use units::{Ppa, SegmentId};

/// A piece of metadata, by number: map units, then the bitmaps of data superblocks, then the parts of two records, then
/// the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Piece(pub u32);

impl Piece {
    /// The piece that holds a map unit.
    #[inline]
    pub fn of(unit: SegmentId) -> Piece {
        Piece(unit.0)
    }
}

/// Pages of the journal of trims.
pub const JOURNAL_PAGES: u32 = 32;

/// The place of every piece, in SRAM.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Directory {
    /// Packed; 0 = never written.
    places: Vec<u32>,
}

impl Directory {
    /// A directory in which nothing has been written.
    pub fn new(pieces: u32) -> Directory {
        Directory { places: vec![0; pieces as usize] }
    }

    /// A directory of the places that recovery has found, packed, by piece.
    pub fn restored(places: Vec<u32>) -> Directory {
        Directory { places }
    }

    /// Number of pieces.
    pub fn pieces(&self) -> u32 {
        self.places.len() as u32
    }

    /// Place of a piece; `None` if it was never written.
    #[inline]
    pub fn place(&self, piece: Piece) -> Option<Ppa> {
        Ppa::unpack(self.places[piece.0 as usize])
    }

    /// Sets the place of a piece. Gives the old one.
    #[inline]
    pub fn replace(&mut self, piece: Piece, place: Option<Ppa>) -> Option<Ppa> {
        Ppa::unpack(std::mem::replace(&mut self.places[piece.0 as usize], Ppa::pack(place)))
    }

    /// Every piece that is on flash, with its place.
    pub fn on_flash(&self) -> impl Iterator<Item = (Piece, Ppa)> {
        let places = (0..).map(Piece).zip(&self.places);
        places.filter_map(|(piece, &packed)| Some((piece, Ppa::unpack(packed)?)))
    }

    /// A copy of all places, packed, by piece.
    pub fn to_packed(&self) -> Vec<u32> {
        self.places.clone()
    }
}
