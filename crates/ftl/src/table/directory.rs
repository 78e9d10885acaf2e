//! The directory: the place on flash of every piece of metadata.

use std::ops::Range;

use units::{MapUnit, Ppa};

/// A piece of metadata, by number: map units, then the bitmaps of data superblocks, then the parts of two records, then
/// the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Piece(pub u32);

impl Piece {
    /// The piece that holds a map unit.
    #[inline]
    pub fn of(unit: MapUnit) -> Piece {
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

    /// The pieces at these places, each with its place. Looks at all places, so it has to be fast at each.
    pub fn among(&self, places: Range<Ppa>) -> impl Iterator<Item = (Piece, Ppa)> {
        let (first, n) = (Ppa::pack(Some(places.start)), places.end.0 - places.start.0);
        // A piece that is not on flash has number 0, which is before every place.
        let within = move |packed: u32| packed.wrapping_sub(first) < n;
        const AT_ONCE: usize = 32;
        let chunks = (0..).step_by(AT_ONCE).zip(self.places.chunks(AT_ONCE));
        // One test for many pieces, most of which are elsewhere, is done without a branch for each.
        let hits = chunks.filter(move |(_, chunk)| chunk.iter().fold(false, |any, &packed| any | within(packed)));
        let pieces = hits.flat_map(|(begin, chunk)| (begin..).map(Piece).zip(chunk));
        pieces.filter_map(move |(piece, &packed)| Some((piece, Ppa::unpack(packed).filter(|_| within(packed))?)))
    }

    /// A copy of all places, packed, by piece.
    pub fn to_packed(&self) -> Vec<u32> {
        self.places.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_pieces_among_places_are_those_on_flash_there(
            places in prop::collection::vec(0u32..60, 1..200),
            (first, n) in (0u32..50, 0u32..20),
        ) {
            let directory = Directory::restored(places);
            let there = first..first + n;
            let expected: Vec<_> = directory.on_flash().filter(|(_, ppa)| there.contains(&ppa.0)).collect();
            let among: Vec<_> = directory.among(Ppa(there.start)..Ppa(there.end)).collect();
            prop_assert_eq!(among, expected);
        }
    }
}
