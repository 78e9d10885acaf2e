//! Power cuts: what they leave on flash.

use std::ops::Range;

use units::{Ppa, SimTime};

use crate::geometry::{CellType, MOST_ROW_UNITS};
use crate::nand::{Blind, Nand};
use crate::op::Work;
use crate::state::Mark;

/// A program whose cell phase was cut by a power loss. Only [`Nand::power_cut`] makes one. It proves which units of the
/// program are on flash.
///
/// This compiles:
/// ```
/// use ufsim_nand::CutProgram;
/// fn is_whole(program: &CutProgram) -> bool {
///     program.can_be_read(0..program.units())
/// }
/// ```
/// This does not, because the fields are private (E0451):
/// ```compile_fail,E0451
/// use ufsim_nand::CutProgram;
/// fn is_whole(ppa: units::Ppa) -> bool {
///     let program = &CutProgram { token: 0, ppa, units: 1, readable: 1 };
///     program.can_be_read(0..program.units())
/// }
/// ```
#[derive(PartialEq, Eq, Debug)]
pub struct CutProgram {
    token: u32,
    ppa: Ppa,
    units: u32,
    readable: u128,
}

impl CutProgram {
    /// The submitter's own number.
    pub fn token(&self) -> u32 {
        self.token
    }

    /// First unit.
    pub fn ppa(&self) -> Ppa {
        self.ppa
    }

    /// Units including padding.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Bit `i` is set if unit `i` of the program can be read correctly, padding included. The other units are blank or
    /// unreadable.
    pub fn readable(&self) -> u128 {
        self.readable
    }

    /// True if the program has all of these units, and each can be read correctly.
    pub fn can_be_read(&self, mut units: Range<u32>) -> bool {
        units.all(|unit| unit < self.units && self.readable >> unit & 1 != 0)
    }
}

impl Nand {
    /// Cuts the power at `now`. For the array it comes back at once: no operation is in flight, and the page registers
    /// are empty. The caller has to drop all events of the array that it has not delivered.
    ///
    /// Operations that had not begun to change cells vanish: all reads, all queued operations, and programs whose data
    /// was being transferred. The pages of such programs can be programmed as if nothing had been submitted. The pages
    /// of a program in its cell phase are used up. Each looks blank, or is complete, or is half written, which leaves
    /// some of its units readable. The blocks of an erase in its cell phase are half erased: nothing in them can be
    /// read or programmed until an erase of them finishes. A phase that ends at `now` is under way until its event is
    /// delivered. None of these operations is counted.
    ///
    /// `dice(n)` gives a number in `0..n`, which decides what is left. It is called for the dies in order, and for each
    /// of them plane by plane. Gives the programs that were in their cell phase, by die.
    ///
    /// # Panics
    /// If an event that was due before `now` was not delivered, if `dice` gives a number that is not in its range, or if
    /// an operation in its cell phase overtook a program of the same block (see [`Nand::wake`]).
    pub fn power_cut(&mut self, now: SimTime, dice: &mut dyn FnMut(u32) -> u32) -> Vec<CutProgram> {
        let lost = self.timeline.power_cut(now);
        let mut programs = Vec::new();
        for op in lost.in_cells {
            match op.work {
                Work::Read { .. } => {}
                Work::Program { ppa, units } => {
                    let readable = self.tear(ppa, units, dice);
                    programs.push(CutProgram { token: op.token, ppa, units, readable });
                }
                Work::Erase { superblock, die } => self.state.cut_erase(superblock, die),
            }
        }
        for op in lost.not_begun {
            match op.work {
                Work::Read { .. } => {}
                Work::Program { ppa, units } => self.state.cancel_program(ppa, units),
                Work::Erase { superblock, die } => self.state.cancel_erase(superblock, die),
            }
        }
        programs
    }

    /// Leaves of a program what `dice` decide. Gives a bit for each unit that can be read correctly.
    fn tear(&mut self, ppa: Ppa, units: u32, dice: &mut dyn FnMut(u32) -> u32) -> u128 {
        const { assert!(MOST_ROW_UNITS <= u128::BITS, "a bit for each unit of a program") };
        let mut roll = |n| {
            let number = dice(n);
            assert!(number < n, "the dice gave {number}, which is not in 0..{n}");
            number
        };
        self.state.finish_program(ppa, units);
        let page_units = self.layout.geometry().units_per_page;
        let is_metadata = self.layout.geometry().cell(self.layout.superblock_of(ppa)) == CellType::Slc;
        let garble = self.blind == Some(Blind::ToUserData) && !is_metadata;
        let keep_mark = self.blind == Some(Blind::ToMetadata) && is_metadata;
        let mut readable = 0u128;
        for first in (0..units).step_by(page_units as usize) {
            match roll(3) {
                0 if keep_mark => {}
                0 => self.state.mark(ppa.offset(first), page_units, Mark::Blank),
                1 => readable |= (first..first + page_units).fold(0, |bits, unit| bits | 1 << unit),
                _ => {
                    for unit in first..first + page_units {
                        match roll(2) {
                            0 if garble => {
                                self.state.garble(ppa.offset(unit));
                                readable |= 1 << unit;
                            }
                            0 if keep_mark => {}
                            0 => self.state.mark(ppa.offset(unit), 1, Mark::Unreadable),
                            _ => readable |= 1 << unit,
                        }
                    }
                }
            }
        }
        readable
    }
}
