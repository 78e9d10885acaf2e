//! Garbage collection and wear levelling: the present victim, and the pace.

use std::collections::VecDeque;

use units::{Lpa, Ppa, Superblock};

use crate::config::GcConfig;
use crate::knowledge::Round;
use crate::space::blocks::Stream;
use crate::space::pace::Pace;

/// A superblock being collected.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Victim {
    /// Its number.
    pub sb: Superblock,
    /// Its erase count when it was chosen.
    pub erases: u32,
    /// True if it was chosen for its erase count, not for its valid pages.
    pub wear: bool,
    /// True if it was chosen because it was read too often.
    pub refresh: bool,
    /// True if it is no superblock, but pages at random places (`what_if.copies_percent`).
    pub random: bool,
    /// Valid pages when it was chosen, as far as the device knew them.
    pub valid: u32,
    /// Valid pages found and not yet read.
    pub found: Vec<Ppa>,
    /// Units whose validity has been decided.
    pub searched: u32,
    /// Valid page bitmap, where the scheme has one.
    pub bitmap: Box<[u64]>,
    /// Units whose spare areas have been read; for schemes without bitmap.
    pub scanned: u32,
    /// Pages to look up, in the order in which their segments are read; for schemes without bitmap.
    pub plan: Vec<(Lpa, Ppa)>,
    /// Progress in `plan`, or in the bits of `bitmap`.
    pub cursor: usize,
    /// The segments of `plan[cursor..loaded]` have been read.
    pub loaded: usize,
    /// These segments, and the position in them of the one used last.
    pub round: Round,
    pub at: usize,
    /// SRAM buffers that hold these segments.
    pub held: u16,
    /// The read of the segment bitmap, or of the spare areas of pages at random places, has been submitted.
    pub opened: bool,
    /// The segment bitmap has been read, and `plan` follows from it.
    pub planned: bool,
}

impl Victim {
    /// A victim with `valid` valid pages, of which none has been found yet.
    pub fn new(sb: Superblock, wear: bool, valid: u32) -> Victim {
        Victim {
            sb,
            erases: 0,
            wear,
            refresh: false,
            random: false,
            valid,
            found: Vec::new(),
            searched: 0,
            bitmap: Box::new([]),
            scanned: 0,
            plan: Vec::new(),
            cursor: 0,
            loaded: 0,
            round: Round::default(),
            at: 0,
            held: 0,
            opened: false,
            planned: false,
        }
    }

    /// Pages at random places in the place of a superblock: their spare areas are being read, and they are to be looked
    /// up.
    pub fn at_random(mut plan: Vec<(Lpa, Ppa)>) -> Victim {
        plan.sort_unstable();
        let scanned = plan.len() as u32;
        Victim { random: true, scanned, plan, ..Victim::new(Superblock(0), false, scanned) }
    }

    /// Takes valid units from the bitmap until `budget` are found. True if the bitmap holds no more.
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

/// Why a step is begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Writes have paid for it, or wait for it.
    Due,
    /// In idle time, for more free superblocks.
    Idle,
    /// In idle time, to fold what is in SLC mode.
    Fold,
    /// It was read too often.
    Refresh,
}

/// A page that was read from the victim and waits to be programmed elsewhere.
#[derive(Clone, Copy, Hash, Debug)]
pub struct PageCopy {
    /// Its address.
    pub lpa: Lpa,
    /// Its content.
    pub stamp: u32,
    /// Sequence number of the host write that made its content.
    pub version: u32,
    /// The superblock that it was read from.
    pub source: Superblock,
}

/// Fewest victims of GC between two victims of wear levelling.
const LEVEL_EVERY: u32 = 4;

/// The phase of a GC step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

/// State of garbage collection.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
pub struct Gc {
    cfg: GcConfig,
    /// The superblock being collected.
    pub victim: Option<Victim>,
    /// The phase of the present step.
    pub phase: Phase,
    /// All valid pages of the victim have been found.
    pub exhausted: bool,
    /// Pages to find in this step.
    pub budget: usize,
    /// Copies that have been read and not been submitted for programming.
    pub queue: VecDeque<u32>,
    /// The same of hot data, if those have superblocks of their own.
    pub hot_queue: VecDeque<u32>,
    /// Commands have gone on during this step.
    pub beside: bool,
    /// A superblock whose erase count lags behind; wear levelling shall collect it.
    pub wear_due: Option<Superblock>,
    pages: Vec<PageCopy>,
    free_pages: Vec<u32>,
    pace: Pace,
    /// Copies at random places that the host has paid for, in per cent of a unit.
    copies_owed: u64,
    searched_before: u32,
    /// Victims chosen for their valid pages since the last one chosen for its erase count.
    since_wear: u32,
}

