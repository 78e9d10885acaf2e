//! Content and wear of the array: program order, spare areas, damage, erase counts.

use std::hash::{Hash, Hasher};

use units::{Ppa, Seq, Superblock};

use crate::geometry::{CellType, Layout, Place};
use crate::op::{Sensed, Spare};
use crate::versions::Versions;

/// Programmed pages of the block of one plane. They are always its first pages.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Block {
    /// Number of pages for which a program was submitted.
    pub(super) submitted: u16,
    /// Number of pages whose program has finished; only these can be read.
    pub(super) programmed: u16,
}

/// The blocks that one die erases together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct DieBlock {
    pub(super) erases: u32,
    /// True if an erase has been submitted and has not finished.
    erasing: bool,
    /// True if the last erase did not finish. Then the block of every plane has no programmed page, so nothing can be
    /// read, and no page that can be programmed.
    pub(super) half_erased: bool,
    /// Sequence number of the first program since the last erase.
    pub(super) first_seq: u64,
}

/// Why a unit has no content; stored in place of its spare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Mark {
    /// Programmed without content.
    Padding = 0,
    /// Cannot be read.
    Unreadable = 1,
    /// Looks as if it were not programmed.
    Blank = 2,
}

/// Sequence numbers of a die's blocks between two erases differ by less than this, so their low 32 bits suffice. It is
/// far less than 2^31, so numbers of all units of a row may be added.
const MAX_SEQ_SPREAD: u64 = 1 << 30;

/// Content and wear of the array.
///
/// Spares are stored when a program is submitted, in pages that nothing can read before the program finishes. An erase
/// only has to reset the counts of programmed pages. Zeroed memory is a new array, so flash that was never programmed
/// costs address space but no memory.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(super) layout: Layout,
    /// LPA + 1 and stamp of each unit, or 0 and a [`Mark`].
    pub(super) spares: Vec<[u32; 2]>,
    /// By plane page: the low 32 bits of the sequence number of its first unit.
    pub(super) seqs: Vec<u32>,
    pub(super) versions: Versions,
    /// By superblock, die and plane.
    pub(super) blocks: Vec<Block>,
    /// By superblock and die.
    pub(super) die_blocks: Vec<DieBlock>,
    /// By superblock: the erases that all of its dies have done.
    pub(super) erase_counts: Vec<u32>,
    pub(super) max_erase_count: u32,
    /// Data superblocks that are used in SLC mode.
    pub(super) slc: Vec<bool>,
    /// By superblock, die and plane: the first pages of a block that have lain for the retention age; empty if none
    /// has.
    rested: Vec<u16>,
}

impl State {
    pub fn new(layout: Layout) -> State {
        let geometry = layout.geometry();
        assert!(
            geometry.pages_per_block <= u32::from(u16::MAX),
            "{} pages per block do not fit a program pointer",
            geometry.pages_per_block
        );
        let total = layout.total_units() as usize;
        let die_blocks = geometry.superblocks() as usize * geometry.superblock_dies as usize;
        State {
            spares: table::zeroed(total),
            seqs: table::zeroed(total / geometry.units_per_page as usize),
            versions: Versions::new(geometry.superblocks(), layout.superblock_units()),
            blocks: vec![Block::default(); die_blocks * geometry.planes as usize],
            die_blocks: vec![DieBlock::default(); die_blocks],
            erase_counts: vec![0; geometry.superblocks() as usize],
            max_erase_count: 0,
            slc: vec![false; geometry.data_superblocks as usize],
            rested: Vec::new(),
            layout,
        }
    }

    /// Checks that a program is legal, advances the program pointers, and stores what will be readable.
    pub fn submit_program(&mut self, ppa: Ppa, spares: &[Option<Spare>], seq: Seq) {
        let page_units = self.layout.geometry().units_per_page;
        let mut place = self.layout.place(ppa);
        let pages = spares.chunks_exact(page_units as usize);
        assert!(
            place.unit == 0 && !spares.is_empty() && pages.remainder().is_empty(),
            "program of {} units at {} does not consist of whole plane pages ({place:?})",
            spares.len(),
            ppa
        );
        let mut start = ppa;
        let mut next_seq = seq;
        for page in pages {
            self.advance(place, next_seq);
            let used = self.write_spares(start, page, place, next_seq.wire());
            self.seqs[self.layout.plane_page(start).0] = next_seq.wire();
            next_seq = next_seq.plus(used);
            start = start.offset(page_units);
            place.plane += 1;
        }
    }

