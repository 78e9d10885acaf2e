//! What is programmed where: program order, spare areas, wear.

use units::{Ppa, Seq, Superblock};

use crate::geometry::{Layout, Place};
use crate::op::Spare;

/// Programmed pages of the block of one plane, always a prefix of its pages.
#[derive(Clone, Copy, Default, Debug)]
struct Block {
    /// Pages handed to programs.
    submitted: u16,
    /// Pages whose program is finished; only these can be read.
    programmed: u16,
}

/// The blocks that one die erases together.
#[derive(Clone, Copy, Default, Debug)]
struct DieBlock {
    erases: u32,
    /// An erase is submitted and not finished.
    erasing: bool,
}

/// Contents and wear of the array.
///
/// Spares are written when a program is submitted, into pages that nothing can read before it finishes. An erase
/// only has to take the programmed counts back. Zeroed memory is a new array, so flash that was never programmed
/// costs address space but no memory.
#[derive(Debug)]
pub(crate) struct State {
    layout: Layout,
    /// LPA + 1 (0 = nothing) and stamp of each unit.
    spares: Vec<[u32; 2]>,
    /// For each plane page the sequence number of its first unit.
    seqs: Vec<u64>,
    /// For each superblock, die and plane.
    blocks: Vec<Block>,
    /// For each superblock and die.
    die_blocks: Vec<DieBlock>,
    /// For each superblock the erases that all its dies have done.
    erase_counts: Vec<u32>,
    max_erase_count: u32,
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
        let die_blocks = geometry.superblocks() as usize * geometry.dies() as usize;
        State {
            spares: table::zeroed(total),
            seqs: table::zeroed(total / geometry.units_per_page as usize),
            blocks: vec![Block::default(); die_blocks * geometry.planes as usize],
            die_blocks: vec![DieBlock::default(); die_blocks],
            erase_counts: vec![0; geometry.superblocks() as usize],
            max_erase_count: 0,
            layout,
        }
    }

    /// Checks that a program is legal, advances the program pointers and notes what will be readable.
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
            self.advance(place);
            let used = self.write_spares(start, page, place);
            self.seqs[self.layout.plane_page(start).0] = next_seq.0;
            next_seq = next_seq.plus(used);
            start = start.offset(page_units);
            place.plane += 1;
        }
    }

    /// Makes the spares of a finished program readable.
    pub fn finish_program(&mut self, ppa: Ppa, units: u32) {
        let place = self.layout.place(ppa);
        let first = self.layout.block(place.superblock, place.die, place.plane);
        let planes = (units / self.layout.geometry().units_per_page) as usize;
        for (n, block) in self.blocks[first..first + planes].iter_mut().enumerate() {
            assert!(
                u32::from(block.programmed) == place.page,
                "program of superblock {}, die {}, plane {}, page {} ran before page {}, which was submitted \
                 earlier with a less urgent priority",
                place.superblock.0,
                place.die,
                place.plane as usize + n,
                place.page,
                block.programmed
            );
            block.programmed += 1;
        }
    }

    /// Checks that an erase is legal and forbids programs until it is finished.
    pub fn submit_erase(&mut self, superblock: Superblock, die: u32) {
        let geometry = self.layout.geometry();
        assert!(
            superblock.0 < geometry.superblocks() && die < geometry.dies(),
            "erase of superblock {}, die {die} is outside the array of {} superblocks and {} dies",
            superblock.0,
            geometry.superblocks(),
            geometry.dies()
        );
        let state = &mut self.die_blocks[self.layout.die_block(superblock, die)];
        assert!(!state.erasing, "superblock {}, die {die} is already being erased", superblock.0);
        state.erasing = true;
    }

    /// Empties the blocks of a die.
    pub fn finish_erase(&mut self, superblock: Superblock, die: u32) {
        let geometry = self.layout.geometry();
        let first = self.layout.block(superblock, die, 0);
        for block in &mut self.blocks[first..first + geometry.planes as usize] {
            assert!(
                block.submitted == block.programmed,
                "erase of superblock {}, die {die} ran before its program of page {}, which was submitted earlier \
                 with a less urgent priority",
                superblock.0,
                block.programmed
            );
            *block = Block::default();
        }
        let dies = geometry.dies() as usize;
        let die_blocks = superblock.index() * dies..(superblock.index() + 1) * dies;
        let state = &mut self.die_blocks[self.layout.die_block(superblock, die)];
        state.erasing = false;
        state.erases += 1;
        let complete = self.die_blocks[die_blocks].iter().map(|b| b.erases).min();
        let complete = complete.expect("an array has at least one die");
        self.erase_counts[superblock.index()] = complete;
        self.max_erase_count = self.max_erase_count.max(complete);
    }

    /// Begins to load what [`State::spare`] of a read will ask for. A read of a random address misses every cache
    /// of the processor, and by the time its event comes back the memory has answered.
    #[inline]
    pub fn prefetch(&self, ppa: Ppa) {
        table::prefetch(&self.spares[ppa.index()]);
    }

    /// The spare of a unit, `None` if it is not programmed or padding.
    #[inline]
    pub fn spare(&self, ppa: Ppa) -> Option<Spare> {
        if !self.is_programmed(ppa) {
            return None;
        }
        let [lpa, stamp] = self.spares[ppa.index()];
        lpa.checked_sub(1).map(|lpa| Spare { lpa, stamp })
    }

    /// The sequence number of the plane page of a unit, 0 if it is not programmed.
    #[inline]
    pub fn page_seq(&self, ppa: Ppa) -> Seq {
        if self.is_programmed(ppa) { Seq(self.seqs[self.layout.plane_page(ppa).0]) } else { Seq(0) }
    }

    /// The sequence number of a unit, 0 if it is not programmed or padding.
    #[inline]
    pub fn unit_seq(&self, ppa: Ppa) -> Seq {
        match self.spare(ppa) {
            Some(_) => self.page_seq(ppa).plus(self.layout.plane_page(ppa).1),
            None => Seq(0),
        }
    }

    pub fn erase_count(&self, superblock: Superblock) -> u32 {
        self.erase_counts[superblock.index()]
    }

    pub fn max_erase_count(&self) -> u32 {
        self.max_erase_count
    }

    /// Whether every page of a superblock can be programmed.
    pub fn is_erased(&self, superblock: Superblock) -> bool {
        let geometry = self.layout.geometry();
        let die_blocks = self.layout.die_block(superblock, 0);
        let blocks = self.layout.block(superblock, 0, 0);
        let dies = geometry.dies() as usize;
        let planes = geometry.planes as usize;
        self.die_blocks[die_blocks..die_blocks + dies].iter().all(|b| !b.erasing)
            && self.blocks[blocks..blocks + dies * planes].iter().all(|b| b.submitted == 0)
    }

    #[inline]
    fn is_programmed(&self, ppa: Ppa) -> bool {
        let place = self.layout.place(ppa);
        let block = self.layout.block(place.superblock, place.die, place.plane);
        place.page < u32::from(self.blocks[block].programmed)
    }

    /// Moves the program pointer of the block at `place` past its page.
    #[inline]
    fn advance(&mut self, place: Place) {
        let erasing = self.die_blocks[self.layout.die_block(place.superblock, place.die)].erasing;
        let number = self.layout.block(place.superblock, place.die, place.plane);
        let block = &mut self.blocks[number];
        if erasing || u32::from(block.submitted) != place.page {
            refuse_program(place, block.submitted, erasing);
        }
        block.submitted += 1;
    }

    /// Writes the spares of one plane page and gives the number of units that are not padding.
    #[inline]
    fn write_spares(&mut self, start: Ppa, page: &[Option<Spare>], place: Place) -> u32 {
        let first = start.index();
        let mut used = 0;
        for (n, (to, from)) in self.spares[first..first + page.len()].iter_mut().zip(page).enumerate() {
            let Some(spare) = from else {
                *to = [0; 2];
                continue;
            };
            assert!(
                used as usize == n && spare.lpa != u32::MAX,
                "unit {n} of a program of {place:?} follows padding or has an LPA that cannot be stored: {spare:?}"
            );
            *to = [spare.lpa + 1, spare.stamp];
            used += 1;
        }
        used
    }
}

#[cold]
#[inline(never)]
fn refuse_program(place: Place, next: u16, erasing: bool) -> ! {
    let Place { superblock, page, die, plane, .. } = place;
    let why = if erasing {
        "is being erased".to_string()
    } else if page < u32::from(next) {
        "is already programmed and not erased since".to_string()
    } else {
        format!("is out of order: the next page of this block is {next}")
    };
    panic!("program of superblock {}, die {die}, plane {plane}, page {page}: it {why}", superblock.0);
}
