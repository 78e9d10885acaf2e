//! Learned index segments, and how they are learned (LeaFTL, ASPLOS 2023).
//!
//! A segment (S, L, K, I) tells the places of addresses from S to S + L of a group of 256, `I + ceil(K * (address -
//! S))`. It takes 8 bytes: one each for S and L, two for K with its kind, four for I.
//!
//! - An *accurate* one has every address at a stride of 1/K, so S, L and K tell which these are. Its places are exact.
//! - An *approximate* one has some of the addresses in its range. The conflict resolution buffer of its group (CRB)
//!   lists them, one byte each, and a byte that ends the list. Its places are predictions, within a bound of the true
//!   ones.
//!
//! What the paper leaves open, or has otherwise: K of an accurate segment is kept as 1/K and that of an approximate one
//! in steps of 2^-15, both of which fit the same two bytes as its half precision and round less. A line is searched
//! among those that two bytes can express, so a bound holds after rounding, too. An approximate segment is taken only
//! where it is smaller than the accurate ones of the same addresses.

use std::ops::RangeInclusive;

use units::Ppa;

/// Addresses of a group (LeaFTL): an address in it takes a byte.
pub const GROUP: usize = 256;
/// Bytes of a segment.
pub const SEGMENT_BYTES: u64 = 8;
/// Slope 1. The two bytes of K have 15 bits for it, and one for the kind.
const ONE: i64 = 1 << 15;

/// An entry that is learned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// Address in its group.
    pub at: u8,
    /// Its place.
    pub place: u32,
    /// Places that a prediction may name instead.
    pub allowed: RangeInclusive<u32>,
}

/// Addresses of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Members([u64; GROUP / 64]);

impl Members {
    /// True if the address is among them.
    pub fn contains(&self, at: u8) -> bool {
        self.0[usize::from(at / 64)] >> (at % 64) & 1 == 1
    }

    /// Adds an address.
    pub fn insert(&mut self, at: u8) {
        self.0[usize::from(at / 64)] |= 1 << (at % 64);
    }

    /// Adds others.
    pub fn add(&mut self, others: &Members) {
        (0..self.0.len()).for_each(|i| self.0[i] |= others.0[i]);
    }

    /// Those that are not among others.
    pub fn without(&self, others: &Members) -> Members {
        Members(std::array::from_fn(|i| self.0[i] & !others.0[i]))
    }

    /// The addresses, in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        let mut left = *self;
        std::iter::from_fn(move || {
            let at = left.first()?;
            left.0[usize::from(at / 64)] &= !(1 << (at % 64));
            Some(at)
        })
    }

    /// The first address.
    fn first(&self) -> Option<u8> {
        let word = self.0.iter().position(|&bits| bits != 0)?;
        Some((word as u32 * 64 + self.0[word].trailing_zeros()) as u8)
    }

    /// The last address.
    fn last(&self) -> Option<u8> {
        let word = self.0.iter().rposition(|&bits| bits != 0)?;
        Some((word as u32 * 64 + self.0[word].ilog2()) as u8)
    }

    /// Their number.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

impl FromIterator<u8> for Members {
    fn from_iter<I: IntoIterator<Item = u8>>(addresses: I) -> Members {
        let mut members = Members::default();
        addresses.into_iter().for_each(|at| members.insert(at));
        members
    }
}

/// K, and what its kind needs beside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Line {
    /// Accurate: 1/K.
    Every(u8),
    /// Approximate: K in steps of 2^-15, and the addresses that the CRB lists.
    Slope(u16, Members),
}

/// A segment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    first: u8,
    last: u8,
    place: u32,
    line: Line,
}

impl Segment {
    /// The accurate segment of points at one stride.
    fn accurate(points: &[Point]) -> Segment {
        let (first, last) = (&points[0], &points[points.len() - 1]);
        let stride = points.get(1).map_or(1, |second| second.at - first.at);
        Segment { first: first.at, last: last.at, place: first.place, line: Line::Every(stride) }
    }

    /// The place that it tells for an address. `None` if the address is not one of its own.
    pub fn place(&self, at: u8) -> Option<u32> {
        if at < self.first || at > self.last {
            return None;
        }
        let from_first = at - self.first;
        match &self.line {
            Line::Every(stride) => {
                from_first.is_multiple_of(*stride).then(|| self.place + u32::from(from_first / stride))
            }
            Line::Slope(slope, members) => {
                let rise = (u32::from(*slope) * u32::from(from_first)).div_ceil(ONE as u32);
                members.contains(at).then(|| self.place + rise)
            }
        }
    }

    /// Writes the places that it tells into the entries of its group.
    pub fn write(&self, entries: &mut [u32]) {
        let mut put = |at: u8, place: u32| entries[usize::from(at)] = Ppa::pack(Some(Ppa(place)));
        match &self.line {
            Line::Every(stride) => self.every(*stride).zip(self.place..).for_each(|(at, place)| put(at, place)),
            Line::Slope(_, members) => members.iter().for_each(|at| put(at, self.place(at).expect("one of its own"))),
        }
    }

    /// True if its places are exact.
    pub fn is_accurate(&self) -> bool {
        matches!(self.line, Line::Every(_))
    }

    /// Bytes that it takes, with its part of the CRB.
    pub fn bytes(&self) -> u64 {
        SEGMENT_BYTES
            + match &self.line {
                Line::Every(_) => 0,
                Line::Slope(_, members) => members.len() + 1,
            }
    }