    /// Makes the spares of a finished program readable.
    pub fn finish_program(&mut self, ppa: Ppa, units: u32) {
        let (first, page) = self.layout.block_and_page(ppa);
        let planes = (units / self.layout.geometry().units_per_page) as usize;
        for block in &mut self.blocks[first..first + planes] {
            assert!(
                u32::from(block.programmed) == page,
                "program at {:?} ran before page {}, which was submitted earlier with a less urgent priority",
                self.layout.place(ppa),
                block.programmed
            );
            block.programmed += 1;
        }
    }

    /// Undoes a program that did not begin, and later programs of the same blocks, none of which can have begun either.
    pub fn cancel_program(&mut self, ppa: Ppa, units: u32) {
        let (first, _) = self.layout.block_and_page(ppa);
        let planes = (units / self.layout.geometry().units_per_page) as usize;
        for block in &mut self.blocks[first..first + planes] {
            block.submitted = block.programmed;
        }
    }

    /// Replaces the spares of units of a finished program by a mark.
    pub fn mark(&mut self, ppa: Ppa, units: u32, mark: Mark) {
        self.spares[ppa.index()..][..units as usize].fill([0, mark as u32]);
    }

    /// Replaces the stamp of a unit of a finished program by one that was never written.
    pub fn garble(&mut self, ppa: Ppa) {
        let [lpa, stamp] = &mut self.spares[ppa.index()];
        if *lpa != 0 {
            *stamp = !*stamp;
        }
    }

    /// Checks that an erase is legal and forbids programs until it is finished.
    pub fn submit_erase(&mut self, superblock: Superblock, die: u32) {
        let geometry = self.layout.geometry();
        assert!(
            superblock.0 < geometry.superblocks() && geometry.dies_of(superblock).contains(&die),
            "erase of superblock {}, die {die} is outside the array of {} superblocks and {} dies, {} for each",
            superblock.0,
            geometry.superblocks(),
            geometry.dies(),
            geometry.superblock_dies
        );
        let state = &mut self.die_blocks[self.layout.die_block(superblock, die)];
        assert!(!state.erasing, "superblock {}, die {die} is already being erased", superblock.0);
        state.erasing = true;
    }

    /// Undoes an erase that did not begin.
    pub fn cancel_erase(&mut self, superblock: Superblock, die: u32) {
        self.die_blocks[self.layout.die_block(superblock, die)].erasing = false;
    }

    /// Empties the blocks of a die.
    pub fn finish_erase(&mut self, superblock: Superblock, die: u32) {
        self.end_erase(superblock, die);
        self.fill_blocks(superblock, die, Block::default());
        self.count_erase(superblock, die);
        if self.is_erased(superblock) {
            self.versions.clear(superblock);
        }
    }

    /// Ends an erase that was interrupted.
    pub fn cut_erase(&mut self, superblock: Superblock, die: u32) {
        self.end_erase(superblock, die);
        self.half_erase(superblock, die);
    }

    /// Makes the blocks of a die unusable until their next erase. None of their programs may be under way.
    pub fn half_erase(&mut self, superblock: Superblock, die: u32) {
        let used_up = self.layout.geometry().pages_per_block as u16;
        self.fill_blocks(superblock, die, Block { submitted: used_up, programmed: 0 });
        self.die_blocks[self.layout.die_block(superblock, die)].half_erased = true;
    }

