//! Append-only logs in segments of 2 MiB.
//!
//! F2FS has six logs, by kind and temperature; a database uses one for data and one for nodes. A log continues in a
//! free segment. If there is none, it fills the holes of the segment with the most holes, like slack space recycling in
//! F2FS (FAST 2015, Sec. 2.6). So no segment has to be cleaned; F2FS does that only in the background.

use units::Lpa;

use crate::fs::space::Space;

/// Units of a segment.
pub const SEGMENT: u32 = 512;

/// Content of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Log {
    /// Contents of files and of the directory.
    Data,
    /// Node blocks.
    Node,
}

/// The two logs.
#[derive(Clone, Debug)]
pub struct Logs {
    space: Space,
    segments: u32,
    /// Next place of each log, unless its segment is full.
    cursors: [Option<Lpa>; 2],
    /// Segment at which the search for a free one begins.
    next_segment: u32,
}

impl Logs {
    /// Logs in free segments of `space`.
    pub fn new(space: Space) -> Logs {
        let segments = space.units() as u32 / SEGMENT;
        Logs { space, segments, cursors: [None; 2], next_segment: 0 }
    }

    /// The bitmap of units in use.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Frees a unit.
    pub fn give(&mut self, lpa: Lpa) {
        self.space.give(lpa);
    }

    /// The next unit of a log.
    pub fn take(&mut self, log: Log) -> Option<Lpa> {
        loop {
            let at = match self.cursors[log as usize] {
                Some(at) => at,
                None => self.first_of(self.choose(log)?),
            };
            let end = self.end_of(at);
            let found = (at.0..end.0).map(Lpa).find(|&lpa| self.space.is_free(lpa));
            self.cursors[log as usize] = found.map(|lpa| lpa.offset(1)).filter(|&next| next < end);
            if let Some(lpa) = found {
                self.next_segment = self.segment_of(lpa) + 1;
                return self.space.take(lpa).then_some(lpa);
            }
        }
    }

    /// A free segment, or the one with the most holes.
    fn choose(&self, log: Log) -> Option<u32> {
        let other = self.cursors[1 - log as usize].map(|lpa| self.segment_of(lpa));
        let order = (0..self.segments).map(|i| (self.next_segment + i) % self.segments);
        let candidates = order.filter(|&segment| Some(segment) != other);
        let holes = |&segment: &u32| self.space.free_in(self.first_of(segment), SEGMENT);
        let mut best: Option<(u32, usize)> = None;
        for segment in candidates {
            let free = holes(&segment);
            if free == SEGMENT as usize {
                return Some(segment);
            }
            if free > best.map_or(0, |(_, most)| most) {
                best = Some((segment, free));
            }
        }
        // The last holes may all be in the other log's segment.
        best.map(|(segment, _)| segment).or(other.filter(|segment| holes(segment) > 0))
    }

    fn first_of(&self, segment: u32) -> Lpa {
        self.space.first().offset(segment * SEGMENT)
    }

    fn segment_of(&self, lpa: Lpa) -> u32 {
        (lpa.0 - self.space.first().0) / SEGMENT
    }

    fn end_of(&self, lpa: Lpa) -> Lpa {
        self.first_of(self.segment_of(lpa) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_fill_segments_of_their_own_and_then_holes() {
        let mut logs = Logs::new(Space::new(Lpa(64), 3 * SEGMENT));
        assert_eq!(
            [logs.take(Log::Data), logs.take(Log::Node), logs.take(Log::Data)].map(|l| l.unwrap().0),
            [64, 576, 65]
        );
        let data: Vec<u32> = (0..1022).map(|_| logs.take(Log::Data).unwrap().0).collect();
        assert_eq!((data[0], data[509], data[510], data[1021]), (66, 575, 1088, 1599));
        [70, 90, 80].into_iter().for_each(|lpa| logs.give(Lpa(lpa)));
        assert_eq!((0..3).map(|_| logs.take(Log::Data).unwrap().0).collect::<Vec<_>>(), [70, 80, 90]);
        let remaining = std::iter::from_fn(|| logs.take(Log::Data)).count();
        assert_eq!((remaining, logs.take(Log::Node)), (511, None), "at the end both logs share a segment");
    }
}