    /// The first of its addresses, for the order of a level.
    pub fn first(&self) -> u8 {
        self.first
    }

    /// True if the ranges of two segments have an address in common, whether it is one of their own or not.
    pub fn overlaps(&self, other: &Segment) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The addresses of its range at a stride.
    fn every(&self, stride: u8) -> impl Iterator<Item = u8> {
        (self.first..=self.last).step_by(usize::from(stride))
    }

    /// Its own addresses.
    pub fn members(&self) -> Members {
        match &self.line {
            Line::Every(stride) => self.every(*stride).collect(),
            Line::Slope(_, members) => *members,
        }
    }

    /// What is left of it under segments that have the addresses `gone`: `None` if nothing is. An accurate one becomes
    /// shorter at its ends, and keeps what is gone between them. An approximate one keeps S, from which its places
    /// count.
    pub fn under(mut self, gone: &Members) -> Option<Segment> {
        let left = self.members().without(gone);
        let (first, last) = (left.first()?, left.last()?);
        match &mut self.line {
            Line::Every(stride) => {
                self.place += u32::from((first - self.first) / *stride);
                self.first = first;
            }
            Line::Slope(_, members) => *members = left,
        }
        self.last = last;
        Some(self)
    }

    /// The accurate segment that tells what it and the `next` one tell, if that continues it.
    pub fn joined(&self, next: &Segment) -> Option<Segment> {
        let stride = next.first - self.last;
        // A single point is at any stride.
        let is_at = |s: &Segment| matches!(s.line, Line::Every(of) if of == stride || s.first == s.last);
        let continues = is_at(self) && is_at(next) && self.place(self.last)?.checked_add(1)? == next.place;
        continues.then(|| Segment { last: next.last, line: Line::Every(stride), ..self.clone() })
    }

    /// What is left of it without an address, in order: an accurate one may become two.
    pub fn without(self, at: u8) -> Vec<Segment> {
        if self.place(at).is_none() {
            return vec![self];
        }
        if !self.is_accurate() {
            return self.under(&Members::from_iter([at])).into_iter().collect();
        }
        let before = self.clone().under(&(at..=u8::MAX).collect());
        before.into_iter().chain(self.under(&(0..=at).collect())).collect()
    }
}

/// Learns points, which are in order of their addresses. Gives segments in the same order.
///
/// As the paper does, it goes through the points and ends a segment where the next point fits no line.
pub fn learn(points: &[Point]) -> Vec<Segment> {
    let (mut learned, mut rest) = (Vec::new(), points);
    while !rest.is_empty() {
        let n = same_stride(rest);
        let (segment, n) = match approximate(rest) {
            Some((segment, more)) if more > n && segment.bytes() < accurate_bytes(&rest[..more]) => (segment, more),
            _ => (Segment::accurate(&rest[..n]), n),
        };
        learned.push(segment);
        rest = &rest[n..];
    }
    learned
}

/// How many points, from the first one on, one accurate segment tells.
fn same_stride(points: &[Point]) -> usize {
    let step = |pair: &[Point]| (pair[1].at - pair[0].at, pair[1].place == pair[0].place.wrapping_add(1));
    let Some(first) = points.windows(2).next().map(step) else { return 1 };
    1 + points.windows(2).take_while(|pair| first.1 && step(pair) == first).count()
}

/// Bytes of accurate segments that tell all of these points.
fn accurate_bytes(mut points: &[Point]) -> u64 {
    let mut bytes = 0;
    while !points.is_empty() {
        points = &points[same_stride(points)..];
        bytes += SEGMENT_BYTES;
    }
    bytes
}

/// Slopes with which a line from a place passes all points so far.
#[derive(Clone, Copy)]
struct Lines {
    place: u32,
    least: i64,
    most: i64,
}

impl Lines {
    /// Those among them that also pass a point `run` addresses behind the first one. `ceil(K * run)` is at least a if
    /// K * run > a - 1, and at most b if K * run <= b.
    fn through(self, run: i64, point: &Point) -> Option<Lines> {
        let rise = |place: u32| i64::from(place) - i64::from(self.place);
        let least = ((rise(*point.allowed.start()) - 1) * ONE).div_euclid(run) + 1;
        let most = (rise(*point.allowed.end()) * ONE).div_euclid(run);
        let lines = Lines { least: self.least.max(least), most: self.most.min(most), ..self };
        (lines.least <= lines.most).then_some(lines)
    }
}

/// The approximate segment that tells most points, from the first one on, and their number. Of the lines that pass
/// them it takes one that begins nearest to the first point, and of these the one in the middle.
fn approximate(points: &[Point]) -> Option<(Segment, usize)> {
    let origin = &points[0];
    let mut lines: Vec<Lines> = origin.allowed.clone().map(|place| Lines { place, least: 0, most: ONE - 1 }).collect();
    let mut n = 1;
    for point in &points[1..] {
        let run = i64::from(point.at - origin.at);
        if lines.iter().all(|lines| lines.through(run, point).is_none()) {
            break;
        }
        lines.retain_mut(|lines| lines.through(run, point).map(|passing| *lines = passing).is_some());
        n += 1;
    }
    let best = lines.iter().min_by_key(|lines| lines.place.abs_diff(origin.place))?;
    let members = points[..n].iter().map(|point| point.at).collect();
    let line = Line::Slope(((best.least + best.most) / 2) as u16, members);
    Some((Segment { first: origin.at, last: points[n - 1].at, place: best.place, line }, n))
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