    fn end_erase(&mut self, superblock: Superblock, die: u32) {
        let state = &mut self.die_blocks[self.layout.die_block(superblock, die)];
        let half_erased = std::mem::take(&mut state.half_erased);
        state.erasing = false;
        let first = self.layout.block(superblock, die, 0);
        for block in &self.blocks[first..first + self.layout.geometry().planes as usize] {
            assert!(
                half_erased || block.submitted == block.programmed,
                "erase of superblock {}, die {die} ran before its program of page {}, which was submitted earlier \
                 with a less urgent priority",
                superblock.0,
                block.programmed
            );
        }
    }

    fn fill_blocks(&mut self, superblock: Superblock, die: u32, with: Block) {
        let first = self.layout.block(superblock, die, 0);
        let planes = first..first + self.layout.geometry().planes as usize;
        self.rested.get_mut(planes.clone()).into_iter().for_each(|rested| rested.fill(0));
        self.blocks[planes].fill(with);
    }

    /// What is programmed now has lain for the retention age.
    pub fn rest(&mut self) {
        self.rested = self.blocks.iter().map(|block| block.programmed).collect();
    }

    /// True if a page has lain for the retention age.
    pub fn has_rested(&self, ppa: Ppa) -> bool {
        let (block, page) = self.layout.block_and_page(ppa);
        self.rested.get(block).is_some_and(|&rested| page < rested.into())
    }

    /// Erases of the blocks of a unit's die.
    pub fn erases_at(&self, ppa: Ppa) -> u32 {
        let place = self.layout.place(ppa);
        self.die_blocks[self.layout.die_block(place.superblock, place.die)].erases
    }

    fn count_erase(&mut self, superblock: Superblock, die: u32) {
        self.die_blocks[self.layout.die_block(superblock, die)].erases += 1;
        let complete = self.die_blocks[self.layout.die_blocks(superblock)].iter().map(|b| b.erases).min();
        let complete = complete.expect("an array has at least one die");
        self.erase_counts[superblock.index()] = complete;
        self.max_erase_count = self.max_erase_count.max(complete);
    }

    /// Prefetches what [`State::spare`] will need for a read. A read of a random address misses every cache of the
    /// simulating processor; by the time of its event the data has arrived.
    #[inline]
    pub fn prefetch(&self, ppa: Ppa) {
        table::prefetch(&self.spares[ppa.index()]);
    }

    /// The spare of a unit; `None` if it is not programmed or has a [`Mark`].
    // Always inlined: only then a caller that does not use the version does not fetch it from memory. That would be a
    // miss of every cache for each unit that a host reads.
    #[inline(always)]
    pub fn spare(&self, ppa: Ppa) -> Option<Spare> {
        if !self.is_programmed(ppa) {
            return None;
        }
        let [lpa, stamp] = self.spares[ppa.index()];
        lpa.checked_sub(1).map(|lpa| Spare { lpa, stamp, version: self.version(ppa) })
    }

    /// The address or mark in the spare of a unit; `None` if it has no spare.
    #[inline]
    pub fn spare_lpa(&self, ppa: Ppa) -> Option<u32> {
        if self.is_programmed(ppa) { self.spares[ppa.index()][0].checked_sub(1) } else { None }
    }

    /// Result of reading a unit.
    // Always inlined, for the same reason.
    #[inline(always)]
    pub fn sensed(&self, ppa: Ppa) -> Sensed {
        if !self.is_programmed(ppa) {
            let place = self.layout.place(ppa);
            let half_erased = self.die_blocks[self.layout.die_block(place.superblock, place.die)].half_erased;
            return if half_erased { Sensed::Unreadable } else { Sensed::Blank };
        }
        const PADDING: u32 = Mark::Padding as u32;
        const BLANK: u32 = Mark::Blank as u32;
        match self.spares[ppa.index()] {
            [0, PADDING] => Sensed::Padding,
            [0, BLANK] => Sensed::Blank,
            [0, _] => Sensed::Unreadable,
            [lpa, stamp] => Sensed::Unit(Spare { lpa: lpa - 1, stamp, version: self.version(ppa) }),
        }
    }

    /// The sequence number of the first unit of a unit's plane page, which must be programmed.
    #[inline]
    pub fn page_seq(&self, ppa: Ppa) -> Seq {
        let place = self.layout.place(ppa);
        let near = self.die_blocks[self.layout.die_block(place.superblock, place.die)].first_seq;
        Seq::from_wire(self.seqs[self.layout.plane_page(ppa).0], Seq(near))
    }

