//! Where a file system that logs puts data, and where it puts them when few segments are free: F2FS's adaptive logging
//! (Lee et al., FAST 2015, Sec. 2.6). Which segment's holes are filled first is assumed: those of the emptiest.

use std::collections::BTreeSet;

use crate::generated::{Piece, SEGMENT_UNITS};

const WORDS: usize = SEGMENT_UNITS as usize / 64;

/// A segment's units, a bit for each that has data.
type Units = [u64; WORDS];

/// A volume in segments.
pub(super) struct Log {
    data: Vec<Units>,
    /// Segments without data.
    free: BTreeSet<u32>,
    /// Segments with data and holes, by the number of units with data; without the one that is written.
    dirty: BTreeSet<(u32, u32)>,
    /// The segment that is written, and its next unit.
    current: (u32, u32),
    least_free: usize,
}

impl Log {
    /// A volume of so many segments, all free, whose holes are filled while fewer than `least_free` segments are free.
    pub fn new(segments: u32, least_free: u32) -> Log {
        Log {
            data: vec![[0; WORDS]; segments as usize],
            free: (1..segments).collect(),
            dirty: BTreeSet::new(),
            current: (0, 0),
            least_free: least_free as usize,
        }
    }

    /// Number of free segments.
    pub fn free(&self) -> u64 {
        self.free.len() as u64
    }

    /// The next free units that lie side by side, at most `most`; they have data from then on.
    ///
    /// # Panics
    /// If no unit is free: the specification has checked that there is room.
    pub fn take(&mut self, most: u32) -> Piece {
        loop {
            let (segment, from) = self.current;
            let units = &self.data[segment as usize];
            let Some(first) = (from..SEGMENT_UNITS).find(|&unit| !is_set(units, unit)) else {
                self.next_segment();
                continue;
            };
            let end = (first..SEGMENT_UNITS.min(first + most)).find(|&unit| is_set(units, unit));
            let end = end.unwrap_or(SEGMENT_UNITS.min(first + most));
            set(&mut self.data[segment as usize], first, end, true);
            self.current.1 = end;
            return Piece { first: segment * SEGMENT_UNITS + first, count: end - first };
        }
    }

    /// Takes the data of a piece away, which may lie across segments.
    pub fn release(&mut self, piece: Piece) {
        let end = piece.first + piece.count;
        let mut at = piece.first;
        while at < end {
            let (segment, first) = (at / SEGMENT_UNITS, at % SEGMENT_UNITS);
            let count = (end - at).min(SEGMENT_UNITS - first);
            let before = self.count(segment);
            set(&mut self.data[segment as usize], first, first + count, false);
            if segment != self.current.0 {
                self.dirty.remove(&(before, segment));
                self.put(segment);
            }
            at += count;
        }
    }

    /// The segment that was written is done. The next is the first free one behind it, from the first on at the end; or
    /// that with most room, where few are free.
    fn next_segment(&mut self) {
        let done = self.current.0;
        self.put(done);
        let behind = self.free.range(done + 1..).next().or(self.free.first()).copied();
        let next = match self.dirty.first() {
            Some(&(_, roomy)) if self.free.len() < self.least_free => roomy,
            _ => behind.expect("the specification has checked that there is room"),
        };
        self.free.remove(&next);
        self.dirty.remove(&(self.count(next), next));
        self.current = (next, 0);
    }

    /// Puts a segment that is not written where it belongs; full ones belong nowhere.
    fn put(&mut self, segment: u32) {
        match self.count(segment) {
            0 => drop(self.free.insert(segment)),
            SEGMENT_UNITS => {}
            count => drop(self.dirty.insert((count, segment))),
        }
    }

    fn count(&self, segment: u32) -> u32 {
        self.data[segment as usize].iter().map(|word| word.count_ones()).sum()
    }
}

fn is_set(units: &Units, unit: u32) -> bool {
    units[unit as usize / 64] >> (unit % 64) & 1 == 1
}

fn set(units: &mut Units, first: u32, end: u32, to: bool) {
    for unit in first..end {
        let bit = 1 << (unit % 64);
        let word = &mut units[unit as usize / 64];
        *word = if to { *word | bit } else { *word & !bit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(log: &mut Log, units: u32) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut left = units;
        while left > 0 {
            let piece = log.take(left);
            left -= piece.count;
            pieces.push(piece);
        }
        pieces
    }

    #[test]
    fn it_logs_while_segments_are_free_and_fills_the_emptiest_holes_then() {
        let mut log = Log::new(4, 2);
        let files: Vec<Piece> = (0..32).map(|_| log.take(32)).collect();
        assert_eq!((files[0], files[31]), (Piece { first: 0, count: 32 }, Piece { first: 992, count: 32 }));
        // Half of the first segment, and a quarter of the second.
        for file in files.iter().take(16).step_by(2).chain(files[16..].iter().step_by(4)) {
            log.release(*file);
        }
        assert_eq!(log.free(), 2);
        // Two are free: it logs.
        assert_eq!(taken(&mut log, 512), [Piece { first: 1024, count: 512 }]);
        // One is free: it fills the holes of the first, then those of the second, and takes the last at the end.
        let pieces = taken(&mut log, 256 + 128 + 512);
        let holes: Vec<u32> = pieces.iter().map(|piece| piece.first).collect();
        let expected: Vec<u32> = (0..8).map(|i| i * 64).chain((0..4).map(|i| 512 + i * 128)).chain([1536]).collect();
        assert_eq!((holes, log.free()), (expected, 0));
        assert!(pieces[..12].iter().all(|piece| piece.count == 32));
    }

    #[test]
    fn a_segment_without_data_is_free_again() {
        let mut log = Log::new(3, 1);
        let pieces = taken(&mut log, 1024);
        pieces.iter().for_each(|&piece| log.release(piece));
        // The second segment is still the one that is written.
        assert_eq!(log.free(), 2);
        assert_eq!(taken(&mut log, 512), [Piece { first: 1024, count: 512 }]);
        assert_eq!(taken(&mut log, 1024).len(), 2);
    }

    #[test]
    fn any_order_of_taking_and_releasing_keeps_count() {
        let mut rng = crate::rng::named_stream(1, "log", 0);
        let mut log = Log::new(8, 3);
        let mut held: Vec<Piece> = Vec::new();
        for _ in 0..20_000 {
            let units: u32 = held.iter().map(|piece| piece.count).sum();
            if units < 3000 && rng.below(2) == 0 {
                held.extend(taken(&mut log, 1 + rng.below(100) as u32));
            } else if !held.is_empty() {
                let place = rng.below(held.len() as u64) as usize;
                log.release(held.swap_remove(place));
            }
            let data: u32 = (0..8).map(|segment| log.count(segment)).sum();
            assert_eq!(data, held.iter().map(|piece| piece.count).sum::<u32>(), "pieces do not overlap");
        }
    }
}
