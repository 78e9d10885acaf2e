//! Completions find the requests that they complete.

use std::collections::{BTreeMap, VecDeque};

use crate::{SECTOR_BYTES, WorkOp};

/// A place on a device: reads complete reads, writes writes, and trims trims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub device: u32,
    pub op: WorkOp,
    pub sector: u64,
}

/// Requests that wait for their completion.
#[derive(Default)]
pub(crate) struct Outstanding {
    waiting: BTreeMap<Place, VecDeque<(u64, usize)>>,
}

impl Outstanding {
    /// A request, by its index among the records.
    pub fn queued(&mut self, place: Place, bytes: u64, index: usize) {
        self.waiting.entry(place).or_default().push_back((bytes, index));
    }

    /// Takes out what completes: the oldest request of the same place and length, else (requests merged on their way
    /// down complete as one) every request inside the range, in order of their sectors. None is a completion without a
    /// request.
    pub fn completed(&mut self, place: Place, bytes: u64) -> Vec<usize> {
        if let Some(queue) = self.waiting.get_mut(&place)
            && let Some(at) = queue.iter().position(|&(length, _)| length == bytes)
        {
            let found = queue.remove(at).map(|(_, index)| index);
            if queue.is_empty() {
                self.waiting.remove(&place);
            }
            return found.into_iter().collect();
        }
        self.inside(place, bytes)
    }

    fn inside(&mut self, place: Place, bytes: u64) -> Vec<usize> {
        let end = place.sector.saturating_add(bytes.div_ceil(SECTOR_BYTES));
        let (mut found, mut emptied) = (Vec::new(), Vec::new());
        for (&key, queue) in self.waiting.range_mut(place..Place { sector: end, ..place }) {
            queue.retain(|&(length, index)| {
                let matches = length > 0 && key.sector.saturating_add(length.div_ceil(SECTOR_BYTES)) <= end;
                if matches {
                    found.push(index);
                }
                !matches
            });
            if queue.is_empty() {
                emptied.push(key);
            }
        }
        emptied.iter().for_each(|key| drop(self.waiting.remove(key)));
        found
    }
}