    /// The sequence number of a unit that has a spare.
    #[inline]
    pub fn unit_seq(&self, ppa: Ppa) -> Seq {
        self.page_seq(ppa).plus(self.layout.plane_page(ppa).1)
    }

    /// The version of a unit that has a spare.
    // Has no panics, so that the compiler can drop it where the result is not used.
    #[inline(always)]
    fn version(&self, ppa: Ppa) -> u32 {
        let (page, unit) = self.layout.plane_page(ppa);
        let own = self.seqs.get(page).copied().unwrap_or(0).wrapping_add(unit);
        self.versions.get(self.layout.superblock_of(ppa), self.layout.offset_in_superblock(ppa), own)
    }

    /// How the cells of a superblock are used: those of metadata, and of some data superblocks, have one bit.
    #[inline]
    pub fn cell(&self, superblock: Superblock) -> CellType {
        if self.slc.get(superblock.index()).is_some_and(|slc| !slc) { CellType::Tlc } else { CellType::Slc }
    }

    pub fn erase_count(&self, superblock: Superblock) -> u32 {
        self.erase_counts[superblock.index()]
    }

    pub fn max_erase_count(&self) -> u32 {
        self.max_erase_count
    }

    /// True if every page of a superblock can be programmed.
    pub fn is_erased(&self, superblock: Superblock) -> bool {
        let planes = self.layout.geometry().planes as usize;
        let of_dies = self.layout.die_blocks(superblock);
        let of_planes = of_dies.start * planes..of_dies.end * planes;
        self.die_blocks[of_dies].iter().all(|b| !b.erasing) && self.blocks[of_planes].iter().all(|b| b.submitted == 0)
    }

    #[inline]
    fn is_programmed(&self, ppa: Ppa) -> bool {
        let (block, page) = self.layout.block_and_page(ppa);
        page < u32::from(self.blocks[block].programmed)
    }

    /// Moves the program pointer of the block at `place` past its page, which begins with sequence number `seq`.
    #[inline]
    fn advance(&mut self, place: Place, seq: Seq) {
        let die_block = &mut self.die_blocks[self.layout.die_block(place.superblock, place.die)];
        let number = self.layout.block(place.superblock, place.die, place.plane);
        let next = self.blocks[number].submitted;
        if die_block.erasing || u32::from(next) != place.page {
            refuse_program(place, next, die_block);
        }
        if next == 0 {
            let first = self.layout.block(place.superblock, place.die, 0);
            let blocks = &self.blocks[first..first + self.layout.geometry().planes as usize];
            if blocks.iter().all(|block| block.submitted == 0) {
                die_block.first_seq = seq.0;
            }
        }
        let first = die_block.first_seq;
        assert!(
            seq.0.abs_diff(first) < MAX_SEQ_SPREAD,
            "{seq} is too far from {first}, the first one in the block: {place:?}"
        );
        self.blocks[number].submitted += 1;
    }

    /// Stores the spares of one plane page. Gives the number of units that are not padding. The first unit has a
    /// sequence number with the low bits `seq`.
    #[inline]
    fn write_spares(&mut self, start: Ppa, page: &[Option<Spare>], place: Place, seq: u32) -> u32 {
        let first = start.index();
        let (mut used, mut lags) = (0, 0);
        for (n, (to, from)) in self.spares[first..first + page.len()].iter_mut().zip(page).enumerate() {
            let Some(spare) = from else {
                *to = [0, Mark::Padding as u32];
                continue;
            };
            assert!(
                used as usize == n && spare.lpa != u32::MAX,
                "unit {n} of a program of {place:?} follows padding or has an LPA that cannot be stored: {spare:?}"
            );
            *to = [spare.lpa + 1, spare.stamp];
            lags |= seq.wrapping_add(used) ^ spare.version;
            used += 1;
        }
        if lags != 0 || self.versions.keeps(place.superblock) {
            self.versions.set_page(place.superblock, self.layout.offset_in_superblock(start), seq, page);
        }
        used
    }
}

