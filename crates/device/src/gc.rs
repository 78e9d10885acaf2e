//! Garbage collection and wear levelling: what is being collected, and the pace.

use std::collections::VecDeque;

use units::{Lpa, Ppa, Superblock};

use crate::config::GcConfig;

/// A superblock being collected.
#[derive(Debug)]
pub struct Victim {
    /// Which.
    pub sb: Superblock,
    /// How often it had been erased when it was chosen.
    pub erases: u32,
    /// Chosen for its erase count, not for its valid pages.
    pub wear: bool,
    /// Valid pages found and not yet read.
    pub found: Vec<Ppa>,
    /// Units whose validity has been decided.
    pub searched: u32,
    /// Valid page bitmap, where the scheme has one.
    pub bitmap: Box<[u64]>,
    /// Units whose spare areas have been read, where they have to be.
    pub scanned: u32,
    /// Pages to look up, in the order in which their segments are read, where it has none.
    pub plan: Vec<(Lpa, Ppa)>,
    /// Progress in `plan`, or in the bits of `bitmap`.
    pub cursor: usize,
    /// The segments of `plan[cursor..loaded]` have been read.
    pub loaded: usize,
    /// SRAM buffers with these segments.
    pub held: u16,
    /// The segment bitmap page has been read.
    pub opened: bool,
}

impl Victim {
    /// A victim of which nothing is known yet.
    pub fn new(sb: Superblock, wear: bool) -> Victim {
        Victim {
            sb,
            erases: 0,
            wear,
            found: Vec::new(),
            searched: 0,
            bitmap: Box::new([]),
            scanned: 0,
            plan: Vec::new(),
            cursor: 0,
            loaded: 0,
            held: 0,
            opened: false,
        }
    }

    /// Takes up to `budget` valid units from the bitmap; true if there are no more.
    pub fn take_from_bitmap(&mut self, first: Ppa, units: u32, budget: usize) -> bool {
        while self.found.len() < budget {
            let word = self.cursor / 64;
            let Some(&bits) = self.bitmap.get(word) else { break };
            let rest = bits >> (self.cursor % 64);
            if rest == 0 {
                self.cursor = (word + 1) * 64;
                continue;
            }
            self.cursor += rest.trailing_zeros() as usize;
            if self.cursor >= units as usize {
                break;
            }
            self.found.push(first.offset(self.cursor as u32));
            self.cursor += 1;
        }
        let ended = self.found.len() < budget || self.cursor >= units as usize;
        self.searched = if ended { units } else { self.cursor as u32 };
        ended
    }
}

/// A page read from the victim, waiting to be programmed elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct PageCopy {
    /// Its address.
    pub lpa: Lpa,
    /// Its content.
    pub stamp: u32,
    /// The change that wrote its content first.
    pub version: u32,
    /// The block it came from.
    pub source: Superblock,
}

/// Victims of GC for one of wear levelling, at least.
const LEVEL_EVERY: u32 = 4;

/// Where a step stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Looking for valid pages.
    Search,
    /// Reading those found.
    Read,
    /// Programming those read.
    Program,
    /// Programs are under way.
    Finish,
}

/// State of the collector.
#[derive(Debug)]
pub struct Gc {
    cfg: GcConfig,
    /// What is being collected.
    pub victim: Option<Victim>,
    /// Where the present step stands.
    pub phase: Phase,
    /// All valid pages of the victim have been found.
    pub exhausted: bool,
    /// Pages to find in this step.
    pub budget: usize,
    /// Read, not yet submitted for programming.
    pub queue: VecDeque<u32>,
    /// A superblock whose erase count lags behind.
    pub wear_due: Option<Superblock>,
    pages: Vec<PageCopy>,
    free_pages: Vec<u32>,
    credit: i64,
    searched_before: u32,
    /// Victims chosen for their valid pages since the last one chosen for its erase count.
    since_wear: u32,
}

impl Gc {
    /// Nothing to collect.
    pub fn new(cfg: GcConfig) -> Gc {
        Gc {
            cfg,
            victim: None,
            phase: Phase::Search,
            exhausted: false,
            budget: 0,
            queue: VecDeque::new(),
            wear_due: None,
            pages: Vec::new(),
            free_pages: Vec::new(),
            credit: 0,
            searched_before: 0,
            since_wear: 0,
        }
    }

    /// Units written by the host earn the right to a step.
    #[inline]
    pub fn earn(&mut self, units: u32, free: u32) {
        if free < self.cfg.start || self.wear_due.is_some() {
            self.credit += i64::from(units);
        }
    }

    /// Is a step due?
    #[inline]
    pub fn due(&self, free: u32) -> bool {
        let wanted = free < self.cfg.start || self.wear_due.is_some() && self.may_level(free);
        wanted && self.credit >= i64::from(self.cfg.units_per_step) || self.urgent(free)
    }

