//! Completions find the requests that they complete.

use std::collections::{BTreeMap, VecDeque};

use crate::{SECTOR_BYTES, WorkOp};

/// Waiting requests with smaller sectors among which the one is looked for that a piece belongs to.
const LOOKED_AT: usize = 64;

/// A place on a device: reads complete reads, writes writes, and trims trims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub device: u32,
    pub op: WorkOp,
    pub sector: u64,
}

/// A request that waits for its completion.
#[derive(Clone, Copy)]
struct Waiting {
    bytes: u64,
    /// Bytes that have completed in pieces.
    done: u64,
    index: usize,
}

/// Requests that wait for their completion.
#[derive(Default)]
pub(crate) struct Outstanding {
    waiting: BTreeMap<Place, VecDeque<Waiting>>,
}

impl Outstanding {
    /// A request, by its index among the records.
    pub fn queued(&mut self, place: Place, bytes: u64, index: usize) {
        self.waiting.entry(place).or_default().push_back(Waiting { bytes, done: 0, index });
    }

    /// Takes out what completes: the oldest request of the same place and length, else (requests merged on their way
    /// down complete as one) every request inside the range, in order of their sectors, else (a request may complete in
    /// pieces) the request around the range, if this is its last piece. `None` is a completion without a request.
    pub fn completed(&mut self, place: Place, bytes: u64) -> Option<Vec<usize>> {
        if let Some(queue) = self.waiting.get_mut(&place)
            && let Some(at) = queue.iter().position(|waiting| waiting.bytes == bytes)
        {
            let found = queue.remove(at).map(|waiting| waiting.index);
            self.drop_empty(place);
            return Some(found.into_iter().collect());
        }
        let inside = self.inside(place, bytes);
        if inside.is_empty() { self.piece(place, bytes) } else { Some(inside) }
    }

    fn inside(&mut self, place: Place, bytes: u64) -> Vec<usize> {
        let end = end_of(place, bytes);
        let (mut found, mut emptied) = (Vec::new(), Vec::new());
        for (&key, queue) in self.waiting.range_mut(place..Place { sector: end, ..place }) {
            queue.retain(|waiting| {
                let matches = waiting.bytes > 0 && end_of(key, waiting.bytes) <= end;
                if matches {
                    found.push(waiting.index);
                }
                !matches
            });
            if queue.is_empty() {
                emptied.push(key);
            }
        }
        emptied.into_iter().for_each(|key| self.drop_empty(key));
        found
    }

    /// A part of a request completes. Gives the request if nothing of it is left.
    fn piece(&mut self, place: Place, bytes: u64) -> Option<Vec<usize>> {
        let end = end_of(place, bytes);
        let first = Place { sector: 0, ..place };
        let around = |(key, waiting): &(Place, &mut Waiting)| end_of(*key, waiting.bytes) >= end;
        let near = self.waiting.range_mut(first..=place).rev().take(LOOKED_AT);
        let mut each = near.flat_map(|(&key, queue)| queue.iter_mut().map(move |waiting| (key, waiting)));
        let (key, waiting) = each.find(around).filter(|_| bytes > 0)?;
        waiting.done += bytes;
        if waiting.done < waiting.bytes {
            return Some(Vec::new());
        }
        let index = waiting.index;
        self.waiting.get_mut(&key)?.retain(|waiting| waiting.index != index);
        self.drop_empty(key);
        Some(vec![index])
    }

    fn drop_empty(&mut self, place: Place) {
        if self.waiting.get(&place).is_some_and(VecDeque::is_empty) {
            self.waiting.remove(&place);
        }
    }
}

/// The sector behind a range.
fn end_of(place: Place, bytes: u64) -> u64 {
    place.sector.saturating_add(bytes.div_ceil(SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sector: u64) -> Place {
        Place { device: 0, op: WorkOp::Read, sector }
    }

    #[test]
    fn a_request_ends_with_its_last_piece_in_any_order() {
        for pieces in [[(0, 8), (8, 8), (16, 16)], [(16, 16), (0, 8), (8, 8)]] {
            let mut outstanding = Outstanding::default();
            outstanding.queued(at(0), 32 * SECTOR_BYTES, 7);
            outstanding.queued(at(64), 8 * SECTOR_BYTES, 9);
            let told = pieces.map(|(sector, sectors)| outstanding.completed(at(sector), sectors * SECTOR_BYTES));
            assert_eq!(told, [Some(vec![]), Some(vec![]), Some(vec![7])]);
            assert_eq!(outstanding.completed(at(0), SECTOR_BYTES), None);
            assert_eq!(outstanding.completed(at(64), 8 * SECTOR_BYTES), Some(vec![9]));
        }
    }

    #[test]
    fn merged_requests_end_together() {
        let mut outstanding = Outstanding::default();
        for (sector, index) in [(8, 1), (0, 2), (16, 3)] {
            outstanding.queued(at(sector), 8 * SECTOR_BYTES, index);
        }
        assert_eq!(outstanding.completed(at(0), 16 * SECTOR_BYTES), Some(vec![2, 1]));
        assert_eq!(outstanding.completed(Place { op: WorkOp::Write, ..at(16) }, 8 * SECTOR_BYTES), None);
        assert_eq!(outstanding.completed(at(16), 0), None);
        assert_eq!(outstanding.completed(at(16), 8 * SECTOR_BYTES), Some(vec![3]));
    }
}