#[cold]
#[inline(never)]
fn refuse_program(place: Place, next: u16, die_block: &DieBlock) -> ! {
    let Place { superblock, page, die, plane, .. } = place;
    let why = if die_block.erasing {
        "is being erased".to_string()
    } else if die_block.half_erased {
        "is half erased".to_string()
    } else if page < u32::from(next) {
        "is already programmed and not erased since".to_string()
    } else {
        format!("is out of order: the next page of this block is {next}")
    };
    panic!("program of superblock {}, die {die}, plane {plane}, page {page}: it {why}", superblock.0);
}

/// Of each block: how far it is programmed, its erases, and the units up to there. What lies behind was erased, and
/// nothing can read it.
impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let geometry = self.layout.geometry();
        self.rested.hash(state);
        for superblock in (0..geometry.superblocks()).map(Superblock) {
            for die in geometry.dies_of(superblock) {
                let DieBlock { erases, erasing, half_erased, first_seq } =
                    self.die_blocks[self.layout.die_block(superblock, die)];
                (erases, erasing, half_erased).hash(state);
                for plane in 0..geometry.planes {
                    let Block { submitted, programmed } = self.blocks[self.layout.block(superblock, die, plane)];
                    (submitted, programmed).hash(state);
                    if submitted > 0 && !half_erased {
                        state.write_u64(first_seq);
                        (0..submitted.into()).for_each(|page| {
                            self.hash_page(Place { superblock, die, plane, page, unit: 0 }, state);
                        });
                    }
                }
            }
        }
    }
}

impl State {
    fn hash_page<H: Hasher>(&self, place: Place, state: &mut H) {
        let first = self.layout.ppa(place);
        state.write_u32(self.seqs[self.layout.plane_page(first).0]);
        for unit in 0..self.layout.geometry().units_per_page {
            let ppa = first.offset(unit);
            (self.spares[ppa.index()], self.version(ppa)).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;

    #[test]
    fn versions_take_memory_until_all_dies_are_erased() {
        let geometry = Geometry {
            channels: 2,
            dies_per_channel: 1,
            superblock_dies: 2,
            planes: 1,
            units_per_page: 2,
            pages_per_block: 4,
            word_line_pages: 1,
            data_superblocks: 2,
            meta_superblocks: 0,
        };
        let mut state = State::new(geometry.layout());
        let program = |state: &mut State, ppa: u32, seq: u32, versions: [u32; 2]| {
            let spares = versions.map(|version| Some(Spare { lpa: 1, stamp: 1, version }));
            state.submit_program(Ppa(ppa), &spares, Seq(u64::from(seq)));
            state.finish_program(Ppa(ppa), 2);
        };
        let erase = |state: &mut State, die| {
            state.submit_erase(Superblock(0), die);
            state.finish_erase(Superblock(0), die);
            state.versions.superblocks_kept()
        };
        let version = |state: &State, ppa| state.spare(Ppa(ppa)).map(|spare| spare.version);
        program(&mut state, 0, 1, [1, 2]);
        program(&mut state, 16, 3, [3, 4]);
        assert_eq!(state.versions.superblocks_kept(), 0, "no copies");
        program(&mut state, 2, 5, [5, 1]);
        assert_eq!(state.versions.superblocks_kept(), 1);
        assert_eq!([0, 1, 2, 3].map(|ppa| version(&state, ppa)), [1, 2, 5, 1].map(Some));
        assert_eq!(erase(&mut state, 0), 1, "the copy is on die 1");
        // Die 0 has a copy again before die 1 is erased.
        program(&mut state, 0, 7, [1, 8]);
        assert_eq!(erase(&mut state, 1), 1);
        assert_eq!([0, 1].map(|ppa| version(&state, ppa)), [1, 8].map(Some));
        assert_eq!(erase(&mut state, 0), 0);
        program(&mut state, 2, 9, [9, 10]);
        assert_eq!((state.versions.superblocks_kept(), version(&state, 3)), (0, Some(10)));
    }
}