impl Gc {
    /// State without a victim, for superblocks of `superblock_units` units.
    pub fn new(cfg: GcConfig, superblock_units: u32) -> Gc {
        Gc {
            cfg,
            victim: None,
            phase: Phase::Search,
            exhausted: false,
            budget: 0,
            queue: VecDeque::new(),
            hot_queue: VecDeque::new(),
            beside: false,
            wear_due: None,
            pages: Vec::new(),
            free_pages: Vec::new(),
            pace: Pace::new(cfg, superblock_units),
            copies_owed: 0,
            searched_before: 0,
            since_wear: 0,
        }
    }

    /// Units written by the host pay for GC.
    #[inline]
    pub fn earn(&mut self, units: u32, free: u32) {
        self.copies_owed += u64::from(units) * u64::from(self.cfg.copies_percent);
        if free < self.cfg.start || self.wear_due.is_some() {
            self.pace.earn(units);
        } else {
            self.pace.forgive();
        }
    }

    /// Copies at random places that are due: those of a step, or none.
    #[inline]
    pub fn copies_due(&self) -> u32 {
        let step = self.cfg.units_per_step;
        if self.copies_owed >= 100 * u64::from(step) { step } else { 0 }
    }

    /// So many units at random places will be copied.
    pub fn copies_planned(&mut self, units: usize) {
        self.copies_owed = self.copies_owed.saturating_sub(100 * units as u64);
    }

    /// True if a step is due.
    #[inline]
    pub fn due(&self, free: u32) -> bool {
        self.earned(free) || self.urgent(free)
    }

    /// True if GC is so far behind that it goes before host writes.
    #[inline]
    pub fn behind(&self, free: u32) -> bool {
        self.pace.behind() && self.earned(free)
    }

    #[inline]
    fn earned(&self, free: u32) -> bool {
        let wanted = free < self.cfg.start || self.wear_due.is_some() && self.may_level(free);
        wanted && self.pace.suffices(free)
    }

    /// True if host writes wait for free superblocks.
    pub fn urgent(&self, free: u32) -> bool {
        free <= self.cfg.reserve
    }

    /// True if wear levelling may move a cold superblock. That frees nothing, so it must not happen when free
    /// superblocks are nearly used up, and only after some victims of GC.
    pub fn may_level(&self, free: u32) -> bool {
        free > self.cfg.reserve / 2 && self.since_wear >= LEVEL_EVERY
    }

    /// A victim was chosen. One for wear levelling gains nothing, so the pace stays as it was.
    pub fn chosen(&mut self, victim: &Victim) {
        if victim.wear {
            self.since_wear = 0;
        } else {
            self.since_wear = self.since_wear.saturating_add(1);
            self.pace.chosen(victim.valid);
        }
    }

    /// The most pages that a step may copy.
    pub fn longest_step(&self) -> usize {
        self.pace.longest_step()
    }

    /// A step begins.
    pub fn begin_step(&mut self, budget: usize) {
        self.pace.begin_step();
        self.phase = Phase::Search;
        self.exhausted = false;
        self.beside = false;
        self.budget = budget;
        self.searched_before = self.victim.as_ref().map_or(0, |v| v.searched);
    }

    /// A step ends. The units that it has searched repay the credit.
    pub fn end_step(&mut self, free: u32) {
        if self.victim.as_ref().is_some_and(|victim| victim.random) {
            return;
        }
        let searched = self.victim.as_ref().map_or(0, |v| v.searched) - self.searched_before;
        self.pace.repay(searched, free);
    }

    /// There was no victim. The next attempt waits for some more writes.
    pub fn postpone(&mut self, free: u32) {
        self.pace.postpone(free);
    }

    /// Copies that wait in both queues.
    #[inline]
    pub fn waiting(&self) -> impl Iterator<Item = PageCopy> {
        self.queue.iter().chain(&self.hot_queue).map(|&id| self.pages[id as usize])
    }

    /// Their number.
    #[inline]
    pub fn waiting_len(&self) -> usize {
        self.queue.len() + self.hot_queue.len()
    }

    /// The copies of a stream.
    pub fn queue_of(&mut self, stream: Stream) -> &mut VecDeque<u32> {
        if stream.is_hot() { &mut self.hot_queue } else { &mut self.queue }
    }

    /// Copies of hot data go with the others.
    pub fn mix(&mut self) {
        self.queue.append(&mut self.hot_queue);
    }

    /// Stores a page that was read, and queues it for programming.
    pub fn keep(&mut self, page: PageCopy, hot: bool) {
        let id = match self.free_pages.pop() {
            Some(id) => id,
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        };
        self.pages[id as usize] = page;
        let queue = if hot { &mut self.hot_queue } else { &mut self.queue };
        queue.push_back(id);
    }

