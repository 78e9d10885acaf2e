//! The learned segments of a group of 256 addresses, in levels like those of a log-structured merge tree (LeaFTL).
//!
//! Segments of one level do not overlap, and are in order. A lookup goes through the levels from the top and takes the
//! first segment that has the address. New segments enter the top level. One that they overlap there loses the
//! addresses that it shares with them; if the ranges still overlap, it goes to the level below, or to a new one between
//! the two if it overlaps something there. Compaction takes from each segment what the levels above it have, and lifts
//! what is left as far as it finds room.
//!
//! Two accurate segments of a level that continue each other become one, as where a map flush has ended between two
//! rows. A group that segments would not make smaller keeps its places as a plain table, which the paper does not have.
//! An address that the host has trimmed leaves its segments, which the paper does not mention.

use units::Ppa;

use super::segment::{Members, Point, SEGMENT_BYTES, Segment, learn};

/// Bytes of a place in a plain table, as on flash.
const PLACE_BYTES: u64 = 4;
/// Bytes of a group beside its segments: the number of its levels. Of a level: the number of its segments.
const COUNT_BYTES: u64 = 1;

/// Segments that do not overlap, in order of their addresses.
type Level = Vec<Segment>;

/// What a group knows of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// The place.
    pub ppa: Ppa,
    /// False for a prediction.
    pub is_exact: bool,
}

/// A group.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub enum Group {
    /// Learned segments, the top level first.
    Learned(Vec<Level>),
    /// All places, packed.
    Plain(Vec<u32>),
}

impl Group {
    /// A group of so many addresses with these entries, in order of addresses.
    pub fn of(points: &[Point], addresses: usize) -> Group {
        let mut levels = Vec::new();
        batches(points).iter().for_each(|batch| add(&mut levels, batch));
        compact(&mut levels);
        if bytes(&levels) < addresses as u64 * PLACE_BYTES {
            return Group::Learned(levels);
        }
        let mut places = vec![Ppa::pack(None); addresses];
        points.iter().for_each(|point| places[usize::from(point.at)] = Ppa::pack(Some(Ppa(point.place))));
        Group::Plain(places)
    }

    /// What it knows of an address; `None` if that is unmapped.
    pub fn told(&self, at: u8) -> Option<Told> {
        match self {
            Group::Plain(places) => Ppa::unpack(places[usize::from(at)]).map(|ppa| Told { ppa, is_exact: true }),
            Group::Learned(levels) => levels.iter().find_map(|level| {
                let segment = &level[level.partition_point(|segment| segment.first() <= at).checked_sub(1)?];
                segment.place(at).map(|place| Told { ppa: Ppa(place), is_exact: segment.is_accurate() })
            }),
        }
    }

    /// Writes the places of all addresses that it maps.
    pub fn write(&self, entries: &mut [u32]) {
        match self {
            Group::Plain(places) => entries.copy_from_slice(places),
            Group::Learned(levels) => levels.iter().rev().flatten().for_each(|segment| segment.write(entries)),
        }
    }

    /// Takes changes in: new places, and addresses that have none any more. False if a plain table would be smaller
    /// now, or is what there was; then the group has to be made anew.
    pub fn change(&mut self, points: &[Point], unmapped: &[u8], addresses: usize) -> bool {
        let Group::Learned(levels) = self else { return false };
        for &at in unmapped {
            levels.iter_mut().for_each(|level| *level = level.drain(..).flat_map(|s| s.without(at)).collect());
        }
        batches(points).iter().for_each(|batch| add(levels, batch));
        levels.retain(|level| !level.is_empty());
        bytes(levels) < addresses as u64 * PLACE_BYTES
    }