    /// Are host writes waiting for free superblocks?
    pub fn urgent(&self, free: u32) -> bool {
        free <= self.cfg.reserve
    }

    /// May a cold block be moved? That makes no room, so not while room is nearly gone, and only now and then.
    pub fn may_level(&self, free: u32) -> bool {
        free > self.cfg.reserve / 2 && self.since_wear >= LEVEL_EVERY
    }

    /// A victim was chosen.
    pub fn chosen(&mut self, wear: bool) {
        self.since_wear = if wear { 0 } else { self.since_wear.saturating_add(1) };
    }

    /// A step begins.
    pub fn begin_step(&mut self, budget: usize) {
        self.phase = Phase::Search;
        self.exhausted = false;
        self.budget = budget;
        self.searched_before = self.victim.as_ref().map_or(0, |v| v.searched);
    }

    /// It ends: the units searched repay what was earned, the slower the more free superblocks there are. What was
    /// earned is capped, so that a pause does not end in a burst.
    pub fn end_step(&mut self, free: u32) {
        let searched = self.victim.as_ref().map_or(0, |v| v.searched) - self.searched_before;
        let factor = match free {
            f if f > self.cfg.relaxed => 3,
            f if f > self.cfg.hurried => 2,
            _ => 1,
        };
        self.credit -= i64::from(searched) * factor;
        self.credit = self.credit.clamp(0, 2 * i64::from(self.cfg.units_per_step));
    }

    /// No victim could be had: wait for some more writes before asking again.
    pub fn postpone(&mut self) {
        self.credit -= i64::from(self.cfg.units_per_step) / 8;
    }

    /// Keeps a page that was read, and queues it.
    pub fn keep(&mut self, page: PageCopy) {
        let id = match self.free_pages.pop() {
            Some(id) => id,
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        };
        self.pages[id as usize] = page;
        self.queue.push_back(id);
    }

    /// Forgets pages that wait for a full row. Gives how many there were.
    pub fn forget(&mut self, which: impl Fn(&PageCopy) -> bool) -> u16 {
        let before = self.queue.len();
        let (pages, free) = (&self.pages, &mut self.free_pages);
        self.queue.retain(|&id| {
            let keep = !which(&pages[id as usize]);
            if !keep {
                free.push(id);
            }
            keep
        });
        (before - self.queue.len()) as u16
    }

    /// A kept page.
    #[inline]
    pub fn page(&self, id: u32) -> PageCopy {
        self.pages[id as usize]
    }

    /// Its copy is on flash.
    #[inline]
    pub fn release(&mut self, id: u32) {
        self.free_pages.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bitmap_is_taken_in_portions_and_to_the_end() {
        let mut v = Victim::new(Superblock(0), false);
        v.bitmap = vec![1 << 3 | 1 << 63, 0, 1 << 5].into();
        assert!(!v.take_from_bitmap(Ppa(1000), 192, 2));
        assert_eq!(v.found, [Ppa(1003), Ppa(1063)]);
        v.found.clear();
        assert!(v.take_from_bitmap(Ppa(1000), 192, 2));
        assert_eq!(v.found, [Ppa(1133)]);
        assert_eq!(v.searched, 192);
    }

    #[test]
    fn forgotten_pages_are_not_copied() {
        let mut gc = Gc::new(GcConfig { start: 9, relaxed: 8, hurried: 2, reserve: 1, units_per_step: 64 });
        for n in 0..4 {
            gc.keep(PageCopy { lpa: Lpa(n), stamp: n, version: n, source: Superblock(n % 2) });
        }
        assert_eq!(gc.forget(|page| page.source == Superblock(0)), 2);
        let left: Vec<u32> = gc.queue.iter().map(|&id| gc.page(id).stamp).collect();
        assert_eq!(left, [1, 3]);
    }

    #[test]
    fn steps_are_earned_by_writes_and_repaid_by_searching() {
        let cfg = GcConfig { start: 100, relaxed: 80, hurried: 20, reserve: 4, units_per_step: 64 };
        let mut gc = Gc::new(cfg);
        gc.earn(64, 100);
        assert!(!gc.due(99), "nothing is earned before GC starts");
        gc.earn(64, 99);
        assert!(gc.due(99) && gc.due(4));
        gc.victim = Some(Victim::new(Superblock(1), false));
        gc.begin_step(10);
        gc.victim.as_mut().unwrap().searched = 10;
        gc.end_step(90);
        gc.earn(29, 90);
        assert!(!gc.due(90));
        gc.earn(1, 90);
        assert!(gc.due(90), "three written units pay for one searched");
    }
}