    /// Puts queued pages into the order of their addresses.
    pub fn order_queue(&mut self) {
        let pages = &self.pages;
        for queue in [&mut self.queue, &mut self.hot_queue] {
            queue.make_contiguous().sort_unstable_by_key(|&id| pages[id as usize].lpa);
        }
    }

    /// Drops the queued pages for which `which` holds. Gives their number.
    pub fn forget(&mut self, which: impl Fn(&PageCopy) -> bool) -> u16 {
        let before = self.waiting_len();
        let (pages, free) = (&self.pages, &mut self.free_pages);
        for queue in [&mut self.queue, &mut self.hot_queue] {
            queue.retain(|&id| {
                let keep = !which(&pages[id as usize]);
                if !keep {
                    free.push(id);
                }
                keep
            });
        }
        (before - self.waiting_len()) as u16
    }

    /// A stored page.
    #[inline]
    pub fn page(&self, id: u32) -> PageCopy {
        self.pages[id as usize]
    }

    /// The copy of a stored page is on flash; frees its slot.
    #[inline]
    pub fn release(&mut self, id: u32) {
        self.free_pages.push(id);
    }
}

/// Everything but the configuration and what is left in free slots.
#[cfg(feature = "explore")]
impl std::hash::Hash for Gc {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Gc { cfg: _, victim, phase, exhausted, budget, queue, beside: _, wear_due, pages, free_pages, .. } = self;
        (victim, phase, exhausted, budget, queue, &self.hot_queue, wear_due).hash(state);
        (&self.pace, self.copies_owed, self.searched_before, self.since_wear, free_pages).hash(state);
        (0..).zip(pages).filter(|(id, _)| !free_pages.contains(id)).for_each(|page| page.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GcPace, GcRuns};

    fn config(start: u32, relaxed: u32, hurried: u32, reserve: u32) -> GcConfig {
        GcConfig {
            pace: GcPace::Searched,
            start,
            relaxed,
            hurried,
            reserve,
            units_per_step: 64,
            victims: ufs::Victims::GREEDY,
            runs: GcRuns::Alone,
            idle: None,
            copies_percent: 0,
            hot_region: None,
        }
    }

    #[test]
    fn the_bitmap_is_taken_in_portions_and_to_the_end() {
        let mut v = Victim::new(Superblock(0), false, 3);
        v.bitmap = vec![1 << 3 | 1 << 63, 0, 1 << 5].into();
        assert!(!v.take_from_bitmap(Ppa(1000), 192, 2));
        assert_eq!(v.found, [Ppa(1003), Ppa(1063)]);
        v.found.clear();
        assert!(v.take_from_bitmap(Ppa(1000), 192, 2));
        assert_eq!(v.found, [Ppa(1133)]);
        assert_eq!(v.searched, 192);
    }

    #[test]
    fn the_bitmap_ends_with_its_last_unit_also_in_a_full_portion() {
        let mut v = Victim::new(Superblock(0), false, 2);
        v.bitmap = vec![1 << 3 | 1 << 63].into();
        assert!(v.take_from_bitmap(Ppa(1000), 64, 2), "the last unit is found");
        assert_eq!((v.found.as_slice(), v.searched), ([Ppa(1003), Ppa(1063)].as_slice(), 64));
        // Units for which there is no word are not valid.
        let mut v = Victim::new(Superblock(0), false, 2);
        v.bitmap = vec![1 << 3].into();
        assert!(v.take_from_bitmap(Ppa(1000), 192, 2));
        assert_eq!((v.found.as_slice(), v.searched), ([Ppa(1003)].as_slice(), 192));
    }

    #[test]
    fn forgotten_pages_are_not_copied() {
        let mut gc = Gc::new(config(9, 8, 2, 1), 192);
        for n in 0..4 {
            gc.keep(PageCopy { lpa: Lpa(n), stamp: n, version: n, source: Superblock(n % 2) }, n == 0);
        }
        assert_eq!(gc.forget(|page| page.source == Superblock(0)), 2);
        let left: Vec<u32> = gc.queue.iter().map(|&id| gc.page(id).stamp).collect();
        assert_eq!(left, [1, 3]);
    }

    #[test]
    fn steps_are_earned_by_writes_and_repaid_by_searching() {
        let mut gc = Gc::new(config(100, 80, 20, 4), 192);
        gc.earn(64, 100);
        assert!(!gc.due(99), "nothing is earned before GC starts");
        gc.earn(64, 99);
        assert!(gc.due(99) && gc.due(4));
        gc.victim = Some(Victim::new(Superblock(1), false, 0));
        gc.begin_step(10);
        gc.victim.as_mut().unwrap().searched = 10;
        gc.end_step(90);
        gc.earn(29, 90);
        assert!(!gc.due(90));
        gc.earn(1, 90);
        assert!(gc.due(90), "three written units pay for one searched");
    }

