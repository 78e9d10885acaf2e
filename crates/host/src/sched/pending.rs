//! The pending queue: the parts that a reordering scheduler may choose from, and those that wait before it.
//!
//! - At most `limit` parts are visible; further ones wait in order of arrival. That limits the cost of a choice.
//! - Parts that overlap keep their order if at least one of them writes: the later one is *held* until every earlier
//!   one has been sent. A trim is a write.
//! - A flush is not in the queue; it goes next. It covers what was acknowledged before it was submitted. No pending
//!   part has been acknowledged, so the flush need not wait for any, and none need wait for it. (Linux does not pass
//!   flushes through its schedulers either.) FUA concerns only when the write itself is acknowledged.

use std::collections::VecDeque;

use lists::Rings;
use units::{Nanos, SimTime};

use crate::request::{Part, RequestOp};

/// The pending queue. A *slot* names a visible part until it is taken out.
#[derive(Clone, Hash)]
pub(crate) struct Pending {
    /// Parts that are not visible yet.
    arrivals: VecDeque<Part>,
    flushes: VecDeque<Part>,
    parts: Vec<Option<Part>>,
    /// Addresses and direction of the visible parts again, in a form that is compared fast. A free slot is empty, so it
    /// overlaps nothing.
    first: Vec<u32>,
    end: Vec<u32>,
    writes: Vec<u32>,
    /// Time at which each part became visible.
    since: Vec<SimTime>,
    /// Number of earlier parts that must go before each part.
    holders: Vec<u16>,
    /// Parts that are held, in the order in which they became visible.
    held: Rings<u16, 1>,
    /// Visible parts in the order in which they became visible.
    order: Rings<u16, 1>,
    free: Vec<u16>,
}

/// True for an operation that changes what is stored.
pub(super) fn writes(op: RequestOp) -> bool {
    op != RequestOp::Read
}

impl Pending {
    /// A queue with at most `limit` visible parts.
    pub fn new(limit: u16) -> Pending {
        let slots = usize::from(limit);
        Pending {
            arrivals: VecDeque::new(),
            flushes: VecDeque::new(),
            parts: vec![None; slots],
            first: vec![0; slots],
            end: vec![0; slots],
            writes: vec![0; slots],
            since: vec![SimTime::START; slots],
            holders: vec![0; slots],
            held: Rings::with_slots(slots),
            order: Rings::with_slots(slots),
            free: (0..limit).rev().collect(),
        }
    }

    /// Adds a part.
    #[inline]
    pub fn push(&mut self, part: Part) {
        match part.op {
            RequestOp::Flush => self.flushes.push_back(part),
            _ => self.arrivals.push_back(part),
        }
    }

    /// The next flush.
    #[inline]
    pub fn pop_flush(&mut self) -> Option<Part> {
        self.flushes.pop_front()
    }

    /// True if a flush waits.
    #[inline]
    pub fn has_flush(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// Makes the next part visible, if there is one and the queue has room.
    #[inline]
    pub fn admit(&mut self, now: SimTime) -> Option<u16> {
        if self.arrivals.is_empty() {
            return None;
        }
        let slot = self.free.pop()?;
        let part = self.arrivals.pop_front()?;
        let at = usize::from(slot);
        let holders = self.overlapping(&part);
        self.parts[at] = Some(part);
        self.first[at] = part.lpa.0;
        self.end[at] = part.lpa.0 + part.len;
        self.writes[at] = u32::from(writes(part.op));
        self.since[at] = now;
        self.holders[at] = holders;
        if holders > 0 {
            self.held.push_newest(0, slot);
        }
        self.order.push_newest(0, slot);
        Some(slot)
    }

    /// Number of visible parts that overlap this one, if one of the two writes. Compares with all slots, without a
    /// branch.
    #[inline]
    fn overlapping(&self, part: &Part) -> u16 {
        let (first, end, write) = (part.lpa.0, part.lpa.0 + part.len, u32::from(writes(part.op)));
        let slots = self.first.iter().zip(&self.end).zip(&self.writes);
        let count = |n: u32, ((&f, &e), &w): ((&u32, &u32), &u32)| {
            n + (u32::from(f < end) & u32::from(first < e) & (w | write))
        };
        slots.fold(0, count) as u16
    }

    /// The part of a slot.
    #[inline]
    pub fn part(&self, slot: u16) -> &Part {
        self.parts[usize::from(slot)].as_ref().expect("a slot has a part until it is taken out")
    }

    /// True if an earlier part must go first.
    #[inline]
    pub fn is_held(&self, slot: u16) -> bool {
        self.holders[usize::from(slot)] > 0
    }

    /// The part that has been visible longest. It is never held.
    #[inline]
    pub fn oldest(&self) -> Option<u16> {
        self.order.oldest(0)
    }

    /// True if a part has been visible for at least `time` at `now`.
    #[inline]
    pub fn waited(&self, slot: u16, now: SimTime, time: Nanos) -> bool {
        now.since(self.since[usize::from(slot)]) >= time
    }

    /// Removes a part. Adds the parts that it alone has held to `released`, oldest first.
    #[inline]
    pub fn take(&mut self, slot: u16, released: &mut Vec<u16>) -> Part {
        let at = usize::from(slot);
        debug_assert!(!self.is_held(slot), "a part overtakes one that overlaps it");
        let part = self.parts[at].take().expect("a slot has a part until it is taken out");
        self.end[at] = 0;
        self.first[at] = 0;
        self.writes[at] = 0;
        self.order.remove(slot);
        self.free.push(slot);
        if !self.held.is_empty(0) {
            self.release(&part, released);
        }
        part
    }

    fn release(&mut self, gone: &Part, released: &mut Vec<u16>) {
        let (first, end, write) = (gone.lpa.0, gone.lpa.0 + gone.len, u32::from(writes(gone.op)));
        for slot in self.held.oldest_first(0) {
            let at = usize::from(slot);
            if self.first[at] < end && first < self.end[at] && (self.writes[at] | write) != 0 {
                self.holders[at] -= 1;
                if self.holders[at] == 0 {
                    released.push(slot);
                }
            }
        }
        released.iter().for_each(|&slot| self.held.remove(slot));
    }
}
