//! Where data lie on the volume of a phone.
//!
//! The HP-UFS authors aged the file system before they recorded (Sec. IV-C), and it shows: even photos of megabytes,
//! and the files of a game, are written and read in pieces of 4 to 16 KiB, because F2FS fills the holes of segments
//! that are in use. What is taken from their five traces of a Pixel 4 (github.com/s3yonsei/hpufs_public) is about this
//! file system alone, and about none of the paper's results:
//!
//! - [`PIECES`], the lengths of their 61,030 writes, 10.1 KiB on average (those of their 22,987 reads: 9.7 KiB);
//! - the part of a segment with writes that is written: 545 MiB of 841 segments of 2 MiB, 32%; of one with reads that
//!   is read: 217 MiB of 1,547 segments, 7%. These are defaults and choices of descriptions.

use std::collections::VecDeque;

use crate::rng::Rng;

/// Units of a segment of F2FS: 2 MiB.
pub(crate) const SEGMENT_UNITS: u32 = 512;

/// Lengths of pieces in units, and how many of the writes of the five traces have them. From 5 units on a row is a
/// class (to 8, 16, 32, 64, 128 and more units) with its mean.
const PIECES: [(u32, u32); 10] = [
    (1, 28_090),
    (2, 12_053),
    (3, 9_645),
    (4, 7_944),
    (6, 1_591),
    (11, 1_326),
    (23, 210),
    (44, 92),
    (94, 58),
    (169, 21),
];

/// Writes that were measured.
const MEASURED: u32 = 61_030;

/// Hundredths of a unit that a piece has on average.
const MEAN_CENTI: u32 = 254;

/// No segment of the volume is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full;

units::kinds! {
    /// How data lie on the volume.
    pub Layout {
        /// In the short pieces of a volume that has aged.
        Aged = "aged";
        /// In whole segments.
        Fresh = "fresh";
    }
}

/// A number below a bound of 32 bits.
pub(super) fn below(rng: &mut Rng, bound: u32) -> u32 {
    rng.below(u64::from(bound)) as u32
}

/// A run of units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub first: u32,
    pub count: u32,
}

/// The segments of a volume.
pub(crate) struct Volume {
    /// Those that nobody has.
    free: Vec<u32>,
    rng: Rng,
}

impl Volume {
    pub fn new(mib: u32, rng: Rng) -> Volume {
        Volume { free: (0..mib / 2).collect(), rng }
    }

    /// Takes a segment anywhere; its first unit.
    fn take(&mut self) -> Result<u32, Full> {
        if self.free.is_empty() {
            return Err(Full);
        }
        let place = below(&mut self.rng, self.free.len() as u32) as usize;
        Ok(self.free.swap_remove(place) * SEGMENT_UNITS)
    }
}

/// Blocks that an activity fills or reads, in order.
pub(crate) struct Blocks {
    layout: Layout,
    percent: u32,
    /// Of the segment that was taken last.
    pieces: VecDeque<Piece>,
    rng: Rng,
}

impl Blocks {
    /// Blocks that are `percent` of each of their segments.
    pub fn new(layout: Layout, percent: u32, rng: Rng) -> Blocks {
        Blocks { layout, percent, pieces: VecDeque::new(), rng }
    }

    /// The next blocks that lie side by side, at most `most`.
    pub fn next(&mut self, most: u32, volume: &mut Volume) -> Result<Piece, Full> {
        while self.pieces.is_empty() {
            let first = volume.take()?;
            self.divide(first);
        }
        let piece = self.pieces.front_mut().expect("there is one");
        let taken = Piece { first: piece.first, count: piece.count.min(most) };
        *piece = Piece { first: piece.first + taken.count, count: piece.count - taken.count };
        if piece.count == 0 {
            self.pieces.pop_front();
        }
        Ok(taken)
    }

    /// Finds the pieces of a segment. On an aged volume there are gaps before and between them, so long that pieces
    /// make up the wanted part on average.
    fn divide(&mut self, first: u32) {
        if self.layout == Layout::Fresh {
            return self.pieces.push_back(Piece { first, count: SEGMENT_UNITS });
        }
        let mut at = self.gap();
        while at < SEGMENT_UNITS {
            let count = self.length().min(SEGMENT_UNITS - at);
            self.pieces.push_back(Piece { first: first + at, count });
            at += count + self.gap();
        }
    }

    fn length(&mut self) -> u32 {
        let mut place = below(&mut self.rng, MEASURED);
        for (units, writes) in PIECES {
            if place < writes {
                return units;
            }
            place -= writes;
        }
        unreachable!("the classes make up all that was measured")
    }

    /// A gap: any length from none to twice the mean.
    fn gap(&mut self) -> u32 {
        let mean_centi = MEAN_CENTI * (100 - self.percent) / self.percent;
        (below(&mut self.rng, 2 * mean_centi + 1) + 50) / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::named_stream;

    #[test]
    fn the_classes_are_what_was_measured() {
        assert_eq!(PIECES.iter().map(|(_, writes)| writes).sum::<u32>(), MEASURED);
        let units: u32 = PIECES.iter().map(|(units, writes)| units * writes).sum();
        // 618,032 KiB were written. Means of classes are rounded to a unit, so half a unit of each of 3,298 writes.
        assert!(units.abs_diff(618_032 / 4) < 3_298 / 2, "{units}");
        assert_eq!((units * 100 + MEASURED / 2) / MEASURED, MEAN_CENTI);
    }

    /// Pieces are cut at the ends of segments, so they are a little shorter than measured, and so is their part.
    #[test]
    fn pieces_fill_their_part_of_distinct_segments() {
        for percent in [7, 32, 100] {
            let mut volume = Volume::new(2_000, named_stream(1, "volume", 0));
            let mut blocks = Blocks::new(Layout::Aged, percent, named_stream(1, "a", 0));
            let mut taken = vec![false; 1000 * SEGMENT_UNITS as usize];
            let (mut pieces, mut units) = (0_u32, 0_u32);
            while let Ok(piece) = blocks.next(SEGMENT_UNITS, &mut volume) {
                (pieces, units) = (pieces + 1, units + piece.count);
                for unit in piece.first..piece.first + piece.count {
                    assert!(!std::mem::replace(&mut taken[unit as usize], true), "unit {unit} was taken twice");
                }
            }
            let part = f64::from(units) / f64::from(1000 * SEGMENT_UNITS) * 100.0;
            assert!((part / f64::from(percent) - 1.0).abs() < 0.1, "{percent}: {part}");
            let mean = f64::from(units) / f64::from(pieces) * 4.0;
            assert!((mean / 10.1 - 1.0).abs() < 0.1, "{percent}: {mean} KiB");
        }
    }

    #[test]
    fn a_fresh_volume_has_whole_segments() {
        let mut volume = Volume::new(16, named_stream(1, "volume", 0));
        let mut blocks = Blocks::new(Layout::Fresh, 32, named_stream(1, "a", 0));
        let first = blocks.next(500, &mut volume).unwrap();
        let second = blocks.next(500, &mut volume).unwrap();
        assert_eq!((first.count, second), (500, Piece { first: first.first + 500, count: 12 }));
    }
}