    /// Compacts the levels.
    pub fn compact(&mut self) {
        if let Group::Learned(levels) = self {
            compact(levels);
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        match self {
            Group::Learned(levels) => bytes(levels),
            Group::Plain(places) => COUNT_BYTES + places.len() as u64 * PLACE_BYTES,
        }
    }

    /// Number of its segments, in all levels.
    pub fn segments(&self) -> usize {
        match self {
            Group::Learned(levels) => levels.iter().map(Vec::len).sum(),
            Group::Plain(_) => 0,
        }
    }

    /// True if all places that it tells are exact.
    pub fn is_exact(&self) -> bool {
        match self {
            Group::Learned(levels) => levels.iter().flatten().all(Segment::is_accurate),
            Group::Plain(_) => true,
        }
    }
}

/// Bytes of levels.
fn bytes(levels: &[Level]) -> u64 {
    debug_assert!(levels.iter().flatten().all(|segment| segment.bytes() >= SEGMENT_BYTES));
    let of_level = |level: &Level| COUNT_BYTES + level.iter().map(Segment::bytes).sum::<u64>();
    COUNT_BYTES + levels.iter().map(of_level).sum::<u64>()
}

/// Points as they were programmed: in order of places, a batch for each row that was sorted by address. What was in the
/// write buffer together is learned together.
fn batches(points: &[Point]) -> Vec<Vec<Point>> {
    let mut by_place = points.to_vec();
    by_place.sort_unstable_by_key(|point| point.place);
    by_place.chunk_by(|a, b| a.at < b.at).map(<[Point]>::to_vec).collect()
}

/// Learns a batch and adds its segments to the top level.
fn add(levels: &mut Vec<Level>, batch: &[Point]) {
    if levels.is_empty() {
        levels.push(Vec::new());
    }
    for segment in learn(batch) {
        let members = segment.members();
        if !segment.is_accurate() {
            // The CRB has an address once, with the newest of its segments.
            let keeps_more = |older: &mut Segment| {
                let crossed = !older.is_accurate() && older.overlaps(&segment);
                !crossed || older.clone().under(&members).map(|left| *older = left).is_some()
            };
            levels.iter_mut().for_each(|level| level.retain_mut(keeps_more));
        }
        let overlapped: Vec<Segment> = levels[0].extract_if(.., |older| older.overlaps(&segment)).collect();
        for older in overlapped.into_iter().filter_map(|older| older.under(&members)) {
            match older.overlaps(&segment) {
                true => push_down(levels, older),
                false => insert(&mut levels[0], older),
            }
        }
        insert(&mut levels[0], segment);
    }
}

/// Puts a segment of the top level into the one below it, or into a new one between the two.
fn push_down(levels: &mut Vec<Level>, segment: Segment) {
    let is_free = |level: &Level| !level.iter().any(|other| other.overlaps(&segment));
    if !levels.get(1).is_some_and(is_free) {
        levels.insert(1, Vec::new());
    }
    insert(&mut levels[1], segment);
}

/// Puts a segment into a level in which it overlaps none. It joins its neighbours there if they continue each other.
fn insert(level: &mut Level, mut segment: Segment) {
    let mut at = level.partition_point(|other| other.first() < segment.first());
    if let Some(joined) = level.get(at).and_then(|next| segment.joined(next)) {
        segment = joined;
        level.remove(at);
    }
    if let Some(joined) = at.checked_sub(1).and_then(|before| level[before].joined(&segment)) {
        at -= 1;
        segment = joined;
        level.remove(at);
    }
    level.insert(at, segment);
}

/// Drops what upper levels have, and lifts the rest.
fn compact(levels: &mut Vec<Level>) {
    let (mut above, mut compacted) = (Members::default(), Vec::<Level>::new());
    for level in std::mem::take(levels) {
        let kept: Level = level.into_iter().filter_map(|segment| segment.under(&above)).collect();
        for segment in kept {
            above.add(&segment.members());
            let meets = |level: &Level| level.iter().any(|other| other.overlaps(&segment));
            let to = compacted.iter().rposition(meets).map_or(0, |met| met + 1);
            if to == compacted.len() {
                compacted.push(Vec::new());
            }
            insert(&mut compacted[to], segment);
        }
    }
    *levels = compacted;
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
