//! Valid page counts by superblock. A device can count an overwritten page as invalid only when it sees the old entry.
//!
//! All schemes with such counts use them in the same way: superblocks without valid pages are erased, and GC collects
//! the one that the policy of victims says.

use ufs::{Candidate, VictimPolicy};
use units::{Ppa, Superblock};

use crate::core::Core;
use crate::space::gc::Victim;

/// Valid page counts of all data superblocks.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct ValidCounts {
    counts: Vec<u32>,
    /// Superblocks that have been collected completely and not been erased.
    collected: Vec<bool>,
    /// Number of these superblocks.
    awaiting_erase: u32,
}

impl ValidCounts {
    /// All counts are zero.
    pub fn new(core: &Core) -> ValidCounts {
        let superblocks = core.blocks().count() as usize;
        ValidCounts { counts: vec![0; superblocks], collected: vec![false; superblocks], awaiting_erase: 0 }
    }

    /// The counts that recovery has found. It has read all pieces of the mapping table.
    pub fn restored(core: &mut Core) -> ValidCounts {
        ValidCounts { counts: core.take_counted(), ..ValidCounts::new(core) }
    }

    /// A page of the superblock became valid.
    #[inline]
    pub fn add(&mut self, sb: Superblock) {
        self.counts[sb.index()] += 1;
    }

    /// A page of the superblock became invalid.
    #[inline]
    pub fn remove(&mut self, sb: Superblock) {
        let count = &mut self.counts[sb.index()];
        assert!(*count > 0, "valid page count of {sb} below zero");
        *count -= 1;
    }

    /// A page becomes invalid. If it was the last valid one of a settled superblock, the superblock is erased.
    #[inline]
    pub fn release(&mut self, core: &mut Core, ppa: Ppa) {
        let sb = core.superblock_of(ppa);
        self.remove(sb);
        self.retire_if_empty(core, sb);
    }

    /// Number of valid pages.
    #[inline]
    pub fn get(&self, sb: Superblock) -> u32 {
        self.counts[sb.index()]
    }

    /// Erases a superblock without valid pages, unless it is still being written.
    #[inline]
    pub fn retire_if_empty(&mut self, core: &mut Core, sb: Superblock) {
        if self.get(sb) == 0 && core.blocks().settled(sb) {
            self.retire(core, sb);
        }
    }

    /// Erases all superblocks without valid pages, after recovery.
    pub fn retire_all_empty(&mut self, core: &mut Core) {
        for sb in (0..core.blocks().count()).map(Superblock) {
            self.retire_if_empty(core, sb);
        }
    }

    fn retire(&mut self, core: &mut Core, sb: Superblock) {
        self.awaiting_erase -= u32::from(self.collected[sb.index()]);
        self.collected[sb.index()] = false;
        core.retire(sb);
    }

    /// All valid pages of a superblock have been copied.
    pub fn mark_collected(&mut self, sb: Superblock) {
        self.awaiting_erase += u32::from(!self.collected[sb.index()]);
        self.collected[sb.index()] = true;
    }

    /// True if a collected superblock is not being erased yet.
    pub fn await_erase(&self) -> bool {
        self.awaiting_erase > 0
    }

    /// The victim among the settled superblocks for which `eligible` holds: `named`, for wear levelling, else the one
    /// that the policy chooses ([`ufs::Victims`]). A superblock that is valid as a whole is no victim, because nothing
    /// would be gained.
    pub fn victim(
        &self,
        core: &Core,
        named: Option<Superblock>,
        eligible: impl Fn(Superblock) -> bool,
    ) -> Option<Victim> {
        if let Some(victim) = self.named_victim(core, named, &eligible) {
            return Some(victim);
        }
        let eligible = |sb: Superblock| !core.blocks().slc().keeps_room_of(sb) && eligible(sb);
        let full = core.layout().superblock_units();
        let gc = &core.cfg().gc;
        // At the reserve room counts and nothing else: a short last row may take more than another victim gains.
        if gc.victims.policy != VictimPolicy::Greedy && core.blocks().free() > gc.reserve {
            let candidates = (0..).map(Superblock).zip(&self.counts).filter_map(|(superblock, &valid)| {
                let fits = valid < full && self.usable(core, superblock) && eligible(superblock);
                fits.then(|| Candidate { superblock, valid, filled: core.blocks().last_seq(superblock) })
            });
            let best = gc.victims.choose(candidates, full, core.next_seq());
            return best.map(|one| Victim::new(one.superblock, false, one.valid));
        }
        // The same as `choose` does, without asking for more than the count.
        let mut best: Option<(u32, Superblock)> = None;
        for (i, &count) in self.counts.iter().enumerate() {
            let sb = Superblock(i as u32);
            let better = count < best.map_or(full, |(n, _)| n);
            if better && self.usable(core, sb) && eligible(sb) {
                best = Some((count, sb));
            }
        }
        best.map(|(count, sb)| Victim::new(sb, false, count))
    }