    /// Chooses so many victims for their valid pages.
    fn chosen(gc: &mut Gc, victims: u32) {
        (0..victims).for_each(|n| gc.chosen(&Victim::new(Superblock(n), false, 0)));
    }

    #[test]
    fn a_step_repays_what_it_has_searched_itself() {
        let mut gc = Gc::new(config(100, 80, 20, 4), 192);
        gc.earn(64 + 3 * 14, 99);
        gc.victim = Some(Victim::new(Superblock(1), false, 0));
        for searched in [10, 14] {
            gc.begin_step(10);
            gc.victim.as_mut().unwrap().searched = searched;
            gc.end_step(90);
        }
        assert!(gc.due(90), "14 units have been searched, for 42 written ones");
    }

    #[test]
    fn a_step_that_found_no_victim_costs_an_eighth() {
        let mut gc = Gc::new(config(100, 80, 20, 4), 192);
        gc.earn(64, 99);
        gc.postpone(99);
        gc.earn(7, 99);
        assert!(!gc.due(99));
        gc.earn(1, 99);
        assert!(gc.due(99));
    }

    /// At 150%, 43 written units pay for the 64 of a step.
    #[test]
    fn copies_at_random_places_are_due_when_the_host_has_paid_for_a_step() {
        let mut gc = Gc::new(GcConfig { copies_percent: 150, ..config(100, 80, 20, 4) }, 192);
        gc.earn(42, 1000);
        assert_eq!(gc.copies_due(), 0);
        gc.earn(1, 1000);
        assert_eq!(gc.copies_due(), 64);
        gc.copies_planned(64);
        gc.earn(42, 1000);
        assert_eq!(gc.copies_due(), 0, "half a unit is left");
        gc.earn(1, 1000);
        assert!(gc.copies_due() > 0 && !gc.due(1000), "GC of its own has nothing to do with it");
    }

    #[test]
    fn credit_alone_is_no_reason_to_collect() {
        let mut gc = Gc::new(config(100, 80, 20, 4), 192);
        gc.earn(64, 99);
        chosen(&mut gc, LEVEL_EVERY);
        assert!(gc.may_level(100) && !gc.due(100), "enough is free, and nothing is to be levelled");
        gc.wear_due = Some(Superblock(7));
        assert!(gc.due(100));
        gc.chosen(&Victim::new(Superblock(7), true, 0));
        assert!(!gc.due(100), "levelling waits for victims of GC");
    }

    #[test]
    fn levelling_waits_for_four_victims_and_leaves_half_of_the_reserve() {
        let mut gc = Gc::new(config(100, 80, 20, 7), 192);
        chosen(&mut gc, 3);
        assert!(!gc.may_level(4));
        chosen(&mut gc, 1);
        assert!(gc.may_level(4) && !gc.may_level(3) && !gc.may_level(2));
        chosen(&mut gc, 1);
        assert!(gc.may_level(4), "it may wait for longer");
        gc.chosen(&Victim::new(Superblock(9), true, 0));
        assert!(!gc.may_level(4));
        chosen(&mut gc, 4);
        assert!(gc.may_level(4));
    }

    /// The host may be a superblock ahead of what GC has gained. While enough is free, nobody counts.
    #[test]
    fn gc_is_behind_when_the_host_is_more_than_a_superblock_ahead() {
        let mut gc = Gc::new(GcConfig { pace: GcPace::Gained, ..config(100, 80, 20, 4) }, 192);
        gc.earn(192, 99);
        assert!(gc.due(99) && !gc.behind(99));
        gc.earn(1, 99);
        assert!(gc.behind(99) && !gc.behind(100));
        let mut gc = Gc::new(config(100, 80, 20, 4), 192);
        gc.earn(1000, 99);
        assert!(gc.due(99) && !gc.behind(99), "the other pace never goes before writes");
    }

    #[test]
    fn the_slot_of_a_copy_on_flash_is_used_again() {
        let mut gc = Gc::new(config(9, 8, 2, 1), 192);
        let copy = |n| PageCopy { lpa: Lpa(n), stamp: n, version: n, source: Superblock(0) };
        (0..3).for_each(|n| gc.keep(copy(n), false));
        let id = gc.queue.pop_front().unwrap();
        gc.release(id);
        gc.keep(copy(3), false);
        assert_eq!(gc.queue, [1, 2, id]);
        assert_eq!(gc.page(id).stamp, 3);
    }
}