    /// The superblock that wear levelling has named, if it can be collected now.
    pub fn named_victim(
        &self,
        core: &Core,
        named: Option<Superblock>,
        eligible: impl Fn(Superblock) -> bool,
    ) -> Option<Victim> {
        let sb = named.filter(|&sb| self.usable(core, sb) && eligible(sb))?;
        Some(Victim::new(sb, true, self.get(sb)))
    }

    fn usable(&self, core: &Core, sb: Superblock) -> bool {
        !self.collected[sb.index()] && core.blocks().settled(sb)
    }

    /// Bytes of SRAM for 16-bit counts.
    pub fn table_bytes(&self) -> u64 {
        2 * self.counts.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::blocks::{State, Stream};
    use crate::table::map_units::{MapShape, MapUnits};
    use crate::testing::small;

    /// 80 superblocks of 64 units. The first three are full, and this many of their pages are valid.
    fn counted(valid: [u32; 3]) -> (Core, ValidCounts) {
        let mut core = Core::in_test(small(), MapUnits::new(4096, MapShape::SEGMENT));
        let mut counts = ValidCounts::new(&core);
        for (sb, n) in (0..).map(Superblock).zip(valid) {
            assert_eq!(core.blocks_in_test().open_next(Stream::Host), Some(sb));
            let last = core.take_seq_in_test(64).plus(63);
            core.blocks_in_test().place(Stream::Host, 64, 64, last);
            core.blocks_in_test().programmed(sb, 64);
            (0..n).for_each(|_| counts.add(sb));
        }
        (core, counts)
    }

    fn chosen(victim: Option<Victim>) -> Option<(u32, bool, u32)> {
        victim.map(|victim| (victim.sb.0, victim.wear, victim.valid))
    }

    #[test]
    fn the_victim_is_the_one_that_was_named_or_has_the_fewest_valid_pages() {
        let (core, mut counts) = counted([9, 64, 5]);
        let victim = |counts: &ValidCounts, named: Option<u32>, but: u32| {
            chosen(counts.victim(&core, named.map(Superblock), |sb| sb.0 != but))
        };
        assert_eq!(victim(&counts, None, 80), Some((2, false, 5)));
        assert_eq!(victim(&counts, None, 2), Some((0, false, 9)));
        assert_eq!(victim(&counts, Some(1), 80), Some((1, true, 64)));
        assert_eq!(victim(&counts, Some(1), 1), Some((2, false, 5)), "that one is not eligible");
        assert_eq!(victim(&counts, Some(7), 80), Some((2, false, 5)), "that one is free");
        counts.mark_collected(Superblock(2));
        assert_eq!(victim(&counts, Some(2), 80), Some((0, false, 9)), "that one has been collected");
        counts.mark_collected(Superblock(0));
        assert_eq!(victim(&counts, None, 80), None, "the last one is full of valid pages");
    }

    #[test]
    fn collected_superblocks_await_their_erase() {
        let (mut core, mut counts) = counted([1, 1, 0]);
        assert!(!counts.await_erase());
        counts.mark_collected(Superblock(0));
        counts.mark_collected(Superblock(0));
        counts.mark_collected(Superblock(1));
        assert!(counts.await_erase());
        counts.release(&mut core, Ppa(0));
        assert_eq!(core.blocks().state(Superblock(0)), State::Erasing);
        assert!(counts.await_erase(), "there is another one");
        counts.release(&mut core, Ppa(64));
        assert!(!counts.await_erase());
        counts.retire_if_empty(&mut core, Superblock(2));
        assert!(!counts.await_erase(), "nothing was copied from this one");
    }

    #[test]
    fn a_count_takes_two_bytes() {
        assert_eq!(counted([0; 3]).1.table_bytes(), 2 * 80);
    }
}
